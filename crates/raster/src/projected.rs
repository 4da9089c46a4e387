//! Clipping, the viewport transform, and snapping to the sub-pixel grid.

use crate::clip::{PlaneSide, Planes, Weights};
use crate::{Grid, Piece, PrimitiveKind};

/// Viewport transform from normalised device coordinates to pixels and depth: `translate + scale *
/// ndc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Half the width and height in pixels (negative flips), and the depth range.
    pub scale: [f32; 3],
    /// The centre in pixels, and the depth of the near plane or of the middle.
    pub translate: [f32; 3],
}

/// The depths of clip space that are inside of the view volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthRange {
    /// 0 to w: Vulkan, Direct3D.
    ZeroToOne,
    /// -w to w: OpenGL.
    MinusOneToOne,
}

/// The view volume without its sides, for which the guard band stands in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipVolume {
    /// The smallest w that is not clipped; positive.
    pub w_min: f32,
    /// Range of depths to which primitives are clipped; `None` with depth clamping.
    pub depth: Option<DepthRange>,
}

/// A primitive that is at least partly inside of all planes, in one viewport.
#[derive(Clone, Debug)]
pub struct ProjectedPrimitive<'a> {
    grid: &'a Grid,
    viewport: &'a Viewport,
    /// Positions in clip space.
    clip: [[f32; 4]; 3],
    /// Window positions as homogeneous coordinates: x · w, y · w, z · w and w.
    pub window: [[f32; 4]; 3],
    side: PlaneSide,
    planes: Planes,
}

/// A point on the screen: sub-pixels, and depth.
type ProjectedVertex = ([i32; 2], f32);

impl<'a> ProjectedPrimitive<'a> {
    /// Places a primitive; `None` if it is outside of a plane. `distances` are those of its
    /// vertices from further planes, negative outside.
    #[inline]
    pub fn new(
        grid: &'a Grid,
        viewport: &'a Viewport,
        volume: &ClipVolume,
        clip: [[f32; 4]; 3],
        distances: impl Iterator<Item = [f32; 3]>,
    ) -> Option<ProjectedPrimitive<'a>> {
        let window = each(clip, |p| viewport.to_window(p));
        let mut planes = Planes::default();
        let mut side = PlaneSide::Inside;
        let mut outside = |distances: [f32; 3]| match planes.add(distances) {
            PlaneSide::Outside => true,
            PlaneSide::Across => {
                side = PlaneSide::Across;
                false
            }
            PlaneSide::Inside => false,
        };
        if outside(each(clip, |p| p[3] - volume.w_min)) {
            return None;
        }
        if let Some(range) = volume.depth {
            let near = match range {
                DepthRange::ZeroToOne => each(clip, |p| p[2]),
                DepthRange::MinusOneToOne => each(clip, |p| p[2] + p[3]),
            };
            if outside(near) || outside(each(clip, |p| p[3] - p[2])) {
                return None;
            }
        }
        for distances in distances {
            if outside(distances) {
                return None;
            }
        }
        for axis in 0..2 {
            let limit = |p: [f32; 4]| grid.guard_band_px() * p[3];
            if outside(each(window, |p| limit(p) - p[axis]))
                || outside(each(window, |p| limit(p) + p[axis]))
            {
                return None;
            }
        }
        Some(ProjectedPrimitive { grid, viewport, clip, window, side, planes })
    }

    /// Signed area of the visible part of a triangle, up to a positive factor: positive if clockwise
    /// with y downwards.
    #[inline]
    pub fn turn(&self) -> f64 {
        if self.side == PlaneSide::Inside {
            return area(each(self.clip, |p| self.spot(p).0)) as f64;
        }
        // The sign of the determinant is that of the visible part, whatever the signs of w.
        let [a, b, c] = each(self.window, |p| each([p[0], p[1], p[3]], f64::from));
        a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
    }

    /// Adds the pieces of a triangle whose sign of [`ProjectedPrimitive::turn`] is that of `turn`.
    #[inline]
    pub fn triangle(&self, turn: f64, pieces: &mut Vec<Piece>) {
        if self.side == PlaneSide::Inside {
            pieces.push(piece(each(self.clip, |p| self.spot(p)), turn > 0.0));
        } else {
            self.clipped_triangle(turn, pieces);
        }
    }

    fn clipped_triangle(&self, turn: f64, pieces: &mut Vec<Piece>) {
        let corners = self.planes.clip_triangle();
        let mut spots = corners.as_slice().iter().map(|&w| self.spot_between(w));
        let (Some(first), Some(mut last)) = (spots.next(), spots.next()) else { return };
        for next in spots {
            let three = [first, last, next];
            let area = area(each(three, |s| s.0));
            // Snapping may have turned a sliver.
            if area != 0 && (area > 0) == (turn > 0.0) {
                pieces.push(piece(three, area > 0));
            }
            last = next;
        }
    }

    /// Adds the piece of the line from one vertex to another.
    pub fn line(&self, [from, to]: [usize; 2], pieces: &mut Vec<Piece>) {
        let [a, b] = if self.side == PlaneSide::Inside {
            [from, to].map(|i| self.spot(self.clip[i]))
        } else {
            match self.planes.clip_edge(from, to) {
                Some(ends) => ends.map(|w| self.spot_between(w)),
                None => return,
            }
        };
        pieces.push(Piece { xy: [a.0, b.0, b.0], z: [a.1, b.1, b.1] });
    }

    /// Adds the piece of a vertex as a point.
    pub fn point(&self, vertex: usize, pieces: &mut Vec<Piece>) {
        if self.side == PlaneSide::Inside || self.planes.has_inside(vertex) {
            let (xy, z) = self.spot(self.clip[vertex]);
            pieces.push(Piece { xy: [xy; 3], z: [z; 3] });
        }
    }

    /// Projects a vertex that is inside of all planes.
    #[inline(always)]
    fn spot(&self, [x, y, z, w]: [f32; 4]) -> ProjectedVertex {
        let Viewport { scale, translate } = self.viewport;
        let r = 1.0 / w;
        let x = x * r * scale[0] + translate[0];
        let y = y * r * scale[1] + translate[1];
        let z = z * r * scale[2] + translate[2];
        ([self.grid.snap(x), self.grid.snap(y)], z)
    }

    /// Projects a corner made by clipping.
    fn spot_between(&self, weights: Weights) -> ProjectedVertex {
        let sum =
            |c: usize| -> f64 { (0..3).map(|i| weights[i] * f64::from(self.window[i][c])).sum() };
        let r = 1.0 / sum(3);
        let limit = self.grid.guard_band_px();
        let within = |x: f64| (x as f32).clamp(-limit, limit);
        let xy = [within(sum(0) * r), within(sum(1) * r)];
        (xy.map(|v| self.grid.snap(v)), (sum(2) * r) as f32)
    }
}

