//! The runtime's calls: renderings, copies, clears, queries.

use tepui_agx_compiler::abi::tile::{Layout, TARGETS, Tile};
use tepui_agx_compiler::descriptor::{ROW_B, STATE_B};
use tepui_agx_packets::{render, usc, vdm};
use tepui_drm::uapi::asahi::{self as uapi, BgEot, CmdRender, ZlsBuffer};
use tepui_format::{Format, Numeric};
use tepui_ir::NumKind;
use tepui_layout::Dimension;
use tepui_vulkan::backend::{
    Attachment, Blit, BufferPixels, Condition, Counts, Dispatch, Draw, Encoder as Record,
    ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::{CommandState, MAX_PUSH};
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::{DrawOutcome, ExpandingEncoder};
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::state::{GraphicsState, Stencil};
use tepui_vulkan::{Error, Result, vk};

use super::compression::{Area, is_compressed};
use super::{Bindings, Encoder, Render, Unfinished, Work, put};
use crate::Agx;
use crate::descriptor::{self, Part, Row};
use crate::device::packet;
use crate::image::{Image, Plane};
use crate::meta::{Program, RECTANGLE, Resolve, SIDE_WORDS};
use crate::query::Queries;
use crate::tile::{Before, shared};

const IDENTITY: [vk::ComponentSwizzle; 4] = [vk::ComponentSwizzle::IDENTITY; 4];

fn part_of(i: &ImageRef<Agx>, format: Format) -> Part {
    Part {
        plane: i.plane,
        format,
        dimension: Dimension::D2,
        array: true,
        levels: [i.level, 1],
        layers: [i.layer, i.layers],
        swizzle: IDENTITY,
        storage: true,
    }
}

/// A part of an image whose 3D slices are layers.
fn flat(p: Part, image: &Image) -> Part {
    let is_3d = image.planes[0].layout.desc().shape.dimension == Dimension::D3;
    // The hardware reads slices of a 3D image as layers, since their layouts are equal.
    if is_3d { Part { dimension: Dimension::D2, ..p } } else { p }
}

fn kind_of(f: Format) -> NumKind {
    if matches!(f, Format::S8_UINT) {
        return NumKind::Uint;
    }
    if matches!(f, Format::D16_UNORM | Format::D32_SFLOAT | Format::D32_SFLOAT_S8_UINT) {
        return NumKind::Float;
    }
    match f.info().numeric() {
        Numeric::Uint => NumKind::Uint,
        Numeric::Sint => NumKind::Sint,
        _ => NumKind::Float,
    }
}

/// The format through which stores write depth and stencil.
fn colour_format(f: Format) -> Format {
    match f {
        Format::D16_UNORM => Format::R16_UNORM,
        Format::D32_SFLOAT => Format::R32_SFLOAT,
        Format::S8_UINT => Format::R8_UINT,
        f => f,
    }
}

/// One side of an image copy.
pub(super) struct Side {
    pub(super) words: [u32; SIDE_WORDS as usize],
    pub(super) tiled: bool,
}

pub(super) fn split(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

impl Side {
    fn buffer(b: &BufferPixels) -> Side {
        let ([b0, b1], [s0, s1]) = (split(b.address), split(b.slice_pitch));
        Side { words: [b0, b1, s0, s1, b.row_pitch as u32, 0, 0, 0, 0, 0], tiled: false }
    }

    /// First column, row and slice of an image.
    pub(super) fn first(&self) -> [u32; 3] {
        [self.words[7], self.words[8], self.words[9]]
    }

    pub(super) fn image(
        plane: &Plane,
        address: u64,
        level: u32,
        first_layer: u32,
        [x, y, z]: [u32; 3],
    ) -> Result<Side> {
        let l = &plane.layout;
        let at = l
            .levels()
            .get(level as usize)
            .ok_or_else(|| Error::unsupported("a level that does not exist"))?;
        let start = address + at.offset_B + u64::from(first_layer) * l.layer_stride_B;
        let ([b0, b1], [s0, s1]) = (split(start), split(l.layer_stride_B));
        let tiled = l.desc().tiling != tepui_agx_layout::Tiling::Linear;
        let [tw, th] = at.tile_el.to_array();
        let (pitch, lw, lh) = match tiled {
            true => (at.tiles.w, tw.ilog2(), th.ilog2()),
            false => (at.stride_B as u32, 0, 0),
        };
        Ok(Side { words: [b0, b1, s0, s1, pitch, lw, lh, x, y, z], tiled })
    }
}

impl Encoder {
    /// Runs a program of the driver's own after all launches before and before all later ones, with words and rows of descriptors.
    pub(super) fn run(
        &mut self,
        p: Program,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        self.order();
        self.run_unordered(p, words, rows, threads)?;
        self.order();
        Ok(())
    }

    /// Runs a program of the driver's own that does what a command of the application says: the application orders it.
    pub(super) fn run_unordered(
        &mut self,
        p: Program,
        words: &[u32],
        rows: &[Row],
        threads: [u32; 3],
    ) -> Result<()> {
        let v = self.device.clone().meta(p)?.compute()?;
        self.driver[..words.len()].copy_from_slice(words);
        let mut bindings = Bindings::default();
        if !rows.is_empty() {
            bindings.addresses[0] = self.upload(rows.as_flattened(), 64)?.address;
        }
        let groups = [0, 1, 2].map(|k| threads[k].div_ceil(v.workgroup[k]));
        self.launch(&v, &bindings, &[0; MAX_PUSH], &Dispatch::Direct([0; 3], groups), true)
    }

    /// A copy of indirect draws in which only the first ones, by a count in memory, have instances.
    pub(super) fn counted(
        &mut self,
        address: u64,
        count: u64,
        most: u32,
        stride: u32,
        indexed: bool,
    ) -> Result<(u64, u32)> {
        let words = if indexed { 5 } else { 4 };
        let own = 4 * u32::from(words);
        let to = self.room(u64::from(own) * u64::from(most.max(1)))?;
        let ([a, b], [c, d], [e, f]) = (split(address), split(to), split(count));
        self.run(Program::Count(words), &[a, b, c, d, e, f, stride, most], &[], [most, 1, 1])?;
        Ok((to, own))
    }

    /// Parameters of draws or dispatches that are zeros when the condition does not hold: the address of the copy.
    fn conditional(
        &mut self,
        c: Condition,
        from: u64,
        words: u8,
        [stride, most]: [u32; 2],
    ) -> Result<u64> {
        let to = self.room(4 * u64::from(words) * u64::from(most.max(1)))?;
        let ([a, b], [d, e], [f, g]) = (split(from), split(to), split(c.address));
        let own = [a, b, d, e, f, g, stride, most, u32::from(c.inverted)];
        self.run(Program::Condition(words), &own, &[], [most, 1, 1])?;
        Ok(to)
    }

    /// A draw under a condition: one without vertices when it does not hold.
    fn conditional_draw(&mut self, condition: Option<Condition>, draw: Draw) -> Result<Draw> {
        let Some(c) = condition else { return Ok(draw) };
        match draw {
            Draw::Direct(d) => {
                let mut words = vec![d.count, d.instances, d.first];
                if d.indexed {
                    words.push(d.vertex_offset as u32);
                }
                words.push(d.first_instance);
                let from = self.upload(bytemuck::cast_slice(&words), 16)?.address;
                let n = words.len() as u8;
                let stride = 4 * u32::from(n);
                let address = self.conditional(c, from, n, [stride, 1])?;
                Ok(Draw::Indirect {
                    address,
                    count: 1,
                    stride,
                    count_address: None,
                    indexed: d.indexed,
                    draw_index: d.draw_index,
                })
            }
            Draw::Indirect { address, count, stride, count_address, indexed, draw_index } => {
                let words = if indexed { 5 } else { 4 };
                let address = self.conditional(c, address, words, [stride, count])?;
                let stride = 4 * u32::from(words);
                Ok(Draw::Indirect { address, count, stride, count_address, indexed, draw_index })
            }
        }
    }

    /// A dispatch under a condition: one without workgroups when it does not hold.
    fn conditional_dispatch(
        &mut self,
        condition: Option<Condition>,
        dispatch: Dispatch,
    ) -> Result<Dispatch> {
        let Some(c) = condition else { return Ok(dispatch) };
        let (base, from) = match dispatch {
            Dispatch::Direct(base, groups) => {
                (base, self.upload(bytemuck::cast_slice(&groups), 16)?.address)
            }
            Dispatch::Indirect(base, address) => (base, address),
        };
        Ok(Dispatch::Indirect(base, self.conditional(c, from, 3, [12, 1])?))
    }

    fn copy(&mut self, from: &Side, to: &Side, element: u32, extent: [u32; 3]) -> Result<()> {
        if extent.contains(&0) {
            return Ok(());
        }
        let unit = 1 << element.trailing_zeros().min(4);
        let mut words = Vec::with_capacity(23);
        words.extend_from_slice(&from.words);
        words.extend_from_slice(&to.words);
        words.extend_from_slice(&extent);
        let p = Program::Copy {
            unit: unit as u8,
            units: (element / unit) as u8,
            from_tiled: from.tiled,
            to_tiled: to.tiled,
        };
        self.run_unordered(p, &words, &[], extent)
    }

    /// The tile of a rendering.
    fn tile(rendering: &Rendering<Agx>) -> Tile {
        let mut formats = [None; TARGETS];
        for (to, a) in formats.iter_mut().zip(&rendering.colours) {
            *to = a.as_ref().map(|a| a.image.format);
        }
        Tile { formats, samples: rendering.samples as u8, ..Tile::default() }
    }

    /// Background state of commands: the USC words of a background program.
    fn background(
        &mut self,
        r: &Render,
        rendering: &Rendering<Agx>,
        before: [Before; TARGETS],
    ) -> Result<BgEot> {
        if before.iter().all(|b| *b == Before::Nothing) {
            return Ok(BgEot::default());
        }
        let v = self.device.clone().background(&r.tile, before)?;
        let mut rows = [[0u8; ROW_B as usize]; TARGETS];
        for (k, a) in rendering.colours.iter().enumerate() {
            let Some(a) = a else { continue };
            let clear = a.clear;
            self.driver[4 * k..4 * k + 4].copy_from_slice(&clear);
            if before[k] == Before::Load {
                let p = flat(part_of(&a.image, a.image.format), &a.image.image);
                rows[k][..24].copy_from_slice(&descriptor::texture(
                    &a.image.image,
                    a.image.addresses,
                    &p,
                )?);
            }
        }
        let mut bindings = Bindings::default();
        bindings.addresses[0] = self.upload(rows.as_flattened(), 64)?.address;
        let samples = r.tile.samples;
        let own = |s: tepui_agx_compiler::Source| match s {
            tepui_agx_compiler::Source::SamplePositions => {
                Some(super::values::word(r.packed_sample_places()))
            }
            tepui_agx_compiler::Source::SampleMask => Some(super::values::word(0xffff)),
            _ => None,
        };
        let block = self.block(&v, &bindings, &[0; MAX_PUSH], &own)?;
        let mut words = Vec::new();
        self.state_words(&mut words, &v, block, |s| bindings.addresses[usize::from(s)])?;
        put!(words, shared(&r.layout, samples));
        put!(words, usc::Shader { code: v.code.usc(), ..usc::Shader::default() });
        put!(
            words,
            usc::Registers {
                register_count: u32::from(v.registers).max(8).next_multiple_of(8).min(256),
                ..usc::Registers::default()
            }
        );
        match &v.preamble {
            Some(code) => put!(words, usc::Preshader { code: code.usc() }),
            None => put!(words, usc::NoPreshader {}),
        }
        let counts = render::Counts {
            uniform_register_count: Self::uniform_count(&v),
            texture_state_register_count: v.textures.next_multiple_of(8),
            sampler_state_register_count: Self::sampler_states(&v),
            preshader_register_count: 16,
            ..render::Counts::default()
        };
        let counts = counts.pack().map_err(packet)?;
        self.keep.push(v);
        Ok(BgEot {
            usc: self.upload(&words, 64)?.usc() as u32 | 4,
            rsrc_spec: u32::from_le_bytes(counts),
        })
    }

    /// USC words of an end-of-tile program.
    fn end_of_tile(&mut self, r: &Render, rendering: &Rendering<Agx>, stored: u8) -> Result<BgEot> {
        if stored == 0 {
            return Ok(BgEot::default());
        }
        let code = self.device.clone().end_of_tile(&r.tile, &r.layout, stored)?;
        let mut descriptors = Vec::new();
        for (k, a) in rendering.colours.iter().enumerate() {
            if stored >> k & 1 != 0
                && let Some(a) = a
            {
                let p = flat(part_of(&a.image, a.image.format), &a.image.image);
                descriptors.extend_from_slice(&descriptor::pbe(
                    &a.image.image,
                    a.image.addresses,
                    &p,
                    true,
                )?);
            }
        }
        let count = descriptors.len() as u32 / 24;
        let buffer = self.upload(&descriptors, 64)?.address;
        let mut words = Vec::new();
        put!(words, usc::Texture { start: 0, count, buffer });
        put!(words, shared(&r.layout, r.tile.samples));
        put!(words, usc::Shader { code: code.usc(), ..usc::Shader::default() });
        put!(words, usc::Registers { register_count: 64, ..usc::Registers::default() });
        put!(words, usc::NoPreshader {});
        let counts = render::Counts {
            texture_state_register_count: count.next_multiple_of(8),
            ..render::Counts::default()
        };
        let counts = counts.pack().map_err(packet)?;
        Ok(BgEot {
            usc: self.upload(&words, 64)?.usc() as u32 | 4,
            rsrc_spec: u32::from_le_bytes(counts),
        })
    }

    fn zls(a: &Attachment<Agx>, format: Format) -> Result<Zls> {
        let aspect = match format {
            Format::S8_UINT => vk::ImageAspectFlags::STENCIL,
            _ => vk::ImageAspectFlags::DEPTH,
        };
        let format = aspect_format(a.image.format, aspect);
        let plane = a.image.image.plane(aspect);
        let l = &a.image.image.planes[plane].layout;
        let offset = l
            .level_offset_B(a.image.level, a.image.layer)
            .ok_or_else(|| Error::unsupported("an attachment's level that does not exist"))?;
        let pages = (l.layer_stride_B / tepui_agx_chips::PAGE_BYTES).max(1) as u32;
        let base = a.image.addresses[plane] + offset;
        // source: Mesa, hk_cmd_draw.c, "Main stride in pages"
        let mut buffer = ZlsBuffer { base, stride: (pages - 1) << 14 | 1, ..Default::default() };
        let compressed = l.is_level_compressed(a.image.level);
        if let Some(m) = l.metadata.as_ref().filter(|_| compressed) {
            buffer.comp_base = a.image.addresses[plane]
                + m.offset_B
                + u64::from(a.image.layer) * m.layer_stride_B
                + m.levels()[a.image.level as usize].offset_B;
            // source: as above, "Meta stride in cache lines"
            let lines = (m.layer_stride_B / tepui_agx_layout::CACHE_LINE_B) as u32;
            buffer.comp_stride = (lines - 1) << 14;
        }
        Ok(Zls { buffer, format, compressed })
    }

    fn clear_draw(
        &mut self,
        state: &mut CommandState<Agx>,
        a: &Clear,
        rect: &vk::ClearRect,
        size: [u32; 2],
    ) -> Result<()> {
        let fragment = self.device.clone().meta(Program::ClearFragments(a.colours, a.integers))?;
        let graphics = GraphicsState {
            samples: state.graphics.samples,
            depth_test: a.depth.is_some(),
            depth_write: a.depth.is_some(),
            depth_compare: vk::CompareOp::ALWAYS,
            stencil_test: a.stencil.is_some(),
            stencil_reference: [a.stencil.unwrap_or(0); 2],
            stencil: [Stencil {
                fail: vk::StencilOp::REPLACE,
                pass: vk::StencilOp::REPLACE,
                depth_fail: vk::StencilOp::REPLACE,
                compare: vk::CompareOp::ALWAYS,
            }; 2],
            ..GraphicsState::default()
        };
        let mut own = CommandState::<Agx>::of(graphics);
        own.bound.fragment = Some(fragment);
        own.condition = state.condition;
        let view_mask = state.rendering.as_ref().map_or(0, |r| r.view_mask);
        let depth = a.depth.unwrap_or(0.0);
        let result = self.rectangle(own, &a.words, depth, rect, size, view_mask);
        state.invalidate();
        result
    }

    /// Draws a rectangle of the current rendering with a fragment program of the driver's own and its words.
    fn rectangle(
        &mut self,
        mut own: CommandState<Agx>,
        words: &[u32; 32],
        depth: f32,
        rect: &vk::ClearRect,
        size: [u32; 2],
        view_mask: u32,
    ) -> Result<()> {
        let e = rect.rect;
        own.bound.vertex = Some(self.device.clone().meta(Program::ClearVertices)?);
        own.graphics.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        own.graphics.depth_clamp = true;
        own.graphics.viewports[0] = vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: size[0] as f32,
            height: size[1] as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        own.graphics.scissors[0] = e;
        let draw = Draw::Direct(Counts {
            count: 4,
            instances: if view_mask == 0 { rect.layer_count.max(1) } else { 1 },
            ..Counts::default()
        });
        // Before the words are set: a condition is evaluated by a program with words of its own.
        let draw = self.conditional_draw(own.condition, draw)?;
        let to_clip = |v: i64, n: u32| (2.0 * v as f32 / n.max(1) as f32 - 1.0).to_bits();
        let (x, y) = (i64::from(e.offset.x), i64::from(e.offset.y));
        let corners = [
            to_clip(x, size[0]),
            to_clip(y, size[1]),
            to_clip(x + i64::from(e.extent.width), size[0]),
            to_clip(y + i64::from(e.extent.height), size[1]),
            depth.to_bits(),
            rect.base_array_layer,
        ];
        self.driver[..32].copy_from_slice(words);
        self.driver[32..38].copy_from_slice(&corners);
        // Internal draw: excluded from queries.
        let (query, statistics) = (self.query.take(), std::mem::take(&mut self.statistics));
        self.query_dirty |= query.is_some();
        let mut render = self.render.take();
        let mut result = Ok(());
        if let Some(r) = &mut render {
            if view_mask == 0 {
                result = self.draw_in(r, &mut own, &draw, 0);
            }
            for view in (0..32).filter(|v| view_mask >> v & 1 != 0) {
                self.driver[37] = view;
                own.invalidate();
                result = result.and_then(|()| self.draw_in(r, &mut own, &draw, 0));
            }
        }
        self.render = render;
        (self.query, self.statistics) = (query, statistics);
        result
    }

    /// Resolves the colours of the current rendering that are in the tile, by a last draw, so that
    /// multisampled images that are never read need not be written. Returns a mask of them.
    fn resolve_in_tile(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
        let Some(r) = &self.render else { return Ok(0) };
        let (samples, spilled, size) = (r.tile.samples, r.layout.spilled, r.size);
        if samples < 2 {
            return Ok(0);
        }
        let mut rows: [Row; 2 * TARGETS] = [[0; ROW_B as usize]; 2 * TARGETS];
        let (mut averaged, mut first, mut integers) = (0u8, 0u8, 0u8);
        for (k, a) in rendering.colours.iter().enumerate() {
            let Some(a) = a.as_ref().filter(|_| spilled >> k & 1 == 0) else { continue };
            let Some((to, mode)) = &a.resolve else { continue };
            let is_integer = kind_of(a.image.format) != NumKind::Float;
            match *mode {
                vk::ResolveModeFlags::AVERAGE if !is_integer => averaged |= 1 << k,
                vk::ResolveModeFlags::AVERAGE | vk::ResolveModeFlags::SAMPLE_ZERO => {
                    first |= 1 << k
                }
                _ => continue,
            }
            integers |= u8::from(is_integer) << k;
            self.open_attachment(to, rendering, true)?;
            let p = flat(part_of(to, to.format), &to.image);
            rows[TARGETS + k] = descriptor::storage(&to.image, to.addresses, &p)?;
        }
        if averaged | first == 0 {
            return Ok(0);
        }
        let address = self.upload(rows.as_flattened(), 64)?.address;
        if let Some(r) = &mut self.render {
            r.set_targets(address);
        }
        let program = Program::ResolveTile { averaged, first, integers, samples };
        let graphics = GraphicsState { samples: u32::from(samples), ..GraphicsState::default() };
        let mut own = CommandState::<Agx>::of(graphics);
        own.bound.fragment = Some(self.device.clone().meta(program)?);
        let rect = vk::ClearRect {
            rect: rendering.area,
            base_array_layer: 0,
            layer_count: rendering.layers.max(1),
        };
        self.rectangle(own, &[0; 32], 0.0, &rect, size, rendering.view_mask)?;
        Ok(averaged | first)
    }
}

/// Depth or stencil as the depth unit loads and stores it.
struct Zls {
    /// The buffer.
    buffer: ZlsBuffer,
    /// Its format.
    format: Format,
    /// Whether it has metadata.
    compressed: bool,
}

/// Contents of a clear inside of a rendering.
struct Clear {
    colours: u8,
    integers: u8,
    words: [u32; 32],
    depth: Option<f32>,
    stencil: Option<u32>,
}

impl Record<Agx> for Encoder {
    fn reset(&mut self) {
        self.clear();
    }

    fn finish(&mut self) -> Result<()> {
        self.end_compute(uapi::Timestamps::default())
    }

    fn begin_rendering(&mut self, rendering: &Rendering<Agx>) -> Result<()> {
        let tile = Self::tile(rendering);
        let layout = Layout::new(&tile).map_err(Error::unsupported)?;
        let mut size = [0, 1].map(|k| {
            let (o, e) = match k {
                0 => (rendering.area.offset.x, rendering.area.extent.width),
                _ => (rendering.area.offset.y, rendering.area.extent.height),
            };
            o.max(0) as u32 + e
        });
        let all =
            rendering.colours.iter().flatten().chain(&rendering.depth).chain(&rendering.stencil);
        for a in all {
            let e = a.image.extent();
            size = [0, 1].map(|k| size[k].max(e[k]));
        }
        let whole = is_whole(rendering, size, &layout);
        let targets = self.spilled_targets(rendering, layout.spilled)?;
        let layers = rendering.layers.max(1);
        let mut r = Render::new(layout, tile, size, rendering.area, layers, targets);
        r.zs = [rendering.depth.is_some(), rendering.stencil.is_some()];
        r.depth_16 = rendering.depth.as_ref().is_some_and(|d| d.image.format == Format::D16_UNORM);
        self.render = Some(Box::new(r));
        self.query_dirty = true;
        if !whole {
            self.clear_area(rendering, size)?;
        }
        Ok(())
    }

    fn end_rendering(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
        let resolved = self.resolve_in_tile(rendering)?;
        let Some(mut r) = self.render.take() else { return Ok(0) };
        // Dispatches that the render's draws depend on come first.
        self.end_compute(uapi::Timestamps::default())?;
        let whole = is_whole(rendering, r.size, &r.layout);
        let mut before = [Before::Nothing; TARGETS];
        let (mut partial, mut stored, mut all) = ([Before::Nothing; TARGETS], 0u8, 0u8);
        for (k, a) in rendering.colours.iter().enumerate() {
            let Some(a) = a.as_ref().filter(|_| r.layout.spilled >> k & 1 == 0) else { continue };
            before[k] = match a.load {
                vk::AttachmentLoadOp::CLEAR if whole => Before::Clear,
                vk::AttachmentLoadOp::DONT_CARE if whole => Before::Nothing,
                _ => Before::Load,
            };
            partial[k] = Before::Load;
            all |= 1 << k;
            let is_read = a.resolve.is_some() && resolved >> k & 1 == 0;
            let keeps = a.store == vk::AttachmentStoreOp::STORE || is_read || !whole;
            stored |= u8::from(keeps) << k;
        }
        if r.tile.samples == 0 {
            r.tile.samples = 1;
            r.layout = Layout::new(&r.tile).map_err(Error::unsupported)?;
        }
        let bg = self.background(&r, rendering, before)?;
        let partial_bg = self.background(&r, rendering, partial)?;
        let eot = self.end_of_tile(&r, rendering, stored)?;
        let partial_eot = self.end_of_tile(&r, rendering, all)?;
        r.stream.reserve(&mut self.arena, &self.device)?;
        put!(r.stream, vdm::StreamTerminate {});
        let stream = r.stream.start();
        let scissors = self.upload(&r.scissors, 64)?.address;
        let biases = self.upload(&r.biases, 64)?.address;
        let mut zls = render::ZlsControl::default();
        let (mut depth, mut stencil) = (ZlsBuffer::default(), ZlsBuffer::default());
        let (mut bgobjdepth, mut bgobjvals) = (1f32.to_bits(), 0x300);
        let mut zls_px = r.size;
        let loads = |a: &Attachment<Agx>| {
            let clears =
                matches!(a.load, vk::AttachmentLoadOp::CLEAR | vk::AttachmentLoadOp::DONT_CARE);
            !(clears && whole)
        };
        let keeps = |a: &Attachment<Agx>| {
            a.store == vk::AttachmentStoreOp::STORE || a.resolve.is_some() || !whole
        };
        if let Some(a) = &rendering.depth {
            let Zls { buffer, format, compressed } = Self::zls(a, Format::D32_SFLOAT)?;
            depth = buffer;
            (zls.z_load_compress, zls.z_store_compress) = (compressed, compressed);
            zls.z_load = loads(a);
            zls.z_store = keeps(a);
            if format == Format::D16_UNORM {
                zls.z_format = render::ZlsFormat::U16;
            }
            zls_px = a.image.extent();
            let clear = f32::from_bits(a.clear[0]).clamp(0.0, 1.0);
            bgobjdepth = match format {
                Format::D16_UNORM => (clear * 65535.0).round_ties_even() as u32,
                _ => clear.to_bits(),
            };
        }
        if let Some(a) = &rendering.stencil {
            let Zls { buffer, compressed, .. } = Self::zls(a, Format::S8_UINT)?;
            stencil = buffer;
            (zls.s_load_compress, zls.s_store_compress) = (compressed, compressed);
            zls.s_load = loads(a);
            zls.s_store = keeps(a);
            zls_px = a.image.extent();
            bgobjvals |= a.clear[0] & 0xff;
        }
        let zls = u64::from_le_bytes(zls.pack().map_err(packet)?);
        let px = render::IspZlsPixels { x: zls_px[0], y: zls_px[1] }.pack().map_err(packet)?;
        let places = r.sample_places();
        let control = render::PppMultisampleControl {
            sample_x: places.map(|p| u64::from(p[0]) as _),
            sample_y: places.map(|p| u64::from(p[1]) as _),
        };
        let helpers = [self.helper(r.scratch[0])?, self.helper(r.scratch[1])?];
        let dbias = if r.bias_unorm == Some(true) { uapi::RENDER_DBIAS_IS_INT } else { 0 };
        let scratch = if r.scratch[0] > 0 { uapi::RENDER_VERTEX_SCRATCH } else { 0 };
        // Without attachments, the area is often as large as can be, in as many layers, for a draw of a few pixels.
        let mut attachments =
            rendering.colours.iter().flatten().chain(&rendering.depth).chain(&rendering.stencil);
        let empty = attachments.next().map_or(0, |_| uapi::RENDER_PROCESS_EMPTY_TILES);
        self.work.push(Work::Render(Box::new(CmdRender {
            flags: empty | dbias | scratch,
            isp_zls_pixels: u32::from_le_bytes(px),
            vdm_ctrl_stream_base: stream,
            vertex_helper: helpers[0],
            fragment_helper: helpers[1],
            isp_scissor_base: scissors,
            isp_dbias_base: biases,
            isp_oclqry_base: self.device.counters.address,
            depth,
            stencil,
            zls_ctrl: zls,
            ppp_multisamplectl: u64::from_le_bytes(control.pack().map_err(packet)?),
            sampler_heap: self.device.sampler_heap.address,
            // source: Mesa, hk_queue.c
            ppp_ctrl: 0x202,
            width_px: r.size[0] as u16,
            height_px: r.size[1] as u16,
            layers: r.layers as u16,
            sampler_count: crate::device::SAMPLERS as u16,
            utile_width_px: r.layout.tile_px[0] as u8,
            utile_height_px: r.layout.tile_px[1] as u8,
            samples: r.tile.samples,
            sample_size_bytes: r.layout.sample_bytes as u8,
            isp_merge_upper_x: merge_upper(r.size[0]),
            isp_merge_upper_y: merge_upper(r.size[1]),
            bg,
            eot,
            partial_bg,
            partial_eot,
            isp_bgobjdepth: bgobjdepth,
            isp_bgobjvals: bgobjvals,
            ..CmdRender::default()
        })));
        self.free_expanded();
        self.finish_queries()?;
        Ok(resolved)
    }

    fn dispatch(&mut self, state: &mut CommandState<Agx>, dispatch: &Dispatch) -> Result<()> {
        let Some(shader) = state.compute.clone() else {
            return Err(Error::unsupported("a dispatch without a pipeline"));
        };
        let v = shader.compute()?;
        let mut bindings = std::mem::take(&mut self.compute_bindings);
        let updated = bindings.update(self, &mut state.compute_sets);
        self.compute_bindings = bindings;
        updated?;
        let bindings = self.compute_bindings.clone();
        let dispatch = self.conditional_dispatch(state.condition, *dispatch)?;
        self.count_dispatch(&dispatch, v.workgroup.iter().product())?;
        let writes = shader.writes_memory;
        self.launch(&v, &bindings, &state.push, &dispatch, writes)
    }

    fn barrier(&mut self, dependency: &Dependency<Agx>, within: Within) -> Result<Ordering> {
        Ok(self.depend(dependency, within))
    }

    /// The units that read arguments fault where a sparse buffer has no memory; programs read zeros.
    fn copy_arguments(&mut self, address: u64, size: u64) -> Result<u64> {
        let to = self.room(size)?;
        self.copy_buffer(address, to, size)?;
        self.order();
        Ok(to)
    }

    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()> {
        // Rows of 1024 units, so that no side of the dispatch overflows.
        const ROW: u64 = 1024;
        let unit = 1u64 << (from | to | size | 16).trailing_zeros().min(4);
        let units = size / unit;
        let piece = |from: u64, to: u64, width: u64, height: u64| {
            let side = |address: u64| {
                Side::buffer(&BufferPixels { address, row_pitch: ROW * unit, slice_pitch: 0 })
            };
            (side(from), side(to), [width as u32, height as u32, 1])
        };
        let rows = units / ROW;
        if rows > 0 {
            let (a, b, extent) = piece(from, to, ROW, rows);
            self.copy(&a, &b, unit as u32, extent)?;
        }
        let done = rows * ROW * unit;
        if !units.is_multiple_of(ROW) {
            let (a, b, extent) = piece(from + done, to + done, units % ROW, 1);
            self.copy(&a, &b, unit as u32, extent)?;
        }
        Ok(())
    }

    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()> {
        let [a, b] = split(address);
        let count = (size / 4) as u32;
        self.run_unordered(Program::Fill, &[a, b, count, word], &[], [count, 1, 1])
    }

    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()> {
        let from = self.upload(data, 16)?.address;
        self.copy_buffer(from, address, data.len() as u64)
    }

    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, Agx>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        let (side, extent, element) = side_of(image, extent)?;
        let other = Side::buffer(&buffer);
        if to_image {
            self.open_target(image, &side, extent)?;
            return self.copy(&other, &side, element, extent);
        }
        if has_compressed_level(image) {
            return self.read(image, &side, &other, extent);
        }
        self.copy(&side, &other, element, extent)
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Agx>,
        to: &ImageCopy<'_, Agx>,
        extent: [u32; 3],
    ) -> Result<()> {
        // Depth and stencil together are copied one after the other.
        let aspects = from.layers.aspect_mask;
        let both = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
        if aspects.contains(both) && from.image.1.format == Format::D32_SFLOAT_S8_UINT {
            for aspect in [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL] {
                let one = |c: &ImageCopy<'_, Agx>| vk::ImageSubresourceLayers {
                    aspect_mask: aspect,
                    ..c.layers
                };
                let a = ImageCopy { image: from.image, layers: one(from), offset: from.offset };
                let b = ImageCopy { image: to.image, layers: one(to), offset: to.offset };
                self.copy_image(&a, &b, extent)?;
            }
            return Ok(());
        }
        // The extent is in pixels of the source.
        let (a, [width, height, slices], element) = side_of(from, extent)?;
        let (b, [.., layers], _) = side_of(to, extent)?;
        // Slices of a 3D image correspond to layers of another.
        let extent = [width, height, slices.max(layers)];
        self.open_target(to, &b, extent)?;
        if has_compressed_level(from) {
            return self.read(from, &a, &b, extent);
        }
        self.copy(&a, &b, element, extent)
    }

    fn blit(&mut self, blit: &Blit<'_, Agx>) -> Result<()> {
        let r = &blit.region;
        for aspect in each_aspect(r.src_subresource.aspect_mask) {
            self.blit_aspect(blit, aspect)?;
        }
        Ok(())
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Agx>,
        to: &ImageRef<Agx>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        let how = match mode {
            vk::ResolveModeFlags::AVERAGE => Resolve::Average,
            vk::ResolveModeFlags::MIN => Resolve::Min,
            vk::ResolveModeFlags::MAX => Resolve::Max,
            _ => Resolve::First,
        };
        for aspect in each_aspect(region.src_subresource.aspect_mask) {
            let source = aspect_format(from.format, aspect);
            let target = colour_format(aspect_format(to.format, aspect));
            let kind = kind_of(source);
            let how = if kind != NumKind::Float && how == Resolve::Average {
                Resolve::First
            } else {
                how
            };
            let (s, d) = (region.src_subresource, region.dst_subresource);
            let a = Part {
                plane: from.image.plane(aspect),
                layers: [0, from.info.layers],
                ..part_of(from, source)
            };
            let b = Part {
                plane: to.image.plane(aspect),
                layers: [0, slices(to)],
                ..part_of(to, target)
            };
            let rows = [
                row(descriptor::texture(&from.image, from.addresses, &a)?, None),
                row([0; 24], Some(descriptor::pbe(&to.image, to.addresses, &b, false)?)),
            ];
            let words = [
                region.src_offset.x as u32,
                region.src_offset.y as u32,
                s.base_array_layer,
                region.dst_offset.x as u32,
                region.dst_offset.y as u32,
                d.base_array_layer,
                region.extent.width,
                region.extent.height,
                s.layer_count.max(1),
            ];
            let threads = [words[6], words[7], words[8]];
            let area = Area {
                level: to.level,
                layers: [words[5], words[8]],
                from: [words[3], words[4]],
                to: [words[3] + words[6], words[4] + words[7]],
                overwritten: true,
            };
            self.open(&to.image, to.addresses, b.plane, &area)?;
            self.run_unordered(
                Program::Resolve { kind, samples: from.info.samples as u8, how },
                &words,
                &rows,
                threads,
            )?;
        }
        Ok(())
    }

    fn clear_attachments(
        &mut self,
        state: &mut CommandState<Agx>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        let Some(rendering) = &state.rendering else { return Ok(()) };
        let mut c = Clear { colours: 0, integers: 0, words: [0; 32], depth: None, stencil: None };
        for a in attachments {
            // SAFETY: every bit pattern is a clear value.
            let words = unsafe { a.clear_value.color.uint32 };
            if a.aspect_mask.contains(vk::ImageAspectFlags::COLOR) {
                let k = a.color_attachment as usize;
                if let Some(Some(t)) = rendering.colours.get(k) {
                    c.colours |= 1 << k;
                    c.integers |= u8::from(kind_of(t.image.format) != NumKind::Float) << k;
                    c.words[4 * k..4 * k + 4].copy_from_slice(&words);
                }
            }
            if a.aspect_mask.contains(vk::ImageAspectFlags::DEPTH) && rendering.depth.is_some() {
                c.depth = Some(f32::from_bits(words[0]).clamp(0.0, 1.0));
            }
            if a.aspect_mask.contains(vk::ImageAspectFlags::STENCIL) && rendering.stencil.is_some()
            {
                c.stencil = Some(words[1]);
            }
        }
        let Some(size) = self.render.as_ref().map(|r| r.size) else { return Ok(()) };
        for rect in rects {
            self.clear_draw(state, &c, rect, size)?;
        }
        Ok(())
    }

    fn begin_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.begin_capture(counters)
    }

    fn end_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.end_capture(counters)
    }

    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        self.captured_draw(counter, start, stride, instances, first_instance)
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(&mut self, pool: &Queries, query: u32, precise: bool, stream: u8) -> Result<()> {
        if let Some(address) = pool.captured(query) {
            self.feedback_queries[usize::from(stream)] = address;
            return Ok(());
        }
        if self.begin_statistics(pool, query, stream) {
            return Ok(());
        }
        self.query = pool.counter(query).map(|c| (c, precise));
        self.query_dirty = true;
        Ok(())
    }

    fn end_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        if pool.captured(query).is_some() {
            self.feedback_queries[usize::from(stream)] = 0;
        } else if pool.statistics().is_some() {
            self.end_statistics(pool.result_address(query))?;
        } else {
            self.query = None;
            self.query_dirty = true;
        }
        self.write_word(pool.ready_address(query), 1)
    }

    fn write_timestamp(&mut self, pool: &Queries, query: u32) -> Result<()> {
        self.timestamp_query(pool, query)
    }

    fn copy_query_results(
        &mut self,
        pool: &Queries,
        first: u32,
        count: u32,
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()> {
        self.copy_results(pool, first, count, address, stride, flags)
    }

    fn write_event(&mut self, address: u64, value: u32, _after: &Dependency<Agx>) -> Result<()> {
        // After everything: words that the application waits for are rarer than barriers.
        self.write_word(address, value)
    }
}

