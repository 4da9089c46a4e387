//! Devices and queues.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use tepui_drm::client::Wait;
use tepui_drm::{Errno, monotonic_ns};
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, PhysicalInfo, QueueId, QueueRequest, SyncPoint};
use crate::cache;
use crate::chain;
use crate::command::CommandBuffer;
use crate::debug::{self, Flags};
use crate::draws::DrawMode;
use crate::entry;
use crate::error::{Error, Result};
use crate::memory::HeapUsage;
use crate::object::{Allocator, Dispatchable, dispatch, dispatchable, slice};
use crate::registry::{self, Enabled};
use crate::state::{GraphicsState, Groups};
use crate::sync::{Fence, Semaphore};
use crate::table::Table;

/// A device of a family.
#[repr(C)]
pub struct Device<B: Backend> {
    /// Commands of the family; first, as [`crate::dispatch`] expects.
    pub(crate) commands: &'static Table,
    /// Version and extensions that the application uses; second, for the same reason.
    enabled: Enabled,
    /// The application's allocator.
    pub allocator: Allocator,
    /// The physical device.
    pub physical: Arc<B::Physical>,
    /// The family's device.
    pub inner: Arc<B::Device>,
    /// Device memory that the process holds of the physical device.
    pub heap_usage: Arc<HeapUsage>,
    /// Buffer accesses are checked.
    pub robust: bool,
    /// Samplers may have custom border colours.
    pub custom_borders: bool,
    /// Samplers may reduce texels to the least or the greatest.
    pub reductions: bool,
    /// Descriptors of images may be null.
    pub null_images: bool,
    /// A submission failed; everything else does.
    pub lost: Arc<AtomicBool>,
    queues: Vec<Dispatchable<Queue<B>>>,
    /// State of the last pipelines that had different ones.
    states: Mutex<Vec<Arc<GraphicsState>>>,
    /// States of pipelines that were linked from libraries.
    joined: Mutex<Vec<Joined>>,
    /// The header of its pipeline caches.
    pub cache_header: cache::Header,
}

/// States of pipelines that are compared with a new one's.
const STATES: usize = 16;

/// States of libraries with the groups that each brings, and what they are together.
struct Joined {
    from: Vec<(Arc<GraphicsState>, Groups)>,
    state: Arc<GraphicsState>,
}

/// A queue of a device.
#[repr(C)]
pub struct Queue<B: Backend> {
    /// Commands of the family; first, as [`crate::dispatch`] expects.
    commands: &'static Table,
    pub(crate) id: QueueId,
    device: Arc<B::Device>,
    lost: Arc<AtomicBool>,
    /// A timeline whose points are submissions, in their order.
    timeline: u32,
    state: Arc<(Mutex<Pending>, Condvar)>,
    worker: Option<JoinHandle<()>>,
}

/// Submissions that wait for others to be submitted.
struct Pending {
    /// The last point of the timeline that is given to a submission.
    last: u64,
    jobs: VecDeque<Job>,
    /// The worker is submitting a job.
    busy: bool,
    ends: bool,
}

/// Semaphores that a submission waits for and signals.
pub(crate) struct Semaphores {
    pub waits: Vec<SyncPoint>,
    pub signals: Vec<SyncPoint>,
}

impl Semaphores {
    /// Semaphores of a batch, with the values of timelines from its chain.
    ///
    /// # Safety
    /// The chain is valid, and the semaphores are live.
    pub(crate) unsafe fn new<B: Backend>(
        next: *const c_void,
        waits: &[vk::Semaphore],
        signals: &[vk::Semaphore],
    ) -> Semaphores {
        // SAFETY: as the caller says.
        unsafe {
            let timeline: Option<&vk::TimelineSemaphoreSubmitInfo> =
                chain::find(next, vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO);
            let (waited, signalled) = timeline.map_or((&[][..], &[][..]), |t| {
                (
                    slice(t.wait_semaphore_values, t.wait_semaphore_value_count),
                    slice(t.signal_semaphore_values, t.signal_semaphore_value_count),
                )
            });
            let value = |values: &[u64], k: usize| values.get(k).copied().unwrap_or(0);
            let (waits, signals) = (waits.iter().enumerate(), signals.iter().enumerate());
            Semaphores {
                waits: waits
                    .filter_map(|(k, &h)| Semaphore::<B>::take(h, value(waited, k)))
                    .collect(),
                signals: signals
                    .map(|(k, &h)| Semaphore::<B>::point(h, value(signalled, k)))
                    .collect(),
            }
        }
    }
}

