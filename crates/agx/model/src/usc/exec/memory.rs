//! Loads, stores and atomics on device, local, scratch and uniform memory.

use std::sync::atomic::{AtomicU32, Ordering};

use tepui_softgpu::Access;

use tepui_agx_texture::half;

use super::gather::{Offsets32, fetch, gather, scatter, spread};
use super::{Lanes, Next, Op};
use crate::job::ReportKind;
use crate::usc::access::{Format, Transfer};
use crate::usc::check::memory as check;
use crate::usc::check::race::How;
use crate::usc::op::{Dst, File, Form};
use crate::usc::row::{LANES, Row};
use crate::usc::stack::Adjusted;

/// The registers of a transfer, one after the other: whole rows, or halves.
#[inline(always)]
pub fn register_at(first: Dst, k: usize) -> Dst {
    match first.form {
        Form::Word | Form::Pair => Dst { row: first.row + k as u16, form: Form::Word, ..first },
        Form::Low | Form::High => {
            let half = usize::from(first.row) * 2 + usize::from(first.form == Form::High) + k;
            let form = if half & 1 == 1 { Form::High } else { Form::Low };
            Dst { row: (half / 2) as u16, form, ..first }
        }
    }
}

#[inline(always)]
fn is_wide(t: &Transfer) -> bool {
    matches!(t.register.form, Form::Word | Form::Pair)
}

/// The value of register `k` of a store, as raw bits.
#[inline(always)]
fn register_bits(l: &Lanes<'_, '_>, t: &Transfer, k: usize) -> Row {
    register_bits_of(l, t.register, k)
}

/// The value of the `k`th register after `first`, as raw bits.
#[inline(always)]
pub(super) fn register_bits_of(l: &Lanes<'_, '_>, first: Dst, k: usize) -> Row {
    let d = register_at(first, k);
    let mut row = *l.register(d.row);
    match d.form {
        Form::Word | Form::Pair => {}
        Form::Low => row.0.iter_mut().for_each(|v| *v &= 0xffff),
        Form::High => row.0.iter_mut().for_each(|v| *v >>= 16),
    }
    row
}

/// Byte addresses of element 0, for all lanes; those of inactive lanes are not to be used.
#[inline(always)]
pub fn device_addresses(l: &Lanes<'_, '_>, op: &Op, t: &Transfer) -> [u64; LANES] {
    let base = l.load_u64(op.s[0]);
    let unit = t.format.stride();
    // Packed words count in words whatever their stride. source: applegpu.py,
    // DeviceLoadInstructionDesc ("bit_packed").
    let (align, shift) = if t.format.packed().is_some() {
        (!3, 2)
    } else {
        (!(u64::from(unit) - 1), u32::from(t.shift.min(2)) + unit.trailing_zeros())
    };
    let mut out = [0; LANES];
    match t.immediate {
        Some(index) => {
            let offset = (i64::from(index) << shift) as u64;
            for i in 0..LANES {
                out[i] = (base[i] & align).wrapping_add(offset);
            }
        }
        None => {
            let index = l.row(op.s[1]);
            if t.signed {
                for i in 0..LANES {
                    let offset = (i64::from(index.0[i] as i32) << shift) as u64;
                    out[i] = (base[i] & align).wrapping_add(offset);
                }
            } else {
                for i in 0..LANES {
                    out[i] = (base[i] & align).wrapping_add(u64::from(index.0[i]) << shift);
                }
            }
        }
    }
    out
}

/// Turns raw elements to the register's float. `component` is the element's number, for alpha.
#[inline(always)]
fn decode(format: Format, component: usize, raw: u32) -> f64 {
    match format {
        Format::U8Norm => f64::from(raw) / 255.0,
        Format::S8Norm => (f64::from(raw as i8) / 127.0).max(-1.0),
        Format::U16Norm => f64::from(raw) / 65535.0,
        Format::S16Norm => (f64::from(raw as i16) / 32767.0).max(-1.0),
        Format::Srgba8 if component == 3 => f64::from(raw) / 255.0,
        Format::Srgba8 => f64::from(srgb_to_linear(raw as f32 / 255.0)),
        _ => 0.0,
    }
}