impl ExpandingEncoder<Agx> for Encoder {
    /// The hardware's depth biases are of one kind for all draws of a render.
    fn needs_split(&self, state: &CommandState<Agx>) -> bool {
        self.render.as_ref().is_some_and(|r| {
            matches!((r.bias_of(&state.graphics), r.bias_unorm), (Some(new), Some(old)) if new != old)
        })
    }

    fn draw(&mut self, state: &mut CommandState<Agx>, draw: &Draw) -> Result<DrawOutcome> {
        if self.unfinished.is_some() {
            return self.draw_rest(state);
        }
        if state.condition.is_none() && self.draw_again(state, draw) {
            return Ok(DrawOutcome::Complete);
        }
        let known = state.condition.is_none() && matches!(draw, Draw::Direct(_));
        let expands = self.expands(state, draw.is_indexed(), known);
        if expands && !known {
            return Ok(DrawOutcome::NeedsCounts);
        }
        let mut draw = self.conditional_draw(state.condition, *draw)?;
        if state.feedback.active && !expands {
            self.capture(state, &draw)?;
        }
        // Draws after a count in memory become draws without instances, once for all users.
        if let Draw::Indirect { address, count, stride, count_address, indexed, .. } = &mut draw
            && let Some(at) = count_address.take()
        {
            (*address, *stride) = self.counted(*address, at, *count, *stride, *indexed)?;
        }
        self.count_draw(state, &draw)?;
        self.draw_with(state, Unfinished { draw, view: 0, piece: 0 })
    }

