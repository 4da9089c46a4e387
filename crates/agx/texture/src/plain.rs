//! The fast path of reads: one or four texels of a 2D level that is contiguous in host memory, the
//! same layer in all lanes.
//!
//! Every function returns `None` in all other cases. The general path ([`crate::filter`],
//! [`crate::fetch`]) has the same results.

use tepui_softgpu::Access;
use tepui_texel::axis::AxisRule;
use tepui_texel::blocks::{BlockQuad, Blocks};
use tepui_texel::cube::cross;
use tepui_texel::{
    Corners, Filter as Kernel, LevelLayout, Line, Result, Scattered, Unpacker, Wrap, floats,
};

use crate::compression;
use crate::fetch::Fetcher;
use crate::filter::{Channels, Filter};
use crate::image::{Image, Level};
use crate::lanes::{Axis, Faces, Kernels, Placed, Quad, Tap, Words};
use crate::memory::Memory;
use crate::request::{Kind, LodSource, Operands, Request};
use crate::sampler::Sampler;
use crate::texture::Texture;
use crate::{Ints, LANES, Row};

/// Scratch rows, reused from instruction to instruction; their old contents are never read.
#[repr(align(64))]
pub(crate) struct Scratch {
    /// The words of texels.
    pub taps: [Words; 4],
    axes: [Axis; 3],
    placed: Placed,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { taps: [[[0; LANES]; 4]; 4], axes: [Axis::ZERO; 3], placed: Placed::ZERO }
    }
}

/// Loads, and samples of a single level with one filter.
#[expect(clippy::too_many_arguments, reason = "what an instruction is made of")]
pub(crate) fn read<M: Memory>(
    kernels: &Kernels,
    scratch: &mut Scratch,
    blocks: &mut Blocks,
    memory: &mut M,
    request: &Request,
    texture: &Texture,
    sampler: &Sampler,
    operands: &Operands,
    exec: u32,
    out: &mut [Row],
) -> Option<()> {
    let Scratch { taps, axes, placed } = scratch;
    let image = &texture.image;
    if exec == 0 || !image.plain || !request.is_plain() || !texture.is_plain(sampler, request) {
        return None;
    }
    let level = image.level(texture.first_level);
    let unpacker = &texture.unpacker;
    let linear =
        request.kind != Kind::Load && sampler.minify == Kernel::Linear && !unpacker.is_integer();
    let [x, y, _] = &operands.coordinates;
    let (mut layer, mut centred) = (0, false);
    let mut seams = None;
    if request.is_cube() {
        let found = face_axes(kernels, texture, level, operands, exec, axes)?;
        match found.same {
            Some(same) if found.inside => layer = same,
            _ => seams = Some(found),
        }
    } else {
        if request.is_array() && image.layers > 1 {
            layer = one_layer(kernels, &operands.layer, image.layers - 1, exec)?;
        }
        if request.kind != Kind::Load {
            let rules = texture.rules(sampler, level, linear);
            kernels.plane(&rules, [x, y], axes, &mut centred);
        }
    }
    let whole = memory.window(image.address, image.span?, Access::Read)?.cast_const();
    let place = Place { kernels, image, level, layer, exec, whole };
    let (mask, narrow) = (request.mask, request.narrow);
    let result = Result { picks: &texture.picks, mask, narrow, integer: unpacker.is_integer() };
    let tap = |words, outside, border| {
        // Only 4:2:2 formats ask for columns, which take the general path.
        Tap { unpacker, words, x: &[0; LANES], outside, border, wanted: 0 }
    };
    if linear {
        if centred && unpacker.is_plain_fraction() {
            let at = [&axes[0].texel[0], &axes[1].texel[0]];
            place.one(memory, at, &mut taps[0])?;
            blocks.decode(unpacker, exec, at, &mut taps[0]);
            kernels.deliver_tap(&tap(&taps[0], &[0; LANES], [0; 4]), &result, out);
            return Some(());
        }
        let wanted = texture.wanted(request.mask);
        match &seams {
            None => place.quad(memory, blocks, unpacker, axes, taps)?,
            Some(cube) => place.across(memory, blocks, unpacker, cube, axes, taps)?,
        }
        let weight = [&axes[0].weight, &axes[1].weight];
        kernels.deliver_quad(&Quad { unpacker, words: taps, weight, wanted }, &result, out);
        return Some(());
    }
    if request.kind == Kind::Load && place.line(memory, [x, y], &mut taps[0]).is_some() {
        kernels.deliver_tap(&tap(&taps[0], &[0; LANES], [0; 4]), &result, out);
        return Some(());
    }
    let mut border = [0; 4];
    let at = if request.kind == Kind::Load {
        kernels.place_load(level, [x, y], placed);
        border = sampler.border_for(unpacker);
        [&placed.at[0], &placed.at[1]]
    } else {
        placed.outside = [0; LANES];
        [&axes[0].texel[0], &axes[1].texel[0]]
    };
    place.one(memory, at, &mut taps[0])?;
    blocks.decode(unpacker, exec, at, &mut taps[0]);
    kernels.deliver_tap(&tap(&taps[0], &placed.outside, border), &result, out);
    Some(())
}

