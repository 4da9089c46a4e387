//! The i915 kernel interface: an address space, a context, buffers, submissions.
//!
//! The driver chooses the addresses of buffers and names all of them with each submission, since shaders reach any buffer through
//! addresses and handles in memory.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use tepui_drm::client::{Mapping, RenderNode};
pub use tepui_drm::lock;
use tepui_drm::uapi::Direction;
use tepui_drm::uapi::i915::{self as uapi, Ioctl, exec, exec_object};
use tepui_intel_chips::Chip;
use tepui_intel_layout::aux::PAGE_B as LARGE_PAGE_B;
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::{Heap, SharedBuffers, recycle};

use crate::space::{self, Window};

/// Bytes of a page of the address space.
pub const PAGE_B: u64 = 4096;
/// The register with the timestamp of the render engine. source: Mesa, anv_device.c
const TIMESTAMP: u64 = 0x2358;

fn failed(what: &'static str) -> impl Fn(tepui_drm::Errno) -> Error {
    move |errno| Error::kernel(what, errno)
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

/// The chip of a render node.
///
/// # Errors
/// When the node is not that of a chip that is known.
pub fn chip(node: &RenderNode) -> Result<&'static Chip> {
    let unknown = |why: String| Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why);
    let driver = node.driver().map_err(failed("asking for the kernel's driver"))?;
    if driver != "i915" {
        return Err(unknown(format!("the kernel's driver is {driver}, not i915")));
    }
    let id = parameter(node, uapi::param::CHIPSET_ID)?;
    let known = u16::try_from(id).ok().and_then(tepui_intel_chips::with_device_id);
    known.ok_or_else(|| unknown(format!("no chip with the device id {id:#x} is known")))
}

fn parameter(node: &RenderNode, param: i32) -> Result<i32> {
    let mut value = 0i32;
    let mut get = uapi::GetParam { param, value: (&raw mut value) as u64, ..Default::default() };
    call(node, Ioctl::GetParam, &mut get).map_err(failed("asking for a parameter"))?;
    Ok(value)
}

/// An open device: an address space, and a context of the render engine in it.
pub struct Kernel {
    /// The render node.
    pub node: RenderNode,
    /// The chip.
    pub chip: &'static Chip,
    vm: u32,
    context: u32,
    heaps: [Mutex<Heap>; space::ALL.len()],
    /// All buffers, as submissions name them.
    objects: Mutex<Vec<uapi::ExecObject2>>,
    /// Buffers that may have file descriptors. A buffer has one handle and one address in the device, however often it is imported.
    shared: SharedBuffers<Bo>,
}

