//! Texture sampling: levels of detail, filters, comparisons, cubes.
//!
//! source: Vulkan specification, "Image Operations". Where that leaves freedom (precision, corners
//! of cubes), this uses 32-bit floats, and the average of the three texels at a corner. Anisotropic
//! filtering is not implemented: it takes one sample.

use super::image_data::{Compare, Filter, ImageData, SamplerData, Wrap};
use crate::attrs::NumKind;

/// Source of the level of detail.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// An explicit level.
    Given(f32),
    /// From derivatives of the coordinates in x and y, plus a bias.
    Gradient([[f32; 3]; 2], f32),
}

/// A texture sample of one lane.
pub(super) struct SampleOp<'a> {
    pub image: &'a ImageData,
    pub sampler: SamplerData,
    /// Coordinates along axes, or a direction.
    pub at: [f32; 3],
    /// Axes of the image: 1 to 3; 2 for cubes.
    pub axes: usize,
    pub cube: bool,
    /// Array layer, or cube.
    pub layer: i64,
    pub offset: [i64; 3],
    pub dref: Option<f32>,
    pub kind: NumKind,
    pub min_lod: Option<f32>,
}

/// Major axis, then the axes of s and t, each with its sign. source: the same, "Cube Map Face
/// Selection"
const FACES: [[(usize, f32); 3]; 6] = [
    [(0, 1.0), (2, -1.0), (1, -1.0)],
    [(0, -1.0), (2, 1.0), (1, -1.0)],
    [(1, 1.0), (0, 1.0), (2, 1.0)],
    [(1, -1.0), (0, 1.0), (2, -1.0)],
    [(2, 1.0), (0, 1.0), (1, -1.0)],
    [(2, -1.0), (0, -1.0), (1, -1.0)],
];

fn face_of(r: [f32; 3]) -> usize {
    let a = r.map(f32::abs);
    let axis = if a[2] >= a[0] && a[2] >= a[1] {
        2
    } else if a[1] >= a[0] {
        1
    } else {
        0
    };
    2 * axis + usize::from(r[axis].is_sign_negative())
}

fn on_face(face: usize, r: [f32; 3]) -> [f32; 2] {
    let [(major, _), s, t] = FACES[face];
    [s, t].map(|(axis, sign)| 0.5 * sign * r[axis] / r[major].abs() + 0.5)
}

