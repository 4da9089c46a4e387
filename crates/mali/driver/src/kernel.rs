//! The panthor kernel interface: an address space, a group of queues, buffers.
//!
//! The group has a queue for each subqueue of a command buffer ([`Queue`]) and one that executes nothing: a submission's last entry is
//! an empty stream in it, which waits for the other queues and signals what the application asked for. Were it in one of theirs, the
//! queue's later work would wait for all of them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tepui_drm::Errno;
use tepui_drm::client::{Mapping, RenderNode};
use tepui_drm::uapi::Direction;
use tepui_drm::uapi::panthor::{self as uapi, Ioctl, ObjArray};
use tepui_mali_chips::Chip;
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::{Heap, SharedBuffers, recycle};

use crate::space::{self, Window};

/// Bytes of a page of the address space.
pub const PAGE_B: u64 = 4096;
/// Bytes of a queue's ring buffer. source: Mesa, panvk_vX_queue.c
const RING_B: u32 = 64 << 10;
/// Bytes of a chunk of the tiler's heap, chunks at first, and their limit. source: Mesa, panvk_vX_queue.c (`init_tiler`)
const HEAP_CHUNK_B: u32 = 2 << 20;
const HEAP_CHUNKS: u32 = 5;
const MAX_HEAP_CHUNKS: u32 = 64;

/// Locks and ignores poisoning: every critical section here leaves its data consistent.
pub fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(what: &'static str) -> impl Fn(Errno) -> Error {
    move |errno| Error::kernel(what, errno)
}

fn call<T: bytemuck::Pod>(
    node: &RenderNode,
    ioctl: Ioctl,
    arg: &mut T,
) -> std::result::Result<(), Errno> {
    // SAFETY: pointers in arguments are those of live values, as the callers here set them.
    unsafe { node.call(Direction::ReadWrite, ioctl.info().request.nr(), arg) }
}

/// The array of a slice.
fn array<T>(list: &[T]) -> ObjArray {
    ObjArray {
        stride: size_of::<T>() as u32,
        count: list.len() as u32,
        array: if list.is_empty() { 0 } else { list.as_ptr() as u64 },
    }
}

/// Asks for a property.
fn query<T: bytemuck::Pod + Default>(node: &RenderNode, what: u32, mut answer: T) -> Result<T> {
    let mut arg = uapi::DevQuery {
        r#type: what,
        size: size_of::<T>() as u32,
        pointer: (&raw mut answer) as u64,
    };
    call(node, Ioctl::DevQuery, &mut arg).map_err(failed("asking for the GPU's properties"))?;
    Ok(answer)
}

/// The chip of a render node.
///
/// # Errors
/// When the node is not that of a chip that is known.
pub fn chip(node: &RenderNode) -> Result<&'static Chip> {
    let unknown = |why: String| Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why);
    let driver = node.driver().map_err(failed("asking for the kernel's driver"))?;
    if driver != "panthor" {
        return Err(unknown(format!("the kernel's driver is {driver}, not panthor")));
    }
    let info: uapi::GpuInfo = query(node, uapi::QUERY_GPU_INFO, uapi::GpuInfo::default())?;
    let id = info.gpu_id >> 16;
    let known = tepui_mali_chips::CHIPS.iter().find(|c| is_product(c.product_id, id));
    known.ok_or_else(|| unknown(format!("no chip with the product id {id:#x} is known")))
}

/// Whether ids name the same product: minor numbers of the architecture differ between versions of one. source: Mesa, pan_props.c
fn is_product(a: u32, b: u32) -> bool {
    const SAME: u32 = 0xff0f;
    a & SAME == b & SAME
}

/// A queue of the group.
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

/// Number of the queue that executes nothing.
const JOIN: u32 = Queue::ALL.len() as u32;

/// A stream for a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The queue.
    pub queue: Queue,
    /// GPU address.
    pub address: u64,
    /// Bytes.
    pub size: u32,
}

