//! The units that a warp of fragments uses: varyings, tests, blending, the tile buffer.

pub(crate) mod blend;
pub(crate) mod colour;
pub(crate) mod draw;
pub(crate) mod format;
pub(crate) mod framebuffer;
pub(crate) mod scene;
pub(crate) mod state;
pub(crate) mod target;
pub(crate) mod tile;

use std::collections::HashMap;
use std::sync::Arc;

use tepui_mali_packets::draw::{BlendEquation, BlendMode, OcclusionMode};
use tepui_raster::depth::at;
use tepui_raster::{FillRule, Grid, TILE_SIDE};

use blend::blend;
use format::{NumericType, PixelFormat, bytes, words};
use framebuffer::Framebuffer;
use scene::{Primitive, Scene, value};
use state::FragmentState;
use tile::{PIXELS, Tile};

use crate::warp::row::{LANES, Row, numbers};

/// Vertices are snapped to 1/256 of a pixel, and clipped where fixed point ends.
///
/// source: Mesa, panvk_physical_device.c (`subPixelPrecisionBits`): 8 bits. The guard band of 32768
/// pixels is an assumption; no API can tell.
pub(crate) const GRID: Grid = Grid::new(8, 32768, FillRule::TopLeft);

/// Side of a tile in pixels.
pub(crate) const SIDE: u32 = TILE_SIDE as u32;

/// Maximum number of samples of a pixel.
pub(crate) const MAX_SAMPLES: usize = 16;

/// Maximum number of render targets.
pub(crate) const MAX_TARGETS: usize = 8;

/// A fragment, or a helper lane.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lane {
    /// Column and row in the tile.
    pub place: [u8; 2],
    /// Covered samples.
    pub coverage: u16,
    /// The sample for which the shader runs.
    pub sample: u8,
    /// The index of its primitive in the scene; none for frame shaders.
    pub primitive: Option<u32>,
    /// Whether depth and stencil are still to be tested.
    pub untested: bool,
}

impl Lane {
    /// The index of its pixel in the tile, row by row.
    #[inline(always)]
    fn index(&self) -> usize {
        let [x, y] = self.place.map(usize::from);
        (y * TILE_SIDE + x) % PIXELS
    }
}

/// The position at which a varying is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Centre,
    /// The centroid: one of these covered samples, unless all are covered.
    Centroid(u16),
    Sample(u8),
    /// 1/256 of a pixel from the pixel's corner.
    Explicit([i16; 2]),
}

/// Parameters of a write of colours.
pub(crate) struct Write<'f> {
    pub target: usize,
    /// The numeric type of the colours.
    pub kind: NumericType,
    pub mode: BlendMode,
    /// The format of the tile buffer's pixels.
    pub format: &'f PixelFormat,
    /// The conversion descriptor that names it.
    pub conversion: u32,
    /// The blend constant, if the blend descriptor has it as a float.
    pub constant: Option<f32>,
}

/// Weights of vertices that the instructions of a warp share.
#[derive(Default)]
pub(crate) struct KnownWeights {
    /// Lanes that have weights. None when a warp begins.
    pub lanes: u16,
    /// Their position within pixels.
    within: [f32; 2],
    /// Weights of the second and third vertex.
    rows: [[f32; LANES]; 2],
}

/// The fragment units of a worker.
pub(crate) struct Pixels {
    pub framebuffer: Arc<Framebuffer>,
    pub scene: Arc<Scene>,
    /// State of the draw.
    pub state: Option<Arc<FragmentState>>,
    pub tile: Tile,
    /// The tile's first pixel.
    pub corner: [u32; 2],
    pub lanes: [Lane; LANES],
    pub weights: KnownWeights,
    /// Number of samples that passed, by the address of their counter.
    pub counted: HashMap<u64, (u64, bool)>,
    /// The target whose blend shader is running (Midgard).
    pub calling: Option<usize>,
    formats: Vec<(u32, Option<Arc<PixelFormat>>)>,
}