/// Hands a submission to the kernel: what it waits for and what it signals.
pub(crate) type Run = Box<dyn FnOnce(&[SyncPoint], &[SyncPoint]) -> Result<()> + Send>;

/// A submission on its way to the kernel.
struct Job {
    waits: Vec<SyncPoint>,
    signals: Vec<SyncPoint>,
    run: Run,
    /// Whether it takes long, so that the worker thread runs it.
    is_long: bool,
}

/// A command buffer that outlives the job, as the specification demands of applications.
struct CommandPointer<B: Backend>(*const CommandBuffer<B>);

// SAFETY: applications do not touch command buffers that are pending.
unsafe impl<B: Backend> Send for CommandPointer<B> {}

fn lock(m: &Mutex<Pending>) -> std::sync::MutexGuard<'_, Pending> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sync objects that have no fence yet make a submission wait in user space.
fn is_available<B: Backend>(
    device: &B::Device,
    waits: &[SyncPoint],
    deadline_ns: i64,
) -> Result<bool> {
    if waits.is_empty() {
        return Ok(true);
    }
    let (handles, points): (Vec<u32>, Vec<u64>) = waits.iter().copied().unzip();
    let wait = Wait { deadline_ns, all: true, for_submit: true, available: true };
    match B::node(device).wait_syncs(&handles, &points, wait) {
        Ok(_) => Ok(true),
        Err(Errno::TIME) => Ok(false),
        Err(e) => Err(Error::kernel("waiting for a submission", e)),
    }
}

impl<B: Backend> Queue<B> {
    fn new(
        commands: &'static Table,
        id: QueueId,
        device: Arc<B::Device>,
        lost: Arc<AtomicBool>,
    ) -> Result<Queue<B>> {
        let timeline = B::node(&device)
            .create_sync(false)
            .map_err(|e| Error::kernel("creating a sync object", e))?;
        let pending = Pending { last: 0, jobs: VecDeque::new(), busy: false, ends: false };
        let state = Arc::new((Mutex::new(pending), Condvar::new()));
        Ok(Queue { commands, id, device, lost, timeline, state, worker: None })
    }

