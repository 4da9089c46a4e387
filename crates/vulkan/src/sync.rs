//! Fences, semaphores and events, on sync objects of the kernel.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tepui_drm::client::Wait;
use tepui_drm::{Errno, monotonic_ns};
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Allocation, Backend, SyncPoint};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::object::{get, handle, slice};

/// A sync object of the kernel that is given back with its owner.
struct Owned<B: Backend> {
    device: Arc<B::Device>,
    handle: u32,
}

impl<B: Backend> Owned<B> {
    fn new(device: &Device<B>, signalled: bool) -> Result<Owned<B>> {
        let handle = B::node(&device.inner)
            .create_sync(signalled)
            .map_err(|e| Error::kernel("creating a sync object", e))?;
        Ok(Owned { device: device.inner.clone(), handle })
    }

    fn imported(device: &Device<B>, fd: i32) -> Result<Owned<B>> {
        let handle = B::node(&device.inner).import_sync(fd).map_err(|_| {
            let code = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
            Error::new(code, "the descriptor is no sync object")
        })?;
        // SAFETY: a successful import takes the descriptor.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Owned { device: device.inner.clone(), handle })
    }
}

impl<B: Backend> Drop for Owned<B> {
    fn drop(&mut self) {
        B::node(&self.device).destroy_sync(self.handle);
    }
}

/// A payload, and the one that stands before it until it is used once.
struct Payload<B: Backend> {
    permanent: Owned<B>,
    temporary: Option<Owned<B>>,
}

impl<B: Backend> Payload<B> {
    fn sync(&self) -> u32 {
        self.temporary.as_ref().map_or(self.permanent.handle, |t| t.handle)
    }

    fn import(
        &mut self,
        device: &Device<B>,
        fd: i32,
        sync_file: bool,
        temporary: bool,
    ) -> Result<()> {
        let new = if sync_file {
            let new = Owned::new(device, fd < 0)?;
            if fd >= 0 {
                B::node(&device.inner).import_sync_file(new.handle, fd).map_err(|_| {
                    let code = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
                    Error::new(code, "the descriptor is no sync file")
                })?;
                // SAFETY: a successful import takes the descriptor.
                drop(unsafe { OwnedFd::from_raw_fd(fd) });
            }
            new
        } else {
            Owned::imported(device, fd)?
        };
        if temporary || sync_file {
            self.temporary = Some(new);
        } else {
            self.permanent = new;
        }
        Ok(())
    }

    fn export(&mut self, device: &Device<B>, sync_file: bool) -> Result<i32> {
        let node = B::node(&device.inner);
        if sync_file {
            // A sync file needs a fence, which a submission may still be on its way to give.
            let wait = Wait { deadline_ns: i64::MAX, all: true, for_submit: true, available: true };
            let _ = node.wait_syncs(&[self.sync()], &[0], wait);
        }
        let fd = node
            .export_sync(self.sync(), sync_file)
            .map_err(|e| Error::kernel("exporting a sync object", e))?;
        if sync_file {
            // Exporting is like waiting: the payload is used up.
            match self.temporary.take() {
                Some(_) => {}
                None => {
                    let _ = node.reset_syncs(&[self.permanent.handle]);
                }
            }
        }
        Ok(fd.into_raw_fd())
    }
}

/// A fence.
pub struct Fence<B: Backend>(Payload<B>);

impl<B: Backend> Fence<B> {
    /// The kernel's sync object.
    pub fn sync(&self) -> u32 {
        self.0.sync()
    }
}

/// A semaphore.
pub struct Semaphore<B: Backend> {
    payload: Payload<B>,
    timeline: bool,
    /// A sync object that a wait used up and that must live until the wait is over.
    used: Vec<Owned<B>>,
}

impl<B: Backend> Semaphore<B> {
    /// The point to signal.
    ///
    /// # Safety
    /// The handle is live.
    pub unsafe fn point(semaphore: vk::Semaphore, value: u64) -> SyncPoint {
        // SAFETY: as the caller says.
        let s: &Semaphore<B> = unsafe { get(semaphore) };
        (s.payload.sync(), if s.timeline { value } else { 0 })
    }

    /// The point to wait for, if any: every timeline has reached 0. A temporary payload is consumed.
    ///
    /// # Safety
    /// The handle is live, and the application synchronises access to it.
    pub unsafe fn take(semaphore: vk::Semaphore, value: u64) -> Option<SyncPoint> {
        // SAFETY: as the caller says.
        let s: &mut Semaphore<B> = unsafe { crate::object::get_mut(semaphore) };
        let sync = s.payload.sync();
        if let Some(used) = s.payload.temporary.take() {
            s.used.truncate(0);
            s.used.push(used);
        }
        match (s.timeline, value) {
            (true, 0) => None,
            (true, value) => Some((sync, value)),
            (false, _) => Some((sync, 0)),
        }
    }
}

