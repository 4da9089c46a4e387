//! An open file of the device: its handles, its address space and its queue, and the ioctls on them.

use std::sync::{Arc, Mutex};

use tepui_drm::Errno;
use tepui_drm::core::{CoreFile, put_fence};
use tepui_drm::device::VirtualFile;
use tepui_drm::fence::{Fence, wait_recorded, wait_until};
use tepui_drm::gem::Gem;
use tepui_drm::ids::Ids;
use tepui_drm::interface::{OpenFile, request_info};
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::panfrost::{self as uapi, Ioctl};
use tepui_drm::uapi::{IoctlInfo, Request};
use tepui_drm::user::{UserMemory, read_array};

use super::device::Device;
use super::params;
use super::queue::{Job, Queue};
use super::space::Space;
use crate::file::with;
use crate::gem::{Buffer, buffer, import, memory};
use tepui_drm::lock;

/// Limit on the handles or sync objects that a submission may name. A choice: the header names no limit.
const MAX_ITEMS: u32 = 1 << 16;

/// An open file of the device. Dropping it cancels unfinished submissions and frees its objects.
pub struct File {
    device: Arc<Device>,
    space: Arc<Space>,
    /// The queue, once something is submitted.
    queue: Mutex<Option<Queue>>,
    /// Contexts by handle: their priorities.
    contexts: Mutex<Ids<u32>>,
    /// State that all drivers have; dropped last, which ends the threads of queues.
    open: OpenFile,
}

