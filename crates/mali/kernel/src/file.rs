//! An open file of the device: its handles, address spaces, groups and heaps, and the ioctls on them.
//!
//! The header does not say which error a wrong id gives; here it is `EINVAL`, and `ENOENT` for a buffer's handle, as
//! Mesa does not tell them apart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tepui_drm::Errno;
use tepui_drm::core::CoreFile;
use tepui_drm::device::VirtualFile;
use tepui_drm::fence::{Fence, wait_recorded};
use tepui_drm::gem::Gem;
use tepui_drm::ids::Ids;
use tepui_drm::interface::{OpenFile, request_info};
use tepui_drm::lock;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::panthor::{self as uapi, Ioctl};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, Request};
use tepui_drm::user::UserMemory;
use tepui_mali_model::{Stream, limits};
use tepui_softgpu::Memory;

use crate::array::{argument, objects};
use crate::bind::vm_bind;
use crate::chips::{PAGE_BYTES, TILER_PRESENT, group_priorities};
use crate::device::Device;
use crate::gem::{Buffer, buffer, import, memory};
use crate::group::{Group, Job};
use crate::heap::Heap;
use crate::query::dev_query;
use crate::submit::Syncs;
use crate::vm::Vm;

/// Ring buffers of queues, in bytes: powers of two. The header names no limits; these are a choice that includes
/// Mesa's.
const RING_BYTES: std::ops::RangeInclusive<u32> = 4 << 10..=64 << 10;

/// An open file of the device. Dropping it cancels submissions that have not ended and frees its objects.
pub struct File {
    device: Arc<Device>,
    vms: Mutex<Ids<Arc<Vm>>>,
    groups: Mutex<Ids<Arc<Group>>>,
    heaps: Mutex<Ids<Heap>>,
    /// Offset at which the client maps registers.
    user_mmio_offset: AtomicU64,
    /// The page of the register LATEST_FLUSH_ID, once it is mapped. It stays 0: no cache is flushed.
    flush_id: Mutex<Option<Arc<Gem>>>,
    /// State that all drivers have; dropped last, which ends the threads of queues.
    open: OpenFile,
}

