//! Projection of vertices to the window, once for each vertex however many primitives share it.

use std::ops::Range;

use crate::{ClipVolume, DepthRange, Grid, Viewport};

/// A vertex in the window of a viewport.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProjectedVertex {
    /// Homogeneous window position: x · w, y · w, z · w and w.
    pub window: [f32; 4],
    /// Position in sub-pixels of the grid, of a vertex that is inside of all planes.
    pub xy: [i32; 2],
    /// Bit mask of the planes that the vertex is outside of, and [`ProjectedVertex::NOT_FINITE`].
    pub outside: u32,
}

impl ProjectedVertex {
    /// A coordinate of the position is infinite or not a number.
    pub const NOT_FINITE: u32 = 1 << 31;
}

/// Planes besides clip distances: w, near and far, four sides of the guard band.
const PLANES: u32 = 7;
/// Vertices that are projected together.
const LANES: usize = 8;

/// Parameters of the projection of vertices, those of [`ProjectedPrimitive::new`](crate::ProjectedPrimitive::new), which
/// defines the planes.
#[derive(Clone, Debug)]
pub struct Projection<'a> {
    /// The grid of window positions.
    pub grid: &'a Grid,
    /// The viewport.
    pub viewport: &'a Viewport,
    /// The view volume.
    pub volume: &'a ClipVolume,
    /// Range of the words of a vertex that are distances from further planes; at most 16 count.
    pub distances: Range<usize>,
}

impl Projection<'_> {
    /// Projects vertices. Each vertex has `stride` words, at least four: first its position in clip
    /// space.
    pub fn place(&self, vertices: &[u32], stride: usize, projected: &mut [ProjectedVertex]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.place_wide(vertices, stride, projected) };
        }
        self.place_any(vertices, stride, projected);
    }

    /// Version of [`Projection::place_any`] for AVX2.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn place_wide(
        &self,
        vertices: &[u32],
        stride: usize,
        projected: &mut [ProjectedVertex],
    ) {
        self.place_any(vertices, stride, projected);
    }

    #[inline(always)]
    fn place_any(&self, vertices: &[u32], stride: usize, projected: &mut [ProjectedVertex]) {
        let Projection { grid, viewport: Viewport { scale, translate }, volume, .. } = self;
        // The near plane, in multiples of -w.
        let near = volume.depth.map(|range| match range {
            DepthRange::ZeroToOne => 0.0,
            DepthRange::MinusOneToOne => 1.0,
        });
        for (block, projected) in vertices.chunks(LANES * stride).zip(projected.chunks_mut(LANES)) {
            let mut clip = [[0.0f32; LANES]; 4];
            for (v, words) in block.chunks_exact(stride).enumerate() {
                for c in 0..4 {
                    clip[c][v] = f32::from_bits(words[c]);
                }
            }
            let [x, y, z, w] = &clip;
            let mut window = [[0.0; LANES]; 3];
            let mut xy = [[0; LANES]; 2];
            let mut outside = [0; LANES];
            for i in 0..LANES {
                let r = 1.0 / w[i];
                xy[0][i] = grid.snap(x[i] * r * scale[0] + translate[0]);
                xy[1][i] = grid.snap(y[i] * r * scale[1] + translate[1]);
                window[0][i] = x[i] * scale[0] + w[i] * translate[0];
                window[1][i] = y[i] * scale[1] + w[i] * translate[1];
                window[2][i] = z[i] * scale[2] + w[i] * translate[2];
                let limit = grid.guard_band_px() * w[i];
                let mut out = is_outside(w[i] - volume.w_min);
                out |= is_outside(limit - window[0][i]) << 1;
                out |= is_outside(limit + window[0][i]) << 2;
                out |= is_outside(limit - window[1][i]) << 3;
                out |= is_outside(limit + window[1][i]) << 4;
                let largest = x[i].abs().max(y[i].abs()).max(z[i].abs()).max(w[i].abs());
                let sum = x[i] + y[i] + z[i] + w[i];
                // `max` ignores NaNs, sums propagate them; a sum of finite numbers may be infinite.
                let not_finite = largest == f32::INFINITY || sum.is_nan();
                outside[i] = out | if not_finite { ProjectedVertex::NOT_FINITE } else { 0 };
            }
            if let Some(near) = near {
                for i in 0..LANES {
                    outside[i] |= is_outside(z[i] + near * w[i]) << 5;
                    outside[i] |= is_outside(w[i] - z[i]) << 6;
                }
            }
            for (plane, word) in (PLANES..).zip(self.distances.clone().take(16)) {
                for (v, words) in block.chunks_exact(stride).enumerate() {
                    let distance = words.get(word).copied().map_or(0.0, f32::from_bits);
                    outside[v] |= is_outside(distance) << plane;
                }
            }
            for (i, vertex) in projected.iter_mut().enumerate() {
                *vertex = ProjectedVertex {
                    window: [window[0][i], window[1][i], window[2][i], w[i]],
                    xy: [xy[0][i], xy[1][i]],
                    outside: outside[i],
                };
            }
        }
    }
}