    /// Submits immediately, or after the pending submissions.
    fn push(&mut self, mut job: Job) -> Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(lost());
        }
        let mut pending = lock(&self.state.0);
        pending.last += 1;
        job.signals.push((self.timeline, pending.last));
        let is_first = pending.jobs.is_empty() && !pending.busy;
        if is_first && !job.is_long && is_available::<B>(&self.device, &job.waits, 0)? {
            drop(pending);
            return run(&self.lost, job);
        }
        pending.jobs.push_back(job);
        drop(pending);
        self.state.1.notify_all();
        if self.worker.is_none() {
            let (device, lost, state) =
                (self.device.clone(), self.lost.clone(), self.state.clone());
            let worker = std::thread::Builder::new()
                .name("tepui-submit".to_owned())
                .spawn(move || work::<B>(&device, &lost, &state))
                .map_err(|_| Error::host_memory())?;
            self.worker = Some(worker);
        }
        Ok(())
    }

    /// Waits until everything that was submitted is done.
    pub fn wait_idle(&self) -> Result<()> {
        let last = lock(&self.state.0).last;
        if last == 0 {
            return Ok(());
        }
        wait_for::<B>(&self.device, &self.lost, &[(self.timeline, last)])?;
        if self.lost.load(Ordering::Acquire) { Err(lost()) } else { Ok(()) }
    }

    /// Submits command buffers.
    pub(crate) fn submit(
        &mut self,
        semaphores: Semaphores,
        commands: Vec<*const CommandBuffer<B>>,
    ) -> Result<()> {
        let (device, lost) = self.device();
        let queue = self.id;
        // SAFETY: pending command buffers stay as they are.
        let is_late = commands.iter().any(|&c| B::Draws::has_rest(&unsafe { &*c }.draws));
        let commands: Vec<CommandPointer<B>> = commands.into_iter().map(CommandPointer).collect();
        let run = move |waits: &[SyncPoint], signals: &[SyncPoint]| {
            // SAFETY: as above.
            let commands: Vec<&CommandBuffer<B>> =
                commands.iter().map(|c| unsafe { &*c.0 }).collect();
            B::Draws::submit(&device, queue, &lost, &commands, waits, signals)
        };
        self.submit_job(semaphores, Box::new(run), is_late)
    }

    /// Submits what `run` does.
    pub(crate) fn submit_run(&mut self, semaphores: Semaphores, run: Run) -> Result<()> {
        self.submit_job(semaphores, run, false)
    }

    fn submit_job(&mut self, semaphores: Semaphores, run: Run, is_long: bool) -> Result<()> {
        let Semaphores { waits, signals } = semaphores;
        self.push(Job { waits, signals, run, is_long })?;
        if debug::flags().contains(Flags::SYNC) { self.wait_idle() } else { Ok(()) }
    }

    /// The family's device, and whether it is lost.
    pub(crate) fn device(&self) -> (Arc<B::Device>, Arc<AtomicBool>) {
        (self.device.clone(), self.lost.clone())
    }
}

impl<B: Backend> Drop for Queue<B> {
    fn drop(&mut self) {
        let _ = self.wait_idle();
        // Work that `Backend::check` has submitted may still be queued, and uses objects of the device: it is
        // done when this submission is.
        if lock(&self.state.0).last != 0 && !self.lost.load(Ordering::Acquire) {
            let nothing = Semaphores { waits: Vec::new(), signals: Vec::new() };
            let _ = self.submit(nothing, Vec::new()).and_then(|()| self.wait_idle());
        }
        lock(&self.state.0).ends = true;
        self.state.1.notify_all();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
        B::node(&self.device).destroy_sync(self.timeline);
    }
}

pub(crate) fn lost() -> Error {
    Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is lost")
}

/// Whether the device is lost: a submission was refused, or the family says so now. Nothing else tells of a fault, so every wait
/// asks now and then.
pub(crate) fn is_lost<B: Backend>(device: &B::Device, lost: &AtomicBool) -> bool {
    if !lost.load(Ordering::Acquire) {
        let refused = B::check(device).err();
        if refused.is_some_and(|e| e.code == vk::Result::ERROR_DEVICE_LOST) {
            lost.store(true, Ordering::Release);
        }
    }
    lost.load(Ordering::Acquire)
}

/// Waits until all points are signalled.
pub(crate) fn wait_for<B: Backend>(
    device: &B::Device,
    lost_flag: &AtomicBool,
    points: &[SyncPoint],
) -> Result<()> {
    if points.is_empty() {
        return Ok(());
    }
    let (handles, values): (Vec<u32>, Vec<u64>) = points.iter().copied().unzip();
    loop {
        // A lost device signals nothing any more.
        let deadline_ns = monotonic_ns() as i64 + 100_000_000;
        let step = Wait { deadline_ns, all: true, for_submit: true, available: false };
        match B::node(device).wait_syncs(&handles, &values, step) {
            Ok(_) => return Ok(()),
            Err(Errno::TIME) if !is_lost::<B>(device, lost_flag) => {}
            Err(Errno::TIME) => return Err(lost()),
            Err(e) => return Err(Error::kernel("waiting for the queue", e)),
        }
    }
}