    fn drop_rendering(&mut self) -> bool {
        let is_empty = self.render.as_ref().is_some_and(|r| r.draws == 0)
            && self.after.is_empty()
            && self.stamps.is_empty();
        if is_empty {
            self.render = None;
            self.free_expanded();
        }
        is_empty
    }

    fn continuation(&self) -> Encoder {
        let mut e = Encoder::new(&self.device);
        // Growing is not repeated.
        (e.heap, e.pieces.place) = (self.heap.clone(), self.pieces.place.clone());
        (e.query, e.query_dirty) = (self.query, true);
        (e.feedback, e.feedback_queries) = (self.feedback, self.feedback_queries);
        e.statistics.clone_from(&self.statistics);
        e
    }

    fn read_back(&mut self, address: u64, size: u64) -> Result<*const u8> {
        let to = self.arena.take(&self.device, size, 16)?;
        self.order();
        self.copy_buffer(address, to.address, size)?;
        Ok(to.host)
    }
}

impl Encoder {
    /// Writes a word when everything before is done.
    pub(super) fn write_word(&mut self, address: u64, value: u32) -> Result<()> {
        if self.render.is_some() {
            self.after.push((address, value));
            return Ok(());
        }
        let [a, b] = split(address);
        self.run(Program::Word, &[a, b, value], &[], [1; 3])
    }