impl Viewport {
    #[inline(always)]
    fn to_window(self, [x, y, z, w]: [f32; 4]) -> [f32; 4] {
        let Viewport { scale, translate } = self;
        [
            x * scale[0] + w * translate[0],
            y * scale[1] + w * translate[1],
            z * scale[2] + w * translate[2],
            w,
        ]
    }
}

/// Drops the pieces from `first` on that lie wholly outside of the rectangle from `min_px` to
/// `max_px` (exclusive). `size_px` is the diameter of points or the width of lines.
#[inline]
pub fn drop_outside(
    grid: &Grid,
    kind: PrimitiveKind,
    size_px: f32,
    [min_px, max_px]: [[u32; 2]; 2],
    first: usize,
    pieces: &mut Vec<Piece>,
) {
    // A line extends by half its width, and a pixel more by the rules of its rasterisation.
    let reach = match kind {
        PrimitiveKind::Triangle => 0,
        PrimitiveKind::Line | PrimitiveKind::Point => grid.snap(size_px / 2.0 + 1.0),
    };
    let low = min_px.map(|p| i64::from(p) << grid.subpixel_bits());
    let high = max_px.map(|p| i64::from(p) << grid.subpixel_bits());
    let seen = |piece: &Piece| {
        (0..2).all(|axis| {
            let at = each(piece.xy, |xy| i64::from(xy[axis]));
            let least = at.iter().min().copied().unwrap_or(0) - i64::from(reach);
            let most = at.iter().max().copied().unwrap_or(0) + i64::from(reach);
            least < high[axis] && most > low[axis]
        })
    };
    let mut kept = first;
    for i in first..pieces.len() {
        if seen(&pieces[i]) {
            pieces[kept] = pieces[i];
            kept += 1;
        }
    }
    pieces.truncate(kept);
}

/// Maps an array of three. (The standard `map` compiles to a call for each element here.)
#[inline(always)]
fn each<T: Copy, U>([a, b, c]: [T; 3], f: impl Fn(T) -> U) -> [U; 3] {
    [f(a), f(b), f(c)]
}

/// Twice the area of a triangle in sub-pixels, positive if clockwise with y downwards.
#[inline(always)]
pub fn area([a, b, c]: [[i32; 2]; 3]) -> i64 {
    let d = |p: [i32; 2], q: [i32; 2], axis: usize| i64::from(q[axis]) - i64::from(p[axis]);
    d(a, b, 0) * d(a, c, 1) - d(a, c, 0) * d(a, b, 1)
}