fn run(is_lost: &AtomicBool, job: Job) -> Result<()> {
    (job.run)(&job.waits, &job.signals).inspect_err(|e| {
        if e.code == vk::Result::ERROR_DEVICE_LOST {
            is_lost.store(true, Ordering::Release);
        }
    })
}

/// Submits jobs one after the other, each once what it waits for is submitted.
fn work<B: Backend>(device: &B::Device, lost_flag: &AtomicBool, state: &(Mutex<Pending>, Condvar)) {
    let mut pending = lock(&state.0);
    loop {
        let Some(job) = pending.jobs.pop_front() else {
            if pending.ends {
                return;
            }
            pending = state.1.wait(pending).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        pending.busy = true;
        drop(pending);
        let ready = loop {
            let deadline = monotonic_ns() as i64 + 100_000_000;
            match is_available::<B>(device, &job.waits, deadline) {
                Ok(false) if !is_lost::<B>(device, lost_flag) && !lock(&state.0).ends => {}
                other => break other,
            }
        };
        let result = ready.and_then(|ready| if ready { run(lost_flag, job) } else { Err(lost()) });
        if let Err(e) = result {
            lost_flag.store(true, Ordering::Release);
            eprintln!("tepui: a submission failed: {e}");
        }
        pending = lock(&state.0);
        pending.busy = false;
    }
}

impl<B: Backend> Device<B> {
    /// Creates a device with the commands of its family.
    ///
    /// # Errors
    /// When the family's device cannot be opened.
    ///
    /// # Safety
    /// `info` is valid.
    pub unsafe fn create(
        commands: &'static Table,
        physical: &Arc<B::Physical>,
        heap_usage: &Arc<HeapUsage>,
        enabled: Enabled,
        info: &vk::DeviceCreateInfo,
        allocator: Allocator,
    ) -> Result<vk::Device> {
        // SAFETY: as the caller says.
        let requests = unsafe { queue_requests(B::info(physical), info)? };
        let inner = Arc::new(B::open(physical, &requests)?);
        let lost = Arc::new(AtomicBool::new(false));
        let ids = requests
            .iter()
            .flat_map(|r| (0..r.count).map(|index| QueueId { family: r.family, index }));
        let queues = ids
            .map(|id| Ok(Dispatchable::new(Queue::new(commands, id, inner.clone(), lost.clone())?)))
            .collect::<Result<Vec<_>>>()?;
        // SAFETY: as the caller says.
        let custom_borders = unsafe {
            let on: Option<&vk::PhysicalDeviceCustomBorderColorFeaturesEXT> = chain::find(
                info.next,
                vk::StructureType::PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT,
            );
            let swizzle: Option<&vk::PhysicalDeviceBorderColorSwizzleFeaturesEXT> = chain::find(
                info.next,
                vk::StructureType::PHYSICAL_DEVICE_BORDER_COLOR_SWIZZLE_FEATURES_EXT,
            );
            on.is_some_and(|f| f.custom_border_colors == vk::TRUE)
                || swizzle.is_some_and(|f| f.border_color_swizzle == vk::TRUE)
        };
        // SAFETY: as the caller says.
        let reductions = unsafe {
            let on: Option<&vk::PhysicalDeviceVulkan12Features> =
                chain::find(info.next, vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
            on.is_some_and(|f| f.sampler_filter_minmax == vk::TRUE)
                || names_extension(info, c"VK_EXT_sampler_filter_minmax")
        };
        // SAFETY: as the caller says.
        let (robust, null_images) = unsafe {
            let more: Option<&vk::PhysicalDeviceFeatures2> =
                chain::find(info.next, vk::StructureType::PHYSICAL_DEVICE_FEATURES_2);
            let robust2: Option<&vk::PhysicalDeviceRobustness2FeaturesKHR> = chain::find(
                info.next,
                vk::StructureType::PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_KHR,
            );
            let core = info.enabled_features.as_ref().or(more.map(|m| &m.features));
            let null = robust2.is_some_and(|r| r.null_descriptor == vk::TRUE);
            let robust = core.is_some_and(|f| f.robust_buffer_access == vk::TRUE)
                || robust2.is_some_and(|r| r.robust_buffer_access2 == vk::TRUE);
            (robust || null, null)
        };
        let cache_header = cache::header(&B::info(physical).properties);
        let device = Device::<B> {
            commands,
            enabled,
            allocator,
            physical: physical.clone(),
            inner,
            heap_usage: heap_usage.clone(),
            robust,
            custom_borders,
            reductions,
            null_images,
            lost,
            queues,
            states: Mutex::default(),
            joined: Mutex::default(),
            cache_header,
        };
        Ok(dispatchable(allocator.create(Dispatchable::new(device))?))
    }

    /// The state of an earlier pipeline, if it is the same: commands that bind one after the other compare addresses.
    pub(crate) fn shared_state(&self, state: Arc<GraphicsState>) -> Arc<GraphicsState> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if states.iter().any(|s| Arc::ptr_eq(s, &state)) {
            return state;
        }
        if let Some(same) = states.iter().find(|s| s.is_same(&state)) {
            return same.clone();
        }
        if states.len() == STATES {
            states.remove(0);
        }
        states.push(state.clone());
        state
    }

    /// The state that libraries are together, each with the groups that it brings.
    pub(crate) fn joined_state(
        &self,
        from: &[(&Arc<GraphicsState>, Groups)],
    ) -> Arc<GraphicsState> {
        let lock = || self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let is_this = |j: &Joined| {
            let mut pairs = j.from.iter().zip(from);
            j.from.len() == from.len() && pairs.all(|(a, b)| Arc::ptr_eq(&a.0, b.0) && a.1 == b.1)
        };
        if let Some(known) = lock().iter().find(|j| is_this(j)) {
            return known.state.clone();
        }
        let mut state = GraphicsState::default();
        from.iter().for_each(|(s, groups)| state.copy(s, *groups));
        let state = self.shared_state(Arc::new(state));
        let from = from.iter().map(|&(s, groups)| (s.clone(), groups)).collect();
        let mut joined = lock();
        if joined.len() == STATES {
            joined.remove(0);
        }
        joined.push(Joined { from, state: state.clone() });
        state
    }

    /// The device of a handle.
    ///
    /// # Safety
    /// The handle is live and of this family.
    pub unsafe fn of<'a>(device: vk::Device) -> &'a Device<B> {
        // SAFETY: as the caller says.
        unsafe { dispatch(device) }
    }

    /// The queue of a family and an index.
    fn queue(&self, id: QueueId) -> Option<&Dispatchable<Queue<B>>> {
        self.queues.iter().find(|q| q.id == id)
    }

    /// A memory type; the first one if there is none of this index.
    pub(crate) fn memory_type(&self, index: u32) -> vk::MemoryType {
        let types = &B::info(&self.physical).memory.memory_types;
        types.get(index as usize).copied().unwrap_or(types[0])
    }

    /// An object's allocator.
    ///
    /// # Safety
    /// The pointer is null or valid.
    pub unsafe fn allocator(&self, callbacks: *const vk::AllocationCallbacks) -> Allocator {
        // SAFETY: as the caller says.
        unsafe { Allocator::new(callbacks, self.allocator) }
    }

    /// An error once the device is lost.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn check(&self) -> Result<()> {
        if self.lost.load(Ordering::Acquire) { Err(lost()) } else { Ok(()) }
    }

    /// As [`Device::check`], after asking the kernel: for waits that may be in vain.
    ///
    /// # Errors
    /// `ERROR_DEVICE_LOST`.
    pub fn probe(&self) -> Result<()> {
        if is_lost::<B>(&self.inner, &self.lost) { Err(lost()) } else { Ok(()) }
    }
}

