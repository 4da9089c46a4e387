//! Rasterisation: which samples of a tile a shape covers.

use tepui_softgpu::top_bits;

use crate::{CoverageRule, Grid, Shape, TILE_SIDE};

/// Sample positions in a pixel, at most `MAX`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples<const MAX: usize> {
    /// Samples of a pixel.
    pub count: usize,
    /// Sample positions in a pixel, in sub-pixels.
    subpixel: [[i64; 2]; MAX],
    /// Sample positions in a pixel, in pixels.
    px: [[f32; 2]; MAX],
    subpixel_bits: u32,
}

impl<const MAX: usize> Samples<MAX> {
    /// `count` samples at positions in sixteenths of a pixel, the unit of all APIs.
    pub fn new(grid: &Grid, count: usize, sixteenths: [[u8; 2]; MAX]) -> Samples<MAX> {
        assert!(count <= MAX);
        Samples {
            count,
            subpixel: sixteenths.map(|at| at.map(|v| i64::from(v) * grid.pixel() / 16)),
            px: sixteenths.map(|at| at.map(|v| f32::from(v) / 16.0)),
            subpixel_bits: grid.subpixel_bits(),
        }
    }

    /// Bounding box of the sample positions, in sub-pixels: the least and the greatest of each axis.
    pub fn extent(&self) -> [[i32; 2]; 2] {
        let used = &self.subpixel[..self.count];
        let axis = |k: usize| used.iter().map(move |at| at[k] as i32);
        [[0, 1].map(|k| axis(k).min().unwrap_or(0)), [0, 1].map(|k| axis(k).max().unwrap_or(0))]
    }

    /// The position of a sample in its pixel, in pixels.
    #[inline(always)]
    pub fn px(&self, sample: usize) -> [f32; 2] {
        self.px[sample]
    }
}

/// The samples of a tile that are covered: for each sample and row, a bit for each column.
#[derive(Clone, Debug)]
pub struct Coverage<const MAX: usize> {
    /// First row that may have bits, and one past the last.
    pub rows: [usize; 2],
    /// The bits; rows outside of `rows` are stale.
    pub bits: [[u32; TILE_SIDE]; MAX],
}

impl<const MAX: usize> Default for Coverage<MAX> {
    fn default() -> Self {
        Coverage { rows: [0; 2], bits: [[0; TILE_SIDE]; MAX] }
    }
}

/// An edge function within a tile: the value at a sample of column x and row y is `first + a x + b
/// y`.
struct Side<const MAX: usize> {
    a: i32,
    b: i32,
    first: [i32; MAX],
}

/// Bound of a side's value at the corner of a tile. A side's slopes are at most 2^24 a pixel and a
/// tile has 31 steps in each direction, so that from here a value cannot change its sign within the
/// tile, nor overflow.
const BOUND: i64 = 1 << 30;

