//! Command buffers: secondary ones, render passes, events and queries.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{Gpu, call, ok};

#[test]
fn secondary_command_buffers_run_as_often_as_they_are_executed() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(64, 0);
    let pool = gpu.pool(0);
    let secondary = gpu.command_buffer(pool, vk::CommandBufferLevel::SECONDARY);
    gpu.record(secondary, |c| {
        call!(gpu.i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 0, 16, 1));
        call!(gpu.i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 16, 16, 2));
    });
    let log = gpu.run((0, 0), |c| {
        for _ in 0..2 {
            call!(gpu.i, PFN_vkCmdExecuteCommands, vkCmdExecuteCommands(c, 1, &secondary));
        }
    });
    let both = ["fill 16 m1+0x0 0x1", "fill 16 m1+0x10 0x2"];
    assert_eq!(log, [&["queue 0.0"], &both[..], &both[..]].concat());
    gpu.destroy_pool(pool);
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn secondary_command_buffers_execute_others() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(64, 0);
    let pool = gpu.pool(0);
    let mut inner: Option<vk::CommandBuffer> = None;
    // Each fills a word, executes the one before twice, and fills another.
    for level in 0..3 {
        let own = gpu.command_buffer(pool, vk::CommandBufferLevel::SECONDARY);
        gpu.record(own, |c| {
            let fill = |c, value| {
                call!(gpu.i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 0, 4, value));
            };
            fill(c, 2 * level);
            if let Some(inner) = inner {
                let twice = [inner; 2];
                call!(gpu.i, PFN_vkCmdExecuteCommands, vkCmdExecuteCommands(c, 2, twice.as_ptr()));
            }
            fill(c, 2 * level + 1);
        });
        inner = Some(own);
    }
    let outer = inner.expect("there are three");
    let log = gpu.run((0, 0), |c| {
        call!(gpu.i, PFN_vkCmdExecuteCommands, vkCmdExecuteCommands(c, 1, &outer));
    });
    let filled: String = log[1..].iter().filter_map(|l| l.chars().last()).collect();
    assert_eq!(filled, "42010132010135");
    gpu.destroy_pool(pool);
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn copies_and_updates_reach_memory() {
    let gpu = Gpu::new();
    let (from, to) = (gpu.buffer(64, 0), gpu.buffer(64, 0));
    gpu.run((1, 0), |c| {
        let data = [7u32, 8, 9, 10];
        call!(
            gpu.i,
            PFN_vkCmdUpdateBuffer,
            vkCmdUpdateBuffer(c, from.0, 0, 16, data.as_ptr().cast())
        );
        let region = vk::BufferCopy { src_offset: 4, dst_offset: 32, size: 8 };
        call!(gpu.i, PFN_vkCmdCopyBuffer, vkCmdCopyBuffer(c, from.0, to.0, 1, &region));
    });
    let mut at = std::ptr::null_mut();
    ok(call!(
        gpu.i,
        PFN_vkMapMemory,
        vkMapMemory(gpu.d, to.1, 32, 8, vk::MemoryMapFlags::empty(), &mut at)
    ));
    // SAFETY: the memory has 32 bytes from there on.
    assert_eq!(unsafe { *at.cast::<[u32; 3]>() }, [8, 9, 0]);
    gpu.destroy_buffer(from);
    gpu.destroy_buffer(to);
}