    /// Writes the words and timestamps that were deferred to the end of the render.
    fn finish_queries(&mut self) -> Result<()> {
        for (address, value) in std::mem::take(&mut self.after) {
            self.write_word(address, value)?;
        }
        for (handle, offset) in std::mem::take(&mut self.stamps) {
            self.timestamp(handle, offset)?;
        }
        Ok(())
    }

    fn copy_results(
        &mut self,
        pool: &Queries,
        first: u32,
        count: u32,
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()> {
        let ([a, b], [c, d]) =
            (split(pool.result_address(first)), split(pool.ready_address(first)));
        let ([e, f], [g, h]) = (split(address), split(stride));
        let p = Program::Queries {
            values: pool.values() as u8,
            wide: flags.contains(vk::QueryResultFlags::_64),
            availability: flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY),
            partial: flags.intersects(vk::QueryResultFlags::PARTIAL | vk::QueryResultFlags::WAIT),
        };
        self.run(p, &[a, b, c, d, e, f, g, h, count], &[], [count, 1, 1])
    }

    fn reset_pool(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        // Commands of a query run one after the other.
        self.order();
        self.fill_buffer(pool.result_address(first), 8 * u64::from(pool.values() * count), 0)?;
        self.fill_buffer(pool.ready_address(first), 8 * u64::from(count), 0)?;
        self.order();
        Ok(())
    }

