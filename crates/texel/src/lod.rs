//! Level of detail: from gradients to levels and samples along the line of anisotropy.
//!
// source: Vulkan specification, "Scale Factor, Level-of-Detail Operation and Image Level(s)
// Selection"

use crate::axis::whole;
use crate::{Floats, MipFilter, Row, TextureUnit};

/// Rates of change of each coordinate, to the right and down.
pub type Gradient<const N: usize> = [[Floats<N>; 2]; 3];

/// Differences between neighbours of a quad: lanes are numbered left to right, top to bottom.
///
/// Assumption: all four have those of the upper left, so that a quad has one level of detail. The
/// specification also allows each row and column its own. llvmpipe and SwiftShader do the former,
/// and coordinates that jump from pixel to pixel (glmark2's `refract`) look like theirs only then.
#[inline(always)]
pub fn derivatives<const N: usize>(x: &Floats<N>) -> [Floats<N>; 2] {
    let mut out = [[0.0; N]; 2];
    for quad in 0..N / 4 {
        let q = 4 * quad;
        for k in 0..4 {
            out[0][q + k] = x[q + 1] - x[q];
            out[1][q + k] = x[q + 2] - x[q];
        }
    }
    out
}

/// The gradient of the first `axes` coordinates.
#[inline(always)]
pub fn gradient<const N: usize>(coordinates: &[Floats<N>; 3], axes: usize, out: &mut Gradient<N>) {
    for (out, x) in out.iter_mut().zip(coordinates).take(axes) {
        *out = derivatives(x);
    }
}

/// Footprint of a sample from gradients: the level of detail, and the number and direction of
/// anisotropic samples.
#[derive(Clone, Copy, Debug)]
pub struct Footprint<const N: usize> {
    /// Level of detail, before bias and clamps.
    pub lod: Floats<N>,
    /// Samples along the line of anisotropy.
    pub samples: Floats<N>,
    /// Whether the line follows the second gradient (1.0) or the first (0.0).
    pub down: Floats<N>,
}

/// Finds the footprint of gradients; times `scale`, they are in texels of the base level. `axes`
/// coordinates count.
#[inline(always)]
pub fn footprint<const N: usize>(
    gradient: &Gradient<N>,
    scale: &[f32; 3],
    axes: usize,
    max_anisotropy: u32,
    out: &mut Footprint<N>,
) {
    let mut square = [[0.0f32; N]; 2];
    for (axis, scale) in gradient.iter().zip(scale).take(axes) {
        for (square, rate) in square.iter_mut().zip(axis) {
            for i in 0..N {
                let rate = rate[i] * scale;
                square[i] += rate * rate;
            }
        }
    }
    let most = max_anisotropy as f32;
    for i in 0..N {
        let (right, down) = (square[0][i], square[1][i]);
        out.down[i] = if down > right { 1.0 } else { 0.0 };
        let longest = if down > right { down } else { right };
        let shortest = if down > right { right } else { down };
        let (longest, shortest) = (longest.sqrt(), shortest.sqrt());
        // A line without width has as many samples as there may be; NaN and no line at all have
        // one.
        let ratio = longest / shortest;
        let ratio = if ratio >= 1.0 { ratio } else { 1.0 };
        let ratio = if ratio < most { ratio } else { most };
        out.samples[i] = ratio.ceil();
        out.lod[i] = log2(longest / ratio);
    }
}

/// Logarithm to the base 2, to within 2^-16, for any positive float; of 0 and NaN a number below
/// -126.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let bits = x.to_bits() as i32;
    let exponent = (bits >> 23) - 127;
    // Mantissa in 1..2, and from there to a series in (m - 1) / (m + 1).
    let m = f32::from_bits((bits & 0x7f_ffff) as u32 | 127 << 23);
    let t = (m - 1.0) / (m + 1.0);
    let t2 = t * t;
    let series = t
        * (2.885_39 + t2 * (0.961_796_7 + t2 * (0.577_078_04 + t2 * (0.412_198_6 + t2 * 0.320_6))));
    let result = exponent as f32 + series;
    if bits <= 0 || bits > 0x7f80_0000 { -1000.0 } else { result }
}

/// Levels of detail, clamped to a range and to a least value of each lane, and rounded.
#[inline(always)]
pub fn clamp<const N: usize, U: TextureUnit>(
    lod: &Floats<N>,
    range: [f32; 2],
    least: Option<&Row<N>>,
    out: &mut Floats<N>,
) {
    let [min, max] = range;
    for i in 0..N {
        let mut v = lod[i];
        v = if v > min { v } else { min };
        v = if v < max { v } else { max };
        if let Some(least) = least {
            let min = f32::from_bits(least[i]);
            v = if v < min { min } else { v };
        }
        out[i] = quantize::<U>(v);
    }
}

/// Levels that the lanes read, and their weights.
#[derive(Clone, Copy, Debug)]
pub struct Plan<const N: usize> {
    /// Level of each lane, counted from the view's first.
    pub level: Row<N>,
    /// Weight of the next smaller level.
    pub next: Floats<N>,
    /// All bits in the lanes that magnify.
    pub magnify: Row<N>,
    /// All bits in the lanes in which the next level has a weight.
    pub between: Row<N>,
}

impl<const N: usize> Plan<N> {
    /// Level 0 for all.
    pub const ZERO: Plan<N> =
        Plan { level: [0; N], next: [0.0; N], magnify: [0; N], between: [0; N] };
}

/// Chooses levels, of which `last` is the smallest.
#[inline(always)]
pub fn plan<const N: usize>(lod: &Floats<N>, mip: MipFilter, last: f32, out: &mut Plan<N>) {
    let all = |yes: bool| if yes { u32::MAX } else { 0 };
    for i in 0..N {
        let v = lod[i];
        out.magnify[i] = all(v <= 0.0);
        let v = if v > 0.0 { v } else { 0.0 };
        let v = if v < last { v } else { last };
        match mip {
            MipFilter::None => {}
            MipFilter::Nearest => out.level[i] = whole((v + 0.5).ceil() - 1.0) as u32,
            MipFilter::Linear => {
                let floor = v.floor();
                out.level[i] = whole(floor) as u32;
                out.next[i] = v - floor;
                out.between[i] = all(v != floor);
            }
        }
    }
}

/// Rounds a level of detail to its fixed-point form. NaN becomes 0.
#[inline(always)]
pub fn quantize<U: TextureUnit>(lod: f32) -> f32 {
    let scale = (1 << U::LOD_BITS) as f32;
    let fixed = (lod * scale + 0.5).floor();
    if fixed.is_nan() { 0.0 } else { fixed / scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log2_is_close() {
        for k in 1..20000 {
            let x = k as f32 * 0.731;
            for x in [x, 1.0 / x, x * 1e20, x * 1e-30] {
                let error = f64::from(log2(x)) - f64::from(x).log2();
                assert!(error.abs() < 2f64.powi(-16), "{x}: {error}");
            }
        }
        assert!(log2(0.0) < -126.0 && log2(f32::NAN) < -126.0 && log2(f32::INFINITY) >= 127.0);
    }

    #[test]
    fn derivatives_are_those_of_the_quad() {
        let x: Floats<32> = std::array::from_fn(|i| [1.0, 3.0, 10.0, 20.0][i % 4]);
        let [right, down] = derivatives(&x);
        assert_eq!((right[..4].to_vec(), down[..4].to_vec()), (vec![2.0; 4], vec![9.0; 4]));
    }
}
