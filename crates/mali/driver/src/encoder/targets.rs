//! The rendering that draws go to: its attachments, its tiler contexts, and what its draws touch.

use tepui_format::Format;
use tepui_mali_chips::Chip;
use tepui_mali_packets::draw::Scissor;
use tepui_vulkan::backend::{Attachment, ImageRef, Rendering};
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::vk;

use super::streams::incremental::Pass;
use crate::family::Mali;
use crate::graphics::framebuffer::{Framebuffer, Target, TilerLayer, max_tile_px};

/// Layers of a tiler context. source: Mesa, panvk_cmd_buffer.h (`MAX_LAYERS_PER_TILER_DESC`)
const CONTEXT_LAYERS: u32 = 8;
/// Pixels to which the borders of a render area are aligned if other pixels stay as they are: the side of the largest tile.
const TILE_PX: u32 = 32;

/// The tiler contexts of a rendering's draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contexts {
    /// Address of the first.
    pub address: u64,
    /// Their number.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u64,
    /// The last vertex is provoking.
    pub provoking_last: bool,
}

impl Contexts {
    /// Addresses of all.
    pub fn addresses(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |k| self.address + k * self.stride)
    }

    /// The context of a layer, and the layer in it.
    pub fn of_layer(self, layer: u32) -> TilerLayer {
        TilerLayer {
            context: self.address + u64::from(layer / CONTEXT_LAYERS) * self.stride,
            layer: layer % CONTEXT_LAYERS,
        }
    }
}

/// Parameters of the tiler contexts of a rendering.
#[derive(Clone, Copy, Debug)]
pub struct Tiling {
    /// Levels of the hierarchy that are in use.
    pub hierarchy_mask: u32,
    /// Width and height of the framebuffer.
    pub size: [u32; 2],
    /// Samples of a pixel.
    pub samples: u32,
    /// All layers.
    pub layers: u32,
    /// The last vertex is provoking.
    pub provoking_last: bool,
}

impl Tiling {
    /// Ranges of layers of the contexts: the first layer, and their number.
    pub fn contexts(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let layers = self.layers;
        let firsts = (0..layers).step_by(CONTEXT_LAYERS as usize);
        firsts.map(move |first| (first, (layers - first).min(CONTEXT_LAYERS)))
    }
}

/// The rendering that draws go to.
#[derive(Clone)]
pub struct Targets {
    /// The attachments.
    pub rendering: Rendering<Mali>,
    /// Width and height that attachments have in common.
    pub size: [u32; 2],
    /// Layers: those of the numbers of views, with several.
    pub layers: u32,
    /// Samples of a pixel; of a rendering without attachments, those of its draws.
    pub samples: u32,
    /// Some pixels of tiles are outside of the render area, and stay as they are.
    pub is_partial: bool,
    /// Tiler contexts, once there is a draw.
    pub contexts: Option<Contexts>,
    /// Pixels and layers that draws may touch.
    pub touched: Touched,
    /// The part of the rendering that framebuffers are for.
    pub pass: Pass,
}

/// Pixels and layers that draws may touch. A rendering without attachments renders no others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touched {
    /// The box, once there is a draw.
    pub area: Option<Scissor>,
    /// Layers after the first.
    pub layers: bool,
}

/// Attachments that keep what they have, as textures.
#[derive(Default)]
pub struct Kept<'a> {
    /// Colours by location.
    pub colours: [Option<Target<'a>>; MAX_COLOURS],
    /// Depth.
    pub depth: Option<Target<'a>>,
    /// Stencil.
    pub stencil: Option<Target<'a>>,
}

/// The attachments of a rendering.
pub fn attachments(r: &Rendering<Mali>) -> impl Iterator<Item = &Attachment<Mali>> {
    r.colours.iter().flatten().chain(&r.depth).chain(&r.stencil)
}

/// Whether tiles are stored. What is resolved is, since the programs that resolve read memory.
fn stores(a: &Attachment<Mali>) -> bool {
    a.store == vk::AttachmentStoreOp::STORE || a.resolve.is_some()
}

impl Targets {
    pub fn new(rendering: &Rendering<Mali>) -> Targets {
        let area = &rendering.area;
        let end = [
            (area.offset.x.max(0) as u32).saturating_add(area.extent.width),
            (area.offset.y.max(0) as u32).saturating_add(area.extent.height),
        ];
        let size = attachments(rendering).fold(None, |size: Option<[u32; 2]>, a| {
            let own = a.image.extent();
            Some(size.map_or(own, |s| [s[0].min(own[0]), s[1].min(own[1])]))
        });
        let size = size.unwrap_or(end.map(|n| n.max(1)));
        let starts = [area.offset.x, area.offset.y].iter().all(|n| n.max(&0) % TILE_PX as i32 == 0);
        let ends = end.iter().zip(size).all(|(&e, s)| e >= s || e.is_multiple_of(TILE_PX));
        let samples = attachments(rendering).map(|a| a.image.info.samples).max();
        Targets {
            size,
            layers: match rendering.view_mask {
                0 => rendering.layers.max(1),
                mask => 32 - mask.leading_zeros(),
            },
            samples: samples.unwrap_or(rendering.samples).max(1),
            is_partial: !(starts && ends),
            rendering: rendering.clone(),
            contexts: None,
            touched: Touched::default(),
            pass: Pass::Whole,
        }
    }