/// An open device: an address space, and a group of queues in it.
pub struct Kernel {
    /// The render node.
    pub node: RenderNode,
    /// The chip.
    pub chip: &'static Chip,
    /// Properties of the GPU.
    pub info: uapi::GpuInfo,
    /// Address of the tiler heap's context, and of its first chunk.
    pub heap: [u64; 2],
    vm: u32,
    group: u32,
    heap_handle: u32,
    heaps: [Mutex<Heap>; space::ALL.len()],
    /// Sync objects that the last stream of each queue in a submission signals; held while submitting.
    ends: Mutex<[u32; Queue::ALL.len()]>,
    /// Buffers that may have file descriptors. A buffer has one handle and one address in the device, however often it is imported.
    shared: SharedBuffers<Bo>,
}

impl Kernel {
    /// Opens an address space and a group of low or medium priority.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(
        node: RenderNode,
        chip: &'static Chip,
        priority: vk::QueueGlobalPriority,
    ) -> Result<Arc<Kernel>> {
        let info: uapi::GpuInfo = query(&node, uapi::QUERY_GPU_INFO, uapi::GpuInfo::default())?;
        let mut vm = uapi::VmCreate { user_va_range: space::END, ..Default::default() };
        call(&node, Ioctl::VmCreate, &mut vm).map_err(failed("creating an address space"))?;
        if vm.user_va_range < space::END {
            let why = format!("the kernel gives {:#x} bytes of addresses only", vm.user_va_range);
            return Err(Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why));
        }
        let queue = uapi::QueueCreate { priority: 1, ringbuf_size: RING_B, ..Default::default() };
        let queues = [queue; JOIN as usize + 1];
        let cores = info.shader_present;
        let mut group = uapi::GroupCreate {
            queues: array(&queues),
            max_compute_cores: cores.count_ones() as u8,
            max_fragment_cores: cores.count_ones() as u8,
            max_tiler_cores: 1,
            priority: match priority {
                vk::QueueGlobalPriority::LOW => uapi::GROUP_PRIORITY_LOW,
                _ => uapi::GROUP_PRIORITY_MEDIUM,
            },
            compute_core_mask: cores,
            fragment_core_mask: cores,
            tiler_core_mask: 1,
            vm_id: vm.id,
            ..Default::default()
        };
        call(&node, Ioctl::GroupCreate, &mut group)
            .map_err(failed("creating a group of queues"))?;
        let mut heap = uapi::TilerHeapCreate {
            vm_id: vm.id,
            initial_chunk_count: HEAP_CHUNKS,
            chunk_size: HEAP_CHUNK_B,
            max_chunks: MAX_HEAP_CHUNKS,
            // No limit: the chunks are one.
            target_in_flight: u32::from(u16::MAX),
            ..Default::default()
        };
        call(&node, Ioctl::TilerHeapCreate, &mut heap).map_err(failed("creating a tiler heap"))?;
        let mut ends = [0; Queue::ALL.len()];
        for end in &mut ends {
            *end = node.create_sync(false).map_err(failed("creating a sync object"))?;
        }
        Ok(Arc::new(Kernel {
            node,
            chip,
            info,
            heap: [heap.tiler_heap_ctx_gpu_va, heap.first_heap_chunk_gpu_va],
            vm: vm.id,
            group: group.group_handle,
            heap_handle: heap.handle,
            heaps: space::ALL.map(|(_, start, end)| Mutex::new(Heap::new(start, end))),
            ends: Mutex::new(ends),
            shared: SharedBuffers::default(),
        }))
    }

    /// Bytes of a chunk of the tiler's heap.
    pub fn heap_chunk(&self) -> u32 {
        HEAP_CHUNK_B
    }

    fn call<T: bytemuck::Pod>(&self, ioctl: Ioctl, arg: &mut T) -> std::result::Result<(), Errno> {
        call(&self.node, ioctl, arg)
    }

    /// Takes addresses in a window.
    fn take(&self, window: Window, bytes: u64) -> Result<u64> {
        let heap = |w: Window| {
            let mut all = space::ALL.iter().zip(&self.heaps);
            all.find(|(row, _)| row.0 == w).map(|(_, heap)| lock(heap))
        };
        if let Window::At(at) = window {
            let free = at.is_multiple_of(PAGE_B)
                && heap(Window::Replay).is_some_and(|mut h| h.take_at(at, bytes));
            return free.then_some(at).ok_or_else(|| {
                let what = format!("{bytes} bytes at {at:#x} are not free");
                Error::new(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, what)
            });
        }
        heap(window).and_then(|mut h| h.take(bytes, PAGE_B)).ok_or_else(|| {
            Error::device_memory(format!("no {bytes} bytes of the window {window:?} are free"))
        })
    }

    /// Gives addresses back.
    fn give(&self, address: u64, bytes: u64) {
        let at = space::ALL.iter().position(|w| (w.1..w.2).contains(&address));
        if let Some(heap) = at.and_then(|k| self.heaps.get(k)) {
            lock(heap).give(address, bytes);
        }
    }

    fn bind(&self, op: uapi::VmBindOp) -> std::result::Result<(), Errno> {
        let ops = [op];
        let mut bind = uapi::VmBind { vm_id: self.vm, flags: 0, ops: array(&ops) };
        self.call(Ioctl::VmBind, &mut bind)
    }

    /// Ticks of the GPU's clock.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn time(&self) -> Result<u64> {
        let ask =
            uapi::TimestampInfo { flags: uapi::TIMESTAMP_GPU, ..uapi::TimestampInfo::default() };
        Ok(query(&self.node, uapi::QUERY_TIMESTAMP_INFO, ask)?.current_timestamp)
    }

    /// Fails once the kernel has given the group or the address space up.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn check(&self) -> Result<()> {
        let lost = |why: String| Err(Error::new(vk::Result::ERROR_DEVICE_LOST, why));
        let mut group = uapi::GroupGetState { group_handle: self.group, ..Default::default() };
        self.call(Ioctl::GroupGetState, &mut group).map_err(failed("asking for faults"))?;
        if group.state != 0 {
            let queues = group.fatal_queues;
            return lost(format!("the GPU faulted or hung (queues {queues:#b})"));
        }
        let mut vm = uapi::VmGetState { vm_id: self.vm, ..Default::default() };
        self.call(Ioctl::VmGetState, &mut vm).map_err(failed("asking for the address space"))?;
        match vm.state {
            uapi::VM_STATE_USABLE => Ok(()),
            _ => lost("the address space is unusable".to_owned()),
        }
    }

    /// Submits streams, those of a queue in order: waits, executes, signals.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn submit(
        &self,
        waits: &[SyncPoint],
        streams: &[Work],
        signals: &[SyncPoint],
    ) -> Result<()> {
        let ends = lock(&self.ends);
        let end = |q: Queue| (ends[q as usize], 0);
        let mut syncs: Vec<Vec<uapi::SyncOp>> = Vec::with_capacity(streams.len() + 1);
        let mut join: Vec<uapi::SyncOp> = Vec::new();
        for (k, work) in streams.iter().enumerate() {
            let is_own = |w: &Work| w.queue == work.queue;
            let mut ops = Vec::new();
            if !streams[..k].iter().any(is_own) {
                ops.extend(waits.iter().map(|&s| operation(s, 0)));
            }
            if !streams[k + 1..].iter().any(is_own) {
                ops.push(operation(end(work.queue), uapi::SYNC_OP_SIGNAL));
                join.push(operation(end(work.queue), 0));
            }
            syncs.push(ops);
        }
        if streams.is_empty() {
            join.extend(waits.iter().map(|&s| operation(s, 0)));
        }
        join.extend(signals.iter().map(|&s| operation(s, uapi::SYNC_OP_SIGNAL)));
        syncs.push(join);
        let none = uapi::QueueSubmit { queue_index: JOIN, ..Default::default() };
        let entries: Vec<uapi::QueueSubmit> = streams
            .iter()
            .map(|w| uapi::QueueSubmit {
                queue_index: w.queue as u32,
                stream_size: w.size,
                stream_addr: w.address,
                // The kernel's flush before the stream is never left out.
                ..Default::default()
            })
            .chain([none])
            .zip(&syncs)
            .map(|(entry, syncs)| uapi::QueueSubmit { syncs: array(syncs), ..entry })
            .collect();
        let mut submit =
            uapi::GroupSubmit { group_handle: self.group, pad: 0, queue_submits: array(&entries) };
        self.call(Ioctl::GroupSubmit, &mut submit).map_err(failed("submitting"))
    }
}

