//! The asahi kernel interface: an address space, a queue, buffers, submissions.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use tepui_agx_chips::PAGE_BYTES;
use tepui_drm::client::{Mapping, RenderNode};
pub use tepui_drm::lock;
use tepui_drm::uapi::Direction;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
use tepui_vulkan::backend::{Place, SyncPoint};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::{Heap, arena::Mapped, recycle};

use crate::residency::{ALIASES, Fallback, PageTable};

/// Base of 32-bit addresses of code and USC words: a window of 4 GiB.
pub const USC_BASE: u64 = 0x11_0000_0000;
// Vertex programs read zeros below.
const _: () = assert!(USC_BASE >= tepui_agx_compiler::abi::UNBOUND_B + PAGE_BYTES);
/// Bytes of the window.
const USC_BYTES: u64 = 1 << 32;
/// Start of the addresses of other buffers, up to the kernel's part of the address space.
const DATA_BASE: u64 = SPARSE_BASE + (1 + ALIASES) * SPARSE_B;

/// Sparse resources: a multiple of 2^32.
pub const SPARSE_BASE: u64 = 0x15_0000_0000;
/// Bytes of addresses of sparse resources, and of each alias of them.
pub const SPARSE_B: u64 = 1 << 36;

/// Share of the application's addresses, at the end, that can be requested again
/// (`bufferDeviceAddressCaptureReplay`): nothing else uses them, so they are free in the next process,
/// too.
const REPLAY_SHARE: u64 = 8;

/// An open device: an address space and a queue of the kernel.
pub struct Kernel {
    /// The render node.
    pub node: RenderNode,
    vm: u32,
    queue: u32,
    usc: Mutex<Heap>,
    sparse: Mutex<Heap>,
    data: Mutex<Heap>,
    /// Addresses that an application may ask for again.
    replay: Mutex<Heap>,
    /// The first of them.
    replay_start: u64,
    /// Parameters of the device.
    pub params: uapi::ParamsGlobal,
}

/// A buffer: memory that the GPU and the host see.
pub struct Bo {
    kernel: Arc<Kernel>,
    /// The kernel's handle.
    pub handle: u32,
    /// GPU address.
    pub address: u64,
    /// Bytes, a multiple of the page size.
    pub size: u64,
    mapping: Mapping,
}

fn failed(what: &'static str) -> impl Fn(tepui_drm::Errno) -> Error {
    move |errno| Error::kernel(what, errno)
}

/// Parameters of a device.
///
/// # Errors
/// When the kernel refuses.
pub fn params(node: &RenderNode) -> Result<uapi::ParamsGlobal> {
    let mut params = uapi::ParamsGlobal::default();
    let mut get = uapi::GetParams {
        pointer: (&raw mut params) as u64,
        size: size_of::<uapi::ParamsGlobal>() as u64,
        ..Default::default()
    };
    call(node, Ioctl::GetParams, &mut get).map_err(failed("asking for the device's parameters"))?;
    Ok(params)
}

/// Whether a device reads zeros where there is no memory.
pub fn has_soft_faults(params: &uapi::ParamsGlobal) -> bool {
    params.features & uapi::FEATURE_SOFT_FAULTS != 0
}

impl Kernel {
    fn call<T: bytemuck::Pod>(
        &self,
        ioctl: Ioctl,
        arg: &mut T,
    ) -> std::result::Result<(), tepui_drm::Errno> {
        call(&self.node, ioctl, arg)
    }