/// Silicon decodes to 12 bits: each of the 256 results that applegpu's authors measured is the
/// nearest multiple of 1/4095. source: applegpu's srgb.py; Mesa's agx_border.c ("4 extra bits").
fn srgb_to_linear(x: f32) -> f32 {
    let exact = if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) };
    (exact * 4095.0).round() / 4095.0
}

fn linear_to_srgb(x: f32) -> f32 {
    if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
}

/// Turns a register's float to raw elements.
fn encode(format: Format, component: usize, x: f32) -> u32 {
    let unorm = |max: f32| (crate::usc::operand::saturate(x) * max).round_ties_even() as u32;
    let snorm = |max: f32| {
        let clamped = if x.is_nan() { 0.0 } else { x.clamp(-1.0, 1.0) };
        (clamped * max).round_ties_even() as i32 as u32
    };
    match format {
        Format::U8Norm => unorm(255.0),
        Format::S8Norm => snorm(127.0) & 0xff,
        Format::U16Norm => unorm(65535.0),
        Format::S16Norm => snorm(32767.0) & 0xffff,
        Format::Srgba8 if component == 3 => unorm(255.0),
        Format::Srgba8 => {
            let clamped = crate::usc::operand::saturate(x);
            (linear_to_srgb(clamped) * 255.0).round_ties_even() as u32
        }
        _ => 0,
    }
}

/// The components of a packed word.
fn unpack_word(format: Format, word: u32) -> [f32; 4] {
    let small = |bits: u32, mantissa: u32| {
        // A float of 5 exponent bits without sign: move it to the place of a half's fields.
        half::widen(bits << (10 - mantissa))
    };
    match format {
        Format::Rgb10A2 => [
            (word & 1023) as f32 / 1023.0,
            (word >> 10 & 1023) as f32 / 1023.0,
            (word >> 20 & 1023) as f32 / 1023.0,
            (word >> 30) as f32 / 3.0,
        ],
        Format::Rg11B10F => {
            [small(word & 0x7ff, 6), small(word >> 11 & 0x7ff, 6), small(word >> 22, 5), 0.0]
        }
        _ => {
            let scale = 2f32.powi((word >> 27) as i32 - 15 - 9);
            let part = |shift: u32| (word >> shift & 0x1ff) as f32 * scale;
            [part(0), part(9), part(18), 0.0]
        }
    }
}

#[inline(always)]
fn transfer<'a>(l: &Lanes<'a, '_>, op: &Op) -> &'a Transfer {
    l.code.transfer(op.imm as usize)
}

#[inline(always)]
fn store_float(l: &mut Lanes<'_, '_>, t: &Transfer, k: usize, values: &[f32; LANES]) {
    l.store_f32(Dst { saturate: false, ..register_at(t.register, k) }, values);
}

#[inline(always)]
fn load_from(l: &mut Lanes<'_, '_>, t: &Transfer, addresses: &[u64; LANES]) {
    if t.format.packed().is_some() {
        gather(l, addresses, 4, 1, |l, _, raw| {
            let mut channels = [[0.0; LANES]; 4];
            for i in 0..LANES {
                let parts = unpack_word(t.format, raw.0[i]);
                for c in 0..4 {
                    channels[c][i] = parts[c];
                }
            }
            for (k, values) in channels.iter().enumerate().take(t.count()) {
                store_float(l, t, k, values);
            }
        });
    } else if t.format.is_raw() {
        let first = t.register;
        if is_wide(t) {
            gather(l, addresses, t.format.stride(), t.mask, |l, k, raw| {
                l.store_row(first.row + k as u16, &raw);
            });
        } else {
            gather(l, addresses, t.format.stride(), t.mask, |l, k, raw| {
                l.store_u32(register_at(first, k), &raw);
            });
        }
    } else {
        let components: [usize; 4] = component_numbers(t.mask);
        gather(l, addresses, t.format.stride(), t.mask, |l, k, raw| {
            let values = raw.0.map(|v| decode(t.format, components[k], v));
            if is_wide(t) {
                l.store_row(t.register.row + k as u16, &Row(values.map(|v| (v as f32).to_bits())));
            } else {
                // Rounded once: by way of 32 bits, a few 16-bit values would miss the nearest half.
                let halves = values.map(super::float::f64_to_half);
                l.store_u32(register_at(t.register, k), &Row(halves));
            }
        });
    }
}