/// An image with memory and a view.
fn target(gpu: &Gpu) -> (vk::Image, vk::DeviceMemory, vk::ImageView) {
    let format = vk::Format::R8G8B8A8_UNORM;
    let info = vk::ImageCreateInfo {
        image_type: vk::ImageType::_2D,
        format,
        extent: vk::Extent3D { width: 8, height: 4, depth: 1 },
        mip_levels: 1,
        array_layers: 1,
        samples: vk::SampleCountFlags::_1,
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..Default::default()
    };
    let (mut image, mut memory) = (vk::Image::null(), vk::DeviceMemory::null());
    let (i, d) = (gpu.i, gpu.d);
    ok(call!(i, PFN_vkCreateImage, vkCreateImage(d, &info, null(), &mut image)));
    let info = vk::MemoryAllocateInfo { allocation_size: 4096, ..Default::default() };
    ok(call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory)));
    ok(call!(i, PFN_vkBindImageMemory, vkBindImageMemory(d, image, memory, 0)));
    let info = vk::ImageViewCreateInfo {
        image,
        view_type: vk::ImageViewType::_2D,
        format,
        subresource_range: vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        },
        ..Default::default()
    };
    let mut view = vk::ImageView::null();
    ok(call!(i, PFN_vkCreateImageView, vkCreateImageView(d, &info, null(), &mut view)));
    (image, memory, view)
}

#[test]
fn render_passes_become_renderings() {
    let gpu = Gpu::new();
    let (i, d) = (gpu.i, gpu.d);
    let (image, memory, view) = target(&gpu);
    let attachment = vk::AttachmentDescription {
        format: vk::Format::R8G8B8A8_UNORM,
        samples: vk::SampleCountFlags::_1,
        load_op: vk::AttachmentLoadOp::CLEAR,
        store_op: vk::AttachmentStoreOp::STORE,
        final_layout: vk::ImageLayout::GENERAL,
        ..Default::default()
    };
    let reference = vk::AttachmentReference {
        attachment: 0,
        layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
    };
    let subpass = vk::SubpassDescription {
        color_attachment_count: 1,
        color_attachments: &raw const reference,
        ..Default::default()
    };
    let subpasses = [subpass; 2];
    let info = vk::RenderPassCreateInfo {
        attachment_count: 1,
        attachments: &raw const attachment,
        subpass_count: 2,
        subpasses: subpasses.as_ptr(),
        ..Default::default()
    };
    let mut pass = vk::RenderPass::null();
    ok(call!(i, PFN_vkCreateRenderPass, vkCreateRenderPass(d, &info, null(), &mut pass)));
    let info = vk::FramebufferCreateInfo {
        render_pass: pass,
        attachment_count: 1,
        attachments: &raw const view,
        width: 8,
        height: 4,
        layers: 1,
        ..Default::default()
    };
    let mut framebuffer = vk::Framebuffer::null();
    ok(call!(i, PFN_vkCreateFramebuffer, vkCreateFramebuffer(d, &info, null(), &mut framebuffer)));
    let layout = gpu.layout(&[]);
    let pipeline =
        gpu.graphics(layout, &[vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT]);
    let log = gpu.run((0, 0), |c| {
        let clear = vk::ClearValue::default();
        let info = vk::RenderPassBeginInfo {
            render_pass: pass,
            framebuffer,
            render_area: vk::Rect2D {
                extent: vk::Extent2D { width: 8, height: 4 },
                ..Default::default()
            },
            clear_value_count: 1,
            clear_values: &raw const clear,
            ..Default::default()
        };
        let inline = vk::SubpassContents::INLINE;
        call!(i, PFN_vkCmdBeginRenderPass, vkCmdBeginRenderPass(c, &info, inline));
        let point = vk::PipelineBindPoint::GRAPHICS;
        call!(i, PFN_vkCmdBindPipeline, vkCmdBindPipeline(c, point, pipeline));
        call!(i, PFN_vkCmdDraw, vkCmdDraw(c, 5, 2, 0, 0));
        call!(i, PFN_vkCmdNextSubpass, vkCmdNextSubpass(c, inline));
        call!(i, PFN_vkCmdDraw, vkCmdDraw(c, 6, 1, 0, 0));
        call!(i, PFN_vkCmdEndRenderPass, vkCmdEndRenderPass(c));
    });
    // Where barriers are is the render pass's matter, and that of its own tests.
    let log: Vec<_> = log.iter().filter(|l| !l.starts_with("barrier")).map(|l| &**l).collect();
    assert_eq!(
        log,
        [
            "queue 0.0",
            "begin 8x4, colour m1+0x0 load 1 store 0",
            "draw 5x2 vertex fragment topology 0",
            "end",
            "begin 8x4, colour m1+0x0 load 0 store 0",
            "draw 6x1 vertex fragment topology 0",
            "end",
        ]
    );
    gpu.destroy_pipeline(pipeline);
    gpu.destroy_layout(layout);
    call!(i, PFN_vkDestroyFramebuffer, vkDestroyFramebuffer(d, framebuffer, null()));
    call!(i, PFN_vkDestroyRenderPass, vkDestroyRenderPass(d, pass, null()));
    call!(i, PFN_vkDestroyImageView, vkDestroyImageView(d, view, null()));
    call!(i, PFN_vkDestroyImage, vkDestroyImage(d, image, null()));
    call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
}