#[inline(always)]
fn piece([a, b, c]: [ProjectedVertex; 3], clockwise: bool) -> Piece {
    let [a, b, c] = if clockwise { [a, b, c] } else { [a, c, b] };
    Piece { xy: [a.0, b.0, c.0], z: [a.1, b.1, c.1] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FillRule;

    const VIEWPORT: Viewport = Viewport { scale: [32.0, 32.0, 1.0], translate: [32.0, 32.0, 0.0] };
    const VOLUME: ClipVolume =
        ClipVolume { w_min: f32::MIN_POSITIVE, depth: Some(DepthRange::ZeroToOne) };

    fn pieces(grid: &Grid, volume: &ClipVolume, clip: [[f32; 4]; 3]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if let Some(placed) =
            ProjectedPrimitive::new(grid, &VIEWPORT, volume, clip, std::iter::empty())
        {
            placed.triangle(placed.turn(), &mut pieces);
        }
        pieces
    }

    #[test]
    fn positions_snap_to_the_grid_of_the_gpu() {
        let clip = [[-0.99, -0.5, 0.5, 1.0], [0.5, -0.5, 0.5, 1.0], [0.0, 0.501, 0.5, 1.0]];
        for (bits, x, y) in [(4, 5, 769), (8, 82, 12296)] {
            let grid = Grid::new(bits, 32768, FillRule::TopLeft);
            let [piece] = pieces(&grid, &VOLUME, clip)[..] else { panic!("one piece") };
            assert_eq!((piece.xy[0][0], piece.xy[2][1]), (x, y));
        }
    }

    #[test]
    fn the_guard_band_clips_and_only_it() {
        // From the middle to 1000 pixels on the right.
        let clip = [[0.0, -0.5, 0.5, 1.0], [30.25, 0.0, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]];
        let wide = pieces(&Grid::new(8, 1024, FillRule::TopLeft), &VOLUME, clip);
        assert_eq!(wide.len(), 1);
        assert_eq!(wide[0].xy[1], [1000 << 8, 32 << 8]);
        let narrow = pieces(&Grid::new(8, 512, FillRule::TopLeft), &VOLUME, clip);
        assert_eq!(narrow.len(), 2);
        let right = narrow.iter().flat_map(|p| p.xy).map(|xy| xy[0]).max();
        assert_eq!(right, Some(512 << 8));
    }

    #[test]
    fn clipped_triangles_turn_as_whole_ones() {
        // In the window: (32, 16), (1000, 32), (32, 48).
        let clip = [[0.0, -0.5, 0.5, 1.0], [30.25, 0.0, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]];
        let grid = Grid::new(8, 512, FillRule::TopLeft);
        let turn = |clip| {
            ProjectedPrimitive::new(&grid, &VIEWPORT, &VOLUME, clip, std::iter::empty())
                .unwrap()
                .turn()
        };
        assert_eq!(turn(clip), 968.0 * 32.0);
        assert_eq!(turn([clip[0], clip[2], clip[1]]), -968.0 * 32.0);
    }

    #[test]
    fn viewports_scale_and_move_depths() {
        let viewport = Viewport { scale: [32.0, 32.0, 0.25], translate: [32.0, 32.0, 0.5] };
        let clip = [[0.0, 0.0, 1.0, 2.0], [1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 2.0]];
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        let placed =
            ProjectedPrimitive::new(&grid, &viewport, &VOLUME, clip, std::iter::empty()).unwrap();
        let mut pieces = Vec::new();
        placed.triangle(placed.turn(), &mut pieces);
        assert_eq!(pieces[0].z, [0.625, 0.5, 0.75]);
        assert_eq!(pieces[0].xy, [[32 << 8; 2], [48 << 8, 32 << 8], [32 << 8, 48 << 8]]);
    }

    #[test]
    fn points_reach_half_their_size_and_a_pixel() {
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        let kept = |x: i32, kind| {
            let mut pieces = vec![Piece { xy: [[x << 8, 5 << 8]; 3], z: [0.0; 3] }];
            drop_outside(&grid, kind, 4.0, [[0; 2], [64; 2]], 0, &mut pieces);
            !pieces.is_empty()
        };
        for (x, point, triangle) in [
            (-4, false, false),
            (-2, true, false),
            (5, true, true),
            (66, true, false),
            (67, false, false),
        ] {
            assert_eq!(
                (kept(x, PrimitiveKind::Point), kept(x, PrimitiveKind::Triangle)),
                (point, triangle),
                "{x}"
            );
        }
    }

    #[test]
    fn depth_clips_as_the_api_says() {
        let clip = [[-0.5, -0.5, -0.5, 1.0], [0.5, -0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]];
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        let least = |depth| {
            let pieces = pieces(&grid, &ClipVolume { depth, ..VOLUME }, clip);
            pieces.iter().flat_map(|p| p.z).fold(f32::MAX, f32::min)
        };
        assert_eq!(least(Some(DepthRange::ZeroToOne)), 0.0);
        assert_eq!(least(Some(DepthRange::MinusOneToOne)), -0.5);
        assert_eq!(least(None), -0.5);
    }

    #[test]
    fn pieces_inside_stay_in_order() {
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        let piece = |x: i32| Piece { xy: [[x << 8, 5 << 8]; 3], z: [0.0; 3] };
        // The first two were there before and are not tested.
        let mut pieces = [-50, 70, 5, 90, 6, -9, 7].map(piece).to_vec();
        drop_outside(&grid, PrimitiveKind::Triangle, 0.0, [[0; 2], [64; 2]], 2, &mut pieces);
        let left: Vec<i32> = pieces.iter().map(|p| p.xy[0][0] >> 8).collect();
        assert_eq!(left, [-50, 70, 5, 6, 7]);
    }

    #[test]
    fn clipped_pieces_are_clockwise() {
        let grid = Grid::new(8, 512, FillRule::TopLeft);
        let clip = [[0.0, -0.5, 0.5, 1.0], [30.25, 0.0, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]];
        for clip in [clip, [clip[0], clip[2], clip[1]]] {
            let pieces = pieces(&grid, &VOLUME, clip);
            assert_eq!(pieces.len(), 2);
            assert!(pieces.iter().all(|p| area(p.xy) > 0), "{pieces:?}");
        }
    }

    /// Clipped corners lie on the triangle in perspective.
    #[test]
    fn clipping_keeps_window_positions_and_depths() {
        let viewport = Viewport { scale: [32.0, 32.0, 0.5], translate: [32.0, 32.0, 0.25] };
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        // The near plane cuts both sides from the third vertex in the middle, in clip space.
        let clip = [[-2.0, -2.0, 2.0, 4.0], [2.0, -2.0, 2.0, 4.0], [0.0, 1.0, -2.0, 2.0]];
        let placed =
            ProjectedPrimitive::new(&grid, &viewport, &VOLUME, clip, std::iter::empty()).unwrap();
        let mut pieces = Vec::new();
        placed.triangle(placed.turn(), &mut pieces);
        // x, y and w of the cuts are (±1, -0.5) and 3, their depth is 0.
        let mut corners: Vec<_> = pieces.iter().flat_map(|p| p.xy.into_iter().zip(p.z)).collect();
        corners.sort_by_key(|corner| corner.0);
        corners.dedup();
        let at = |x: f32, y: f32, z: f32| {
            let place = [x, y].map(|v| ((32.0 + 32.0 * v) * 256.0).round() as i32);
            (place, 0.25 + 0.5 * z)
        };
        let third = 1.0 / 3.0;
        assert_eq!(
            corners,
            [
                at(-0.5, -0.5, 0.5),
                at(-third, -0.5 * third, 0.0),
                at(third, -0.5 * third, 0.0),
                at(0.5, -0.5, 0.5),
            ]
        );
    }

    /// Corners and edges of a triangle that is drawn as points or lines are clipped separately.
    #[test]
    fn points_and_lines_of_a_clipped_triangle() {
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        // The third vertex is before the near plane.
        let clip = [[-0.5, -0.5, 0.5, 1.0], [0.5, -0.5, 0.5, 1.0], [0.0, 0.5, -0.5, 1.0]];
        let placed =
            ProjectedPrimitive::new(&grid, &VIEWPORT, &VOLUME, clip, std::iter::empty()).unwrap();
        for (vertex, want) in
            [(0, Some([16 << 8, 16 << 8])), (1, Some([48 << 8, 16 << 8])), (2, None)]
        {
            let mut pieces = Vec::new();
            placed.point(vertex, &mut pieces);
            assert_eq!(pieces.first().map(|p| p.xy), want.map(|at| [at; 3]), "{vertex}");
        }
        let mut pieces = Vec::new();
        placed.line([0, 1], &mut pieces);
        placed.line([1, 2], &mut pieces);
        // Half of the second edge is left.
        assert_eq!(pieces[0].xy[..2], [[16 << 8, 16 << 8], [48 << 8, 16 << 8]]);
        assert_eq!(pieces[1].xy[..2], [[48 << 8, 16 << 8], [40 << 8, 32 << 8]]);
        assert_eq!((pieces[1].z[0], pieces[1].z[1]), (0.5, 0.0));
    }
}