/// The element number of each transferred register.
fn component_numbers(mask: u8) -> [usize; 4] {
    let mut out = [0; 4];
    let mut k = 0;
    for e in 0..4 {
        if mask >> e & 1 != 0 {
            out[k] = e;
            k += 1;
        }
    }
    out
}

#[inline(always)]
fn store_to(l: &mut Lanes<'_, '_>, exec: u32, t: &Transfer, addresses: &[u64; LANES]) -> Next {
    if t.format.packed().is_some() {
        let wide = is_wide(t);
        let mut channels = [Row::ZERO; 4];
        for (k, channel) in channels.iter_mut().enumerate().take(t.count()) {
            *channel = register_bits(l, t, k);
            if !wide {
                for v in &mut channel.0 {
                    *v = half::widen(*v).to_bits();
                }
            }
        }
        let mut row = Row::ZERO;
        for i in 0..LANES {
            let mut word = [0; 4];
            t.format.store(15, &std::array::from_fn(|c| channels[c].0[i]), &mut word);
            row.0[i] = u32::from_le_bytes(word);
        }
        scatter(l, exec, addresses, 4, 0, &row);
        return Next::Continue;
    }
    let element = t.format.stride();
    let is_aligned = |(i, a): (usize, &u64)| exec >> i & 1 == 0 || a.is_multiple_of(4);
    if let Some(parts) = parts_of_a_word(t)
        && addresses.iter().enumerate().all(is_aligned)
    {
        let word = word_of_parts(l, t, parts);
        scatter(l, exec, addresses, 4, 0, &word);
        return Next::Continue;
    }
    let components = component_numbers(t.mask);
    for k in 0..t.count() {
        let mut row = register_bits(l, t, k);
        if !t.format.is_raw() {
            let wide = is_wide(t);
            for v in &mut row.0 {
                let x = if wide { f32::from_bits(*v) } else { half::widen(*v) };
                *v = encode(t.format, components[k], x);
            }
        } else if t.format == Format::F16 && is_wide(t) {
            for v in &mut row.0 {
                *v = half::narrow(f32::from_bits(*v));
            }
        }
        scatter(l, exec, addresses, element, components[k] as u64 * u64::from(element), &row);
    }
    Next::Continue
}

/// Number of elements of a transfer that together fill one word of memory.
#[inline(always)]
fn parts_of_a_word(t: &Transfer) -> Option<u32> {
    match (t.format, t.mask) {
        (Format::I8, 0b1111) => Some(4),
        (Format::I16, 0b11) => Some(2),
        _ => None,
    }
}

/// The words that the elements of a transfer fill, a register each.
#[inline(always)]
fn word_of_parts(l: &Lanes<'_, '_>, t: &Transfer, parts: u32) -> Row {
    let (unit, mut word) = (t.format.stride(), Row::ZERO);
    for k in 0..parts {
        let part = register_bits(l, t, k as usize);
        for (v, part) in word.0.iter_mut().zip(part.0) {
            *v |= (part & element_mask(unit)) << (8 * unit * k);
        }
    }
    word
}

/// The bits of an element of 1, 2 or 4 bytes.
#[inline(always)]
fn element_mask(unit: u32) -> u32 {
    u32::MAX >> (32 - 8 * unit)
}

