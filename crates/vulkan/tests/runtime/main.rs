//! The runtime's entry points over a family without a GPU, and what the runtime's sources may name.

mod commands;
mod descriptors;
mod families;
mod memory;
mod pipelines;
mod sources;
mod sync;

use std::cell::{Cell, RefCell};
use std::ptr::null;
use std::sync::Arc;

use tepui_vulkan::vk::{self, Handle};
use tepui_vulkan::{instance, member, physical};
use tepui_vulkan_null::{Null, Physical, Shared};

/// Calls a command by the name of the registry: `call!(instance, PFN_vkX, vkX(a, b))`.
macro_rules! call {
    ($instance:expr, $pfn:ident, $name:ident($($arg:expr),* $(,)?)) => {{
        let name = std::ffi::CString::new(stringify!($name)).unwrap();
        // SAFETY: the function of this name has the registry's type; arguments are valid.
        #[allow(unused_unsafe)]
        unsafe {
            let function = tepui_vulkan::lookup::proc_addr($instance, name.as_ptr());
            let function: tepui_vulkan::vk::$pfn = std::mem::transmute(function.expect(stringify!($name)));
            function($($arg),*)
        }
    }};
}
pub(crate) use call;

thread_local! {
    /// Test's view of the physical devices of the last instance of the thread.
    static SHARED: RefCell<Vec<Arc<Shared>>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread's instances have a physical device of a second family.
    static HAS_SECOND: Cell<bool> = const { Cell::new(false) };
}

fn ok(result: vk::Result) {
    assert_eq!(result, vk::Result::SUCCESS);
}

/// Physical devices of the thread's instances.
fn physical_devices() -> Vec<Arc<dyn physical::Family>> {
    let (first, shared) = Physical::new();
    let mut all = vec![member::member::<Null>(first, Default::default())];
    let mut seen = vec![shared];
    if HAS_SECOND.get() {
        let (second, shared) = Physical::new();
        all.push(member::member::<Null<1>>(second, Default::default()));
        seen.push(shared);
    }
    SHARED.set(seen);
    all
}

/// An instance, its physical devices, and what tests see of them.
fn instance() -> (vk::Instance, Vec<vk::PhysicalDevice>, Vec<Arc<Shared>>) {
    instance::register(physical_devices);
    let application =
        vk::ApplicationInfo { api_version: vk::make_version(1, 4, 0), ..Default::default() };
    let info =
        vk::InstanceCreateInfo { application_info: &raw const application, ..Default::default() };
    let mut i = vk::Instance::null();
    let none = vk::Instance::null();
    ok(call!(none, PFN_vkCreateInstance, vkCreateInstance(&info, null(), &mut i)));
    let mut all = [vk::PhysicalDevice::null(); 4];
    let mut count = all.len() as u32;
    ok(call!(
        i,
        PFN_vkEnumeratePhysicalDevices,
        vkEnumeratePhysicalDevices(i, &mut count, all.as_mut_ptr())
    ));
    (i, all[..count as usize].to_vec(), SHARED.take())
}

/// A device with a queue of graphics, and two of compute.
struct Gpu {
    i: vk::Instance,
    physical: vk::PhysicalDevice,
    d: vk::Device,
    shared: Arc<Shared>,
    owns_instance: bool,
}

impl Gpu {
    fn new() -> Gpu {
        let (i, all, shared) = instance();
        let mut gpu = Gpu::of(i, all[0], shared[0].clone());
        gpu.owns_instance = true;
        gpu
    }

    /// A device of an instance that outlives it.
    fn of(i: vk::Instance, physical: vk::PhysicalDevice, shared: Arc<Shared>) -> Gpu {
        let priorities = [1.0; 2];
        let queues =
            [(0, 1), (1, 2)].map(|(queue_family_index, queue_count)| vk::DeviceQueueCreateInfo {
                queue_family_index,
                queue_count,
                queue_priorities: priorities.as_ptr(),
                ..Default::default()
            });
        let extension = c"VK_EXT_shader_object".as_ptr();
        let info = vk::DeviceCreateInfo {
            queue_create_info_count: queues.len() as u32,
            queue_create_infos: queues.as_ptr(),
            enabled_extension_count: 1,
            enabled_extension_names: &raw const extension,
            ..Default::default()
        };
        let mut d = vk::Device::null();
        ok(call!(i, PFN_vkCreateDevice, vkCreateDevice(physical, &info, null(), &mut d)));
        assert_eq!(shared.log(), ["open: 1 of queue family 0", "open: 2 of queue family 1"]);
        Gpu { i, physical, d, shared, owns_instance: false }
    }

