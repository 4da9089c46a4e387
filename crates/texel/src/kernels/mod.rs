//! The loops over lanes, compiled several times: for any host and for hosts with wider vectors.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blend;
mod blocks;
mod deliver;
mod host;
mod places;
mod words;

pub use self::blend::{Quad, Tap};
pub(crate) use self::blocks::Located;
pub use self::blocks::{BlockGrid, BlockSizes};
pub use self::deliver::{Pick, Result};
pub use self::host::Vectors;
pub use self::places::Placed;
pub use self::words::{Corners, Line, Scattered, look_up};
use crate::axis::{self, Axis, AxisRule};
use crate::cube::{self, Faces};
use crate::lod::{self, Footprint, Gradient, Plan};
use crate::pack::{self, Packer};
use crate::{CompareFunc, Floats, Ints, MipFilter, Row, TextureUnit};

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
                #[allow(clippy::extra_unused_type_parameters)] // Some kernels name no texture unit.
                unsafe fn $name<const N: usize, U: TextureUnit>($($arg: $ty),*) {
                    $body($($arg),*)
                }
            })*
            impl<const N: usize, U: TextureUnit> Set<N, U> for Host {
                const KERNELS: Kernels<N, U> = Kernels { $($name: $name::<N, U>),* };
            }
            pub struct Host;
        }
    };
}

