//! The loops over lanes, compiled several times: for any host and for hosts with wider vectors.

use tepui_agx_packets::sampler::{CompareFunc, MipFilter};

use crate::axis::{self, Axis, AxisRule, whole};
use crate::cube::{self, Faces};
use crate::image::Level;
use crate::lod::{self, Footprint, Gradient, Plan};
use crate::pack::{self, Packer};
use crate::unpack::Unpacker;
use crate::{Floats, Ints, LANES, Row, bits, floats, half};

/// The texels of a tap: their bits, and what surrounds them.
pub struct Tap<'a> {
    /// How bits become channels.
    pub unpacker: &'a Unpacker,
    /// The bits.
    pub words: &'a [Row; 4],
    /// Columns of the texels.
    pub x: &'a Row,
    /// Lanes whose texel is the border.
    pub outside: &'a Row,
    /// The border colour as the unpacker's channels.
    pub border: [u32; 4],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

/// The four neighbours of each lane.
pub struct Quad<'a> {
    /// How bits become channels.
    pub unpacker: &'a Unpacker,
    /// The bits: left to right, then the next line.
    pub words: &'a [[Row; 4]; 4],
    /// Weights of the right ones and of the lower ones.
    pub weight: [&'a Floats; 2],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

/// Where the texels of a load are.
pub struct Placed {
    /// Columns and lines, inside the level.
    pub at: [Ints; 2],
    /// All bits in the lanes that are outside.
    pub outside: Row,
}

impl Placed {
    /// Nothing yet.
    pub const ZERO: Placed = Placed { at: [[0; LANES]; 2], outside: [0; LANES] };
}

/// Where a component of a result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A channel.
    Channel(u8),
    /// Nothing: it is zero.
    Zero,
    /// Nothing: it is one.
    One,
}

/// What becomes of channels: the components of a result.
pub struct Result<'a> {
    /// Where each component comes from.
    pub picks: &'a [Pick; 4],
    /// Components that are returned, a bit each, one row after the other.
    pub mask: u8,
    /// Rounded to halves, or cut to 16 bits.
    pub narrow: bool,
    /// Channels are integers.
    pub integer: bool,
}

macro_rules! for_any_host {
    ($($function:tt)*) => { $($function)* };
}

#[cfg(target_arch = "x86_64")]
macro_rules! for_wide {
    ($($function:tt)*) => {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        $($function)*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! for_wider {
    ($($function:tt)*) => {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
        )]
        $($function)*
    };
}

