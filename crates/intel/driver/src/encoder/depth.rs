//! Depth and stencil buffers: their packets, and operations on hierarchical depth.

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
use super::hardware::{Partition, mocs};
use crate::compression::{Depth, DepthOperation};
use crate::device::packet;
use crate::family::Intel;
use crate::flush::{Flush, Mode, of_dependency};
use crate::graphics::{Causes, Effect};
use crate::image::Image;
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
}

impl Hierarchy {
    /// That of an image's first plane at an address, if it has one.
    fn of(generation: Generation, image: &Image, address: u64) -> Option<Hierarchy> {
        let hierarchy = image.hierarchy()?;
        let buffer = State3dHierDepthBuffer {
            surface_pitch: hierarchy.surface.row_pitch_B as u32 - 1,
            mocs: u32::from(mocs(generation)),
            surface_base_address: address + hierarchy.offset,
            surface_qpitch: hierarchy.surface.qpitch_px >> 2,
            ..State3dHierDepthBuffer::default()
        };
        let shape = image.planes[0].layout.desc().shape;
        let is_d16 = shape.format == Format::D16_UNORM && shape.samples == 1;
        let compresses = image.has_compressed_pages();
        Some(Hierarchy { buffer, clear: image.clear_depth(), is_d16, compresses })
    }
}