impl Pixels {
    /// The units of a framebuffer.
    pub fn new(framebuffer: Arc<Framebuffer>, scene: Arc<Scene>) -> Pixels {
        let tile = Tile::new(&framebuffer);
        Pixels {
            framebuffer,
            scene,
            state: None,
            tile,
            corner: [0; 2],
            lanes: [Lane::default(); LANES],
            weights: KnownWeights::default(),
            counted: HashMap::new(),
            calling: None,
            formats: Vec::new(),
        }
    }

    /// Counts samples that passed the tests.
    pub fn count(&mut self, passed: u64) {
        if let Some((address, mode)) = self.state.as_ref().and_then(|p| p.occlusion)
            && passed > 0
        {
            let entry = self.counted.entry(address).or_insert((0, mode == OcclusionMode::Counter));
            entry.0 += passed;
        }
    }

    /// The primitive of a lane.
    pub fn primitive(&self, lane: usize) -> Option<&Primitive> {
        self.scene.primitives.get(self.lanes[lane].primitive? as usize)
    }

    /// The position within the pixel at which a varying of a lane is evaluated.
    pub fn within(&self, lane: usize, point: Point) -> [f32; 2] {
        let samples = &self.framebuffer.samples;
        match point {
            Point::Explicit(at) => at.map(|v| f32::from(v) / 256.0),
            _ if samples.count == 1 => [0.5; 2],
            Point::Centre => [0.5; 2],
            Point::Sample(sample) => samples.px(usize::from(sample) % samples.count),
            Point::Centroid(coverage) => {
                let all = ((1u32 << samples.count) - 1) as u16;
                let coverage = coverage & all;
                match coverage {
                    0 => [0.5; 2],
                    _ if coverage == all => [0.5; 2],
                    _ => samples.px(coverage.trailing_zeros() as usize),
                }
            }
        }
        .map(|v| if lane < LANES { v } else { 0.0 })
    }

    /// The position in the window at which a varying of a lane is evaluated.
    pub fn point(&self, lane: usize, point: Point) -> [f64; 2] {
        let within = self.within(lane, point);
        let place = self.lanes[lane].place;
        std::array::from_fn(|k| {
            f64::from(self.corner[k]) + f64::from(place[k]) + f64::from(within[k])
        })
    }

    /// The barycentric weights of the second and third vertex of lanes' primitives at a position within their pixels, for the quads
    /// that have lanes of a mask.
    #[inline(always)]
    pub fn weights(&mut self, mask: u16, within: [f32; 2]) -> [[f32; LANES]; 2] {
        let known = &mut self.weights;
        if known.within != within {
            (known.within, known.lanes) = (within, 0);
        }
        let [left, top] = [0, 1].map(|k| f64::from(self.corner[k]) + f64::from(within[k]));
        for first in (0..LANES).step_by(4) {
            let quad = 0xf << first;
            if mask & quad == 0 || known.lanes & quad != 0 {
                continue;
            }
            // All lanes of a quad have one primitive.
            let number = self.lanes[first].primitive.map(|number| number as usize);
            let Some(primitive) = number.and_then(|n| self.scene.primitives.get(n)) else {
                continue;
            };
            let planes = &primitive.barycentrics;
            let (mut points, mut w) = ([[0.0; 2]; 4], [0.0; 4]);
            for (point, lane) in points.iter_mut().zip(&self.lanes[first..]) {
                *point = [left + f64::from(lane.place[0]), top + f64::from(lane.place[1])];
            }
            for (w, point) in w.iter_mut().zip(&points) {
                *w = 1.0 / value(&planes.one_over_w, *point);
            }
            for (out, plane) in known.rows.iter_mut().zip(&planes.over_w) {
                for k in 0..4 {
                    out[first + k] = (value(plane, points[k]) * w[k]) as f32;
                }
            }
            known.lanes |= quad;
        }
        known.rows
    }

    /// The depth of a lane's primitive at a position within its pixel, before it is clamped.
    pub fn depth(&self, lane: usize, [dx, dy]: [f32; 2]) -> f32 {
        let Some(primitive) = self.primitive(lane) else { return 0.0 };
        let plane = self.plane(primitive);
        let [x, y] = self.lanes[lane].place;
        at(&plane, f32::from(x) + dx, f32::from(y) + dy)
    }

