//! `VK_EXT_transform_feedback`: vertices that are captured into buffers.

use vulkanalia_sys as vk;

use crate::backend::{Backend, Draw, Encoder};
use crate::command::of;
use crate::entry;
use crate::memory::Buffer;
use crate::object::{get, maybe, slice};

/// Buffers of captured vertices.
pub const MAX_FEEDBACK: usize = 4;

/// Streams of vertices.
pub const MAX_STREAMS: usize = 4;

/// A stream of the application's as one that there is.
pub(crate) fn stream_number(n: u32) -> u8 {
    n.min(MAX_STREAMS as u32 - 1) as u8
}

/// A buffer that vertices are captured into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackBuffer {
    /// GPU address; 0 for none.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// Transform feedback of a command buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    /// Buffers by number.
    pub buffers: [FeedbackBuffer; MAX_FEEDBACK],
    /// Draws capture.
    pub active: bool,
}

/// GPU addresses of counters by the number of their buffer; 0 for none.
pub type Counters = [u64; MAX_FEEDBACK];

unsafe fn counters<B: Backend>(
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
    fn vkCmdBindTransformFeedbackBuffersEXT<B: Backend>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64, sizes: *const u64) {
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
    fn vkCmdBeginTransformFeedbackEXT<B: Backend>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe {
            let from = counters::<B>(first, count, buffers, offsets);
            of::<B>(c).record("vkCmdBeginTransformFeedbackEXT", move |c| {
                c.state.feedback.active = true;
                c.encoder.begin_feedback(&from)
            });
        }
    }

    /// `vkCmdEndTransformFeedbackEXT`.
    fn vkCmdEndTransformFeedbackEXT<B: Backend>(c: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe {
            let to = counters::<B>(first, count, buffers, offsets);
            of::<B>(c).record("vkCmdEndTransformFeedbackEXT", move |c| {
                c.state.feedback.active = false;
                c.encoder.end_feedback(&to)
            });
        }
    }

    /// `vkCmdDrawIndirectByteCountEXT`.
    fn vkCmdDrawIndirectByteCountEXT<B: Backend>(c: vk::CommandBuffer, instances: u32, first_instance: u32, counter: vk::Buffer, at: u64, counter_offset: u32, stride: u32) {
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
    fn vkCmdBeginQueryIndexedEXT<B: Backend>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags, index: u32) {
        unsafe { crate::transfer::begin_query::<B>(c, pool, query, flags, stream_number(index)) }
    }

    /// `vkCmdEndQueryIndexedEXT`.
    fn vkCmdEndQueryIndexedEXT<B: Backend>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32, index: u32) {
        unsafe { crate::transfer::end_query::<B>(c, pool, query, stream_number(index)) }
    }
}