/// Whether an attachment is tested with its hierarchical buffer, if it has one.
fn uses_hierarchy(a: &Attachment<Intel>) -> bool {
    Depth::of(a.layout, a.image.info.usage).uses_hierarchy()
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
            // Size, level and layers of a stencil buffer are those of the depth buffer.
            (None, Some(a)) => {
                let shape = stencil_plane(&a.image).0.desc().shape;
                State3dDepthBuffer {
                    surface_type: BUFFER_2D,
                    surface_format: D32_FLOAT,
                    stencil_write_enable: true,
                    lod: a.image.level,
                    width: shape.width_px - 1,
                    height: shape.height_px - 1,
                    mocs: u32::from(mocs(generation)),
                    minimum_array_element: a.image.layer,
                    depth: a.image.layers.max(1) - 1,
                    render_target_view_extent: a.image.layers.max(1) - 1,
                    ..State3dDepthBuffer::default()
                }
            }
            (None, None) => State3dDepthBuffer {
                surface_type: NO_BUFFER,
                surface_format: D32_FLOAT,
                ..State3dDepthBuffer::default()
            },
        };
        self.depth_buffers(buffer, stencil.map(|a| &*a.image), hierarchy.as_ref())
    }

    /// The packets of depth and stencil buffers.
    fn depth_buffers(
        &mut self,
        mut depth: State3dDepthBuffer,
        stencil: Option<&ImageRef<Intel>>,
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

    /// Clears the depth attachment of a rendering by marking its blocks; returns whether it did so.
    pub(super) fn fast_clear_of_depth(&mut self, r: &Rendering<Intel>) -> Result<bool> {
        let Some(a) = &r.depth else { return Ok(false) };
        let image = &a.image;
        let [width, height] = image.extent();
        let is_whole = (r.area.offset.x, r.area.offset.y) == (0, 0)
            && r.area.extent.width >= width
            && r.area.extent.height >= height;
        let is_fast = a.load == vk::AttachmentLoadOp::CLEAR
            && image.image.hierarchy().is_some()
            && Depth::of(a.layout, image.info.usage) == Depth::Compressed
            // The depth of clear blocks is the same in all layers and for all time: nothing has to keep it.
            && a.clear[0] == image.image.clear_depth().to_bits()
            && is_whole;
        if !is_fast {
            return Ok(false);
        }
        // A view is the layer of its number.
        let (views, first) = (r.view_mask, image.layer);
        let count = if views == 0 { r.layers.min(image.layers).max(1) } else { 32 };
        let layers = (0..count).filter(|k| views == 0 || views >> k & 1 != 0).map(|k| first + k);
        self.operate(&image.image, image.addresses, layers, DepthOperation::Clear)?;
        Ok(true)
    }

    /// Operations on depth that transitions of a dependency lead to.
    pub(super) fn transitions_of_depth(&mut self, d: &Dependency<Intel>) -> Result<()> {
        for i in &d.images {
            if i.range.aspect_mask.contains(vk::ImageAspectFlags::DEPTH) {
                let range =
                    i.range.base_array_layer..i.range.base_array_layer + i.range.layer_count;
                let layouts = [i.old_layout, i.new_layout];
                if self.transition_of_depth(&i.image, &i.info, i.addresses, range, layouts)? {
                    // What reads after the dependency reads what the operation wrote, too.
                    self.hardware.pending |= of_dependency(self.device.generation(), d);
                }
            }
        }
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
        self.transition_of_depth(&i.image, &i.info, i.addresses, layers, layouts)?;
        Ok(())
    }

    /// The operation of a transition of layers between layouts, if it has one; returns whether it has.
    pub(super) fn transition_of_depth(
        &mut self,
        image: &Image,
        info: &ImageInfo,
        addresses: Addresses,
        layers: std::ops::Range<u32>,
        layouts: [vk::ImageLayout; 2],
    ) -> Result<bool> {
        let [old, new] = layouts.map(|l| Depth::of(l, info.usage));
        let operation = DepthOperation::of(old, new).filter(|_| image.hierarchy().is_some());
        let Some(operation) = operation else { return Ok(false) };
        self.operate(image, addresses, layers, operation)?;
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL | Flush::STALL;
        Ok(true)
    }

    /// Executes an operation on layers of an image with hierarchical depth.
    ///
    /// source: Mesa, blorp_genX_exec_brw.h (`blorp_emit_gfx8_hiz_op`), blorp.c (`blorp_hiz_op`), anv_blorp.c
    /// (`anv_fast_clear_depth_stencil`), iris_resolve.c (`iris_hiz_exec`), which flushes for resolves, too
    fn operate(
        &mut self,
        image: &Image,
        addresses: Addresses,
        layers: impl Iterator<Item = u32>,
        operation: DepthOperation,
    ) -> Result<()> {
        let generation = self.device.generation();
        let (l, address) = (&image.planes[0].layout, addresses[0]);
        let Some(hierarchy) = Hierarchy::of(generation, image, address) else { return Ok(()) };
        let shape = l.desc().shape;
        self.hardware.pending |= Flush::DEPTH | Flush::DEPTH_STALL;
        self.prepare(Mode::Graphics, Partition::Plain)?;
        let number_of_multisamples = shape.samples.trailing_zeros();
        self.emit(&State3dMultisample { number_of_multisamples, ..Default::default() })?;
        // source: BDW PRM volume 7, "Depth Buffer Clear": the depth is in the range of the viewport.
        let range = CcViewport { minimum_depth: 0.0, maximum_depth: 1.0 };
        let range = self.upload_state(&range.pack().map_err(packet)?, 32)?.address;
        self.emit(&State3dViewportStatePointersCc { cc_viewport_pointer: range - space::DYNAMIC })?;
        // No fragment program runs, which the state of the last draw might ask for.
        self.emit(&State3dWm::default())?;
        self.emit(&State3dPs::default())?;
        self.emit(&State3dPsExtra::default())?;
        let mut size = [shape.width_px, shape.height_px];
        if operation != DepthOperation::Clear {
            // Whole blocks. source: Mesa, blorp.c (`blorp_hiz_op`), on WaHizAmbiguate8x4Aligned
            size = [0, 1].map(|k| size[k].next_multiple_of(BLOCK_PX[k]));
        }
        for layer in layers {
            let part = Part { level: 0, layer, layers: 1 };
            let mut buffer = depth_buffer(generation, part, l, address);
            (buffer.width, buffer.height) = (size[0] - 1, size[1] - 1);
            self.depth_buffers(buffer, None, Some(&hierarchy))?;
            self.emit(&State3dWmHzOp {
                number_of_multisamples,
                full_surface_depth_and_stencil_clear: operation == DepthOperation::Clear,
                depth_buffer_clear_enable: operation == DepthOperation::Clear,
                depth_buffer_resolve_enable: operation == DepthOperation::Resolve,
                hierarchical_depth_buffer_resolve_enable: operation == DepthOperation::Ambiguate,
                clear_rectangle_x_max: size[0],
                clear_rectangle_y_max: size[1],
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
}

/// Layout and address of the stencil of an attachment, which is the last plane, of formats with depth and of those without.
fn stencil_plane(a: &ImageRef<Intel>) -> (&Layout, u64) {
    let plane = a.image.planes.len() - 1;
    (&a.image.planes[plane].layout, a.addresses[plane])
}

/// The stencil buffer of Gen9.
fn gen9_stencil(a: Option<&ImageRef<Intel>>) -> State3dStencilBuffer {
    let Some(a) = a else { return State3dStencilBuffer::default() };
    let (l, address) = stencil_plane(a);
    State3dStencilBuffer {
        stencil_buffer_enable: true,
        surface_pitch: l.row_pitch_B as u32 - 1,
        mocs: u32::from(mocs(Generation::Gen9)),
        surface_base_address: address,
        surface_qpitch: l.qpitch_el >> 2,
    }
}

/// The stencil buffer of Gen12, which has a size of its own.
fn gen12_stencil(a: Option<&ImageRef<Intel>>) -> gen12::State3dStencilBuffer {
    let Some(a) = a else {
        return gen12::State3dStencilBuffer { surface_type: NO_BUFFER, ..Default::default() };
    };
    let (l, address) = stencil_plane(a);
    let shape = &l.desc().shape;
    gen12::State3dStencilBuffer {
        surface_type: BUFFER_2D,
        stencil_write_enable: true,
        surface_pitch: l.row_pitch_B as u32 - 1,
        surface_base_address: address,
        width: shape.width_px - 1,
        height: shape.height_px - 1,
        mocs: u32::from(mocs(Generation::Gen12)),
        minimum_array_element: a.layer,
        depth: a.layers.max(1) - 1,
        surf_lod: a.level,
        surface_qpitch: l.qpitch_el >> 2,
        render_target_view_extent: a.layers.max(1) - 1,
        ..gen12::State3dStencilBuffer::default()
    }
}