impl<const MAX: usize> Coverage<MAX> {
    /// Computes the coverage of `shape` in the tile at `corner` of `size` pixels. False if no sample is
    /// covered.
    pub fn draw(
        &mut self,
        shape: &Shape,
        samples: &Samples<MAX>,
        corner: [u32; 2],
        size: [u32; 2],
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.draw_wide(shape, samples, corner, size) };
        }
        self.draw_any(shape, samples, corner, size)
    }

    /// Version of [`Coverage::draw_any`] for AVX2.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn draw_wide(
        &mut self,
        shape: &Shape,
        samples: &Samples<MAX>,
        corner: [u32; 2],
        size: [u32; 2],
    ) -> bool {
        self.draw_any(shape, samples, corner, size)
    }

    #[inline(always)]
    fn draw_any(
        &mut self,
        shape: &Shape,
        samples: &Samples<MAX>,
        corner: [u32; 2],
        size: [u32; 2],
    ) -> bool {
        let min = [0, 1].map(|k| u32::from(shape.min_px[k]).max(corner[k]));
        let max = [0, 1].map(|k| u32::from(shape.max_px[k]).min(corner[k] + size[k]));
        if min[0] >= max[0] || min[1] >= max[1] {
            return false;
        }
        let [x0, x1] = [min[0] - corner[0], max[0] - corner[0]];
        let [y0, y1] = [min[1] - corner[1], max[1] - corner[1]].map(|y| y as usize);
        self.rows = [y0, y1];
        let columns = (u32::MAX >> (32 - (x1 - x0))) << x0;
        let by_samples = shape.coverage == CoverageRule::Samples;
        let own = if by_samples { samples.count } else { 1 };
        let pixel = 1 << samples.subpixel_bits;
        // Sides move outwards until pixels that they touched have their centres inside: by half a pixel, and what the shape grows by.
        let growth = match shape.coverage {
            CoverageRule::Conservative => pixel / 2 * 512 + pixel,
            CoverageRule::Samples | CoverageRule::Centre => 0,
        };
        let mut sides: [Side<MAX>; 4] =
            std::array::from_fn(|_| Side { a: 0, b: 0, first: [0; MAX] });
        let mut count = 0;
        for e in (0..usize::from(shape.sides)).map(|side| shape.edge(side)) {
            let side = &mut sides[count];
            (side.a, side.b) = (e.a, e.b);
            let (a, b) = (i64::from(e.a), i64::from(e.b));
            let c = e.c + (((a.abs() + b.abs()) * growth) >> 9);
            let (mut inside, mut outside) = (true, true);
            // From the first pixel of the range to the last.
            let from = a * i64::from(x0) + b * y0 as i64;
            let across = a * i64::from(x1 - x0 - 1);
            let down = b * (y1 - y0 - 1) as i64;
            for s in 0..own {
                let at = if by_samples { samples.subpixel[s] } else { [pixel / 2; 2] };
                let x = i64::from(corner[0]) * pixel + at[0];
                let y = i64::from(corner[1]) * pixel + at[1];
                // Steps are whole pixels, so the fraction of a pixel's step never changes the sign.
                let value = (a * x + b * y + c) >> samples.subpixel_bits;
                side.first[s] = value.clamp(-BOUND, BOUND) as i32;
                let value = value + from;
                inside &= value + across.min(0) + down.min(0) >= 0;
                outside &= value + across.max(0) + down.max(0) < 0;
            }
            if outside {
                return false;
            }
            count += usize::from(!inside);
        }
        let sides = &sides[..count];
        let mut any = 0;
        for s in 0..own {
            let bits = &mut self.bits[s];
            if sides.is_empty() {
                bits[y0..y1].fill(columns);
                any = columns;
                continue;
            }
            any |= rows_inside(&mut bits[y0..y1], y0 as i32, sides, s, columns);
        }
        for s in own..samples.count {
            self.bits[s] = self.bits[0];
        }
        any != 0
    }
}

/// Columns that are tested together: the columns of a small shape are mostly in one part of a tile.
const PART: usize = 8;

