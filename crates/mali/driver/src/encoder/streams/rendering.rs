//! Renderings: the vertex and tiler queue resets tiler contexts at a rendering's first draw, so that a command buffer can be submitted
//! again. The fragment queue waits for the tiling, renders, and gives the heap's chunks back.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`get_tiler_desc`, `flush_tiling`, `issue_fragment_jobs`)

use tepui_mali_packets::cs::{CsCondition, CsHeapEvent};
use tepui_mali_packets::draw::Scissor;
use tepui_mali_packets::tiler::TilerContext;
use tepui_vulkan::{Result, vk};

use super::incremental;
use super::subqueues::{Waits, mask_of};
use super::tiler::{COMPLETED, CONTEXT_B, Parts, registers};
use crate::device::GEOMETRY_B;
use crate::encoder::Encoder;
use crate::encoder::targets::{Contexts, Tiling};
use crate::graphics::samples;
use crate::kernel::Queue;
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::stream::{DEFERRED_SYNC, JOBS_MASK, SCRATCH};

/// Words of a tiler context that are reset together.
const RESET_WORDS: usize = 16;

/// Scratch register with the number of times that an exhausted heap was handled.
const COUNT: u8 = SCRATCH + 8;

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
    ///
    /// # Errors
    /// When there is no memory.
    pub(in crate::encoder) fn fragments_in_stream(
        &mut self,
        area: &Scissor,
        whole: &[u64],
        tiled: Option<(Contexts, Parts)>,
    ) -> Result<()> {
        let contexts = tiled.as_ref().map(|t| t.0);
        let mut last = None;
        if let Some((contexts, parts)) = &tiled {
            let stream = self.queues.stream(Queue::VertexTiler);
            stream.finish_tiling();
            stream.heap_event(CsHeapEvent::VertexTilerCompleted, JOBS_MASK);
            self.await_tiling(area, *contexts, parts)?;
            last = Some(&parts.last);
        }
        let stream = self.queues.next_job(Queue::Fragment);
        stream.set_box(area);
        stream.move64(registers::TILE_MAP, 0);
        stream.move32(registers::TILE_MAP_STRIDE, 0);
        if last.is_some() {
            stream.load(COUNT, 1, incremental::TABLE, incremental::table::COUNT);
        }
        for (k, &descriptor) in whole.iter().enumerate() {
            stream.move64(registers::TILER, descriptor);
            if let Some(&last) = last.and_then(|all| all.get(k)) {
                let at_once = stream.skip_if(CsCondition::Equal, COUNT);
                stream.move64(registers::TILER, last);
                stream.land(at_once);
            }
            stream.run_fragment();
        }
        let Some(contexts) = contexts else { return Ok(()) };
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
        Ok(())
    }

    /// Makes the fragment queue wait for the tiling. In the meantime it handles an exhausted heap.
    fn await_tiling(&mut self, area: &Scissor, contexts: Contexts, parts: &Parts) -> Result<()> {
        let size = incremental::table::BYTES + 16 * parts.first.len();
        let place = self.reserve(size as u64, DESCRIPTOR_ALIGN)?;
        let of = (contexts.address, contexts.count);
        // SAFETY: the place is new and of the right size.
        unsafe {
            place.write(&incremental::table(place.address, of, &parts.first, &parts.next));
        }
        let [handler, bytes] = self.device.handler();
        let resets = !self.usage.contains(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        let stream = self.queues.stream(Queue::Fragment);
        stream.set_box(area);
        stream.move64(registers::TILE_MAP, 0);
        stream.move32(registers::TILE_MAP_STRIDE, 0);
        stream.move64(incremental::TABLE, place.address);
        if resets {
            stream.move32(SCRATCH, 0);
            stream.store(SCRATCH, 1, incremental::TABLE, incremental::table::COUNT);
        }
        stream.move64(SCRATCH + 2, handler);
        stream.move32(SCRATCH + 4, bytes as u32);
        stream.settle();
        stream.set_exception_handler(SCRATCH + 2, SCRATCH + 4);
        let mut waits = Waits::default();
        waits[Queue::Fragment as usize] = mask_of(Queue::VertexTiler);
        self.queues.order(waits, Default::default(), self.device.counters());
        let stream = self.queues.stream(Queue::Fragment);
        stream.move64(SCRATCH + 2, 0);
        stream.move32(SCRATCH + 4, 0);
        stream.set_exception_handler(SCRATCH + 2, SCRATCH + 4);
        // The handler uses registers of its own, and those of fragment jobs.
        stream.forget();
        stream.move64(incremental::TABLE, place.address);
        Ok(())
    }
}
