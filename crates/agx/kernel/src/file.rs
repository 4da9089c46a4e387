//! An open file of the device: its handles, address spaces and queues, and the ioctls on them.

use std::sync::{Arc, Mutex};

use tepui_drm::core::{CoreFile, put_fence};
use tepui_drm::device::{Node, VirtualDevice, VirtualFile};
use tepui_drm::fence::{Fence, wait_recorded};
use tepui_drm::gem::Gem;
use tepui_drm::ids::Ids;
use tepui_drm::interface::{OpenFile, request_info};
use tepui_drm::lock;
use tepui_drm::syncobj::Syncobj;
use tepui_drm::token::Registry;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, Request, core};
use tepui_drm::user::{UserMemory, extensible, read_array};
use tepui_drm::{Errno, monotonic_ns};

use crate::chips::PAGE_BYTES;
use crate::device::Device;
use crate::queue::{Prepared, Queue, Submission, TimestampSlot};
use crate::submit;
use crate::vm::{Vm, allocate, import};
use tepui_drm::refusal::{Refusal, found, require};

/// A buffer bound for timestamps.
struct Object {
    gem: Arc<Gem>,
    offset: u64,
    range: u64,
}

/// An open file of the device. Dropping it cancels submissions that have not started and frees its
/// objects.
pub struct File {
    device: Arc<Device>,
    vms: Mutex<Ids<Arc<Vm>>>,
    queues: Mutex<Ids<Arc<Queue>>>,
    objects: Mutex<Ids<Object>>,
    /// State that all drivers have; dropped last, which ends the threads of queues.
    open: OpenFile,
}

