//! Renderings: surface states of colour attachments, depth and stencil buffers, clears at the beginning.

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::Layout;
use tepui_intel_packets::gen12;
use tepui_intel_packets::output::{
    State3dClearParams, State3dDepthBuffer, State3dHierDepthBuffer, State3dStencilBuffer,
};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType, TileMode};
use tepui_vulkan::backend::{Attachment, ImageRef, Rendering};
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::clear;

use super::Encoder;
use super::hardware::{Partition, mocs};
use crate::device::packet;
use crate::family::Intel;
use crate::flush::Mode;
use crate::format;
use crate::graphics::Causes;
use crate::surface::{self, Part, Role};

/// The kind of a depth buffer that is not there, and of one of two dimensions. source: genxml, SURFTYPE
const NO_BUFFER: u32 = 7;
const BUFFER_2D: u32 = 1;
/// Formats of depth buffers. source: genxml, 3DSTATE_DEPTH_BUFFER, Surface Format
const D32_FLOAT: u32 = 1;
const D24_UNORM_X8: u32 = 3;
const D16_UNORM: u32 = 5;

/// The rendering that draws go to.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Pixels that are rendered.
    pub area: vk::Rect2D,
    /// Addresses of the surface states of colour attachments; that of nothing where there is none.
    pub states: [u64; MAX_COLOURS],
    /// Attachments that there are, a bit each.
    pub colours: u8,
    /// There is a depth attachment.
    pub depth: bool,
    /// The depth attachment has floats.
    pub float_depth: bool,
    /// There is a stencil attachment.
    pub stencil: bool,
    /// Address of the surface state of no attachment, of the size of the rendering.
    pub nothing: u64,
    /// Addresses of the surface states by location of fragment outputs, once a draw has found them.
    pub by_location: Option<[u64; MAX_COLOURS]>,
}

/// The surface state of a colour attachment.
fn target(generation: Generation, a: &ImageRef<Intel>) -> Result<RenderSurfaceState> {
    let hw = format::hw(a.format)
        .ok_or_else(|| Error::unsupported(format!("colour attachments of {}", a.format)))?;
    let part = Part {
        layout: &a.image.planes[a.plane].layout,
        address: a.addresses[a.plane],
        format: hw.number,
        levels: [a.level, 1],
        layers: [a.layer, a.layers],
        cube: false,
        // Targets write what the sampler reads: the channels that formats swap are swapped pairs.
        swizzle: hw.swizzle,
        min_lod: 0.0,
    };
    Ok(surface::of_part(generation, &part, Role::Target))
}

/// A depth buffer.
fn depth_buffer(
    generation: Generation,
    a: &ImageRef<Intel>,
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
        lod: a.level,
        width: shape.width_px - 1,
        height: shape.height_px - 1,
        mocs: u32::from(mocs(generation)),
        minimum_array_element: a.layer,
        depth: a.layers.max(1) - 1,
        surface_qpitch: l.qpitch_el >> 2,
        render_target_view_extent: a.layers.max(1) - 1,
        ..State3dDepthBuffer::default()
    }
}

impl Encoder {
    /// Begins a rendering.
    ///
    /// # Errors
    /// When an attachment cannot be rendered to, or there is no memory.
    pub(super) fn begin(&mut self, r: &Rendering<Intel>) -> Result<()> {
        let generation = self.device.generation();
        let end = |start: i32, size: u32| (start.max(0) as u32).saturating_add(size).max(1);
        let size =
            [end(r.area.offset.x, r.area.extent.width), end(r.area.offset.y, r.area.extent.height)];
        let nothing = RenderSurfaceState {
            surface_type: SurfaceType::SurftypeNull,
            // source: SKL PRM, RENDER_SURFACE_STATE: Y tiles, and a format of render targets
            tile_mode: TileMode::Ymajor,
            surface_format: format::NULL_TARGET,
            width: size[0].min(1 << 14) - 1,
            height: size[1].min(1 << 14) - 1,
            depth: r.layers.max(1) - 1,
            render_target_view_extent: r.layers.max(1) - 1,
            surface_array: true,
            ..RenderSurfaceState::default()
        };
        let nothing = self.upload_surfaces(&nothing.pack().map_err(packet)?)?;
        let mut targets = Targets {
            area: r.area,
            states: [nothing; MAX_COLOURS],
            colours: 0,
            depth: r.depth.is_some(),
            float_depth: r.depth.as_ref().is_some_and(|a| {
                a.image.image.planes[0].layout.desc().shape.format == Format::D32_SFLOAT
            }),
            stencil: r.stencil.is_some(),
            nothing,
            by_location: None,
        };
        for (k, a) in r.colours.iter().enumerate().take(MAX_COLOURS) {
            if let Some(a) = a {
                let state = target(generation, &a.image)?.pack().map_err(packet)?;
                targets.states[k] = self.upload_surfaces(&state)?;
                targets.colours |= 1 << k;
            }
        }
        self.targets = Some(targets);
        self.graphics.causes |= Causes::RENDERING;
        self.prepare(Mode::Graphics, Partition::Plain)?;
        self.depth_and_stencil(r.depth.as_ref(), r.stencil.as_ref())?;
        let clears = clear::Clear::of_loads(r);
        if clears.is_empty() {
            return Ok(());
        }
        let rect =
            vk::ClearRect { rect: r.area, base_array_layer: 0, layer_count: r.layers.max(1) };
        clear::rectangle(self, &clears, &rect, samples(r), r.view_mask, None)
    }

