//! The runtime's recorder.

use tepui_sysval::{LaunchWords, Words as _};
use tepui_vulkan::backend::{
    self, Blit, BufferPixels, Condition, Dispatch, Draw, ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_expand::{self as expand, CountedWords};
use tepui_vulkan_meta::{clear, condition, copy, resolve};

use super::Encoder;
use super::draw::Parts;
use super::inputs::Inputs;
use super::order::{begun_headers, of_dependency, sources, splits};
use super::streams::subqueues::{Waits, mask_of};
use super::targets::Targets;
use crate::family::Mali;
use crate::graphics::blend::Blending;
use crate::graphics::raster::Occlusion;
use crate::graphics::vertex::has_instances;
use crate::kernel::Queue;
use crate::query::{Kind, Queries};
use crate::shader::Key;
use crate::stream::Flush;

impl Encoder {
    /// Draws a view by the hardware alone.
    pub(super) fn draw_state(
        &mut self,
        state: &mut CommandState<Mali>,
        draw: &Draw,
        view: u32,
        words: LaunchWords<'_>,
        condition: Option<Condition>,
    ) -> Result<()> {
        let Some(shader) = state.bound.vertex.clone() else { return Ok(()) };
        let several_views = state.rendering.as_ref().is_some_and(|r| r.view_mask != 0);
        let key = shader.vertex_key(state.bound.fragment.as_deref(), several_views);
        let adds_first_instance = matches!(draw, Draw::Indirect { .. })
            && has_instances(&state.graphics, shader.attributes);
        let vertex = shader.of(Key { adds_first_instance, ..key })?;
        let formats = self.targets.as_ref().map_or([None; MAX_COLOURS], Targets::formats);
        let mut blending = Blending::new(&state.graphics, &formats)?;
        let counter = self.expansion.counted_fragments();
        let clips = vertex.vertex()?.clips;
        let bound = match &state.bound.fragment {
            None if clips.are_there() => Some(shader.empty_fragment()?),
            bound => bound.clone(),
        };
        let fragment = match bound {
            Some(f) if !state.graphics.discard => {
                let lowered = blending.lowered.take();
                Some(f.fragment(&state.graphics, lowered, &formats, counter != 0, clips)?)
            }
            _ => None,
        };
        let counted = CountedWords { counter: counter.into() };
        let pushed = self.push_sets(&mut state.graphics_sets, true)?;
        let buffers = state.vertex_buffers.map(|b| (b.address, b.size));
        let inputs = Inputs { sets: &state.graphics_sets, pushed, push: &state.push };
        let viewports = if clips.viewport { state.graphics.viewport_count.max(1) } else { 1 };
        let mut parts = Parts {
            state: &state.graphics,
            vertex: &vertex,
            fragment: fragment.as_ref(),
            blending: &blending,
            inputs: &inputs,
            buffers: &buffers,
            index: state.index,
            view,
            viewport: 0,
            words,
            fragment_words: LaunchWords::of(counted.words()),
            condition,
            is_counted: true,
        };
        for viewport in 0..viewports as usize {
            parts.viewport = viewport;
            self.draw_parts(&parts, draw)?;
        }
        Ok(())
    }
}

impl backend::Encoder<Mali> for Encoder {
    fn reset(&mut self) {
        self.clear(1);
    }

    fn begin(&mut self, usage: vk::CommandBufferUsageFlags) {
        self.usage = usage;
    }

    fn finish(&mut self) -> Result<()> {
        self.close()
    }

    fn begin_rendering(&mut self, rendering: &Rendering<Mali>) -> Result<()> {
        self.uploaded.forget_copies();
        self.begin(rendering)
    }

    fn end_rendering(&mut self, rendering: &Rendering<Mali>) -> Result<u8> {
        self.end(rendering)?;
        Ok(0)
    }

    fn dispatch(&mut self, state: &mut CommandState<Mali>, dispatch: &Dispatch) -> Result<()> {
        let Some(shader) = state.compute.clone() else { return Ok(()) };
        let pushed = self.push_sets(&mut state.compute_sets, false)?;
        let inputs = Inputs { sets: &state.compute_sets, pushed, push: &state.push };
        let v = shader.only()?;
        if self.expansion.statistics.is_empty() {
            return self.dispatch_program(v, &inputs, dispatch, state.condition);
        }
        let dispatch = condition::dispatch(self, state.condition, *dispatch)?;
        expand::count_dispatch::<Mali>(self, &dispatch, v.workgroup.iter().product())?;
        self.dispatch_program(v, &inputs, &dispatch, None)
    }

    fn barrier(&mut self, dependency: &Dependency<Mali>, within: Within) -> Result<Ordering> {
        let (waits, flush) = of_dependency(dependency);
        if let Within::Rendering { reads_targets } = within
            && splits(waits, reads_targets)
        {
            return Ok(Ordering::SplitRendering);
        }
        let headers = begun_headers(dependency);
        if headers.is_empty() {
            self.order_queues(waits, flush);
            return Ok(Ordering::Done);
        }
        // Earlier work may still use the memory.
        let mut before = Waits::default();
        before[Queue::Compute as usize] = sources(dependency) | mask_of(Queue::Compute);
        self.order_queues(before, Flush::default());
        for (address, size) in headers {
            copy::fill(self, address, size, 0)?;
        }
        let waits = waits.map(|mask| mask | mask_of(Queue::Compute));
        self.order_queues(waits, Flush { others: true, ..flush });
        Ok(Ordering::Done)
    }

    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()> {
        copy::buffer(self, from, to, size)
    }

    fn copy_arguments(&mut self, address: u64, _size: u64) -> Result<u64> {
        // There are no sparse buffers.
        Ok(address)
    }

    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()> {
        copy::fill(self, address, size, word)
    }

    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()> {
        copy::update(self, address, data)
    }

    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, Mali>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        copy::buffer_image(self, image, buffer, extent, to_image)
    }

    fn clear_texels(
        &mut self,
        image: &ImageCopy<'_, Mali>,
        texel: &[u8],
        extent: [u32; 3],
    ) -> Result<()> {
        copy::fill_image(self, image, texel, extent)
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Mali>,
        to: &ImageCopy<'_, Mali>,
        extent: [u32; 3],
    ) -> Result<()> {
        copy::image(self, from, to, extent)
    }

    fn blit(&mut self, blit: &Blit<'_, Mali>) -> Result<()> {
        tepui_vulkan_meta::blit::blit(self, blit)
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Mali>,
        to: &ImageRef<Mali>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        resolve::region(self, from, to, region, mode)
    }

    fn clear_attachments(
        &mut self,
        state: &mut CommandState<Mali>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        let (Some(rendering), Some(targets)) = (&state.rendering, &self.targets) else {
            return Ok(());
        };
        let clears = clear::Clear::of_attachments(rendering, attachments);
        let (samples, mask) = (targets.samples, rendering.view_mask);
        for rect in rects {
            clear::rectangle(self, &clears, rect, samples, mask, state.condition)?;
        }
        Ok(())
    }

    fn begin_feedback(&mut self, counters: &Counters) -> Result<()> {
        expand::begin_capture::<Mali>(self, counters)
    }

    fn end_feedback(&mut self, counters: &Counters) -> Result<()> {
        expand::end_capture::<Mali>(self, counters)
    }

    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        let at =
            expand::captured_draw::<Mali>(self, counter, start, stride, instances, first_instance)?;
        self.awaits_compute = true;
        Ok(at)
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(&mut self, pool: &Queries, query: u32, precise: bool, stream: u8) -> Result<()> {
        let address = pool.value_address(query);
        if let Some((flags, of_stream)) = pool.kind.statistics() {
            let stream = of_stream.then_some(stream.into());
            expand::begin_statistics::<Mali>(self, address, flags, stream);
            return Ok(());
        }
        if pool.kind == Kind::Captured {
            let of_stream = self.expansion.feedback_queries.get_mut(usize::from(stream));
            of_stream.into_iter().for_each(|q| *q = address);
            return Ok(());
        }
        self.occlusion = Some(Occlusion { address, precise });
        Ok(())
    }

    fn end_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        if pool.kind.statistics().is_some() {
            expand::end_statistics::<Mali>(self, pool.value_address(query))?;
        } else if pool.kind == Kind::Captured {
            let of_stream = self.expansion.feedback_queries.get_mut(usize::from(stream));
            of_stream.into_iter().for_each(|q| *q = 0);
        } else {
            self.occlusion = None;
        }
        self.end_of_query(pool.available_address(query))
    }

    fn write_timestamp(&mut self, pool: &Queries, query: u32) -> Result<()> {
        self.timestamp_query(pool, query)
    }

    fn copy_query_results(
        &mut self,
        pool: &Queries,
        first: u32,
        count: u32,
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()> {
        self.copy_results(pool, (first, count), address, stride, flags)
    }

    fn write_event(&mut self, address: u64, value: u32, after: &Dependency<Mali>) -> Result<()> {
        // The compute queue waits for all queues of the first scope, its own jobs too.
        let (mut waits, flush) = of_dependency(after);
        let sources = waits.iter().fold(mask_of(Queue::Compute), |all, mask| all | mask);
        waits[Queue::Compute as usize] = sources;
        self.order_queues(waits, flush);
        self.write_word(address, value)?;
        self.queues.stream(Queue::Compute).settle();
        Ok(())
    }
}
