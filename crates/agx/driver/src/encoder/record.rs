//! The runtime's calls.

use tepui_drm::uapi::asahi as uapi;
use tepui_vulkan::backend::{
    Blit, BufferPixels, Dispatch, Draw, Encoder as Record, ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::{DrawOutcome, ExpandingEncoder};
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_expand as expand;
use tepui_vulkan_meta::clear::{self, Clear};
use tepui_vulkan_meta::{blit, condition, copy, resolve};

use super::Encoder;
use crate::family::Agx;
use crate::query::Queries;

impl Record<Agx> for Encoder {
    fn reset(&mut self) {
        self.clear();
    }

    fn finish(&mut self) -> Result<()> {
        self.end_compute(uapi::Timestamps::default())
    }

    fn begin_rendering(&mut self, rendering: &Rendering<Agx>) -> Result<()> {
        self.begin_render(rendering)
    }

    fn end_rendering(&mut self, rendering: &Rendering<Agx>) -> Result<u8> {
        self.end_render(rendering)
    }

    #[inline]
    fn draw_again(&mut self, state: &CommandState<Agx>, draw: &Draw) -> bool {
        self.repeat_draw(state, draw)
    }

    fn dispatch(&mut self, state: &mut CommandState<Agx>, dispatch: &Dispatch) -> Result<()> {
        let Some(shader) = state.compute.clone() else {
            return Err(Error::unsupported("a dispatch without a pipeline"));
        };
        let v = shader.compute()?;
        let mut bindings = std::mem::take(&mut self.compute_bindings);
        let updated = bindings.update(|b| Ok(self.upload(b, 64)?.address), &mut state.compute_sets);
        self.compute_bindings = bindings;
        updated?;
        let bindings = self.compute_bindings.clone();
        let dispatch = condition::dispatch(self, state.condition, *dispatch)?;
        expand::count_dispatch::<Agx>(self, &dispatch, v.workgroup.iter().product())?;
        let writes = shader.writes_memory;
        self.launch(&v, &bindings, &state.push, &dispatch, writes)
    }

    fn barrier(&mut self, dependency: &Dependency<Agx>, within: Within) -> Result<Ordering> {
        Ok(self.depend(dependency, within))
    }

    /// The units that read arguments fault where a sparse buffer has no memory; programs read zeros.
    fn copy_arguments(&mut self, address: u64, size: u64) -> Result<u64> {
        let to = self.room(size)?;
        self.copy_buffer(address, to, size)?;
        self.order();
        Ok(to)
    }

    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()> {
        copy::buffer(self, from, to, size)
    }

    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()> {
        copy::fill(self, address, size, word)
    }

    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()> {
        copy::update(self, address, data)
    }

    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, Agx>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        copy::buffer_image(self, image, buffer, extent, to_image)
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Agx>,
        to: &ImageCopy<'_, Agx>,
        extent: [u32; 3],
    ) -> Result<()> {
        copy::image(self, from, to, extent)
    }

    fn blit(&mut self, blit: &Blit<'_, Agx>) -> Result<()> {
        blit::blit(self, blit)
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Agx>,
        to: &ImageRef<Agx>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        resolve::region(self, from, to, region, mode)
    }

    fn clear_attachments(
        &mut self,
        state: &mut CommandState<Agx>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        let Some(rendering) = state.rendering.as_ref().filter(|_| self.render.is_some()) else {
            return Ok(());
        };
        let clear = Clear::of_attachments(rendering, attachments);
        let (samples, view_mask) = (state.graphics.samples, rendering.view_mask);
        for rect in rects {
            clear::rectangle(self, &clear, rect, samples, view_mask, state.condition)?;
        }
        state.invalidate();
        Ok(())
    }

    fn begin_feedback(&mut self, counters: &Counters) -> Result<()> {
        expand::begin_capture::<Agx>(self, counters)
    }

    fn end_feedback(&mut self, counters: &Counters) -> Result<()> {
        expand::end_capture::<Agx>(self, counters)
    }

    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        expand::captured_draw::<Agx>(self, counter, start, stride, instances, first_instance)
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(&mut self, pool: &Queries, query: u32, precise: bool, stream: u8) -> Result<()> {
        if let Some(address) = pool.captured(query) {
            self.expansion.feedback_queries[usize::from(stream)] = address;
            return Ok(());
        }
        if let Some((flags, of_stream)) = pool.statistics() {
            let stream = of_stream.then_some(stream.into());
            expand::begin_statistics::<Agx>(self, pool.result_address(query), flags, stream);
            return Ok(());
        }
        self.query = pool.counter(query).map(|c| (c, precise));
        self.query_dirty = true;
        Ok(())
    }

    fn end_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        if pool.captured(query).is_some() {
            self.expansion.feedback_queries[usize::from(stream)] = 0;
        } else if pool.statistics().is_some() {
            expand::end_statistics::<Agx>(self, pool.result_address(query))?;
        } else {
            self.query = None;
            self.query_dirty = true;
        }
        self.write_word(pool.ready_address(query), 1)
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
        self.copy_results(pool, first, count, address, stride, flags)
    }

    fn write_event(&mut self, address: u64, value: u32, _after: &Dependency<Agx>) -> Result<()> {
        // After everything: words that the application waits for are rarer than barriers.
        self.write_word(address, value)
    }
}

impl ExpandingEncoder<Agx> for Encoder {
    /// The hardware's depth biases are of one kind for all draws of a render.
    fn needs_split(&self, state: &CommandState<Agx>) -> bool {
        self.render.as_ref().is_some_and(|r| {
            matches!((r.bias_of(&state.graphics), r.bias_unorm), (Some(new), Some(old)) if new != old)
        })
    }

    fn draw(&mut self, state: &mut CommandState<Agx>, draw: &Draw) -> Result<DrawOutcome> {
        match self.draw_plain(state, draw)? {
            true => Ok(DrawOutcome::Complete),
            false => self.draw_any(state, draw),
        }
    }

    fn drop_rendering(&mut self) -> bool {
        let is_empty = self.render.as_ref().is_some_and(|r| r.draws == 0)
            && self.after.is_empty()
            && self.stamps.is_empty();
        if is_empty {
            self.render = None;
            self.expansion.free_memory();
        }
        is_empty
    }

    fn continuation(&self) -> Encoder {
        let mut e = Encoder::new(&self.device);
        (e.query, e.query_dirty) = (self.query, true);
        e.expansion = self.expansion.continuation();
        e
    }

    fn read_back(&mut self, address: u64, size: u64) -> Result<*const u8> {
        let to = self.arena.take(&self.device, size, 16)?;
        self.order();
        self.copy_buffer(address, to.address, size)?;
        Ok(to.host)
    }
}
