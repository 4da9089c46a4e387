//! Recording, submitting and waiting.

use ash::{ext, vk};

use super::{Buffer, Destroyable, During, Error, Gpu, Kernel, Result};
use crate::number::Number;

/// Time limit of a submission, after which it is treated as hung.
const TIMEOUT_NS: u64 = 300_000_000_000;

/// A command buffer that is being recorded.
pub struct Commands<'a> {
    /// The device that it is for.
    pub gpu: &'a Gpu,
    /// The handle, for commands that this layer has no word for.
    pub handle: vk::CommandBuffer,
}

impl Gpu {
    /// Records with `record`, submits, and waits until the work is done and visible to the host.
    pub fn submit(&self, record: impl FnOnce(&Commands)) -> Result<()> {
        let buffer = self.record(record)?;
        let fence = self.fence()?;
        let buffers = [buffer];
        let submit = vk::SubmitInfo::default().command_buffers(&buffers);
        // SAFETY: the command buffer is complete and the fence unsignalled.
        unsafe { self.device.queue_submit(self.queue, &[submit], fence) }
            .during("vkQueueSubmit")?;
        self.wait(fence)?;
        // SAFETY: the submission is over.
        unsafe { self.device.free_command_buffers(self.command_pool, &buffers) };
        Ok(())
    }

    /// Submits recorded command buffers, one after the other, and waits until their work is visible to the host.
    pub fn submit_all(&self, recorded: &[vk::CommandBuffer]) -> Result<()> {
        let last = self.record(|_| ())?;
        let buffers: Vec<_> = recorded.iter().copied().chain([last]).collect();
        let fence = self.fence()?;
        let submit = vk::SubmitInfo::default().command_buffers(&buffers);
        // SAFETY: the command buffers are complete and the fence unsignalled.
        unsafe { self.device.queue_submit(self.queue, &[submit], fence) }
            .during("vkQueueSubmit")?;
        self.wait(fence)?;
        // SAFETY: the submission is over.
        unsafe { self.device.free_command_buffers(self.command_pool, &[last]) };
        Ok(())
    }

    /// A pool for command buffers that another thread records; the caller destroys it.
    pub fn command_pool_of_thread(&self) -> Result<vk::CommandPool> {
        let create = vk::CommandPoolCreateInfo::default().queue_family_index(self.queue_family);
        // SAFETY: the device is live.
        unsafe { self.device.create_command_pool(&create, None) }.during("vkCreateCommandPool")
    }

