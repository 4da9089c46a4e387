//! One coordinate of all lanes: from where it points to the texels to read.

use tepui_agx_packets::sampler::Wrap;

use crate::{Floats, Ints, LANES, Row};

/// How a coordinate becomes texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRule {
    /// Texels of the level along this axis.
    pub size: u32,
    /// What happens outside.
    pub wrap: Wrap,
    /// The coordinate counts texels.
    pub pixel: bool,
    /// Two texels with weights, not the nearest.
    pub linear: bool,
}

/// The texels that lanes read along an axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The first texel and, if linear, its neighbour; always inside the level.
    pub texel: [Ints; 2],
    /// All bits in the lanes whose texel lies outside, and is the border.
    pub outside: [Row; 2],
    /// Weight of the second texel.
    pub weight: Floats,
}

impl Axis {
    /// Nothing yet.
    pub const ZERO: Axis =
        Axis { texel: [[0; LANES]; 2], outside: [[0; LANES]; 2], weight: [0.0; LANES] };
}

/// Fraction bits of a texel coordinate: how many steps there are from texel to texel.
///
/// Assumption: 8, as Mesa announces (subTexelPrecisionBits), rounded to the nearest.
pub const SUBTEXEL_BITS: u32 = 8;

const SUBTEXELS: f32 = (1 << SUBTEXEL_BITS) as f32;

/// Coordinates of texels beyond this are all alike: far outside of any image.
const FAR: f32 = 4_194_304.0;

/// Finds the texels of a coordinate, moved by `offset` texels.
///
// source: Vulkan specification, "Wrapping Operation", "Texel Filtering"
#[inline(always)]
pub fn axis(rule: &AxisRule, coordinate: &Floats, offset: &Ints, out: &mut Axis) {
    let u = unwrapped(rule, coordinate);
    if rule.linear {
        for i in 0..LANES {
            // Texel centres are at halves.
            let fixed = (u[i] * SUBTEXELS - (SUBTEXELS / 2.0 - 0.5)).floor() as i32;
            let first = (fixed >> SUBTEXEL_BITS) + offset[i];
            out.texel[0][i] = first;
            out.texel[1][i] = first + 1;
            out.weight[i] = (fixed & ((1 << SUBTEXEL_BITS) - 1)) as f32 / SUBTEXELS;
        }
        wrap(rule, &mut out.texel[0], &mut out.outside[0]);
        wrap(rule, &mut out.texel[1], &mut out.outside[1]);
    } else {
        for i in 0..LANES {
            out.texel[0][i] = u[i].floor() as i32 + offset[i];
        }
        if rule.wrap == Wrap::ClampGl {
            // The coordinate is clamped to the image, whose far edge belongs to the last texel.
            let last = rule.size as i32 - 1;
            for i in 0..LANES {
                let inside = if offset[i] == 0 { last } else { i32::MAX };
                out.texel[0][i] = out.texel[0][i].min(inside);
            }
        }
        wrap(rule, &mut out.texel[0], &mut out.outside[0]);
    }
}

/// The coordinate in texels, brought near the image where it repeats, so that no precision is lost
/// far out.
#[inline(always)]
fn unwrapped(rule: &AxisRule, coordinate: &Floats) -> Floats {
    let size = rule.size as f32;
    let mut u = *coordinate;
    if !rule.pixel {
        match rule.wrap {
            Wrap::Repeat => {
                for x in &mut u {
                    *x -= x.floor();
                }
            }
            Wrap::MirroredRepeat => {
                for x in &mut u {
                    *x -= 2.0 * (*x * 0.5).floor();
                }
            }
            Wrap::ClampGl => {
                for x in &mut u {
                    *x = if *x > 0.0 { x.min(1.0) } else { 0.0 };
                }
            }
            _ => {}
        }
        for x in &mut u {
            *x *= size;
        }
    } else if rule.wrap == Wrap::ClampGl {
        for x in &mut u {
            *x = if *x > 0.0 { x.min(size) } else { 0.0 };
        }
    }
    for x in &mut u {
        // Comparisons, so that a NaN stays one (it becomes 0 as an integer).
        *x = if *x < -FAR { -FAR } else { *x };
        *x = if *x > FAR { FAR } else { *x };
    }
    u
}

/// Brings texel numbers into the level and says which were outside for good. Numbers of a repeating
/// axis are below 2^23 in magnitude.
#[inline(always)]
fn wrap(rule: &AxisRule, texel: &mut Ints, outside: &mut Row) {
    let n = rule.size as i32;
    match rule.wrap {
        Wrap::ClampToEdge => {
            for t in texel.iter_mut() {
                *t = (*t).max(0).min(n - 1);
            }
        }
        Wrap::Repeat => {
            for t in texel.iter_mut() {
                *t = modulo(*t, n);
            }
        }
        Wrap::MirroredRepeat => {
            for t in texel.iter_mut() {
                let m = modulo(*t, 2 * n);
                *t = if m < n { m } else { 2 * n - 1 - m };
            }
        }
        Wrap::MirroredClampToEdge => {
            for t in texel.iter_mut() {
                let m = if *t < 0 { -1 - *t } else { *t };
                *t = m.min(n - 1);
            }
        }
        Wrap::ClampToBorder | Wrap::ClampGl => {
            for i in 0..LANES {
                outside[i] = 0u32.wrapping_sub(u32::from(texel[i] < 0 || texel[i] >= n));
                texel[i] = texel[i].max(0).min(n - 1);
            }
            return;
        }
    }
    *outside = [0; LANES];
}

/// `t` modulo `n`, never negative, for |t| below 2^23 and n up to 2^15.
#[inline(always)]
fn modulo(t: i32, n: i32) -> i32 {
    // The half keeps the quotient away from integers, so that its rounding does not matter.
    let quotient = ((t as f32 + 0.5) / n as f32).floor() as i32;
    t - quotient * n
}

/// Wraps the texel numbers of a load, which may be any.
pub fn wrap_any(size: u32, wrap_mode: Wrap, texel: &Row, offset: &Ints, out: &mut Axis) {
    let n = i64::from(size);
    for i in 0..LANES {
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
pub fn load_border(size: u32, texel: &Row, offset: &Ints, out: &mut Axis) {
    for i in 0..LANES {
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
