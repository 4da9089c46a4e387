//! The kernel's interface: buffers with addresses, submissions, faults.
//!
//! [`Kernel`] and [`Bo`] are what the rest of the driver sees. What differs between the kernel's drivers is an [`Interface`]:
//! [`panthor`] for GPUs with command streams, whose address space the driver manages, and [`panfrost`] for GPUs with a job manager.

mod panfrost;
mod panthor;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::client::{Mapping, RenderNode};
use tepui_mali_chips::{Arch, Chip};
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::{SharedBuffers, recycle};

use crate::space::Window;

/// Bytes of a page of the address space.
pub const PAGE_B: u64 = 4096;

pub use tepui_drm::lock;

fn failed(what: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| Error::kernel(what, errno)
}

/// Whether a chip has a job manager instead of command streams.
pub fn has_job_manager(chip: &Chip) -> bool {
    chip.arch < Arch(10)
}

/// The chip of a render node.
///
/// # Errors
/// When the node is not that of a chip that is known.
pub fn chip(node: &RenderNode) -> Result<&'static Chip> {
    let unknown = |why: String| Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why);
    let driver = node.driver().map_err(failed("asking for the kernel's driver"))?;
    let id = match driver.as_str() {
        "panthor" => panthor::product(node)?,
        "panfrost" => panfrost::product(node)?,
        _ => {
            return Err(unknown(format!(
                "the kernel's driver is {driver}, not panthor or panfrost"
            )));
        }
    };
    let known = tepui_mali_chips::CHIPS.iter().find(|c| is_product(c.product_id, id));
    known.ok_or_else(|| unknown(format!("no chip with the product id {id:#x} is known")))
}

/// Whether ids name the same product: minor numbers of the architecture differ between versions of one. source: Mesa, pan_props.c
fn is_product(a: u32, b: u32) -> bool {
    const SAME: u32 = 0xff0f;
    a & SAME == b & SAME
}

/// A queue of the group; with a job manager, its job slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// Vertex shading and tiling.
    VertexTiler,
    /// Fragment shading.
    Fragment,
    /// Dispatches.
    Compute,
}

impl Queue {
    /// All queues that execute streams, in the order of their numbers.
    pub const ALL: [Queue; 3] = [Queue::VertexTiler, Queue::Fragment, Queue::Compute];
}

/// A stream or a chain of jobs for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The queue.
    pub queue: Queue,
    /// GPU address.
    pub address: u64,
    /// Bytes of a stream.
    pub size: u32,
    /// Whether jobs of the chain read clocks, which the kernel then keeps running.
    pub reads_clock: bool,
}

/// Properties of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Mask of the shader cores.
    pub shader_present: u64,
    /// Threads of a core.
    pub max_threads: u32,
}

/// The memory of the tiler's heap: with command streams its first chunk, to which the kernel adds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilerMemory {
    /// Address of the kernel's context, where it has one.
    pub context: Option<u64>,
    /// Address of the memory.
    pub base: u64,
    /// Its bytes.
    pub size: u32,
    /// Bytes of the kernel's header at its start.
    pub header: u32,
}

/// Kinds of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoKind {
    /// The host's mapping is write-combined.
    Private,
    /// The host's mapping is cached: [`Bo::sync`] writes the host's cache back and invalidates it.
    Cached,
    /// It can be exported; the mapping is write-combined.
    Shareable,
}

/// The part that differs between the kernel's drivers.
trait Interface: Send + Sync {
    /// A handle of a new buffer of zeros, for a window.
    fn create(&self, node: &RenderNode, size: u64, window: Window, kind: BoKind) -> Result<u32>;

    /// Writes the host's cache of a range of a buffer back, and invalidates it.
    fn sync(
        &self,
        node: &RenderNode,
        handle: u32,
        offset: u64,
        size: u64,
    ) -> std::result::Result<(), Errno>;

    /// Gives a buffer an address.
    fn bind(&self, node: &RenderNode, handle: u32, size: u64, window: Window) -> Result<u64>;

    /// Takes a buffer's address away, before its handle is closed. Returns whether its addresses may be used again, which
    /// [`Interface::give`] does once the handle is closed.
    fn unbind(&self, node: &RenderNode, address: u64, size: u64) -> bool;

