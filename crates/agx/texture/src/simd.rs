//! The loops over lanes, compiled several times: for any host and for hosts with wider vectors.

use tepui_agx_packets::sampler::{CompareFunc, MipFilter};

use crate::axis::{self, Axis, AxisRule};
use crate::image::Level;
use crate::lod::{self, Footprint, Gradient, Plan};
use crate::unpack::Unpacker;
use crate::{Floats, Ints, LANES, Row, half};

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
    ($set:ident, $for_host:ident, $($name:ident ($($arg:ident : $ty:ty),*) = $body:path;)*) => {
        mod $set {
            use super::*;
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

        compile!(any_host, for_any_host, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wide, for_wide, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wider, for_wider, $($name ($($arg: $ty),*) = $body;)*);
    };
}

kernels! {
    /// [`axis::axis`].
    axis(rule: &AxisRule, coordinate: &Floats, offset: &Ints, out: &mut Axis) = axis::axis;
    /// [`axis::load_border`].
    load_border(size: u32, texel: &Row, offset: &Ints, out: &mut Axis) = axis::load_border;
    /// [`lod::footprint`].
    footprint(gradient: &Gradient, axes: usize, most: u32, out: &mut Footprint) = lod::footprint;
    /// [`lod::clamp`].
    clamp_lod(lod: &Floats, range: [f32; 2], least: Option<&Row>, out: &mut Floats) = lod::clamp;
    /// [`lod::plan`].
    plan(lod: &Floats, mip: MipFilter, last: f32, out: &mut Plan) = lod::plan;
    /// Mixes in the next smaller level.
    mix(next: &[Floats; 4], plan: &Plan, out: &mut [Floats; 4]) = super::mix;
    /// The products of the weights of one of the two texels of up to three axes.
    weigh(axes: &[Axis; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats) = super::weigh;
    /// Where texels are: element numbers, and which are the border.
    place(level: &Level, at: [&Ints; 2], outside: [&Row; 3], elements: &mut Row, out: &mut Row) = super::place;
    /// Byte offsets of elements.
    offsets(elements: &Row, start: u64, shift: u32, out: &mut [u64; LANES]) = super::offsets;
    /// The channels of a tap.
    floats(tap: &Tap<'_>, out: &mut [Floats; 4]) = super::tap_floats;
    /// Adds the channels of a tap, weighted.
    blend(tap: &Tap<'_>, weight: &Floats, sum: &mut [Floats; 4]) = super::tap_blend;
    /// The channels of a tap of integers.
    integers(tap: &Tap<'_>, out: &mut [Row; 4]) = super::tap_integers;
    /// Compares the first channel with a reference: 1 where it passes, else 0.
    compare(tap: &Tap<'_>, func: CompareFunc, reference: &Floats, out: &mut Floats) = super::tap_compare;
    /// Adds rows, weighted, in the lanes where the weight is not zero.
    accumulate(from: &[Floats; 4], weight: &Floats, wanted: u32, sum: &mut [Floats; 4]) = super::accumulate;
    /// Divides by the divisor and gives the bits, of halves if narrow.
    finish(value: &Floats, divisor: f32, narrow: bool, out: &mut Row) = super::finish;
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
fn mix(next: &[Floats; 4], plan: &Plan, out: &mut [Floats; 4]) {
    for (out, next) in out.iter_mut().zip(next) {
        for i in 0..LANES {
            let w = plan.next[i];
            let mixed = out[i] * (1.0 - w) + next[i] * w;
            // Elsewhere the next level was not read.
            out[i] = if plan.between[i] != 0 { mixed } else { out[i] };
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
fn tap_floats(tap: &Tap<'_>, out: &mut [Floats; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            out[c] = channel(tap, c);
        }
    }
}

#[inline(always)]
fn tap_blend(tap: &Tap<'_>, weight: &Floats, sum: &mut [Floats; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            let value = channel(tap, c);
            for i in 0..LANES {
                // A texel without weight does not count, not even an infinite one.
                sum[c][i] += if weight[i] == 0.0 { 0.0 } else { weight[i] * value[i] };
            }
        }
    }
}

#[inline(always)]
fn tap_integers(tap: &Tap<'_>, out: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            let value = tap.unpacker.integer(tap.words, c);
            for i in 0..LANES {
                out[c][i] = (value[i] & !tap.outside[i]) | (tap.border[c] & tap.outside[i]);
            }
        }
    }
}

#[inline(always)]
fn tap_compare(tap: &Tap<'_>, func: CompareFunc, reference: &Floats, out: &mut Floats) {
    let texel = channel(tap, 0);
    let divisor = tap.unpacker.divisor[0];
    macro_rules! test {
        ($operator:tt) => {
            for i in 0..LANES {
                out[i] = if reference[i] $operator texel[i] / divisor { 1.0 } else { 0.0 };
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
        CompareFunc::Always => *out = [1.0; LANES],
        CompareFunc::Never => *out = [0.0; LANES],
    }
}

#[inline(always)]
fn accumulate(from: &[Floats; 4], weight: &Floats, wanted: u32, sum: &mut [Floats; 4]) {
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            for i in 0..LANES {
                // What other lanes left in the row may be infinite.
                let part = if weight[i] == 0.0 { 0.0 } else { weight[i] * from[c][i] };
                sum[c][i] += part;
            }
        }
    }
}

#[inline(always)]
fn finish(value: &Floats, divisor: f32, narrow: bool, out: &mut Row) {
    let mut value = *value;
    if divisor != 1.0 {
        for v in &mut value {
            *v /= divisor;
        }
    }
    if narrow {
        for i in 0..LANES {
            out[i] = half::narrow(value[i]);
        }
    } else {
        *out = value.map(f32::to_bits);
    }
}
