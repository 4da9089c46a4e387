//! An open file of the device: its handles, address spaces and contexts, and the ioctls on them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tepui_drm::core::CoreFile;
use tepui_drm::device::VirtualFile;
use tepui_drm::fence::{Fence, wait_recorded, wait_until};
use tepui_drm::gem::Gem;
use tepui_drm::ids::Ids;
use tepui_drm::interface::{OpenFile, request_info};
use tepui_drm::lock;
use tepui_drm::refusal::{Refusal, found, require};
use tepui_drm::sync_file;
use tepui_drm::uapi::i915::{self as uapi, Ioctl, exec};
use tepui_drm::uapi::{IoctlInfo, Request, core};
use tepui_drm::user::{UserMemory, read_array, read_value, with_struct as with};
use tepui_drm::{Errno, monotonic_ns};

use crate::chips::{APERTURE_BYTES, PAGE_BYTES, parameter};
use crate::context::{Context, Parameters};
use crate::device::Device;
use crate::gem::{allocate, buffer, client_pages, import};
use crate::queue::Submission;
use crate::vm::Vm;
use crate::{exec as submission, extension, query};

/// The register that contains timestamps of the render engine, as REG_READ names it.
const RENDER_TIMESTAMP: u64 = 0x2358;

/// An open file of the device. Dropping it cancels submissions that have not started and frees its objects.
pub struct File {
    device: Arc<Device>,
    vms: Mutex<Ids<Arc<Vm>>>,
    contexts: Mutex<Ids<Arc<Context>>>,
    /// The default context of the file, with id 0.
    default_context: Arc<Context>,
    /// State that all drivers have; dropped last, which ends the threads of queues.
    open: OpenFile,
}