    /// Gives addresses back.
    fn give(&self, address: u64, size: u64);

    /// The offset at which a buffer is mapped.
    fn map_offset(&self, node: &RenderNode, handle: u32) -> std::result::Result<u64, Errno>;

    /// Submits works, those of a queue in order: waits, executes, signals. Returns the submission's number from 1, or 0 where they
    /// have none.
    fn submit(
        &self,
        node: &RenderNode,
        waits: &[SyncPoint],
        works: &[Work],
        signals: &[SyncPoint],
    ) -> Result<u64>;

    /// Number of the last submission that is done, where they have numbers.
    fn finished(&self, node: &RenderNode) -> Result<u64>;

    /// Waits for a submission.
    fn finish(&self, node: &RenderNode, number: u64) -> Result<()>;

    /// Ticks of the GPU's clock.
    fn time(&self, node: &RenderNode) -> Result<u64>;

    /// Fails once the kernel has given the work of this device up.
    fn check(&self, node: &RenderNode) -> Result<()>;

    /// Frees the kernel's objects.
    fn close(&self, node: &RenderNode);

    /// The memory of the tiler's heap.
    fn heap(&self) -> TilerMemory;
}

/// An open device: an address space, and queues in it.
pub struct Kernel {
    /// The render node.
    pub node: RenderNode,
    /// The chip.
    pub chip: &'static Chip,
    /// Properties of the GPU.
    pub properties: Properties,
    interface: Box<dyn Interface>,
    /// Buffers that may have file descriptors. A buffer has one handle and one address in the device, however often it is imported.
    shared: SharedBuffers<Bo>,
}

impl Kernel {
    /// Opens an address space and queues of low or medium priority.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(
        node: RenderNode,
        chip: &'static Chip,
        priority: vk::QueueGlobalPriority,
    ) -> Result<Arc<Kernel>> {
        let (properties, interface) = match has_job_manager(chip) {
            true => panfrost::open(&node, priority)?,
            false => panthor::open(&node, priority)?,
        };
        Ok(Arc::new(Kernel { node, chip, properties, interface, shared: SharedBuffers::default() }))
    }

    /// The memory of the tiler's heap.
    pub fn heap(&self) -> TilerMemory {
        self.interface.heap()
    }

    /// Ticks of the GPU's clock.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn time(&self) -> Result<u64> {
        self.interface.time(&self.node)
    }

    /// Fails once the kernel has given the work of this device up.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn check(&self) -> Result<()> {
        self.interface.check(&self.node)
    }

    /// Number of the last submission that is done, where they have numbers.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn finished(&self) -> Result<u64> {
        self.interface.finished(&self.node)
    }

    /// Waits for a submission.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn finish(&self, number: u64) -> Result<()> {
        self.interface.finish(&self.node, number)
    }

    /// Submits works, those of a queue in order: waits, executes, signals. Returns the submission's number from 1, or 0 where they
    /// have none.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn submit(
        &self,
        waits: &[SyncPoint],
        works: &[Work],
        signals: &[SyncPoint],
    ) -> Result<u64> {
        self.interface.submit(&self.node, waits, works, signals)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.interface.close(&self.node);
    }
}

/// A buffer: memory that the GPU and the host see.
pub struct Bo {
    kernel: Arc<Kernel>,
    /// The kernel's handle.
    handle: u32,
    /// GPU address.
    pub address: u64,
    /// Bytes, a multiple of the page size.
    pub size: u64,
    mapping: Mapping,
    /// The host's mapping is cached.
    is_cached: bool,
}

impl Bo {
    /// Gives a buffer an address, and maps it.
    fn bind(kernel: &Arc<Kernel>, handle: u32, size: u64, window: Window) -> Result<Bo> {
        let (node, interface) = (&kernel.node, &kernel.interface);
        let give_up = |e: Error| {
            node.close_buffer(handle);
            e
        };
        let address = interface.bind(node, handle, size, window).map_err(&give_up)?;
        let mapping = interface
            .map_offset(node, handle)
            .and_then(|offset| node.map(offset, size as usize))
            .map_err(failed("mapping memory"));
        match mapping {
            Ok(mapping) => {
                let kernel = kernel.clone();
                Ok(Bo { kernel, handle, address, size, mapping, is_cached: false })
            }
            Err(e) => {
                let unbound = interface.unbind(node, address, size);
                let e = give_up(e);
                if unbound {
                    interface.give(address, size);
                }
                Err(e)
            }
        }
    }

