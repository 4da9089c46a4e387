//! The device: pools of code, states and samplers, scratch memory, recycled upload memory; shared by everything that records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tepui_intel_chips::{Chip, Generation};
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::sampler::SamplerState;
use tepui_ir::Stage;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::recycle::Limits;
use tepui_vulkan_kit::slab::Part;
use tepui_vulkan_kit::{Recycled, Slab};

use crate::clear_colours::ConstantColours;
use crate::kernel::{Bo, Kernel, PAGE_B, lock};
use crate::meta::Meta;
use crate::packets::packet;
use crate::page_table::PageTable;
use crate::pool::{Piece, Pool};
use crate::space::Window;
use crate::templates::Templates;
use crate::tiled_resources::TiledResources;

/// Bytes of a chunk of upload memory, and of a block of binding tables, whose pointers have 16 bits.
pub const CHUNK_B: u64 = 64 << 10;
/// Bytes of a buffer of which chunks are parts.
const SLAB_B: u64 = 2 << 20;
/// Maximum number of unused chunks of each kind that are kept.
const MAX_CHUNKS: usize = 512;
/// Maximum bytes of all larger unused pieces of each kind that are kept.
const MAX_LARGE_B: u64 = 32 << 20;
/// Bytes after code that the instruction fetch may read. source: Mesa, anv_allocator.c, on the padding of kernels
const FETCH_B: u64 = 512;
/// Alignment of code. source: genxml, Kernel Start Pointer
const CODE_ALIGN: u64 = 64;
/// Bytes of a surface state.
pub const STATE_B: u64 = 64;
/// Alignment of samplers that messages name by pointers. source: Mesa, anv_sampler.c
const SAMPLER_ALIGN: u64 = 32;
/// Alignment of border colours. source: genxml, Border Color Pointer
const BORDER_ALIGN: u64 = 64;

/// A kind of upload memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// Batches, dynamic state and constants.
    Dynamic,
    /// Binding tables.
    Tables,
    /// Surface states.
    Surfaces,
}

impl Upload {
    fn window(self) -> Window {
        match self {
            Upload::Dynamic => Window::Dynamic,
            Upload::Tables => Window::Tables,
            Upload::Surfaces => Window::Surfaces,
        }
    }
}

/// Upload memory of a kind.
struct UploadMemory {
    unused: Recycled<Chunk>,
    slab: Slab<Bo>,
}

/// A chunk of upload memory.
pub type Chunk = Part<Bo>;

/// Scratch memory of the threads of a stage.
pub struct Scratch {
    /// Its memory.
    pub memory: Bo,
    /// Logarithm of the KiB of each thread.
    pub log2_kib: u32,
}

/// A device.
pub struct Device {
    /// The kernel's side.
    pub kernel: Arc<Kernel>,
    code: Pool,
    bindless: Pool,
    samplers: Pool,
    borders: Pool,
    uploads: [Mutex<UploadMemory>; 3],
    /// Scratch memory by stage and the logarithm of the KiB of a thread: threads of several stages run at once.
    scratch: Mutex<BTreeMap<(u8, u32), Arc<Scratch>>>,
    /// A page of which nothing that is read is used: what post-sync writes that only order something write to, and a batch that ends at once.
    idle: Bo,
    /// A surface state of nothing: reads give zeros, writes are dropped.
    pub null_surface: Piece,
    /// The driver's own programs.
    pub meta: Meta,
    /// Packets that draws fill in.
    pub templates: Templates,
    /// The table of pages of compressed images, on Gen12.
    pub page_table: Option<Arc<PageTable>>,
    /// The page tables of sparse resources, once there is one.
    tiled_resources: Mutex<Option<Arc<TiledResources>>>,
    /// Versions of the tables that units know at most.
    known_versions: Mutex<[u64; 2]>,
}

/// Offset of the batch that ends at once in [`Device::idle`].
const IDLE_BATCH: u64 = 64;
/// Offset of the batch that makes units forget entries of the tables of pages.
const FORGETTING_BATCH: u64 = 128;
/// Offset of the colours of clear blocks that never change in it.
const CONSTANT_COLOURS: u64 = 2048;
/// Offset of the first batch in it, of less than 1,792 bytes.
const START_BATCH: u64 = 256;
/// Offset of the batch that turns the translation of sparse resources on.
const TRANSLATION_BATCH: u64 = 3072;

