//! `VK_EXT_transform_feedback`: commands of [`crate::feedback`].

use vulkanalia_sys as vk;

use crate::backend::{Draw, Encoder};
use crate::command::of;
use crate::draws::Driver;
use crate::entry;
use crate::feedback::{Counters, FeedbackBuffer, MAX_FEEDBACK, stream_number};
use crate::memory::Buffer;
use crate::object::{get, maybe, slice};

unsafe fn counters<B: Driver>(
    first: u32,
    count: u32,
    buffers: *const vk::Buffer,
    offsets: *const u64,
) -> Counters {
    let mut all = [0; MAX_FEEDBACK];
    // SAFETY: the arrays are the application's and valid, or null.
    let (buffers, offsets) = unsafe { (slice(buffers, count), slice(offsets, count)) };
    for (k, &b) in buffers.iter().enumerate() {
        // SAFETY: the buffer is live, or null.
        if let (Some(to), Some(b)) =
            (all.get_mut(first as usize + k), unsafe { maybe::<Buffer<B>>(b) })
        {
            *to = b.address + offsets.get(k).copied().unwrap_or(0);
        }
    }
    all
}

entry! {
    /// `vkCmdBindTransformFeedbackBuffersEXT`.
    fn vkCmdBindTransformFeedbackBuffersEXT<B: Driver>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64, sizes: *const u64) {
        unsafe {
            let (buffers, offsets, sizes) = (slice(buffers, count), slice(offsets, count), slice(sizes, count));
            let bound: Vec<FeedbackBuffer> = buffers.iter().enumerate().map(|(k, &b)| match maybe::<Buffer<B>>(b) {
                None => FeedbackBuffer::default(),
                Some(b) => FeedbackBuffer {
                    address: b.address + offsets[k],
                    size: b.range(offsets[k], sizes.get(k).copied().unwrap_or(vk::WHOLE_SIZE)),
                },
            }).collect();
            of::<B>(c).record("vkCmdBindTransformFeedbackBuffersEXT", move |c| {
                for (to, from) in c.state.feedback.buffers.iter_mut().skip(first as usize).zip(&bound) {
                    *to = *from;
                }
                Ok(())
            });
        }
    }

    /// `vkCmdBeginTransformFeedbackEXT`.
    fn vkCmdBeginTransformFeedbackEXT<B: Driver>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe {
            let from = counters::<B>(first, count, buffers, offsets);
            of::<B>(c).record("vkCmdBeginTransformFeedbackEXT", move |c| {
                c.state.feedback.active = true;
                c.encoder.begin_feedback(&from)
            });
        }
    }

    /// `vkCmdEndTransformFeedbackEXT`.
    fn vkCmdEndTransformFeedbackEXT<B: Driver>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe {
            let to = counters::<B>(first, count, buffers, offsets);
            of::<B>(c).record("vkCmdEndTransformFeedbackEXT", move |c| {
                c.state.feedback.active = false;
                c.encoder.end_feedback(&to)
            });
        }
    }

    /// `vkCmdDrawIndirectByteCountEXT`.
    fn vkCmdDrawIndirectByteCountEXT<B: Driver>(c: vk::CommandBuffer, instances: u32, first_instance: u32, counter: vk::Buffer, at: u64, counter_offset: u32, stride: u32) {
        unsafe {
            let counter = get::<Buffer<B>>(counter).address + at;
            of::<B>(c).record("vkCmdDrawIndirectByteCountEXT", move |c| {
                let address = c.encoder.byte_count(counter, counter_offset, stride, instances, first_instance)?;
                let draw = Draw::Indirect { address, count: 1, stride: 16, count_address: None, indexed: false, draw_index: 0 };
                c.draw(&draw)
            });
        }
    }

    /// `vkCmdBeginQueryIndexedEXT`.
    fn vkCmdBeginQueryIndexedEXT<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags, index: u32) {
        unsafe { crate::transfer::begin_query::<B>(c, pool, query, flags, stream_number(index)) }
    }

    /// `vkCmdEndQueryIndexedEXT`.
    fn vkCmdEndQueryIndexedEXT<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32, index: u32) {
        unsafe { crate::transfer::end_query::<B>(c, pool, query, stream_number(index)) }
    }
}