    /// Adds what a draw may touch.
    pub fn touch(&mut self, area: &Scissor, layers: bool) {
        self.touched.layers |= layers;
        let all = self.touched.area.get_or_insert(*area);
        all.scissor_minimum_x = all.scissor_minimum_x.min(area.scissor_minimum_x);
        all.scissor_minimum_y = all.scissor_minimum_y.min(area.scissor_minimum_y);
        all.scissor_maximum_x = all.scissor_maximum_x.max(area.scissor_maximum_x);
        all.scissor_maximum_y = all.scissor_maximum_y.max(area.scissor_maximum_y);
    }

    /// Whether tiles are neither loaded nor stored.
    pub fn has_no_attachments(&self) -> bool {
        attachments(&self.rendering).next().is_none()
    }

    /// Whether an attachment is cleared by the fragment job.
    pub fn clears(&self, a: &Attachment<Mali>) -> bool {
        let is_first = matches!(self.pass, Pass::Whole | Pass::First);
        a.load == vk::AttachmentLoadOp::CLEAR && !self.is_partial && is_first
    }

    /// Whether tiles need what an attachment has.
    pub fn keeps(&self, a: &Attachment<Mali>) -> bool {
        match (a.load, self.pass) {
            (_, Pass::Next | Pass::Last) | (vk::AttachmentLoadOp::LOAD, _) => true,
            _ => self.is_partial && stores(a),
        }
    }

    /// Whether tiles are stored.
    pub fn stores(&self, a: &Attachment<Mali>) -> bool {
        matches!(self.pass, Pass::First | Pass::Next) || stores(a)
    }

    pub fn target<'a>(&self, a: &'a Attachment<Mali>, plane: usize, format: Format) -> Target<'a> {
        let image: &ImageRef<Mali> = &a.image;
        let plane = plane.min(image.image.planes.len() - 1);
        Target {
            layout: &image.image.planes[plane].layout,
            address: image.addresses[plane],
            format,
            level: image.level,
            layer: image.layer,
            clear: self.clears(a).then_some(a.clear),
            store: self.stores(a),
        }
    }

    pub fn colour<'a>(&self, a: &'a Attachment<Mali>) -> Target<'a> {
        self.target(a, a.image.plane, a.image.format)
    }

    pub fn depth<'a>(&self, a: &'a Attachment<Mali>) -> Target<'a> {
        self.target(a, 0, crate::format::planes(a.image.info.format)[0].format)
    }

    pub fn stencil<'a>(&self, a: &'a Attachment<Mali>) -> Target<'a> {
        self.target(a, a.image.image.planes.len() - 1, Format::S8_UINT)
    }

    /// The framebuffer, without programs that load attachments.
    pub fn framebuffer(&self, chip: &Chip, sample_positions: u64) -> Framebuffer<'_> {
        let r = &self.rendering;
        Framebuffer {
            size: self.size,
            colours: r.colours.iter().map(|c| c.as_ref().map(|a| self.colour(a))).collect(),
            depth: r.depth.as_ref().map(|a| self.depth(a)),
            stencil: r.stencil.as_ref().map(|a| self.stencil(a)),
            // Half of it, so that two tiles are rendered at a time. source: Mesa, pan_props.c (`panfrost_query_optimal_tib_size`)
            tilebuffer: chip.tilebuffer_B / 2,
            max_tile_px: max_tile_px(chip.arch),
            first_provoking_vertex: !self.contexts.is_some_and(|c| c.provoking_last),
            samples: self.samples,
            sample_positions,
            loads: Default::default(),
        }
    }

    /// The attachments that keep what they have.
    pub fn kept(&self) -> Kept<'_> {
        let mut kept = Kept::default();
        let r = &self.rendering;
        for (to, a) in kept.colours.iter_mut().zip(&r.colours) {
            *to = a.as_ref().filter(|a| self.keeps(a)).map(|a| self.colour(a));
        }
        kept.depth = r.depth.as_ref().filter(|a| self.keeps(a)).map(|a| self.depth(a));
        kept.stencil = r.stencil.as_ref().filter(|a| self.keeps(a)).map(|a| self.stencil(a));
        kept
    }

    /// Formats of the colours.
    pub fn formats(&self) -> [Option<Format>; MAX_COLOURS] {
        let mut out = [None; MAX_COLOURS];
        for (to, a) in out.iter_mut().zip(&self.rendering.colours) {
            *to = a.as_ref().map(|a| a.image.format);
        }
        out
    }

    /// Layers that are rendered, a number each.
    pub fn rendered_layers(&self) -> impl Iterator<Item = u32> {
        let mask = self.rendering.view_mask;
        let only_first = self.has_no_attachments() && !self.touched.layers;
        (0..if only_first { 1 } else { self.layers })
            .filter(move |l| mask == 0 || mask >> l & 1 != 0)
    }

    /// The pixels that the fragment jobs render.
    pub fn render_box(&self) -> Scissor {
        if let Some(area) = self.touched.area.filter(|_| self.has_no_attachments()) {
            return area;
        }
        let area = &self.rendering.area;
        let span = |start: i32, extent: u32, size: u32| {
            let first = (start.max(0) as u32).min(size - 1);
            let end = (start.max(0) as u32).saturating_add(extent).min(size).max(first + 1);
            (first, end - 1)
        };
        let (scissor_minimum_x, scissor_maximum_x) =
            span(area.offset.x, area.extent.width, self.size[0]);
        let (scissor_minimum_y, scissor_maximum_y) =
            span(area.offset.y, area.extent.height, self.size[1]);
        Scissor { scissor_minimum_x, scissor_minimum_y, scissor_maximum_x, scissor_maximum_y }
    }
}