/// The addresses of a transfer if they are offsets from one uniform base, and the job is not
/// checked.
#[inline(always)]
fn near_addresses(l: &Lanes<'_, '_>, op: &Op, t: &Transfer) -> Option<Offsets32> {
    let base = op.s[0];
    if base.file != File::Shared || base.form != Form::Pair || l.checker.is_some() || l.exec == 0 {
        return None;
    }
    let unit = t.format.stride();
    let shift = u32::from(t.shift.min(2)) + unit.trailing_zeros();
    let low = l.row(base).0[0];
    let high = l.row(crate::usc::op::Src { row: base.row + 1, ..base }).0[0];
    let base = u64::from(low) | u64::from(high) << 32;
    let base = base & !(u64::from(unit) - 1);
    match t.immediate {
        Some(index) => Offsets32::one(base, u64::try_from(index).ok()? << shift),
        None => Offsets32::new(base, l.row(op.s[1]), shift, l.exec),
    }
}

/// Device memory to registers. Source 0 is the base, source 1 the index.
#[inline(always)]
pub fn device_load<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let t = transfer(l, op);
    if t.format.is_raw()
        && is_wide(t)
        && let Some(near) = near_addresses(l, op, t)
    {
        let unit = t.format.stride();
        let elements = 8 - t.mask.leading_zeros();
        let size = near.size() + u64::from(unit * elements);
        if let Some(host) = l.port.ranges_lookup(near.address(), size) {
            if let Some(parts) = parts_of_a_word(t) {
                // SAFETY: as below; the elements are the four bytes.
                let word = unsafe { fetch(host, &near.offsets, 4) };
                for k in 0..parts {
                    let mut row = word;
                    row.0.iter_mut().for_each(|v| *v = *v >> (8 * unit * k) & element_mask(unit));
                    l.store_row(t.register.row + k as u16, &row);
                }
                return Next::Continue;
            }
            for (k, e) in (0..elements).filter(|e| t.mask >> e & 1 != 0).enumerate() {
                // SAFETY: every offset, plus the element's, plus its bytes, lies in the span that
                // was looked up; a client may write at the same time, then the bytes are either.
                let row = unsafe { fetch(host.add((e * unit) as usize), &near.offsets, unit) };
                l.store_row(t.register.row + k as u16, &row);
            }
            return Next::Continue;
        }
    }
    let addresses = device_addresses(l, op, t);
    load_from(l, t, &addresses);
    Next::Continue
}

/// Registers to device memory.
#[inline(always)]
pub fn device_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let t = transfer(l, op);
    if matches!(t.format, Format::I8 | Format::I16 | Format::I32)
        && let Some(near) = near_addresses(l, op, t)
    {
        let unit = t.format.stride();
        let elements = 8 - t.mask.leading_zeros();
        let size = near.size() + u64::from(unit * elements);
        if let Some(host) = l.port.ranges_lookup_write(near.address(), size) {
            let writers = l.writers();
            if let Some(parts) = parts_of_a_word(t) {
                let word = word_of_parts(l, t, parts);
                // SAFETY: as below; the elements are the four bytes.
                unsafe { spread(host, &near.offsets, writers, &word, 4) };
                return Next::Continue;
            }
            for (k, e) in (0..elements).filter(|e| t.mask >> e & 1 != 0).enumerate() {
                let row = register_bits(l, t, k);
                let to = (e * unit) as usize;
                // SAFETY: as for loads.
                unsafe { spread(host.add(to), &near.offsets, writers, &row, unit) };
            }
            return Next::Continue;
        }
    }
    let addresses = device_addresses(l, op, t);
    store_to(l, l.writers(), t, &addresses)
}

/// One step of an atomic operation: what is stored for `old`, given the operand (and, for a compare
/// and exchange, the comparand). source: Mesa's agx_opcodes.py, ATOMIC_OPC.
#[inline(always)]
fn atomic_result(operation: u16, old: u32, operand: u32, comparand: u32) -> u32 {
    match operation {
        0 => old.wrapping_add(operand),
        1 => old.wrapping_sub(operand),
        2 => operand,
        3 => {
            if old == comparand {
                operand
            } else {
                old
            }
        }
        4 => old.min(operand),
        5 => (old as i32).min(operand as i32) as u32,
        6 => old.max(operand),
        7 => (old as i32).max(operand as i32) as u32,
        8 => old & operand,
        9 => old | operand,
        _ => old ^ operand,
    }
}

/// Number of atomic operations.
pub const ATOMIC_OPERATIONS: u16 = 11;