/// The layer of the lanes of `exec`, at most `last`, if it is the same.
fn one_layer(kernels: &Kernels, layers: &Row, last: u32, exec: u32) -> Option<u32> {
    let (mut clamped, mut same) = ([0; LANES], false);
    kernels.layers(layers, last, exec, &mut clamped, &mut same);
    same.then_some(clamped[exec.trailing_zeros() as usize % LANES])
}

/// Layers of lanes that look at a cube.
struct CubeLayers {
    layers: Row,
    /// The layer, if all lanes have the same.
    same: Option<u32>,
    /// Whether no lane reads across an edge of its face.
    inside: bool,
}

/// Finds the texels on faces of a cube, those one step beyond its edges included, and their layers.
fn face_axes(
    kernels: &Kernels,
    texture: &Texture,
    level: &Level,
    operands: &Operands,
    exec: u32,
    axes: &mut [Axis; 3],
) -> Option<CubeLayers> {
    let mut faces = Faces::ZERO;
    kernels.faces(&operands.coordinates.map(|row| floats(&row)), &mut faces);
    let last = (texture.image.layers / 6).max(1) - 1;
    let cube = if last == 0 { 0 } else { one_layer(kernels, &operands.layer, last, exec)? };
    for face in &mut faces.face {
        *face += 6 * cube;
    }
    let (mut layers, mut same, mut inside) = ([0; LANES], false, false);
    kernels.layers(&faces.face, texture.image.layers - 1, exec, &mut layers, &mut same);
    const ZERO: Ints = [0; LANES];
    kernels.face_axes(&faces.place, level.width, [&ZERO; 2], axes, &mut inside);
    let same = same.then_some(layers[exec.trailing_zeros() as usize % LANES]);
    Some(CubeLayers { layers, same, inside })
}

impl Request {
    /// Whether an instruction is a 2D load, or a sample in two dimensions or of a cube, without comparison, offsets
    /// or other modifiers.
    fn is_plain(&self) -> bool {
        let kind = match self.kind {
            Kind::Load => self.lod == LodSource::Auto && self.is_flat(),
            Kind::Sample => self.is_flat() || self.is_cube(),
            _ => false,
        };
        let further = self.compare || self.offset || self.residency;
        kind && !further
    }
}

impl Texture {
    /// Whether a single level is read with one filter, and the wrap modes are those that drivers
    /// use: none with a border for samples, a border for loads. Of cubes, whether a linear filter reads square
    /// faces that have neighbours.
    fn is_plain(&self, sampler: &Sampler, request: &Request) -> bool {
        let [x, y, _] = sampler.wrap;
        if request.is_cube() {
            let base = self.image.level(0);
            let linear = sampler.minify == Kernel::Linear && !self.unpacker.is_integer();
            let square = base.width == base.height;
            return self.is_one_level(sampler) && sampler.seamless && linear && square;
        }
        if request.kind == Kind::Load {
            return x == Wrap::ClampToBorder && y == Wrap::ClampToBorder;
        }
        self.is_one_level(sampler) && !has_border(x) && !has_border(y)
    }

    /// The addressing of the first two axes.
    fn rules(&self, sampler: &Sampler, level: &Level, linear: bool) -> [AxisRule; 2] {
        let pixel = sampler.pixel_coordinates;
        [(level.width, sampler.wrap[0]), (level.height, sampler.wrap[1])]
            .map(|(size, wrap)| AxisRule { size, wrap, pixel, linear, moved: false })
    }
}

fn has_border(wrap: Wrap) -> bool {
    matches!(wrap, Wrap::ClampToBorder | Wrap::ClampGl)
}

impl<M: Memory> Filter<'_, M> {
    /// Linear filtering of formats that unpack to floats.
    pub fn plain_linear(
        &mut self,
        level: &Level,
        axes: &[Axis; 3],
        out: &mut Channels,
    ) -> Option<()> {
        let bordered = !self.seamless && self.wrap[..2].iter().any(|&wrap| has_border(wrap));
        if self.axes != 2 || self.compare.is_some() || bordered || self.flat.is_none() {
            return None;
        }
        let place = self.fetch.place(self.kernels, level, self.flat?)?;
        place.quad(self.fetch.memory, self.blocks, self.unpacker, axes, self.taps)?;
        let Filter { kernels, unpacker, wanted, .. } = *self;
        let weight = [&axes[0].weight, &axes[1].weight];
        kernels.quad(&Quad { unpacker, words: self.taps, weight, wanted }, out);
        Some(())
    }

    /// The words of texels at columns and rows `at`.
    pub fn plain_words(&mut self, level: &Level, at: [&Ints; 2], words: &mut Words) -> Option<()> {
        let place = self.fetch.place(self.kernels, level, self.flat?)?;
        place.one(self.fetch.memory, at, words)
    }
}

