//! Sampling of one mip level: nearest, linear filtering, gather.

use tepui_texel::axis::AxisRule;
use tepui_texel::blocks::Blocks;
use tepui_texel::unpack::{Source, Unpacker};
use tepui_texel::{CompareFunc, Wrap, cube, lanes};

use crate::error::Fault;
use crate::fetch::Fetcher;
use crate::image::Level;
use crate::lanes::{Axis, Kernels, Tap, Texels, Words};
use crate::memory::Memory;
use crate::{Floats, Ints, LANES, Row};

/// State of one instruction that all its mip levels and anisotropic samples share.
pub(crate) struct Filter<'a, M> {
    pub fetch: Fetcher<'a, M>,
    pub blocks: &'a mut Blocks,
    pub taps: &'a mut [Words; 4],
    pub kernels: &'static Kernels,
    pub unpacker: &'a Unpacker,
    /// The border colour, in the form that the unpacker gives texels.
    pub border: [u32; 4],
    /// Mask of the channels that the result needs.
    pub wanted: u32,
    /// Number of coordinates that are used.
    pub axes: usize,
    /// A seamless cube map: its faces are square, and linear filters cross their edges.
    pub seamless: bool,
    /// Wrap mode of each coordinate.
    pub wrap: [Wrap; 3],
    /// Coordinates are unnormalised.
    pub pixel: bool,
    /// Texel offsets.
    pub offset: [Ints; 3],
    /// Whether any texel offset is not zero.
    pub moved: bool,
    /// Shadow comparison and the reference value.
    pub compare: Option<(CompareFunc, Floats)>,
    /// Layer or cube face of each lane; a 3D image takes its slice from the third coordinate.
    pub layer: Row,
    /// The layer, if it is the same for all lanes.
    pub flat: Option<u32>,
    /// Sample of each lane.
    pub sample: Row,
    /// The image is 3D.
    pub is_3d: bool,
}

/// The channels of one texel of each lane: bits of floats.
pub(crate) type Channels = [Row; 4];

pub(crate) const NONE: Channels = [[0; LANES]; 4];

#[inline(always)]
fn unsigned(row: &Ints) -> Row {
    let mut out = [0; LANES];
    for i in 0..LANES {
        out[i] = row[i] as u32;
    }
    out
}