/// Runs `body` on an extensible argument as a typed structure: the client's may be shorter or
/// longer. The structure is copied back as far as the client's reaches.
fn with<T: KernelStruct>(
    arg: &mut [u8],
    body: impl FnOnce(&mut T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut value: T = extensible(arg)
        .map_err(|errno| Refusal { errno, why: "fields that are unknown here are not 0" })?;
    let result = body(&mut value);
    let known = arg.len().min(size_of::<T>());
    arg[..known].copy_from_slice(&bytemuck::bytes_of(&value)[..known]);
    result
}

impl File {
    pub(crate) fn new(device: Arc<Device>) -> File {
        File {
            open: device.interface.open(import),
            device,
            vms: Mutex::default(),
            queues: Mutex::default(),
            objects: Mutex::default(),
        }
    }

    /// Number of this open file, from 1 within the device.
    pub fn id(&self) -> u64 {
        self.open.id
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The DRM core's part of the open file: GEM handles and sync objects.
    pub fn core(&self) -> &CoreFile {
        &self.open.core
    }

    /// The bound ranges of an address space in ascending order: address and length in bytes. Empty
    /// for an unknown id.
    pub fn bindings(&self, vm_id: u32) -> Vec<(u64, u64)> {
        let mappings = self.vm(vm_id).map(|vm| vm.space.mappings()).unwrap_or_default();
        mappings.iter().map(|mapping| (mapping.address, mapping.length)).collect()
    }

    /// Name and fields of an ioctl; `None` for an unknown number.
    pub fn info(request: Request) -> Option<&'static IoctlInfo> {
        request_info(Ioctl::from_nr(request.nr()).map(Ioctl::info), request)
    }

    /// Executes an ioctl. `arg` holds as many bytes as the request word encodes and is updated in
    /// place; pointers in it are followed through `user`.
    ///
    /// # Errors
    /// Those of the interface: `EINVAL` for a bad argument, `ENOENT` for an id that names nothing,
    /// `E2BIG` for unknown fields that are not zero, `EFAULT` for a bad pointer, `EIO` from a queue
    /// that is lost; `ENOTTY` for a request that is not DRM's.
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
            if request.nr() == core::Ioctl::GemClose as u8 {
                return self.gem_close(arg);
            }
            return Ok(self.open.core.ioctl(user, request, arg)?);
        };
        match ioctl {
            Ioctl::GetParams => with(arg, |args| self.get_params(user, args)),
            Ioctl::GetTime => with(arg, |args: &mut uapi::GetTime| {
                require(args.flags == 0, "flags is not 0")?;
                args.gpu_timestamp = monotonic_ns();
                Ok(())
            }),
            Ioctl::VmCreate => with(arg, |args| self.vm_create(args)),
            Ioctl::VmDestroy => with(arg, |args: &mut uapi::VmDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let vm = lock(&self.vms).remove(args.vm_id);
                found(vm, "no address space has this id").map(drop)
            }),
            Ioctl::VmBind => with(arg, |args| self.vm_bind(user, args)),
            Ioctl::GemCreate => with(arg, |args| self.gem_create(args)),
            Ioctl::GemMmapOffset => with(arg, |args: &mut uapi::GemMmapOffset| {
                require(args.flags == 0, "flags is not 0")?;
                let gem = self.open.core.gem(args.handle)?;
                args.offset = self.device.interface.core.buffers.make_mappable(&gem);
                Ok(())
            }),
            Ioctl::GemBindObject => with(arg, |args| self.gem_bind_object(args)),
            Ioctl::QueueCreate => with(arg, |args| self.queue_create(args)),
            Ioctl::QueueDestroy => with(arg, |args: &mut uapi::QueueDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let queue = lock(&self.queues).remove(args.queue_id);
                found(queue, "no queue has this id").map(drop)
            }),
            Ioctl::Submit => with(arg, |args| self.submit(user, args)),
        }
    }

    fn vm(&self, id: u32) -> Result<Arc<Vm>, Refusal> {
        found(lock(&self.vms).get(id).cloned(), "no address space has this id")
    }

    fn get_params(&self, user: &dyn UserMemory, args: &mut uapi::GetParams) -> Result<(), Refusal> {
        require(args.param_group == 0, "no such parameter group")?;
        require(args.pad == 0, "pad is not 0")?;
        let params = crate::chips::params(self.device.chip);
        let bytes = bytemuck::bytes_of(&params);
        let room = usize::try_from(args.size).unwrap_or(usize::MAX).min(bytes.len());
        Ok(user.write(args.pointer, &bytes[..room])?)
    }

    fn vm_create(&self, args: &mut uapi::VmCreate) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let vm =
            Vm::new(&crate::chips::params(self.device.chip), args.kernel_start..args.kernel_end)?;
        args.vm_id = lock(&self.vms).insert(Arc::new(vm));
        Ok(())
    }

    fn vm_bind(&self, user: &dyn UserMemory, args: &mut uapi::VmBind) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let vm = self.vm(args.vm_id)?;
        if args.num_binds == 0 {
            return Ok(());
        }
        let stride = args.stride as usize;
        require(
            stride >= size_of::<uapi::GemBindOp>(),
            "stride is smaller than a struct drm_asahi_gem_bind_op",
        )?;
        // All operations are checked before any is applied, so that a refused request has no
        // effect.
        let mut binds = Vec::new();
        for index in 0..u64::from(args.num_binds) {
            let offset = index * u64::from(args.stride);
            let at = args.userptr.checked_add(offset).ok_or(Errno::FAULT)?;
            let op = read_array::<u8>(user, at, stride)?;
            binds.push(vm.check(extensible(&op)?, |handle| self.open.core.gem(handle))?);
        }
        let applied = binds.into_iter().try_for_each(|bind| vm.apply(bind));
        vm.release();
        applied
    }

    fn gem_create(&self, args: &mut uapi::GemCreate) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let known = uapi::GEM_WRITEBACK | uapi::GEM_VM_PRIVATE;
        require(args.flags & !known == 0, "unknown flags")?;
        self.device.interface.may_allocate()?;
        let private = args.flags & uapi::GEM_VM_PRIVATE != 0;
        let owner = if private { Some(Arc::downgrade(&self.vm(args.vm_id)?)) } else { None };
        let buffer = allocate(args.size, owner, self.device.interface.options.shareable)?;
        let gem = self.device.interface.core.buffers.create(Box::new(buffer));
        args.size = gem.size();
        args.handle = self.open.core.handle(gem);
        Ok(())
    }

    /// The kernel unbinds a buffer everywhere when its handle is closed: Mesa frees addresses
    /// without unbinding (agx_device.c, `agx_bo_free`).
    fn gem_close(&self, arg: &mut [u8]) -> Result<(), Refusal> {
        let gem = self.open.core.gem_close(arg)?;
        let vms: Vec<_> = lock(&self.vms).iter().map(|(_, vm)| vm.clone()).collect();
        vms.iter().for_each(|vm| vm.forget(&gem));
        Ok(())
    }

    fn gem_bind_object(&self, args: &mut uapi::GemBindObject) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        require(args.vm_id == 0, "vm_id is not 0")?;
        let usage = uapi::BIND_OBJECT_USAGE_TIMESTAMPS;
        require(args.flags & !usage == 0, "unknown flags")?;
        match args.op {
            uapi::BIND_OBJECT_OP_BIND => {
                require(args.flags == usage, "flags name no usage")?;
                let gem = self.open.core.gem(args.handle)?;
                let uapi::GemBindObject { offset, range, .. } = *args;
                require(range != 0, "range is 0")?;
                require(
                    (offset | range) % PAGE_BYTES == 0,
                    "offset or range is not a multiple of 16 KiB",
                )?;
                require(
                    offset.checked_add(range).is_some_and(|end| end <= gem.size()),
                    "the range leaves the buffer",
                )?;
                args.object_handle = lock(&self.objects).insert(Object { gem, offset, range });
                Ok(())
            }
            uapi::BIND_OBJECT_OP_UNBIND => {
                let object = lock(&self.objects).remove(args.object_handle);
                found(object, "no object has this handle").map(drop)
            }
            _ => require(false, "unknown op"),
        }
    }

    fn queue_create(&self, args: &mut uapi::QueueCreate) -> Result<(), Refusal> {
        require(args.flags == 0, "flags is not 0")?;
        require(
            matches!(args.priority, uapi::PRIORITY_LOW | uapi::PRIORITY_MEDIUM),
            "priority is reserved or unknown",
        )?;
        let vm = self.vm(args.vm_id)?;
        let mut queues = lock(&self.queues);
        // The queue's thread needs its id, which the table allocates.
        let id = queues.next_id();
        let (device, base) = (self.device.clone(), args.usc_exec_base);
        let queue = Queue::new(device, self.open.id, id, vm, base, &self.open.threads)?;
        args.queue_id = queues.insert(Arc::new(queue));
        debug_assert_eq!(args.queue_id, id);
        Ok(())
    }

    fn submit(&self, user: &dyn UserMemory, args: &mut uapi::Submit) -> Result<(), Refusal> {
        require(args.flags == 0, "flags is not 0")?;
        require(args.pad == 0, "pad is not 0")?;
        let queue = found(lock(&self.queues).get(args.queue_id).cloned(), "no queue has this id")?;
        let buffer = read_array::<u8>(user, args.cmdbuf, args.cmdbuf_size as usize)?;
        let commands = submit::parse(&buffer)?
            .iter()
            .filter_map(|command| Some((command.barriers(), command.work(queue.usc_exec_base)?)))
            .map(|(barriers, (work, [first, second]))| {
                let slot = |timestamp| self.timestamp_slot(timestamp);
                // The model runs a render command's two parts in one, so that the vertex part
                // begins and ends where the fragment part begins.
                let (start, end) = match work {
                    crate::Work::Compute(_) => (vec![first.start], vec![first.end]),
                    crate::Work::Render(_) => {
                        (vec![first.start, first.end, second.start], vec![second.end])
                    }
                };
                let slots = |list: Vec<_>| {
                    list.into_iter().filter_map(|t| slot(t).transpose()).collect::<Result<_, _>>()
                };
                Ok(Prepared { work, barriers, start: slots(start)?, end: slots(end)? })
            })
            .collect::<Result<Vec<_>, Refusal>>()?;
        let (ins, outs) = (args.in_sync_count as usize, args.out_sync_count as usize);
        let syncs = read_array::<uapi::Sync>(user, args.syncs, ins + outs)?;
        let (ins, outs) = syncs.split_at(ins);
        let waits = ins.iter().map(|sync| self.in_fence(sync)).collect::<Result<Vec<_>, _>>()?;
        let outs = outs.iter().map(|sync| self.out_sync(sync)).collect::<Result<Vec<_>, _>>()?;

        let done = Fence::new();
        for (object, point) in outs {
            put_fence(&object, point, done.clone());
        }
        if queue.is_lost() {
            // The fences signal with an error although the request fails: a client that overlooks
            // the failure must not wait for ever for work that will never run.
            done.signal(Err(Errno::CANCELED));
            return Err(Refusal { errno: Errno::IO, why: "the queue is lost after a fault" });
        }
        let id = self.device.interface.next_submission();
        queue.push(Submission { id, waits, commands, done: done.clone() })?;
        if self.device.interface.options.observer.is_some() {
            wait_recorded(&[done]);
        }
        Ok(())
    }

    /// The destination of a timestamp; `None` for handle 0.
    fn timestamp_slot(&self, at: uapi::Timestamp) -> Result<Option<TimestampSlot>, Refusal> {
        if at.handle == 0 {
            return Ok(None);
        }
        let objects = lock(&self.objects);
        let object = found(objects.get(at.handle), "no object has a timestamp's handle")?;
        let offset = u64::from(at.offset);
        require(offset % 8 == 0, "a timestamp's offset is not a multiple of 8")?;
        require(offset + 8 <= object.range, "a timestamp leaves its object")?;
        Ok(Some(TimestampSlot { gem: object.gem.clone(), offset: object.offset + offset }))
    }

    fn check_sync(sync: &uapi::Sync) -> Result<bool, Refusal> {
        match sync.sync_type {
            uapi::SYNC_SYNCOBJ => {
                require(sync.timeline_value == 0, "a binary sync has a timeline value")?;
                Ok(false)
            }
            uapi::SYNC_TIMELINE_SYNCOBJ => Ok(true),
            _ => require(false, "unknown sync type").map(|()| false),
        }
    }

    fn in_fence(&self, sync: &uapi::Sync) -> Result<Fence, Refusal> {
        Self::check_sync(sync)?;
        self.open
            .core
            .fence(sync.handle, sync.timeline_value)
            .map_err(|errno| Refusal { errno, why: "an in-sync has no fence" })
    }

    fn out_sync(&self, sync: &uapi::Sync) -> Result<(Arc<Syncobj>, u64), Refusal> {
        let timeline = Self::check_sync(sync)?;
        require(!timeline || sync.timeline_value != 0, "an out-sync's timeline value is 0")?;
        Ok((self.open.core.syncobj(sync.handle)?, sync.timeline_value))
    }
}

impl VirtualFile for File {
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno> {
        File::ioctl(self, user, request, arg)
    }

    fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno> {
        self.open.core.mapping(offset, length)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.device.interface.close(&self.open);
    }
}

impl Device {
    /// Opens the device: a new set of handles, address spaces and queues.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone())
    }
}

impl VirtualDevice for Device {
    fn node(&self) -> Node {
        crate::chips::node(self.chip())
    }

    fn open(self: Arc<Self>) -> Arc<dyn VirtualFile> {
        Arc::new(Device::open(&self))
    }

    fn registry(&self) -> &Registry {
        &self.interface.core.registry
    }
}
