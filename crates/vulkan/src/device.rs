//! Devices.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tepui_drm::monotonic_ns;
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, PhysicalInfo, QueueId, QueueRequest};
use crate::cache;
use crate::chain;
use crate::descriptor::TexelBuffers;
use crate::entry;
use crate::error::{Error, Result};
use crate::heap_usage::HeapUsage;
use crate::object::{Allocator, Dispatchable, dispatch, dispatchable, slice};
use crate::queue::{Queue, is_lost, lost};
use crate::registry::{self, Enabled};
use crate::state::{GraphicsState, Groups};
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
    /// Texel buffers of descriptors that no object owns.
    pub(crate) texel_buffers: TexelBuffers<B>,
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
            texel_buffers: TexelBuffers::default(),
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
}

/// The priority that queues of a device are asked to have among those of other processes.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn priority(queues: &vk::DeviceQueueCreateInfo) -> vk::QueueGlobalPriority {
    // SAFETY: as the caller says.
    let asked: Option<&vk::DeviceQueueGlobalPriorityCreateInfo> = unsafe {
        chain::find(queues.next, vk::StructureType::DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO)
    };
    asked.map_or(vk::QueueGlobalPriority::MEDIUM, |a| a.global_priority)
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
                let priority = unsafe { priority(q) };
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