    /// The depth plane, relative to the tile's first pixel.
    pub fn plane(&self, primitive: &Primitive) -> [f32; 3] {
        let bias = self.state.as_ref().and_then(|p| p.bias.as_ref());
        let plane = match (&primitive.biased, bias) {
            (Some(positions), Some(bias)) => {
                let kind = tepui_raster::PrimitiveKind::Triangle;
                tepui_raster::Interpolation::new(kind, positions).biased_depth(positions, bias)
            }
            _ => primitive.depth,
        };
        let start = value(&plane, self.corner.map(f64::from));
        [plane[0] as f32, plane[1] as f32, start as f32]
    }

    /// Tests a lane's samples, with the depth and stencil of the shader if it writes them; returns those that
    /// pass.
    pub fn test(&mut self, lane: usize, z: Option<f32>, stencil: Option<u8>) -> u16 {
        let Lane { place: [x, y], coverage, .. } = self.lanes[lane];
        self.lanes[lane].untested = false;
        let front = self.primitive(lane).is_none_or(|p| p.front);
        let Some(state) = &self.state else { return 0 };
        let tests = state.tests[usize::from(!front)];
        let [low, high] = state.range;
        let mut passed = 0u16;
        for sample in (0..self.framebuffer.samples.count).filter(|s| coverage >> s & 1 != 0) {
            let z = z.unwrap_or_else(|| self.depth(lane, self.framebuffer.samples.px(sample)));
            let z = z.clamp(low, high);
            if self.tile.depth.test(&tests, sample, x.into(), y.into(), z, stencil) {
                passed |= 1 << sample;
            }
        }
        self.tile.dirty |= coverage != 0;
        self.count(u64::from(passed.count_ones()));
        self.lanes[lane].coverage = passed;
        passed
    }

    /// Version of [`Pixels::test`] for the untested lanes of a mask.
    pub fn test_lanes(&mut self, mask: u16, z: Option<&Row>, stencil: Option<&Row>) {
        for lane in numbers(mask) {
            if self.lanes[lane].untested {
                let z = z.map(|row| f32::from_bits(row.0[lane]));
                self.test(lane, z, stencil.map(|row| row.0[lane] as u8));
            }
        }
    }

    /// The format of a conversion descriptor; `None` if the model does not know it.
    pub fn format(&mut self, conversion: u32) -> Option<Arc<PixelFormat>> {
        let bits = conversion & PixelFormat::BITS;
        if let Some((_, format)) = self.formats.iter().find(|(b, _)| *b == bits) {
            return format.clone();
        }
        let format = PixelFormat::of_tile(bits).map(Arc::new);
        self.formats.push((bits, format.clone()));
        format
    }

    /// Writes a chunk of pixels to the samples of a lane, as Midgard's blend shaders do ([`TargetFormat::of_chunk`]).
    ///
    /// [`TargetFormat::of_chunk`]: crate::pixels::colour::TargetFormat::of_chunk
    pub fn write_chunk(&mut self, lane: usize, chunk: u32, target: usize, words: [u32; 4]) {
        let Lane { place, coverage, .. } = self.lanes[lane];
        let framebuffer = self.framebuffer.clone();
        let Some(attachment) = framebuffer.targets.get(target) else { return };
        for sample in (0..framebuffer.samples.count).filter(|s| coverage >> s & 1 != 0) {
            if let Some(pixel) = attachment.format.of_chunk(words, chunk, sample as u32) {
                self.tile.set_colour(target, sample, place, pixel);
                self.tile.dirty = true;
            }
        }
    }

    /// The blend equation of a target, and its constant; none if colours replace the old ones.
    fn equation(&self, how: &Write<'_>) -> Option<(BlendEquation, f32)> {
        let blends = &self.state.as_ref()?.blends;
        let state = blends.get(how.target).filter(|_| how.mode == BlendMode::FixedFunction)?;
        let own = || PixelFormat::constant(how.conversion, state.constant);
        Some((state.equation, how.constant.unwrap_or_else(own)))
    }