/// Compiles every kernel for a set of host features.
macro_rules! compile {
    ($set:ident, $for_host:ident, $fma:literal, $($name:ident ($($arg:ident : $ty:ty),*) = $body:path;)*) => {
        mod $set {
            use super::*;
            /// Whether these hosts multiply and add in one.
            const FMA: bool = $fma;
            $($for_host! {
                unsafe fn $name($($arg: $ty),*) {
                    $body($($arg),*)
                }
            })*
            pub static KERNELS: Kernels = Kernels { $($name),* };
        }
    };
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident : $ty:ty),*) = $body:path;)*) => {
        /// A compiled set.
        pub struct Kernels {
            $($name: unsafe fn($($arg: $ty),*),)*
        }

        impl Kernels {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $name(&self, $($arg: $ty),*) {
                    // SAFETY: `of_host` hands out only sets whose features the host has, and a set
                    // cannot be made elsewhere.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }

        compile!(any_host, for_any_host, false, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wide, for_wide, true, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wider, for_wider, true, $($name ($($arg: $ty),*) = $body;)*);
    };
}

kernels! {
    /// [`axis::axis`].
    axis(rule: &AxisRule, coordinate: &Floats, offset: &Ints, out: &mut Axis) = axis::axis;
    /// [`axis::load_border`].
    load_border(size: u32, texel: &Row, offset: &Ints, out: &mut Axis) = axis::load_border;
    /// [`lod::footprint`].
    footprint(gradient: &Gradient, scale: &[f32; 3], axes: usize, most: u32, out: &mut Footprint) = lod::footprint;
    /// [`cube::faces`].
    faces(direction: &[Floats; 3], out: &mut Faces) = cube::faces;
    /// [`cube::gradients`].
    face_gradients(faces: &Row, direction: &[Floats; 3], gradient: &Gradient, out: &mut Gradient) = cube::gradients;
    /// [`lod::gradient`].
    gradient(coordinates: &[Floats; 3], axes: usize, out: &mut Gradient) = lod::gradient;
    /// [`lod::clamp`].
    clamp_lod(lod: &Floats, range: [f32; 2], least: Option<&Row>, out: &mut Floats) = lod::clamp;
    /// [`lod::plan`].
    plan(lod: &Floats, mip: MipFilter, last: f32, out: &mut Plan) = lod::plan;
    /// Mixes in the next smaller level.
    mix(next: &[Row; 4], plan: &Plan, out: &mut [Row; 4]) = super::mix;
    /// The products of the weights of one of the two texels of up to three axes.
    weigh(axes: &[Axis; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats) = super::weigh;
    /// Where texels are: element numbers, and which are the border.
    place(level: &Level, at: [&Ints; 2], outside: [&Row; 3], elements: &mut Row, out: &mut Row) = super::place;
    /// 32-bit byte offsets of texels from the level's start; only the bits of `keep` of columns and lines
    /// count.
    texel_offsets(level: &Level, shift: u32, keep: [u32; 2], at: [&Ints; 2], out: &mut Row) = super::texel_offsets;
    /// As `texel_offsets`, of the four texels of two axes.
    corners(level: &Level, shift: u32, keep: [u32; 2], axes: &[Axis; 3], out: &mut [Row; 4]) = super::corners;
    /// The lowest and the highest of columns and of lines, two in each lane of `exec`.
    bounds(at: &[[&Ints; 2]; 2], exec: u32, out: &mut [[u32; 2]; 2]) = super::bounds;
    /// Whether lanes stand side by side in one line.
    follow(at: [&Row; 2], out: &mut bool) = super::follow;
    /// The places of loads in two dimensions.
    place_load(level: &Level, at: [&Row; 2], out: &mut Placed) = super::place_load;
    /// Layers, at most `last`, and whether those of the lanes of `exec` are the same.
    layers(layer: &Row, last: u32, exec: u32, out: &mut Row, same: &mut bool) = super::layers;
    /// The results of a load: a tap's channels, divided.
    deliver_tap(tap: &Tap<'_>, result: &Result<'_>, out: &mut [Row]) = super::deliver_tap::<FMA>;
    /// The results of a filter: rows of bits, divided if they are floats.
    deliver(rows: &[Row; 4], divisor: &[f32; 4], result: &Result<'_>, out: &mut [Row]) = super::deliver::<FMA>;
    /// The weighted sum of four neighbours.
    quad(quad: &Quad<'_>, out: &mut [Row; 4]) = super::quad;
    /// Byte offsets of elements.
    offsets(elements: &Row, start: u64, shift: u32, out: &mut [u64; LANES]) = super::offsets;
    /// The channels of a tap.
    floats(tap: &Tap<'_>, out: &mut [Row; 4]) = super::tap_floats;
    /// Adds the channels of a tap, weighted.
    blend(tap: &Tap<'_>, weight: &Floats, sum: &mut [Row; 4]) = super::tap_blend;
    /// The channels of a tap of integers.
    integers(tap: &Tap<'_>, out: &mut [Row; 4]) = super::tap_integers;
    /// [`pack::pack_rows`].
    pack(packer: &Packer, channels: &[Row; 4], words: &mut [Row; 4]) = pack::pack_rows;
    /// Compares the first channel with a reference: 1 where it passes, else 0.
    compare(tap: &Tap<'_>, func: CompareFunc, reference: &Floats, out: &mut Row) = super::tap_compare;
    /// Adds rows, weighted, in the lanes where the weight is not zero.
    accumulate(from: &[Row; 4], weight: &Floats, wanted: u32, sum: &mut [Row; 4]) = super::accumulate;
}

impl Kernels {
    /// The best set that this host can run.
    pub fn of_host() -> &'static Kernels {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let wider = wide
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            if wider {
                return &wider::KERNELS;
            }
            if wide {
                return &wide::KERNELS;
            }
        }
        &any_host::KERNELS
    }
}

#[inline(always)]
fn mix(next: &[Row; 4], plan: &Plan, out: &mut [Row; 4]) {
    for (out, next) in out.iter_mut().zip(next) {
        for i in 0..LANES {
            let w = plan.next[i];
            let mixed = f32::from_bits(out[i]) * (1.0 - w) + f32::from_bits(next[i]) * w;
            // Elsewhere the next level was not read.
            out[i] = if plan.between[i] != 0 { mixed.to_bits() } else { out[i] };
        }
    }
}

#[inline(always)]
fn weigh(axes: &[Axis; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats) {
    *out = [1.0; LANES];
    for a in [1, 2, 0] {
        if steps[a] == 1 {
            continue;
        }
        for i in 0..LANES {
            let second = axes[a].weight[i];
            out[i] *= if step[a] == 0 { 1.0 - second } else { second };
        }
    }
}

#[inline(always)]
fn place(level: &Level, at: [&Ints; 2], outside: [&Row; 3], elements: &mut Row, out: &mut Row) {
    let (columns, lines) = (level.columns(at[0]), level.lines(at[1]));
    for i in 0..LANES {
        elements[i] = columns[i] + lines[i];
        out[i] = outside[0][i] | outside[1][i] | outside[2][i];
    }
}

#[inline(always)]
fn texel_offsets(level: &Level, shift: u32, keep: [u32; 2], at: [&Ints; 2], out: &mut Row) {
    for i in 0..LANES {
        let (x, y) = (at[0][i] as u32 & keep[0], at[1][i] as u32 & keep[1]);
        out[i] = (level.plain_column(x) + level.plain_line(y)) << shift;
    }
}

#[inline(always)]
fn corners(level: &Level, shift: u32, keep: [u32; 2], axes: &[Axis; 3], out: &mut [Row; 4]) {
    let [x, y, _] = axes;
    for i in 0..LANES {
        let column = |k: usize| level.plain_column(x.texel[k][i] as u32 & keep[0]) << shift;
        let line = |k: usize| level.plain_line(y.texel[k][i] as u32 & keep[1]) << shift;
        let (columns, lines) = ([column(0), column(1)], [line(0), line(1)]);
        out[0][i] = columns[0] + lines[0];
        out[1][i] = columns[1] + lines[0];
        out[2][i] = columns[0] + lines[1];
        out[3][i] = columns[1] + lines[1];
    }
}

#[inline(always)]
fn layers(layer: &Row, last: u32, exec: u32, out: &mut Row, same: &mut bool) {
    for i in 0..LANES {
        out[i] = (layer[i] & 0xffff).min(last);
    }
    let first = out[exec.trailing_zeros() as usize % LANES];
    let mut apart = 0;
    for i in 0..LANES {
        apart |= (out[i] ^ first) & 0u32.wrapping_sub(exec >> i & 1);
    }
    *same = apart == 0;
}

#[inline(always)]
fn bounds(at: &[[&Ints; 2]; 2], exec: u32, out: &mut [[u32; 2]; 2]) {
    for a in 0..2 {
        let (mut low, mut high) = (u32::MAX, 0);
        for i in 0..LANES {
            let [t0, t1] = [at[a][0][i] as u32, at[a][1][i] as u32];
            let on = 0u32.wrapping_sub(exec >> i & 1);
            low = low.min(t0.min(t1) | !on);
            high = high.max(t0.max(t1) & on);
        }
        (out[0][a], out[1][a]) = (low, high);
    }
}

#[inline(always)]
fn follow(at: [&Row; 2], out: &mut bool) {
    let [x, y] = at;
    let mut apart = 0;
    for i in 0..LANES {
        apart |= (x[i] ^ x[0].wrapping_add(i as u32)) | (y[i] ^ y[0]);
    }
    *out = apart == 0;
}

#[inline(always)]
fn place_load(level: &Level, at: [&Row; 2], out: &mut Placed) {
    let last = [level.width - 1, level.height - 1];
    for i in 0..LANES {
        let (x, y) = (at[0][i].min(last[0]), at[1][i].min(last[1]));
        out.outside[i] = 0u32.wrapping_sub(u32::from(x != at[0][i] || y != at[1][i]));
        (out.at[0][i], out.at[1][i]) = (x as i32, y as i32);
    }
}

#[inline(always)]
fn quad(quad: &Quad<'_>, out: &mut [Row; 4]) {
    let Quad { unpacker, words, weight: [right, lower], wanted } = quad;
    if unpacker.is_bytes() {
        // Weights are multiples of 1/256: the sums are exact in integers, as they are in floats.
        let mut bytes = [[0; LANES]; 4];
        for i in 0..LANES {
            let (x, y) = (whole(right[i] * 256.0) as u32, whole(lower[i] * 256.0) as u32);
            for plane in 0..2 {
                // Two bytes, 16 bits apart.
                let texel = |k: usize| words[k][0][i] >> (8 * plane) & 0x00ff_00ff;
                let top = texel(0) * (256 - x) + texel(1) * x;
                let bottom = texel(2) * (256 - x) + texel(3) * x;
                let low = (top & 0xffff) * (256 - y) + (bottom & 0xffff) * y;
                let high = (top >> 16) * (256 - y) + (bottom >> 16) * y;
                bytes[plane][i] = (low as i32 as f32 * (1.0 / 65536.0)).to_bits();
                bytes[plane + 2][i] = (high as i32 as f32 * (1.0 / 65536.0)).to_bits();
            }
        }
        for c in 0..4 {
            if wanted >> c & 1 != 0 {
                out[c] = bytes[unpacker.byte(c)];
            }
        }
        return;
    }
    let mut weight = [[0.0; LANES]; 4];
    for i in 0..LANES {
        let (x, y) = (right[i], lower[i]);
        weight[0][i] = (1.0 - y) * (1.0 - x);
        weight[1][i] = (1.0 - y) * x;
        weight[2][i] = y * (1.0 - x);
        weight[3][i] = y * x;
    }
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            for (words, weight) in words.iter().zip(&weight) {
                add_weighted(&unpacker.float(words, &[0; LANES], c), weight, &mut out[c]);
            }
        }
    }
}

#[inline(always)]
fn offsets(elements: &Row, start: u64, shift: u32, out: &mut [u64; LANES]) {
    for i in 0..LANES {
        out[i] = start + (u64::from(elements[i]) << shift);
    }
}

#[inline(always)]
fn channel(tap: &Tap<'_>, c: usize) -> Floats {
    let mut value = tap.unpacker.float(tap.words, tap.x, c);
    let border = tap.border[c];
    for i in 0..LANES {
        let bits = (value[i].to_bits() & !tap.outside[i]) | (border & tap.outside[i]);
        value[i] = f32::from_bits(bits);
    }
    value
}

#[inline(always)]
fn tap_floats(tap: &Tap<'_>, out: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            out[c] = bits(&channel(tap, c));
        }
    }
}

#[inline(always)]
fn deliver_tap<const FMA: bool>(tap: &Tap<'_>, result: &Result<'_>, out: &mut [Row]) {
    let mut rows = out.iter_mut();
    for c in (0..4).filter(|c| result.mask >> c & 1 != 0) {
        let Some(row) = rows.next() else { return };
        match result.picks[c] {
            Pick::Channel(k) if result.integer => {
                let k = usize::from(k);
                let bits = if result.narrow { 0xffff } else { u32::MAX };
                let border = tap.border[k];
                tap.unpacker.each_integer(tap.words, k, |i, value| {
                    row[i] = ((value & !tap.outside[i]) | (border & tap.outside[i])) & bits;
                });
            }
            Pick::Channel(k) => {
                let k = usize::from(k);
                let divisor = tap.unpacker.divisor[k];
                if tap.unpacker.is_bytes() && divisor != 1.0 && !result.narrow {
                    deliver_bytes::<FMA>(tap, k, divisor, row);
                } else {
                    finish::<FMA>(&channel(tap, k), divisor, result.narrow, row);
                }
            }
            constant => *row = [constant_bits(constant, result.integer, result.narrow); LANES],
        }
    }
}

/// A channel of eight bits without sign to a row of words, in one loop.
#[inline(always)]
fn deliver_bytes<const FMA: bool>(tap: &Tap<'_>, channel: usize, divisor: f32, row: &mut Row) {
    let (shift, reciprocal) = (8 * tap.unpacker.byte(channel) as u32, 1.0 / divisor);
    let (border, word) = (tap.border[channel], &tap.words[0]);
    for i in 0..LANES {
        let value = (word[i] >> shift & 0xff) as i32 as f32;
        let bits = (value.to_bits() & !tap.outside[i]) | (border & tap.outside[i]);
        row[i] = divided::<FMA>(f32::from_bits(bits), divisor, reciprocal).to_bits();
    }
}

#[inline(always)]
fn deliver<const FMA: bool>(
    rows: &[Row; 4],
    divisor: &[f32; 4],
    result: &Result<'_>,
    out: &mut [Row],
) {
    let bits = if result.narrow { 0xffff } else { u32::MAX };
    let mut outs = out.iter_mut();
    for c in (0..4).filter(|c| result.mask >> c & 1 != 0) {
        let Some(out) = outs.next() else { return };
        match result.picks[c] {
            Pick::Channel(k) if result.integer => {
                for i in 0..LANES {
                    out[i] = rows[usize::from(k)][i] & bits;
                }
            }
            Pick::Channel(k) => {
                let k = usize::from(k);
                finish::<FMA>(&floats(&rows[k]), divisor[k], result.narrow, out);
            }
            constant => *out = [constant_bits(constant, result.integer, result.narrow); LANES],
        }
    }
}

/// The bits of zero or one in a register.
#[inline(always)]
fn constant_bits(pick: Pick, integer: bool, narrow: bool) -> u32 {
    match (pick, integer, narrow) {
        (Pick::One, true, _) => 1,
        (Pick::One, false, true) => half::narrow(1.0),
        (Pick::One, false, false) => 1f32.to_bits(),
        _ => 0,
    }
}

#[inline(always)]
fn tap_blend(tap: &Tap<'_>, weight: &Floats, sum: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            add_weighted(&channel(tap, c), weight, &mut sum[c]);
        }
    }
}

/// Adds a row of floats, weighted, to bits of floats. A texel without weight does not count, not even
/// an infinite one.
#[inline(always)]
fn add_weighted(value: &Floats, weight: &Floats, sum: &mut Row) {
    for i in 0..LANES {
        let part = if weight[i] == 0.0 { 0.0 } else { weight[i] * value[i] };
        sum[i] = (f32::from_bits(sum[i]) + part).to_bits();
    }
}

#[inline(always)]
fn tap_integers(tap: &Tap<'_>, out: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            let (border, out) = (tap.border[c], &mut out[c]);
            tap.unpacker.each_integer(tap.words, c, |i, value| {
                out[i] = (value & !tap.outside[i]) | (border & tap.outside[i]);
            });
        }
    }
}