/// The kernels of a set of host features.
trait Set<const N: usize, U: TextureUnit> {
    const KERNELS: Kernels<N, U>;
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident : $ty:ty),*) = $body:path;)*) => {
        /// The loops over `N` lanes for a texture unit, compiled for the features of some hosts.
        pub struct Kernels<const N: usize, U: TextureUnit> {
            $($name: unsafe fn($($arg: $ty),*),)*
        }

        impl<const N: usize, U: TextureUnit> Kernels<N, U> {
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
    axis(rule: &AxisRule, coordinate: &Floats<N>, offset: &Ints<N>, out: &mut Axis<N>) = axis::axis::<N, U>;
    /// [`axis::plane`].
    plane(rules: &[AxisRule; 2], at: [&Row<N>; 2], axes: &mut [Axis<N>; 3], centred: &mut bool) = axis::plane::<N, U>;
    /// [`axis::load_border`].
    load_border(size: u32, texel: &Row<N>, offset: &Ints<N>, out: &mut Axis<N>) = axis::load_border::<N>;
    /// [`lod::footprint`].
    footprint(gradient: &Gradient<N>, scale: &[f32; 3], axes: usize, most: u32, out: &mut Footprint<N>) = lod::footprint::<N>;
    /// [`cube::faces`].
    faces(direction: &[Floats<N>; 3], out: &mut Faces<N>) = cube::faces::<N>;
    /// [`cube::face_axes`].
    face_axes(place: &[Floats<N>; 2], size: u32, offset: [&Ints<N>; 2], axes: &mut [Axis<N>; 3], inside: &mut bool) = cube::face_axes::<N, U>;
    /// [`cube::gradients`].
    face_gradients(faces: &Row<N>, direction: &[Floats<N>; 3], gradient: &Gradient<N>, out: &mut Gradient<N>) = cube::gradients::<N>;
    /// [`lod::gradient`].
    gradient(coordinates: &[Floats<N>; 3], axes: usize, out: &mut Gradient<N>) = lod::gradient::<N>;
    /// [`lod::clamp`].
    clamp_lod(lod: &Floats<N>, range: [f32; 2], least: Option<&Row<N>>, out: &mut Floats<N>) = lod::clamp::<N, U>;
    /// [`lod::plan`].
    plan(lod: &Floats<N>, mip: MipFilter, last: f32, out: &mut Plan<N>) = lod::plan::<N>;
    /// Mixes in the next smaller level.
    mix(next: &[Row<N>; 4], plan: &Plan<N>, out: &mut [Row<N>; 4]) = blend::mix::<N>;
    /// The products of the weights of one of the two texels of up to three axes.
    weigh(axes: &[Axis<N>; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats<N>) = blend::weigh::<N>;
    /// Element numbers of texels, and the lanes that take the border.
    place(level: &U::Level, at: [&Ints<N>; 2], outside: [&Row<N>; 3], elements: &mut Row<N>, out: &mut Row<N>) = places::place;
    /// 32-bit byte offsets of texels from the level's start; only the bits of `keep` of columns and
    /// lines count.
    texel_offsets(level: &U::Level, shift: u32, keep: [u32; 2], at: [&Ints<N>; 2], out: &mut Row<N>) = places::texel_offsets;
    /// Version of `texel_offsets` for the blocks that texels are in.
    block_offsets(level: &U::Level, shift: u32, at: [&Ints<N>; 2], out: &mut Row<N>) = places::block_offsets;
    /// Offsets of the blocks of the four texels of two axes, and of the texels within decoded blocks.
    block_corners(level: &U::Level, sizes: BlockSizes, axes: &[Axis<N>; 3], blocks: &mut [Row<N>; 4], texels: &mut [Row<N>; 4]) = blocks::block_corners;
    /// Adds the places of decoded blocks to those of texels within them, unless two blocks have the same place.
    locate(located: Located<'_>, offsets: &[Row<N>; 4], exec: u32, places: &mut [Row<N>; 4], found: &mut bool) = blocks::locate::<N, WIDTH>;
    /// The places of texels of a small grid of blocks.
    locate_grid(located: Located<'_>, level: &U::Level, grid: BlockGrid, axes: &[Axis<N>; 3], places: &mut [Row<N>; 4], found: &mut bool) = blocks::locate_grid::<N, U, WIDTH>;
    /// The lowest and the highest of columns and of lines, two in each lane of `exec`.
    bounds(at: &[[&Ints<N>; 2]; 2], exec: u32, out: &mut [[u32; 2]; 2]) = places::bounds::<N>;
    /// Whether lanes stand side by side in one line.
    follow(at: [&Row<N>; 2], out: &mut bool) = places::follow::<N, WIDTH>;
    /// The words of texels that lie apart.
    texels(texels: &Scattered<'_, N>, words: &mut [Row<N>; 4]) = words::texels::<N, WIDTH>;
    /// The words of the four texels of two axes, left to right, then the next line.
    corner_texels(corners: &Corners<'_, N, U>, words: &mut [[Row<N>; 4]; 4]) = words::corner_texels::<N, U, WIDTH>;
    /// The words of a line of texels.
    line(line: &Line<'_>, words: &mut Row<N>) = words::line::<N, WIDTH>;
    /// The places of loads in two dimensions.
    place_load(level: &U::Level, at: [&Row<N>; 2], out: &mut Placed<N>) = places::place_load;
    /// Layers, at most `last`, and whether those of the lanes of `exec` are the same.
    layers(layer: &Row<N>, last: u32, exec: u32, out: &mut Row<N>, same: &mut bool) = places::layers::<N>;
    /// The results of a load: a tap's channels, divided.
    deliver_tap(tap: &Tap<'_, N>, result: &Result<'_>, out: &mut [Row<N>]) = deliver::deliver_tap::<N, WIDTH>;
    /// The results of a filter: rows of bits, divided if they are floats.
    deliver(rows: &[Row<N>; 4], divisor: &[f32; 4], result: &Result<'_>, out: &mut [Row<N>]) = deliver::deliver::<N, WIDTH>;
    /// The results of a linear filter of four neighbours: their weighted sums, divided.
    deliver_quad(quad: &Quad<'_, N>, result: &Result<'_>, out: &mut [Row<N>]) = deliver::deliver_quad::<N, U, WIDTH>;
    /// The weighted sum of four neighbours.
    quad(quad: &Quad<'_, N>, out: &mut [Row<N>; 4]) = blend::quad::<N, U, WIDTH>;
    /// Byte offsets of elements.
    offsets(elements: &Row<N>, start: u64, shift: u32, out: &mut [u64; N]) = places::offsets::<N>;
    /// The channels of a tap.
    floats(tap: &Tap<'_, N>, out: &mut [Row<N>; 4]) = blend::tap_floats::<N, WIDTH>;
    /// Adds the channels of a tap, weighted.
    blend(tap: &Tap<'_, N>, weight: &Floats<N>, sum: &mut [Row<N>; 4]) = blend::tap_blend::<N, WIDTH>;
    /// The channels of a tap of integers.
    integers(tap: &Tap<'_, N>, out: &mut [Row<N>; 4]) = blend::tap_integers::<N>;
    /// [`pack::pack_rows`].
    pack(packer: &Packer, channels: &[Row<N>; 4], words: &mut [Row<N>; 4]) = pack::pack_rows::<N, WIDTH>;
    /// Compares the first channel with a reference: 1 where it passes, else 0.
    compare(tap: &Tap<'_, N>, func: CompareFunc, reference: &Floats<N>, out: &mut Row<N>) = blend::tap_compare::<N, WIDTH>;
    /// Adds rows, weighted, in the lanes where the weight is not zero.
    accumulate(from: &[Row<N>; 4], weight: &Floats<N>, wanted: u32, sum: &mut [Row<N>; 4]) = blend::accumulate::<N>;
}

impl<const N: usize, U: TextureUnit> Kernels<N, U> {
    /// The best set that this host can run.
    pub fn of_host() -> &'static Kernels<N, U> {
        const { assert!(N.is_multiple_of(4) && N <= 32, "masks of lanes have 32 bits; quads have 4") };
        match Vectors::of_host() {
            #[cfg(target_arch = "x86_64")]
            Vectors::Wider => const { &<wider::Host as Set<N, U>>::KERNELS },
            #[cfg(target_arch = "x86_64")]
            Vectors::Wide => const { &<wide::Host as Set<N, U>>::KERNELS },
            _ => const { &<any_host::Host as Set<N, U>>::KERNELS },
        }
    }
}

#[cfg(test)]
pub(crate) mod testing;
