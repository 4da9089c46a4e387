//! Depth and stencil buffers: their packets, and operations on hierarchical depth.

use std::ops::Range;

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::Layout;
use tepui_intel_packets::gen12;
use tepui_intel_packets::output::{
    CcViewport, State3dClearParams, State3dDepthBuffer, State3dHierDepthBuffer,
    State3dStencilBuffer, State3dViewportStatePointersCc,
};
use tepui_intel_packets::pixel::{
    State3dMultisample, State3dPs, State3dPsExtra, State3dWm, State3dWmHzOp,
};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_vulkan::backend::{Addresses, Attachment, ImageInfo, ImageRef, Rendering};
use tepui_vulkan::dependency::Dependency;
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Result, vk};

use super::Encoder;
use super::state::Partition;
use crate::compression::{Depth, DepthOperation, begins};
use crate::family::Intel;
use crate::flush::{Flush, Mode, of_dependency};
use crate::graphics::{Causes, Effect};
use crate::image::Image;
use crate::mocs::mocs;
use crate::packets::packet;
use crate::space;

/// The kind of a depth buffer that is not there, and of one of two dimensions. source: genxml, SURFTYPE
const NO_BUFFER: u32 = 7;
const BUFFER_2D: u32 = 1;
/// Formats of depth buffers. source: genxml, 3DSTATE_DEPTH_BUFFER, Surface Format
const D32_FLOAT: u32 = 1;
const D24_UNORM_X8: u32 = 3;
const D16_UNORM: u32 = 5;

/// Pixels of a block of hierarchical depth. source: Mesa, isl_format_layout.csv, HIZ
const BLOCK_PX: [u32; 2] = [8, 4];

/// Layers of a level of an image.
#[derive(Clone, Copy)]
struct Part {
    level: u32,
    layer: u32,
    layers: u32,
}

impl Part {
    fn of(a: &ImageRef<Intel>) -> Part {
        Part { level: a.level, layer: a.layer, layers: a.layers }
    }
}

/// A depth buffer, without its hierarchy.
fn depth_buffer(
    generation: Generation,
    part: Part,
    l: &Layout,
    address: u64,
) -> State3dDepthBuffer {
    let shape = &l.desc().shape;
    State3dDepthBuffer {
        surface_type: BUFFER_2D,
        surface_format: match shape.format {
            Format::D16_UNORM => D16_UNORM,
            Format::X8_D24_UNORM_PACK32 => D24_UNORM_X8,
            _ => D32_FLOAT,
        },
        surface_pitch: l.row_pitch_B as u32 - 1,
        stencil_write_enable: true,
        depth_write_enable: true,
        surface_base_address: address,
        lod: part.level,
        width: shape.width_px - 1,
        height: shape.height_px - 1,
        mocs: u32::from(mocs(generation)),
        minimum_array_element: part.layer,
        depth: part.layers.max(1) - 1,
        surface_qpitch: l.qpitch_el >> 2,
        render_target_view_extent: part.layers.max(1) - 1,
        ..State3dDepthBuffer::default()
    }
}

/// The hierarchy of a depth buffer, and the depth of its clear blocks.
struct Hierarchy {
    buffer: State3dHierDepthBuffer,
    clear: f32,
    /// Depths are 16 bits of one sample: Wa_1808121037.
    is_d16: bool,
    /// Cache lines of depth are compressed, too.
    compresses: bool,
    /// Depths are written through it, so that the sampler reads them.
    writes_through: bool,
}

impl Hierarchy {
    /// That of an image's first plane at an address, if it has one.
    fn of(generation: Generation, image: &Image, address: u64) -> Option<Hierarchy> {
        let hierarchy = image.hierarchy()?;
        let compresses = image.has_compressed_pages();
        let writes_through = compresses && image.is_depth_read_compressed();
        let buffer = State3dHierDepthBuffer {
            hierarchical_depth_buffer_write_thru_enable: writes_through,
            surface_pitch: hierarchy.surface.row_pitch_B as u32 - 1,
            mocs: u32::from(mocs(generation)),
            surface_base_address: address + hierarchy.offset,
            surface_qpitch: hierarchy.surface.qpitch_px >> 2,
            ..State3dHierDepthBuffer::default()
        };
        let shape = image.planes[0].layout.desc().shape;
        let is_d16 = shape.format == Format::D16_UNORM && shape.samples == 1;
        Some(Hierarchy { buffer, clear: image.clear_depth(), is_d16, compresses, writes_through })
    }
}