/// Whether a distance is that of a vertex outside of its plane; NaN is.
#[inline(always)]
fn is_outside(distance: f32) -> u32 {
    u32::from(distance < 0.0 || distance.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FillRule, ProjectedPrimitive};

    /// Random primitives: projected vertices agree with [`ProjectedPrimitive`].
    #[test]
    fn spots_and_placed_primitives_agree() {
        let grid = Grid::new(8, 1024, FillRule::TopLeft);
        let viewport = Viewport { scale: [37.5, -24.0, 0.75], translate: [32.0, 25.0, 0.125] };
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f32 / (1 << 24) as f32
        };
        let depths = [None, Some(DepthRange::ZeroToOne), Some(DepthRange::MinusOneToOne)];
        let (mut inside, mut across, mut none) = (0, 0, 0);
        for round in 0..3000 {
            let volume = ClipVolume { w_min: 1e-3, depth: depths[round % 3] };
            // Six words a vertex: the position, something else, a distance.
            let mut words = [[0u32; 6]; 3];
            for vertex in &mut words {
                let wide = if random() < 0.1 { 200.0 } else { 1.5 };
                let w = random() * 2.0 - if random() < 0.2 { 1.0 } else { 0.0 };
                let mut position = [wide * (random() - 0.5), 1.5 * (random() - 0.5), random(), w];
                if random() < 0.01 {
                    position[(random() * 4.0) as usize] = f32::NAN;
                }
                vertex[..4].copy_from_slice(&position.map(f32::to_bits));
                vertex[5] = (random() - 0.1).to_bits();
            }
            let projection =
                Projection { grid: &grid, viewport: &viewport, volume: &volume, distances: 5..6 };
            let mut projected = [ProjectedVertex::default(); 3];
            projection.place(words.as_flattened(), 6, &mut projected);
            let clip = words.map(|v| [0, 1, 2, 3].map(|c| f32::from_bits(v[c])));
            let distances = words.map(|v| f32::from_bits(v[5]));
            let odd = clip.as_flattened().iter().any(|v| !v.is_finite());
            let any = projected.iter().fold(0, |bits, s| bits | s.outside);
            assert_eq!(any & ProjectedVertex::NOT_FINITE != 0, odd);
            if odd {
                continue;
            }
            let all = projected.iter().fold(u32::MAX, |bits, s| bits & s.outside);
            let placed =
                ProjectedPrimitive::new(&grid, &viewport, &volume, clip, [distances].into_iter());
            assert_eq!(placed.is_none(), all != 0);
            let Some(placed) = placed else {
                none += 1;
                continue;
            };
            let mut pieces = Vec::new();
            let turn = placed.turn();
            placed.triangle(turn, &mut pieces);
            if any != 0 {
                across += 1;
                continue;
            }
            inside += 1;
            assert_eq!(placed.window.as_slice(), [0, 1, 2].map(|v| projected[v].window));
            let [a, b, c] = [0, 1, 2].map(|v| projected[v].xy);
            assert_eq!(pieces[0].xy, if turn > 0.0 { [a, b, c] } else { [a, c, b] });
        }
        assert!(inside > 300 && across > 300 && none > 50, "{inside} {across} {none}");
    }
}