    /// Records a primary command buffer that ends with a barrier towards the host.
    pub fn record(&self, record: impl FnOnce(&Commands)) -> Result<vk::CommandBuffer> {
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.command_pool)
            .command_buffer_count(1);
        // SAFETY: the pool is live and only this thread uses it.
        let handle = unsafe { self.device.allocate_command_buffers(&allocate) }
            .during("vkAllocateCommandBuffers")?[0];
        let begin = vk::CommandBufferBeginInfo::default();
        // SAFETY: the command buffer is new.
        unsafe { self.device.begin_command_buffer(handle, &begin) }
            .during("vkBeginCommandBuffer")?;
        let commands = Commands { gpu: self, handle };
        record(&commands);
        commands.barrier_to(vk::PipelineStageFlags2::HOST, vk::AccessFlags2::HOST_READ);
        // SAFETY: the command buffer is being recorded.
        unsafe { self.device.end_command_buffer(handle) }.during("vkEndCommandBuffer")?;
        Ok(handle)
    }

    /// A fence, not signalled.
    pub fn fence(&self) -> Result<vk::Fence> {
        // SAFETY: the device is live.
        let fence = unsafe { self.device.create_fence(&vk::FenceCreateInfo::default(), None) }
            .during("vkCreateFence")?;
        self.keep(Destroyable::Fence(fence));
        Ok(fence)
    }

    /// Waits for `fence`.
    pub fn wait(&self, fence: vk::Fence) -> Result<()> {
        // SAFETY: the fence is this device's.
        unsafe { self.device.wait_for_fences(&[fence], true, TIMEOUT_NS) }.during("vkWaitForFences")
    }

    /// The queue that everything runs on.
    pub fn queue(&self) -> vk::Queue {
        self.queue
    }

    /// An event, not set.
    pub fn event(&self) -> Result<vk::Event> {
        // SAFETY: the device is live.
        let event = unsafe { self.device.create_event(&vk::EventCreateInfo::default(), None) }
            .during("vkCreateEvent")?;
        self.keep(Destroyable::Event(event));
        Ok(event)
    }

    /// A semaphore that counts from `value`.
    pub fn timeline(&self, value: u64) -> Result<vk::Semaphore> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(value);
        let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device is live.
        let semaphore =
            unsafe { self.device.create_semaphore(&create, None) }.during("vkCreateSemaphore")?;
        self.keep(Destroyable::Semaphore(semaphore));
        Ok(semaphore)
    }

    /// A pool of `count` queries of one type.
    pub fn query_pool(&self, kind: vk::QueryType, count: u32) -> Result<vk::QueryPool> {
        self.query_pool_of(&vk::QueryPoolCreateInfo::default().query_type(kind).query_count(count))
    }

    /// A pool of queries.
    pub fn query_pool_of(&self, create: &vk::QueryPoolCreateInfo<'_>) -> Result<vk::QueryPool> {
        // SAFETY: the device is live.
        let pool =
            unsafe { self.device.create_query_pool(create, None) }.during("vkCreateQueryPool")?;
        self.keep(Destroyable::QueryPool(pool));
        Ok(pool)
    }

    /// Whether the device still works: a fault in a submission need not show in a call's result.
    pub fn check_alive(&self) -> Result<()> {
        let word = self.buffer(&[0u32])?;
        self.submit(|c| {
            // SAFETY: the buffer has four bytes.
            unsafe { self.device.cmd_fill_buffer(c.handle, word.handle, 0, 4, 0x600d) }
        })?;
        self.check(word.read::<u32>() == [0x600d], "the device was lost without an error")
    }

    /// Runs one dispatch of a kernel.
    pub fn run(&self, kernel: &Kernel, groups: [u32; 3]) -> Result<()> {
        self.submit(|c| c.dispatch(kernel, groups))
    }

    /// A [`Error::Case`] unless `condition` holds.
    pub fn check(&self, condition: bool, what: &str) -> Result<()> {
        if condition { Ok(()) } else { Err(Error::Case(what.to_owned())) }
    }
}