    fn timestamp_query(&mut self, pool: &Queries, query: u32) -> Result<()> {
        let (handle, offset) = pool.stamp(query);
        if self.render.is_some() {
            self.stamps.push((handle, offset));
            self.after.push((pool.ready_address(query), 1));
            return Ok(());
        }
        self.timestamp(handle, offset)?;
        self.write_word(pool.ready_address(query), 1)
    }

    /// Descriptors of the targets that the tile has no room for; their address, or 0 if there are none.
    fn spilled_targets(&mut self, rendering: &Rendering<Agx>, spilled: u8) -> Result<u64> {
        if spilled == 0 {
            return Ok(0);
        }
        let mut rows: [Row; TARGETS] = [[0; ROW_B as usize]; TARGETS];
        for (k, a) in rendering.colours.iter().enumerate() {
            if spilled >> k & 1 != 0
                && let Some(a) = a
            {
                self.open_attachment(&a.image, rendering, false)?;
                let p = flat(part_of(&a.image, a.image.format), &a.image.image);
                rows[k] = descriptor::storage(&a.image.image, a.image.addresses, &p)?;
            }
        }
        Ok(self.upload(rows.as_flattened(), 64)?.address)
    }

    /// Clears what a rendering that covers only part of its attachments clears: tiles begin with what is in memory.
    fn clear_area(&mut self, rendering: &Rendering<Agx>, size: [u32; 2]) -> Result<()> {
        let mut c = Clear { colours: 0, integers: 0, words: [0; 32], depth: None, stencil: None };
        let clears = |a: &Attachment<Agx>| a.load == vk::AttachmentLoadOp::CLEAR;
        for (k, a) in rendering.colours.iter().enumerate() {
            if let Some(a) = a.as_ref().filter(|a| clears(a)) {
                c.colours |= 1 << k;
                c.integers |= u8::from(kind_of(a.image.format) != NumKind::Float) << k;
                c.words[4 * k..4 * k + 4].copy_from_slice(&a.clear);
            }
        }
        c.depth = rendering
            .depth
            .as_ref()
            .filter(|a| clears(a))
            .map(|a| f32::from_bits(a.clear[0]).clamp(0.0, 1.0));
        c.stencil = rendering.stencil.as_ref().filter(|a| clears(a)).map(|a| a.clear[0]);
        if c.colours == 0 && c.depth.is_none() && c.stencil.is_none() {
            return Ok(());
        }
        let rect = vk::ClearRect {
            rect: rendering.area,
            base_array_layer: 0,
            layer_count: rendering.layers.max(1),
        };
        let mut state = CommandState::<Agx>::default();
        state.graphics.samples = rendering.samples.max(1);
        if rendering.view_mask != 0 {
            state.rendering = Some(rendering.clone());
        }
        self.clear_draw(&mut state, &c, &rect, size)
    }

