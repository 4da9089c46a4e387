//! The device: code, samplers, scratch memory and recycled upload memory, shared by everything that records.

use std::sync::{Arc, Mutex};

use tepui_agx_chips::PAGE_BYTES;
use tepui_agx_compiler::descriptor::loads_sampler;
use tepui_agx_packets::sampler::FIRST_OF_HEAP;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::recycle::Limits;
use tepui_vulkan_kit::{Heap, Recycled, Slots};

use crate::borders::WrongBorders;
use crate::caches::{Meta, PartPrograms, TilePrograms};
use crate::code::{Code, CodeMemory};
use crate::kernel::{Bo, Kernel, Window, lock};
use crate::scratch::{self, Scratch};

/// Bytes of a chunk of upload memory.
pub const UPLOAD_CHUNK_B: u64 = 256 << 10;
/// Maximum number of unused chunks of that size that are kept.
const MAX_CHUNKS: usize = 64;
/// Maximum bytes of all larger unused pieces that are kept.
const MAX_LARGE_B: u64 = 32 << 20;
/// Length of the identity list.
const COUNTING: u32 = 1 << 16;
/// Places of the heap of samplers. source: Mesa, hk_device.c, hk_init_sampler_heap
pub const SAMPLERS: u32 = 1024;
/// Occlusion counters. source: the index's 15 bits, `FragmentOcclusionQuery`
pub const COUNTERS: u32 = 32767;

/// Limits of unused upload memory. Copies of index buffers and lists of vertices take megabytes.
const UPLOADS: Limits =
    Limits { chunk_b: UPLOAD_CHUNK_B, max_chunks: MAX_CHUNKS, max_large_b: MAX_LARGE_B };

/// A device.
pub struct Device {
    /// The kernel's side.
    pub kernel: Arc<Kernel>,
    code: Arc<CodeMemory>,
    uploads: Mutex<Recycled<Bo>>,
    /// A page of zeros: where null descriptors point to.
    pub zeros: Arc<Bo>,
    /// A page that the pixel back end writes to where sparse images have no memory. Nothing reads it.
    pub dropped_writes: Arc<Bo>,
    /// The sampler heap.
    pub sampler_heap: Bo,
    samplers: Mutex<Slots<[u8; 8]>>,
    /// Opaque black that programs must correct.
    pub(crate) wrong_borders: Arc<WrongBorders>,
    /// Occlusion counters.
    pub counters: Bo,
    free_counters: Mutex<Heap>,
    scratch: Mutex<Option<Arc<Scratch>>>,
    /// 0, 1, 2 and so on, [`COUNTING`] words, once somebody asked.
    counting: Mutex<Option<Bo>>,
    /// Background and end-of-tile programs.
    pub tile_programs: TilePrograms,
    /// Prologs and epilogs.
    pub part_programs: PartPrograms,
    /// Programs of copies, blits and clears.
    pub meta: Meta,
    /// Memory of expanded draws.
    pub expansion: ExpansionMemory,
}

/// Memory of what the stages before the rasteriser leave for draws. All command buffers use the same: the queue runs one hardware
/// command after the other, and each rendering begins with all of it free. So it takes addresses once for a device, not once for each
/// command buffer that waits.
#[derive(Default)]
pub struct ExpansionMemory {
    heap: Mutex<Option<Arc<Bo>>>,
    pieces: Mutex<Option<Arc<Bo>>>,
}

impl ExpansionMemory {
    /// The heap that programs allocate from, with at least `bytes`.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn heap(&self, kernel: &Arc<Kernel>, bytes: u64) -> Result<Arc<Bo>> {
        at_least(&self.heap, kernel, bytes)
    }

    /// Memory in which the encoder allocates, with at least `bytes`.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn pieces(&self, kernel: &Arc<Kernel>, bytes: u64) -> Result<Arc<Bo>> {
        at_least(&self.pieces, kernel, bytes)
    }
}

/// The memory in a slot, or a larger one in its place. Command buffers that were recorded with the smaller one keep it.
fn at_least(slot: &Mutex<Option<Arc<Bo>>>, kernel: &Arc<Kernel>, bytes: u64) -> Result<Arc<Bo>> {
    let mut slot = lock(slot);
    if let Some(bo) = slot.as_ref().filter(|bo| bo.size >= bytes) {
        return Ok(bo.clone());
    }
    let bo = Arc::new(Bo::new(kernel, bytes, Window::Data, false)?);
    *slot = Some(bo.clone());
    Ok(bo)
}

