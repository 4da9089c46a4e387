//! What fragment programs ask of the fixed function: interpolated values, the tilebuffer, and the
//! depth and stencil tests. Background programs are fragment programs too.

use super::memory::{register_at, register_bits_of};
use super::texture::{Access2d, TilePixel};
use super::{Lanes, Next, Op};
use crate::usc::lanes::{Form, LANES, Row, f32_to_half, half_to_f32, saturate};
use crate::usc::stage::{Fragments, QUADS, Stage};
use tepui_agx_texture::TileFormat;
use tepui_format::texel::srgb;

/// Where values are interpolated. source: agx_opcodes.py, INTERPOLATION
pub mod place {
    /// At the centre of the pixel.
    pub const CENTRE: u16 = 0;
    /// At a sample.
    pub const SAMPLE: u16 = 1;
    /// Somewhere in the covered part of the pixel.
    pub const CENTROID: u16 = 2;
    /// At a sample whose number is in a register.
    pub const SAMPLE_REGISTER: u16 = 3;
}

macro_rules! fragments {
    ($l:expr) => {
        match &mut $l.stage {
            Stage::Fragment(fragments) => fragments,
            _ => return $l.fail("an instruction of fragment programs outside of one"),
        }
    };
}

/// The three planes' numbers of a coefficient register, for all lanes. `None` if a quad has no such
/// register.
#[inline(always)]
fn planes(f: &Fragments, register: &Row, uniform: bool, k: usize) -> Option<[[f32; LANES]; 3]> {
    let mut out = [[0.0; LANES]; 3];
    for q in 0..QUADS {
        for i in q * 4..q * 4 + 4 {
            let number = register.0[i] as usize + k;
            if number >= f.registers {
                return None;
            }
            let plane = f.coefficients.get(f.quads[q].coefficients + number)?;
            if uniform {
                for (row, v) in out.iter_mut().zip(plane) {
                    row[q * 4..q * 4 + 4].fill(*v);
                }
                break;
            }
            for (row, v) in out.iter_mut().zip(plane) {
                row[i] = *v;
            }
        }
    }
    Some(out)
}

/// Where each lane interpolates, in pixels from the corner of the 32 × 32 pixels around it.
#[inline(always)]
fn places(f: &Fragments, mode: u16, sample: &Row) -> [[f32; LANES]; 2] {
    let mut out = [[0.0; LANES]; 2];
    let offset = |i: usize| -> [f32; 2] {
        match mode {
            place::SAMPLE | place::SAMPLE_REGISTER => {
                f.samples.px[sample.0[i] as usize & (f.samples.count - 1)]
            }
            place::CENTROID => {
                let covered = f.covered.0[i];
                // The centre if all or none is covered, else a sample that is.
                if covered == 0 || covered == (1 << f.samples.count) - 1 {
                    [0.5; 2]
                } else {
                    f.samples.px[covered.trailing_zeros() as usize & 3]
                }
            }
            _ => [0.5; 2],
        }
    };
    for i in 0..LANES {
        let [dx, dy] = if mode == place::CENTRE { [0.5; 2] } else { offset(i) };
        out[0][i] = (f.x.0[i] & 31) as f32 + dx;
        out[1][i] = (f.y.0[i] & 31) as f32 + dy;
    }
    out
}

/// Interpolates. Source 0 is the coefficient register's number, source 1 that of 1/w, source 2 the
/// sample; `aux[0]` is the number of values, `aux[1]` the place, `aux[2]` whether it is projected,
/// `aux[3]` whether the number is the same in all lanes.
#[inline(always)]
pub fn iter<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let register = l.load_u32(op.s[0]);
    let over_w = l.load_u32(op.s[1]);
    let sample = l.load_u32(op.s[2]);
    let uniform = op.aux[3] != 0;
    let f = fragments!(l);
    let [x, y] = places(f, op.aux[1], &sample);
    let mut w = [1.0; LANES];
    if op.aux[2] != 0 {
        let Some([a, b, c]) = planes(f, &over_w, true, 0) else { return unbound(l, &over_w) };
        for i in 0..LANES {
            w[i] = 1.0 / (a[i] * x[i] + (b[i] * y[i] + c[i]));
        }
    }
    let count = usize::from(op.aux[0]);
    let mut values = [[0.0; LANES]; 4];
    for (k, value) in values.iter_mut().enumerate().take(count) {
        let Some([a, b, c]) = planes(f, &register, uniform, k) else {
            return unbound(l, &register);
        };
        for i in 0..LANES {
            value[i] = (a[i] * x[i] + (b[i] * y[i] + c[i])) * w[i];
        }
    }
    for (k, value) in values.iter().enumerate().take(count) {
        l.store_f32(register_at(op.d, k), value);
    }
    Next::Continue
}