impl<M: Memory> Filter<'_, M> {
    /// The texels and weights of a level along each axis, and whether all are inside of the level: of a linear
    /// filter on a seamless cube, those beyond the edges stay outside here, and [`Filter::cube_taps`] finds them on
    /// the neighbouring face.
    fn texels(
        &self,
        level: &Level,
        coordinates: &[Floats; 3],
        linear: bool,
        axes: &mut [Axis; 3],
    ) -> bool {
        let [u, v, _] = coordinates;
        let mut inside = true;
        if self.seamless && linear {
            let offset = [&self.offset[0], &self.offset[1]];
            self.kernels.face_axes(&[*u, *v], level.width, offset, axes, &mut inside);
            return inside;
        }
        for (a, size) in [level.width, level.height, level.depth].into_iter().enumerate() {
            if a >= self.axes {
                continue;
            }
            let wrap = if self.seamless { Wrap::ClampToEdge } else { self.wrap[a] };
            let rule = AxisRule { size, wrap, pixel: self.pixel, linear, moved: self.moved };
            self.kernels.axis(&rule, &coordinates[a], &self.offset[a], &mut axes[a]);
        }
        inside
    }

    /// Linear or nearest filtering of formats that unpack to floats.
    pub fn level(
        &mut self,
        level: &Level,
        coordinates: &[Floats; 3],
        linear: bool,
        out: &mut Channels,
    ) -> Result<(), Fault> {
        let mut axes = [Axis::ZERO; 3];
        let inside = self.texels(level, coordinates, linear, &mut axes);
        let axes = &axes;
        if !linear {
            return self.one(level, axes, [0; 3], out);
        }
        *out = NONE;
        if !inside {
            return self.cube(level, axes, out);
        }
        if self.plain_linear(level, axes, out).is_some() {
            return Ok(());
        }
        let steps = [0, 1, 2].map(|a| if a < self.axes { 2 } else { 1 });
        let mut weight = [0.0; LANES];
        for z in 0..steps[2] {
            for y in 0..steps[1] {
                for x in 0..steps[0] {
                    self.kernels.weigh(axes, [x, y, z], steps, &mut weight);
                    self.tap(level, axes, [x, y, z], |filter, tap| {
                        filter.blend(tap, &weight, out)
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Adds a weighted tap, after the depth comparison if there is one.
    fn blend(&self, tap: &Tap<'_>, weight: &Floats, sum: &mut Channels) {
        match &self.compare {
            None => self.kernels.blend(tap, weight, sum),
            Some((func, reference)) => {
                let mut passes = NONE;
                self.kernels.compare(tap, *func, reference, &mut passes[0]);
                self.kernels.accumulate(&passes, weight, 1, sum);
            }
        }
    }

    /// The channels of one texel, after the depth comparison if there is one.
    fn one(
        &mut self,
        level: &Level,
        axes: &[Axis; 3],
        step: [usize; 3],
        out: &mut Channels,
    ) -> Result<(), Fault> {
        self.tap(level, axes, step, |filter, tap| filter.take(tap, out))
    }

    fn take(&self, tap: &Tap<'_>, out: &mut Channels) {
        match &self.compare {
            None => self.kernels.floats(tap, out),
            Some((func, reference)) => self.kernels.compare(tap, *func, reference, &mut out[0]),
        }
    }

    /// The nearest texel of integer formats.
    pub fn nearest_integer(
        &mut self,
        level: &Level,
        coordinates: &[Floats; 3],
        out: &mut [Row; 4],
    ) -> Result<(), Fault> {
        let mut axes = [Axis::ZERO; 3];
        self.texels(level, coordinates, false, &mut axes);
        self.tap(level, &axes, [0; 3], |filter, tap| filter.kernels.integers(tap, out))
    }

    /// The texel of a load, as the bits of floats or as integers.
    pub fn load(
        &mut self,
        level: &Level,
        axes: &[Axis; 3],
        out: &mut [Row; 4],
    ) -> Result<(), Fault> {
        if self.unpacker.is_integer() {
            return self.tap(level, axes, [0; 3], |filter, tap| filter.kernels.integers(tap, out));
        }
        self.one(level, axes, [0; 3], out)
    }

    /// Gather: one channel of four texels, left to right, then top to bottom.
    pub fn gather(
        &mut self,
        level: &Level,
        coordinates: &[Floats; 3],
        channel: usize,
        out: &mut [Row; 4],
    ) -> Result<(), Fault> {
        let mut axes = [Axis::ZERO; 3];
        self.texels(level, coordinates, true, &mut axes);
        if self.seamless && !self.unpacker.is_integer() {
            let taps = self.cube_taps(level, &axes)?;
            for (out, tap) in out.iter_mut().zip(&taps) {
                *out = tap[channel];
            }
            return Ok(());
        }
        for (k, out) in out.iter_mut().enumerate() {
            let step = [k & 1, k >> 1, 0];
            let mut all = NONE;
            if self.unpacker.is_integer() {
                let seam = self.seamless;
                self.tap_across(level, &axes, step, seam, |filter, tap| {
                    filter.kernels.integers(tap, &mut all);
                })?;
            } else {
                self.one(level, &axes, step, &mut all)?;
            }
            *out = all[channel];
        }
        Ok(())
    }

    /// Linear filtering across the edges of a cube.
    fn cube(&mut self, level: &Level, axes: &[Axis; 3], sum: &mut Channels) -> Result<(), Fault> {
        let taps = self.cube_taps(level, axes)?;
        let wanted = if self.compare.is_some() { 1 } else { self.wanted };
        for (k, tap) in taps.iter().enumerate() {
            let mut weight = [1.0; LANES];
            self.kernels.weigh(axes, [k & 1, k >> 1, 0], [2, 2, 1], &mut weight);
            self.kernels.accumulate(tap, &weight, wanted, sum);
        }
        Ok(())
    }

    /// The four texels around a point on a cube. At a corner, where three faces meet, the missing
    /// texel is the mean of the others.
    ///
    // source: Vulkan specification, "Cube Map Edge Handling"
    fn cube_taps(&mut self, level: &Level, axes: &[Axis; 3]) -> Result<[Channels; 4], Fault> {
        let mut taps = [NONE; 4];
        let mut corners = [0; 4];
        for k in 0..4 {
            let out = &mut taps[k];
            corners[k] =
                self.tap_across(level, axes, [k & 1, k >> 1, 0], true, |filter, tap| {
                    filter.take(tap, out);
                })?;
        }
        for k in 0..4 {
            for lane in lanes(corners[k]) {
                for c in 0..4 {
                    let others = (0..4).filter(|&o| o != k);
                    let sum: f32 = others.map(|o| f32::from_bits(taps[o][c][lane])).sum();
                    taps[k][c][lane] = (sum / 3.0).to_bits();
                }
            }
        }
        Ok(taps)
    }

    /// Fetches and unpacks one texel for each lane.
    fn tap(
        &mut self,
        level: &Level,
        axes: &[Axis; 3],
        step: [usize; 3],
        use_it: impl FnOnce(&Self, &Tap<'_>),
    ) -> Result<(), Fault> {
        self.tap_across(level, axes, step, false, use_it).map(|_| ())
    }

    /// Version of [`Filter::tap`]: across the edges of a cube; returns the lanes whose texel does not exist
    /// (corners).
    fn tap_across(
        &mut self,
        level: &Level,
        axes: &[Axis; 3],
        [sx, sy, sz]: [usize; 3],
        cross: bool,
        use_it: impl FnOnce(&Self, &Tap<'_>),
    ) -> Result<u32, Fault> {
        let [ax, ay, az] = axes;
        let mut corners = 0;
        let mut moved = (ax.texel[sx], ay.texel[sy], self.layer);
        let (x, y, layer) = if cross {
            let mut face = self.layer.map(|l| l % 6);
            corners = cube::cross(level.width, &mut face, &mut moved.0, &mut moved.1);
            for i in 0..LANES {
                // The descriptor may not be that of a cube, whatever the instruction says.
                let face = self.layer[i] - self.layer[i] % 6 + face[i];
                moved.2[i] = face.min(self.fetch.image.layers - 1);
            }
            (&moved.0, &moved.1, moved.2)
        } else if self.is_3d {
            (&ax.texel[sx], &ay.texel[sy], az.texel[sz].map(|z| z as u32))
        } else {
            (&ax.texel[sx], &ay.texel[sy], self.layer)
        };
        let mut elements = [0; LANES];
        let mut outside = [0; LANES];
        let beyond = [&ax.outside[sx], &ay.outside[sy], &az.outside[sz]];
        self.kernels.place(level, [x, y], beyond, &mut elements, &mut outside);
        let mut words = [[0; LANES]; 4];
        if let Source::Pvrtc1 = self.unpacker.source {
            self.pvrtc(level, [x, y], &layer, &outside, &mut words)?;
        } else if cross || self.plain_words(level, [x, y], &mut words).is_none() {
            let texels = Texels {
                level,
                at: [x, y],
                layer: &layer,
                sample: &self.sample,
                outside: &outside,
            };
            self.fetch.words(self.kernels, &texels, &mut elements, &mut words);
        }
        let columns = unsigned(x);
        self.blocks.decode(self.unpacker, self.fetch.exec, [x, y], &mut words);
        let tap = Tap {
            unpacker: self.unpacker,
            words: &words,
            x: &columns,
            outside: &outside,
            border: self.border,
            wanted: self.wanted,
        };
        use_it(self, &tap);
        Ok(corners)
    }
}