impl Device {
    /// A device on a kernel's.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: Arc<Kernel>) -> Result<Arc<Device>> {
        let zeros = Bo::new(&kernel, 1 << 16, Window::Data, false)?;
        let loads = loads_sampler().pack().map_err(packet)?;
        zeros.write(zeros.size - 64, &loads);
        let dropped_writes = Bo::new(&kernel, PAGE_BYTES, Window::Data, false)?;
        let sampler_heap = Bo::new(&kernel, 8 * u64::from(SAMPLERS), Window::Data, false)?;
        let counters = Bo::new(&kernel, 8 * u64::from(COUNTERS), Window::Data, false)?;
        Ok(Arc::new(Device {
            code: Arc::new(CodeMemory::new(kernel.clone())),
            uploads: Mutex::new(Recycled::new(UPLOADS)),
            zeros: Arc::new(zeros),
            dropped_writes: Arc::new(dropped_writes),
            sampler_heap,
            samplers: Mutex::new(Slots::new(SAMPLERS as u16)),
            wrong_borders: Arc::default(),
            counters,
            free_counters: Mutex::new(Heap::new(0, u64::from(COUNTERS))),
            scratch: Mutex::default(),
            counting: Mutex::default(),
            tile_programs: TilePrograms::default(),
            part_programs: PartPrograms::default(),
            meta: Meta::default(),
            expansion: ExpansionMemory::default(),
            kernel,
        }))
    }

    /// Address of the sampler for loads, which stands in `ss0`.
    pub fn loads_sampler(&self) -> u64 {
        self.zeros.address + self.zeros.size - 64
    }

    /// Puts code, or USC words and bindings, where programs can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn code(&self, bytes: &[u8]) -> Result<Code> {
        self.code.put(bytes)
    }

    /// Address of a compute stream that ends immediately.
    ///
    /// # Errors
    /// When a packet cannot be packed.
    pub fn idle_stream(&self) -> Result<u64> {
        let at = self.zeros.size - 128;
        let end = tepui_agx_packets::cdm::StreamTerminate {}.pack().map_err(packet)?;
        self.zeros.write(at, &end);
        Ok(self.zeros.address + at)
    }

    /// Upload memory of at least `size` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn upload_chunk(&self, size: u64) -> Result<Bo> {
        if let Some(bo) = lock(&self.uploads).take(size) {
            return Ok(bo);
        }
        Bo::new(&self.kernel, size.max(UPLOAD_CHUNK_B), Window::Usc, false)
    }

    /// Takes upload memory back.
    pub fn recycle(&self, bo: Bo) {
        lock(&self.uploads).give(bo);
    }

    /// Puts a sampler into the heap; returns its number as shaders count.
    ///
    /// # Errors
    /// When the heap is full.
    pub fn add_sampler(&self, bytes: &[u8; 8]) -> Result<u16> {
        let slot = lock(&self.samplers).take(*bytes).ok_or_else(|| {
            Error::device_memory(format!("the heap has {SAMPLERS} places for samplers that differ"))
        })?;
        if slot.is_new {
            self.sampler_heap.write(8 * u64::from(slot.number), bytes);
        }
        Ok(slot.number + FIRST_OF_HEAP)
    }

    /// Removes a sampler from the heap, unless an equal one is in use.
    pub fn remove_sampler(&self, bytes: &[u8; 8]) {
        lock(&self.samplers).give(bytes);
    }

    /// Takes occlusion counters.
    ///
    /// # Errors
    /// When there are no more.
    pub fn take_counters(&self, count: u32) -> Result<u32> {
        let at = lock(&self.free_counters).take(u64::from(count), 1);
        at.map(|at| at as u32)
            .ok_or_else(|| Error::device_memory("all occlusion counters are in use"))
    }

    /// Gives occlusion counters back.
    pub fn give_counters(&self, first: u32, count: u32) {
        lock(&self.free_counters).give(u64::from(first), u64::from(count));
    }

    /// The address of a list of `count` consecutive numbers from `first` on; none if they are too large
    /// for it.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn counting_list(&self, first: u32, count: u32) -> Result<Option<u64>> {
        if first.checked_add(count).is_none_or(|end| end > COUNTING) {
            return Ok(None);
        }
        let mut list = lock(&self.counting);
        if list.is_none() {
            let bo = Bo::new(&self.kernel, 4 * u64::from(COUNTING), Window::Data, false)?;
            let words: Vec<u32> = (0..COUNTING).collect();
            bo.write(0, bytemuck::cast_slice(&words));
            *list = Some(bo);
        }
        Ok(list.as_ref().map(|bo| bo.address + 4 * u64::from(first)))
    }

    /// Scratch memory for programs that need `bytes` for each thread.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn scratch(&self, bytes: u32) -> Result<Arc<Scratch>> {
        let mut slot = lock(&self.scratch);
        match &*slot {
            Some(s) if s.bytes >= bytes => Ok(s.clone()),
            _ => {
                let new = Arc::new(scratch::new(&self.kernel, &self.code, bytes)?);
                *slot = Some(new.clone());
                Ok(new)
            }
        }
    }
}

/// An error of a value that does not fit into its packet.
pub fn packet(p: tepui_packets::Problem) -> Error {
    Error::new(tepui_vulkan::vk::Result::ERROR_UNKNOWN, p.to_string())
}