impl File {
    pub(super) fn new(device: Arc<Device>) -> File {
        File {
            open: device.interface.open(import),
            device,
            space: Arc::new(Space::new()),
            queue: Mutex::default(),
            contexts: Mutex::default(),
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

    /// Name and fields of an ioctl; `None` for an unknown number.
    pub fn info(request: Request) -> Option<&'static IoctlInfo> {
        request_info(Ioctl::from_nr(request.nr()).map(Ioctl::info), request)
    }

    /// Executes an ioctl, as [`crate::File::ioctl`] does.
    ///
    /// # Errors
    /// Errors of the interface.
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
            Ioctl::Submit => with(arg, |args| self.submit(user, args)),
            Ioctl::WaitBo => with(arg, |args| self.wait_bo(args)),
            Ioctl::CreateBo => with(arg, |args| self.create_bo(args)),
            Ioctl::MmapBo => with(arg, |args: &mut uapi::MmapBo| {
                require(args.flags == 0, "flags is not 0")?;
                let gem = self.open.core.gem(args.handle)?;
                let heap = buffer(&gem)?.create_flags & uapi::BO_HEAP != 0;
                require(!heap, "a buffer that grows on faults is not for clients")?;
                args.offset = self.device.interface.core.buffers.make_mappable(&gem);
                Ok(())
            }),
            Ioctl::GetParam => with(arg, |args: &mut uapi::GetParam| {
                require(args.pad == 0, "pad is not 0")?;
                let value = params::value(self.device.chip, args.param);
                args.value =
                    value.ok_or(Refusal { errno: Errno::INVAL, why: "unknown parameter" })?;
                Ok(())
            }),
            Ioctl::GetBoOffset => with(arg, |args: &mut uapi::GetBoOffset| {
                let gem = self.open.core.gem(args.handle)?;
                args.offset = self.space.address(&gem, false)?;
                Ok(())
            }),
            Ioctl::PerfcntEnable | Ioctl::PerfcntDump => {
                let why = "performance counters are a privilege that the kernel switches on";
                Err(Refusal { errno: Errno::NOSYS, why })
            }
            // Pages are never purged.
            Ioctl::Madvise => with(arg, |args: &mut uapi::Madvise| {
                require(args.madv <= uapi::MADV_DONTNEED, "unknown advice")?;
                self.open.core.gem(args.handle)?;
                args.retained = 1;
                Ok(())
            }),
            Ioctl::SetLabelBo => with(arg, |args| self.set_label(user, args)),
            Ioctl::JmCtxCreate => with(arg, |args: &mut uapi::JmCtxCreate| {
                require(args.priority <= uapi::JM_CTX_PRIORITY_HIGH, "unknown priority")?;
                if args.priority > uapi::JM_CTX_PRIORITY_MEDIUM {
                    let why = "the priority needs privileges";
                    return Err(Refusal { errno: Errno::ACCESS, why });
                }
                args.handle = lock(&self.contexts).insert(args.priority);
                Ok(())
            }),
            Ioctl::JmCtxDestroy => with(arg, |args: &mut uapi::JmCtxDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let context = lock(&self.contexts).remove(args.handle);
                context.map(drop).ok_or(NO_CONTEXT)
            }),
            Ioctl::SyncBo => with(arg, |args| self.sync_bo(user, args)),
            Ioctl::QueryBoInfo => with(arg, |args: &mut uapi::QueryBoInfo| {
                require(args.pad == 0, "pad is not 0")?;
                let gem = self.open.core.gem(args.handle)?;
                let buffer = buffer(&gem)?;
                args.extra_flags = if buffer.imported { uapi::BO_IS_IMPORTED } else { 0 };
                args.create_flags = buffer.create_flags;
                Ok(())
            }),
        }
    }

    fn create_bo(&self, args: &mut uapi::CreateBo) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let known = uapi::BO_NOEXEC | uapi::BO_HEAP | uapi::BO_WB_MMAP;
        require(args.flags & !known == 0, "unknown flags")?;
        if args.flags & uapi::BO_HEAP != 0 {
            require(args.flags & uapi::BO_NOEXEC != 0, "HEAP without NOEXEC")?;
            require(args.flags & uapi::BO_WB_MMAP == 0, "HEAP with WB_MMAP")?;
        }
        self.device.interface.may_allocate()?;
        let memory = Arc::new(memory(args.size.into(), true)?);
        let gem = self.device.interface.core.buffers.create(Box::new(Buffer {
            memory,
            private_to: None,
            create_flags: args.flags,
            imported: false,
            read_only: false,
        }));
        args.offset = self.space.address(&gem, args.flags & uapi::BO_NOEXEC == 0)?;
        args.handle = self.open.core.handle(gem);
        Ok(())
    }

    fn wait_bo(&self, args: &mut uapi::WaitBo) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        let gem = self.open.core.gem(args.handle)?;
        let users = gem.users(true);
        let deadline = u64::try_from(args.timeout_ns).unwrap_or(0);
        match wait_until(Some(deadline), || users.is_signaled().then_some(())) {
            Some(()) => Ok(()),
            None if deadline == 0 => {
                Err(Refusal { errno: Errno::BUSY, why: "the buffer is in use" })
            }
            None => Err(Refusal { errno: Errno::TIMEDOUT, why: "the buffer is still in use" }),
        }
    }

    fn submit(&self, user: &dyn UserMemory, args: &mut uapi::Submit) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        require(args.jc != 0, "there is no chain")?;
        let known = uapi::JD_REQ_FS | uapi::JD_REQ_CYCLE_COUNT;
        require(args.requirements & !known == 0, "unknown requirements")?;
        require(
            args.in_sync_count <= MAX_ITEMS && args.bo_handle_count <= MAX_ITEMS,
            "more sync objects or buffers than can be",
        )?;
        if args.jm_ctx_handle != 0 && lock(&self.contexts).get(args.jm_ctx_handle).is_none() {
            return Err(NO_CONTEXT);
        }
        let handles: Vec<u32> = read_array(user, args.bo_handles, args.bo_handle_count as usize)?;
        let mut buffers = Vec::with_capacity(handles.len());
        for handle in handles {
            buffers.push(self.open.core.gem(handle)?);
        }
        let syncs: Vec<u32> = read_array(user, args.in_syncs, args.in_sync_count as usize)?;
        let mut waits = Vec::new();
        for sync in syncs {
            waits.push(self.open.core.fence(sync, 0).map_err(|_| Refusal {
                errno: Errno::INVAL,
                why: "a sync object that is waited for has no fence",
            })?);
        }
        let out = match args.out_sync {
            0 => None,
            handle => Some(self.open.core.syncobj(handle)?),
        };
        let done = Fence::new();
        for gem in &buffers {
            waits.push(gem.users(true));
            gem.add_user(done.clone(), true);
        }
        if let Some(object) = out {
            put_fence(&object, 0, done.clone());
        }
        let submission = self.device.interface.next_submission();
        let job = Job { submission, chain: args.jc, waits, done: done.clone(), buffers };
        let mut queue = lock(&self.queue);
        if queue.is_none() {
            let (device, space) = (self.device.clone(), self.space.clone());
            *queue = Some(Queue::new(device, self.open.id, space, &self.open.threads)?);
        }
        if let Some(queue) = &*queue {
            queue.push(job);
        }
        drop(queue);
        if self.device.interface.options.observer.is_some() {
            wait_recorded(&[done]);
        }
        Ok(())
    }

    fn set_label(&self, user: &dyn UserMemory, args: &mut uapi::SetLabelBo) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        self.open.core.gem(args.handle)?;
        crate::file::check_label(user, args.label)
    }

    /// Memory is coherent: there is nothing to flush.
    fn sync_bo(&self, user: &dyn UserMemory, args: &mut uapi::SyncBo) -> Result<(), Refusal> {
        require(args.pad == 0, "pad is not 0")?;
        require(args.op_count <= MAX_ITEMS, "more operations than can be")?;
        let ops: Vec<uapi::BoSyncOp> = read_array(user, args.ops, args.op_count as usize)?;
        for op in ops {
            let known = op.r#type <= uapi::BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE;
            require(known, "unknown type of cache maintenance")?;
            let gem = self.open.core.gem(op.handle)?;
            let end = u64::from(op.offset) + u64::from(op.size);
            require(end <= gem.size(), "the range leaves the buffer")?;
        }
        Ok(())
    }
}

const NO_CONTEXT: Refusal = Refusal { errno: Errno::INVAL, why: "no context has this handle" };

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
