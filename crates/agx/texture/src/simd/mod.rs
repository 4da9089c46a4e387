//! The loops over lanes, compiled several times: for any host and for hosts with wider vectors.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod blend;
mod deliver;
mod host;
mod places;
mod words;

use tepui_agx_packets::sampler::{CompareFunc, MipFilter};

pub use self::blend::{Quad, Tap};
pub use self::deliver::{Pick, Result};
pub use self::host::Vectors;
pub use self::places::Placed;
pub use self::words::{Apart, Line, look_up};
use crate::axis::{self, Axis, AxisRule};
use crate::cube::{self, Faces};
use crate::image::Level;
use crate::lod::{self, Footprint, Gradient, Plan};
use crate::pack::{self, Packer};
use crate::{Floats, Ints, LANES, Row};

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
    ($set:ident, $for_host:ident, $width:literal, $($name:ident ($($arg:ident : $ty:ty),*) = $body:path;)*) => {
        mod $set {
            use super::*;
            /// Lanes of these hosts' vectors; from eight on they multiply and add in one.
            const WIDTH: usize = $width;
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

        compile!(any_host, for_any_host, 4, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wide, for_wide, 8, $($name ($($arg: $ty),*) = $body;)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wider, for_wider, 16, $($name ($($arg: $ty),*) = $body;)*);
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
    mix(next: &[Row; 4], plan: &Plan, out: &mut [Row; 4]) = blend::mix;
    /// The products of the weights of one of the two texels of up to three axes.
    weigh(axes: &[Axis; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats) = blend::weigh;
    /// Where texels are: element numbers, and which are the border.
    place(level: &Level, at: [&Ints; 2], outside: [&Row; 3], elements: &mut Row, out: &mut Row) = places::place;
    /// 32-bit byte offsets of texels from the level's start; only the bits of `keep` of columns and lines
    /// count.
    texel_offsets(level: &Level, shift: u32, keep: [u32; 2], at: [&Ints; 2], out: &mut Row) = places::texel_offsets;
    /// As `texel_offsets`, of the four texels of two axes.
    corners(level: &Level, shift: u32, keep: [u32; 2], axes: &[Axis; 3], out: &mut [Row; 4]) = places::corners;
    /// The lowest and the highest of columns and of lines, two in each lane of `exec`.
    bounds(at: &[[&Ints; 2]; 2], exec: u32, out: &mut [[u32; 2]; 2]) = places::bounds;
    /// Whether lanes stand side by side in one line.
    follow(at: [&Row; 2], out: &mut bool) = places::follow::<WIDTH>;
    /// The words of texels that lie apart.
    texels(texels: &Apart<'_>, words: &mut [Row; 4]) = words::texels::<WIDTH>;
    /// The words of a line of texels.
    line(line: &Line<'_>, words: &mut Row) = words::line::<WIDTH>;
    /// The places of loads in two dimensions.
    place_load(level: &Level, at: [&Row; 2], out: &mut Placed) = places::place_load;
    /// Layers, at most `last`, and whether those of the lanes of `exec` are the same.
    layers(layer: &Row, last: u32, exec: u32, out: &mut Row, same: &mut bool) = places::layers;
    /// The results of a load: a tap's channels, divided.
    deliver_tap(tap: &Tap<'_>, result: &Result<'_>, out: &mut [Row]) = deliver::deliver_tap::<WIDTH>;
    /// The results of a filter: rows of bits, divided if they are floats.
    deliver(rows: &[Row; 4], divisor: &[f32; 4], result: &Result<'_>, out: &mut [Row]) = deliver::deliver::<WIDTH>;
    /// The weighted sum of four neighbours.
    quad(quad: &Quad<'_>, out: &mut [Row; 4]) = blend::quad::<WIDTH>;
    /// Byte offsets of elements.
    offsets(elements: &Row, start: u64, shift: u32, out: &mut [u64; LANES]) = places::offsets;
    /// The channels of a tap.
    floats(tap: &Tap<'_>, out: &mut [Row; 4]) = blend::tap_floats::<WIDTH>;
    /// Adds the channels of a tap, weighted.
    blend(tap: &Tap<'_>, weight: &Floats, sum: &mut [Row; 4]) = blend::tap_blend::<WIDTH>;
    /// The channels of a tap of integers.
    integers(tap: &Tap<'_>, out: &mut [Row; 4]) = blend::tap_integers;
    /// [`pack::pack_rows`].
    pack(packer: &Packer, channels: &[Row; 4], words: &mut [Row; 4]) = pack::pack_rows;
    /// Compares the first channel with a reference: 1 where it passes, else 0.
    compare(tap: &Tap<'_>, func: CompareFunc, reference: &Floats, out: &mut Row) = blend::tap_compare::<WIDTH>;
    /// Adds rows, weighted, in the lanes where the weight is not zero.
    accumulate(from: &[Row; 4], weight: &Floats, wanted: u32, sum: &mut [Row; 4]) = blend::accumulate;
}

impl Kernels {
    /// The best set that this host can run.
    pub fn of_host() -> &'static Kernels {
        match Vectors::of_host() {
            #[cfg(target_arch = "x86_64")]
            Vectors::Wider => &wider::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Vectors::Wide => &wide::KERNELS,
            _ => &any_host::KERNELS,
        }
    }
}