impl Device {
    /// A device on a kernel's.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: Arc<Kernel>) -> Result<Arc<Device>> {
        let limits = Limits { chunk_b: CHUNK_B, max_chunks: MAX_CHUNKS, max_large_b: MAX_LARGE_B };
        // The first page of its window: null buffers are there.
        let idle = Bo::new(&kernel, 1, Window::Data)?;
        debug_assert_eq!(idle.address, crate::space::NULL_BUFFER);
        idle.write(IDLE_BATCH, &MiBatchBufferEnd::default().pack().map_err(packet)?);
        idle.write(CONSTANT_COLOURS, &ConstantColours::bytes());
        let page_table = match kernel.chip.generation {
            Generation::Gen9 => None,
            Generation::Gen12 => Some(PageTable::new(&kernel)?),
        };
        let bindless = Pool::new(&kernel, Window::Bindless, CHUNK_B, STATE_B);
        // The first one: handles of null descriptors are 0.
        let null_surface = bindless.place(&crate::states::null_state(), 0)?;
        Ok(Arc::new(Device {
            code: Pool::new(&kernel, Window::Code, 1 << 20, CODE_ALIGN),
            samplers: Pool::new(&kernel, Window::Dynamic, CHUNK_B, SAMPLER_ALIGN),
            borders: Pool::new(&kernel, Window::Dynamic, CHUNK_B, BORDER_ALIGN),
            bindless,
            uploads: [(); 3].map(|()| {
                Mutex::new(UploadMemory { unused: Recycled::new(limits), slab: Slab::default() })
            }),
            scratch: Mutex::default(),
            idle,
            null_surface,
            meta: Meta::default(),
            templates: Templates::new(kernel.chip.generation)?,
            page_table,
            tiled_resources: Mutex::default(),
            known_versions: Mutex::default(),
            kernel,
        }))
    }

    /// The chip.
    pub fn chip(&self) -> &'static Chip {
        self.kernel.chip
    }

    /// The generation.
    pub fn generation(&self) -> Generation {
        self.kernel.chip.generation
    }

    /// Address of a word that post-sync writes may overwrite.
    pub fn dropped_word(&self) -> u64 {
        self.idle.address
    }

    /// A batch that ends at once.
    pub fn idle_batch(&self) -> (&Bo, u64) {
        (&self.idle, IDLE_BATCH)
    }

    /// Writes the batch that begins the context's work; returns its place. It is called once.
    pub fn start_batch(&self, bytes: &[u8]) -> (&Bo, u64) {
        debug_assert!(START_BATCH + bytes.len() as u64 <= CONSTANT_COLOURS, "a long first batch");
        self.idle.write(START_BATCH, bytes);
        (&self.idle, START_BATCH)
    }

    /// Colours of clear blocks that never change.
    pub fn constant_colours(&self) -> ConstantColours {
        ConstantColours { address: self.idle.address + CONSTANT_COLOURS }
    }

    /// The batch that makes units forget entries of the tables of pages; `None` if they know the tables as they are.
    pub fn forgetting_batch(&self) -> Option<(&Bo, u64)> {
        let pages = self.page_table.as_ref()?.version();
        let tiles = lock(&self.tiled_resources).as_ref().map_or(0, |t| t.version());
        let versions = [pages, tiles];
        let mut known = lock(&self.known_versions);
        (std::mem::replace(&mut *known, versions) != versions)
            .then_some((&self.idle, FORGETTING_BATCH))
    }

    /// The page tables of sparse resources; `start` makes the batch that turns translation on, when there is the first one.
    ///
    /// # Errors
    /// When there is no memory, the hardware has no such tables, or the kernel refuses.
    pub fn tiled_resources(
        &self,
        start: impl FnOnce(&TiledResources) -> Result<Vec<u8>>,
    ) -> Result<Arc<TiledResources>> {
        if self.generation() == Generation::Gen9 {
            return Err(Error::unsupported("sparse resources before Gen12"));
        }
        let mut tables = lock(&self.tiled_resources);
        if let Some(tables) = &*tables {
            return Ok(tables.clone());
        }
        let new = TiledResources::new(&self.kernel)?;
        let batch = start(&new)?;
        debug_assert!(TRANSLATION_BATCH + batch.len() as u64 <= PAGE_B, "a long batch");
        self.idle.write(TRANSLATION_BATCH, &batch);
        self.kernel.submit(&[], (&self.idle, TRANSLATION_BATCH), &[])?;
        Ok(tables.insert(new).clone())
    }

    /// Writes the batch of [`Device::forgetting_batch`]. It is called once.
    pub fn set_forgetting_batch(&self, bytes: &[u8]) {
        self.idle.write(FORGETTING_BATCH, bytes);
    }

    /// Puts code where programs can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn code(&self, bytes: &[u8]) -> Result<Piece> {
        self.code.place(bytes, FETCH_B)
    }

    /// Puts a surface state where handles reach it.
    ///
    /// # Errors
    /// When there is no memory, or all handles are in use.
    pub fn bindless(&self, state: &[u8]) -> Result<Piece> {
        self.bindless.place(state, 0)
    }

    /// Puts a sampler where samplers are.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn sampler(&self, state: &[u8]) -> Result<Piece> {
        self.samplers.place(state, 0)
    }

    /// The state of the sampler at an address; `None` if none can be there.
    pub fn sampler_bytes(&self, address: u64) -> Option<[u8; SamplerState::SIZE_BYTES]> {
        self.samplers.read(address)
    }

    /// Puts a border colour where samplers find it.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn border(&self, state: &[u8]) -> Result<Piece> {
        self.borders.place(state, 0)
    }

    /// Upload memory of at least `size` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn upload_chunk(&self, kind: Upload, size: u64) -> Result<Chunk> {
        let mut memory = lock(&self.uploads[kind as usize]);
        if let Some(chunk) = memory.unused.take(size) {
            return Ok(chunk);
        }
        let size = size.max(CHUNK_B).next_multiple_of(PAGE_B);
        memory.slab.take(size, SLAB_B, |size| Bo::new(&self.kernel, size, kind.window()))
    }

    /// Takes upload memory back.
    pub fn recycle(&self, kind: Upload, chunk: Chunk) {
        lock(&self.uploads[kind as usize]).unused.give(chunk);
    }

    /// Scratch memory for programs of a stage whose threads need `bytes`; none if they need none.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn scratch(&self, stage: Stage, bytes: u32) -> Result<Option<Arc<Scratch>>> {
        if bytes == 0 {
            return Ok(None);
        }
        let log2_kib = bytes.div_ceil(1024).next_power_of_two().trailing_zeros();
        let mut all = lock(&self.scratch);
        if let Some(s) = all.get(&(stage as u8, log2_kib)) {
            return Ok(Some(s.clone()));
        }
        let size = u64::from(scratch_ids(self.chip(), stage)) << (10 + log2_kib);
        let memory = Bo::new(&self.kernel, size, Window::Scratch)?;
        let scratch = Arc::new(Scratch { memory, log2_kib });
        all.insert((stage as u8, log2_kib), scratch.clone());
        Ok(Some(scratch))
    }
}

/// Numbers by which the threads of a stage tell their scratch memory apart. source: Mesa, intel_device_info.c,
/// `init_max_scratch_ids`: scratch memory of compute counts four subslices in each slice of Gen9
fn scratch_ids(chip: &Chip, stage: Stage) -> u32 {
    match (chip.generation, stage) {
        (Generation::Gen9, Stage::Compute) => 4 * chip.slices * 56,
        (Generation::Gen9, Stage::Fragment) => 4 * chip.slices * 64,
        (Generation::Gen9, _) => 336,
        (Generation::Gen12, Stage::Compute) => chip.slices * chip.subslices_per_slice * 16 * 8,
        (Generation::Gen12, Stage::Fragment) => 128 * chip.slices * 8,
        (Generation::Gen12, Stage::Vertex | Stage::TessEvaluation) => 546,
        (Generation::Gen12, _) => 336,
    }
}