    /// Depth and stencil buffers.
    fn depth_and_stencil(
        &mut self,
        depth: Option<&Attachment<Intel>>,
        stencil: Option<&Attachment<Intel>>,
    ) -> Result<()> {
        let generation = self.device.generation();
        // Stencil is the last plane, of a format with depth and of one without.
        let plane = |a: &Attachment<Intel>, stencil: bool| {
            let image = a.image.image.clone();
            let plane = if stencil { image.planes.len() - 1 } else { 0 };
            (image, plane, a.image.addresses[plane])
        };
        let buffer = match (depth, stencil) {
            (Some(a), _) => {
                let (image, plane, address) = plane(a, false);
                depth_buffer(generation, &a.image, &image.planes[plane].layout, address)
            }
            // Size, level and layers of a stencil buffer are those of the depth buffer.
            (None, Some(a)) => {
                let (image, plane, _) = plane(a, true);
                let shape = image.planes[plane].layout.desc().shape;
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
        match generation {
            Generation::Gen9 => self.emit(&buffer)?,
            Generation::Gen12 => self.emit(&gen12::State3dDepthBuffer::from(buffer))?,
        }
        let buffer = match stencil {
            Some(a) if generation == Generation::Gen12 => {
                let (image, plane, address) = plane(a, true);
                return self.gen12_stencil(&a.image, &image.planes[plane].layout, address);
            }
            None if generation == Generation::Gen12 => {
                let surface_type = NO_BUFFER;
                self.emit(&gen12::State3dStencilBuffer { surface_type, ..Default::default() })?;
                return self.no_hierarchy();
            }
            Some(a) => {
                let (image, plane, address) = plane(a, true);
                let l = &image.planes[plane].layout;
                State3dStencilBuffer {
                    stencil_buffer_enable: true,
                    surface_pitch: l.row_pitch_B as u32 - 1,
                    mocs: u32::from(mocs(generation)),
                    surface_base_address: address,
                    surface_qpitch: l.qpitch_el >> 2,
                }
            }
            None => State3dStencilBuffer::default(),
        };
        self.emit(&buffer)?;
        self.no_hierarchy()
    }

    /// The stencil buffer of Gen12, which has a size of its own.
    fn gen12_stencil(&mut self, a: &ImageRef<Intel>, l: &Layout, address: u64) -> Result<()> {
        let shape = &l.desc().shape;
        self.emit(&gen12::State3dStencilBuffer {
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
        })?;
        self.no_hierarchy()
    }

    /// No hierarchical depth, and on Gen12 a write after the buffers.
    fn no_hierarchy(&mut self) -> Result<()> {
        self.emit(&State3dHierDepthBuffer::default())?;
        if self.device.generation() == Generation::Gen12 {
            // Wa_1408224581, Wa_14014097488.
            self.emit(&PipeControl {
                address: self.device.dropped_word(),
                post_sync_operation: PostSyncOperation::WriteImmediateData,
                ..PipeControl::default()
            })?;
        }
        self.emit(&State3dClearParams::default())
    }
}

/// Samples of a rendering.
pub(super) fn samples(r: &Rendering<Intel>) -> u32 {
    let all = r.colours.iter().flatten().chain(&r.depth).chain(&r.stencil);
    all.map(|a| a.image.info.samples).next().unwrap_or(r.samples).max(1)
}
