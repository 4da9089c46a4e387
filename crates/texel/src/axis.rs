//! Texture addressing along one axis, for all lanes: from a coordinate to the texels to read.

use crate::{Floats, Ints, Row, TextureUnit, Wrap, bits, floats};

/// Addressing rule of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRule {
    /// Texels of the level along this axis.
    pub size: u32,
    /// Address mode.
    pub wrap: Wrap,
    /// Whether the coordinate counts texels.
    pub pixel: bool,
    /// Linear filter: two texels with weights, not the nearest.
    pub linear: bool,
    /// Some texel offset is not zero.
    pub moved: bool,
}

/// The texels that lanes read along an axis.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Axis<const N: usize> {
    /// The first texel and, if linear, its neighbour; always inside the level.
    pub texel: [Ints<N>; 2],
    /// All bits in the lanes whose texel lies outside, and is the border.
    pub outside: [Row<N>; 2],
    /// Weight of the second texel.
    pub weight: Floats<N>,
}

impl<const N: usize> Axis<N> {
    /// All zeros.
    pub const ZERO: Axis<N> = Axis { texel: [[0; N]; 2], outside: [[0; N]; 2], weight: [0.0; N] };
}

/// Coordinates of texels are clamped to this: far outside of any image.
const FAR: f32 = 4_194_304.0;

/// Finds the texels of a coordinate, moved by `offset` texels; with [`AxisRule::moved`] unset,
/// those are zeros.
///
// source: Vulkan specification, "Wrapping Operation", "Texel Filtering"
#[inline(always)]
pub fn axis<const N: usize, U: TextureUnit>(
    rule: &AxisRule,
    coordinate: &Floats<N>,
    offset: &Ints<N>,
    out: &mut Axis<N>,
) {
    let n = rule.size as i32;
    let size = rule.size as f32;
    let scale = if rule.pixel { 1.0 } else { size };
    // The wrap is chosen outside of the loop over lanes. Coordinates that repeat are brought near
    // the image first, so that no precision is lost far out.
    match rule.wrap {
        Wrap::ClampToEdge => {
            lanes::<N, U, false>(
                rule,
                coordinate,
                offset,
                out,
                |x| far(x * scale),
                |t| clamped(t, n),
            );
        }
        Wrap::MirroredClampToEdge => {
            let mirror = |t: i32| (if t < 0 { -1 - t } else { t }).min(n - 1);
            lanes::<N, U, false>(rule, coordinate, offset, out, |x| far(x * scale), mirror);
        }
        Wrap::ClampToBorder => {
            lanes::<N, U, false>(rule, coordinate, offset, out, |x| far(x * scale), |t| t);
            border(n, rule.linear, out);
        }
        Wrap::ClampGl => {
            lanes::<N, U, true>(rule, coordinate, offset, out, |x| far(x * scale), |t| t);
            border(n, rule.linear, out);
        }
        Wrap::Repeat if rule.pixel => {
            lanes::<N, U, false>(rule, coordinate, offset, out, far, |t| modulo(t, n));
        }
        Wrap::Repeat if rule.moved => {
            let fold = |x: f32| (x - x.floor()) * size;
            lanes::<N, U, false>(rule, coordinate, offset, out, fold, |t| modulo(t, n));
        }
        Wrap::Repeat => {
            // At most one texel outside.
            let fold = |x: f32| (x - x.floor()) * size;
            // Of the numbers without sign, the smaller one is inside.
            let wrap = |t: i32| {
                let t = (t as u32).min(t.wrapping_add(n) as u32);
                t.min(t.wrapping_sub(n as u32)) as i32
            };
            lanes::<N, U, false>(rule, coordinate, offset, out, fold, wrap);
        }
        Wrap::MirroredRepeat => {
            let reflect = |t: i32| {
                let m = modulo(t, 2 * n);
                if m < n { m } else { 2 * n - 1 - m }
            };
            if rule.pixel {
                lanes::<N, U, false>(rule, coordinate, offset, out, far, reflect);
            } else {
                let fold = |x: f32| (x - 2.0 * (x * 0.5).floor()) * size;
                lanes::<N, U, false>(rule, coordinate, offset, out, fold, reflect);
            }
        }
    }
}

/// Finds the texels of two coordinates that are not moved, and whether all lanes are at centres of texels, so that a
/// linear filter gives one texel: what programs sample that show an image as large as it is.
#[inline(always)]
pub fn plane<const N: usize, U: TextureUnit>(
    rules: &[AxisRule; 2],
    at: [&Row<N>; 2],
    axes: &mut [Axis<N>; 3],
    centred: &mut bool,
) {
    for a in 0..2 {
        axis::<N, U>(&rules[a], &floats(at[a]), &[0; N], &mut axes[a]);
    }
    // Compared as a whole: of a loop over lanes, compilers make gathers.
    *centred = axes[..2].iter().all(|axis| bits(&axis.weight) == [0; N]);
}

/// Clamps a coordinate in texels to what [`whole`] takes.
#[inline(always)]
fn far(x: f32) -> f32 {
    // Comparisons, so that a NaN stays one (it becomes 0 as an integer).
    let x = if x < -FAR { -FAR } else { x };
    if x > FAR { FAR } else { x }
}