    /// Opens an address space and a queue, of low or medium priority.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(node: RenderNode, priority: vk::QueueGlobalPriority) -> Result<Arc<Kernel>> {
        let params = params(&node)?;
        let kernel_start = (params.vm_end - params.vm_kernel_min_size) & !(PAGE_BYTES - 1);
        let mut vm =
            uapi::VmCreate { kernel_start, kernel_end: params.vm_end, ..Default::default() };
        call(&node, Ioctl::VmCreate, &mut vm).map_err(failed("creating an address space"))?;
        let mut queue = uapi::QueueCreate {
            vm_id: vm.vm_id,
            priority: match priority {
                vk::QueueGlobalPriority::LOW => uapi::PRIORITY_LOW,
                _ => uapi::PRIORITY_MEDIUM,
            },
            usc_exec_base: USC_BASE,
            ..Default::default()
        };
        call(&node, Ioctl::QueueCreate, &mut queue).map_err(failed("creating a queue"))?;
        let replayed = kernel_start.saturating_sub(DATA_BASE) / REPLAY_SHARE;
        let replay_start = (kernel_start - replayed).next_multiple_of(PAGE_BYTES);
        Ok(Arc::new(Kernel {
            node,
            vm: vm.vm_id,
            queue: queue.queue_id,
            // Address 0 stays free: it means that there is nothing.
            usc: Mutex::new(Heap::new(USC_BASE + PAGE_BYTES, USC_BASE + USC_BYTES)),
            sparse: Mutex::new(Heap::new(SPARSE_BASE, SPARSE_BASE + SPARSE_B)),
            data: Mutex::new(Heap::new(DATA_BASE, replay_start)),
            replay: Mutex::new(Heap::new(replay_start, kernel_start)),
            replay_start,
            params,
        }))
    }

    /// Takes addresses in a window.
    fn take(&self, window: Window, bytes: u64) -> Result<u64> {
        let full = || {
            Error::device_memory(format!("no {bytes} bytes of the GPU's address space are free"))
        };
        match window {
            Window::Usc => lock(&self.usc).take(bytes, PAGE_BYTES).ok_or_else(full),
            Window::Data => lock(&self.data).take(bytes, PAGE_BYTES).ok_or_else(full),
            Window::Sparse => lock(&self.sparse).take(bytes, PAGE_BYTES).ok_or_else(full),
            Window::Replay => lock(&self.replay).take(bytes, PAGE_BYTES).ok_or_else(full),
            Window::At(address) => {
                let there = address.is_multiple_of(PAGE_BYTES)
                    && lock(&self.replay).take_at(address, bytes);
                there.then_some(address).ok_or_else(|| {
                    let what = format!("{bytes} bytes at {address:#x} are not free");
                    Error::new(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, what)
                })
            }
        }
    }

    /// Gives addresses back.
    fn give(&self, address: u64, bytes: u64) {
        let heap = match address {
            a if (USC_BASE..USC_BASE + USC_BYTES).contains(&a) => &self.usc,
            a if (SPARSE_BASE..SPARSE_BASE + SPARSE_B).contains(&a) => &self.sparse,
            a if a < self.replay_start => &self.data,
            _ => &self.replay,
        };
        lock(heap).give(address, bytes);
    }

    /// Whether the GPU reads zeros where there is no memory.
    pub fn has_soft_faults(&self) -> bool {
        has_soft_faults(&self.params)
    }

    /// Binds and unbinds memory in the address space.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn bind(&self, ops: &[uapi::GemBindOp]) -> Result<()> {
        if ops.is_empty() {
            return Ok(());
        }
        let mut bind = uapi::VmBind {
            vm_id: self.vm,
            num_binds: ops.len() as u32,
            stride: size_of::<uapi::GemBindOp>() as u32,
            userptr: ops.as_ptr() as u64,
            ..Default::default()
        };
        self.call(Ioctl::VmBind, &mut bind).map_err(failed("binding memory"))
    }

    /// The GPU's time in nanoseconds.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn time(&self) -> Result<u64> {
        let mut time = uapi::GetTime::default();
        self.call(Ioctl::GetTime, &mut time).map_err(failed("asking for the time"))?;
        Ok(time.gpu_timestamp)
    }

    /// Makes part of a buffer an object for timestamps; returns its handle.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn timestamps(&self, bo: &Bo) -> Result<u32> {
        let mut bind = uapi::GemBindObject {
            op: uapi::BIND_OBJECT_OP_BIND,
            flags: uapi::BIND_OBJECT_USAGE_TIMESTAMPS,
            handle: bo.handle,
            range: bo.size,
            ..Default::default()
        };
        self.call(Ioctl::GemBindObject, &mut bind).map_err(failed("binding timestamps"))?;
        Ok(bind.object_handle)
    }

    /// Takes an object for timestamps back.
    pub fn drop_timestamps(&self, object_handle: u32) {
        let mut bind = uapi::GemBindObject {
            op: uapi::BIND_OBJECT_OP_UNBIND,
            object_handle,
            ..Default::default()
        };
        let _ = self.call(Ioctl::GemBindObject, &mut bind);
    }

    /// Submits commands: the bytes of headers and payloads.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn submit(
        &self,
        waits: &[SyncPoint],
        commands: &[u8],
        signals: &[SyncPoint],
    ) -> Result<()> {
        let sync = |&(handle, timeline_value): &SyncPoint| uapi::Sync {
            sync_type: if timeline_value == 0 {
                uapi::SYNC_SYNCOBJ
            } else {
                uapi::SYNC_TIMELINE_SYNCOBJ
            },
            handle,
            timeline_value,
        };
        let syncs: Vec<uapi::Sync> = waits.iter().chain(signals).map(sync).collect();
        let mut submit = uapi::Submit {
            syncs: syncs.as_ptr() as u64,
            cmdbuf: commands.as_ptr() as u64,
            queue_id: self.queue,
            in_sync_count: waits.len() as u32,
            out_sync_count: signals.len() as u32,
            cmdbuf_size: commands.len() as u32,
            ..Default::default()
        };
        self.call(Ioctl::Submit, &mut submit).map_err(failed("submitting"))
    }
}