#[test]
fn an_error_of_the_family_fails_the_command_buffer() {
    let gpu = Gpu::new();
    let pool = gpu.pool(1);
    let c = gpu.command_buffer(pool, vk::CommandBufferLevel::PRIMARY);
    let begin = vk::CommandBufferBeginInfo::default();
    ok(call!(gpu.i, PFN_vkBeginCommandBuffer, vkBeginCommandBuffer(c, &begin)));
    // The queue family has no graphics.
    let info = vk::RenderingInfo { layer_count: 1, ..Default::default() };
    call!(gpu.i, PFN_vkCmdBeginRendering, vkCmdBeginRendering(c, &info));
    assert_eq!(
        call!(gpu.i, PFN_vkEndCommandBuffer, vkEndCommandBuffer(c)),
        vk::Result::ERROR_UNKNOWN
    );
    // It is usable again.
    gpu.record(c, |_| ());
    gpu.submit(gpu.queue(1, 0), c);
    gpu.destroy_pool(pool);
}

#[test]
fn events_and_queries_have_values_after_their_submission() {
    let gpu = Gpu::new();
    let (i, d) = (gpu.i, gpu.d);
    let (mut event, mut pool) = (vk::Event::null(), vk::QueryPool::null());
    ok(call!(
        i,
        PFN_vkCreateEvent,
        vkCreateEvent(d, &vk::EventCreateInfo::default(), null(), &mut event)
    ));
    let info = vk::QueryPoolCreateInfo {
        query_type: vk::QueryType::TIMESTAMP,
        query_count: 2,
        ..Default::default()
    };
    ok(call!(i, PFN_vkCreateQueryPool, vkCreateQueryPool(d, &info, null(), &mut pool)));
    let status = || call!(i, PFN_vkGetEventStatus, vkGetEventStatus(d, event));
    let result = |query| {
        let mut value = 0u64;
        let flags = vk::QueryResultFlags::_64;
        let size = size_of_val(&value);
        let at = (&raw mut value).cast();
        call!(
            i,
            PFN_vkGetQueryPoolResults,
            vkGetQueryPoolResults(d, pool, query, 1, size, at, 8, flags)
        )
    };
    assert_eq!(status(), vk::Result::EVENT_RESET);
    gpu.run((0, 0), |c| {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        call!(i, PFN_vkCmdResetQueryPool, vkCmdResetQueryPool(c, pool, 0, 2));
        call!(i, PFN_vkCmdWriteTimestamp, vkCmdWriteTimestamp(c, all, pool, 1));
        call!(i, PFN_vkCmdSetEvent, vkCmdSetEvent(c, event, all));
    });
    assert_eq!(status(), vk::Result::EVENT_SET);
    assert_eq!([result(0), result(1)], [vk::Result::NOT_READY, vk::Result::SUCCESS]);
    call!(i, PFN_vkDestroyQueryPool, vkDestroyQueryPool(d, pool, null()));
    call!(i, PFN_vkDestroyEvent, vkDestroyEvent(d, event, null()));
}