impl File {
    pub(crate) fn new(device: Arc<Device>) -> File {
        File {
            open: device.interface.open(import),
            device,
            vms: Mutex::default(),
            contexts: Mutex::default(),
            default_context: Arc::new(Context::new(Parameters::new())),
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

    /// The DRM core's state of the open file: GEM handles and sync objects.
    pub fn core(&self) -> &CoreFile {
        &self.open.core
    }

    /// The bound ranges of a context's address space in ascending order: address and length in
    /// bytes. Empty for an unknown id.
    pub fn bindings(&self, context: u32) -> Vec<(u64, u64)> {
        self.context(context).map(|c| c.vm().bindings()).unwrap_or_default()
    }

    /// Name and fields of an ioctl; `None` for an unknown number.
    pub fn info(request: Request) -> Option<&'static IoctlInfo> {
        request_info(Ioctl::from_nr(request.nr()).map(Ioctl::info), request)
    }

    /// Executes an ioctl. `arg` holds as many bytes as the request word encodes and is updated in
    /// place; pointers in it are followed through `user`.
    ///
    /// # Errors
    /// Errors of the interface: `EINVAL` for a bad argument, `ENOENT` for an unknown id, `EFAULT` for a bad
    /// pointer, `EIO` from a banned context; `ENODEV` for features that the chip does not have; `ENOTTY` for
    /// a request that is not DRM's.
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
            Ioctl::GetParam => with(arg, |args: &mut uapi::GetParam| {
                let value = parameter(self.device.chip, args.param)
                    .map_err(|errno| Refusal { errno, why: "no such parameter" })?;
                Ok(user.write(args.value, &value.to_le_bytes())?)
            }),
            Ioctl::Query => with(arg, |args| query::answer(self.device.chip, user, args)),
            Ioctl::GemCreate => with(arg, |args| self.gem_create(args)),
            Ioctl::GemCreateExt => with(arg, |args| self.gem_create_ext(user, args)),
            Ioctl::GemUserptr => with(arg, |args: &mut uapi::GemUserptr| {
                let buffer = client_pages(user, args)?;
                args.handle = self
                    .open
                    .core
                    .handle(self.device.interface.core.buffers.create(Box::new(buffer)));
                Ok(())
            }),
            Ioctl::GemMmap => with(arg, |args| self.gem_mmap(user, args)),
            Ioctl::GemMmapOffset => with(arg, |args| self.gem_mmap_offset(args)),
            Ioctl::GemPread => with(arg, |args| self.gem_pread(user, args)),
            Ioctl::GemPwrite => with(arg, |args| self.gem_pwrite(user, args)),
            Ioctl::GemSetDomain => with(arg, |args| self.gem_set_domain(args)),
            Ioctl::GemSwFinish => with(arg, |args: &mut uapi::GemSwFinish| {
                self.open.core.gem(args.handle)?;
                Ok(())
            }),
            Ioctl::GemSetTiling => with(arg, |args| self.gem_set_tiling(args)),
            Ioctl::GemGetTiling => with(arg, |args: &mut uapi::GemGetTiling| {
                let gem = self.open.core.gem(args.handle)?;
                // Neither Gen9 nor Gen12 swizzles bit 6 of addresses.
                (args.swizzle_mode, args.phys_swizzle_mode) = (0, 0);
                args.tiling_mode = buffer(&gem)?.tiling.load(Ordering::Relaxed);
                Ok(())
            }),
            Ioctl::GemSetCaching => with(arg, |args: &mut uapi::GemCaching| {
                require(args.caching <= uapi::CACHING_DISPLAY, "no such caching")?;
                let gem = self.open.core.gem(args.handle)?;
                if args.caching != uapi::CACHING_CACHED {
                    buffer(&gem)?.require_own(Errno::NXIO)?;
                }
                buffer(&gem)?.caching.store(args.caching, Ordering::Relaxed);
                Ok(())
            }),
            Ioctl::GemGetCaching => with(arg, |args: &mut uapi::GemCaching| {
                let gem = self.open.core.gem(args.handle)?;
                args.caching = buffer(&gem)?.caching.load(Ordering::Relaxed);
                Ok(())
            }),
            Ioctl::GemGetAperture => with(arg, |args: &mut uapi::GemGetAperture| {
                (args.aper_size, args.aper_available_size) = (APERTURE_BYTES, APERTURE_BYTES);
                Ok(())
            }),
            Ioctl::GemMadvise => with(arg, |args| self.gem_madvise(args)),
            Ioctl::GemBusy => with(arg, |args: &mut uapi::GemBusy| {
                let gem = self.open.core.gem(args.handle)?;
                let class = uapi::ENGINE_CLASS_RENDER;
                let writer = u32::from(!gem.users(false).is_signaled()) * u32::from(class + 1);
                let reader = u32::from(!gem.users(true).is_signaled()) << (16 + class);
                args.busy = writer | reader;
                Ok(())
            }),
            Ioctl::GemWait => with(arg, |args| self.gem_wait(args)),
            Ioctl::GemExecbuffer2 => with(arg, |args| self.execbuffer(user, args)),
            Ioctl::GemContextCreate => with(arg, |args| self.context_create(user, args)),
            Ioctl::GemContextDestroy => with(arg, |args: &mut uapi::ContextDestroy| {
                require(args.pad == 0, "pad is not 0")?;
                let gone = lock(&self.contexts).remove(args.ctx_id);
                found(gone, "no context has this id").map(drop)
            }),
            Ioctl::GemContextGetparam => with(arg, |args: &mut uapi::ContextParam| {
                let context = self.context(args.ctx_id)?;
                let name = |vm| lock(&self.vms).insert(vm);
                context.get(self.device.chip, user, args, name)
            }),
            Ioctl::GemContextSetparam => with(arg, |args: &mut uapi::ContextParam| {
                let context = self.context(args.ctx_id)?;
                context.set(self.device.chip, user, args, |id| self.vm(id))
            }),
            Ioctl::GetResetStats => with(arg, |args: &mut uapi::ResetStats| {
                require(args.flags == 0 && args.pad == 0, "flags or pad are not 0")?;
                let context = self.context(args.ctx_id)?;
                // The count of all resets is reserved to privileged clients.
                args.reset_count = 0;
                args.batch_active = context.faults.load(Ordering::Acquire);
                args.batch_pending = context.cancelled.load(Ordering::Acquire);
                Ok(())
            }),
            Ioctl::RegRead => with(arg, |args: &mut uapi::RegRead| {
                let known = args.offset & !uapi::REG_READ_8B_WA == RENDER_TIMESTAMP;
                require(known, "clients may not read this register")?;
                args.val = self.device.timestamp();
                Ok(())
            }),
            Ioctl::GemVmCreate => with(arg, |args: &mut uapi::VmControl| {
                require(args.flags == 0 && args.extensions == 0, "flags or extensions are not 0")?;
                args.vm_id = lock(&self.vms).insert(Arc::default());
                Ok(())
            }),
            Ioctl::GemVmDestroy => with(arg, |args: &mut uapi::VmControl| {
                require(args.flags == 0 && args.extensions == 0, "flags or extensions are not 0")?;
                let gone = lock(&self.vms).remove(args.vm_id);
                found(gone, "no address space has this id").map(drop)
            }),
        }
    }

    fn vm(&self, id: u32) -> Result<Arc<Vm>, Refusal> {
        found(lock(&self.vms).get(id).cloned(), "no address space has this id")
    }

    fn context(&self, id: u32) -> Result<Arc<Context>, Refusal> {
        if id == 0 {
            return Ok(self.default_context.clone());
        }
        found(lock(&self.contexts).get(id).cloned(), "no context has this id")
    }

    fn new_buffer(&self, args: &mut uapi::GemCreateExt) -> Result<(), Refusal> {
        self.device.interface.may_allocate()?;
        let gem = self.device.interface.core.buffers.create(Box::new(allocate(args.size)?));
        args.size = gem.size();
        args.handle = self.open.core.handle(gem);
        Ok(())
    }

    /// `GEM_CREATE`: the field of the flags is padding, and there are no extensions.
    fn gem_create(&self, args: &mut uapi::GemCreateExt) -> Result<(), Refusal> {
        self.new_buffer(args)
    }

    fn gem_create_ext(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::GemCreateExt,
    ) -> Result<(), Refusal> {
        // NEEDS_CPU_ACCESS is for device-local memory, which integrated GPUs do not have.
        require(args.flags == 0, "flags are not 0")?;
        let mut placed = false;
        extension::walk(user, args.extensions, |name, at| match name {
            uapi::GEM_CREATE_EXT_MEMORY_REGIONS => {
                require(!placed, "memory regions twice")?;
                placed = true;
                let list: uapi::GemCreateExtMemoryRegions = read_value(user, at)?;
                require(list.pad == 0, "pad is not 0")?;
                // There is one region, and each may appear once in the list.
                require(list.num_regions == 1, "the list of regions is empty or too long")?;
                let regions = read_array::<uapi::MemoryClassInstance>(user, list.regions, 1)?;
                let system = uapi::MemoryClassInstance::default();
                require(regions == [system], "no such memory region")
            }
            uapi::GEM_CREATE_EXT_PROTECTED_CONTENT => Err(Errno::NODEV.into()),
            // Only Meteor Lake and later can select from the PAT.
            uapi::GEM_CREATE_EXT_SET_PAT => Err(Errno::NODEV.into()),
            _ => require(false, "unknown extension"),
        })?;
        self.new_buffer(args)
    }

    /// The kernel unbinds a buffer when its last handle is closed and nothing executes with it.
    fn gem_close(&self, arg: &mut [u8]) -> Result<(), Refusal> {
        let gem = self.open.core.gem_close(arg)?;
        if buffer(&gem)?.close() {
            let mut vms: Vec<_> = lock(&self.contexts).iter().map(|(_, c)| c.vm()).collect();
            vms.extend(lock(&self.vms).iter().map(|(_, vm)| vm.clone()));
            vms.push(self.default_context.vm());
            vms.iter().for_each(|vm| vm.forget(&gem));
        }
        Ok(())
    }

    /// Maps a buffer within the ioctl.
    ///
    /// source: i915_gem_mman.c (`i915_gem_mmap_ioctl`); later generations than Gen12 refuse it.
    fn gem_mmap(&self, user: &dyn UserMemory, args: &mut uapi::GemMmap) -> Result<(), Refusal> {
        require(args.flags & !uapi::MMAP_WC == 0, "unknown flags")?;
        let gem = self.open.core.gem(args.handle)?;
        buffer(&gem)?.require_own(Errno::NXIO)?;
        let end = args.offset.checked_add(args.size);
        require(
            args.size > 0 && end.is_some_and(|end| end <= gem.size()),
            "the range is empty or leaves the buffer",
        )?;
        require(args.offset.is_multiple_of(PAGE_BYTES), "the offset is not page-aligned")?;
        args.addr_ptr = user.map_shared(&gem, args.offset, args.size)?;
        Ok(())
    }

    fn gem_mmap_offset(&self, args: &mut uapi::GemMmapOffset) -> Result<(), Refusal> {
        require(args.extensions == 0, "extensions are not 0")?;
        require(args.flags <= uapi::MMAP_OFFSET_UC, "no such kind of mapping")?;
        let gem = self.open.core.gem(args.handle)?;
        buffer(&gem)?.require_own(Errno::NODEV)?;
        args.offset = self.device.interface.core.buffers.make_mappable(&gem);
        Ok(())
    }

    /// The range of a buffer for PREAD or PWRITE.
    fn range(&self, handle: u32, offset: u64, size: u64) -> Result<(Arc<Gem>, usize), Refusal> {
        let gem = self.open.core.gem(handle)?;
        buffer(&gem)?.require_own(Errno::INVAL)?;
        let end = offset.checked_add(size);
        require(end.is_some_and(|end| end <= gem.size()), "the range leaves the buffer")?;
        Ok((gem, offset as usize))
    }

    fn gem_madvise(&self, args: &mut uapi::GemMadvise) -> Result<(), Refusal> {
        let known = matches!(args.madv, uapi::MADV_WILLNEED | uapi::MADV_DONTNEED);
        require(known, "no such advice")?;
        let gem = self.open.core.gem(args.handle)?;
        if args.madv == uapi::MADV_DONTNEED {
            buffer(&gem)?.memory.give_up();
        }
        // Pages are never purged.
        args.retained = 1;
        Ok(())
    }

    fn gem_pread(&self, user: &dyn UserMemory, args: &mut uapi::GemPread) -> Result<(), Refusal> {
        let (gem, offset) = self.range(args.handle, args.offset, args.size)?;
        gem.users(false).wait().ok();
        let mut bytes = vec![0; args.size as usize];
        // SAFETY: the range was checked against the buffer, whose mapping lives as long as `gem`.
        unsafe {
            let from = gem.base().add(offset);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        Ok(user.write(args.data_ptr, &bytes)?)
    }

    fn gem_pwrite(&self, user: &dyn UserMemory, args: &mut uapi::GemPwrite) -> Result<(), Refusal> {
        let (gem, offset) = self.range(args.handle, args.offset, args.size)?;
        gem.users(true).wait().ok();
        let bytes = read_array::<u8>(user, args.data_ptr, args.size as usize)?;
        // SAFETY: as in `gem_pread`.
        unsafe {
            let to = gem.base().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(())
    }

    fn gem_set_domain(&self, args: &mut uapi::GemSetDomain) -> Result<(), Refusal> {
        let all = args.read_domains | args.write_domain;
        require(all & !uapi::DOMAINS_OF_CPU == 0, "a domain of the GPU")?;
        require(
            args.write_domain == 0 || args.read_domains == args.write_domain,
            "the domains of reads and writes differ",
        )?;
        let gem = self.open.core.gem(args.handle)?;
        if all != 0 {
            gem.users(args.write_domain != 0).wait().ok();
        }
        Ok(())
    }

    fn gem_set_tiling(&self, args: &mut uapi::GemSetTiling) -> Result<(), Refusal> {
        let gem = self.open.core.gem(args.handle)?;
        buffer(&gem)?.require_own(Errno::NXIO)?;
        args.swizzle_mode = 0;
        match args.tiling_mode {
            uapi::TILING_NONE => args.stride = 0,
            uapi::TILING_X | uapi::TILING_Y => {
                // source: i915_gem_tiling.c: a fence covers whole tiles, up to 256 KiB a row.
                let tile = if args.tiling_mode == uapi::TILING_X { 512 } else { 128 };
                require(
                    args.stride != 0
                        && args.stride.is_multiple_of(tile)
                        && args.stride / 128 <= 0x800,
                    "the stride is not one of whole tiles",
                )?;
            }
            _ => require(false, "no such tiling")?,
        }
        buffer(&gem)?.tiling.store(args.tiling_mode, Ordering::Relaxed);
        Ok(())
    }

    fn gem_wait(&self, args: &mut uapi::GemWait) -> Result<(), Refusal> {
        require(args.flags == 0, "flags is not 0")?;
        let gem = self.open.core.gem(args.bo_handle)?;
        let idle = gem.users(true);
        let start = monotonic_ns();
        let deadline = u64::try_from(args.timeout_ns).ok().map(|t| start.saturating_add(t));
        let done = wait_until(deadline, || idle.is_signaled().then_some(()));
        if args.timeout_ns > 0 {
            let spent = i64::try_from(monotonic_ns() - start).unwrap_or(i64::MAX);
            args.timeout_ns = args.timeout_ns.saturating_sub(spent).max(0);
        }
        done.ok_or(Errno::TIME.into())
    }

    fn context_create(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::ContextCreateExt,
    ) -> Result<(), Refusal> {
        let known = uapi::CONTEXT_CREATE_USE_EXTENSIONS | uapi::CONTEXT_CREATE_SINGLE_TIMELINE;
        require(args.flags & !known == 0, "unknown flags")?;
        let mut parameters = Parameters::new();
        if args.flags & uapi::CONTEXT_CREATE_USE_EXTENSIONS != 0 {
            extension::walk(user, args.extensions, |name, at| {
                require(name == uapi::CONTEXT_CREATE_EXT_SETPARAM, "unknown extension")?;
                let set: uapi::ContextCreateExtSetparam = read_value(user, at)?;
                require(set.param.ctx_id == 0, "a parameter names a context")?;
                parameters.set(self.device.chip, user, &set.param, false, |id| self.vm(id))
            })?;
        }
        args.ctx_id = lock(&self.contexts).insert(Arc::new(Context::new(parameters)));
        Ok(())
    }

    fn execbuffer(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::Execbuffer2,
    ) -> Result<(), Refusal> {
        let id = args.rsvd1 as u32;
        let context = self.context(id)?;
        let checked = submission::check(&self.open.core, user, &context.vm(), args)?;
        if context.is_banned() {
            return Err(Refusal { errno: Errno::IO, why: "the context is lost after a fault" });
        }
        let queue =
            context.queue(&self.device, self.open.id, id, &self.open.threads, args.flags)?;
        let done = Fence::new();
        if args.flags & exec::FENCE_OUT != 0 {
            let fence = sync_file::export(&self.device.interface.core.registry, done.clone())?;
            let fd = user.install(fence, true)?;
            args.rsvd2 = args.rsvd2 & 0xffff_ffff | (fd as u64) << 32;
        }
        submission::attach(&checked, &done);
        for pinned in &checked.buffers {
            let buffer = buffer(&pinned.gem)?;
            buffer.reopen();
            buffer.begin_use();
        }
        let submission = Submission {
            id: self.device.interface.next_submission(),
            waits: checked.waits,
            buffers: checked.buffers,
            batch: checked.batch,
            done: done.clone(),
        };
        queue.push(submission)?;
        if self.device.interface.options.observer.is_some() {
            wait_recorded(&[done]);
        }
        Ok(())
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