impl SampleOp<'_> {
    /// Coordinates on the image or on a face, and the first layer.
    fn place(&self) -> ([f32; 3], i64) {
        if !self.cube {
            return (self.at, self.layer);
        }
        let face = face_of(self.at);
        let [s, t] = on_face(face, self.at);
        (([s, t, 0.0]), 6 * self.layer + face as i64)
    }

    /// The level of detail before clamps.
    pub fn lambda(&self, level: Level) -> f32 {
        let (gradient, bias) = match level {
            Level::Given(l) => return l,
            Level::Gradient(g, bias) => (g, bias),
        };
        let size = self.image.level_size(0);
        let longest = gradient
            .iter()
            .map(|g| {
                let g = if self.cube { self.face_gradient(*g) } else { *g };
                let square = |c: usize| {
                    let scale = if self.sampler.unnormalized { 1.0 } else { size[c] as f32 };
                    (g[c] * scale).powi(2)
                };
                (0..self.axes).map(square).sum::<f32>().sqrt()
            })
            .fold(0.0, f32::max);
        longest.log2() + bias
    }

    fn face_gradient(&self, g: [f32; 3]) -> [f32; 3] {
        let r = self.at;
        let [(major, sign), s, t] = FACES[face_of(r)];
        let length = r[major].abs();
        let rate = |(axis, way): (usize, f32)| {
            0.5 * (length * way * g[axis] - way * r[axis] * g[major] * sign) / (length * length)
        };
        [rate(s), rate(t), 0.0]
    }

    /// The level of detail after clamps, and the level (with a fraction between two) that is read.
    pub fn clamped(&self, lambda: f32) -> (f32, f32) {
        let s = &self.sampler;
        let mut l = lambda.max(s.min_lod).min(s.max_lod);
        if let Some(least) = self.min_lod {
            l = l.max(least);
        }
        let last = self.image.levels.len() as f32 - 1.0;
        let d = l.max(0.0).min(last);
        (l, if s.mip == Filter::Nearest { (d + 0.5).ceil() - 1.0 } else { d })
    }

    /// The filtered texel; of a comparison, in the first component.
    pub fn run(&self, level: Level) -> [u64; 4] {
        let (l, d) = self.clamped(self.lambda(level));
        let filter = if l <= 0.0 { self.sampler.mag } else { self.sampler.min };
        let (at, layer) = self.place();
        let low = d.floor();
        let a = self.level(low as usize, at, layer, filter);
        if d == low || self.kind != NumKind::Float {
            return a;
        }
        let b = self.level(low as usize + 1, at, layer, filter);
        let w = d - low;
        std::array::from_fn(|c| {
            let (x, y) = (f32::from_bits(a[c] as u32), f32::from_bits(b[c] as u32));
            u64::from((x * (1.0 - w) + y * w).to_bits())
        })
    }

    /// The four texels of a gather in the order that it returns them.
    pub fn gather(&self, component: usize) -> [u64; 4] {
        let (at, layer) = self.place();
        let (base, _) = self.base(0, at, true);
        let c = if self.dref.is_some() { 0 } else { component };
        let t = self.corners(0, base, layer);
        [2, 3, 1, 0].map(|k: usize| t[k][c])
    }

    /// The texels around a place: bit 0 of the number steps in x, bit 1 in y, bit 2 in z.
    fn corners(&self, level: usize, base: [i64; 3], layer: i64) -> Vec<[u64; 4]> {
        let taps: Vec<Option<[u64; 4]>> = (0..1i64 << self.axes)
            .map(|k| self.tap(level, [0, 1, 2].map(|c| base[c] + (k >> c & 1)), layer))
            .collect();
        // At a corner of a cube there are three texels; the fourth is their mean.
        let there: Vec<[u64; 4]> = taps.iter().flatten().copied().collect();
        let mean = |c: usize| {
            let sum: f32 = there.iter().map(|t| f32::from_bits(t[c] as u32)).sum();
            u64::from((sum / there.len() as f32).to_bits())
        };
        taps.iter().map(|t| t.unwrap_or_else(|| [0, 1, 2, 3].map(mean))).collect()
    }

    /// First texel of each axis and the way to the next.
    fn base(&self, level: usize, at: [f32; 3], linear: bool) -> ([i64; 3], [f32; 3]) {
        let size = self.image.level_size(level);
        let (mut base, mut frac) = ([0i64; 3], [0f32; 3]);
        for c in 0..self.axes {
            let x = if self.sampler.unnormalized { at[c] } else { at[c] * size[c] as f32 };
            let x = if linear { x - 0.5 } else { x };
            base[c] = x.floor() as i64 + self.offset[c];
            frac[c] = x - x.floor();
        }
        (base, frac)
    }

    fn level(&self, level: usize, at: [f32; 3], layer: i64, filter: Filter) -> [u64; 4] {
        let linear = filter == Filter::Linear && self.kind == NumKind::Float;
        let (base, frac) = self.base(level, at, linear);
        if !linear {
            let mut at = base;
            if self.cube {
                // The nearest texel is one of the face's own.
                let last = i64::from(self.image.level_size(level)[0]) - 1;
                at = base.map(|x| x.clamp(0, last));
            }
            return self.tap(level, at, layer).unwrap_or_default();
        }
        let mut sum = [0f32; 4];
        for (k, t) in self.corners(level, base, layer).iter().enumerate() {
            let weight = |c: usize| if k >> c & 1 == 1 { frac[c] } else { 1.0 - frac[c] };
            let w: f32 = (0..self.axes).map(weight).product();
            for (s, t) in sum.iter_mut().zip(t) {
                *s += w * f32::from_bits(*t as u32);
            }
        }
        sum.map(|x| u64::from(x.to_bits()))
    }

    /// A texel, or what the comparison makes of it; `None` where cubes have none.
    fn tap(&self, level: usize, texel: [i64; 3], layer: i64) -> Option<[u64; 4]> {
        let size = self.image.level_size(level);
        let (mut at, mut layer) = (texel, layer);
        let mut border = false;
        if self.cube {
            (at, layer) = across(size[0], at, layer)?;
        } else {
            for c in 0..self.axes {
                match wrap(self.sampler.wrap[c], texel[c], i64::from(size[c])) {
                    Some(x) => at[c] = x,
                    None => border = true,
                }
            }
        }
        let t = if border {
            super::texel::complete(self.image.format, self.sampler.border.map(u64::from))
        } else {
            self.image.texel(level, at, layer, 0)
        };
        let Some(reference) = self.dref else { return Some(t) };
        // Fixed-point depths are compared with a reference that could be one.
        let unorm = super::texel::is_unorm(self.image.format);
        let reference = if unorm { reference.clamp(0.0, 1.0) } else { reference };
        let compare = self.sampler.compare.unwrap_or(Compare::Never);
        let pass = compare.passes(reference, f32::from_bits(t[0] as u32));
        Some([u64::from(f32::from(u8::from(pass)).to_bits()), 0, 0, 0])
    }
}

/// The texel that a coordinate means; `None` for the border.
fn wrap(w: Wrap, x: i64, n: i64) -> Option<i64> {
    match w {
        Wrap::Clamp => Some(x.clamp(0, n - 1)),
        Wrap::Repeat => Some(x.rem_euclid(n)),
        Wrap::Mirror => {
            let m = x.rem_euclid(2 * n);
            Some(if m < n { m } else { 2 * n - 1 - m })
        }
        Wrap::MirrorOnce => Some((if x < 0 { -1 - x } else { x }).min(n - 1)),
        Wrap::Border => (0..n).contains(&x).then_some(x),
    }
}

/// The texel of a face or, one step outside of it, of the face beyond the edge.
fn across(size: u32, at: [i64; 3], layer: i64) -> Option<([i64; 3], i64)> {
    let n = i64::from(size);
    let outside = at[..2].iter().filter(|&&x| x < 0 || x >= n).count();
    if outside == 0 {
        return Some((at, layer));
    }
    if outside == 2 {
        return None;
    }
    let (cube, face) = (layer.div_euclid(6), layer.rem_euclid(6) as usize);
    let [major, s, t] = FACES[face];
    let mut r = [0f32; 3];
    r[major.0] = major.1 * size as f32;
    r[s.0] = s.1 * (2 * at[0] + 1 - n) as f32;
    r[t.0] = t.1 * (2 * at[1] + 1 - n) as f32;
    let face = face_of(r);
    let [x, y] = on_face(face, r).map(|c| ((c * size as f32).floor() as i64).clamp(0, n - 1));
    Some(([x, y, 0], 6 * cube + face as i64))
}
