//! Renderings: what tiles begin with, and the command that renders.

use tepui_agx_compiler::abi::tile::{Layout, TARGETS, Tile};
use tepui_agx_compiler::descriptor::ROW_B;
use tepui_agx_packets::{render, usc, vdm};
use tepui_drm::uapi::asahi::{self as uapi, BgEot, CmdRender, ZlsBuffer};
use tepui_format::Format;
use tepui_sysval::SystemValue;
use tepui_vulkan::backend::{Attachment, Rendering};
use tepui_vulkan::command::MAX_PUSH;
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Error, Result, vk};

use super::bindings::Bindings;
use super::image_part::part_of;
use super::render::Render;
use super::{Encoder, Work, put};
use crate::descriptor::{self, Row};
use crate::device::packet;
use crate::family::Agx;
use crate::tile::{Before, shared};

/// Depth or stencil as the depth unit loads and stores it.
struct Zls {
    /// The buffer.
    buffer: ZlsBuffer,
    /// Its format.
    format: Format,
    /// Whether it has metadata.
    compressed: bool,
}

/// Use of depth and stencil by a render.
struct DepthStencil {
    zls: render::ZlsControl,
    depth: ZlsBuffer,
    stencil: ZlsBuffer,
    /// Clear values, as the registers have them.
    bgobjdepth: u32,
    bgobjvals: u32,
    /// Size of the attachments.
    px: [u32; 2],
}

impl Encoder {
    /// Begins a render.
    pub(super) fn begin_render(&mut self, rendering: &Rendering<Agx>) -> Result<()> {
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
            self.clear_area(rendering)?;
        }
        Ok(())
    }

    /// Ends the render; gives the colours that it has resolved.
    pub(super) fn end_render(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
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
        let ds = Self::depth_stencil(rendering, whole, r.size)?;
        let zls = u64::from_le_bytes(ds.zls.pack().map_err(packet)?);
        let px = render::IspZlsPixels { x: ds.px[0], y: ds.px[1] }.pack().map_err(packet)?;
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
            depth: ds.depth,
            stencil: ds.stencil,
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
            isp_bgobjdepth: ds.bgobjdepth,
            isp_bgobjvals: ds.bgobjvals,
            ..CmdRender::default()
        })));
        self.expansion.free_memory();
        self.finish_queries()?;
        Ok(resolved)
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
                let p = part_of(&a.image, a.image.format);
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
            tepui_agx_compiler::Source::System(SystemValue::SamplePositions) => {
                Some(super::bindings::word(r.packed_sample_places()))
            }
            tepui_agx_compiler::Source::System(SystemValue::SampleMask) => {
                Some(super::bindings::word(0xffff))
            }
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
                let p = part_of(&a.image, a.image.format);
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

    /// Loads, stores and clears of depth and stencil; `whole` says that the rendering covers its attachments.
    fn depth_stencil(
        rendering: &Rendering<Agx>,
        whole: bool,
        size: [u32; 2],
    ) -> Result<DepthStencil> {
        let mut zls = render::ZlsControl::default();
        let (mut depth, mut stencil) = (ZlsBuffer::default(), ZlsBuffer::default());
        let (mut bgobjdepth, mut bgobjvals) = (1f32.to_bits(), 0x300);
        let mut zls_px = size;
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
        Ok(DepthStencil { zls, depth, stencil, bgobjdepth, bgobjvals, px: zls_px })
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
                let p = part_of(&a.image, a.image.format);
                rows[k] = descriptor::storage(&a.image.image, a.image.addresses, &p)?;
            }
        }
        Ok(self.upload(rows.as_flattened(), 64)?.address)
    }
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

/// A limit of the ISP's merging of triangles along an axis of `size` pixels, as the bits of a float.
/// source: Mesa, hk_queue.c, merge_upper_x: the tangent of 60 degrees divided by the size
/// (asahi_drm.h says multiplied)
fn merge_upper(size: u32) -> u32 {
    (60f32.to_radians().tan() / size.max(1) as f32).to_bits()
}
