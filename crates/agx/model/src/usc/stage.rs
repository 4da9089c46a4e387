//! Stages: the fixed-function units that a vertex, fragment or end-of-tile program accesses.

use tepui_agx_texture::Tilebuffer;
use tepui_raster::depth::at;
use tepui_raster::{Plane, Tests};

use super::row::{LANES, Row};
use crate::isp::setup::{DepthStencil, MAX_SAMPLES, Samples};

/// The stage that a SIMD-group runs in.
#[derive(Default)]
pub enum Stage<'a> {
    /// Compute, preshaders and helper programs, which have no fixed function.
    #[default]
    Compute,
    /// A vertex program: its outputs.
    Vertex(VertexStage<'a>),
    /// A fragment program or a background program: its pixels.
    Fragment(&'a mut Fragments),
    /// An end-of-tile program: its tile.
    EndOfTile(EndOfTile),
}

/// Registers that a vertex program finds filled: the vertex and the instance.
/// source: Mesa's compiler/README.md, "Special registers"
pub const VERTEX_REGISTER: usize = 5;
/// The instance.
pub const INSTANCE_REGISTER: usize = 6;

impl Stage<'_> {
    /// 32-bit registers that hold values at the start of the program.
    pub fn preloaded(&self) -> &'static [usize] {
        match self {
            Stage::Vertex(_) => &[VERTEX_REGISTER, INSTANCE_REGISTER],
            Stage::Compute | Stage::Fragment(_) | Stage::EndOfTile(_) => &[],
        }
    }
}

/// The outputs of vertex programs.
pub struct VertexStage<'a> {
    /// Outputs of the group's vertices: `stride` words for each lane, lane after lane.
    pub outputs: &'a mut [u32],
    /// Words of a vertex.
    pub stride: usize,
}

impl VertexStage<'_> {
    /// Writes one output word of a lane; words that the vertex does not have are dropped.
    #[inline(always)]
    pub fn store(&mut self, lane: usize, word: usize, value: u32) {
        debug_assert!(lane < LANES);
        if word < self.stride
            && let Some(slot) = self.outputs.get_mut(lane * self.stride + word)
        {
            *slot = value;
        }
    }
}

/// The tile that an end-of-tile program stores.
#[derive(Clone, Copy, Debug)]
pub struct EndOfTile {
    /// First column and row.
    pub corner: [u32; 2],
    /// Layer of the render target.
    pub layer: u32,
}

/// Quads of a SIMD-group of fragments.
pub const QUADS: usize = LANES / 4;

/// The primitive of a quad.
#[derive(Clone, Copy, Debug)]
pub struct Quad {
    /// First coefficient register in [`Fragments::coefficients`].
    pub coefficients: usize,
    /// Depth over the pixels of the tile.
    pub depth: Plane,
    /// Depths are clamped to this range.
    pub range: [f32; 2],
    /// The face whose tests apply: 0 front, 1 back.
    pub face: usize,
}

impl Quad {
    const EMPTY: Quad = Quad { coefficients: 0, depth: [0.0; 3], range: [0.0, 1.0], face: 0 };
}

/// A SIMD-group of fragments — up to eight quads, four lanes each, by rows — and the part of the
/// ISP and the tilebuffer that they work on.
pub struct Fragments {
    /// Column of each lane's pixel.
    pub x: Row,
    /// Row of each lane's pixel.
    pub y: Row,
    /// Samples that the primitive covers: a bit each. Helper lanes have none.
    pub covered: Row,
    /// Samples that passed all tests so far and were not discarded.
    pub live: Row,
    /// Samples that the program still has to test or discard.
    pub undecided: Row,
    /// Layer of the render target.
    pub layer: u32,
    /// The quads.
    pub quads: [Quad; QUADS],
    /// Coefficient registers of a primitive.
    pub registers: usize,
    /// Coefficient registers of all primitives of the group.
    pub coefficients: Vec<Plane>,
    /// Tests that the program asks for; front, back.
    pub tests: [Tests; 2],
    /// Samples that passed the tests that programs asked for.
    pub visible: u64,
    /// Depth and stencil of the tile.
    pub planes: DepthStencil,
    /// Sample positions.
    pub samples: Samples,
    /// Layout of the tilebuffer in local memory.
    pub tile: Tilebuffer,
    /// First column and row of the tile.
    pub corner: [u32; 2],
    /// Precomputed state for translated code.
    pub ready: Ready,
}

/// Column and row in its pixel of the sample that the low bits of a register's value name.
#[inline(always)]
pub fn sample_px(samples: &Samples, number: u32) -> [f32; 2] {
    samples.px(number as usize & (samples.count - 1))
}