/// A wait or a signal. Points of binary sync objects are 0.
fn operation((handle, point): SyncPoint, flags: u32) -> uapi::SyncOp {
    let kind = match point {
        0 => uapi::SYNC_OP_SYNCOBJ,
        _ => uapi::SYNC_OP_TIMELINE_SYNCOBJ,
    };
    uapi::SyncOp { flags: flags | kind, handle, timeline_value: point }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let mut group = uapi::GroupDestroy { group_handle: self.group, pad: 0 };
        let _ = self.call(Ioctl::GroupDestroy, &mut group);
        let mut heap = uapi::TilerHeapDestroy { handle: self.heap_handle, pad: 0 };
        let _ = self.call(Ioctl::TilerHeapDestroy, &mut heap);
        let mut vm = uapi::VmDestroy { id: self.vm, pad: 0 };
        let _ = self.call(Ioctl::VmDestroy, &mut vm);
        lock(&self.ends).iter().for_each(|&end| self.node.destroy_sync(end));
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
}

impl Bo {
    /// Binds a buffer at new addresses, and maps it.
    fn bind(kernel: &Arc<Kernel>, handle: u32, size: u64, window: Window) -> Result<Bo> {
        let give_up = |e: Error| {
            kernel.node.close_buffer(handle);
            e
        };
        // An unbound page after each buffer catches accesses past its end.
        let address = kernel.take(window, size + PAGE_B).map_err(&give_up)?;
        let flags = match window {
            Window::Code => uapi::BIND_OP_MAP_READONLY,
            _ => uapi::BIND_OP_MAP_NOEXEC,
        };
        let map = uapi::VmBindOp {
            flags: uapi::BIND_OP_TYPE_MAP | flags,
            bo_handle: handle,
            va: address,
            size,
            ..Default::default()
        };
        let mapping = map_offset(kernel, handle)
            .and_then(|offset| kernel.node.map(offset, size as usize))
            .and_then(|mapping| kernel.bind(map).map(|()| mapping))
            .map_err(failed("mapping memory"));
        match mapping {
            Ok(mapping) => Ok(Bo { kernel: kernel.clone(), handle, address, size, mapping }),
            Err(e) => {
                kernel.give(address, size + PAGE_B);
                Err(give_up(e))
            }
        }
    }

