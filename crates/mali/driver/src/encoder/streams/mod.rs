//! Command streams (v10): draws, dispatches and renderings as instructions of three queues.
//!
//! - [`subqueues`]: the streams of a command buffer, and the order between them
//! - [`draw`], [`dispatch`], [`rendering`]: state in registers, and the instructions that run it
//! - [`incremental`]: what is done when the tiler's heap is full

mod dispatch;
mod draw;
pub mod incremental;
pub mod rendering;
pub mod subqueues;
pub mod tiler;
#[cfg(test)]
mod words;

use std::cmp::Reverse;

use super::Encoder;
use super::inputs::Uniforms;
use crate::kernel::Queue;
use crate::stream::{JOBS_MASK, SCRATCH};
use tepui_vulkan::vk;

impl Encoder {
    /// Stores the words of uniforms that only memory has, by a queue itself.
    fn store_uniforms(&mut self, queue: Queue, uniforms: &Uniforms) {
        if uniforms.copies.is_empty() {
            return;
        }
        let may_overlap = self.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        let stream = self.queues.stream(queue);
        if may_overlap {
            // Jobs of an earlier submission may still read them.
            stream.wait(JOBS_MASK);
        }
        // Words that are there several times are loaded once.
        let mut copies = uniforms.copies.clone();
        copies.sort_by_key(|c| (c.from, Reverse(c.count)));
        let mut loaded = 0..0;
        for c in copies {
            let words = c.from..c.from + 4 * u64::from(c.count);
            if !(loaded.contains(&words.start) && words.end <= loaded.end) {
                stream.move64(SCRATCH, c.from);
                stream.load(SCRATCH + 2, c.count, SCRATCH, 0);
                stream.move64(SCRATCH, uniforms.address());
                loaded = words.clone();
            }
            let first = SCRATCH + 2 + ((words.start - loaded.start) / 4) as u8;
            stream.store(first, c.count, SCRATCH, 4 * c.to as i16);
        }
        stream.settle();
    }

    /// Stores a word by a queue itself.
    pub(super) fn store_word(&mut self, queue: Queue, address: u64, word: u32) {
        let stream = self.queues.stream(queue);
        stream.move64(SCRATCH, address);
        stream.move32(SCRATCH + 2, word);
        stream.store(SCRATCH + 2, 1, SCRATCH, 0);
    }
}
