//! Texture and image instructions: hands coordinates and descriptors to the texture unit and the
//! pixel back end.

use tepui_agx_packets::sampler::FIRST_OF_HEAP;
use tepui_agx_texture::store::{Block, StoreOperands};
use tepui_agx_texture::{LANES, Note, SamplerState};
use tepui_softgpu::{Access, AddressSpace, Fault, Protection, RangeCache};

use super::fragment::{Incoming, Outgoing, to_registers};
use super::memory::{register_at, register_bits_of};
use super::{Lanes, Next, Op};
use crate::job::{ProgramPoint, Report, ReportKind};
use crate::usc::access::{DescriptorSource, SamplerSource, TextureAccess};
use crate::usc::check::memory::{effect, report as checked};
use crate::usc::memory::TextureRows;
use crate::usc::op::{Form, Src};
use crate::usc::row::Row;
use crate::usc::stage::Stage;

/// A worker's memory as the texture unit sees it.
pub(crate) struct View<'a> {
    pub vm: &'a AddressSpace,
    pub ranges: &'a mut RangeCache,
}

// SAFETY: `RangeCache::lookup` returns addresses of bound memory with the permissions asked for,
// which stays mapped while the job runs.
unsafe impl tepui_agx_texture::Memory for View<'_> {
    fn window(&mut self, address: u64, size: u64, access: Access) -> Option<*mut u8> {
        let need = match access {
            Access::Write => Protection::WRITE,
            Access::Atomic => Protection::READ | Protection::WRITE,
            Access::Read | Access::Execute => Protection::READ,
        };
        self.ranges.lookup(self.vm, address, size, need)
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.vm.report_access(0, Access::Read, address, into.len() as u64);
        self.vm.read(address, into)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        if self.vm.is_observed() {
            report_changes(self.vm, address, from);
        }
        self.vm.write(address, from)
    }
}

/// Tells the observer of bytes that a write changes.
#[cold]
fn report_changes(vm: &AddressSpace, address: u64, from: &[u8]) {
    let mut old = vec![0; from.len()];
    if vm.read(address, &mut old).is_ok() && old != from {
        vm.report_access(0, Access::Write, address, from.len() as u64);
    }
}

fn row(l: &Lanes<'_, '_>, s: Option<Src>) -> [u32; LANES] {
    s.map_or([0; LANES], |s| l.load_u32(s).0)
}

/// Calls `each` for every group of active lanes that have the same descriptor (and, with `key`, the
/// same key), until one fails.
#[inline(always)]
fn for_each_descriptor(
    l: &mut Lanes<'_, '_>,
    source: DescriptorSource,
    key: Option<&[u32; LANES]>,
    mut each: impl FnMut(&mut Lanes<'_, '_>, &[u8; 24], u32, u32) -> Result<(), String>,
) -> Next {
    if l.exec == 0 {
        return Next::Continue;
    }
    if let (DescriptorSource::State(number), None) = (source, key) {
        let descriptor = texture_state(l, u32::from(number));
        return match each(l, &descriptor, l.exec, 0) {
            Ok(()) => Next::Continue,
            Err(why) => l.fail(why),
        };
    }
    let key = key.unwrap_or(&[0; LANES]);
    let selector = match source {
        DescriptorSource::State(number) => [u32::from(number); LANES],
        DescriptorSource::StateRegister(s) => l.load_u32(s).0,
        DescriptorSource::Memory { offset, .. } => l.load_u32(offset).0,
    };
    let mut left = l.exec;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let mut same = 0;
        for i in 0..LANES {
            let equal = selector[i] == selector[first] && key[i] == key[first];
            same |= (left >> i & 1) << i & u32::from(equal) << i;
        }
        left &= !same;
        let descriptor = match source {
            DescriptorSource::Memory { base, .. } => {
                let address = l.load_u64(base)[first].wrapping_add(u64::from(selector[first]));
                descriptor_at(l, address, "texture")
            }
            _ => texture_state(l, selector[first]),
        };
        if let Err(why) = each(l, &descriptor, same, key[first]) {
            return l.fail(why);
        }
    }
    Next::Continue
}

/// The contents of a texture state register. What silicon has in one that was never loaded is
/// unknown; here it is zero.
#[inline(always)]
fn texture_state(l: &mut Lanes<'_, '_>, number: u32) -> [u8; 24] {
    match l.shared.textures.get(number as usize) {
        Some(bytes) => *bytes,
        None => {
            undefined(l, || format!("texture state register ts{number} is not loaded"));
            [0; 24]
        }
    }
}