fn call<T: bytemuck::Pod>(
    node: &RenderNode,
    ioctl: Ioctl,
    arg: &mut T,
) -> std::result::Result<(), tepui_drm::Errno> {
    let nr = ioctl.info().request;
    let direction = match (nr.kernel_reads(), nr.kernel_writes()) {
        (_, false) => Direction::Write,
        (false, true) => Direction::Read,
        (true, true) => Direction::ReadWrite,
    };
    // SAFETY: pointers in arguments are those of live values, as the callers here set them.
    unsafe { node.call(direction, nr.nr(), arg) }
}

/// Addresses of a sparse resource, where memory comes and goes page by page.
///
/// Programs read zeros where there is no memory, and what they write there is dropped, on kernels whose GPUs have soft faults. The texture
/// unit and the pixel back end have none; they use [aliases](crate::residency) of the range.
/// source: asahi_drm.h, DRM_ASAHI_FEATURE_SOFT_FAULTS
pub struct Range {
    kernel: Arc<Kernel>,
    /// GPU address.
    pub address: u64,
    /// Bytes.
    size: u64,
    /// Tells shaders which pages of an image have memory.
    pub table: Option<PageTable>,
    /// Aliases; none of a range that has memory as a whole.
    fallbacks: Vec<Fallback>,
}

impl Range {
    /// Addresses without memory. Only those in [`Window::Sparse`] may have aliases.
    ///
    /// # Errors
    /// When the address space is full, or the kernel refuses.
    pub fn new(
        kernel: &Arc<Kernel>,
        size: u64,
        table: Option<PageTable>,
        fallbacks: Vec<Fallback>,
        window: Window,
    ) -> Result<Range> {
        let size = size
            .max(1)
            .checked_next_multiple_of(PAGE_BYTES)
            .ok_or_else(|| Error::device_memory("too large"))?;
        let with_guard = size.checked_add(PAGE_BYTES);
        let with_guard = with_guard.ok_or_else(|| Error::device_memory("too large"))?;
        let address = kernel.take(window, with_guard)?;
        let range = Range { kernel: kernel.clone(), address, size, table, fallbacks };
        if !range.fallbacks.is_empty() {
            let mut ops = Vec::new();
            range.bind(0, size, None, &mut ops)?;
            kernel.bind(&ops)?;
        }
        Ok(range)
    }

    /// Appends the operations that bind memory to a part of the range, or take it away.
    ///
    /// # Errors
    /// When the part is not inside of the range.
    pub fn bind(
        &self,
        offset: u64,
        size: u64,
        memory: Option<(&Bo, u64)>,
        ops: &mut Vec<uapi::GemBindOp>,
    ) -> Result<()> {
        let size = size.next_multiple_of(PAGE_BYTES);
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.size);
        let room = |(bo, at): (&Bo, u64)| at.checked_add(size).is_some_and(|end| end <= bo.size);
        if !inside || !memory.is_none_or(room) {
            let what = "memory is bound beyond the end of a sparse resource, or of the memory";
            return Err(Error::new(tepui_vulkan::vk::Result::ERROR_UNKNOWN, what));
        }
        let address = self.address + offset;
        let op = |flags, handle, offset, addr| uapi::GemBindOp {
            flags,
            handle,
            offset,
            range: size,
            addr,
        };
        ops.push(match memory {
            Some((bo, at)) => op(uapi::BIND_READ | uapi::BIND_WRITE, bo.handle, at, address),
            None => op(uapi::BIND_UNBIND, 0, 0, address),
        });
        for f in &self.fallbacks {
            let address = f.alias.address(address);
            ops.push(match memory {
                Some((bo, at)) => op(f.flags, bo.handle, at, address),
                None => op(f.flags | uapi::BIND_SINGLE_PAGE, f.page.handle, 0, address),
            });
        }
        Ok(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let aliases = self.fallbacks.iter().map(|f| f.alias.address(self.address));
        let unbind = |addr| uapi::GemBindOp {
            flags: uapi::BIND_UNBIND,
            range: self.size,
            addr,
            ..Default::default()
        };
        let ops: Vec<_> = std::iter::once(self.address).chain(aliases).map(unbind).collect();
        let _ = self.kernel.bind(&ops);
        self.kernel.give(self.address, self.size + PAGE_BYTES);
    }
}