    fn blit_aspect(&mut self, blit: &Blit<'_, Agx>, aspect: vk::ImageAspectFlags) -> Result<()> {
        let r = &blit.region;
        let ((from, from_info, from_at), (to, to_info, to_at)) = (blit.source, blit.target);
        let source = aspect_format(from_info.format, aspect);
        let target = colour_format(aspect_format(to_info.format, aspect));
        let kind = kind_of(source);
        let (s, d) = (r.src_subresource, r.dst_subresource);
        let deep = from_info.image_type == vk::ImageType::_3D;
        let to_deep = to_info.image_type == vk::ImageType::_3D;
        let a = Part {
            plane: from.plane(aspect),
            format: source,
            dimension: if deep { Dimension::D3 } else { Dimension::D2 },
            array: !deep,
            levels: [s.mip_level, 1],
            layers: [0, if deep { 1 } else { from_info.layers }],
            swizzle: IDENTITY,
            storage: false,
        };
        let layers =
            if to_deep { (to_info.extent[2] >> d.mip_level).max(1) } else { to_info.layers };
        let b = Part {
            plane: to.plane(aspect),
            format: target,
            dimension: Dimension::D2,
            array: true,
            levels: [d.mip_level, 1],
            layers: [0, layers],
            swizzle: IDENTITY,
            storage: true,
        };
        let sampler = sampler(blit.linear && kind == NumKind::Float)?;
        let mut first = row(descriptor::texture(from, from_at, &a)?, None);
        first[STATE_B as usize..][..8].copy_from_slice(&sampler);
        let second = row([0; 24], Some(descriptor::pbe(to, to_at, &b, false)?));
        // Destination corners in order; what is mirrored has a negative scale.
        let axis = |k: usize| -> (i64, i64, f32, f32) {
            let pick = |o: vk::Offset3D| [o.x, o.y, o.z][k];
            let (d0, d1) = (i64::from(pick(r.dst_offsets[0])), i64::from(pick(r.dst_offsets[1])));
            let (s0, s1) = (pick(r.src_offsets[0]) as f32, pick(r.src_offsets[1]) as f32);
            let size = (from_info.extent[k] >> s.mip_level).max(1) as f32;
            let scale = (s1 - s0) / (d1 - d0) as f32;
            let low = d0.min(d1);
            // Destination pixel `low + i + 0.5` is source `s0 + (low + i + 0.5 - d0) * scale`.
            let offset = s0 + (low - d0) as f32 * scale;
            (low, d0.max(d1) - low, scale / size, offset / size)
        };
        let (x, y, z) = (axis(0), axis(1), axis(2));
        let (z0, depth) = match (deep, to_deep) {
            (_, true) => (z.0 as u32, z.1 as u32),
            (true, false) => (d.base_array_layer, z.1.max(1) as u32),
            _ => (d.base_array_layer, d.layer_count.max(1)),
        };
        let words = [
            x.0 as u32,
            y.0 as u32,
            z0,
            x.1 as u32,
            y.1 as u32,
            depth,
            x.2.to_bits(),
            y.2.to_bits(),
            z.2.to_bits(),
            x.3.to_bits(),
            y.3.to_bits(),
            z.3.to_bits(),
            s.base_array_layer,
        ];
        let threads = [words[3], words[4], words[5]];
        debug_assert_eq!(RECTANGLE[2], 1);
        let area = Area {
            level: d.mip_level,
            layers: [z0, depth],
            from: [words[0], words[1]],
            to: [words[0] + words[3], words[1] + words[4]],
            overwritten: true,
        };
        self.open(to, to_at, b.plane, &area)?;
        self.run_unordered(Program::Blit { kind, deep }, &words, &[first, second], threads)
    }
}