/// The loop over lanes: `place` gives the coordinate in texels, no further than [`FAR`], `wrap` brings a texel number into
/// the level. With `GL`, the coordinate is clamped to the image after the offset was added, and the
/// far edge of the image belongs to the last texel when the nearest is wanted.
///
// Assumption: that the offset comes first. Mesa uses the hardware's mode for GL_CLAMP, and piglit's
// `texwrap … offset` demands it.
#[inline(always)]
fn lanes<const N: usize, U: TextureUnit, const GL: bool>(
    rule: &AxisRule,
    coordinate: &Floats<N>,
    offset: &Ints<N>,
    out: &mut Axis<N>,
    place: impl Fn(f32) -> f32,
    wrap: impl Fn(i32) -> i32,
) {
    const {
        assert!(U::SUBTEXEL_BITS <= 8);
        assert!(FAR * ((1 << U::SUBTEXEL_BITS) as f32) < 2_147_483_648.0, "`whole` takes it");
    }
    let subtexels = const { (1 << U::SUBTEXEL_BITS) as f32 };
    let size = rule.size as f32;
    // The coordinate in texels, and the offset of the texel that is still to be added.
    let start = |i: usize| {
        let u = place(coordinate[i]);
        if !GL {
            return (u, offset[i]);
        }
        let u = u + offset[i] as f32;
        // Comparisons again: a NaN becomes 0.
        (if u > 0.0 { u.min(size) } else { 0.0 }, 0)
    };
    out.outside = [[0; N]; 2];
    if rule.linear {
        for i in 0..N {
            // Texel centres are at halves.
            let (u, offset) = start(i);
            let fixed = whole((u * subtexels - (subtexels / 2.0 - 0.5)).floor());
            let first = (fixed >> U::SUBTEXEL_BITS) + offset;
            out.texel[0][i] = wrap(first);
            out.texel[1][i] = wrap(first + 1);
            out.weight[i] = (fixed & ((1 << U::SUBTEXEL_BITS) - 1)) as f32 / subtexels;
        }
    } else {
        let last = rule.size as i32 - 1;
        for i in 0..N {
            let (u, offset) = start(i);
            let t = whole(u.floor()) + offset;
            out.texel[0][i] = wrap(if GL { t.min(last) } else { t });
        }
    }
}

/// An integral float of less than 2^31 as an integer; NaN becomes 0. (`as` asks for more than
/// vector instructions give, and so becomes 32 scalar conversions.)
#[inline(always)]
pub(crate) fn whole(x: f32) -> i32 {
    debug_assert!(x.is_nan() || x.abs() < 2_147_483_648.0, "{x}");
    let x = if x.is_nan() { 0.0 } else { x };
    // SAFETY: the caller gives no larger number, and NaN was taken out.
    unsafe { x.to_int_unchecked() }
}

#[inline(always)]
fn clamped(t: i32, n: i32) -> i32 {
    t.max(0).min(n - 1)
}

/// Says which texels are outside for good, and brings them inside.
#[inline(always)]
fn border<const N: usize>(n: i32, both: bool, out: &mut Axis<N>) {
    for k in 0..1 + usize::from(both) {
        for i in 0..N {
            let t = out.texel[k][i];
            out.outside[k][i] = 0u32.wrapping_sub(u32::from(t < 0 || t >= n));
            out.texel[k][i] = clamped(t, n);
        }
    }
}

/// `t` modulo `n`, never negative, for |t| below 2^23 and n up to 2^15.
#[inline(always)]
fn modulo(t: i32, n: i32) -> i32 {
    // The half keeps the quotient away from integers, so that its rounding does not matter.
    let quotient = whole(((t as f32 + 0.5) / n as f32).floor());
    t - quotient * n
}

/// Wraps the texel numbers of a load, which may be any.
pub fn wrap_any<const N: usize>(
    size: u32,
    wrap_mode: Wrap,
    texel: &Row<N>,
    offset: &Ints<N>,
    out: &mut Axis<N>,
) {
    let n = i64::from(size);
    for i in 0..N {
        // Numbers are unsigned; offsets may lead below zero.
        let t = i64::from(texel[i]) + i64::from(offset[i]);
        let (inside, outside) = match wrap_mode {
            Wrap::ClampToEdge => (t.clamp(0, n - 1), false),
            Wrap::Repeat => (t.rem_euclid(n), false),
            Wrap::MirroredRepeat => {
                let m = t.rem_euclid(2 * n);
                (if m < n { m } else { 2 * n - 1 - m }, false)
            }
            Wrap::MirroredClampToEdge => ((if t < 0 { -1 - t } else { t }).min(n - 1), false),
            Wrap::ClampToBorder | Wrap::ClampGl => (t.clamp(0, n - 1), t < 0 || t >= n),
        };
        out.texel[0][i] = inside as i32;
        out.outside[0][i] = 0u32.wrapping_sub(u32::from(outside));
    }
}

/// Wraps the texel numbers of a load where texels outside are the border: what drivers bind.
#[inline(always)]
pub fn load_border<const N: usize>(size: u32, texel: &Row<N>, offset: &Ints<N>, out: &mut Axis<N>) {
    for i in 0..N {
        // An offset below zero wraps around to a number that is as far outside.
        let t = texel[i].wrapping_add(offset[i] as u32);
        out.outside[0][i] = 0u32.wrapping_sub(u32::from(t >= size));
        out.texel[0][i] = t.min(size - 1) as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modulo_is_exact() {
        for n in [1, 2, 3, 7, 100, 127, 5000, 16383, 16384, 32766, 32768] {
            let edges = [-8_388_000, -4_194_304, -32768, -1, 0, 1, 32767, 4_194_304, 8_388_000];
            let near = (-40..40).chain(edges.iter().flat_map(|&e| e - 40..e + 40));
            for t in near.chain((-3..3).flat_map(|k| k * n - 2..k * n + 3)) {
                assert_eq!(modulo(t, n), t.rem_euclid(n), "{t} mod {n}");
            }
        }
    }
}
