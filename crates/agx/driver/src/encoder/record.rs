//! The runtime's calls.

use tepui_drm::uapi::asahi as uapi;
use tepui_format::Format;
use tepui_ir::NumKind;
use tepui_vulkan::backend::{
    Blit, BufferPixels, Dispatch, Draw, Encoder as Record, ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::{DrawOutcome, ExpandingEncoder};
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::{Error, Result, vk};

use super::bindings::split;
use super::clear::Clear;
use super::image_part::kind_of;
use super::side::Side;
use super::transfer::{each_aspect, has_compressed_level, side_of};
use super::{Encoder, Unfinished};
use crate::family::Agx;
use crate::meta::Program;
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
        let dispatch = self.conditional_dispatch(state.condition, *dispatch)?;
        self.count_dispatch(&dispatch, v.workgroup.iter().product())?;
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
        // Rows of 1024 units, so that no side of the dispatch overflows.
        const ROW: u64 = 1024;
        let unit = 1u64 << (from | to | size | 16).trailing_zeros().min(4);
        let units = size / unit;
        let piece = |from: u64, to: u64, width: u64, height: u64| {
            let side = |address: u64| {
                Side::buffer(&BufferPixels { address, row_pitch: ROW * unit, slice_pitch: 0 })
            };
            (side(from), side(to), [width as u32, height as u32, 1])
        };
        let rows = units / ROW;
        if rows > 0 {
            let (a, b, extent) = piece(from, to, ROW, rows);
            self.copy(&a, &b, unit as u32, extent)?;
        }
        let done = rows * ROW * unit;
        if !units.is_multiple_of(ROW) {
            let (a, b, extent) = piece(from + done, to + done, units % ROW, 1);
            self.copy(&a, &b, unit as u32, extent)?;
        }
        Ok(())
    }

    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()> {
        let [a, b] = split(address);
        let count = (size / 4) as u32;
        self.run_unordered(Program::Fill, &[a, b, count, word], &[], [count, 1, 1])
    }

    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()> {
        let from = self.upload(data, 16)?.address;
        self.copy_buffer(from, address, data.len() as u64)
    }

    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, Agx>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        let (side, extent, element) = side_of(image, extent)?;
        let other = Side::buffer(&buffer);
        if to_image {
            self.open_target(image, &side, extent)?;
            return self.copy(&other, &side, element, extent);
        }
        if has_compressed_level(image) {
            return self.read(image, &side, &other, extent);
        }
        self.copy(&side, &other, element, extent)
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Agx>,
        to: &ImageCopy<'_, Agx>,
        extent: [u32; 3],
    ) -> Result<()> {
        // Depth and stencil together are copied one after the other.
        let aspects = from.layers.aspect_mask;
        let both = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
        if aspects.contains(both) && from.image.1.format == Format::D32_SFLOAT_S8_UINT {
            for aspect in [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL] {
                let one = |c: &ImageCopy<'_, Agx>| vk::ImageSubresourceLayers {
                    aspect_mask: aspect,
                    ..c.layers
                };
                let a = ImageCopy { image: from.image, layers: one(from), offset: from.offset };
                let b = ImageCopy { image: to.image, layers: one(to), offset: to.offset };
                self.copy_image(&a, &b, extent)?;
            }
            return Ok(());
        }
        // The extent is in pixels of the source.
        let (a, [width, height, slices], element) = side_of(from, extent)?;
        let (b, [.., layers], _) = side_of(to, extent)?;
        // Slices of a 3D image correspond to layers of another.
        let extent = [width, height, slices.max(layers)];
        self.open_target(to, &b, extent)?;
        if has_compressed_level(from) {
            return self.read(from, &a, &b, extent);
        }
        self.copy(&a, &b, element, extent)
    }

    fn blit(&mut self, blit: &Blit<'_, Agx>) -> Result<()> {
        let r = &blit.region;
        for aspect in each_aspect(r.src_subresource.aspect_mask) {
            self.blit_aspect(blit, aspect)?;
        }
        Ok(())
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Agx>,
        to: &ImageRef<Agx>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        self.resolve_region(from, to, region, mode)
    }

    fn clear_attachments(
        &mut self,
        state: &mut CommandState<Agx>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        let Some(rendering) = &state.rendering else { return Ok(()) };
        let mut c = Clear { colours: 0, integers: 0, words: [0; 32], depth: None, stencil: None };
        for a in attachments {
            // SAFETY: every bit pattern is a clear value.
            let words = unsafe { a.clear_value.color.uint32 };
            if a.aspect_mask.contains(vk::ImageAspectFlags::COLOR) {
                let k = a.color_attachment as usize;
                if let Some(Some(t)) = rendering.colours.get(k) {
                    c.colours |= 1 << k;
                    c.integers |= u8::from(kind_of(t.image.format) != NumKind::Float) << k;
                    c.words[4 * k..4 * k + 4].copy_from_slice(&words);
                }
            }
            if a.aspect_mask.contains(vk::ImageAspectFlags::DEPTH) && rendering.depth.is_some() {
                c.depth = Some(f32::from_bits(words[0]).clamp(0.0, 1.0));
            }
            if a.aspect_mask.contains(vk::ImageAspectFlags::STENCIL) && rendering.stencil.is_some()
            {
                c.stencil = Some(words[1]);
            }
        }
        let Some(size) = self.render.as_ref().map(|r| r.size) else { return Ok(()) };
        for rect in rects {
            self.clear_draw(state, &c, rect, size)?;
        }
        Ok(())
    }

    fn begin_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.begin_capture(counters)
    }

    fn end_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.end_capture(counters)
    }

    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        self.captured_draw(counter, start, stride, instances, first_instance)
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(&mut self, pool: &Queries, query: u32, precise: bool, stream: u8) -> Result<()> {
        if let Some(address) = pool.captured(query) {
            self.feedback_queries[usize::from(stream)] = address;
            return Ok(());
        }
        if self.begin_statistics(pool, query, stream) {
            return Ok(());
        }
        self.query = pool.counter(query).map(|c| (c, precise));
        self.query_dirty = true;
        Ok(())
    }

    fn end_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        if pool.captured(query).is_some() {
            self.feedback_queries[usize::from(stream)] = 0;
        } else if pool.statistics().is_some() {
            self.end_statistics(pool.result_address(query))?;
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
        if self.unfinished.is_some() {
            return self.draw_rest(state);
        }
        if state.condition.is_none() && self.draw_again(state, draw) {
            return Ok(DrawOutcome::Complete);
        }
        let known = state.condition.is_none() && matches!(draw, Draw::Direct(_));
        let expands = self.expands(state, draw.is_indexed(), known);
        if expands && !known {
            return Ok(DrawOutcome::NeedsCounts);
        }
        let mut draw = self.conditional_draw(state.condition, *draw)?;
        if state.feedback.active && !expands {
            self.capture(state, &draw)?;
        }
        // Draws after a count in memory become draws without instances, once for all users.
        if let Draw::Indirect { address, count, stride, count_address, indexed, .. } = &mut draw
            && let Some(at) = count_address.take()
        {
            (*address, *stride) = self.counted(*address, at, *count, *stride, *indexed)?;
        }
        self.count_draw(state, &draw)?;
        self.draw_with(state, Unfinished { draw, view: 0, piece: 0 })
    }

    fn drop_rendering(&mut self) -> bool {
        let is_empty = self.render.as_ref().is_some_and(|r| r.draws == 0)
            && self.after.is_empty()
            && self.stamps.is_empty();
        if is_empty {
            self.render = None;
            self.free_expanded();
        }
        is_empty
    }

    fn continuation(&self) -> Encoder {
        let mut e = Encoder::new(&self.device);
        // Growing is not repeated.
        (e.heap, e.pieces.place) = (self.heap.clone(), self.pieces.place.clone());
        (e.query, e.query_dirty) = (self.query, true);
        (e.feedback, e.feedback_queries) = (self.feedback, self.feedback_queries);
        e.statistics.clone_from(&self.statistics);
        e
    }

    fn read_back(&mut self, address: u64, size: u64) -> Result<*const u8> {
        let to = self.arena.take(&self.device, size, 16)?;
        self.order();
        self.copy_buffer(address, to.address, size)?;
        Ok(to.host)
    }
}