/// An event: a word that the GPU and the host write.
pub struct Event<B: Backend> {
    memory: B::Memory,
}

impl<B: Backend> Event<B> {
    /// GPU address of the word.
    pub fn address(&self) -> u64 {
        B::address(&self.memory)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the memory is mapped while the event lives, and aligned to pages.
        unsafe { &*B::host(&self.memory).cast::<AtomicU32>() }
    }
}

/// The absolute time of a relative timeout.
fn deadline(timeout_ns: u64) -> i64 {
    i64::try_from(timeout_ns).unwrap_or(i64::MAX).saturating_add(monotonic_ns() as i64)
}

fn wait<B: Backend>(
    device: &Device<B>,
    handles: &[u32],
    points: &[u64],
    all: bool,
    timeout_ns: u64,
) -> Result<vk::Result> {
    let end = deadline(timeout_ns);
    loop {
        device.check()?;
        // In steps, as a lost device signals nothing any more.
        let step = end.min(monotonic_ns() as i64 + 100_000_000);
        let wait = Wait { deadline_ns: step, all, for_submit: true, available: false };
        match B::node(&device.inner).wait_syncs(handles, points, wait) {
            Ok(_) => {
                device.check()?;
                return Ok(vk::Result::SUCCESS);
            }
            Err(Errno::TIME) if step >= end => return Ok(vk::Result::TIMEOUT),
            Err(Errno::TIME) => device.probe()?,
            Err(e) => return Err(Error::kernel("waiting for sync objects", e)),
        }
    }
}

