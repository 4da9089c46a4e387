//! The device: pools of code and descriptors, memory of threads, recycled upload memory; shared by everything that records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tepui_mali_packets::tiler::{ChunkSize, TilerHeap};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_expand::{SharedMemory, SharedUse};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::recycle::Limits;
use tepui_vulkan_kit::{Pool, PoolPiece, Recycled};

use crate::encoder::streams::incremental;
use crate::encoder::streams::subqueues::COUNTER_B;
use crate::graphics::samples;
use crate::kernel::{Bo, Kernel, PAGE_B, Queue, Work, has_job_manager, lock};
use crate::meta::Meta;
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::space::Window;
use crate::stream::{BASES, FIRST_JOB, SCRATCH, STREAM_ALIGN, Stream};
use crate::submitted::Submitted;

/// Bytes of a chunk of upload memory.
pub const CHUNK_B: u64 = 64 << 10;
/// Maximum number of unused chunks that are kept.
const MAX_CHUNKS: usize = 64;
/// Maximum bytes of all larger unused pieces that are kept.
const MAX_LARGE_B: u64 = 32 << 20;
/// Bytes of a chunk of code.
const CODE_CHUNK_B: u64 = 1 << 20;
/// Alignment of code. source: Mesa, panvk_vX_shader.c (`panvk_shader_upload`)
const CODE_ALIGN: u64 = 128;
/// Bytes after code that the instruction fetch may read. source: Mesa, pan_props.c, on the prefetch of instructions
const FETCH_B: u64 = 128;

/// A piece of a pool.
pub type Piece = PoolPiece<Bo>;

/// Memory of the threads of all cores.
pub struct ThreadMemory {
    /// Its memory.
    pub memory: Bo,
    /// Logarithm of the bytes of a thread.
    pub log2_bytes: u32,
}

/// Memory of expanded draws that command buffers share.
#[derive(Clone)]
pub struct ExpandMemory(pub Arc<Bo>);

impl SharedMemory for ExpandMemory {
    fn address(&self) -> u64 {
        self.0.address
    }

    fn bytes(&self) -> u64 {
        self.0.size
    }
}

/// Bytes of the geometry buffer. source: Mesa, panvk_vX_queue.c (`init_tiler`)
pub const GEOMETRY_B: u64 = 64 << 10;

/// Memory of the tiler that all contexts share, with command streams.
struct Tiler {
    /// The heap's descriptor, and the geometry buffer after it.
    memory: Bo,
    /// The stream that handles an exhausted heap, and its bytes.
    handler: (Piece, u64),
}

impl Tiler {
    fn new(kernel: &Arc<Kernel>, descriptors: &Arc<Pool<Bo>>) -> Result<Tiler> {
        let memory = Bo::new(kernel, PAGE_B + GEOMETRY_B, Window::Data)?;
        memory.write(0, &heap_descriptor(kernel)?);
        let words = incremental::handler().map_err(packet)?;
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let new = |size: u64| Bo::new(kernel, size.max(CHUNK_B), Window::Data);
        let handler = (descriptors.place(bytes, 0, new)?, bytes.len() as u64);
        Ok(Tiler { memory, handler })
    }
}

/// The descriptor of the tiler's heap.
fn heap_descriptor(kernel: &Kernel) -> Result<Vec<u8>> {
    let heap = kernel.heap();
    let descriptor = TilerHeap {
        chunk_size: match heap.context {
            Some(_) => ChunkSize::N256KiB,
            // The default of v9.xml.
            None => ChunkSize::N2MiB,
        },
        size: heap.size,
        base: heap.base,
        bottom: heap.base + u64::from(heap.header),
        top: heap.base + u64::from(heap.size),
        ..TilerHeap::default()
    };
    Ok(descriptor.pack().map_err(packet)?.to_vec())
}