/// Address window of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The window of code and USC words.
    Usc,
    /// The window of all other buffers.
    Data,
    /// That of sparse resources, which has aliases.
    Sparse,
    /// Any address in the window of replayable addresses.
    Replay,
    /// This address in the window of replayable addresses.
    At(u64),
}

impl Window {
    /// The window of memory and ranges of applications.
    pub fn of(place: Place) -> Window {
        match place {
            Place::Any => Window::Data,
            Place::Replayable => Window::Replay,
            Place::At(address) => Window::At(address),
        }
    }
}

impl Bo {
    fn bind(kernel: &Arc<Kernel>, handle: u32, size: u64, window: Window) -> Result<Bo> {
        let give_up = |e: Error| {
            kernel.node.close_buffer(handle);
            e
        };
        // An unmapped page after each buffer catches accesses past its end.
        let address = kernel.take(window, size + PAGE_BYTES).map_err(&give_up)?;
        let op = uapi::GemBindOp {
            flags: uapi::BIND_READ | uapi::BIND_WRITE,
            handle,
            offset: 0,
            range: size,
            addr: address,
        };
        let mapped = kernel.bind(&[op]).and_then(|()| {
            let mut map = uapi::GemMmapOffset { handle, ..Default::default() };
            kernel.call(Ioctl::GemMmapOffset, &mut map).map_err(failed("mapping memory"))?;
            kernel.node.map(map.offset, size as usize).map_err(failed("mapping memory"))
        });
        match mapped {
            Ok(mapping) => Ok(Bo { kernel: kernel.clone(), handle, address, size, mapping }),
            Err(e) => {
                kernel.give(address, size + PAGE_BYTES);
                Err(give_up(e))
            }
        }
    }

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>, size: u64, window: Window, shareable: bool) -> Result<Bo> {
        let size = size
            .max(1)
            .checked_next_multiple_of(PAGE_BYTES)
            .ok_or_else(|| Error::device_memory("too large"))?;
        let private = if shareable { 0 } else { uapi::GEM_VM_PRIVATE };
        let mut create = uapi::GemCreate {
            size,
            flags: uapi::GEM_WRITEBACK | private,
            vm_id: if shareable { 0 } else { kernel.vm },
            ..Default::default()
        };
        kernel.call(Ioctl::GemCreate, &mut create).map_err(|e| match e {
            tepui_drm::Errno::INVAL => {
                Error::device_memory("the kernel has no buffer of this size")
            }
            e => Error::kernel("allocating memory", e),
        })?;
        kernel.node.adopt_buffer(create.handle);
        Bo::bind(kernel, create.handle, size, window)
    }

    /// The buffer of a file descriptor.
    ///
    /// # Errors
    /// When it is no buffer, or smaller than `size`.
    pub fn import(kernel: &Arc<Kernel>, fd: &OwnedFd, size: u64, window: Window) -> Result<Bo> {
        let invalid =
            |why: &str| Error::new(tepui_vulkan::vk::Result::ERROR_INVALID_EXTERNAL_HANDLE, why);
        let handle = kernel
            .node
            .import_buffer(fd.as_raw_fd())
            .map_err(|_| invalid("the descriptor is no buffer"))?;
        let end = rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).unwrap_or(size);
        Bo::bind(kernel, handle, size.max(end).next_multiple_of(PAGE_BYTES), window)
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
        let mut map = uapi::GemMmapOffset { handle: self.handle, ..Default::default() };
        let failed = |_| {
            Error::new(tepui_vulkan::vk::Result::ERROR_MEMORY_MAP_FAILED, "mapping memory there")
        };
        self.kernel.call(Ioctl::GemMmapOffset, &mut map).map_err(failed)?;
        // SAFETY: as the caller says.
        unsafe { self.kernel.node.map_at(map.offset, self.size as usize, address).map_err(failed) }
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
        let op = uapi::GemBindOp {
            flags: uapi::BIND_UNBIND,
            range: self.size,
            addr: self.address,
            ..Default::default()
        };
        let _ = self.kernel.bind(&[op]);
        self.kernel.node.close_buffer(self.handle);
        self.kernel.give(self.address, self.size + PAGE_BYTES);
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let mut queue = uapi::QueueDestroy { queue_id: self.queue, pad: 0 };
        let _ = self.call(Ioctl::QueueDestroy, &mut queue);
        let mut vm = uapi::VmDestroy { vm_id: self.vm, pad: 0 };
        let _ = self.call(Ioctl::VmDestroy, &mut vm);
    }
}