/// A descriptor in memory: a load of the shader, so zeros where nothing is mapped.
/// source: asahi_drm.h, DRM_ASAHI_FEATURE_SOFT_FAULTS
#[inline(always)]
fn descriptor_at<const N: usize>(l: &mut Lanes<'_, '_>, address: u64, which: &str) -> [u8; N] {
    l.port.vm.report_access(0, Access::Read, address, N as u64);
    l.port.vm.read_array(address).unwrap_or_else(|fault| {
        l.port.soft_faults += 1;
        l.port.first_soft_fault.get_or_insert(fault);
        undefined(l, || format!("{which} descriptor: {fault}; it reads as zero"));
        [0; N]
    })
}

/// Tells the checker of a descriptor that is not there, through which a driver may read as long as
/// it does not use the result.
#[cold]
fn undefined(l: &mut Lanes<'_, '_>, what: impl FnOnce() -> String) {
    if l.checker.is_some() {
        checked(l, ReportKind::UndefinedDescriptor, what(), 0);
    }
}

/// Part of its callers: as a value that a function returns, a sampler would be read in other pieces
/// than it was written in, which has to wait for all stores before.
#[inline(always)]
fn sampler(l: &mut Lanes<'_, '_>, source: SamplerSource, number: u32) -> Option<SamplerState> {
    let number = match source {
        SamplerSource::State(number) => u32::from(number),
        SamplerSource::Register(_) => match number.checked_sub(u32::from(FIRST_OF_HEAP)) {
            Some(place) => return Some(sampler_of_heap(l, place)),
            None => number,
        },
    };
    let state = l.shared.samplers.get(number as usize);
    state.map(|&(sampler, border)| SamplerState { sampler, border })
}

#[inline(never)]
fn sampler_of_heap(l: &mut Lanes<'_, '_>, place: u32) -> SamplerState {
    let (heap, count) = l.shared.sampler_heap;
    let sampler = if place < count {
        descriptor_at(l, heap.wrapping_add(8 * u64::from(place)), "sampler")
    } else {
        undefined(l, || format!("sampler {place} is outside of the heap of {count}"));
        [0; 8]
    };
    SamplerState { sampler, border: [0; 4] }
}

/// Hands on what the texture unit could not know, with the place of the instruction.
#[inline(always)]
fn report_notes(l: &mut Lanes<'_, '_>) {
    if l.port.sampler.notes.is_empty() {
        return;
    }
    #[cold]
    fn report(l: &mut Lanes<'_, '_>) {
        let (offset, text) = l.code.describe(l.pc.saturating_sub(1));
        let at = ProgramPoint { program: l.code.address(), offset, text };
        for note in l.port.sampler.notes.take() {
            let kind = match note {
                Note::UnknownCompression { metadata: 0 } => ReportKind::UnwrittenTile,
                Note::UnknownCompression { .. } => ReportKind::UnknownCompression,
                Note::Descriptor { .. } => ReportKind::UndefinedDescriptor,
                Note::Unmapped { .. } => ReportKind::UnboundTexel,
            };
            if note.is_for_checker() {
                checked(l, kind, note.to_string(), 0);
                continue;
            }
            let (what, at, shader) = (note.to_string(), at.clone(), l.code.fingerprint());
            let report = Report { kind, what, at, shader, lanes: 0, workgroup: [0; 3], count: 1 };
            if l.port.reports.len() < MAX_REPORTS && !l.port.reports.contains(&report) {
                l.port.reports.push(report);
            }
        }
    }
    report(l);
}

/// Maximum number of reports of one worker in a launch.
const MAX_REPORTS: usize = 64;