/// Whether an attachment is tested with its hierarchical buffer, if it has one.
fn uses_hierarchy(a: &Attachment<Intel>) -> bool {
    a.image.image.depth_state(a.layout, a.image.info.usage).uses_hierarchy()
}

impl Encoder {
    /// Depth and stencil buffers of a rendering.
    pub(super) fn depth_and_stencil(
        &mut self,
        depth: Option<&Attachment<Intel>>,
        stencil: Option<&Attachment<Intel>>,
    ) -> Result<()> {
        let generation = self.device.generation();
        let mut hierarchy = None;
        let buffer = match (depth, stencil) {
            (Some(a), _) => {
                let (image, address) = (&a.image.image, a.image.addresses[0]);
                if uses_hierarchy(a) {
                    hierarchy = Hierarchy::of(generation, image, address);
                }
                depth_buffer(generation, Part::of(&a.image), &image.planes[0].layout, address)
            }
            (None, Some(a)) => {
                let layout =
                    StencilPart::of(&a.image.image, a.image.addresses, Part::of(&a.image)).layout;
                of_stencil(generation, Part::of(&a.image), layout)
            }
            (None, None) => State3dDepthBuffer {
                surface_type: NO_BUFFER,
                surface_format: D32_FLOAT,
                ..State3dDepthBuffer::default()
            },
        };
        let stencil =
            stencil.map(|a| StencilPart::of(&a.image.image, a.image.addresses, Part::of(&a.image)));
        self.depth_buffers(buffer, stencil.as_ref(), hierarchy.as_ref())
    }

    /// The packets of depth and stencil buffers.
    fn depth_buffers(
        &mut self,
        mut depth: State3dDepthBuffer,
        stencil: Option<&StencilPart<'_>>,
        hierarchy: Option<&Hierarchy>,
    ) -> Result<()> {
        depth.hierarchical_depth_buffer_enable = hierarchy.is_some();
        self.optimise_planes(!hierarchy.is_some_and(|h| h.is_d16))?;
        match self.device.generation() {
            Generation::Gen9 => {
                self.emit(&depth)?;
                self.emit(&gen9_stencil(stencil))?;
            }
            Generation::Gen12 => {
                // source: Mesa, isl_emit_depth_stencil.c
                let compresses = hierarchy.is_some_and(|h| h.compresses);
                self.emit(&gen12::State3dDepthBuffer {
                    control_surface_enable: compresses,
                    depth_buffer_compression_enable: compresses,
                    ..gen12::State3dDepthBuffer::from(depth)
                })?;
                self.emit(&gen12_stencil(stencil))?;
            }
        }
        self.emit(&hierarchy.map_or(State3dHierDepthBuffer::default(), |h| h.buffer))?;
        if self.device.generation() == Generation::Gen12 {
            // Wa_1408224581, Wa_14014097488.
            self.emit(&PipeControl {
                address: self.device.dropped_word(),
                post_sync_operation: PostSyncOperation::WriteImmediateData,
                ..PipeControl::default()
            })?;
        }
        self.emit(&match hierarchy {
            Some(h) => {
                State3dClearParams { depth_clear_value: h.clear, depth_clear_value_valid: true }
            }
            None => State3dClearParams::default(),
        })
    }