impl Commands<'_> {
    /// Binds the kernel with its descriptor set at the given dynamic offsets.
    pub fn bind(&self, kernel: &Kernel, offsets_bytes: &[u32]) {
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the kernel's objects are live and this buffer is being recorded.
        unsafe {
            let device = &self.gpu.device;
            device.cmd_bind_pipeline(self.handle, point, kernel.pipeline);
            if kernel.set != vk::DescriptorSet::null() {
                device.cmd_bind_descriptor_sets(
                    self.handle,
                    point,
                    kernel.layout,
                    0,
                    &[kernel.set],
                    offsets_bytes,
                );
            }
        }
    }

    /// Binds and dispatches `groups` workgroups.
    pub fn dispatch(&self, kernel: &Kernel, groups: [u32; 3]) {
        self.dispatch_at(kernel, groups, &[]);
    }

    /// Binds at dynamic offsets and dispatches `groups` workgroups.
    pub fn dispatch_at(&self, kernel: &Kernel, groups: [u32; 3], offsets_bytes: &[u32]) {
        self.bind(kernel, offsets_bytes);
        let [x, y, z] = groups;
        // SAFETY: a kernel with its descriptors is bound.
        unsafe { self.gpu.device.cmd_dispatch(self.handle, x, y, z) }
    }

    /// Binds and dispatches `groups` workgroups, the first of which is `base`.
    pub fn dispatch_base(&self, kernel: &Kernel, base: [u32; 3], groups: [u32; 3]) {
        self.bind(kernel, &[]);
        let ([x, y, z], [w, h, d]) = (base, groups);
        // SAFETY: a kernel for dispatches with a base is bound, with its descriptors.
        unsafe { self.gpu.device.cmd_dispatch_base(self.handle, x, y, z, w, h, d) }
    }

    /// Records what happens only if a word of `words` is not zero (or, `inverted`, is) when it executes.
    pub fn conditional(&self, words: &Buffer, word: u64, inverted: bool, record: impl FnOnce()) {
        let device = ext::conditional_rendering::Device::new(&self.gpu.instance, &self.gpu.device);
        let flags = match inverted {
            true => vk::ConditionalRenderingFlagsEXT::INVERTED,
            false => vk::ConditionalRenderingFlagsEXT::empty(),
        };
        let begin = vk::ConditionalRenderingBeginInfoEXT::default()
            .buffer(words.handle)
            .offset(4 * word)
            .flags(flags);
        // SAFETY: the buffer is live and has the usage; callers have asked for the extension.
        unsafe { (device.fp().cmd_begin_conditional_rendering_ext)(self.handle, &begin) };
        record();
        // SAFETY: as above.
        unsafe { (device.fp().cmd_end_conditional_rendering_ext)(self.handle) };
    }

    /// Binds and dispatches as many workgroups as `arguments` says.
    pub fn dispatch_indirect(&self, kernel: &Kernel, arguments: &Buffer, offset_bytes: u64) {
        self.bind(kernel, &[]);
        // SAFETY: the buffer is live and has indirect usage.
        unsafe {
            self.gpu.device.cmd_dispatch_indirect(self.handle, arguments.handle, offset_bytes)
        }
    }

    /// Push constants for `kernel` from offset 0.
    pub fn push<T: Number>(&self, kernel: &Kernel, data: &[T]) {
        // SAFETY: the kernel's layout has room for its push constants.
        unsafe {
            self.gpu.device.cmd_push_constants(
                self.handle,
                kernel.layout,
                vk::ShaderStageFlags::COMPUTE,
                0,
                &T::to_bytes(data),
            );
        }
    }

    /// Makes the first queries of a pool ready to be used.
    pub fn reset_queries(&self, pool: vk::QueryPool, count: u32) {
        // SAFETY: this buffer is being recorded, and the pool is live.
        unsafe { self.gpu.device.cmd_reset_query_pool(self.handle, pool, 0, count) }
    }

    /// Records work inside of a query, which was reset.
    pub fn query(
        &self,
        (pool, number): (vk::QueryPool, u32),
        flags: vk::QueryControlFlags,
        work: impl FnOnce(),
    ) {
        // SAFETY: this buffer is being recorded, and the pool is live.
        unsafe { self.gpu.device.cmd_begin_query(self.handle, pool, number, flags) }
        work();
        // SAFETY: the query was begun.
        unsafe { self.gpu.device.cmd_end_query(self.handle, pool, number) }
    }

    /// Waits for the first queries of a pool and copies their results, `words` of 64 bits each.
    pub fn query_results(&self, pool: vk::QueryPool, count: u32, words: u64, into: &Buffer) {
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        let (device, to, stride) = (&self.gpu.device, into.handle, 8 * words);
        // SAFETY: this buffer is being recorded; pool and buffer are live.
        unsafe {
            device.cmd_copy_query_pool_results(self.handle, pool, 0, count, to, 0, stride, flags);
        }
    }

    /// Writes the first words of a buffer; barriers before and after order it with everything else.
    pub fn update(&self, buffer: &Buffer, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.barrier();
        // SAFETY: this buffer is being recorded, and callers write no more than the buffer has.
        unsafe { self.gpu.device.cmd_update_buffer(self.handle, buffer.handle, 0, &bytes) };
        self.barrier();
    }

    /// Everything before is visible to everything after.
    pub fn barrier(&self) {
        self.barrier_to(
            vk::PipelineStageFlags2::ALL_COMMANDS,
            vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE,
        );
    }

    /// Changes the layout of a part of an image, between everything before and everything after.
    pub fn transition(
        &self,
        image: vk::Image,
        range: vk::ImageSubresourceRange,
        [old, new]: [vk::ImageLayout; 2],
    ) {
        let (stage, write) =
            (vk::PipelineStageFlags2::ALL_COMMANDS, vk::AccessFlags2::MEMORY_WRITE);
        let barriers = [vk::ImageMemoryBarrier2::default()
            .src_stage_mask(stage)
            .src_access_mask(write)
            .dst_stage_mask(stage)
            .dst_access_mask(write | vk::AccessFlags2::MEMORY_READ)
            .old_layout(old)
            .new_layout(new)
            .image(image)
            .subresource_range(range)];
        let dependency = vk::DependencyInfo::default().image_memory_barriers(&barriers);
        // SAFETY: the image is live, and this buffer is being recorded.
        unsafe { self.gpu.device.cmd_pipeline_barrier2(self.handle, &dependency) }
    }

    fn barrier_to(&self, stage: vk::PipelineStageFlags2, access: vk::AccessFlags2) {
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
            .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
            .dst_stage_mask(stage)
            .dst_access_mask(access)];
        let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: this buffer is being recorded.
        unsafe { self.gpu.device.cmd_pipeline_barrier2(self.handle, &dependency) }
    }
}
