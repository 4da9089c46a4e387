//! Messages of fragment shaders to the end of the pipeline: alpha test, depth and stencil, blending, the tile
//! buffer.
//!
//! ATEST executes late tests, or ZS_EMIT if the shader writes depth or stencil.
//!
// source: ISA.xml; Mesa, bifrost_compile.c (`bi_emit_fragment_out`, `bi_emit_blend_op`), va_pack.c
// (`va_lower_blend`), pan_earlyzs.c; of pixel indices: bifrost.h (`bifrost_pixel_indices`).

use tepui_mali_isa::Op as Isa;
use tepui_mali_packets::draw::BlendMode;

use super::image::{conversion_flags, deliver, is_short, kind};
use crate::pixels::format::{NumericType, PixelFormat, bytes};
use crate::pixels::{Pixels, Write};
use crate::shader::alu::select::holds;
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, float16, halves, numbers};
use crate::warp::trap::Trap;

/// Modifier of BLEND in [`Op::flags`]: the lanes end if the hardware blends.
pub const ENDS: u32 = 1 << 8;
/// Modifiers of ZS_EMIT: the first source is a depth, the second a stencil.
pub const DEPTH: u32 = 1 << 9;
/// See [`DEPTH`].
pub const STENCIL: u32 = 1 << 10;

/// Pixel index that means the lane's own pixel.
const OWN_PIXEL: u32 = 255;
/// Sample index that means all samples.
const ALL_SAMPLES: u32 = 255;

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::ATEST => |l, op| alpha_test(l, op),
            Isa::ZS_EMIT => |l, op| emit(l, op),
            Isa::BLEND => |l, op| blend(l, op),
            Isa::LD_TILE => |l, op| load(l, op),
            Isa::ST_TILE => |l, op| store(l, op),
            Isa::DISCARD_F32 => |l, op| discard(l, op),
            _ => return None,
        })
    }
}

fn no_pixels() -> Box<Trap> {
    Box::new(Trap::Invalid("a message of fragments from another shader".into()))
}

/// The fragment units.
fn pixels<'l>(l: &'l mut Lanes<'_, '_>) -> Result<&'l mut Pixels, Box<Trap>> {
    l.port.pixels.as_deref_mut().ok_or_else(no_pixels)
}

fn alpha_test(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (coverage, alpha) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let mask = l.warp.mask & !l.warp.helpers;
    let pixels = pixels(l)?;
    let state = pixels.state.as_ref().ok_or_else(no_pixels)?;
    let (emits, by_alpha) = (state.emits, state.alpha_to_coverage);
    let count = pixels.framebuffer.samples.count;
    for lane in numbers(mask) {
        let mut left = pixels.lanes[lane].coverage & coverage.0[lane] as u16;
        if by_alpha {
            // The mapping of alpha to samples is not known; here it selects the first ones, their number
            // rounded.
            let alpha = f32::from_bits(alpha.0[lane]);
            let below = (0..count).filter(|s| alpha * count as f32 >= *s as f32 + 0.5);
            left &= below.fold(0, |mask, s| mask | 1 << s);
        }
        pixels.lanes[lane].coverage = left;
    }
    if !emits {
        pixels.test_lanes(mask, None, None);
    }
    deliver_coverage(l, op, mask)
}

/// Writes the remaining coverage for the lanes of a mask, and 0 for the others.
fn deliver_coverage(l: &mut Lanes<'_, '_>, op: &Op, mask: u16) -> Result<(), Box<Trap>> {
    if op.staging[0].1 == 0 {
        return Ok(());
    }
    let pixels = pixels(l)?;
    let left = |lane: usize| match mask >> lane & 1 {
        0 => 0,
        _ => pixels.lanes[lane].coverage.into(),
    };
    let out = Row(std::array::from_fn(left));
    l.put_register(op.staging[0].0, &out);
    Ok(())
}

fn emit(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let [depth, stencil, coverage] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let mask = l.warp.mask & !l.warp.helpers;
    let pixels = pixels(l)?;
    for lane in numbers(mask) {
        pixels.lanes[lane].coverage &= coverage.0[lane] as u16;
    }
    let given = |flag: u32, row| (op.flags & flag != 0).then_some(row);
    pixels.test_lanes(mask, given(DEPTH, &depth), given(STENCIL, &stencil));
    deliver_coverage(l, op, mask)
}