    /// Switches an optimisation of hierarchical depth on or off, which corrupts 16-bit depth of one sample on Gen12:
    /// Wa_1808121037. It is on between command buffers.
    ///
    /// source: Mesa, genX_cmd_buffer.c (`cmd_buffer_emit_gfx12_depth_wa`); gen120.xml, COMMON_SLICE_CHICKEN1
    pub(super) fn optimise_planes(&mut self, on: bool) -> Result<()> {
        const COMMON_SLICE_CHICKEN1: u64 = 0x7010;
        const OFF: u32 = 1 << 9;
        let is_on = !self.hardware.has_unoptimised_planes;
        if self.device.generation() != Generation::Gen12 || on == is_on {
            return Ok(());
        }
        self.select(Mode::Graphics)?;
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL | Flush::STALL;
        self.flush()?;
        self.hardware.has_unoptimised_planes = !on;
        self.set_register(COMMON_SLICE_CHICKEN1, OFF << 16 | if on { 0 } else { OFF })
    }

    /// Clears depth and stencil of a rendering by operations, where that can be; returns which it cleared. Stencil is cleared by them alone,
    /// or with depth.
    ///
    /// source: Mesa, anv_image_view.c (`anv_can_hiz_clear_ds_view`)
    pub(super) fn fast_clears_of_depth(&mut self, r: &Rendering<Intel>) -> Result<[bool; 2]> {
        let is_cleared = |a: &&Attachment<Intel>| a.load == vk::AttachmentLoadOp::CLEAR;
        let depth = r.depth.as_ref().filter(is_cleared);
        let stencil = r.stencil.as_ref().filter(is_cleared);
        let Some(first) = depth.or(stencil) else { return Ok([false; 2]) };
        if depth.is_some_and(|a| !is_fast_clear(r, a)) {
            return Ok([false; 2]);
        }
        let image = &first.image;
        // A view is the layer of its number.
        let (views, layer) = (r.view_mask, image.layer);
        let count = if views == 0 { r.layers.min(image.layers).max(1) } else { 32 };
        let layers = (0..count).filter(|k| views == 0 || views >> k & 1 != 0).map(|k| layer + k);
        let parts: Vec<_> = layers.map(|layer| (image.level, layer)).collect();
        self.operate(&Operation {
            image: &image.image,
            addresses: image.addresses,
            depth: depth.map(|_| DepthOperation::Clear),
            stencil: stencil.map(|a| a.clear[0] as u8),
            area: Some(r.area),
            parts: &parts,
        })?;
        Ok([depth.is_some(), stencil.is_some()])
    }

    /// Operations on depth and stencil that transitions of a dependency lead to.
    pub(super) fn transitions_of_depth(&mut self, d: &Dependency<Intel>) -> Result<()> {
        for i in &d.images {
            let r = &i.range;
            let aspects = r.aspect_mask;
            let levels = r.base_mip_level..r.base_mip_level + r.level_count;
            let layers = r.base_array_layer..r.base_array_layer + r.layer_count;
            let parts: Vec<_> =
                levels.flat_map(|level| layers.clone().map(move |layer| (level, layer))).collect();
            let mut operates = false;
            if aspects.contains(vk::ImageAspectFlags::DEPTH) {
                let layouts = [i.old_layout, i.new_layout];
                operates |=
                    self.transition_of_depth(&i.image, &i.info, i.addresses, &parts, layouts)?;
            }
            if aspects.contains(vk::ImageAspectFlags::STENCIL)
                && begins(i.old_layout)
                && i.image.stencil_control().is_some()
            {
                self.begin_stencil(&i.image, i.addresses, &parts)?;
                operates = true;
            }
            if operates {
                // What reads after the dependency reads what the operation wrote, too.
                self.hardware.pending |= of_dependency(self.device.generation(), d);
            }
        }
        Ok(())
    }

    /// Begins the life of compressed stencil: control surfaces hold anything before.
    ///
    /// source: Mesa, genX_cmd_buffer.c (`transition_stencil_buffer`)
    fn begin_stencil(
        &mut self,
        image: &Image,
        addresses: Addresses,
        parts: &[(u32, u32)],
    ) -> Result<()> {
        self.operate(&Operation {
            image,
            addresses,
            depth: None,
            stencil: Some(0),
            area: None,
            parts,
        })?;
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL | Flush::STALL;
        Ok(())
    }