/// The head of a device, whatever its family.
#[repr(C)]
struct Head {
    commands: &'static Table,
    enabled: Enabled,
}

entry! {
    /// `vkGetDeviceProcAddr`.
    fn vkGetDeviceProcAddr(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
        unsafe {
            let head: &Head = dispatch(device);
            let name = CStr::from_ptr(name).to_str().ok()?;
            let command = registry::find(name)?;
            let is_there = head.enabled.has_device_command(command);
            if is_there { head.commands.get(name) } else { None }
        }
    }

    /// `vkDestroyDevice`.
    fn vkDestroyDevice<B: Backend>(device: vk::Device, _callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            if device.is_null() {
                return;
            }
            let allocator = Device::<B>::of(device).allocator;
            allocator.destroy(device.as_raw() as *mut Dispatchable<Device<B>>);
        }
    }

    /// `vkGetDeviceQueue`.
    fn vkGetDeviceQueue<B: Backend>(device: vk::Device, family: u32, index: u32, out: *mut vk::Queue) {
        unsafe {
            let queue = Device::<B>::of(device).queue(QueueId { family, index });
            *out = queue.map_or(vk::Queue::null(), |q| dispatchable(q));
        }
    }

    /// `vkGetDeviceQueue2`.
    fn vkGetDeviceQueue2<B: Backend>(device: vk::Device, info: *const vk::DeviceQueueInfo2, out: *mut vk::Queue) {
        unsafe {
            let info = &*info;
            let id = QueueId { family: info.queue_family_index, index: info.queue_index };
            let queue = Device::<B>::of(device).queue(id).filter(|_| info.flags.is_empty());
            *out = queue.map_or(vk::Queue::null(), |q| dispatchable(q));
        }
    }

    /// `vkDeviceWaitIdle`.
    fn vkDeviceWaitIdle<B: Backend>(device: vk::Device) -> vk::Result {
        unsafe { Device::<B>::of(device).queues.iter().try_for_each(|q| q.wait_idle())? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkQueueWaitIdle`.
    fn vkQueueWaitIdle<B: Backend>(queue: vk::Queue) -> vk::Result {
        unsafe { dispatch::<Queue<B>>(queue).wait_idle()? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkQueueSubmit`.
    fn vkQueueSubmit<B: Backend>(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo, fence: vk::Fence) -> vk::Result {
        unsafe {
            let queue: &mut Queue<B> = crate::object::dispatch_mut(queue);
            let submits = slice(submits, count);
            for s in submits {
                let waits = slice(s.wait_semaphores, s.wait_semaphore_count);
                let signals = slice(s.signal_semaphores, s.signal_semaphore_count);
                let semaphores = Semaphores::new::<B>(s.next, waits, signals);
                let commands = slice(s.command_buffers, s.command_buffer_count).iter();
                let commands = commands.map(|&c| std::ptr::from_ref(dispatch::<CommandBuffer<B>>(c))).collect();
                queue.submit(semaphores, commands)?;
            }
            finish(queue, fence)
        }
    }

    /// `vkQueueSubmit2`.
    fn vkQueueSubmit2<B: Backend>(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo2, fence: vk::Fence) -> vk::Result {
        unsafe {
            let queue: &mut Queue<B> = crate::object::dispatch_mut(queue);
            for s in slice(submits, count) {
                let waits = slice(s.wait_semaphore_infos, s.wait_semaphore_info_count).iter();
                let waits = waits.filter_map(|w| Semaphore::<B>::take(w.semaphore, w.value)).collect();
                let signals = slice(s.signal_semaphore_infos, s.signal_semaphore_info_count).iter();
                let signals = signals.map(|w| Semaphore::<B>::point(w.semaphore, w.value)).collect();
                let commands = slice(s.command_buffer_infos, s.command_buffer_info_count).iter();
                let commands = commands.map(|c| std::ptr::from_ref(dispatch::<CommandBuffer<B>>(c.command_buffer))).collect();
                queue.submit(Semaphores { waits, signals }, commands)?;
            }
            finish(queue, fence)
        }
    }

    /// `vkGetCalibratedTimestampsKHR`.
    fn vkGetCalibratedTimestampsKHR<B: Backend>(device: vk::Device, count: u32, infos: *const vk::CalibratedTimestampInfoKHR, out: *mut u64, deviation: *mut u64) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let start = monotonic_ns();
            for (k, info) in slice(infos, count).iter().enumerate() {
                *out.add(k) = match info.time_domain {
                    vk::TimeDomainKHR::DEVICE => B::timestamp(&d.inner)?,
                    _ => monotonic_ns(),
                };
            }
            *deviation = monotonic_ns() - start + 1;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetDeviceGroupPeerMemoryFeatures`.
    fn vkGetDeviceGroupPeerMemoryFeatures<B: Backend>(_device: vk::Device, _heap: u32, _local: u32, _remote: u32, out: *mut vk::PeerMemoryFeatureFlags) {
        unsafe {
            *out = vk::PeerMemoryFeatureFlags::COPY_SRC | vk::PeerMemoryFeatureFlags::COPY_DST
                | vk::PeerMemoryFeatureFlags::GENERIC_SRC | vk::PeerMemoryFeatureFlags::GENERIC_DST;
        }
    }

    /// `vkSetDebugUtilsObjectNameEXT`.
    fn vkSetDebugUtilsObjectNameEXT<B: Backend>(_device: vk::Device, _info: *const vk::DebugUtilsObjectNameInfoEXT) -> vk::Result {
        Ok(vk::Result::SUCCESS)
    }

    /// `vkSetDebugUtilsObjectTagEXT`.
    fn vkSetDebugUtilsObjectTagEXT<B: Backend>(_device: vk::Device, _info: *const vk::DebugUtilsObjectTagInfoEXT) -> vk::Result {
        Ok(vk::Result::SUCCESS)
    }

    /// `vkQueueBeginDebugUtilsLabelEXT`.
    fn vkQueueBeginDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue, _label: *const vk::DebugUtilsLabelEXT) {}

    /// `vkQueueEndDebugUtilsLabelEXT`.
    fn vkQueueEndDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue) {}

    /// `vkQueueInsertDebugUtilsLabelEXT`.
    fn vkQueueInsertDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue, _label: *const vk::DebugUtilsLabelEXT) {}
}

/// Signals a fence after all earlier submissions.
pub(crate) unsafe fn finish<B: Backend>(
    queue: &mut Queue<B>,
    fence: vk::Fence,
) -> Result<vk::Result> {
    if !fence.is_null() {
        // SAFETY: the fence is live.
        let fence: &Fence<B> = unsafe { crate::object::get(fence) };
        let signals = vec![(fence.sync(), 0)];
        queue.submit(Semaphores { waits: Vec::new(), signals }, Vec::new())?;
    }
    Ok(vk::Result::SUCCESS)
}

/// The queues that a device is asked for.
///
/// # Safety
/// `info` is valid.
unsafe fn queue_requests(
    physical: &PhysicalInfo,
    info: &vk::DeviceCreateInfo,
) -> Result<Vec<QueueRequest>> {
    // SAFETY: as the caller says.
    let asked = unsafe { slice(info.queue_create_infos, info.queue_create_info_count) };
    let one = |q: &vk::DeviceQueueCreateInfo| {
        let (family, count) = (q.queue_family_index, q.queue_count);
        match physical.queues.get(family as usize) {
            Some(f) if count <= f.queue_count => {
                // SAFETY: as the caller says.
                let priority = unsafe { crate::physical::priority(q) };
                Ok(QueueRequest { family, count, priority })
            }
            _ => {
                let why = format!(
                    "{count} queues of queue family {family}; ask for those that vkGetPhysicalDeviceQueueFamilyProperties lists"
                );
                Err(Error::new(vk::Result::ERROR_INITIALIZATION_FAILED, why))
            }
        }
    };
    asked.iter().map(one).collect()
}

/// Whether a device is asked for an extension.
///
/// # Safety
/// `info` is valid.
unsafe fn names_extension(info: &vk::DeviceCreateInfo, name: &CStr) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        slice(info.enabled_extension_names, info.enabled_extension_count)
            .iter()
            .any(|&n| CStr::from_ptr(n) == name)
    }
}
