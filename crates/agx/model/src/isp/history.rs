//! History of one pixel, for observers ([`crate::watch`]).

use tepui_raster::depth::at;
use tepui_raster::{Plane, TILE_SIDE, Tests, WindowPlane};

use super::setup::{Coverage, MAX_SAMPLES};
use crate::render::coefficients::local;
use crate::render::scene::Primitive;
use crate::usc::access::TextureAccess;
use crate::usc::code::Code;
use crate::usc::opcode::Opcode;
use crate::usc::row::LANES;
use crate::usc::stage::Fragments;
use crate::usc::workgroup::Worker;
use crate::watch::{Covering, PixelEvent, Sample, Shading, Watch};

/// Tells an observer of its pixel.
pub struct History {
    watch: Watch,
    /// Column, row, layer.
    pixel: [u32; 3],
    /// The tile has it.
    here: bool,
    /// Primitives whose programs have yet to run for the pixel.
    waiting: usize,
    samples: Vec<Sample>,
}

/// A primitive in a tile.
pub struct Covered<'a> {
    pub primitive: &'a Primitive,
    /// Number of its draw.
    pub draw: u32,
    pub tests: &'a Tests,
    /// Its depth, and what that is clamped to.
    pub depth: (WindowPlane, [f32; 2]),
    pub coverage: &'a Coverage,
    /// The coverage after tests that ran.
    pub passed: &'a [[u32; TILE_SIDE]; MAX_SAMPLES],
    /// The tests ran.
    pub early: bool,
    pub has_program: bool,
}

impl History {
    /// The history for an observer, if it follows a pixel.
    pub fn new(watch: &Watch) -> Option<History> {
        let pixel = watch.observer().pixel()?;
        Some(History { watch: watch.clone(), pixel, here: false, waiting: 0, samples: Vec::new() })
    }

    /// Begins a tile.
    pub fn enter(&mut self, layer: u32, corner: [u32; 2], size: [u32; 2]) {
        let inside = |k: usize| (corner[k]..corner[k] + size[k]).contains(&self.pixel[k]);
        self.here = layer == self.pixel[2] && inside(0) && inside(1);
        self.waiting = 0;
    }

    /// Place in the tile.
    fn place(&self, f: &Fragments) -> [usize; 2] {
        [0, 1].map(|k| (self.pixel[k] - f.corner[k]) as usize)
    }

    /// The samples as they are now.
    fn look(&mut self, f: &Fragments, core: Option<&mut Worker<'_>>) -> &[Sample] {
        let [x, y] = self.place(f);
        let bytes = f.tile.sample_bytes as usize;
        let local: &[u8] = core.map_or(&[], |core| core.local());
        self.samples.clear();
        self.samples.extend((0..f.samples.count).map(|s| {
            let start = f.tile.offset(self.pixel[0], self.pixel[1], s as u32);
            let colour = local.get(start..start + bytes).unwrap_or_default().to_vec();
            let (depth, stencil) = f.planes.sample(s, x, y);
            Sample { colour, depth, stencil }
        }));
        &self.samples
    }

    /// The tile has been filled.
    pub fn filled(&mut self, f: &Fragments, core: Option<&mut Worker<'_>>) {
        if self.here {
            let watch = self.watch.clone();
            watch.observer().pixel_event(&PixelEvent::Filled(self.look(f, core)));
        }
    }

    /// All primitives of the tile have been drawn.
    pub fn stored(&mut self, f: &Fragments, core: Option<&mut Worker<'_>>) {
        if std::mem::take(&mut self.here) {
            let watch = self.watch.clone();
            watch.observer().pixel_event(&PixelEvent::Stored(self.look(f, core)));
        }
    }

    /// A primitive has been tested, or will be by its program.
    pub fn covered(&mut self, c: &Covered<'_>, f: &Fragments, core: Option<&mut Worker<'_>>) {
        let [y0, y1] = c.coverage.rows;
        if !self.here || !(y0 & !1..y1.next_multiple_of(2)).contains(&self.place(f)[1]) {
            return;
        }
        let [x, y] = self.place(f);
        let bits = |rows: &[[u32; TILE_SIDE]; MAX_SAMPLES], s: usize, y: usize| {
            if (y0..y1).contains(&y) { rows[s][y] } else { 0 }
        };
        let mask = |rows: &[[u32; TILE_SIDE]; MAX_SAMPLES]| {
            (0..f.samples.count).fold(0, |all, s| all | (bits(rows, s, y) >> x & 1) << s)
        };
        let covered = mask(&c.coverage.bits);
        if covered == 0 {
            return;
        }
        // Programs run for whole quads.
        let quad = (0..f.samples.count)
            .any(|s| (0..2).any(|dy| bits(c.passed, s, (y & !1) + dy) >> (x & !1) & 3 != 0));
        let shaded = c.has_program && quad;
        self.waiting += usize::from(shaded);
        let plane: Plane = local(c.depth.0, f.corner.map(|v| v & !31));
        let [low, high] = c.depth.1;
        let depth = |s: usize| {
            let [sx, sy] = f.samples.px(s);
            let [px, py] = [self.pixel[0], self.pixel[1]].map(|v| (v & 31) as f32);
            at(&plane, px + sx, py + sy).clamp(low, high)
        };
        let covering = Covering {
            draw: c.draw,
            primitive: c.primitive.primitive_id,
            kind: c.primitive.kind,
            front: c.primitive.front,
            covered,
            depth: (0..f.samples.count).map(depth).collect(),
            tests: *c.tests,
            passed: c.early.then(|| mask(c.passed)),
            shaded,
        };
        let watch = self.watch.clone();
        watch.observer().pixel_event(&PixelEvent::Covered(covering, self.look(f, core)));
    }

    /// A group is about to run; returns the pixel's lane, if it is in it.
    pub fn shading(&mut self, f: &Fragments, code: &Code, core: &mut Worker<'_>) -> Option<usize> {
        if !self.here || self.waiting == 0 {
            return None;
        }
        let own = |&l: &usize| f.covered.0[l] != 0 && [f.x.0[l], f.y.0[l]] == self.pixel[..2];
        let lane = (0..LANES).find(own)?;
        self.waiting -= 1;
        let tile = |loads: bool| {
            let tile = [Opcode::tile_access, Opcode::tile_pixel];
            let own = code.ops().iter().filter(|op| tile.contains(&op.opcode));
            let own = own.filter(move |op| (op.aux[0] != 0) == loads);
            let mut all = Vec::new();
            for op in own {
                if let TextureAccess::Pixel(t) = code.access(op.imm as usize) {
                    all.push((t.offset, t.format, t.mask));
                }
            }
            all.sort_by_key(|&(offset, ..)| offset);
            all.dedup();
            all
        };
        let shading = Shading {
            program: code.address(),
            code: code.bytes(),
            fingerprint: code.fingerprint(),
            lane,
            stores: tile(false),
            loads: tile(true),
        };
        let watch = self.watch.clone();
        watch.observer().pixel_event(&PixelEvent::Shading(shading, self.look(f, Some(core))));
        Some(lane)
    }

    /// The group has run.
    pub fn shaded(&mut self, lane: usize, f: &Fragments, core: &mut Worker<'_>) {
        let (watch, live) = (self.watch.clone(), f.live.0[lane]);
        watch.observer().pixel_event(&PixelEvent::Shaded(live, self.look(f, Some(core))));
    }
}