    /// Makes the depth of a rendering readable for its resolve, and notes the layout of the image that it is resolved to.
    pub(super) fn before_resolve_of_depth(&mut self, r: &Rendering<Intel>) -> Result<()> {
        let Some((a, to)) = r.depth.as_ref().and_then(|a| Some((a, a.resolve.as_ref()?))) else {
            return Ok(());
        };
        self.depth_resolve = Some(to.layout);
        let i = &a.image;
        let layouts = [a.layout, vk::ImageLayout::DEPTH_READ_ONLY_OPTIMAL];
        let layers = i.layer..i.layer + i.layers;
        let parts: Vec<_> = layers.map(|layer| (i.level, layer)).collect();
        self.transition_of_depth(&i.image, &i.info, i.addresses, &parts, layouts)?;
        Ok(())
    }

    /// The operation of a transition of levels and layers between layouts, if it has one; returns whether it has.
    pub(super) fn transition_of_depth(
        &mut self,
        image: &Image,
        info: &ImageInfo,
        addresses: Addresses,
        parts: &[(u32, u32)],
        layouts: [vk::ImageLayout; 2],
    ) -> Result<bool> {
        let [old, new] = layouts.map(|l| image.depth_state(l, info.usage));
        let operation = DepthOperation::of(old, new).filter(|_| image.hierarchy().is_some());
        if operation.is_none() {
            return Ok(false);
        }
        let stencil = None;
        self.operate(&Operation {
            image,
            addresses,
            depth: operation,
            stencil,
            area: None,
            parts,
        })?;
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL | Flush::STALL;
        Ok(true)
    }

    /// Executes an operation on levels and layers of an image with hierarchical depth or stencil.
    ///
    /// source: Mesa, blorp_genX_exec_brw.h (`blorp_emit_gfx8_hiz_op`), blorp.c (`blorp_hiz_op`), anv_blorp.c
    /// (`anv_fast_clear_depth_stencil`), iris_resolve.c (`iris_hiz_exec`), which flushes for resolves, too
    fn operate(&mut self, o: &Operation<'_>) -> Result<()> {
        let generation = self.device.generation();
        let hierarchy = match o.depth {
            Some(_) => Hierarchy::of(generation, o.image, o.addresses[0]),
            None => None,
        };
        if hierarchy.is_none() && o.stencil.is_none() {
            return Ok(());
        }
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL;
        let clears = o.depth.is_none_or(|o| o == DepthOperation::Clear);
        if clears && hierarchy.as_ref().is_some_and(|h| h.writes_through) {
            self.hardware.pending |= Flush::STALL | Flush::TILE;
        }
        self.prepare(Mode::Graphics, Partition::Plain)?;
        let number_of_multisamples = o.image.planes[0].layout.desc().shape.samples.trailing_zeros();
        self.emit(&State3dMultisample { number_of_multisamples, ..Default::default() })?;
        // source: BDW PRM volume 7, "Depth Buffer Clear": the depth is in the range of the viewport.
        let range = CcViewport { minimum_depth: 0.0, maximum_depth: 1.0 };
        let range = self.upload_state(&range.pack().map_err(packet)?, 32)?.address;
        self.emit(&State3dViewportStatePointersCc { cc_viewport_pointer: range - space::DYNAMIC })?;
        // No fragment program runs, which the state of the last draw might ask for.
        self.emit(&State3dWm::default())?;
        self.emit(&State3dPs::default())?;
        self.emit(&State3dPsExtra::default())?;
        for &(level, layer) in o.parts {
            let [x, y] =
                self.operation_buffers(o, hierarchy.as_ref(), Part { level, layer, layers: 1 })?;
            self.emit(&State3dWmHzOp {
                number_of_multisamples,
                full_surface_depth_and_stencil_clear: clears && o.is_whole(level),
                depth_buffer_clear_enable: o.depth == Some(DepthOperation::Clear),
                depth_buffer_resolve_enable: o.depth == Some(DepthOperation::Resolve),
                hierarchical_depth_buffer_resolve_enable: o.depth
                    == Some(DepthOperation::Ambiguate),
                stencil_buffer_clear_enable: o.stencil.is_some(),
                stencil_clear_value: u32::from(o.stencil.unwrap_or(0)),
                clear_rectangle_x_min: x.start,
                clear_rectangle_y_min: y.start,
                clear_rectangle_x_max: x.end,
                clear_rectangle_y_max: y.end,
                sample_mask: 0xffff,
                ..State3dWmHzOp::default()
            })?;
            // The operation begins with a post-sync write, and ends with a packet that asks for none.
            self.emit(&PipeControl {
                address: self.device.dropped_word(),
                post_sync_operation: PostSyncOperation::WriteImmediateData,
                ..PipeControl::default()
            })?;
            self.emit(&State3dWmHzOp::default())?;
        }
        if generation == Generation::Gen9 {
            // source: SKL PRM volume 7, "Depth Buffer Clear Workaround"; Gen12 flushes by itself
            self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL;
        }
        self.graphics.packets.forget(Effect::DepthOperation);
        self.graphics.changed.0 = Groups::all();
        self.graphics.causes |= Causes::all();
        Ok(())
    }