/// Samples, loads, gathers or queries a texture.
#[inline(always)]
pub fn texture<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let code = l.code;
    let TextureAccess::Read(t) = code.access(op.imm as usize) else {
        return l.fail("a texture operation without its fields");
    };
    // Kept from one instruction to the next: most of it is not written each time.
    let mut kept = l.port.texture.take().unwrap_or_default();
    let TextureRows { operands, given, result } = &mut *kept;
    for (to, s) in operands.coordinates.iter_mut().zip(t.coordinates) {
        set(l, to, s, t.integer);
    }
    let before = std::mem::take(given);
    let zero_unless_given = [
        (&mut operands.layer, t.layer, true),
        (&mut operands.sample, t.sample, true),
        (&mut operands.lod, t.lod, t.integer),
    ];
    for (k, (to, s, integer)) in zero_unless_given.into_iter().enumerate() {
        if s.is_some() {
            set(l, to, s, integer);
            *given |= 1 << k;
        } else if before >> k & 1 != 0 {
            *to = [0; LANES];
        }
    }
    set(l, &mut operands.min_lod, t.min_lod, false);
    for (to, s) in operands.gradient.as_flattened_mut().iter_mut().zip(t.gradient.as_flattened()) {
        set(l, to, *s, false);
    }
    set(l, &mut operands.reference, t.reference, false);
    set(l, &mut operands.offset, t.offset, true);
    let samplers = match t.sampler {
        SamplerSource::State(_) => None,
        SamplerSource::Register(s) => Some(l.load_u32(s).0),
    };
    let count = t.request.rows();
    // If all lanes execute with one descriptor, results go directly to their registers.
    let direct = l.full() && t.register.form == Form::Word;
    let mut stored = false;
    let next = for_each_descriptor(l, t.texture, samplers.as_ref(), |l, descriptor, lanes, key| {
        let state = sampler(l, t.sampler, key);
        let unit = |l: &mut Lanes<'_, '_>, out: &mut [[u32; LANES]]| {
            let port = &mut *l.port;
            let mut view = View { vm: port.vm, ranges: &mut port.ranges };
            port.sampler
                .read(&mut view, &t.request, descriptor, state.as_ref(), operands, lanes, out)
                .map_err(|fault| format!("texture unit: {fault}"))
        };
        if lanes != l.exec {
            let mut part = [[0; LANES]; 5];
            unit(l, &mut part[..count])?;
            for (to, from) in result.iter_mut().zip(&part) {
                for i in (0..LANES).filter(|i| lanes >> i & 1 != 0) {
                    to[i] = from[i];
                }
            }
            return Ok(());
        }
        if !direct {
            return unit(l, &mut result[..count]);
        }
        stored = true;
        let first = l.register_mut(t.register.row) as *mut Row;
        // SAFETY: `Program` admits only registers that the file has, whose rows lie side by side,
        // and the texture unit has no other way to them.
        unit(l, unsafe { std::slice::from_raw_parts_mut(first.cast(), count) })
    });
    if next == Next::Continue {
        report_notes(l);
        for (k, values) in result.iter().enumerate().take(if stored { 0 } else { count }) {
            l.store_u32(register_at(t.register, k), &Row(*values));
        }
    }
    l.port.texture = Some(kept);
    next
}

/// Brings an operand of a texture instruction to its row, if there is one.
#[inline(always)]
fn set(l: &Lanes<'_, '_>, to: &mut [u32; LANES], source: Option<Src>, integer: bool) {
    let Some(s) = source else { return };
    if s.is_word() && (integer || s.is_plain()) {
        *to = l.row(s).0;
    } else if integer {
        *to = l.load_u32(s).0;
    } else {
        let value = l.load_f32(s);
        for i in 0..LANES {
            to[i] = value[i].to_bits();
        }
    }
}

/// Writes to an image.
pub fn image_write<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let code = l.code;
    let TextureAccess::Store(t) = code.access(op.imm as usize) else {
        return l.fail("an image store without its fields");
    };
    let operands = StoreOperands {
        coordinates: t.coordinates.map(|s| row(l, s)),
        layer: row(l, t.layer),
        sample: row(l, t.sample),
        level: l.load_u32(t.level).0,
        components: std::array::from_fn(|k| register_bits_of(l, t.register, k).0),
    };
    let writers = l.writers();
    effect(l, writers);
    let next = for_each_descriptor(l, t.image, None, |l, descriptor, lanes, _| {
        let lanes = lanes & writers;
        if lanes == 0 {
            return Ok(());
        }
        let port = &mut *l.port;
        let mut view = View { vm: port.vm, ranges: &mut port.ranges };
        port.sampler
            .write(&mut view, &t.store, descriptor, &operands, lanes)
            .map_err(|fault| format!("pixel back end: {fault}"))
    });
    report_notes(l);
    next
}

