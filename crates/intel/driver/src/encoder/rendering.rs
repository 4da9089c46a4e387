//! Renderings: surface states of colour attachments, clears at the beginning.

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_packets::Packet as _;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType, TileMode};
use tepui_vulkan::backend::{Attachment, Rendering};
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::clear;

use super::Encoder;
use super::state::{Partition, Targets};
use crate::compression::may_be_clear;
use crate::family::Intel;
use crate::flush::Mode;
use crate::format;
use crate::graphics::Causes;
use crate::image::{Auxiliary, Control};
use crate::packets::packet;
use crate::surface::{self, Part, Role};

/// The control surface of an attachment's blocks that may have any clear colour.
pub(super) fn clear_control(a: &Attachment<Intel>) -> Option<&Auxiliary> {
    a.image.image.block_control().filter(|_| may_be_clear(a.layout))
}

/// The surface state of a colour attachment.
fn target(generation: Generation, a: &Attachment<Intel>) -> Result<RenderSurfaceState> {
    let of_clears = clear_control(a);
    let a = &a.image;
    let hw = format::hw(a.format)
        .ok_or_else(|| Error::unsupported(format!("colour attachments of {}", a.format)))?;
    let layout = &a.image.planes[a.plane].layout;
    let part = Part {
        layout,
        control: a.image.control_of(a.plane).or_else(|| of_clears.map(Control::of_colours)),
        address: a.addresses[a.plane],
        format: hw.number,
        sees_blocks: surface::sees_blocks(layout, a.format),
        levels: [a.level, 1],
        layers: [a.layer, a.layers],
        cube: false,
        slices_as_layers: false,
        // Targets write what the sampler reads: the channels that formats swap are swapped pairs.
        swizzle: hw.swizzle,
        min_lod: 0.0,
    };
    Ok(surface::of_part(generation, &part, Role::Target))
}

impl Encoder {
    /// Begins a rendering.
    ///
    /// # Errors
    /// When an attachment cannot be rendered to, or there is no memory.
    pub(super) fn begin(&mut self, r: &Rendering<Intel>) -> Result<()> {
        let generation = self.device.generation();
        let fast_colours = self.fast_clears_of_colours(r)?;
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
                let mut state = [0; RenderSurfaceState::SIZE_BYTES];
                let packed = target(generation, a)?.pack_into_as(&mut state, self.revision);
                packed.map_err(packet)?;
                targets.states[k] = self.upload_surfaces(&state)?;
                self.load_clear_colour(a, targets.states[k])?;
                targets.colours |= 1 << k;
            }
        }
        self.targets = Some(targets);
        self.graphics.causes |= Causes::RENDERING;
        self.prepare(Mode::Graphics, Partition::Plain)?;
        let [fast_depth, fast_stencil] = self.fast_clears_of_depth(r)?;
        self.depth_and_stencil(r.depth.as_ref(), r.stencil.as_ref())?;
        let mut clears = clear::Clear::of_loads(r);
        // The other layers of attachments whose first one is clear.
        let others = clear::Clear { colours: fast_colours, depth: None, stencil: None, ..clears };
        clears.colours &= !fast_colours;
        if fast_depth {
            clears.depth = None;
        }
        if fast_stencil {
            clears.stencil = None;
        }
        let layers = r.layers.max(1);
        let later = r.view_mask & !1;
        if fast_colours != 0 && (later != 0 || r.view_mask == 0 && layers > 1) {
            let rect = vk::ClearRect {
                rect: r.area,
                base_array_layer: 1,
                layer_count: layers.saturating_sub(1),
            };
            clear::rectangle(self, &others, &rect, samples(r), later, None)?;
        }
        if clears.is_empty() {
            return Ok(());
        }
        let rect = vk::ClearRect { rect: r.area, base_array_layer: 0, layer_count: layers };
        clear::rectangle(self, &clears, &rect, samples(r), r.view_mask, None)
    }
}

/// Samples of a rendering.
pub(super) fn samples(r: &Rendering<Intel>) -> u32 {
    let all = r.colours.iter().flatten().chain(&r.depth).chain(&r.stencil);
    all.map(|a| a.image.info.samples).next().unwrap_or(r.samples).max(1)
}
