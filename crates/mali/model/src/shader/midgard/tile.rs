//! The tile buffer: colours that fragment and blend shaders write and read.
//!
//! A write takes the colour from r0 and, as far as the bundle writes them, the depth from r1.x, the stencil from r1.y,
//! the target with the sample from r1.z. A blend shader is called with the colour in r0; its writes go to the tile
//! without blending, and at its end it returns to the address in r1.w.
//!
// source: Mesa, midgard_ra.c, midgard_schedule.c (mir_schedule_alu), pan_blend.c, pan_cmdstream.c.

use tepui_mali_isa::modifier::RoundMode;
use tepui_mali_packets::draw::BlendMode;

use super::rows;
use crate::pixels::format::{NumericType, bytes};
use crate::pixels::{Pixels, Write};
use crate::shader::alu::rounding::to_half;
use crate::shader::message::only_sample;
use crate::shader::op::{Lanes, Op};
use crate::warp::row::{LANES, Row, join};
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Components of r1 that a bundle writes.
const DEPTH: u32 = 1;
const STENCIL: u32 = 2;
const TARGET: u32 = 4;

/// Sample number of a write without a colour.
const NO_COLOUR: u32 = 0xff;

fn missing() -> Box<Trap> {
    Box::new(Trap::Invalid("the tile buffer in a shader that is not of fragments".into()))
}

fn pixels<'l>(l: &'l mut Lanes<'_, '_>) -> Result<&'l mut Pixels, Box<Trap>> {
    l.port.pixels.as_deref_mut().ok_or_else(missing)
}

fn register(l: &Lanes<'_, '_>, number: u32) -> [Row; 4] {
    [0, 1, 2, 3].map(|i| *l.raw(rows::word(number, i).into()))
}

/// The end of a program.
pub fn end(l: &mut Lanes<'_, '_>, _: &Op) -> Done {
    let first = l.warp.mask.trailing_zeros() as usize % LANES;
    let back = l.raw(rows::word(1, 3).into()).0[first];
    match l.port.pixels.as_deref_mut().and_then(|pixels| pixels.calling.take()) {
        Some(_) => l.warp.jump = Some(back),
        None => l.warp.end(),
    }
    Ok(())
}

/// Writes a colour.
pub fn writeout(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let (colours, [depth, stencil, targets, _]) = (register(l, 0), register(l, 1));
    let first = l.warp.mask.trailing_zeros() as usize % LANES;
    let word = if op.flags & TARGET != 0 { targets.0[first] } else { 0 };
    let (target, sample) = ((word >> 8 & 0xff) as usize, word & 0xff);
    let lanes = l.writing();
    let pixels = pixels(l)?;
    let draw = pixels.state.clone().ok_or_else(missing)?;
    if pixels.calling.is_some() {
        for lane in lanes {
            pixels.write_chunk(lane, sample, target, colours.map(|row| row.0[lane]));
        }
        l.warp.branch(0, 0);
        return Ok(());
    }
    for lane in lanes {
        if draw.alpha_to_coverage && target == 0 && sample != NO_COLOUR {
            // The mapping of alpha to samples is not known; here it selects the first ones, their number
            // rounded.
            let (alpha, count) =
                (f32::from_bits(colours[3].0[lane]), pixels.framebuffer.samples.count);
            let below = (0..count).filter(|s| alpha * count as f32 >= *s as f32 + 0.5);
            pixels.lanes[lane].coverage &= below.fold(0, |mask, s| mask | 1 << s);
        }
        if pixels.lanes[lane].untested {
            let given = |bit: u32| draw.emits && op.flags & bit != 0;
            let z = given(DEPTH).then(|| f32::from_bits(depth.0[lane]));
            let s = given(STENCIL).then_some(stencil.0[lane] as u8);
            pixels.test(lane, z, s);
        }
    }
    let state = draw.midgard.get(target).filter(|state| state.enabled && sample != NO_COLOUR);
    if let Some(state) = state {
        if state.shader != 0 {
            pixels.calling = Some(target);
            l.warp.jump = Some(state.shader as u32 & !0xf);
            return Ok(());
        }
        let Some(format) = &state.format else {
            let what = "blending by fixed functions of pixels that have none";
            return Err(Box::new(Trap::Invalid(what.into())));
        };
        let (kind, mode) = (NumericType::Float, BlendMode::FixedFunction);
        let constant = Some(state.constant);
        let how = Write { target, kind, mode, format, conversion: 0, constant };
        let mask = l.warp.mask & !l.warp.helpers;
        if let Some(pixels) = l.port.pixels.as_deref_mut() {
            pixels.write_rows(mask, &Row::splat(u32::MAX), &colours, &how);
        }
    }
    l.warp.branch(0, 0);
    Ok(())
}

/// Loads a pixel: its bits, or its channels as 32-bit floats if the immediate is 1, as 16-bit floats if it is 2. Target
/// and sample are in the flags.
pub fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let (target, sample) = ((op.flags & 0xff) as usize, (op.flags >> 8) as usize);
    let lanes = l.active();
    let samples = l.get(&op.src[0]);
    let pixels = pixels(l)?;
    let draw = pixels.state.clone().ok_or_else(missing)?;
    let format = draw.midgard.get(target).and_then(|state| state.format.as_ref());
    let mut out = [Row::splat(0); 4];
    let count = pixels.framebuffer.samples.count;
    for lane in lanes {
        let own = &pixels.lanes[lane];
        let place = own.place;
        let sample = match sample + samples.0[lane] as usize {
            0 => only_sample(own.coverage.into()).unwrap_or(0),
            sample => sample % count,
        };
        let Some(pixel) = pixels.tile.colour(target, sample, place) else { continue };
        let bytes = bytes(&pixel);
        let words = match (op.immediate, format) {
            (1, Some(format)) => format.unpack(&bytes[..format.bytes()], NumericType::Float),
            (2, Some(format)) => {
                let channels = format.unpack(&bytes[..format.bytes()], NumericType::Float);
                let half = |n: usize| to_half(f32::from_bits(channels[n]), RoundMode::Rte);
                [join([half(0), half(1)]), join([half(2), half(3)]), 0, 0]
            }
            _ => pixel,
        };
        for (row, word) in out.iter_mut().zip(words) {
            row.0[lane] = word;
        }
    }
    for (n, row) in (0u8..).zip(&out) {
        l.put_register(rows::RESULT + n, row);
    }
    Ok(())
}

/// Loads other values of fragments: the coverage mask (96), the sample (97).
pub fn special(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let pixels = pixels(l)?;
    let of = |lane: usize| match op.immediate {
        97 => pixels.lanes[lane].sample.into(),
        _ => pixels.lanes[lane].coverage.into(),
    };
    let row = Row(std::array::from_fn(of));
    l.put_register(rows::RESULT, &row);
    Ok(())
}