    /// Emits the buffers of an operation on a level and a layer; returns its rectangle.
    fn operation_buffers(
        &mut self,
        o: &Operation<'_>,
        hierarchy: Option<&Hierarchy>,
        part: Part,
    ) -> Result<[Range<u32>; 2]> {
        let generation = self.device.generation();
        let shape = o.image.planes[0].layout.desc().shape;
        let level_px = [shape.width_px, shape.height_px].map(|side| (side >> part.level).max(1));
        let mut rectangle = match o.area {
            Some(a) => {
                let end = |start: i32, size: u32| (start.max(0) as u32).saturating_add(size);
                let [x, y] = [a.offset.x, a.offset.y].map(|v| v.max(0) as u32);
                [x..end(a.offset.x, a.extent.width), y..end(a.offset.y, a.extent.height)]
            }
            None => level_px.map(|side| 0..side),
        };
        let is_aligned = o.depth.is_some_and(|o| o != DepthOperation::Clear);
        if is_aligned {
            // Whole blocks. source: Mesa, blorp.c (`blorp_hiz_op`), on WaHizAmbiguate8x4Aligned
            for (side, block) in rectangle.iter_mut().zip(BLOCK_PX) {
                side.end = side.end.next_multiple_of(block);
            }
        }
        let stencil = o.stencil.map(|_| StencilPart::of(o.image, o.addresses, part));
        let mut buffer = match (hierarchy, &stencil) {
            (None, Some(stencil)) => of_stencil(generation, part, stencil.layout),
            _ => depth_buffer(generation, part, &o.image.planes[0].layout, o.addresses[0]),
        };
        if is_aligned && part.level == 0 {
            (buffer.width, buffer.height) = (rectangle[0].end - 1, rectangle[1].end - 1);
        }
        self.depth_buffers(buffer, stencil.as_ref(), hierarchy)?;
        Ok(rectangle)
    }
}

/// An operation on levels and layers of an image of depth and stencil.
struct Operation<'a> {
    image: &'a Image,
    addresses: Addresses,
    /// The operation on depth, if it has one.
    depth: Option<DepthOperation>,
    /// The value that stencil is cleared to; with depth, if that is cleared, too.
    stencil: Option<u8>,
    /// Pixels; all without.
    area: Option<vk::Rect2D>,
    /// Levels and layers.
    parts: &'a [(u32, u32)],
}

impl Operation<'_> {
    /// Whether all pixels of a level are in it.
    fn is_whole(&self, level: u32) -> bool {
        let shape = self.image.planes[0].layout.desc().shape;
        self.area.is_none_or(|a| {
            (a.offset.x, a.offset.y) == (0, 0)
                && a.extent.width >= (shape.width_px >> level).max(1)
                && a.extent.height >= (shape.height_px >> level).max(1)
        })
    }
}

