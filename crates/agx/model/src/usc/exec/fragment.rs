//! Instructions of fragment programs: interpolation, the tilebuffer, and depth and stencil tests.
//! Background programs are fragment programs too.

use super::memory::{register_at, register_bits_of};
use super::{Lanes, Next, Op};
use crate::job::FaultKind;
use crate::usc::access::{TextureAccess, TilePixel};
use crate::usc::op::Form;
use crate::usc::row::{LANES, Row};
use crate::usc::samples::{COVERED_SAMPLES, IS_LIVE, LIVE_SAMPLES, place};
use crate::usc::stage::{Fragments, QUADS, Stage, sample_px};
use tepui_agx_texture::{Plain, TileFormat, half};

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

/// Position at which each lane interpolates, in pixels from the corner of the surrounding 32 × 32
/// pixels.
#[inline(always)]
fn places(f: &Fragments, mode: u16, sample: &Row) -> [[f32; LANES]; 2] {
    let mut out = [[0.0; LANES]; 2];
    let offset = |i: usize| -> [f32; 2] {
        match mode {
            place::SAMPLE | place::SAMPLE_REGISTER => sample_px(&f.samples, sample.0[i]),
            place::CENTROID => {
                let covered = f.covered.0[i];
                // The centre if all or none is covered, else a sample that is.
                if covered == 0 || covered == (1 << f.samples.count) - 1 {
                    [0.5; 2]
                } else {
                    f.samples.px(covered.trailing_zeros() as usize & 3)
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
    l.fail_as(
        FaultKind::Unbound,
        format!("coefficient register {} or one after it is not bound", register.0[0]),
    )
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
                let mut row = Row::ZERO;
                for i in 0..LANES {
                    row.0[i] = value[i].to_bits();
                }
                l.store_u32(d, &row);
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
        LIVE_SAMPLES => f.live,
        62 => {
            let mut row = Row::ZERO;
            for i in 0..LANES {
                row.0[i] = f.quads[i / 4].face as u32;
            }
            row
        }
        IS_LIVE => {
            let mut row = Row::ZERO;
            for i in 0..LANES {
                row.0[i] = u32::from(f.live.0[i] != 0);
            }
            row
        }
        COVERED_SAMPLES => f.covered,
        _ => return None,
    })
}

/// Registers to the tilebuffer (`aux[0]` is 0) at the lanes' own pixels, or back (1).
#[inline(always)]
pub fn tile_access<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let code = l.code;
    let TextureAccess::Pixel(t) = code.access(op.imm as usize) else {
        return l.fail("a tile access without its fields");
    };
    if op.aux[0] == 0 { store(l, t) } else { load(l, t) }
}

/// Whether the registers are 16-bit floats. The tile's formats convert from and to 32 bits.
fn halves(t: &TilePixel) -> bool {
    let integer = matches!(t.format, TileFormat::I8 | TileFormat::I16 | TileFormat::I32);
    !integer && matches!(t.register.form, Form::Low | Form::High)
}

fn outside(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    l.fail(format!("byte {} of a sample is outside of the tilebuffer", t.offset))
}

/// The channels that registers hold: floats of 32 bits, or bits.
#[inline(always)]
pub(super) fn from_registers(l: &Lanes<'_, '_>, t: &TilePixel) -> [[u32; LANES]; 4] {
    let mut values = [[0; LANES]; 4];
    for (k, value) in values.iter_mut().enumerate().take(t.mask.count_ones() as usize) {
        *value = register_bits_of(l, t.register, k).0;
        if halves(t) {
            for v in value {
                *v = half::widen(*v).to_bits();
            }
        }
    }
    values
}

/// The reverse of [`from_registers`].
#[inline(always)]
pub(super) fn to_registers(l: &mut Lanes<'_, '_>, t: &TilePixel, values: &[[u32; LANES]; 4]) {
    for (k, value) in values.iter().enumerate().take(t.mask.count_ones() as usize) {
        let mut row = Row(*value);
        if halves(t) {
            for v in &mut row.0 {
                *v = half::narrow(f32::from_bits(*v));
            }
        }
        l.store_u32(register_at(t.register, k), &row);
    }
}

/// Pixels on their way to the tile: all lanes' together if the format is plain.
pub(super) enum Outgoing {
    Plain(Plain, [[u32; LANES]; 4]),
    Single([[u32; LANES]; 4]),
}

impl Outgoing {
    /// The channels that registers hold, for samples with `room` bytes.
    #[inline(always)]
    pub fn new(l: &Lanes<'_, '_>, t: &TilePixel, room: usize) -> Outgoing {
        let values = from_registers(l, t);
        match t.format.plain(t.mask).filter(|plain| plain.bytes() <= room) {
            Some(plain) => Outgoing::Plain(plain, plain.pack(&values)),
            None => Outgoing::Single(values),
        }
    }

    /// Writes the pixel of a lane. Channels past the end of the sample are dropped: drivers store
    /// four of a pixel that has fewer. That silicon does the same is an assumption.
    #[inline(always)]
    pub fn put(&self, t: &TilePixel, lane: usize, pixel: &mut [u8]) {
        match self {
            Outgoing::Plain(plain, words) => plain.put(words, lane, pixel),
            Outgoing::Single(values) => {
                t.format.store(t.mask, &values.map(|row| row[lane]), pixel);
            }
        }
    }
}

/// Pixels on their way from the tile, as [`Outgoing`].
pub(super) struct Incoming {
    plain: Option<Plain>,
    /// Words, or channels.
    rows: [[u32; LANES]; 4],
}

impl Incoming {
    /// None yet.
    #[inline(always)]
    pub fn new(t: &TilePixel) -> Incoming {
        Incoming { plain: t.format.plain(t.mask), rows: [[0; LANES]; 4] }
    }

    /// Takes the pixel of a lane; what is past the end of the sample is zero.
    #[inline(always)]
    pub fn take(&mut self, t: &TilePixel, lane: usize, pixel: &[u8]) {
        if let Some(plain) = self.plain {
            plain.get(pixel, lane, &mut self.rows);
            return;
        }
        let mut whole = [0; 16];
        let length = pixel.len().min(16);
        whole[..length].copy_from_slice(&pixel[..length]);
        let channels = t.format.load(t.mask, &whole).unwrap_or_default();
        for (row, channel) in self.rows.iter_mut().zip(channels) {
            row[lane] = channel;
        }
    }

    /// The channels.
    #[inline(always)]
    pub fn channels(&self) -> [[u32; LANES]; 4] {
        self.plain.map_or(self.rows, |plain| plain.unpack(&self.rows))
    }
}

#[inline(always)]
fn store(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    let wanted = l.load_u32(t.samples);
    let exec = l.exec;
    let sample_bytes = fragments!(l).tile.sample_bytes as usize;
    let out = Outgoing::new(l, t, sample_bytes.saturating_sub(usize::from(t.offset)));
    let f = fragments!(l);
    for i in 0..LANES {
        let mut mask = f.live.0[i] & wanted.0[i] & 0u32.wrapping_sub(exec >> i & 1);
        while mask != 0 {
            let sample = mask.trailing_zeros();
            mask &= mask - 1;
            let start = f.tile.offset(f.x.0[i], f.y.0[i], sample);
            let range = start + usize::from(t.offset)..start + sample_bytes;
            let Some(pixel) = l.shared.local.get_mut(range) else { return outside(l, t) };
            out.put(t, i, pixel);
        }
    }
    Next::Continue
}

#[inline(always)]
fn load(l: &mut Lanes<'_, '_>, t: &TilePixel) -> Next {
    let wanted = l.load_u32(t.samples);
    let exec = l.exec;
    let f = fragments!(l);
    let mut incoming = Incoming::new(t);
    for i in (0..LANES).filter(|i| exec >> i & 1 != 0) {
        // The first of several samples is loaded; 255 stands for all.
        let sample = wanted.0[i].trailing_zeros() & (f.samples.count as u32 - 1);
        let start = f.tile.offset(f.x.0[i], f.y.0[i], sample);
        let range = start + usize::from(t.offset)..start + f.tile.sample_bytes as usize;
        let Some(pixel) = l.shared.local.get(range) else { return outside(l, t) };
        incoming.take(t, i, pixel);
    }
    to_registers(l, t, &incoming.channels());
    Next::Continue
}