impl Kernel {
    /// Opens an address space and a context of low or medium priority.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn new(
        node: RenderNode,
        chip: &'static Chip,
        priority: vk::QueueGlobalPriority,
    ) -> Result<Arc<Kernel>> {
        for (param, name) in [
            (uapi::param::HAS_EXEC_SOFTPIN, "pinned addresses"),
            (uapi::param::HAS_EXEC_TIMELINE_FENCES, "points of timelines"),
            (uapi::param::HAS_CONTEXT_ISOLATION, "contexts of their own state"),
        ] {
            if parameter(&node, param)? == 0 {
                let why = format!("the kernel has no {name}; Linux 5.11 or later has");
                return Err(Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why));
            }
        }
        let mut vm = uapi::VmControl::default();
        call(&node, Ioctl::GemVmCreate, &mut vm).map_err(failed("creating an address space"))?;
        let setparam = |param, value, next: u64| uapi::ContextCreateExtSetparam {
            base: uapi::UserExtension {
                next_extension: next,
                name: uapi::CONTEXT_CREATE_EXT_SETPARAM,
                ..Default::default()
            },
            param: uapi::ContextParam { param, value, ..Default::default() },
        };
        let low = priority == vk::QueueGlobalPriority::LOW;
        let priority = if low { -uapi::MAX_USER_PRIORITY / 2 } else { 0 };
        let third = setparam(uapi::context_param::PRIORITY, priority as u64, 0);
        // A context whose state is lost with a fault is of no use: each command buffer relies on the state of the first one.
        let second = setparam(uapi::context_param::RECOVERABLE, 0, (&raw const third) as u64);
        let first = setparam(uapi::context_param::VM, vm.vm_id.into(), (&raw const second) as u64);
        let mut context = uapi::ContextCreateExt {
            flags: uapi::CONTEXT_CREATE_USE_EXTENSIONS,
            extensions: (&raw const first) as u64,
            ..Default::default()
        };
        call(&node, Ioctl::GemContextCreate, &mut context).map_err(failed("creating a context"))?;
        Ok(Arc::new(Kernel {
            node,
            chip,
            vm: vm.vm_id,
            context: context.ctx_id,
            heaps: space::ALL.map(|(_, start, end)| Mutex::new(Heap::new(start, end))),
            objects: Mutex::default(),
            shared: SharedBuffers::default(),
        }))
    }

    fn call<T: bytemuck::Pod>(
        &self,
        ioctl: Ioctl,
        arg: &mut T,
    ) -> std::result::Result<(), tepui_drm::Errno> {
        call(&self.node, ioctl, arg)
    }

    /// Takes addresses in a window.
    ///
    /// # Errors
    /// When they are not free.
    pub fn take(&self, window: Window, bytes: u64) -> Result<u64> {
        use Window::{At, Data, Replay, Sparse, SparseAt, SparseReplay};
        let all = space::ALL.iter().zip(&self.heaps);
        // Images begin with a page of the table of their control surfaces, and tiles of sparse resources are as large.
        let is_large = match window {
            Data | Replay => bytes > LARGE_PAGE_B,
            Sparse | SparseReplay | SparseAt(_) => true,
            _ => false,
        };
        let align = if is_large { LARGE_PAGE_B } else { PAGE_B };
        let asked = match window {
            At(at) => Some((at, Replay)),
            SparseAt(at) => Some((at, SparseReplay)),
            _ => None,
        };
        if let Some((at, window)) = asked {
            let mut heaps = all.filter(|(w, _)| w.0 == window);
            let free =
                at.is_multiple_of(align) && heaps.any(|(_, heap)| lock(heap).take_at(at, bytes));
            return free.then_some(at).ok_or_else(|| {
                let what = format!("{bytes} bytes at {at:#x} are not free");
                Error::new(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, what)
            });
        }
        let mut heaps = all.filter(|(w, _)| w.0 == window);
        let at = heaps.find_map(|(_, heap)| lock(heap).take(bytes, align));
        at.ok_or_else(|| {
            Error::device_memory(format!("no {bytes} bytes of the window {window:?} are free"))
        })
    }

    /// Gives addresses back.
    pub fn give(&self, address: u64, bytes: u64) {
        let at = space::ALL.iter().position(|w| (w.1..w.2).contains(&address));
        if let Some(heap) = at.and_then(|k| self.heaps.get(k)) {
            lock(heap).give(address, bytes);
        }
    }

    /// Ticks of the GPU's clock.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn time(&self) -> Result<u64> {
        let mut read =
            uapi::RegRead { offset: TIMESTAMP | uapi::REG_READ_8B_WA, ..Default::default() };
        self.call(Ioctl::RegRead, &mut read).map_err(failed("asking for the time"))?;
        Ok(read.val)
    }

    /// Fails once the kernel has banned the context.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn check(&self) -> Result<()> {
        let mut stats = uapi::ResetStats { ctx_id: self.context, ..Default::default() };
        self.call(Ioctl::GetResetStats, &mut stats).map_err(failed("asking for resets"))?;
        match stats.batch_active | stats.batch_pending {
            0 => Ok(()),
            _ => Err(Error::new(vk::Result::ERROR_DEVICE_LOST, "the GPU faulted or hung")),
        }
    }

    /// Submits a batch at an offset of a buffer: waits, executes, signals.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn submit(
        &self,
        waits: &[SyncPoint],
        (batch, offset): (&Bo, u64),
        signals: &[SyncPoint],
    ) -> Result<()> {
        let both = [(waits, uapi::EXEC_FENCE_WAIT), (signals, uapi::EXEC_FENCE_SIGNAL)];
        let all = both.iter().flat_map(|(list, flag)| list.iter().map(move |s| (s, *flag)));
        let (fences, points): (Vec<_>, Vec<u64>) =
            all.map(|(&(handle, point), flags)| (uapi::ExecFence { handle, flags }, point)).unzip();
        let timeline = uapi::ExecTimelineFences {
            base: uapi::UserExtension {
                name: uapi::EXEC_EXT_TIMELINE_FENCES,
                ..Default::default()
            },
            fence_count: fences.len() as u64,
            handles_ptr: fences.as_ptr() as u64,
            values_ptr: points.as_ptr() as u64,
        };
        // No buffer may be closed between the list and the request.
        let mut objects = lock(&self.objects);
        if let Some(k) = objects.iter().position(|o| o.handle == batch.handle) {
            objects.swap(0, k);
        }
        let mut submit = uapi::Execbuffer2 {
            buffers_ptr: objects.as_ptr() as u64,
            buffer_count: objects.len() as u32,
            batch_start_offset: offset as u32,
            batch_len: 0,
            num_cliprects: 0,
            cliprects_ptr: (&raw const timeline) as u64,
            flags: exec::NO_RELOC | exec::BATCH_FIRST | exec::USE_EXTENSIONS,
            rsvd1: self.context.into(),
            ..Default::default()
        };
        self.call(Ioctl::GemExecbuffer2, &mut submit).map_err(failed("submitting"))
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let mut context = uapi::ContextDestroy { ctx_id: self.context, pad: 0 };
        let _ = self.call(Ioctl::GemContextDestroy, &mut context);
        let mut vm = uapi::VmControl { vm_id: self.vm, ..Default::default() };
        let _ = self.call(Ioctl::GemVmDestroy, &mut vm);
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
    /// Mapping, kept as long as the buffer; none of pages of the application's.
    _mapping: Option<Mapping>,
    /// The first byte that the host sees.
    host: *mut u8,
}