    fn create(kernel: &Arc<Kernel>, size: u64, window: Window, owner: u32) -> Result<Bo> {
        let size = size.max(1).checked_next_multiple_of(PAGE_B);
        let size = size.ok_or_else(|| Error::device_memory("too large"))?;
        let mut create =
            uapi::BoCreate { size, exclusive_vm_id: owner, ..uapi::BoCreate::default() };
        kernel.call(Ioctl::BoCreate, &mut create).map_err(failed("allocating memory"))?;
        kernel.node.adopt_buffer(create.handle);
        Bo::bind(kernel, create.handle, size, window)
    }

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Bo> {
        Bo::create(kernel, size, window, kernel.vm)
    }

    /// A new buffer of zeros that can be exported.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn shareable(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Arc<Bo>> {
        let bo = Arc::new(Bo::create(kernel, size, window, 0)?);
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
        let offset = map_offset(&self.kernel, self.handle).map_err(failed)?;
        // SAFETY: as the caller says.
        unsafe { self.kernel.node.map_at(offset, self.size as usize, address).map_err(failed) }
    }

    /// The first byte on the host.
    pub fn host(&self) -> *mut u8 {
        self.mapping.base()
    }
}

/// The offset at which a buffer is mapped.
fn map_offset(kernel: &Kernel, handle: u32) -> std::result::Result<u64, Errno> {
    let mut map = uapi::BoMmapOffset { handle, ..Default::default() };
    kernel.call(Ioctl::BoMmapOffset, &mut map)?;
    Ok(map.offset)
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
        let unmap = uapi::VmBindOp {
            flags: uapi::BIND_OP_TYPE_UNMAP,
            va: self.address,
            size: self.size,
            ..Default::default()
        };
        // Addresses that stay bound are not used again.
        let unbound = self.kernel.bind(unmap);
        self.kernel.node.close_buffer(self.handle);
        if unbound.is_ok() {
            self.kernel.give(self.address, self.size + PAGE_B);
        }
    }
}