entry! {
    /// `vkCreateFence`.
    fn vkCreateFence<B: Backend>(device: vk::Device, info: *const vk::FenceCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Fence) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let signalled = (*info).flags.contains(vk::FenceCreateFlags::SIGNALED);
            let payload = Payload { permanent: Owned::new(d, signalled)?, temporary: None };
            *out = handle(d.allocator(callbacks).create(Fence(payload))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyFence`.
    fn vkDestroyFence<B: Backend>(device: vk::Device, fence: vk::Fence, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(fence.as_raw() as *mut Fence<B>) }
    }

    /// `vkResetFences`.
    fn vkResetFences<B: Backend>(device: vk::Device, count: u32, fences: *const vk::Fence) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let handles: Vec<u32> = slice(fences, count)
                .iter()
                .map(|&f| {
                    let fence: &mut Fence<B> = crate::object::get_mut(f);
                    fence.0.temporary = None;
                    fence.sync()
                })
                .collect();
            B::node(&d.inner).reset_syncs(&handles).map_err(|e| Error::kernel("resetting fences", e))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetFenceStatus`.
    fn vkGetFenceStatus<B: Backend>(device: vk::Device, fence: vk::Fence) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let fence: &Fence<B> = get(fence);
            Ok(match wait(d, &[fence.sync()], &[0], true, 0)? {
                vk::Result::TIMEOUT => vk::Result::NOT_READY,
                other => other,
            })
        }
    }

    /// `vkWaitForFences`.
    fn vkWaitForFences<B: Backend>(device: vk::Device, count: u32, fences: *const vk::Fence, all: vk::Bool32, timeout: u64) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let handles: Vec<u32> = slice(fences, count).iter().map(|&f| get::<Fence<B>>(f).sync()).collect();
            wait(d, &handles, &vec![0; handles.len()], all == vk::TRUE, timeout)
        }
    }

    /// `vkImportFenceFdKHR`.
    fn vkImportFenceFdKHR<B: Backend>(device: vk::Device, info: *const vk::ImportFenceFdInfoKHR) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let fence: &mut Fence<B> = crate::object::get_mut(info.fence);
            let sync_file = info.handle_type == vk::ExternalFenceHandleTypeFlags::SYNC_FD;
            fence.0.import(d, info.fd, sync_file, info.flags.contains(vk::FenceImportFlags::TEMPORARY))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetFenceFdKHR`.
    fn vkGetFenceFdKHR<B: Backend>(device: vk::Device, info: *const vk::FenceGetFdInfoKHR, out: *mut i32) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let fence: &mut Fence<B> = crate::object::get_mut(info.fence);
            *out = fence.0.export(d, info.handle_type == vk::ExternalFenceHandleTypeFlags::SYNC_FD)?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCreateSemaphore`.
    fn vkCreateSemaphore<B: Backend>(device: vk::Device, info: *const vk::SemaphoreCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Semaphore) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let kind: Option<&vk::SemaphoreTypeCreateInfo> =
                chain::find((*info).next, vk::StructureType::SEMAPHORE_TYPE_CREATE_INFO);
            let timeline = kind.is_some_and(|k| k.semaphore_type == vk::SemaphoreType::TIMELINE);
            let permanent = Owned::new(d, false)?;
            if timeline {
                let value = kind.map_or(0, |k| k.initial_value);
                if value > 0 {
                    B::node(&d.inner).signal_point(permanent.handle, value).map_err(|e| Error::kernel("signalling", e))?;
                }
            }
            let payload = Payload { permanent, temporary: None };
            *out = handle(d.allocator(callbacks).create(Semaphore { payload, timeline, used: Vec::new() })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroySemaphore`.
    fn vkDestroySemaphore<B: Backend>(device: vk::Device, semaphore: vk::Semaphore, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(semaphore.as_raw() as *mut Semaphore<B>) }
    }

    /// `vkGetSemaphoreCounterValue`.
    fn vkGetSemaphoreCounterValue<B: Backend>(device: vk::Device, semaphore: vk::Semaphore, out: *mut u64) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            d.check()?;
            let s: &Semaphore<B> = get(semaphore);
            *out = B::node(&d.inner).query_point(s.payload.sync()).map_err(|e| Error::kernel("querying", e))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkWaitSemaphores`.
    fn vkWaitSemaphores<B: Backend>(device: vk::Device, info: *const vk::SemaphoreWaitInfo, timeout: u64) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let semaphores = slice(info.semaphores, info.semaphore_count).iter();
            let values = slice(info.values, info.semaphore_count).iter();
            let all = !info.flags.contains(vk::SemaphoreWaitFlags::ANY);
            // Every timeline has reached 0, which the kernel takes for a binary object.
            let (handles, points): (Vec<u32>, Vec<u64>) = semaphores
                .zip(values)
                .filter(|v| *v.1 != 0)
                .map(|(&s, &v)| (get::<Semaphore<B>>(s).payload.sync(), v))
                .unzip();
            if handles.is_empty() || !all && handles.len() < info.semaphore_count as usize {
                d.check()?;
                return Ok(vk::Result::SUCCESS);
            }
            wait(d, &handles, &points, all, timeout)
        }
    }

    /// `vkSignalSemaphore`.
    fn vkSignalSemaphore<B: Backend>(device: vk::Device, info: *const vk::SemaphoreSignalInfo) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let s: &Semaphore<B> = get(info.semaphore);
            B::node(&d.inner).signal_point(s.payload.sync(), info.value).map_err(|e| Error::kernel("signalling", e))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkImportSemaphoreFdKHR`.
    fn vkImportSemaphoreFdKHR<B: Backend>(device: vk::Device, info: *const vk::ImportSemaphoreFdInfoKHR) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let s: &mut Semaphore<B> = crate::object::get_mut(info.semaphore);
            let sync_file = info.handle_type == vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;
            s.payload.import(d, info.fd, sync_file, info.flags.contains(vk::SemaphoreImportFlags::TEMPORARY))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetSemaphoreFdKHR`.
    fn vkGetSemaphoreFdKHR<B: Backend>(device: vk::Device, info: *const vk::SemaphoreGetFdInfoKHR, out: *mut i32) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let s: &mut Semaphore<B> = crate::object::get_mut(info.semaphore);
            *out = s.payload.export(d, info.handle_type == vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD)?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCreateEvent`.
    fn vkCreateEvent<B: Backend>(device: vk::Device, _info: *const vk::EventCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Event) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let memory = B::allocate(&d.inner, Allocation { size: 4, ..Default::default() })?;
            *out = handle(d.allocator(callbacks).create(Event::<B> { memory })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyEvent`.
    fn vkDestroyEvent<B: Backend>(device: vk::Device, event: vk::Event, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(event.as_raw() as *mut Event<B>) }
    }

    /// `vkGetEventStatus`.
    fn vkGetEventStatus<B: Backend>(device: vk::Device, event: vk::Event) -> vk::Result {
        unsafe {
            Device::<B>::of(device).check()?;
            let set = get::<Event<B>>(event).word().load(Ordering::Acquire) != 0;
            Ok(if set { vk::Result::EVENT_SET } else { vk::Result::EVENT_RESET })
        }
    }

    /// `vkSetEvent`.
    fn vkSetEvent<B: Backend>(_device: vk::Device, event: vk::Event) -> vk::Result {
        unsafe { get::<Event<B>>(event).word().store(1, Ordering::Release) }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkResetEvent`.
    fn vkResetEvent<B: Backend>(_device: vk::Device, event: vk::Event) -> vk::Result {
        unsafe { get::<Event<B>>(event).word().store(0, Ordering::Release) }
        Ok(vk::Result::SUCCESS)
    }
}