    fn queue(&self, family: u32, index: u32) -> vk::Queue {
        let mut queue = vk::Queue::null();
        call!(self.i, PFN_vkGetDeviceQueue, vkGetDeviceQueue(self.d, family, index, &mut queue));
        queue
    }

    fn pool(&self, queue_family_index: u32) -> vk::CommandPool {
        let info = vk::CommandPoolCreateInfo { queue_family_index, ..Default::default() };
        let mut pool = vk::CommandPool::null();
        let (i, d) = (self.i, self.d);
        ok(call!(i, PFN_vkCreateCommandPool, vkCreateCommandPool(d, &info, null(), &mut pool)));
        pool
    }

    fn destroy_pool(&self, pool: vk::CommandPool) {
        call!(self.i, PFN_vkDestroyCommandPool, vkDestroyCommandPool(self.d, pool, null()));
    }

    fn command_buffer(
        &self,
        command_pool: vk::CommandPool,
        level: vk::CommandBufferLevel,
    ) -> vk::CommandBuffer {
        let info = vk::CommandBufferAllocateInfo {
            command_pool,
            level,
            command_buffer_count: 1,
            ..Default::default()
        };
        let mut c = vk::CommandBuffer::null();
        let (i, d) = (self.i, self.d);
        ok(call!(i, PFN_vkAllocateCommandBuffers, vkAllocateCommandBuffers(d, &info, &mut c)));
        c
    }

    fn record(&self, c: vk::CommandBuffer, record: impl FnOnce(vk::CommandBuffer)) {
        let info = vk::CommandBufferBeginInfo::default();
        ok(call!(self.i, PFN_vkBeginCommandBuffer, vkBeginCommandBuffer(c, &info)));
        record(c);
        ok(call!(self.i, PFN_vkEndCommandBuffer, vkEndCommandBuffer(c)));
    }

    fn submit(&self, queue: vk::Queue, c: vk::CommandBuffer) {
        let submit = vk::SubmitInfo {
            command_buffer_count: 1,
            command_buffers: &raw const c,
            ..Default::default()
        };
        let fence = vk::Fence::null();
        ok(call!(self.i, PFN_vkQueueSubmit, vkQueueSubmit(queue, 1, &submit, fence)));
        ok(call!(self.i, PFN_vkQueueWaitIdle, vkQueueWaitIdle(queue)));
    }

    /// Records and submits to a queue; returns what the encoder recorded.
    fn run(
        &self,
        (family, index): (u32, u32),
        record: impl FnOnce(vk::CommandBuffer),
    ) -> Vec<String> {
        let pool = self.pool(family);
        let c = self.command_buffer(pool, vk::CommandBufferLevel::PRIMARY);
        self.record(c, record);
        self.shared.log();
        self.submit(self.queue(family, index), c);
        self.destroy_pool(pool);
        self.shared.log()
    }

    /// A buffer with memory of a type, and the memory.
    fn buffer(&self, size: u64, memory_type_index: u32) -> (vk::Buffer, vk::DeviceMemory) {
        let (i, d) = (self.i, self.d);
        let info = vk::BufferCreateInfo {
            size,
            usage: vk::BufferUsageFlags::STORAGE_BUFFER,
            ..Default::default()
        };
        let (mut buffer, mut memory) = (vk::Buffer::null(), vk::DeviceMemory::null());
        ok(call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer)));
        let info = vk::MemoryAllocateInfo {
            allocation_size: size,
            memory_type_index,
            ..Default::default()
        };
        ok(call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory)));
        ok(call!(i, PFN_vkBindBufferMemory, vkBindBufferMemory(d, buffer, memory, 0)));
        (buffer, memory)
    }

    fn destroy_buffer(&self, (buffer, memory): (vk::Buffer, vk::DeviceMemory)) {
        call!(self.i, PFN_vkDestroyBuffer, vkDestroyBuffer(self.d, buffer, null()));
        call!(self.i, PFN_vkFreeMemory, vkFreeMemory(self.d, memory, null()));
    }
}

impl Drop for Gpu {
    /// All memory is given back, by the test and by the runtime.
    fn drop(&mut self) {
        call!(self.i, PFN_vkDestroyDevice, vkDestroyDevice(self.d, null()));
        if self.owns_instance {
            call!(self.i, PFN_vkDestroyInstance, vkDestroyInstance(self.i, null()));
        }
        if !std::thread::panicking() {
            assert_eq!(self.shared.allocations(), 0);
        }
    }
}