/// A device.
pub struct Device {
    /// The kernel's side.
    pub kernel: Arc<Kernel>,
    code: Arc<Pool<Bo>>,
    descriptors: Arc<Pool<Bo>>,
    uploads: Mutex<Recycled<Bo>>,
    /// Memory of threads, by the logarithm of a thread's bytes.
    threads: Mutex<BTreeMap<u32, Arc<ThreadMemory>>>,
    /// Counters of the queues' signals.
    counters: Bo,
    /// None with a job manager: there each rendering has its own.
    tiler: Option<Tiler>,
    /// Memory of expanded draws, by use.
    expansion: [Mutex<Option<Arc<Bo>>>; 2],
    /// Positions of samples, by pattern.
    samples: Piece,
    /// Chains of jobs.
    submitted: Mutex<Submitted>,
    /// The driver's own programs.
    pub meta: Meta,
}

impl Device {
    /// A device on a kernel's.
    ///
    /// # Errors
    /// When there is no memory, or the kernel refuses the first streams.
    pub fn new(kernel: Arc<Kernel>) -> Result<Arc<Device>> {
        let limits = Limits { chunk_b: CHUNK_B, max_chunks: MAX_CHUNKS, max_large_b: MAX_LARGE_B };
        let counters = Bo::new(&kernel, COUNTER_B * Queue::ALL.len() as u64, Window::Data)?;
        for queue in 0..Queue::ALL.len() as u64 {
            // Streams wait until a counter is greater than the number of signals.
            counters.write(COUNTER_B * queue, &1u64.to_le_bytes());
        }
        let descriptors = Pool::new(CHUNK_B, DESCRIPTOR_ALIGN);
        let new = |size: u64| Bo::new(&kernel, size.max(CHUNK_B), Window::Data);
        let samples = descriptors.place(&samples::positions(), 0, new)?;
        let streams = !has_job_manager(kernel.chip);
        let tiler = streams.then(|| Tiler::new(&kernel, &descriptors)).transpose()?;
        let device = Arc::new(Device {
            code: Pool::new(CODE_CHUNK_B, CODE_ALIGN),
            descriptors,
            tiler,
            samples,
            expansion: Default::default(),
            uploads: Mutex::new(Recycled::new(limits)),
            threads: Mutex::default(),
            counters,
            submitted: Mutex::default(),
            meta: Meta::default(),
            kernel,
        });
        if streams {
            device.start()?;
        }
        Ok(device)
    }

    /// Sets the registers that streams rely on, and the heap of the tiler.
    fn start(&self) -> Result<()> {
        let memory = Bo::new(&self.kernel, CHUNK_B, Window::Data)?;
        let mut at = 0;
        let mut works = Vec::new();
        for queue in Queue::ALL {
            let mut stream = Stream::default();
            stream.job_slot(FIRST_JOB);
            for other in 0..Queue::ALL.len() as u8 {
                stream.move64(BASES + 2 * other, 0);
            }
            if let Some(context) = self.kernel.heap().context.filter(|_| queue != Queue::Compute) {
                stream.move64(SCRATCH, context);
                stream.set_heap(SCRATCH);
            }
            let words = stream.words().map_err(packet)?;
            let bytes: &[u8] = bytemuck::cast_slice(words);
            memory.write(at, bytes);
            let size = bytes.len() as u32;
            works.push(Work { queue, address: memory.address + at, size, reads_clock: false });
            at = (at + bytes.len() as u64).next_multiple_of(STREAM_ALIGN);
        }
        let node = &self.kernel.node;
        let kernel = |what: &'static str| move |e| Error::kernel(what, e);
        let done = node.create_sync(false).map_err(kernel("creating a sync object"))?;
        let submitted = self.kernel.submit(&[], &works, &[(done, 0)]);
        let wait = tepui_drm::client::Wait { deadline_ns: i64::MAX, ..Default::default() };
        let waited = submitted.and_then(|_| {
            let first = node.wait_syncs(&[done], &[0], wait);
            first.map_err(kernel("waiting for the first streams")).map(drop)
        });
        node.destroy_sync(done);
        waited?;
        self.kernel.check()
    }

    /// Address of the counters of the queues' signals, [`COUNTER_B`] apart.
    pub fn counters(&self) -> u64 {
        self.counters.address
    }