#[inline(always)]
fn tap_compare(tap: &Tap<'_>, func: CompareFunc, reference: &Floats, out: &mut Row) {
    let texel = channel(tap, 0);
    let divisor = tap.unpacker.divisor[0];
    const ONE: u32 = 1f32.to_bits();
    macro_rules! test {
        ($operator:tt) => {
            for i in 0..LANES {
                let passes = reference[i] $operator texel[i] / divisor;
                out[i] = if passes { ONE } else { 0 };
            }
        };
    }
    match func {
        CompareFunc::Lequal => test!(<=),
        CompareFunc::Gequal => test!(>=),
        CompareFunc::Less => test!(<),
        CompareFunc::Greater => test!(>),
        CompareFunc::Equal => test!(==),
        CompareFunc::NotEqual => test!(!=),
        CompareFunc::Always => *out = [ONE; LANES],
        CompareFunc::Never => *out = [0; LANES],
    }
}

#[inline(always)]
fn accumulate(from: &[Row; 4], weight: &Floats, wanted: u32, sum: &mut [Row; 4]) {
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            // What lanes without weight left in the row does not count.
            add_weighted(&floats(&from[c]), weight, &mut sum[c]);
        }
    }
}

/// `value` divided by a number of at most 16 bits, all ones: what formats of fixed point have. With
/// `FMA`, three multiplications give the quotient that a division gives.
/// source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor":
/// right unless the divisor's mantissa is all ones to the last of 24 bits.
#[inline(always)]
fn divided<const FMA: bool>(value: f32, divisor: f32, reciprocal: f32) -> f32 {
    if !FMA {
        return value / divisor;
    }
    let near = value * reciprocal;
    let rest = (-near).mul_add(divisor, value);
    rest.mul_add(reciprocal, near)
}

