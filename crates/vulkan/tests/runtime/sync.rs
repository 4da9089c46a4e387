//! Queues, semaphores, fences, deferred submissions and lost devices.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{Gpu, call, instance, ok};

fn timeline(gpu: &Gpu) -> vk::Semaphore {
    let kind = vk::SemaphoreTypeCreateInfo {
        semaphore_type: vk::SemaphoreType::TIMELINE,
        ..Default::default()
    };
    let info = vk::SemaphoreCreateInfo { next: (&raw const kind).cast(), ..Default::default() };
    let mut semaphore = vk::Semaphore::null();
    ok(call!(
        gpu.i,
        PFN_vkCreateSemaphore,
        vkCreateSemaphore(gpu.d, &info, null(), &mut semaphore)
    ));
    semaphore
}

#[test]
fn submissions_go_to_their_queue() {
    let gpu = Gpu::new();
    assert_eq!(gpu.run((0, 0), |_| ()), ["queue 0.0"]);
    assert_eq!(gpu.run((1, 1), |_| ()), ["queue 1.1"]);
    let queues = [(0, 0), (1, 0), (1, 1)].map(|(f, k)| gpu.queue(f, k).as_raw());
    assert!(queues[0] != queues[1] && queues[1] != queues[2] && queues[0] != queues[2]);
    assert!(gpu.queue(0, 1).is_null() && gpu.queue(2, 0).is_null());
}

#[test]
fn queues_that_the_family_lacks_are_refused() {
    let (i, all, _) = instance();
    let priorities = [1.0; 3];
    for (queue_family_index, queue_count) in [(1, 3), (2, 1)] {
        let queues = vk::DeviceQueueCreateInfo {
            queue_family_index,
            queue_count,
            queue_priorities: priorities.as_ptr(),
            ..Default::default()
        };
        let info = vk::DeviceCreateInfo {
            queue_create_info_count: 1,
            queue_create_infos: &raw const queues,
            ..Default::default()
        };
        let mut d = vk::Device::null();
        assert_eq!(
            call!(i, PFN_vkCreateDevice, vkCreateDevice(all[0], &info, null(), &mut d)),
            vk::Result::ERROR_INITIALIZATION_FAILED
        );
    }
    call!(i, PFN_vkDestroyInstance, vkDestroyInstance(i, null()));
}