/// State that is derived from the rest of [`Fragments`], computed once for a group.
pub struct Ready {
    /// Centres of the lanes' pixels, from the corner that planes count from.
    pub centre: [[f32; LANES]; 2],
    /// Columns and rows of samples in their pixel, by the low bits of a sample's number.
    pub sample_px: [[f32; MAX_SAMPLES]; 2],
    /// Offset of each lane's pixel in the tilebuffer, in bytes.
    pub places: Row,
    /// Coefficient registers of the quads.
    pub planes: [*const Plane; QUADS],
    /// The quads have the same coefficient registers.
    pub alike: u32,
    /// Bytes of a pixel's one sample in the tilebuffer; 0 if there are more, or if it does not lie
    /// in local memory whole.
    pub sample_bytes: u32,
}

impl Fragments {
    /// For tiles of a layout.
    pub fn new(samples: Samples, tile: Tilebuffer) -> Fragments {
        Fragments {
            x: Row::ZERO,
            y: Row::ZERO,
            covered: Row::ZERO,
            live: Row::ZERO,
            undecided: Row::ZERO,
            layer: 0,
            quads: [Quad::EMPTY; QUADS],
            registers: 0,
            coefficients: Vec::new(),
            tests: [Tests::NONE; 2],
            visible: 0,
            planes: DepthStencil::default(),
            samples,
            tile,
            corner: [0; 2],
            ready: Ready {
                centre: [[0.0; LANES]; 2],
                sample_px: [0, 1].map(|k| [0, 1, 2, 3].map(|i| sample_px(&samples, i)[k])),
                places: Row::ZERO,
                planes: [std::ptr::null(); QUADS],
                alike: 0,
                sample_bytes: 0,
            },
        }
    }

    /// Brings [`Ready`] up to date, for local memory of some bytes.
    pub fn prepare(&mut self, local_bytes: usize) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.prepare_wide(local_bytes) };
        }
        self.prepare_any(local_bytes);
    }

    /// Version of [`Fragments::prepare_any`] in wide vectors.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn prepare_wide(&mut self, local_bytes: usize) {
        self.prepare_any(local_bytes);
    }

    #[inline(always)]
    fn prepare_any(&mut self, local_bytes: usize) {
        let t = self.tile;
        let [w, h] = t.size;
        let whole = (w * h * t.samples * t.sample_bytes) as usize <= local_bytes;
        let ready = &mut self.ready;
        ready.sample_bytes = if whole && t.samples == 1 { t.sample_bytes } else { 0 };
        for i in 0..LANES {
            let [x, y] = [self.x.0[i], self.y.0[i]];
            ready.centre[0][i] = (x & 31) as f32 + 0.5;
            ready.centre[1][i] = (y & 31) as f32 + 0.5;
            // As `Tilebuffer::offset`.
            let pixel = (y & (h - 1)) * w + (x & (w - 1));
            ready.places.0[i] = pixel * t.samples * t.sample_bytes;
        }
        let first = self.quads[0].coefficients;
        ready.alike = 1;
        for (planes, quad) in ready.planes.iter_mut().zip(&self.quads) {
            *planes = self.coefficients.as_ptr().wrapping_add(quad.coefficients);
            ready.alike &= u32::from(quad.coefficients == first);
        }
    }

    /// The lanes that are fragments and not helpers.
    #[inline(always)]
    pub fn active(&self) -> u32 {
        let mut lanes = 0;
        for i in 0..LANES {
            lanes |= u32::from(self.live.0[i] != 0) << i;
        }
        lanes
    }

    /// Tests those samples of `targets` of a lane that are in `survivors`, and discards the others.
    /// `emitted` are depth and stencil that the program wrote.
    pub fn decide(
        &mut self,
        lane: usize,
        targets: u32,
        survivors: u32,
        emitted: (Option<f32>, Option<u8>),
    ) {
        let targets = targets & self.undecided.0[lane];
        if targets == 0 {
            return;
        }
        self.undecided.0[lane] &= !targets;
        self.live.0[lane] &= !(targets & !survivors);
        let quad = self.quads[lane / 4];
        let [x, y] = [self.x.0[lane], self.y.0[lane]];
        let [tx, ty] = [x - self.corner[0], y - self.corner[1]].map(|v| v as usize);
        for s in (0..self.samples.count).filter(|s| (targets & survivors) >> s & 1 != 0) {
            let [sx, sy] = self.samples.px(s);
            let z = emitted
                .0
                .unwrap_or_else(|| at(&quad.depth, (x & 31) as f32 + sx, (y & 31) as f32 + sy));
            // A NaN stays one.
            let z = z.clamp(quad.range[0], quad.range[1]);
            if self.planes.test(&self.tests[quad.face], s, tx, ty, z, emitted.1) {
                self.visible += 1;
            } else {
                self.live.0[lane] &= !(1 << s);
            }
        }
    }

    /// Tests the samples that the program neither tested nor discarded. What silicon does with them
    /// is unknown; Mesa's programs leave none.
    pub fn finish(&mut self) {
        for lane in 0..LANES {
            self.decide(lane, u32::MAX, u32::MAX, (None, None));
        }
    }
}