/// Atomic on device memory. `imm`: transfer (base and index); source 2 the operand, for compare and
/// exchange source 2 the comparand and source 3 the new value; `aux[0]` the operation, `aux[1]`
/// whether the old value is returned.
#[inline(always)]
pub fn device_atomic<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let t = transfer(l, op);
    let addresses = device_addresses(l, op, t);
    let operation = op.aux[0];
    let first = l.load_u32(op.s[2]);
    let second = if operation == 3 { l.load_u32(op.s[3]) } else { first };
    let mut old = Row::ZERO;
    let exec = l.exec;
    if l.checker.is_some() {
        check::atomics(l, &addresses);
    }
    for i in 0..LANES {
        if exec >> i & 1 == 0 {
            continue;
        }
        let Some(host) = l.port.host(addresses[i], 4, Access::Atomic) else { continue };
        // SAFETY: `host` vouches for four bytes, aligned since the base was aligned; they are
        // accessed as an atomic by all of the model's threads.
        let cell = unsafe { AtomicU32::from_ptr(host.cast()) };
        let step = |v: u32| atomic_result(operation, v, second.0[i], first.0[i]);
        old.0[i] = match operation {
            0 => cell.fetch_add(second.0[i], Ordering::Relaxed),
            2 => cell.swap(second.0[i], Ordering::Relaxed),
            _ => {
                let mut seen = cell.load(Ordering::Relaxed);
                loop {
                    let new = step(seen);
                    match cell.compare_exchange_weak(
                        seen,
                        new,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    ) {
                        Ok(v) => break v,
                        Err(v) => seen = v,
                    }
                }
            }
        };
    }
    if op.aux[1] != 0 {
        l.store_u32(op.d, &old);
    }
    Next::Continue
}

/// Byte offsets in local memory of element 0.
#[inline(always)]
pub fn local_offsets(l: &Lanes<'_, '_>, op: &Op, t: &Transfer) -> [u32; LANES] {
    let unit = t.format.stride();
    let base = if t.no_base { Row::ZERO } else { l.load_u32(op.s[0]) };
    let mut out = [0; LANES];
    match t.immediate {
        Some(index) => {
            let offset = (index as u32).wrapping_mul(unit);
            for i in 0..LANES {
                out[i] = base.0[i].wrapping_add(offset) & 0xffff;
            }
        }
        None => {
            let index = l.load_u32(op.s[1]);
            for i in 0..LANES {
                out[i] = base.0[i].wrapping_add(index.0[i].wrapping_mul(unit)) & 0xffff;
            }
        }
    }
    out
}

/// Offsets in local memory, if all that lanes may reach from them is inside and the job is not
/// checked.
#[inline(always)]
fn near_locals(l: &Lanes<'_, '_>, offsets: &[u32; LANES], unit: u32) -> Option<Offsets32> {
    if !l.shared.local_written.is_empty() || l.exec == 0 {
        return None;
    }
    let near = Offsets32::among(offsets, unit, l.exec);
    let end = near.last() as usize + (4 * unit) as usize;
    (end <= l.shared.local.len()).then_some(near)
}

/// The outcome of an access outside of local memory: silicon's is unknown, so it is a fault.
#[cold]
fn outside_local(l: &mut Lanes<'_, '_>, offset: u32) -> Next {
    let size = l.shared.local.len();
    l.fail(format!(
        "local memory offset {offset:#x} is outside of the {size:#x} bytes of the workgroup"
    ))
}