// SAFETY: the host's memory is the buffer's, which threads may share.
unsafe impl Send for Bo {}
// SAFETY: as above.
unsafe impl Sync for Bo {}

impl Bo {
    /// Names a buffer in all submissions, at new addresses, and maps it.
    fn bind(kernel: &Arc<Kernel>, handle: u32, size: u64, window: Window) -> Result<Bo> {
        Bo::bind_as(kernel, handle, size, window, None)
    }

    /// Names a buffer in all submissions, at new addresses, and maps it, unless it consists of the host's pages.
    fn bind_as(
        kernel: &Arc<Kernel>,
        handle: u32,
        size: u64,
        window: Window,
        pages: Option<*mut u8>,
    ) -> Result<Bo> {
        let give_up = |e: Error| {
            kernel.node.close_buffer(handle);
            e
        };
        // An unmapped page after each buffer catches accesses past its end.
        let address = kernel.take(window, size + PAGE_B).map_err(&give_up)?;
        let mut map =
            uapi::GemMmapOffset { handle, flags: uapi::MMAP_OFFSET_WB, ..Default::default() };
        let mapped = match pages {
            Some(pages) => Ok((None, pages)),
            None => kernel
                .call(Ioctl::GemMmapOffset, &mut map)
                .and_then(|()| kernel.node.map(map.offset, size as usize))
                .map(|mapping| {
                    let host = mapping.base();
                    (Some(mapping), host)
                })
                .map_err(failed("mapping memory")),
        };
        let (mapping, host) = match mapped {
            Ok(mapped) => mapped,
            Err(e) => {
                kernel.give(address, size + PAGE_B);
                return Err(give_up(e));
            }
        };
        lock(&kernel.objects).push(uapi::ExecObject2 {
            handle,
            offset: address,
            // Sync objects order submissions; buffers have no order of their own.
            flags: exec_object::PINNED | exec_object::SUPPORTS_48B_ADDRESS | exec_object::ASYNC,
            ..Default::default()
        });
        Ok(Bo { kernel: kernel.clone(), handle, address, size, _mapping: mapping, host })
    }

    /// A new buffer of zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Bo> {
        let size = size.max(1).checked_next_multiple_of(PAGE_B);
        let size = size.ok_or_else(|| Error::device_memory("too large"))?;
        let mut create = uapi::GemCreateExt { size, ..Default::default() };
        kernel.call(Ioctl::GemCreate, &mut create).map_err(failed("allocating memory"))?;
        kernel.node.adopt_buffer(create.handle);
        Bo::bind(kernel, create.handle, size, window)
    }

    /// A new buffer of zeros that can be exported.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn shareable(kernel: &Arc<Kernel>, size: u64, window: Window) -> Result<Arc<Bo>> {
        let bo = Arc::new(Bo::new(kernel, size, window)?);
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

    /// A buffer of whole pages of the application's own, which stay as long as it lives.
    ///
    /// # Errors
    /// When they are not the application's.
    pub fn of_host(kernel: &Arc<Kernel>, pages: *mut u8, size: u64, window: Window) -> Result<Bo> {
        // Older kernels find out when the pages are used first. source: Mesa, i915/anv_gem.c (`anv_gem_userptr`)
        let probes = parameter(&kernel.node, uapi::param::HAS_USERPTR_PROBE).is_ok_and(|p| p != 0);
        let flags = if probes { uapi::USERPTR_PROBE } else { 0 };
        let mut create =
            uapi::GemUserptr { user_ptr: pages as u64, user_size: size, flags, handle: 0 };
        kernel.call(Ioctl::GemUserptr, &mut create).map_err(|errno| {
            let why = format!("importing memory of the host: {errno}");
            Error::new(vk::Result::ERROR_INVALID_EXTERNAL_HANDLE, why)
        })?;
        kernel.node.adopt_buffer(create.handle);
        Bo::bind_as(kernel, create.handle, size, window, Some(pages))
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
        let mut map = uapi::GemMmapOffset {
            handle: self.handle,
            flags: uapi::MMAP_OFFSET_WB,
            ..Default::default()
        };
        let failed = |_| Error::new(vk::Result::ERROR_MEMORY_MAP_FAILED, "mapping memory there");
        self.kernel.call(Ioctl::GemMmapOffset, &mut map).map_err(failed)?;
        // SAFETY: as the caller says.
        unsafe { self.kernel.node.map_at(map.offset, self.size as usize, address).map_err(failed) }
    }

    /// The first byte on the host.
    pub fn host(&self) -> *mut u8 {
        self.host
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
        let mut objects = lock(&self.kernel.objects);
        objects.retain(|o| o.handle != self.handle || o.offset != self.address);
        self.kernel.node.close_buffer(self.handle);
        drop(objects);
        self.kernel.give(self.address, self.size + PAGE_B);
    }
}