/// The channels of the registers that a message reads.
fn channels(l: &Lanes<'_, '_>, op: &Op, short: bool, kind: NumericType) -> [Row; 4] {
    let (register, count) = op.staging[1];
    let mut out = [Row::splat(0); 4];
    for i in 0..usize::from(count).min(4) {
        let row = *l.raw(u16::from(register) + i as u16);
        if !short {
            out[i] = row;
        } else if i < 2 {
            for lane in 0..LANES {
                for (n, half) in halves(row.0[lane]).into_iter().enumerate() {
                    out[2 * i + n].0[lane] = match kind {
                        NumericType::Float => float16(half).to_bits(),
                        NumericType::Signed => half as i16 as i32 as u32,
                        NumericType::Unsigned => half.into(),
                    };
                }
            }
        }
    }
    out
}

/// The representation of colours in the registers of a message with these flags: whether they have 16 bits, and their
/// numeric type. If the register format is 0, it follows the pixels, in 32 bits.
///
/// An assumption: Mesa's OpenGL driver has typeless shaders, which clear and copy, and leaves the register format of
/// their conversion descriptors 0 on Valhall, whatever the target.
pub fn colours(flags: u32, format: &PixelFormat) -> (bool, NumericType) {
    kind(flags).map_or_else(|| (false, format.kind()), |kind| (is_short(flags), kind))
}

fn unknown(conversion: u32) -> Box<Trap> {
    Box::new(Trap::Unimplemented(format!("pixels of format {:#x}", conversion & 0x3f_ffff)))
}

#[inline(always)]
fn blend(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let descriptor = l.get64(&op.src[0]);
    let coverage = l.get(&op.src[1]);
    let mask = l.warp.mask;
    let first = mask.trailing_zeros() as usize % LANES;
    let (low, conversion) = (descriptor[first] as u32, (descriptor[first] >> 32) as u32);
    if fixed_functions(l, op, [low, conversion], &coverage)? == BlendMode::Shader {
        l.warp.branch(0, 0);
    } else if op.flags & ENDS != 0 {
        l.warp.end();
    } else {
        l.warp.branch(mask, op.immediate);
    }
    Ok(())
}

/// Blends as Bifrost does: a blend shader is called with its return address in r48, or 0 if the shader ends.
pub fn blend_or_call(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let [coverage, low, high] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let first = l.warp.mask.trailing_zeros() as usize % LANES;
    let (low, conversion) = (low.0[first], high.0[first]);
    let own = Op { flags: conversion_flags(conversion) | op.flags & ENDS, ..op.clone() };
    if fixed_functions(l, &own, [low, conversion], &coverage)? == BlendMode::Shader {
        l.put_register(48, &Row::splat(low & !7));
        l.warp.jump = Some(conversion & !0xf);
    } else if op.flags & ENDS != 0 {
        l.warp.end();
    } else {
        l.warp.branch(0, 0);
    }
    Ok(())
}

/// Blends with fixed functions if no shader does; returns the mode of a descriptor's two words.
#[inline(always)]
fn fixed_functions(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    [low, conversion]: [u32; 2],
    coverage: &Row,
) -> Result<BlendMode, Box<Trap>> {
    let mode = BlendMode::from_raw(u64::from(low & 3)).unwrap_or(BlendMode::Off);
    if !matches!(mode, BlendMode::Off | BlendMode::Shader) {
        let format = pixels(l)?.format(conversion).ok_or_else(|| unknown(conversion))?;
        let (short, kind) = colours(op.flags, &format);
        let colours = channels(l, op, short, kind);
        let target = (low >> 16 & 0xf) as usize;
        let mask = l.warp.mask & !l.warp.helpers;
        let how = Write { target, kind, mode, format: &format, conversion, constant: None };
        pixels(l)?.write_rows(mask, coverage, &colours, &how);
    }
    Ok(mode)
}

/// The target, sample and pixel of a pixel index.
fn indices(bits: u32, own: [u8; 2]) -> (usize, u32, [u8; 2]) {
    let [sample, target, x, y] = bits.to_le_bytes();
    let place = if u32::from(y) == OWN_PIXEL { own } else { [x, y] };
    (target.into(), sample.into(), place)
}