fn slices(i: &ImageRef<Agx>) -> u32 {
    if i.info.image_type == vk::ImageType::_3D {
        (i.info.extent[2] >> i.level).max(1)
    } else {
        i.info.layers
    }
}

/// A row of the two descriptors.
fn row(texture: [u8; 24], pbe: Option<[u8; 24]>) -> Row {
    let mut row = [0; ROW_B as usize];
    row[..24].copy_from_slice(&texture);
    if let Some(pbe) = pbe {
        row[24..48].copy_from_slice(&pbe);
    }
    row
}

fn sampler(linear: bool) -> Result<[u8; 8]> {
    let filter = if linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    descriptor::sampler(&tepui_vulkan::backend::SamplerInfo {
        core: vk::SamplerCreateInfo {
            mag_filter: filter,
            min_filter: filter,
            address_mode_u: edge,
            address_mode_v: edge,
            address_mode_w: edge,
            ..Default::default()
        },
        border: None,
        opaque_black: None,
        reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
    })
}

/// Whether a rendering covers all of its attachments, and the tile has room for them.
fn is_whole(rendering: &Rendering<Agx>, size: [u32; 2], layout: &Layout) -> bool {
    let a = rendering.area;
    let views = rendering.view_mask;
    layout.spilled == 0
        && a.offset.x <= 0
        && a.offset.y <= 0
        && a.extent.width >= size[0]
        && a.extent.height >= size[1]
        && (views == 0 || views.count_ones() == 32 - views.leading_zeros())
}