/// Sets the bits of those `columns` whose sample `s` is inside of all sides, for rows y0, y0 + 1, ….
/// Returns the columns that are inside in some row.
#[inline(always)]
fn rows_inside<const MAX: usize>(
    bits: &mut [u32],
    y0: i32,
    sides: &[Side<MAX>],
    s: usize,
    columns: u32,
) -> u32 {
    bits.fill(0);
    let mut any = 0;
    for first in (0..TILE_SIDE).step_by(PART) {
        let columns = columns >> first & ((1 << PART) - 1);
        if columns == 0 {
            continue;
        }
        // Unused edges never reject a pixel.
        let mut values = [[0; PART]; 4];
        let mut steps = [0; 4];
        for ((value, step), side) in values.iter_mut().zip(&mut steps).zip(sides) {
            *step = side.b as u32;
            let start = side.first[s].wrapping_add(side.b.wrapping_mul(y0));
            for (x, value) in (first as i32..).zip(value) {
                *value = start.wrapping_add(side.a.wrapping_mul(x)) as u32;
            }
        }
        for row in bits.iter_mut() {
            let mut outside = [0; PART];
            for (value, step) in values.iter_mut().zip(steps) {
                for i in 0..PART {
                    outside[i] |= value[i];
                    value[i] = value[i].wrapping_add(step);
                }
            }
            let inside = (!top_bits(&outside) & columns) << first;
            *row |= inside;
            any |= inside;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FillRule, Outline, PrimitiveKind, RasterBounds};

    const GRID: Grid = Grid::new(8, 32768, FillRule::TopLeft);

    fn shape_on(
        grid: &Grid,
        xy: [[i32; 2]; 3],
        kind: PrimitiveKind,
        size_px: f32,
    ) -> Option<Shape> {
        let outline = Outline {
            kind,
            size_px,
            primitive: 0,
            coverage: CoverageRule::Samples,
            rectangular: false,
        };
        Shape::new(grid, xy, &outline, &limits(None))
    }

    fn limits(samples: Option<[[i32; 2]; 2]>) -> RasterBounds {
        RasterBounds { min: [0; 2], max: [64; 2], samples }
    }

    /// Shapes that get sample extents cover the same samples, whether their bounding boxes contain any
    /// or not.
    #[test]
    fn boxes_of_samples_cut_off_no_sample() {
        let mut seed = 99u64;
        let mut random = |n: i64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) as i64 % n) as i32
        };
        let places = [[6u8, 2], [14, 6], [2, 10], [10, 14]];
        let (mut gone, mut left) = (0, 0);
        for count in [1, 4] {
            let samples = match count {
                1 => one_sample(),
                _ => Samples::new(&GRID, 4, places),
            };
            for round in 0..4000 {
                let at = [random(60 * 256), random(60 * 256)];
                let near =
                    |random: &mut dyn FnMut(i64) -> i32| [at[0] + random(400), at[1] + random(400)];
                let mut xy = [at, near(&mut random), near(&mut random)];
                if crate::area(xy) < 0 {
                    xy.swap(1, 2);
                }
                let outline = Outline {
                    kind: if round % 4 == 0 {
                        PrimitiveKind::Point
                    } else {
                        PrimitiveKind::Triangle
                    },
                    size_px: 0.75,
                    primitive: 0,
                    coverage: match round % 3 {
                        0 => CoverageRule::Centre,
                        1 => CoverageRule::Samples,
                        _ => CoverageRule::Conservative,
                    },
                    rectangular: false,
                };
                let known = Shape::new(&GRID, xy, &outline, &limits(Some(samples.extent())));
                let Some(any) = Shape::new(&GRID, xy, &outline, &limits(None)) else { continue };
                let [known, any] = [known, Some(any)].map(|shape| {
                    let mut pixels = [[[0u32; 64]; 2]; 4];
                    let mut coverage = Coverage::default();
                    for (k, tile) in [0, 32].into_iter().flat_map(|y| [[0, y], [32, y]]).enumerate()
                    {
                        let Some(shape) = &shape else { continue };
                        if coverage.draw(shape, &samples, tile, [32, 32]) {
                            for y in coverage.rows[0]..coverage.rows[1] {
                                for s in 0..samples.count {
                                    pixels[k][s % 2][y + 32 * (s / 2)] = coverage.bits[s][y];
                                }
                            }
                        }
                    }
                    pixels
                });
                gone += usize::from(known == [[[0; 64]; 2]; 4]);
                left += usize::from(known != [[[0; 64]; 2]; 4]);
                assert_eq!(known, any, "{xy:?} {outline:?}");
            }
        }
        assert!(gone > 500 && left > 500, "{gone} {left}");
    }

    fn shape(xy: [[i32; 2]; 3], kind: PrimitiveKind, size_px: f32) -> Option<Shape> {
        shape_on(&GRID, xy, kind, size_px)
    }

    fn one_sample() -> Samples<4> {
        Samples::new(&GRID, 1, [[8; 2]; 4])
    }

    /// Counts how often each pixel of 64 × 64 is covered by the shapes.
    fn count(shapes: &[Shape], size: [u32; 2]) -> Vec<u32> {
        count_samples(shapes, size, &one_sample())
    }

    fn count_samples<const MAX: usize>(
        shapes: &[Shape],
        size: [u32; 2],
        samples: &Samples<MAX>,
    ) -> Vec<u32> {
        let mut counts = vec![0; 64 * 64];
        let mut coverage = Coverage::default();
        for shape in shapes {
            for ty in (0..64).step_by(size[1] as usize) {
                for tx in (0..64).step_by(size[0] as usize) {
                    if coverage.draw(shape, samples, [tx, ty], size) {
                        for y in coverage.rows[0]..coverage.rows[1] {
                            for x in 0..32 {
                                if coverage.bits[0][y] >> x & 1 != 0 {
                                    counts[(ty as usize + y) * 64 + tx as usize + x] += 1;
                                }
                            }
                        }
                    }
                }
            }
        }
        counts
    }

    #[test]
    fn triangles_that_share_sides_cover_each_pixel_once() {
        // A triangle fan around points on and next to sample positions.
        for centre in [
            [32 * 256 + 128, 32 * 256 + 128],
            [30 * 256, 17 * 256 + 77],
            [31 * 256 + 128, 40 * 256],
        ] {
            let ring = [
                [0, 0],
                [64 * 256, 0],
                [64 * 256, 31 * 256 + 128],
                [64 * 256, 64 * 256],
                [0, 64 * 256],
            ];
            let shapes: Vec<Shape> = (0..ring.len())
                .filter_map(|i| {
                    shape(
                        [centre, ring[i], ring[(i + 1) % ring.len()]],
                        PrimitiveKind::Triangle,
                        1.0,
                    )
                })
                .collect();
            for size in [[32, 32], [32, 16], [16, 16]] {
                assert!(count(&shapes, size).iter().all(|&n| n == 1), "{centre:?} {size:?}");
            }
        }
    }

    #[test]
    fn the_tile_agrees_with_the_definition() {
        // Against edge functions evaluated one by one.
        let mut seed = 12345u64;
        let mut random = |n: i64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as i64 % n
        };
        for _ in 0..200 {
            let mut v: [[i32; 2]; 3] = std::array::from_fn(|_| {
                std::array::from_fn(|_| (random(100 * 256) - 18 * 256) as i32)
            });
            let area = |v: &[[i32; 2]; 3]| {
                i64::from(v[1][0] - v[0][0]) * i64::from(v[2][1] - v[0][1])
                    - i64::from(v[2][0] - v[0][0]) * i64::from(v[1][1] - v[0][1])
            };
            if area(&v) < 0 {
                v.swap(1, 2);
            }
            if area(&v) == 0 {
                continue;
            }
            let Some(shape) = shape(v, PrimitiveKind::Triangle, 1.0) else { continue };
            let counts = count(&[shape], [32, 32]);
            for y in 0..64i64 {
                for x in 0..64i64 {
                    let inside = (0..3).map(|side| shape.edge(side)).all(|e| {
                        i64::from(e.a) * (x * 256 + 128) + i64::from(e.b) * (y * 256 + 128) + e.c
                            >= 0
                    });
                    assert_eq!(counts[(y * 64 + x) as usize], u32::from(inside), "{v:?} {x} {y}");
                }
            }
        }
    }

    #[test]
    fn points_and_lines_have_their_size() {
        let at = [20 * 256, 20 * 256];
        let point = shape([at; 3], PrimitiveKind::Point, 4.0).unwrap();
        assert_eq!(count(&[point], [32, 32]).iter().sum::<u32>(), 16);
        let end = [50 * 256, 20 * 256 + 128];
        let start = [20 * 256, 20 * 256 + 128];
        let line = shape([start, end, end], PrimitiveKind::Line, 1.0).unwrap();
        assert_eq!(count(&[line], [16, 16]).iter().sum::<u32>(), 30);
        let back = shape([end, start, start], PrimitiveKind::Line, 1.0).unwrap();
        assert_eq!(count(&[back], [16, 16]).iter().sum::<u32>(), 30);
    }

    /// A square whose sides lie on sample positions: the fill rule decides who has them.
    #[test]
    fn the_fill_rule_decides_samples_on_edges() {
        for (rule, rows) in [(FillRule::TopLeft, 10..20), (FillRule::BottomLeft, 11..21)] {
            for bits in [4, 8] {
                let grid = Grid::new(bits, 32768, rule);
                let at = |v: i32| (v << bits) + (1 << bits) / 2;
                let corners = [[10, 10], [20, 10], [20, 20], [10, 20]].map(|c: [i32; 2]| c.map(at));
                let [a, b, c, d] = corners;
                let shapes: Vec<Shape> = [[a, b, c], [a, c, d]]
                    .into_iter()
                    .filter_map(|xy| shape_on(&grid, xy, PrimitiveKind::Triangle, 0.0))
                    .collect();
                let samples = Samples::<1>::new(&grid, 1, [[8; 2]]);
                let counts = count_samples(&shapes, [32, 32], &samples);
                for (i, &n) in counts.iter().enumerate() {
                    let inside = (10..20).contains(&(i % 64)) && rows.contains(&(i / 64));
                    assert_eq!(n, u32::from(inside), "{rule:?} {bits} {} {}", i % 64, i / 64);
                }
            }
        }
    }

    #[test]
    fn sixteen_samples_are_covered_one_by_one() {
        // The left half of a pixel, with samples from left to right.
        let grid = Grid::new(8, 16384, FillRule::TopLeft);
        let positions = std::array::from_fn(|i| [i as u8, 8]);
        let samples = Samples::<16>::new(&grid, 16, positions);
        let corners = [[256, 0], [256 + 128, 0], [256, 1024]];
        let shape = shape_on(&grid, corners, PrimitiveKind::Triangle, 0.0).unwrap();
        let mut coverage = Coverage::<16>::default();
        assert!(coverage.draw(&shape, &samples, [0; 2], [16, 16]));
        for (s, bits) in coverage.bits.iter().enumerate() {
            // At y = 128 the triangle is 112 sub-pixels wide; its right side is outside.
            assert_eq!(bits[0] >> 1 & 1 != 0, s * 16 < 112, "sample {s}");
        }
    }

    /// Samples on the left side of a shape that has no other column are inside.
    #[test]
    fn one_column_of_samples_on_an_edge_is_covered() {
        let [left, right, top, bottom] = [10 * 256 + 128, 10 * 256 + 230, 10 * 256, 20 * 256];
        let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
        let [a, b, c, d] = corners;
        let shapes: Vec<Shape> = [[a, b, c], [a, c, d]]
            .into_iter()
            .filter_map(|xy| shape(xy, PrimitiveKind::Triangle, 0.0))
            .collect();
        for (i, &n) in count(&shapes, [32, 32]).iter().enumerate() {
            let inside = i % 64 == 10 && (10..20).contains(&(i / 64));
            assert_eq!(n, u32::from(inside), "{} {}", i % 64, i / 64);
        }
    }

    /// A wide line has the pixels whose centres are nearer to it than half its width, measured
    /// along the axis that it runs across, between its ends.
    /// source: Vulkan specification, "Basic Line Segment Rasterization", parallelograms
    #[test]
    fn wide_lines_are_parallelograms() {
        // No centre of a pixel lies on a side.
        let from = [20.0 + 3.0 / 256.0, 25.0 + 5.0 / 256.0];
        let deltas =
            [[30.0, 7.0], [-17.0, 9.0], [21.0, -11.0], [6.0, 30.0], [-9.0, 20.0], [8.0, -19.0]];
        for (delta, width) in deltas.iter().flat_map(|d| [(d, 5.0), (d, 40.0), (d, 4094.0)]) {
            let to = [from[0] + delta[0], from[1] + delta[1]];
            let [p, q] = [from, to].map(|v| v.map(|v| (v * 256.0) as i32));
            let line = shape([p, q, q], PrimitiveKind::Line, width).unwrap();
            let half = f64::from(width) / 2.0;
            let major = usize::from(f64::abs(delta[1]) > f64::abs(delta[0]));
            for (i, &n) in count(&[line], [32, 32]).iter().enumerate() {
                let centre = [(i % 64) as f64 + 0.5, (i / 64) as f64 + 0.5];
                let t = (centre[major] - from[major]) / delta[major];
                let on_line = from[1 - major] + t * delta[1 - major];
                let inside = (0.0..1.0).contains(&t) && (centre[1 - major] - on_line).abs() < half;
                assert_eq!(n, u32::from(inside), "{delta:?} {width} {centre:?}");
            }
        }
    }

    /// The pixels of a tile that a triangle covers conservatively, by row.
    fn touched(xy: [[i32; 2]; 3]) -> [u32; 32] {
        let outline = Outline {
            kind: PrimitiveKind::Triangle,
            size_px: 0.0,
            primitive: 0,
            coverage: CoverageRule::Conservative,
            rectangular: false,
        };
        let mut rows = [0; 32];
        let samples = one_sample();
        let extent = Some(samples.extent());
        let Some(shape) = Shape::new(&GRID, xy, &outline, &limits(extent)) else { return rows };
        let mut coverage = Coverage::default();
        if coverage.draw(&shape, &samples, [0; 2], [32; 2]) {
            let [first, end] = coverage.rows;
            rows[first..end].copy_from_slice(&coverage.bits[0][first..end]);
        }
        rows
    }

    #[test]
    fn conservative_shapes_cover_the_pixels_that_they_touch() {
        let half = 128;
        // The long side goes through the corners of two pixels, which it touches once it is grown.
        let rows = touched([[half, half], [5 * half, half], [half, 5 * half]]);
        assert_eq!(rows[..4], [0b111, 0b111, 0b11, 0]);
        // A line, and a point.
        let rows = touched([[half, half], [5 * half, half], [half, half]]);
        assert_eq!(rows[..2], [0b111, 0]);
        let rows = touched([[3 * half; 2]; 3]);
        assert_eq!(rows[..3], [0, 0b10, 0]);
        let mut seed = 5u64;
        let mut random = |n: i64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as i64 % n
        };
        for _ in 0..500 {
            let mut xy = [0; 3].map(|_| [0; 2].map(|_| random(32 * 256) as i32));
            if crate::area(xy) < 0 {
                xy.swap(1, 2);
            }
            let rows = touched(xy);
            // Places inside are in pixels that are covered.
            for _ in 0..100 {
                let (p, q) = (random(1 << 12), random(1 << 12));
                let (p, q) = if p + q > 1 << 12 { ((1 << 12) - p, (1 << 12) - q) } else { (p, q) };
                let at = [0, 1].map(|k| {
                    let [a, b, c] = xy.map(|v| i64::from(v[k]));
                    (a + ((b - a) * p + (c - a) * q) / (1 << 12)) / 256
                });
                assert_eq!(rows[at[1] as usize] >> at[0] & 1, 1, "{xy:?} at {at:?}");
            }
        }
    }
}