/// Writes the tile in local memory to an image; each active lane names a tile.
pub fn image_write_block<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let code = l.code;
    let TextureAccess::Block(t) = code.access(op.imm as usize) else {
        return l.fail("a tile store without its fields");
    };
    let Some(tile) = l.shared.tile else {
        return l.fail("local memory is not laid out as a tile");
    };
    let [x, y] = match (&l.stage, t.coordinates[0]) {
        (Stage::EndOfTile(tile), None) => tile.corner.map(|v| [v; LANES]),
        (_, None) => return l.fail("a tile store without coordinates outside of a tile's program"),
        _ => [row(l, t.coordinates[0]), row(l, t.coordinates[1])],
    };
    effect(l, l.exec);
    let (layer, level) = (row(l, t.layer), l.load_u32(t.level).0);
    let offset = l.load_u32(t.offset).0;
    let tile = tepui_agx_texture::Tilebuffer {
        size: tile.size_px,
        samples: tile.samples,
        sample_bytes: tile.sample_bytes,
    };
    for_each_descriptor(l, t.image, None, |l, descriptor, lanes, _| {
        for i in (0..LANES).filter(|i| lanes >> i & 1 != 0) {
            let block = Block {
                at: [x[i], y[i]],
                layer: layer[i] & 0xffff,
                level: level[i] & 0xffff,
                offset: offset[i] & 0xffff,
            };
            let port = &mut *l.port;
            let mut view = View { vm: port.vm, ranges: &mut port.ranges };
            port.sampler
                .write_block(&mut view, &t.store, descriptor, &block, &tile, &l.shared.local)
                .map_err(|fault| format!("pixel back end: {fault}"))?;
        }
        Ok(())
    })
}

/// Registers to the tile in local memory (`aux[0]` is 0), or back (1).
#[inline(always)]
pub fn tile_pixel<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let code = l.code;
    let TextureAccess::Pixel(t) = code.access(op.imm as usize) else {
        return l.fail("a tile access without its fields");
    };
    let Some(tile) = l.shared.tile else {
        return l.fail("local memory is not laid out as a tile");
    };
    let tile = tepui_agx_texture::Tilebuffer {
        size: tile.size_px,
        samples: tile.samples,
        sample_bytes: tile.sample_bytes,
    };
    let [x, y] = t.coordinates.map(|s| l.load_u32(s).0);
    let samples = l.load_u32(t.samples).0;
    let out = (op.aux[0] == 0).then(|| {
        let room = tile.sample_bytes as usize;
        Outgoing::new(l, t, room.saturating_sub(usize::from(t.offset)))
    });
    let mut incoming = Incoming::new(t);
    for i in (0..LANES).filter(|i| l.exec >> i & 1 != 0) {
        for sample in (0..tile.samples).filter(|s| samples[i] >> s & 1 != 0) {
            let start = tile.offset(x[i], y[i], sample);
            let end = start + tile.sample_bytes as usize;
            let Some(pixel) = l.shared.local.get_mut(start + usize::from(t.offset)..end) else {
                return l.fail(format!(
                    "pixel {}, {} of the tile, bytes {start:#x} to {end:#x}, is outside of local memory",
                    x[i], y[i]
                ));
            };
            match &out {
                Some(out) => out.put(t, i, pixel),
                None => incoming.take(t, i, pixel),
            }
        }
    }
    if out.is_none() {
        to_registers(l, t, &incoming.channels());
    }
    Next::Continue
}

/// Memory to a texture state register (`aux[0]`): base in source 0, offset in bytes in source 1.
pub fn texture_state_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let Some(address) = state_address(l, op) else { return Next::Continue };
    let bytes = descriptor_at(l, address, "texture");
    let register = usize::from(op.aux[0]);
    if l.shared.textures.len() <= register {
        l.shared.textures.resize(register + 1, [0; 24]);
    }
    l.shared.textures[register] = bytes;
    Next::Continue
}

/// Memory to a sampler state register, as `texture_state_store`.
pub fn sampler_state_store<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let Some(address) = state_address(l, op) else { return Next::Continue };
    let bytes = descriptor_at(l, address, "sampler");
    let register = usize::from(op.aux[0]);
    if l.shared.samplers.len() <= register {
        l.shared.samplers.resize(register + 1, ([0; 8], [0; 4]));
    }
    l.shared.samplers[register] = crate::usc::shared::split_sampler(&bytes);
    Next::Continue
}

/// The address of the first active lane; none if no lane is active.
fn state_address(l: &Lanes<'_, '_>, op: &Op) -> Option<u64> {
    let lane = l.exec.trailing_zeros() as usize;
    (lane < LANES)
        .then(|| l.load_u64(op.s[0])[lane].wrapping_add(u64::from(l.load_u32(op.s[1]).0[lane])))
}
