//! State of a command buffer that is recorded, as data: what its commands have set.

use tepui_intel_packets::media::MediaVfeState;
use tepui_vulkan::command::{IndexBuffer, MAX_SETS};
use tepui_vulkan::state::{Groups, MAX_COLOURS};
use tepui_vulkan::vk;

use super::batch::Batch;
use super::linked::{Packets, Pipeline, Place};
use super::tables::Constants;
use super::vertex_ranges::{Buffer, VertexRanges};
use crate::device::{Chunk, Device, Upload};
use crate::flush::{Flush, Mode};
use crate::graphics::Causes;
use crate::packets::STAGES;
use crate::templates::Pointers;

/// Partitions of the L3 cache on Gen9, which has no room for workgroup memory otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// None for workgroup memory: 48 ways for the URB, 48 for all else.
    Plain,
    /// 32 ways for workgroup memory, 16 for the URB, 48 for all else.
    Shared,
}

impl Partition {
    /// The register's value. source: genxml, L3CNTLREG; Mesa, intel_l3_config.c (`chv_l3_configs`)
    pub(super) fn value(self) -> u32 {
        let fields = |slm: u32, urb: u32, all: u32| slm | urb << 1 | all << 25;
        match self {
            Partition::Plain => fields(0, 48, 48),
            Partition::Shared => fields(1, 16, 48),
        }
    }
}

/// State that the commands so far have set.
#[derive(Clone, Default)]
pub struct Hardware {
    /// The pipeline.
    pub mode: Option<Mode>,
    /// Partitions of the L3.
    pub(super) partition: Option<Partition>,
    /// The block of binding tables from which the surface state base is set.
    pub(super) block: Option<u64>,
    /// Flushes that the next work waits for.
    pub pending: Flush,
    /// Addresses that the vertex cache may hold.
    pub vertex_ranges: VertexRanges,
    /// Address of the last MEDIA_VFE_STATE's scratch memory and its other values, as they were packed.
    pub vfe: Option<[u8; MediaVfeState::SIZE_BYTES]>,
    /// The optimisation of hierarchical depth that [`super::Encoder::optimise_planes`] switches is off.
    pub has_unoptimised_planes: bool,
    /// Offset of the colour calculator's state from the base of dynamic state, if it is set.
    pub colour_calculator: Option<u64>,
}

impl Hardware {
    /// Notes that base addresses are those of commands before.
    pub fn keep_bases(&mut self, before: &Hardware) {
        self.block = before.block;
    }
}

/// State that the draws so far have emitted.
#[derive(Default)]
pub struct Graphics {
    /// Causes of changes since the last draw.
    pub causes: Causes,
    /// Groups of state that changed since the last draw.
    pub changed: AllAtFirst,
    /// Linked programs, and the packets that were emitted.
    pub packets: Packets,
    /// Block of binding tables of the last draw's.
    pub block: u64,
    /// Constants of the stages.
    pub constants: [Constants; STAGES.len()],
    /// Pointers of the stages that were emitted.
    pub pointers: [Option<Pointers>; STAGES.len()],
    /// Tables or constants were made since pointers were emitted.
    pub rebound: bool,
    /// Vertex buffers that attributes read, a bit each.
    pub(super) read_buffers: u32,
    /// Memory for the buffers of a draw.
    pub(super) ranges: Vec<Buffer>,
    /// The index buffer that was emitted.
    pub(super) index: Option<IndexBuffer>,
    /// Bytes of an index of the last draw.
    pub(super) index_bytes: u32,
    /// The last draw was the application's, and another one with the same state is one primitive, if no command is between them.
    pub repeats: bool,
    /// Sets that are pushed.
    pub pushed: PushedSets,
    /// The hull stage's packet was emitted since the last primitive.
    pub(super) hull_is_new: bool,
}

/// Groups of state; all of them at first.
pub struct AllAtFirst(pub Groups);

impl Default for AllAtFirst {
    fn default() -> Self {
        AllAtFirst(Groups::all())
    }
}

/// Commands that the GPU writes.
#[derive(Default)]
pub struct Generated {
    /// Batch of the programs that write in place.
    pub(super) side: Batch,
    /// State at the end of that batch, and the address in the main batch to which it is to return; none if nothing jumps there since
    /// it last returned.
    pub(super) open: Option<(Hardware, u64)>,
    pub(super) ring: Option<Chunk>,
}

impl Generated {
    /// Gives the memory back.
    pub fn clear(&mut self, device: &Device) {
        self.side.clear(device);
        self.open = None;
        if let Some(ring) = self.ring.take() {
            device.recycle(Upload::Dynamic, ring);
        }
    }
}

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

/// Addresses of the memory of sets that are pushed, by set and kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct PushedSets(pub(super) [[u64; 2]; MAX_SETS]);

/// Programs of the application's last draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoundPrograms {
    /// Number of its pipeline, and version of the state for which programs are compiled; none for shader objects.
    pub(super) pipeline: Option<Pipeline>,
    /// Their place.
    pub(super) place: Option<Place>,
    /// Version of the state for which programs are compiled.
    pub(super) version: u32,
    /// The draw had several views.
    pub(super) several_views: bool,
}