/// Local memory to registers.
#[inline(always)]
pub fn local_load<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let t = transfer(l, op);
    if !t.format.is_raw() {
        return l
            .fail("a load of local memory in a packed format is not executed by this model yet");
    }
    let offsets = local_offsets(l, op, t);
    let unit = t.format.stride();
    let components = component_numbers(t.mask);
    if let Some(near) = near_locals(l, &offsets, unit) {
        let first = l.shared.local.as_ptr().wrapping_add(near.first() as usize);
        for k in 0..t.count() {
            let from = first.wrapping_add(components[k] * unit as usize);
            // SAFETY: the last offset plus four elements lies in local memory.
            let row = unsafe { fetch(from, &near.offsets, unit) };
            l.store_u32(register_at(t.register, k), &row);
        }
        return Next::Continue;
    }
    for k in 0..t.count() {
        let at = components[k] as u32 * unit;
        let mut row = Row::ZERO;
        let mut unwritten = 0u32;
        for i in 0..LANES {
            if l.exec >> i & 1 == 0 {
                continue;
            }
            let from = (offsets[i] & !(unit - 1)).wrapping_add(at) as usize;
            let Some(bytes) = l.shared.local.get(from..from + unit as usize) else {
                return outside_local(l, from as u32);
            };
            if !l.shared.local_written.is_empty() {
                unwritten |= u32::from(!l.shared.local_written[from]) << i;
            }
            row.0[i] = match unit {
                4 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
                2 => u32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
                _ => u32::from(bytes[0]),
            };
        }
        if unwritten != 0 {
            let what =
                format!("local memory is read in lanes {unwritten:#x} where nothing was written");
            check::report(l, ReportKind::UnwrittenLocal, what, unwritten);
        }
        if l.shared.local_shadow.is_some() {
            let from = offsets.map(|o| (o & !(unit - 1)).wrapping_add(at));
            check::local(l, &from, unit, How::Read, None);
        }
        l.store_u32(register_at(t.register, k), &row);
    }
    Next::Continue
}

/// Registers to local memory.
#[inline(always)]
pub fn local_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let t = transfer(l, op);
    if !t.format.is_raw() {
        return l
            .fail("a store to local memory in a packed format is not executed by this model yet");
    }
    check::effect(l, l.exec);
    let offsets = local_offsets(l, op, t);
    let unit = t.format.stride();
    let components = component_numbers(t.mask);
    if let Some(near) = near_locals(l, &offsets, unit) {
        let first = l.shared.local.as_mut_ptr().wrapping_add(near.first() as usize);
        for k in 0..t.count() {
            let to = first.wrapping_add(components[k] * unit as usize);
            let row = register_bits(l, t, k);
            // SAFETY: the last offset plus four elements lies in local memory.
            unsafe { spread(to, &near.offsets, l.exec, &row, unit) };
        }
        return Next::Continue;
    }
    for k in 0..t.count() {
        let at = components[k] as u32 * unit;
        let row = register_bits(l, t, k);
        if l.shared.local_shadow.is_some() {
            let from = offsets.map(|o| (o & !(unit - 1)).wrapping_add(at));
            check::local(l, &from, unit, How::Write, Some(&row));
        }
        for i in 0..LANES {
            if l.exec >> i & 1 == 0 {
                continue;
            }
            let to = (offsets[i] & !(unit - 1)).wrapping_add(at) as usize;
            let Some(bytes) = l.shared.local.get_mut(to..to + unit as usize) else {
                return outside_local(l, to as u32);
            };
            bytes.copy_from_slice(&row.0[i].to_le_bytes()[..unit as usize]);
            if !l.shared.local_written.is_empty() {
                l.shared.local_written[to..to + unit as usize].fill(true);
            }
        }
    }
    Next::Continue
}

/// Atomic on local memory; operands as for `device_atomic`.
#[inline(always)]
pub fn local_atomic<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    check::effect(l, l.exec);
    let t = transfer(l, op);
    let offsets = local_offsets(l, op, t);
    let operation = op.aux[0];
    let first = l.load_u32(op.s[2]);
    let second = if operation == 3 { l.load_u32(op.s[3]) } else { first };
    let mut old = Row::ZERO;
    if !l.shared.local_written.is_empty() {
        check::local_atomics(l, &offsets.map(|o| o & !3));
    }
    for i in 0..LANES {
        if l.exec >> i & 1 == 0 {
            continue;
        }
        let at = (offsets[i] & !3) as usize;
        let Some(bytes) = l.shared.local.get_mut(at..at + 4) else {
            return outside_local(l, at as u32);
        };
        let seen = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let new = atomic_result(operation, seen, second.0[i], first.0[i]);
        bytes.copy_from_slice(&new.to_le_bytes());
        if !l.shared.local_written.is_empty() {
            l.shared.local_written[at..at + 4].fill(true);
        }
        old.0[i] = seen;
    }
    if op.aux[1] != 0 {
        l.store_u32(op.d, &old);
    }
    Next::Continue
}

