//! The runtime's recorder.

use tepui_vulkan::backend::{
    self, Blit, BufferPixels, Dispatch, Draw, ImageCopy, ImageRef, Rendering, Stages,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::DrawEncoder;
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_meta::words::CaptureWords;
use tepui_vulkan_meta::{clear, condition, copy, resolve};

use super::Encoder;
use super::draw::Parts;
use super::linked::{Key, Place};
use super::rendering::samples;
use crate::family::Intel;
use crate::flush::{Flush, Mode, before_parameters, of_dependency};
use crate::graphics::Causes;
use crate::programs::Programs;
use crate::query::Queries;

impl DrawEncoder<Intel> for Encoder {
    fn draw(&mut self, state: &mut CommandState<Intel>, draw: &Draw) -> Result<()> {
        let views = state.rendering.as_ref().map_or(0, |r| r.view_mask);
        let changed = std::mem::replace(&mut state.changed, Groups::empty());
        // If nothing is drawn, it counts for the next draw.
        self.graphics.changed.0 |= changed;
        let several_views = views != 0;
        if changed.intersects(OF_PROGRAMS) || several_views != self.bound.several_views {
            self.bound.version += 1;
            self.bound.several_views = several_views;
        }
        let Some(place) = self.programs(state)? else { return Ok(()) };
        if std::mem::take(&mut state.vertex_buffers_changed) {
            self.graphics.causes |= Causes::BUFFERS;
        }
        state.shaders_changed = false;
        let pushes = std::mem::take(&mut state.push_changed);
        let rebinds = changed.contains(Groups::PATCH) | (state.graphics_sets.changed != 0);
        if rebinds {
            let mut pushed = self.graphics.pushed;
            self.push_sets(&mut state.graphics_sets, &mut pushed)?;
            self.graphics.pushed = pushed;
        }
        let pushed = self.graphics.pushed;
        let parts = Parts {
            state: &state.graphics,
            sets: &state.graphics_sets,
            pushed: &pushed,
            push: &state.push,
            rebinds,
            pushes,
            buffers: &state.vertex_buffers,
            index: state.index,
            views,
            condition: state.condition,
            is_counted: true,
            feedback: state.feedback.active.then_some(&state.feedback.buffers),
        };
        self.draw_parts(place, &parts, draw)
    }
}

impl Encoder {
    /// Place of the programs of the bound shaders for a state; `None` without vertices.
    fn programs(&mut self, state: &CommandState<Intel>) -> Result<Option<Place>> {
        let pipeline = state.bound.id().map(|id| (id, self.bound.version));
        let packets = &mut self.graphics.packets;
        if let Some(pipeline) = pipeline {
            let bound = self.bound.place.filter(|&p| packets.has(p));
            if let (Some(place), true) = (bound, self.bound.pipeline == Some(pipeline)) {
                return Ok(Some(place));
            }
            if let Some(place) = packets.find_pipeline(pipeline) {
                (self.bound.pipeline, self.bound.place) = (Some(pipeline), Some(place));
                return Ok(Some(place));
            }
        }
        let between = &state.bound.between;
        let stages = Stages {
            vertex: state.bound.vertex.as_deref(),
            control: between.control.as_deref(),
            evaluation: between.evaluation.as_deref(),
            geometry: between.geometry.as_deref(),
            fragment: state.bound.fragment.as_deref(),
            expanded: vk::ShaderStageFlags::empty(),
        };
        let several_views = self.bound.several_views;
        let key = Key::new(&stages, &state.graphics, several_views);
        let place = match packets.find(Some(&key), None) {
            Some(place) => place,
            None => match Programs::new(&stages, &state.graphics, several_views)? {
                Some(programs) => self.link(Some(key), programs)?,
                None => return Ok(None),
            },
        };
        if let Some(pipeline) = pipeline {
            self.graphics.packets.add_pipeline(pipeline, place);
        }
        (self.bound.pipeline, self.bound.place) = (pipeline, Some(place));
        Ok(Some(place))
    }
}

/// Groups of state that programs are compiled for.
const OF_PROGRAMS: Groups = Groups::SAMPLES
    .union(Groups::ALPHA_TO_COVERAGE)
    .union(Groups::SHADING_RATE)
    .union(Groups::DISCARD)
    .union(Groups::PATCH)
    .union(Groups::FIXED);

impl backend::Encoder<Intel> for Encoder {
    fn reset(&mut self) {
        self.clear(1);
    }

    fn begin(&mut self, usage: vk::CommandBufferUsageFlags) {
        self.may_run_twice = usage.contains(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
    }

    fn finish(&mut self) -> Result<()> {
        self.end_side_batch()?;
        self.optimise_planes(true)?;
        // Barriers at the end are for the next command buffer. After the last one of a submission the kernel writes all caches back,
        // and invalidates them before the next submission.
        if !self.hardware.pending.is_empty() {
            if self.hardware.mode.is_none() {
                self.select(Mode::Graphics)?;
            }
            self.flush()?;
            if !self.hardware.pending.is_empty() {
                self.select(Mode::Graphics)?;
            }
        }
        self.batch.end(None)
    }

    fn begin_rendering(&mut self, rendering: &Rendering<Intel>) -> Result<()> {
        self.begin(rendering)
    }

    fn end_rendering(&mut self, rendering: &Rendering<Intel>) -> Result<u8> {
        self.targets = None;
        self.before_resolve_of_depth(rendering)?;
        Ok(0)
    }

    #[inline(always)]
    fn draw_again(&mut self, _state: &CommandState<Intel>, draw: &Draw) -> bool {
        self.repeat_draw(draw)
    }

    fn dispatch(&mut self, state: &mut CommandState<Intel>, dispatch: &Dispatch) -> Result<()> {
        let Some(shader) = state.compute.clone() else { return Ok(()) };
        let v = shader.only()?;
        let mut pushed = self.pushed;
        self.push_sets(&mut state.compute_sets, &mut pushed)?;
        self.pushed = pushed;
        let sets = (&state.compute_sets, &pushed);
        self.dispatch_program(v, sets, &state.push, dispatch, state.condition)
    }

    fn barrier(&mut self, dependency: &Dependency<Intel>, within: Within) -> Result<Ordering> {
        if dependency.destination.accesses.contains(vk::AccessFlags2::INDIRECT_COMMAND_READ) {
            // Parameters of later draws are not there yet where the side batch runs.
            self.end_side_batch()?;
        }
        self.hardware.pending |= of_dependency(self.device.generation(), dependency);
        if within == Within::CommandBuffer {
            self.transitions_of_depth(dependency)?;
            self.transitions_of_colour(dependency)?;
        }
        Ok(Ordering::Done)
    }

    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()> {
        copy::buffer(self, from, to, size)
    }

    fn copy_arguments(&mut self, address: u64, _size: u64) -> Result<u64> {
        // Tiles without memory read as zeros for the command streamer, too.
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
        image: &ImageCopy<'_, Intel>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()> {
        copy::buffer_image(self, image, buffer, extent, to_image)
    }

    fn clear_texels(
        &mut self,
        image: &ImageCopy<'_, Intel>,
        texel: &[u8],
        extent: [u32; 3],
    ) -> Result<()> {
        copy::fill_image(self, image, texel, extent)
    }

    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, Intel>,
        to: &ImageCopy<'_, Intel>,
        extent: [u32; 3],
    ) -> Result<()> {
        copy::image(self, from, to, extent)
    }

    fn blit(&mut self, blit: &Blit<'_, Intel>) -> Result<()> {
        tepui_vulkan_meta::blit::blit(self, blit)
    }

    fn resolve(
        &mut self,
        from: &ImageRef<Intel>,
        to: &ImageRef<Intel>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        // Resolves at the end of a rendering have no barrier of the application's on either side.
        let written = Flush::RENDER | Flush::DEPTH | Flush::STALL;
        self.hardware.pending |= written | Flush::TEXTURES;
        // The image may be in the layout of an attachment, and is written without its control surface.
        self.resolve_clears(to)?;
        resolve::region(self, from, to, region, mode)?;
        if region.dst_subresource.aspect_mask.contains(vk::ImageAspectFlags::DEPTH) {
            self.depth_resolve = None;
        }
        self.hardware.pending |= written;
        Ok(())
    }

    fn clear_attachments(
        &mut self,
        state: &mut CommandState<Intel>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()> {
        let Some(rendering) = &state.rendering else { return Ok(()) };
        let clears = clear::Clear::of_attachments(rendering, attachments);
        let (samples, mask) = (samples(rendering), rendering.view_mask);
        for rect in rects {
            clear::rectangle(self, &clears, rect, samples, mask, state.condition)?;
        }
        Ok(())
    }

    fn begin_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.graphics.causes |= Causes::FEEDBACK;
        self.load_offsets(counters)
    }

    fn end_feedback(&mut self, counters: &Counters) -> Result<()> {
        self.graphics.causes |= Causes::FEEDBACK;
        self.store_offsets(counters)
    }

    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        // The command streamer wrote the counter, and reads the arguments.
        self.hardware.pending |= Flush::STALL;
        let words = CaptureWords { start, stride, instances, first_instance, ..Default::default() };
        let at = condition::captured(self, counter, words)?;
        self.hardware.pending |= before_parameters(self.device.generation());
        Ok(at)
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(
        &mut self,
        pool: &Queries,
        query: u32,
        _precise: bool,
        stream: u8,
    ) -> Result<()> {
        self.begin_of_query(pool, query, stream)
    }

    fn end_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        self.end_of_query(pool, query, stream)
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

    fn write_event(&mut self, address: u64, value: u32, after: &Dependency<Intel>) -> Result<()> {
        self.hardware.pending |= of_dependency(self.device.generation(), after) | Flush::STALL;
        if self.hardware.mode.is_none() {
            self.select(Mode::Compute)?;
        }
        self.flush()?;
        self.store_word(address, value)
    }
}