/// The operation, with the register format of the conversion descriptor in its third source.
fn by_conversion(l: &Lanes<'_, '_>, op: &Op) -> Op {
    let first = l.warp.mask.trailing_zeros() as usize % LANES;
    Op { flags: conversion_flags(l.get(&op.src[2]).0[first]), ..op.clone() }
}

/// Loads from the tile buffer as Bifrost does.
pub fn load_tile(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let own = by_conversion(l, op);
    load(l, &own)
}

/// Stores to the tile buffer as Bifrost does.
pub fn store_tile(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let own = by_conversion(l, op);
    store(l, &own)
}

/// The sample of a coverage that has exactly one.
///
/// An assumption: in shaders that run for each sample and read the framebuffer, Mesa names sample 0
/// (bifrost_compile.c, `bi_pixel_indices`; midgard_compile.c names none), and OpenGL ES' tests of that pass on silicon (ci/panfrost-g52-fails.txt).
pub fn only_sample(coverage: u32) -> Option<usize> {
    coverage.is_power_of_two().then(|| coverage.trailing_zeros() as usize)
}

fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let [wanted, coverage, conversions] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let lanes = l.active();
    let pixels = pixels(l)?;
    let mut out = [Row::splat(0); 4];
    for lane in lanes {
        let conversion = conversions.0[lane];
        let format = pixels.format(conversion).ok_or_else(|| unknown(conversion))?;
        let (_, kind) = colours(op.flags, &format);
        let (target, sample, place) = indices(wanted.0[lane], pixels.lanes[lane].place);
        let sample = match sample {
            0 | ALL_SAMPLES => only_sample(coverage.0[lane]).unwrap_or(0),
            sample => sample as usize,
        };
        let sample = sample % pixels.framebuffer.samples.count;
        let Some(pixel) = pixels.tile.colour(target, sample, place) else { continue };
        let values = format.unpack(&bytes(&pixel)[..format.bytes()], kind);
        for (row, value) in out.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &out);
    Ok(())
}

#[inline(always)]
fn store(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let [wanted, coverage, conversions] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let mut left = l.warp.mask & !l.warp.helpers;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let conversion = conversions.0[first];
        let (target, sample, _) = indices(wanted.0[first], [0; 2]);
        let mut same = 0u16;
        for lane in 0..LANES {
            let like = conversions.0[lane] == conversion
                && (wanted.0[lane] ^ wanted.0[first]) & 0xffff == 0;
            same |= u16::from(like) << lane;
        }
        same &= left;
        left &= !same;
        let format = pixels(l)?.format(conversion).ok_or_else(|| unknown(conversion))?;
        let (short, kind) = colours(op.flags, &format);
        let colours = channels(l, op, short, kind);
        let samples = match sample {
            ALL_SAMPLES => u32::MAX,
            sample => 1u32.checked_shl(sample).unwrap_or(0),
        };
        let coverage = coverage.map(|covered| covered & samples);
        let mode = BlendMode::Opaque;
        let how = Write { target, kind, mode, format: &format, conversion, constant: None };
        pixels(l)?.write_rows(same, &coverage, &colours, &how);
    }
    Ok(())
}

fn discard(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let mut ended = 0u16;
    for lane in l.active() {
        let [a, b] = [a.0[lane], b.0[lane]].map(f32::from_bits);
        ended |= u16::from(holds(op.condition, a, b)) << lane;
    }
    let pixels = pixels(l)?;
    for lane in crate::warp::row::numbers(ended) {
        pixels.lanes[lane].coverage = 0;
    }
    l.warp.end_lanes(ended);
    Ok(())
}

/// Discards as Bifrost does: lanes end if the clause's header says so, otherwise they become helpers.
pub fn discard_or_help(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    if op.flags != 0 {
        return discard(l, op);
    }
    let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let mut discarded = 0u16;
    for lane in l.active() {
        let [a, b] = [a.0[lane], b.0[lane]].map(f32::from_bits);
        discarded |= u16::from(holds(op.condition, a, b)) << lane;
    }
    let pixels = pixels(l)?;
    for lane in crate::warp::row::numbers(discarded) {
        pixels.lanes[lane].coverage = 0;
    }
    l.warp.helpers |= discarded;
    l.warp.branch(0, 0);
    Ok(())
}