/// Runs `body` on an extensible argument as a typed structure: the client's may be shorter or longer. The structure is
/// copied back as far as the client's reaches.
pub(crate) fn with<T: KernelStruct>(
    arg: &mut [u8],
    body: impl FnOnce(&mut T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut value: T = argument(arg)?;
    let result = body(&mut value);
    let known = arg.len().min(size_of::<T>());
    arg[..known].copy_from_slice(&bytemuck::bytes_of(&value)[..known]);
    result
}

/// Checks a buffer's label. Nothing reads labels here, but a wrong pointer is refused.
pub(crate) fn check_label(user: &dyn UserMemory, label: u64) -> Result<(), Refusal> {
    if label == 0 {
        return Ok(());
    }
    for index in 0..uapi::BO_LABEL_MAX_LENGTH as u64 {
        let at = label.checked_add(index).ok_or(Errno::FAULT)?;
        let mut byte = [0];
        user.read(at, &mut byte)?;
        if byte == [0] {
            return Ok(());
        }
    }
    Err(Refusal { errno: Errno::TOOBIG, why: "the label is longer than 4096 bytes" })
}

/// The object of an id, or `EINVAL`.
fn found<T>(value: Option<T>, why: &'static str) -> Result<T, Refusal> {
    value.ok_or(Refusal { errno: Errno::INVAL, why })
}

impl File {
    pub(crate) fn new(device: Arc<Device>) -> File {
        File {
            open: device.interface.open(import),
            device,
            vms: Mutex::default(),
            groups: Mutex::default(),
            heaps: Mutex::default(),
            user_mmio_offset: AtomicU64::new(uapi::USER_MMIO_OFFSET_64BIT),
            flush_id: Mutex::default(),
        }
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The DRM core's state of the open file: GEM handles and sync objects.
    pub fn core(&self) -> &CoreFile {
        &self.open.core
    }

    /// The bound ranges of an address space in ascending order: address and length in bytes. Empty for an unknown id.
    pub fn bindings(&self, vm_id: u32) -> Vec<(u64, u64)> {
        self.vm(vm_id).map(|vm| vm.bindings()).unwrap_or_default()
    }

    /// Name and fields of an ioctl; `None` for an unknown number.
    pub fn info(request: Request) -> Option<&'static IoctlInfo> {
        request_info(Ioctl::from_nr(request.nr()).map(Ioctl::info), request)
    }

    /// Executes an ioctl. `arg` holds as many bytes as the request word encodes and is updated in place; pointers in it
    /// are followed through `user`.
    ///
    /// # Errors
    /// Errors of the interface: `EINVAL` for a bad argument or an unknown id, `ENOENT` for an unknown handle, `E2BIG`
    /// for unknown fields that are not zero, `EFAULT` for a bad pointer; `ENOTTY` for a request that is not DRM's.
    pub fn ioctl(
        &self,
        user: &dyn UserMemory,
        request: Request,
        arg: &mut [u8],
    ) -> Result<u32, Errno> {
        let dispatch = |arg: &mut [u8]| self.dispatch(user, request, arg);
        let info = File::info(request);
        self.device.interface.answer(&self.open, info, (user, request), arg, dispatch)
    }

    fn dispatch(
        &self,
        user: &dyn UserMemory,
        request: Request,
        arg: &mut [u8],
    ) -> Result<(), Refusal> {
        let Some(ioctl) = Ioctl::from_nr(request.nr()) else {
            return Ok(self.open.core.ioctl(user, request, arg)?);
        };
        match ioctl {
            Ioctl::DevQuery => with(arg, |args| dev_query(self.device.chip, user, args)),
            Ioctl::VmCreate => with(arg, |args| self.vm_create(args)),
            Ioctl::VmDestroy => with(arg, |args: &mut uapi::VmDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let vm = lock(&self.vms).remove(args.id);
                found(vm, "no address space has this id").map(drop)
            }),
            Ioctl::VmBind => with(arg, |args: &mut uapi::VmBind| {
                vm_bind(&self.vm(args.vm_id)?, &self.open.core, user, args, &self.open.threads)
            }),
            Ioctl::VmGetState => with(arg, |args: &mut uapi::VmGetState| {
                let unusable = self.vm(args.vm_id)?.is_unusable();
                args.state = if unusable { uapi::VM_STATE_UNUSABLE } else { uapi::VM_STATE_USABLE };
                Ok(())
            }),
            Ioctl::BoCreate => with(arg, |args| self.bo_create(args)),
            Ioctl::BoMmapOffset => with(arg, |args| self.bo_mmap_offset(args)),
            Ioctl::GroupCreate => with(arg, |args| self.group_create(user, args)),
            Ioctl::GroupDestroy => with(arg, |args: &mut uapi::GroupDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let group = lock(&self.groups).remove(args.group_handle);
                found(group, "no group has this handle").map(drop)
            }),
            Ioctl::GroupSubmit => with(arg, |args| self.group_submit(user, args)),
            Ioctl::GroupGetState => with(arg, |args: &mut uapi::GroupGetState| {
                require(args.pad == 0, "pad is not 0")?;
                args.fatal_queues = self.group(args.group_handle)?.fatal_queues();
                let lost = args.fatal_queues != 0;
                args.state = if lost { uapi::GROUP_STATE_FATAL_FAULT } else { 0 };
                Ok(())
            }),
            Ioctl::TilerHeapCreate => with(arg, |args: &mut uapi::TilerHeapCreate| {
                let heap = Heap::new(self.vm(args.vm_id)?, args)?;
                args.handle = lock(&self.heaps).insert(heap);
                Ok(())
            }),
            Ioctl::TilerHeapDestroy => with(arg, |args: &mut uapi::TilerHeapDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let heap = lock(&self.heaps).remove(args.handle);
                found(heap, "no heap has this handle").map(drop)
            }),
            Ioctl::BoSetLabel => with(arg, |args| self.bo_set_label(user, args)),
            Ioctl::SetUserMmioOffset => with(arg, |args: &mut uapi::SetUserMmioOffset| {
                let offsets = [uapi::USER_MMIO_OFFSET_32BIT, uapi::USER_MMIO_OFFSET_64BIT];
                require(offsets.contains(&args.offset), "offset is neither of the two")?;
                self.user_mmio_offset.store(args.offset, Ordering::Release);
                Ok(())
            }),
            Ioctl::BoSync => with(arg, |args| self.bo_sync(user, args)),
            Ioctl::BoQueryInfo => with(arg, |args: &mut uapi::BoQueryInfo| {
                require(args.pad == 0, "pad is not 0")?;
                let gem = self.open.core.gem(args.handle)?;
                let buffer = buffer(&gem)?;
                args.extra_flags = if buffer.imported { uapi::BO_IS_IMPORTED } else { 0 };
                args.create_flags = buffer.create_flags;
                Ok(())
            }),
        }
    }

    fn vm(&self, id: u32) -> Result<Arc<Vm>, Refusal> {
        found(lock(&self.vms).get(id).cloned(), "no address space has this id")
    }

    fn group(&self, handle: u32) -> Result<Arc<Group>, Refusal> {
        found(lock(&self.groups).get(handle).cloned(), "no group has this handle")
    }

    fn vm_create(&self, args: &mut uapi::VmCreate) -> Result<(), Refusal> {
        require(args.flags == 0, "flags is not 0")?;
        let vm = Vm::new(args.user_va_range)?;
        args.user_va_range = vm.user_range();
        args.id = lock(&self.vms).insert(Arc::new(vm));
        Ok(())
    }

    fn bo_create(&self, args: &mut uapi::BoCreate) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let known = uapi::BO_NO_MMAP | uapi::BO_WB_MMAP;
        require(args.flags & !known == 0, "unknown flags")?;
        require(args.flags & known != known, "WB_MMAP with NO_MMAP")?;
        let owner = match args.exclusive_vm_id {
            0 => None,
            id => Some(Arc::downgrade(&self.vm(id)?)),
        };
        self.device.interface.may_allocate()?;
        // Only the client itself maps a private buffer.
        let shareable = owner.is_none() || self.device.interface.options.shareable;
        let memory = Arc::new(memory(args.size, shareable)?);
        let gem = self.device.interface.core.buffers.create(Box::new(Buffer {
            memory,
            private_to: owner,
            create_flags: args.flags,
            imported: false,
            read_only: false,
        }));
        args.size = gem.size();
        args.handle = self.open.core.handle(gem);
        Ok(())
    }

    fn bo_mmap_offset(&self, args: &mut uapi::BoMmapOffset) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let gem = self.open.core.gem(args.handle)?;
        if buffer(&gem)?.create_flags & uapi::BO_NO_MMAP != 0 {
            return Err(Refusal { errno: Errno::PERM, why: "the buffer was created with NO_MMAP" });
        }
        args.offset = self.device.interface.core.buffers.make_mappable(&gem);
        Ok(())
    }

    fn bo_set_label(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::BoSetLabel,
    ) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        self.open.core.gem(args.handle)?;
        check_label(user, args.label)
    }

    /// Memory is coherent: there is nothing to flush.
    fn bo_sync(&self, user: &dyn UserMemory, args: &mut uapi::BoSync) -> Result<(), Refusal> {
        let ops: Vec<uapi::BoSyncOp> = objects(user, &args.ops, size_of::<uapi::BoSyncOp>())?;
        for op in ops {
            require(
                op.r#type <= uapi::BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE,
                "unknown type of cache maintenance",
            )?;
            let gem = self.open.core.gem(op.handle)?;
            require(
                op.offset.checked_add(op.size).is_some_and(|end| end <= gem.size()),
                "the range leaves the buffer",
            )?;
        }
        Ok(())
    }

    fn group_create(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::GroupCreate,
    ) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        require(
            (1..=limits::CS_SLOTS).contains(&args.queues.count),
            "a group has between one queue and as many as the interface has slots",
        )?;
        require(args.priority <= uapi::GROUP_PRIORITY_REALTIME, "unknown priority")?;
        if group_priorities().allowed_mask >> args.priority & 1 == 0 {
            return Err(Refusal { errno: Errno::ACCESS, why: "the priority needs privileges" });
        }
        let cores = [
            (args.compute_core_mask, args.max_compute_cores, limits::SHADER_PRESENT),
            (args.fragment_core_mask, args.max_fragment_cores, limits::SHADER_PRESENT),
            (args.tiler_core_mask, args.max_tiler_cores, TILER_PRESENT),
        ];
        for (mask, most, present) in cores {
            require(mask & !present == 0, "a mask of cores that do not exist")?;
            require(u32::from(most) <= mask.count_ones(), "more cores than their mask has")?;
        }
        let queues: Vec<uapi::QueueCreate> =
            objects(user, &args.queues, size_of::<uapi::QueueCreate>())?;
        for queue in &queues {
            require(queue.pad == [0; 3], "a queue's pad is not 0")?;
            require(queue.priority <= uapi::QUEUE_PRIORITY_MAX, "a queue's priority is above 15")?;
            require(
                RING_BYTES.contains(&queue.ringbuf_size) && queue.ringbuf_size.is_power_of_two(),
                "ringbuf_size is no power of two between 4 KiB and 64 KiB",
            )?;
        }
        let vm = self.vm(args.vm_id)?;
        let mut groups = lock(&self.groups);
        // The group's thread needs its handle, which the table allocates.
        let handle = groups.next_id();
        let device = self.device.clone();
        let group = Group::new(device, self.open.id, handle, vm, queues.len(), &self.open.threads)?;
        args.group_handle = groups.insert(Arc::new(group));
        debug_assert_eq!(args.group_handle, handle);
        Ok(())
    }

    fn group_submit(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::GroupSubmit,
    ) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let group = self.group(args.group_handle)?;
        let submits: Vec<uapi::QueueSubmit> =
            objects(user, &args.queue_submits, size_of::<uapi::QueueSubmit>())?;
        let mut syncs = Syncs::new(&self.open.core);
        let mut jobs = Vec::with_capacity(submits.len());
        let submission = self.device.interface.next_submission();
        for submit in &submits {
            let uapi::QueueSubmit { queue_index, stream_size, stream_addr, pad, .. } = *submit;
            require(pad == 0, "a stream's pad is not 0")?;
            let queue = queue_index as usize;
            require(queue < group.queues(), "the group has no such queue")?;
            require(
                (stream_size == 0) == (stream_addr == 0),
                "one of a stream's address and size is 0",
            )?;
            require(stream_size.is_multiple_of(8), "a stream's size is not a multiple of 8")?;
            require(stream_addr.is_multiple_of(64), "a stream's address is not a multiple of 64")?;
            let ops: Vec<uapi::SyncOp> = objects(user, &submit.syncs, size_of::<uapi::SyncOp>())?;
            let done = Fence::new();
            let waits = syncs.job(&ops, &done)?;
            let stream = Stream { address: stream_addr, size: stream_size.into() };
            jobs.push((queue, Job { submission, stream, waits, done }));
        }
        syncs.publish();
        let done: Vec<Fence> = jobs.iter().map(|(_, job)| job.done.clone()).collect();
        group.push(jobs);
        if self.device.interface.options.observer.is_some() {
            wait_recorded(&done);
        }
        Ok(())
    }

    /// The page of the register LATEST_FLUSH_ID.
    fn flush_id(&self) -> Result<Arc<Gem>, Errno> {
        let mut slot = lock(&self.flush_id);
        if let Some(gem) = &*slot {
            return Ok(gem.clone());
        }
        let memory = Memory::shareable(PAGE_BYTES as usize).map_err(|_| Errno::NOMEM)?;
        let gem = self.device.interface.core.buffers.create(Box::new(Buffer {
            memory: Arc::new(memory),
            private_to: None,
            create_flags: 0,
            imported: false,
            read_only: true,
        }));
        Ok(slot.insert(gem).clone())
    }
}

impl VirtualFile for File {
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno> {
        File::ioctl(self, user, request, arg)
    }

    fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno> {
        let registers = self.user_mmio_offset.load(Ordering::Acquire);
        if offset >= registers {
            // One register is there, in the first page.
            if offset != registers || length != PAGE_BYTES {
                return Err(Errno::INVAL);
            }
            return self.flush_id();
        }
        self.open.core.mapping(offset, length)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.device.interface.close(&self.open);
    }
}