/// Whether an operation clears depth of a rendering: as a whole, to the depth of clear blocks. Levels after the first share blocks.
fn is_fast_clear(r: &Rendering<Intel>, a: &Attachment<Intel>) -> bool {
    let image = &a.image;
    let [width, height] = image.extent();
    let is_whole = (r.area.offset.x, r.area.offset.y) == (0, 0)
        && r.area.extent.width >= width
        && r.area.extent.height >= height;
    image.image.hierarchy().is_some()
        && image.image.depth_state(a.layout, image.info.usage) == Depth::Compressed
        // The depth of clear blocks is the same in all layers and for all time: nothing has to keep it.
        && a.clear[0] == image.image.clear_depth().to_bits()
        && is_whole
        && image.level == 0
}

/// Layers of a level of stencil, which is the last plane, of formats with depth and of those without.
struct StencilPart<'a> {
    layout: &'a Layout,
    address: u64,
    part: Part,
    /// Cache lines are compressed.
    compresses: bool,
}

impl<'a> StencilPart<'a> {
    fn of(image: &'a Image, addresses: Addresses, part: Part) -> StencilPart<'a> {
        let plane = image.planes.len() - 1;
        StencilPart {
            layout: &image.planes[plane].layout,
            address: addresses[plane],
            part,
            compresses: image.stencil_control().is_some(),
        }
    }
}

/// The depth buffer beside a stencil buffer without depth: its size, level and layers are those of the stencil buffer on Gen9. On Gen12,
/// stencil buffers have their own.
fn of_stencil(generation: Generation, part: Part, l: &Layout) -> State3dDepthBuffer {
    let shape = l.desc().shape;
    State3dDepthBuffer {
        surface_type: BUFFER_2D,
        surface_format: D32_FLOAT,
        stencil_write_enable: true,
        lod: part.level,
        width: shape.width_px - 1,
        height: shape.height_px - 1,
        mocs: u32::from(mocs(generation)),
        minimum_array_element: part.layer,
        depth: part.layers.max(1) - 1,
        render_target_view_extent: part.layers.max(1) - 1,
        ..State3dDepthBuffer::default()
    }
}

/// The stencil buffer of Gen9.
fn gen9_stencil(stencil: Option<&StencilPart<'_>>) -> State3dStencilBuffer {
    let Some(s) = stencil else { return State3dStencilBuffer::default() };
    State3dStencilBuffer {
        stencil_buffer_enable: true,
        surface_pitch: s.layout.row_pitch_B as u32 - 1,
        mocs: u32::from(mocs(Generation::Gen9)),
        surface_base_address: s.address,
        surface_qpitch: s.layout.qpitch_el >> 2,
    }
}

/// The stencil buffer of Gen12, which has a size of its own.
fn gen12_stencil(stencil: Option<&StencilPart<'_>>) -> gen12::State3dStencilBuffer {
    let Some(s) = stencil else {
        return gen12::State3dStencilBuffer { surface_type: NO_BUFFER, ..Default::default() };
    };
    let shape = &s.layout.desc().shape;
    gen12::State3dStencilBuffer {
        surface_type: BUFFER_2D,
        stencil_write_enable: true,
        stencil_compression_enable: s.compresses,
        control_surface_enable: s.compresses,
        surface_pitch: s.layout.row_pitch_B as u32 - 1,
        surface_base_address: s.address,
        width: shape.width_px - 1,
        height: shape.height_px - 1,
        mocs: u32::from(mocs(Generation::Gen12)),
        minimum_array_element: s.part.layer,
        depth: s.part.layers.max(1) - 1,
        surf_lod: s.part.level,
        surface_qpitch: s.layout.qpitch_el >> 2,
        render_target_view_extent: s.part.layers.max(1) - 1,
        ..gen12::State3dStencilBuffer::default()
    }
}