/// The aspects of `mask` that blits and resolves draw one after the other: color alone, or depth and then stencil.
fn each_aspect(mask: vk::ImageAspectFlags) -> impl Iterator<Item = vk::ImageAspectFlags> {
    let list = match mask.contains(vk::ImageAspectFlags::COLOR) {
        true => [mask, vk::ImageAspectFlags::empty()],
        false => [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL],
    };
    list.into_iter().filter(move |&x| !x.is_empty() && mask.contains(x))
}

/// Whether texels of a copy's image lie in tiles that may be compressed.
fn has_compressed_level(copy: &ImageCopy<'_, Agx>) -> bool {
    let image = copy.image.0;
    is_compressed(image, image.plane(copy.layers.aspect_mask), copy.layers.mip_level)
}

/// One side of a copy of `extent` pixels, with the extent in blocks (slices or layers last) and the bytes of a block.
fn side_of(copy: &ImageCopy<'_, Agx>, extent: [u32; 3]) -> Result<(Side, [u32; 3], u32)> {
    let (layout, info, addresses) = copy.image;
    let format = aspect_format(info.format, copy.layers.aspect_mask);
    let n = layout.plane(copy.layers.aspect_mask);
    let plane = &layout.planes[n];
    let block = format.info().block;
    let is_3d = info.image_type == vk::ImageType::_3D;
    let [x, y, z] = copy.offset.map(|v| v.max(0) as u32);
    let at = [x / block.width_px, y / block.height_px, if is_3d { z } else { 0 }];
    let first_layer = if is_3d { 0 } else { copy.layers.base_array_layer };
    let side = Side::image(plane, addresses[n], copy.layers.mip_level, first_layer, at)?;
    let depth = if is_3d { extent[2] } else { copy.layers.layer_count };
    let blocks = [extent[0].div_ceil(block.width_px), extent[1].div_ceil(block.height_px), depth];
    Ok((side, blocks, plane.layout.element_B))
}

/// A limit of the ISP's merging of triangles along an axis of `size` pixels, as the bits of a float.
/// source: Mesa, hk_queue.c, merge_upper_x: the tangent of 60 degrees divided by the size
/// (asahi_drm.h says multiplied)
fn merge_upper(size: u32) -> u32 {
    (60f32.to_radians().tan() / size.max(1) as f32).to_bits()
}