    /// Writes the colours of a mask's lanes to their covered samples in a target, with the blend descriptor's format or
    /// the shader's.
    #[inline(always)]
    pub fn write_rows(&mut self, mask: u16, coverage: &Row, colours: &[Row; 4], how: &Write<'_>) {
        if how.mode == BlendMode::Off || self.state.is_none() {
            return;
        }
        let mut covered = 0u16;
        for lane in 0..LANES {
            let any = u32::from(self.lanes[lane].coverage) & coverage.0[lane] != 0;
            covered |= u16::from(any) << lane;
        }
        covered &= mask;
        if covered == 0 {
            return;
        }
        if self.framebuffer.samples.count != 1 || !self.write_whole(covered, colours, how) {
            for lane in numbers(covered) {
                let samples = self.lanes[lane].coverage & coverage.0[lane] as u16;
                self.write(lane, samples, colours.map(|row| row.0[lane]), how);
            }
        }
    }

    /// Writes the colours of single-sample pixels as rows; false if the format does not allow it.
    #[inline(always)]
    fn write_whole(&mut self, covered: u16, colours: &[Row; 4], how: &Write<'_>) -> bool {
        let &Write { target, kind, format, .. } = how;
        let new = match self.equation(how) {
            None => format.pack_rows(colours, covered, kind),
            Some((equation, constant)) => {
                let mut there = [Row::splat(0); 4];
                if let Some(pixels) = self.tile.words(target) {
                    for lane in numbers(covered) {
                        there[0].0[lane] = pixels[self.lanes[lane].index()];
                    }
                } else {
                    for lane in numbers(covered) {
                        let pixel = self.tile.colour(target, 0, self.lanes[lane].place);
                        for (row, word) in there.iter_mut().zip(pixel.unwrap_or_default()) {
                            row.0[lane] = word;
                        }
                    }
                }
                let mut old = [Row::splat(0); 4];
                format.unpack_rows(&there, covered, NumericType::Float, &mut old);
                let (src, dest) = (floats(colours), floats(&old));
                let new = blend(&equation, &src, &dest, constant, format.is_unorm());
                let mut rows = [Row::splat(0); 4];
                for (row, values) in rows.iter_mut().zip(&new) {
                    for (bits, value) in row.0.iter_mut().zip(values) {
                        *bits = value.to_bits();
                    }
                }
                format.pack_rows(&rows, covered, kind)
            }
        };
        let Some(new) = new else { return false };
        self.tile.dirty = true;
        if let Some(pixels) = self.tile.words(target) {
            for lane in numbers(covered) {
                pixels[self.lanes[lane].index()] = new[0].0[lane];
            }
        } else {
            for lane in numbers(covered) {
                let pixel = new.each_ref().map(|row| row.0[lane]);
                self.tile.set_colour(target, 0, self.lanes[lane].place, pixel);
            }
        }
        true
    }

    /// Writes a lane's colour to samples of a target.
    fn write(&mut self, lane: usize, samples: u16, colour: [u32; 4], how: &Write<'_>) {
        let &Write { target, kind, format, .. } = how;
        let place = self.lanes[lane].place;
        let equation = self.equation(how);
        for sample in (0..self.framebuffer.samples.count).filter(|s| samples >> s & 1 != 0) {
            let colour = match &equation {
                Some((equation, constant)) => {
                    let Some(pixel) = self.tile.colour(target, sample, place) else { continue };
                    let dest = format.unpack(&bytes(&pixel)[..format.bytes()], NumericType::Float);
                    let [src, dest] = [colour, dest].map(|c| c.map(|bits| [f32::from_bits(bits)]));
                    let new = blend(equation, &src, &dest, *constant, format.is_unorm());
                    new.map(|[value]| value.to_bits())
                }
                None => colour,
            };
            self.tile.set_colour(target, sample, place, words(&format.pack(colour, kind)));
        }
        self.tile.dirty |= samples != 0;
    }
}

/// Reinterprets rows of bits as floats.
#[inline(always)]
fn floats(rows: &[Row; 4]) -> [[f32; LANES]; 4] {
    let mut out = [[0.0; LANES]; 4];
    for (values, row) in out.iter_mut().zip(rows) {
        for (value, bits) in values.iter_mut().zip(row.0) {
            *value = f32::from_bits(bits);
        }
    }
    out
}
