//! Loads and stores.

use tepui_mali_isa::modifier::{LoadLane8, LoadLane16, LoadLane32};
use tepui_mali_isa::{Inst, Op as Isa};
use tepui_softgpu::Protection;

use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{ALL, LANES, Row, numbers, wide};
use crate::warp::trap::Trap;

/// Shift of a load's position in the first register, in [`Op::flags`].
const PLACE: u32 = 8;
/// Modifier of loads: the value is sign-extended.
pub const SIGNED: u32 = 1 << 16;

/// Modifier of stores: helper lanes store, too.
pub const FORCED: u32 = 1 << 17;

/// Encodes the first bit in the register and the number of bits of a loaded value.
pub const fn placed(first: u32, bits: u32) -> u32 {
    first << PLACE | bits
}

/// The position of a loaded value: the first bit in the register, and the bits that it fills. Values of whole
/// words go to consecutive registers.
pub fn place(inst: &Inst) -> u32 {
    let at = placed;
    if let Some(lane) = inst.modifier::<LoadLane8>() {
        return match lane {
            LoadLane8::B0 => at(0, 8),
            LoadLane8::B1 => at(8, 8),
            LoadLane8::B2 => at(16, 8),
            LoadLane8::B3 => at(24, 8),
            LoadLane8::H0 => at(0, 16),
            LoadLane8::H1 => at(16, 16),
            LoadLane8::W0 => at(0, 32),
            LoadLane8::D0 => at(0, 64),
        };
    }
    if let Some(lane) = inst.modifier::<LoadLane16>() {
        return match lane {
            LoadLane16::H0 => at(0, 16),
            LoadLane16::H1 => at(16, 16),
            LoadLane16::W0 => at(0, 32),
            LoadLane16::D0 => at(0, 64),
        };
    }
    match inst.modifier::<LoadLane32>() {
        Some(LoadLane32::D0) => at(0, 64),
        _ => at(0, 32),
    }
}

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::LOAD_I8 => |l, op| load::<1>(l, op),
            Isa::LOAD_I16 => |l, op| load::<2>(l, op),
            Isa::LOAD_I24 => |l, op| load::<3>(l, op),
            Isa::LOAD_I32 => |l, op| load::<4>(l, op),
            Isa::LOAD_I48 => |l, op| load::<6>(l, op),
            Isa::LOAD_I64 => |l, op| load::<8>(l, op),
            Isa::LOAD_I96 => |l, op| load::<12>(l, op),
            Isa::LOAD_I128 => |l, op| load::<16>(l, op),
            Isa::STORE_I8 => |l, op| store::<1>(l, op),
            Isa::STORE_I16 => |l, op| store::<2>(l, op),
            Isa::STORE_I24 => |l, op| store::<3>(l, op),
            Isa::STORE_I32 => |l, op| store::<4>(l, op),
            Isa::STORE_I48 => |l, op| store::<6>(l, op),
            Isa::STORE_I64 => |l, op| store::<8>(l, op),
            Isa::STORE_I96 => |l, op| store::<12>(l, op),
            Isa::STORE_I128 => |l, op| store::<16>(l, op),
            _ => return None,
        })
    }
}

#[inline(always)]
fn load<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let offset = op.immediate as i32 as i64;
    let mut words = [Row::splat(0); 4];
    let (low, high) = (l.get(&op.src[0]), *l.raw(op.src[0].high));
    let (mask, bytes) = (l.warp.mask, BYTES as u64);
    let rows = l.port.local_rows([&low, &high], offset, mask, bytes, Protection::READ);
    if let Some(rows) = rows {
        rows.load::<BYTES>(&mut words);
        deliver::<BYTES>(l, op, &words);
        return Ok(());
    }
    let addresses = wide(&low, &high).map(|address| address.wrapping_add_signed(offset));
    let access = l.port.warp_access(&addresses, l.warp.mask, BYTES as u64, Protection::READ);
    if let Some(access) = access {
        access.load::<BYTES>(&mut words);
        deliver::<BYTES>(l, op, &words);
        return Ok(());
    }
    for (lane, &address) in addresses.iter().enumerate() {
        if l.warp.mask >> lane & 1 == 0 {
            continue;
        }
        let mut bytes = [0; 16];
        l.port.read_lane(address, lane, &mut bytes[..BYTES])?;
        for (row, word) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row.0[lane] = u32::from_le_bytes(*word);
        }
    }
    deliver::<BYTES>(l, op, &words);
    Ok(())
}

/// Writes loaded words to the staging registers.
#[inline(always)]
pub fn deliver<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op, words: &[Row; 4]) {
    if BYTES > 4 {
        return l.put_staging(op, words);
    }
    let (register, count) = op.staging[0];
    let (first, bits) = (op.flags >> PLACE & 0xff, op.flags & 0xff);
    let unused = 32 - 8 * BYTES as u32;
    let extended = match op.flags & SIGNED != 0 {
        true => words[0].map(|v| ((v << unused) as i32 >> unused) as u32),
        false => words[0],
    };
    if count == 0 {
        return;
    }
    if bits >= 32 {
        l.put_register(register, &extended);
        if bits == 64 && count > 1 {
            let high = match op.flags & SIGNED != 0 {
                true => extended.map(|v| (v as i32 >> 31) as u32),
                false => Row::splat(0),
            };
            l.put_register(register + 1, &high);
        }
        return;
    }
    let mask = (u32::MAX >> (32 - bits)) << first;
    let mut value = *l.raw(register.into());
    for i in 0..LANES {
        value.0[i] = value.0[i] & !mask | extended.0[i] << first & mask;
    }
    l.put_register(register, &value);
}

#[inline(always)]
fn store<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let offset = op.immediate as i32 as i64;
    let (register, count) = op.staging[1];
    let mask = l.warp.mask & if op.flags & FORCED != 0 { ALL } else { !l.warp.helpers };
    if mask == 0 {
        return Ok(());
    }
    let (low, high) = (l.get(&op.src[0]), *l.raw(op.src[0].high));
    let mut words = [Row::splat(0); 4];
    for (i, row) in words[..BYTES.div_ceil(4)].iter_mut().enumerate() {
        if i < usize::from(count) {
            *row = *l.raw(u16::from(register) + i as u16);
        }
    }
    let bytes = BYTES as u64;
    let rows = l.port.local_rows([&low, &high], offset, mask, bytes, Protection::WRITE);
    if let Some(rows) = rows {
        rows.store::<BYTES>(mask, &words);
        return Ok(());
    }
    let addresses = wide(&low, &high).map(|address| address.wrapping_add_signed(offset));
    if let Some(access) = l.port.warp_access(&addresses, mask, bytes, Protection::WRITE) {
        access.store::<BYTES>(mask, &words);
        return Ok(());
    }
    for lane in numbers(mask) {
        let mut bytes = [0; 16];
        for (i, chunk) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *chunk = words[i].0[lane].to_le_bytes();
        }
        l.port.write_lane(addresses[lane], lane, &bytes[..BYTES])?;
    }
    Ok(())
}