    fn create(kernel: &Arc<Kernel>, size: u64, window: Window, kind: BoKind) -> Result<Bo> {
        let size = size.max(1).checked_next_multiple_of(PAGE_B);
        let size = size.ok_or_else(|| Error::device_memory("too large"))?;
        let handle = kernel.interface.create(&kernel.node, size, window, kind)?;
        kernel.node.adopt_buffer(handle);
        let mut bo = Bo::bind(kernel, handle, size, window)?;
        bo.is_cached = kind == BoKind::Cached;
        Ok(bo)
    }

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Bo> {
        Bo::create(kernel, size, window, BoKind::Private)
    }

    /// A new buffer of zeros whose mapping on the host is cached.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn cached(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Bo> {
        Bo::create(kernel, size, window, BoKind::Cached)
    }

    /// A new buffer of zeros that can be exported.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn shareable(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Arc<Bo>> {
        let bo = Arc::new(Bo::create(kernel, size, window, BoKind::Shareable)?);
        kernel.shared.add(bo.handle, &bo);
        Ok(bo)
    }

    /// The buffer of a file descriptor.
    ///
    /// # Errors
    /// When it is no buffer.
    pub fn import(
        kernel: &Arc<Kernel>,
        fd: &OwnedFd,
        size: u64,
        window: Window,
    ) -> Result<Arc<Bo>> {
        let invalid = |why: &str| Error::new(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE, why);
        let handle = kernel
            .node
            .import_buffer(fd.as_raw_fd())
            .map_err(|_| invalid("the descriptor is no buffer"))?;
        let make = || {
            let end = rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).unwrap_or(size);
            let size = size.max(end).next_multiple_of(PAGE_B);
            Ok(Arc::new(Bo::bind(kernel, handle, size, window)?))
        };
        kernel.shared.import(handle, || kernel.node.close_buffer(handle), make)
    }

    /// A file descriptor of the buffer.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn export(&self) -> Result<OwnedFd> {
        self.kernel.node.export_buffer(self.handle).map_err(failed("exporting memory"))
    }

    /// Maps the buffer once more, at an address where there is room.
    ///
    /// # Errors
    /// When the kernel refuses.
    ///
    /// # Safety
    /// Nothing that counts is at the buffer's size from the address on.
    pub unsafe fn map_at(&self, address: *mut u8) -> Result<()> {
        let failed = |_| Error::new(vk::Result::ERROR_MEMORY_MAP_FAILED, "mapping memory there");
        let offset =
            self.kernel.interface.map_offset(&self.kernel.node, self.handle).map_err(failed)?;
        // SAFETY: as the caller says.
        unsafe { self.kernel.node.map_at(offset, self.size as usize, address).map_err(failed) }
    }

    /// Writes the host's cache of a range back and invalidates it, if the mapping is cached.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn sync(&self, offset: u64, size: u64) -> Result<()> {
        let Kernel { node, interface, .. } = &*self.kernel;
        match self.is_cached {
            true => interface
                .sync(node, self.handle, offset, size)
                .map_err(failed("writing the host's cache back")),
            false => Ok(()),
        }
    }

    /// The first byte on the host.
    pub fn host(&self) -> *mut u8 {
        self.mapping.base()
    }
}

impl recycle::Piece for Bo {
    fn size(&self) -> u64 {
        self.size
    }
}

// SAFETY: the mapping has the size of the buffer, and lives as long.
unsafe impl Mapped for Bo {
    fn address(&self) -> u64 {
        self.address
    }

    fn host(&self) -> *mut u8 {
        Bo::host(self)
    }
}

impl Drop for Bo {
    fn drop(&mut self) {
        let Kernel { node, interface, .. } = &*self.kernel;
        // Addresses that stay bound are not used again.
        let unbound = interface.unbind(node, self.address, self.size);
        node.close_buffer(self.handle);
        if unbound {
            interface.give(self.address, self.size);
        }
    }
}