impl<'a, M: Memory> Fetcher<'a, M> {
    fn place(&self, kernels: &'a Kernels, level: &'a Level, layer: u32) -> Option<Place<'a>> {
        let (image, exec) = (self.image, self.exec);
        let place = |whole| Place { kernels, image, level, layer, exec, whole };
        self.whole.filter(|_| image.plain).map(place)
    }
}

/// One layer of one level of an image that is contiguous in host memory.
struct Place<'a> {
    kernels: &'a Kernels,
    image: &'a Image,
    level: &'a Level,
    layer: u32,
    exec: u32,
    /// Host address of the image, valid for reads of its span.
    whole: *const u8,
}

impl Place<'_> {
    /// Masks for columns and rows; see [`compression::together`].
    #[inline(always)]
    fn keep<M: Memory>(&self, memory: &mut M, at: &[[&Ints; 2]; 2]) -> Option<[u32; 2]> {
        if self.level.metadata.is_none() {
            return Some([u32::MAX; 2]);
        }
        let mut bounds = [[0; 2]; 2];
        self.kernels.bounds(at, self.exec, &mut bounds);
        compression::together(memory, self.image, self.level, u64::from(self.layer), bounds)
    }

    #[inline(always)]
    fn host(&self) -> *const u8 {
        let start = self.level.offset + u64::from(self.layer) * self.image.layer_stride;
        // SAFETY: layers start inside of the image's span.
        unsafe { self.whole.add(start as usize) }
    }

    /// The words of texels, which must be inside the level.
    #[inline(always)]
    fn one<M: Memory>(&self, memory: &mut M, at: [&Ints; 2], words: &mut Words) -> Option<()> {
        let Place { image, level, .. } = *self;
        let keep = self.keep(memory, &at.map(|row| [row, row]))?;
        let mut offsets = [0; LANES];
        match image.block {
            [1, 1] => {
                self.kernels.texel_offsets(level, image.element_shift, keep, at, &mut offsets);
            }
            _ => self.kernels.block_offsets(level, image.element_shift, at, &mut offsets),
        }
        // SAFETY: the texels are inside of the level.
        let texels =
            unsafe { Scattered::new(self.host(), &offsets, self.exec, image.sample_bytes) };
        self.kernels.texels(&texels, words);
        Some(())
    }

    /// The words of 32 neighbouring 4-byte texels of a row, aligned to 32: the pattern of programs
    /// that copy images.
    #[inline(always)]
    fn line<M: Memory>(&self, memory: &mut M, at: [&Row; 2], words: &mut Words) -> Option<()> {
        let Place { image, level, .. } = *self;
        let [x, y] = at.map(|row| row[0]);
        let is_word = image.sample_bytes == 4 && image.block == [1, 1];
        let whole = self.exec == u32::MAX && is_word && x % LANES as u32 == 0;
        if !whole || y >= level.height || x.saturating_add(LANES as u32) > level.width {
            return None;
        }
        let mut follow = false;
        self.kernels.follow(at, &mut follow);
        let linear = level.is_linear();
        if !follow || !(linear || level.has_lines(LANES as u32)) {
            return None;
        }
        let mut keep = [u32::MAX; 2];
        if level.metadata.is_some() {
            let bounds = [[x, y], [x + LANES as u32 - 1, y]];
            let layer = u64::from(self.layer);
            keep = compression::together(memory, image, level, layer, bounds)?;
        }
        if keep != [u32::MAX; 2] {
            let first = level.plain_line(y & keep[1]);
            let mut last = None;
            for (i, word) in words[0].iter_mut().enumerate() {
                let column = (x + i as u32) & keep[0];
                *word = match last {
                    Some((at, colour)) if at == column => colour,
                    _ => {
                        let element = first + level.plain_column(column);
                        // SAFETY: the first texel of a texel's tile is inside of the level.
                        unsafe { self.host().cast::<u32>().add(element as usize).read_unaligned() }
                    }
                };
                last = Some((column, *word));
            }
            return Some(());
        }
        let texel = |x, y| ((level.plain_column(x) + level.plain_line(y)) as usize) << 2;
        // SAFETY: the texel is inside of the level.
        let from = unsafe { self.host().add(texel(x, y)) };
        if linear {
            // SAFETY: so are the 31 others of the row.
            words[0] = unsafe { from.cast::<Row>().read_unaligned() };
            return Some(());
        }
        self.prefetch(level, x, y);
        // SAFETY: so are the 31 others of the line.
        let texels = unsafe { Line::new(from.cast()) };
        self.kernels.line(&texels, &mut words[0]);
        Some(())
    }

    /// Prefetches two of the 4x4 squares of texels below a row: programs that copy images read row
    /// after row.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    #[inline(always)]
    fn prefetch(&self, level: &Level, x: u32, y: u32) {
        #[cfg(target_arch = "x86_64")]
        if y | 3 < level.height - 1 {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = level.plain_line((y | 3) + 1);
            for square in [0, 1].map(|k| 2 * (y % 4) + k) {
                let element = level.plain_column(x + 4 * square) + line;
                let texel = self.host().wrapping_add((element as usize) << 2);
                // SAFETY: SSE is part of x86-64; nothing is read, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(texel.cast()) };
            }
        }
    }

    /// Checks that texels of several layers all lie where an uncompressed image has them.
    fn uncompressed<M: Memory>(&self, memory: &mut M, layers: &Row, at: [&Ints; 2]) -> Option<()> {
        let mut left = self.exec;
        while left != 0 {
            let layer = layers[left.trailing_zeros() as usize % LANES];
            let mut lanes = 0;
            for i in 0..LANES {
                lanes |= u32::from(layers[i] == layer) << i;
            }
            let place = Place { layer, exec: left & lanes, ..*self };
            let keep = place.keep(memory, &at.map(|row| [row, row]))?;
            if keep != [u32::MAX; 2] {
                return None;
            }
            left &= !lanes;
        }
        Some(())
    }

    /// The words of the four texels of a linear filter on a cube, of lanes that look at several faces or across their edges. `None` at
    /// corners, where a texel is missing, and in tiles that are not stored as in an uncompressed image.
    #[inline(never)]
    fn across<M: Memory>(
        &self,
        memory: &mut M,
        blocks: &mut Blocks,
        unpacker: &Unpacker,
        cube: &CubeLayers,
        axes: &[Axis; 3],
        taps: &mut [Words; 4],
    ) -> Option<()> {
        let Place { kernels, image, level, exec, .. } = *self;
        let first = cube.layers.map(|layer| layer / 6 * 6);
        for (k, words) in taps.iter_mut().enumerate() {
            let (mut x, mut y) = (axes[0].texel[k & 1], axes[1].texel[k >> 1]);
            let mut face = cube.layers;
            for i in 0..LANES {
                face[i] -= first[i];
            }
            if cross(level.width, &mut face, &mut x, &mut y) & exec != 0 {
                return None;
            }
            let at = [&x, &y];
            let mut layers = [0; LANES];
            for i in 0..LANES {
                layers[i] = (first[i] + face[i]).min(image.layers - 1);
            }
            if level.metadata.is_some() {
                self.uncompressed(memory, &layers, at)?;
            }
            let mut offsets = [0; LANES];
            match image.block {
                [1, 1] => {
                    let keep = [u32::MAX; 2];
                    kernels.texel_offsets(level, image.element_shift, keep, at, &mut offsets);
                }
                _ => kernels.block_offsets(level, image.element_shift, at, &mut offsets),
            }
            for i in 0..LANES {
                offsets[i] += layers[i] * image.layer_stride as u32;
            }
            let host = self.whole.wrapping_add(level.offset as usize);
            // SAFETY: the texels are inside of the level, whose layers are inside of the image's span, which has less than 4 GiB.
            let texels = unsafe { Scattered::new(host, &offsets, exec, image.sample_bytes) };
            kernels.texels(&texels, words);
            blocks.decode(unpacker, exec, at, words);
        }
        Some(())
    }

    /// The words of the four texels of a linear filter.
    #[inline(always)]
    fn quad<M: Memory>(
        &self,
        memory: &mut M,
        blocks: &mut Blocks,
        unpacker: &Unpacker,
        axes: &[Axis; 3],
        taps: &mut [Words; 4],
    ) -> Option<()> {
        let Place { image, level, .. } = *self;
        if image.block != [1, 1] {
            // SAFETY: texels of axes are inside of the level.
            let quad = unsafe { BlockQuad::new(self.host(), level, axes, self.exec) };
            blocks.quad(self.kernels, unpacker, &quad, taps);
            return Some(());
        }
        let [x, y, _] = axes;
        let at = [[&x.texel[0], &x.texel[1]], [&y.texel[0], &y.texel[1]]];
        let keep = self.keep(memory, &at)?;
        // SAFETY: texels of axes are inside of the level.
        let corners =
            unsafe { Corners::new(self.host(), level, axes, keep, self.exec, image.element_shift) };
        self.kernels.corner_texels(&corners, taps);
        Some(())
    }
}