#[inline(always)]
fn finish<const FMA: bool>(value: &Floats, divisor: f32, narrow: bool, out: &mut Row) {
    let reciprocal = 1.0 / divisor;
    let mut value = *value;
    if divisor != 1.0 {
        for v in &mut value {
            *v = divided::<FMA>(*v, divisor, reciprocal);
        }
    }
    if narrow {
        for i in 0..LANES {
            out[i] = half::narrow(value[i]);
        }
    } else {
        for i in 0..LANES {
            out[i] = value[i].to_bits();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sum that weights of 1/65536 make of integers, and every integer.
    #[test]
    fn products_are_the_quotients() {
        for bits in [1, 2, 4, 5, 6, 7, 8, 9, 10, 15, 16] {
            let divisor = ((1u32 << bits) - 1) as f32;
            let reciprocal = 1.0 / divisor;
            let most = 1u32 << (bits + 16).min(24);
            for k in (0..most).step_by(if bits == 8 { 1 } else { 7 }) {
                let value = k as f32 * (divisor / most as f32);
                for value in [value, (k >> 16) as f32, -value] {
                    let (want, got) =
                        (value / divisor, divided::<true>(value, divisor, reciprocal));
                    assert!(want == got, "{value} / {divisor}: {got}, want {want}");
                }
            }
        }
    }
}