#[cold]
fn unbound(l: &mut Lanes<'_, '_>, register: &Row) -> Next {
    l.fail(format!("coefficient register {} or one after it is not bound", register.0[0]))
}

/// Loads coefficient registers: three numbers for each of `aux[0]` registers. Source 0 is the first
/// one's number; `aux[3]` as for `iter`.
#[inline(always)]
pub fn ldcf<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let register = l.load_u32(op.s[0]);
    let narrow = matches!(op.d.form, Form::Low | Form::High);
    for k in 0..usize::from(op.aux[0]) {
        let f = fragments!(l);
        let Some(values) = planes(f, &register, op.aux[3] != 0, k) else {
            return unbound(l, &register);
        };
        for (j, value) in values.iter().enumerate() {
            let d = register_at(op.d, 3 * k + j);
            if narrow {
                l.store_f32(d, value);
            } else {
                // Flat integers are no floats.
                l.store_u32(d, &Row(value.map(f32::to_bits)));
            }
        }
    }
    Next::Continue
}

/// Decides the fate of samples: source 0 says of which, source 1 which of them live on if they pass
/// the tests.
#[inline(always)]
pub fn sample_mask<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let targets = l.load_u32(op.s[0]);
    let survivors = l.load_u32(op.s[1]);
    let exec = l.exec;
    let f = fragments!(l);
    for i in 0..LANES {
        if exec >> i & 1 != 0 {
            f.decide(i, targets.0[i], survivors.0[i], (None, None));
        }
    }
    Next::Continue
}

/// Emits depth and stencil and runs the tests with them: source 0 is the mask of samples, source 1
/// the depth if `aux[0]`, source 2 the stencil if `aux[1]`.
#[inline(always)]
pub fn zs_emit<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let targets = l.load_u32(op.s[0]);
    let depth = l.load_u32(op.s[1]);
    let stencil = l.load_u32(op.s[2]);
    let exec = l.exec;
    let f = fragments!(l);
    for i in 0..LANES {
        if exec >> i & 1 != 0 {
            let z = (op.aux[0] != 0).then(|| f32::from_bits(depth.0[i]));
            let s = (op.aux[1] != 0).then(|| stencil.0[i] as u8);
            f.decide(i, targets.0[i], u32::MAX, (z, s));
        }
    }
    Next::Continue
}

/// Special registers that only fragment programs have, or that are others there.
/// source: agx_opcodes.py, SR; agx_compile.c, where intrinsics become `get_sr`
#[inline(always)]
pub fn special(l: &Lanes<'_, '_>, number: u16) -> Option<Row> {
    let Stage::Fragment(f) = &l.stage else { return None };
    Some(match number {
        14 => Row::splat(f.samples.count.ilog2()),
        60 => f.live,
        62 => {
            let mut row = Row::ZERO;
            for i in 0..LANES {
                row.0[i] = f.quads[i / 4].face as u32;
            }
            row
        }
        63 => Row(f.live.0.map(|live| u32::from(live != 0))),
        124 => f.covered,
        _ => return None,
    })
}

/// Registers to the tilebuffer (`aux[0]` is 0) at the lanes' own pixels, or back (1).
#[inline(always)]
pub fn tile_access<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let program = l.program;
    let Access2d::Pixel(t) = program.access(op.imm as usize) else {
        return l.fail("a tile access without its fields");
    };
    if op.aux[0] == 0 { store(l, t) } else { load(l, t) }
}

/// Are the registers halves of floats? The tile's formats take and give 32 bits.
fn halves(t: &TilePixel) -> bool {
    let integer = matches!(t.format, TileFormat::I8 | TileFormat::I16 | TileFormat::I32);
    !integer && matches!(t.register.form, Form::Low | Form::High)
}

fn outside(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    l.fail(format!("byte {} of a sample is outside of the tilebuffer", t.offset))
}