/// Scratch memory to registers.
#[inline(always)]
pub fn stack_load<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    stack_transfer(l, op, How::Read, |l, t, addresses| {
        load_from(l, t, addresses);
        Next::Continue
    })
}

/// Registers to scratch memory.
#[inline(always)]
pub fn stack_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    stack_transfer(l, op, How::Write, |l, t, addresses| store_to(l, l.exec, t, addresses))
}

/// The index of a scratch access counts bytes. source: Mesa's agx_compile.c,
/// `agx_emit_load_scratch`. Scratch interleaves the lanes' words, so the elements of one lane are
/// not neighbours: transfer them one at a time.
#[inline(always)]
fn stack_transfer(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    how: How,
    one: impl Fn(&mut Lanes<'_, '_>, &Transfer, &[u64; LANES]) -> Next,
) -> Next {
    let t = transfer(l, op);
    let unit = t.format.stride();
    let components = component_numbers(t.mask);
    let index = match t.immediate {
        Some(index) => Row::splat(index as u32),
        None => l.load_u32(op.s[1]),
    };
    for k in 0..t.count() {
        let at = components[k] as u32 * unit;
        let mut addresses = [0; LANES];
        for i in 0..LANES {
            if l.exec >> i & 1 != 0 {
                let offset = index.0[i].wrapping_add(at);
                match l.stack.address(offset, i) {
                    Some(address) => addresses[i] = address,
                    None => {
                        return l.fail(format!(
                            "scratch offset {offset:#x} is outside of the {:#x} bytes mapped",
                            l.stack.size()
                        ));
                    }
                }
            }
        }
        let part = Transfer { mask: 1, register: register_at(t.register, k), ..*t };
        if l.checker.is_some() {
            let offsets = Row(index.0.map(|i| i.wrapping_add(at)));
            check::scratch(l, &offsets, unit, how);
        }
        if let Some(checker) = &mut l.checker {
            checker.in_scratch = true;
        }
        let next = one(l, &part, &addresses);
        if let Some(checker) = &mut l.checker {
            checker.in_scratch = false;
        }
        if next != Next::Continue {
            return next;
        }
    }
    Next::Continue
}

/// Moves the stack pointer; the group waits for scratch memory when it first needs some. `imm` is
/// the signed number of bytes.
#[inline(always)]
pub fn stack_adjust<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    match l.stack.adjust(op.imm as i64) {
        Ok(Adjusted::Ready) => Next::Continue,
        Ok(Adjusted::Wait) => Next::Scratch,
        Err(why) => l.fail(why),
    }
}

/// Registers of lane 0 to uniform registers, which the main program reads. Only preshaders do this.
/// `aux[0]` is the first half-register, or source 1 holds it when `aux[1]` is set; `aux[2]` halves.
#[inline(always)]
pub fn uniform_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let lane = l.exec.trailing_zeros() as usize;
    if lane >= LANES {
        return Next::Continue;
    }
    let t = transfer(l, op);
    let start = if op.aux[1] != 0 { l.load_u32(op.s[1]).0[lane] } else { u32::from(op.aux[0]) };
    let components = component_numbers(t.mask);
    for k in 0..t.count() {
        let d = register_at(t.register, k);
        let bits = l.register(d.row).0[lane];
        let (value, halves) = match d.form {
            Form::Word | Form::Pair => (bits, 2),
            Form::Low => (bits & 0xffff, 1),
            Form::High => (bits >> 16, 1),
        };
        for h in 0..halves {
            let at = start as usize + components[k] * halves + h;
            let Some(slot) = l.shared.stored_uniforms.get_mut(at) else {
                return l.fail(format!("uniform half-register {at} does not exist"));
            };
            *slot = (value >> (16 * h)) as u16;
        }
    }
    Next::Continue
}
