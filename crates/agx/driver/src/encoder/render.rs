//! A render that is being recorded.

use std::sync::Arc;

use tepui_agx_compiler::abi::tile::{Layout, Tile};
use tepui_agx_packets::vdm;
use tepui_vulkan::state::{GraphicsState, Groups};
use tepui_vulkan::vk;

use super::bindings::Bindings;
use super::stream::VertexStream;
use crate::shader::{Linked, Shader, Variant};
use crate::state::sample_places;

/// A render that is being recorded.
pub struct Render {
    /// The vertex control stream.
    pub stream: VertexStream,
    /// The tile.
    pub layout: Layout,
    /// Formats and samples of the tile.
    pub tile: Tile,
    /// Scissors and ranges of depth.
    pub scissors: Vec<u8>,
    /// Depth biases.
    pub biases: Vec<u8>,
    /// Bytes of scratch memory of vertex and fragment programs.
    pub scratch: [u32; 2],
    /// Something was drawn.
    pub draws: u32,
    /// Size in pixels.
    pub size: [u32; 2],
    /// The render area.
    pub area: vk::Rect2D,
    /// Formats of depth and stencil: whether there are such attachments.
    pub zs: [bool; 2],
    /// Depth is of 16 bits.
    pub depth_16: bool,
    /// Whether depth biases count steps of fixed point, once a draw has one.
    pub bias_unorm: Option<bool>,
    /// Layers.
    pub layers: u32,
    /// Places of samples that the application chose: the same for all draws of a rendering.
    pub(super) own_places: Option<[[u32; 2]; 4]>,
    /// Programs of the last draws whose state was that of the last draw.
    pub(super) recent: Vec<Arc<Programs>>,
    /// State of the last draw.
    pub(super) last: Last,
}

/// State that determines the sample positions.
pub(super) const PLACES: Groups = Groups::SAMPLE_LOCATIONS.union(Groups::SAMPLE_LOCATIONS_ENABLE);

/// Programs of as many draws are remembered.
pub(super) const RECENT: usize = 8;

/// The programs of a draw.
pub(super) struct Programs {
    /// The shaders that they are variants of.
    pub(super) shaders: (Arc<Shader>, Option<Arc<Shader>>),
    pub(super) vertex: Arc<Variant>,
    pub(super) fragment: Arc<Variant>,
    pub(super) linked: Arc<Linked>,
    /// A program's registers hold numbers of the draw.
    pub(super) reads_draw: bool,
    /// Programs correct opaque black, if the shaders sample.
    pub(super) corrects_borders: bool,
}

/// State of the last draw of a render, so that the next emits only changes.
#[derive(Default)]
pub(super) struct Last {
    pub(super) programs: Option<Arc<Programs>>,
    pub(super) bindings: Bindings,
    pub(super) fragment_pipeline: u64,
    /// Dependencies of the vertex words besides the state: first vertex, first instance, draw index,
    /// view.
    pub(super) draw_values: Option<[u32; 4]>,
    /// The first word of the block of a direct draw without indices like the last one.
    pub(super) plain_header: Option<[u8; vdm::IndexList::SIZE_BYTES]>,
}

impl Programs {
    /// Whether the programs are variants of these shaders, as the device needs them now.
    pub(super) fn are_of(
        &self,
        vertex: &Arc<Shader>,
        fragment: Option<&Arc<Shader>>,
        corrects_borders: bool,
    ) -> bool {
        let same = match (&self.shaders.1, fragment) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same && Arc::ptr_eq(&self.shaders.0, vertex) && self.corrects_borders == corrects_borders
    }
}

impl Render {
    /// The next draw looks for its programs anew.
    pub(super) fn forget_programs(&mut self) {
        self.last.programs = None;
        self.last.plain_header = None;
    }

    /// Changes the address of the descriptors of the driver's own set; for draws with other programs than the last.
    pub(super) fn set_targets(&mut self, address: u64) {
        self.last.bindings = Bindings::with_targets(address);
    }

    /// Whether the depth bias of a state counts steps of fixed point; `None` without one.
    pub(super) fn bias_of(&self, s: &GraphicsState) -> Option<bool> {
        (self.zs[0] && s.depth_bias_enable).then_some(self.depth_16 || s.depth_bias_unit.unorm)
    }

    /// Places of samples in sixteenths of a pixel.
    pub(super) fn sample_places(&self) -> [[u32; 2]; 4] {
        self.own_places.unwrap_or_else(|| sample_places(self.tile.samples))
    }

    /// The sample positions as fragment programs read them: a byte each.
    pub(super) fn packed_sample_places(&self) -> u32 {
        u32::from_le_bytes(self.sample_places().map(|[x, y]| (x | y << 4) as u8))
    }

    /// A render without draws. `targets` is the address of the descriptors of spilled targets, or 0.
    pub fn new(
        layout: Layout,
        tile: Tile,
        size: [u32; 2],
        area: vk::Rect2D,
        layers: u32,
        targets: u64,
    ) -> Render {
        Render {
            stream: VertexStream::new(),
            layout,
            tile,
            scissors: Vec::new(),
            biases: Vec::new(),
            scratch: [0; 2],
            draws: 0,
            size,
            area,
            zs: [false; 2],
            depth_16: false,
            bias_unorm: None,
            layers,
            own_places: None,
            recent: Vec::new(),
            last: Last { bindings: Bindings::with_targets(targets), ..Last::default() },
        }
    }
}