    /// Memory of expanded draws with at least some bytes. Command buffers that were recorded with less keep theirs.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn expansion_memory(&self, of: SharedUse, bytes: u64) -> Result<Arc<Bo>> {
        let mut slot = lock(&self.expansion[usize::from(of == SharedUse::Pieces)]);
        if let Some(bo) = slot.as_ref().filter(|bo| bo.size >= bytes) {
            return Ok(bo.clone());
        }
        let bo = Arc::new(Bo::new(&self.kernel, bytes.next_multiple_of(PAGE_B), Window::Data)?);
        *slot = Some(bo.clone());
        Ok(bo)
    }

    /// Addresses of the heap's descriptor and of the geometry buffer.
    pub fn tiler_memory(&self) -> [u64; 2] {
        let at = self.tiler.as_ref().map_or(0, |t| t.memory.address);
        [at, at + PAGE_B]
    }

    /// The stream that handles an exhausted heap: its address and bytes.
    pub fn handler(&self) -> [u64; 2] {
        self.tiler.as_ref().map_or([0; 2], |t| [t.handler.0.address, t.handler.1])
    }

    /// The descriptor of the tiler's heap, for a rendering that has its own.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn heap_descriptor(&self) -> Result<Vec<u8>> {
        heap_descriptor(&self.kernel)
    }

    /// Address of the positions of the samples of a pattern.
    pub fn sample_positions(&self, samples: u32) -> u64 {
        self.samples.address + samples::offset(samples)
    }

    /// Chains that are submitted.
    pub fn submitted(&self) -> MutexGuard<'_, Submitted> {
        lock(&self.submitted)
    }

    /// Fails once work of the device has faulted or hung.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        match self.has_faulted()? {
            true => Err(Error::new(vk::Result::ERROR_DEVICE_LOST, "a chain of jobs faulted")),
            false => Ok(()),
        }
    }

    /// Threads of a core that may be resident. source: Mesa, pan_props.c (`panfrost_query_thread_tls_alloc`)
    pub fn threads_of_core(&self) -> u32 {
        self.kernel.properties.max_threads.max(1)
    }

    /// Numbers of cores: up to the last one that exists. source: Mesa, pan_props.c (`panfrost_query_core_count`)
    pub fn core_range(&self) -> u32 {
        64 - self.kernel.properties.shader_present.leading_zeros()
    }

    /// Puts code where programs can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn code(&self, bytes: &[u8]) -> Result<Piece> {
        let new = |size| Bo::new(&self.kernel, size, Window::Code);
        self.code.place(bytes, FETCH_B, new)
    }

    /// Puts descriptors where the GPU reads them.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn descriptors(&self, bytes: &[u8]) -> Result<Piece> {
        let new = |size: u64| Bo::new(&self.kernel, size.max(CHUNK_B), Window::Data);
        self.descriptors.place(bytes, 0, new)
    }

    /// Upload memory of at least `size` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn upload_chunk(&self, size: u64) -> Result<Bo> {
        if let Some(bo) = lock(&self.uploads).take(size) {
            return Ok(bo);
        }
        Bo::new(&self.kernel, size.max(CHUNK_B), Window::Data)
    }

    /// Takes upload memory back.
    pub fn recycle(&self, bo: Bo) {
        lock(&self.uploads).give(bo);
    }

    /// Memory of threads that need `bytes` each; none if they need none.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn thread_memory(&self, bytes: u32) -> Result<Option<Arc<ThreadMemory>>> {
        if bytes == 0 {
            return Ok(None);
        }
        let log2_bytes = bytes.max(16).next_power_of_two().trailing_zeros();
        let mut all = lock(&self.threads);
        if let Some(found) = all.get(&log2_bytes) {
            return Ok(Some(found.clone()));
        }
        let threads = u64::from(self.threads_of_core()) * u64::from(self.core_range());
        let memory = Bo::new(&self.kernel, threads << log2_bytes, Window::Threads)?;
        let made = Arc::new(ThreadMemory { memory, log2_bytes });
        all.insert(log2_bytes, made.clone());
        Ok(Some(made))
    }
}