/// Four channels of eight bits, all lanes.
#[inline(always)]
fn bytes_of(values: &[Row; 4], to_srgb: bool) -> Row {
    let mut words = Row::ZERO;
    for (c, value) in values.iter().enumerate() {
        if to_srgb && c < 3 {
            for i in 0..LANES {
                let byte = srgb::encode(f32::from_bits(value.0[i]));
                words.0[i] |= u32::from(byte) << (8 * c);
            }
            continue;
        }
        for i in 0..LANES {
            // A NaN becomes 0. Adding 2^23 rounds to an integer, ties to even, in the low bits.
            let v = saturate(f32::from_bits(value.0[i]));
            words.0[i] |= (v.mul_add(255.0, 8_388_608.0).to_bits() & 0xff) << (8 * c);
        }
    }
    words
}

#[inline(always)]
fn store(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    let wanted = l.load_u32(t.samples);
    let count = t.mask.count_ones() as usize;
    let mut values = [Row::ZERO; 4];
    for (k, value) in values.iter_mut().enumerate().take(count) {
        *value = register_bits_of(l, t.register, k);
        if halves(t) {
            for v in &mut value.0 {
                *v = half_to_f32(*v as u16).to_bits();
            }
        }
    }
    let exec = l.exec;
    let f = fragments!(l);
    let mut masks = Row::ZERO;
    for i in 0..LANES {
        let runs = 0u32.wrapping_sub(exec >> i & 1);
        masks.0[i] = f.live.0[i] & wanted.0[i] & runs;
    }
    let sample_bytes = f.tile.sample_bytes as usize;
    let room = sample_bytes.saturating_sub(usize::from(t.offset));
    // The usual case, all channels of eight bits: convert all lanes, then one word a sample.
    let bytes = matches!(t.format, TileFormat::U8Norm | TileFormat::Srgba8);
    let words = if bytes && t.mask == 15 && room >= 4 {
        Some(bytes_of(&values, t.format == TileFormat::Srgba8))
    } else {
        None
    };
    for i in 0..LANES {
        let mut mask = masks.0[i];
        while mask != 0 {
            let sample = mask.trailing_zeros();
            mask &= mask - 1;
            let start = f.tile.offset(f.x.0[i], f.y.0[i], sample);
            let range = start + usize::from(t.offset)..start + sample_bytes;
            let Some(pixel) = l.shared.local.get_mut(range) else { return outside(l, t) };
            match &words {
                Some(words) => pixel[..4].copy_from_slice(&words.0[i].to_le_bytes()),
                // Channels past the end of the sample are dropped: drivers store four of a pixel
                // that has fewer. That silicon does the same is an assumption.
                None => {
                    let channels = std::array::from_fn(|k| values[k].0[i]);
                    t.format.store(t.mask, &channels, pixel);
                }
            }
        }
    }
    Next::Continue
}

#[inline(always)]
fn load(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    let wanted = l.load_u32(t.samples);
    let count = t.mask.count_ones() as usize;
    let exec = l.exec;
    let linear = t.format == TileFormat::Srgba8;
    let bytes = linear || t.format == TileFormat::U8Norm;
    let f = fragments!(l);
    let mut values = [Row::ZERO; 4];
    for i in 0..LANES {
        if exec >> i & 1 == 0 {
            continue;
        }
        // Of several samples the first is loaded; 255 stands for all.
        let sample = wanted.0[i].trailing_zeros() & (f.samples.count as u32 - 1);
        let start = f.tile.offset(f.x.0[i], f.y.0[i], sample);
        let range = start + usize::from(t.offset)..start + f.tile.sample_bytes as usize;
        let Some(pixel) = l.shared.local.get(range) else { return outside(l, t) };
        if bytes && t.mask == 15 && pixel.len() >= 4 {
            for (c, (value, &byte)) in values.iter_mut().zip(pixel).enumerate() {
                value.0[i] = if linear && c < 3 {
                    srgb::decode_table()[usize::from(byte)].to_bits()
                } else {
                    (f32::from(byte) / 255.0).to_bits()
                };
            }
            continue;
        }
        let mut whole = [0; 16];
        let length = pixel.len().min(16);
        whole[..length].copy_from_slice(&pixel[..length]);
        let channels = t.format.load(t.mask, &whole).unwrap_or_default();
        for (value, channel) in values.iter_mut().zip(channels) {
            value.0[i] = channel;
        }
    }
    for (k, value) in values.iter_mut().enumerate().take(count) {
        if halves(t) {
            for v in &mut value.0 {
                *v = u32::from(f32_to_half(f32::from_bits(*v)));
            }
        }
        l.store_u32(register_at(t.register, k), value);
    }
    Next::Continue
}