#[test]
fn a_submission_waits_for_a_value_that_comes_later() {
    let gpu = Gpu::new();
    let semaphore = timeline(&gpu);
    let (buffer, memory) = gpu.buffer(64, 0);
    let pool = gpu.pool(1);
    let c = gpu.command_buffer(pool, vk::CommandBufferLevel::PRIMARY);
    gpu.record(c, |c| call!(gpu.i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 0, 64, 5)));
    let (wait, signal) = (7u64, 8u64);
    let values = vk::TimelineSemaphoreSubmitInfo {
        wait_semaphore_value_count: 1,
        wait_semaphore_values: &raw const wait,
        signal_semaphore_value_count: 1,
        signal_semaphore_values: &raw const signal,
        ..Default::default()
    };
    let stage = vk::PipelineStageFlags::ALL_COMMANDS;
    let submit = vk::SubmitInfo {
        next: (&raw const values).cast(),
        wait_semaphore_count: 1,
        wait_semaphores: &raw const semaphore,
        wait_dst_stage_mask: &raw const stage,
        command_buffer_count: 1,
        command_buffers: &raw const c,
        signal_semaphore_count: 1,
        signal_semaphores: &raw const semaphore,
        ..Default::default()
    };
    let queue = gpu.queue(1, 0);
    gpu.shared.log();
    ok(call!(gpu.i, PFN_vkQueueSubmit, vkQueueSubmit(queue, 1, &submit, vk::Fence::null())));
    let value = || {
        let mut value = 0;
        ok(call!(
            gpu.i,
            PFN_vkGetSemaphoreCounterValue,
            vkGetSemaphoreCounterValue(gpu.d, semaphore, &mut value)
        ));
        value
    };
    assert_eq!((value(), gpu.shared.log()), (0, Vec::new()));
    let info = vk::SemaphoreSignalInfo { semaphore, value: 7, ..Default::default() };
    ok(call!(gpu.i, PFN_vkSignalSemaphore, vkSignalSemaphore(gpu.d, &info)));
    let info = vk::SemaphoreWaitInfo {
        semaphore_count: 1,
        semaphores: &raw const semaphore,
        values: &raw const signal,
        ..Default::default()
    };
    ok(call!(gpu.i, PFN_vkWaitSemaphores, vkWaitSemaphores(gpu.d, &info, 10_000_000_000)));
    assert_eq!(value(), 8);
    assert_eq!(gpu.shared.log(), ["queue 1.0", "fill 64 m1+0x0 0x5"]);
    ok(call!(gpu.i, PFN_vkDeviceWaitIdle, vkDeviceWaitIdle(gpu.d)));
    call!(gpu.i, PFN_vkDestroySemaphore, vkDestroySemaphore(gpu.d, semaphore, null()));
    gpu.destroy_pool(pool);
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn fences_are_signalled_and_reset() {
    let gpu = Gpu::new();
    let mut fence = vk::Fence::null();
    let info = vk::FenceCreateInfo::default();
    ok(call!(gpu.i, PFN_vkCreateFence, vkCreateFence(gpu.d, &info, null(), &mut fence)));
    let status = || call!(gpu.i, PFN_vkGetFenceStatus, vkGetFenceStatus(gpu.d, fence));
    assert_eq!(status(), vk::Result::NOT_READY);
    ok(call!(gpu.i, PFN_vkQueueSubmit, vkQueueSubmit(gpu.queue(0, 0), 0, null(), fence)));
    ok(call!(
        gpu.i,
        PFN_vkWaitForFences,
        vkWaitForFences(gpu.d, 1, &fence, vk::TRUE, 10_000_000_000)
    ));
    ok(status());
    ok(call!(gpu.i, PFN_vkResetFences, vkResetFences(gpu.d, 1, &fence)));
    assert_eq!(status(), vk::Result::NOT_READY);
    call!(gpu.i, PFN_vkDestroyFence, vkDestroyFence(gpu.d, fence, null()));
}

#[test]
fn a_lost_device_ends_waits() {
    let gpu = Gpu::new();
    let semaphore = timeline(&gpu);
    gpu.shared.lose();
    let value = 1u64;
    let info = vk::SemaphoreWaitInfo {
        semaphore_count: 1,
        semaphores: &raw const semaphore,
        values: &raw const value,
        ..Default::default()
    };
    assert_eq!(
        call!(gpu.i, PFN_vkWaitSemaphores, vkWaitSemaphores(gpu.d, &info, u64::MAX)),
        vk::Result::ERROR_DEVICE_LOST
    );
    let submitted = call!(
        gpu.i,
        PFN_vkQueueSubmit,
        vkQueueSubmit(gpu.queue(0, 0), 0, null(), vk::Fence::null())
    );
    ok(submitted);
    let pool = gpu.pool(0);
    let c = gpu.command_buffer(pool, vk::CommandBufferLevel::PRIMARY);
    gpu.record(c, |_| ());
    let submit = vk::SubmitInfo {
        command_buffer_count: 1,
        command_buffers: &raw const c,
        ..Default::default()
    };
    assert_eq!(
        call!(
            gpu.i,
            PFN_vkQueueSubmit,
            vkQueueSubmit(gpu.queue(0, 0), 1, &submit, vk::Fence::null())
        ),
        vk::Result::ERROR_DEVICE_LOST
    );
    gpu.destroy_pool(pool);
    call!(gpu.i, PFN_vkDestroySemaphore, vkDestroySemaphore(gpu.d, semaphore, null()));
}
