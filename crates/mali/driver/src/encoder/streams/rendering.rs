//! Renderings: the vertex and tiler queue resets tiler contexts at a rendering's first draw, so that a command buffer can be submitted
//! again. The fragment queue waits for the tiling, renders, and gives the heap's chunks back.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`get_tiler_desc`, `flush_tiling`, `issue_fragment_jobs`)

use tepui_mali_packets::cs::CsHeapEvent;
use tepui_mali_packets::draw::Scissor;
use tepui_mali_packets::tiler::TilerContext;
use tepui_vulkan::{Result, vk};

use super::subqueues::{Waits, mask_of};
use crate::device::{DESCRIPTOR_ALIGN, GEOMETRY_B, packet};
use crate::encoder::Encoder;
use crate::encoder::rendering::{Contexts, Tiling};
use crate::graphics::samples;
use crate::kernel::Queue;
use crate::stream::{DEFERRED_SYNC, JOBS_MASK, SCRATCH};

/// Bytes of a tiler context.
const CONTEXT_B: u64 = TilerContext::SIZE_BYTES as u64;
/// Words of a tiler context that are reset together.
const RESET_WORDS: usize = 16;
/// Offset of the addresses of the completed chunks in a tiler context.
const COMPLETED: i16 = 40;

/// Registers of RUN_IDVS and RUN_FRAGMENT. source: Mesa, panvk_vX_cmd_draw.c
pub mod registers {
    /// The tiler context of draws, and the framebuffer of fragment jobs.
    pub const TILER: u8 = 40;
    /// The map of tiles that are rendered; 0 for all.
    pub const TILE_MAP: u8 = 44;
    /// Bytes of a row of it.
    pub const TILE_MAP_STRIDE: u8 = 46;
}

impl Encoder {
    /// Makes the tiler contexts of a rendering, and begins its tiling.
    ///
    /// # Errors
    /// When there is no memory.
    pub(in crate::encoder) fn contexts_in_stream(&mut self, t: &Tiling) -> Result<Contexts> {
        let [heap, geometry_buffer] = self.device.tiler_memory();
        let mut bytes = Vec::new();
        for (first, layer_count) in t.contexts() {
            let context = TilerContext {
                hierarchy_mask: t.hierarchy_mask,
                sample_pattern: samples::pattern(t.samples),
                first_provoking_vertex: !t.provoking_last,
                fb_width: t.size[0],
                fb_height: t.size[1],
                layer_count,
                layer_offset: -(first as i32),
                heap,
                geometry_buffer_size: GEOMETRY_B as u32,
                geometry_buffer,
                ..TilerContext::default()
            };
            bytes.extend_from_slice(&context.pack().map_err(packet)?);
        }
        let address = self.upload(&bytes, DESCRIPTOR_ALIGN)?.address;
        if self.usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE) {
            // Fragments of an earlier submission may still read the contexts.
            self.queues.wait_for_earlier(
                Queue::VertexTiler,
                Queue::Fragment,
                self.device.counters(),
            );
        }
        if !self.usage.contains(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT) {
            self.reset_contexts(address, &bytes);
        }
        let stream = self.queues.next_job(Queue::VertexTiler);
        stream.heap_event(CsHeapEvent::VertexTilerStarted, 0);
        let count = t.contexts().count() as u32;
        Ok(Contexts { address, count, stride: CONTEXT_B, provoking_last: t.provoking_last })
    }

    /// Stores the words of tiler contexts that the tiler changes: the first ones, and the hardware's own.
    fn reset_contexts(&mut self, address: u64, bytes: &[u8]) {
        let stream = self.queues.stream(Queue::VertexTiler);
        let (contexts, _) = bytes.as_chunks::<{ CONTEXT_B as usize }>();
        for (at, context) in (address..).step_by(CONTEXT_B as usize).zip(contexts) {
            stream.move64(registers::TILER, at);
            let (words, _) = context.as_chunks::<4>();
            for (k, word) in (0..).zip(&words[..RESET_WORDS]) {
                stream.move32(SCRATCH + k, u32::from_le_bytes(*word));
            }
            stream.store(SCRATCH, RESET_WORDS as u32, registers::TILER, 0);
            // Words 10 to 15 and the first two are zeros.
            stream.store(SCRATCH, 2, registers::TILER, 96);
            stream.store(SCRATCH + 10, 6, registers::TILER, 104);
        }
        stream.settle();
    }

    /// Renders framebuffers, whose descriptors are given with their flags, and ends the tiling.
    pub(in crate::encoder) fn fragments_in_stream(
        &mut self,
        area: &Scissor,
        descriptors: &[u64],
        contexts: Option<Contexts>,
    ) {
        if contexts.is_some() {
            let stream = self.queues.stream(Queue::VertexTiler);
            stream.finish_tiling();
            stream.heap_event(CsHeapEvent::VertexTilerCompleted, JOBS_MASK);
            let mut waits = Waits::default();
            waits[Queue::Fragment as usize] = mask_of(Queue::VertexTiler);
            self.queues.order(waits, Default::default(), self.device.counters());
        }
        let stream = self.queues.next_job(Queue::Fragment);
        stream.set_box(area);
        stream.move64(registers::TILE_MAP, 0);
        stream.move32(registers::TILE_MAP_STRIDE, 0);
        for &descriptor in descriptors {
            stream.move64(registers::TILER, descriptor);
            stream.run_fragment();
        }
        let Some(contexts) = contexts else { return };
        for (k, at) in (1..).zip(contexts.addresses()) {
            stream.move64(SCRATCH, at);
            stream.load(SCRATCH + 2, 4, SCRATCH, COMPLETED);
            stream.settle();
            // The last one ends the rendering.
            let is_last = k == contexts.count;
            stream.finish_fragment(is_last, [SCRATCH + 2, SCRATCH + 4], JOBS_MASK);
            // Its registers are used again.
            stream.wait(1 << DEFERRED_SYNC);
        }
    }
}
