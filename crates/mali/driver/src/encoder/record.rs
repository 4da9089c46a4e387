//! The runtime's recorder.

use tepui_vulkan::backend::{
    self, Blit, BufferPixels, Dispatch, Draw, ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::DrawEncoder;
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::{clear, copy, resolve};

use super::Encoder;
use super::draw::Parts;
use super::inputs::Inputs;
use super::order::{of_dependency, splits};
use super::rendering::Targets;
use super::subqueues::mask_of;
use crate::family::Mali;
use crate::graphics::blend::Blending;
use crate::graphics::raster::Occlusion;
use crate::kernel::Queue;
use crate::query::Queries;
use crate::shader::Key;

fn no_feedback<T>() -> Result<T> {
    Err(Error::unsupported("transform feedback on Mali"))
}

impl DrawEncoder<Mali> for Encoder {
    fn draw(&mut self, state: &mut CommandState<Mali>, draw: &Draw) -> Result<()> {
        let Some(vertex) = state.bound.vertex.clone() else { return Ok(()) };
        if !state.bound.between.is_empty() {
            return Err(Error::unsupported("tessellation and geometry shaders on Mali"));
        }
        if state.feedback.active {
            return no_feedback();
        }
        let views = state.rendering.as_ref().map_or(0, |r| r.view_mask);
        let vertex = vertex.of(Key { several_views: views != 0, ..Key::default() })?;
        let formats = self.targets.as_ref().map_or([None; MAX_COLOURS], Targets::formats);
        let mut blending = Blending::new(&state.graphics, &formats)?;
        let fragment = match &state.bound.fragment {
            Some(f) if !state.graphics.discard => {
                Some(f.fragment(&state.graphics, blending.lowered.take(), &formats)?)
            }
            _ => None,
        };
        let pushed = self.push_sets(&mut state.graphics_sets, true)?;
        let buffers = state.vertex_buffers.map(|b| (b.address, b.size));
        let inputs = Inputs { sets: &state.graphics_sets, pushed, push: &state.push };
        let parts = Parts {
            state: &state.graphics,
            vertex: &vertex,
            fragment: fragment.as_ref(),
            blending: &blending,
            inputs: &inputs,
            buffers: &buffers,
            index: state.index,
            views,
            condition: state.condition,
            is_counted: true,
        };
        self.draw_parts(&parts, draw)
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
        self.dispatch_program(shader.only()?, &inputs, dispatch, state.condition)
    }

    fn barrier(&mut self, dependency: &Dependency<Mali>, within: Within) -> Result<Ordering> {
        let (waits, flush) = of_dependency(dependency);
        if let Within::Rendering { reads_targets } = within
            && splits(waits, reads_targets)
        {
            return Ok(Ordering::SplitRendering);
        }
        self.queues.order(waits, flush, self.device.counters());
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

    fn begin_feedback(&mut self, _counters: &Counters) -> Result<()> {
        no_feedback()
    }

    fn end_feedback(&mut self, _counters: &Counters) -> Result<()> {
        no_feedback()
    }

    fn byte_count(
        &mut self,
        _counter: u64,
        _start: u32,
        _stride: u32,
        _instances: u32,
        _first_instance: u32,
    ) -> Result<u64> {
        no_feedback()
    }

    fn reset_queries(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        self.reset_pool(pool, first, count)
    }

    fn begin_query(
        &mut self,
        pool: &Queries,
        query: u32,
        precise: bool,
        _stream: u8,
    ) -> Result<()> {
        self.occlusion = Some(Occlusion { address: pool.value_address(query), precise });
        Ok(())
    }

    fn end_query(&mut self, pool: &Queries, query: u32, _stream: u8) -> Result<()> {
        self.occlusion = None;
        self.end_of_query(pool.available_address(query));
        Ok(())
    }

    fn write_timestamp(&mut self, pool: &Queries, query: u32) -> Result<()> {
        self.timestamp_query(pool, query);
        Ok(())
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
        self.queues.order(waits, flush, self.device.counters());
        self.store_word(Queue::Compute, address, value);
        self.queues.stream(Queue::Compute).settle();
        Ok(())
    }
}
