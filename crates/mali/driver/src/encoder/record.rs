//! The runtime's recorder.

use tepui_vulkan::backend::{
    self, Blit, BufferPixels, Dispatch, Draw, ImageCopy, ImageRef, Rendering,
};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};
use tepui_vulkan::draws::DrawEncoder;
use tepui_vulkan::feedback::Counters;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::copy;

use super::Encoder;
use super::compute::Inputs;
use super::order::of_dependency;
use super::subqueues::mask_of;
use crate::family::Mali;
use crate::kernel::Queue;
use crate::query::Queries;

fn no_draws<T>() -> Result<T> {
    Err(Error::unsupported("draws on Mali"))
}

fn no_feedback<T>() -> Result<T> {
    Err(Error::unsupported("transform feedback on Mali"))
}

impl DrawEncoder<Mali> for Encoder {
    fn draw(&mut self, _state: &mut CommandState<Mali>, _draw: &Draw) -> Result<()> {
        no_draws()
    }
}

impl backend::Encoder<Mali> for Encoder {
    fn reset(&mut self) {
        self.clear(1);
    }

    fn finish(&mut self) -> Result<()> {
        self.close()
    }

    fn begin_rendering(&mut self, _rendering: &Rendering<Mali>) -> Result<()> {
        no_draws()
    }

    fn end_rendering(&mut self, _rendering: &Rendering<Mali>) -> Result<u8> {
        no_draws()
    }

    fn dispatch(&mut self, state: &mut CommandState<Mali>, dispatch: &Dispatch) -> Result<()> {
        let Some(shader) = state.compute.clone() else { return Ok(()) };
        self.push_sets(&mut state.compute_sets)?;
        let pushed = self.compute.pushed;
        let inputs = Inputs { sets: &state.compute_sets, pushed, push: &state.push };
        self.dispatch_program(shader.only()?, &inputs, dispatch, state.condition)
    }

    fn barrier(&mut self, dependency: &Dependency<Mali>, _within: Within) -> Result<Ordering> {
        let (waits, flush) = of_dependency(dependency);
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

    fn blit(&mut self, _blit: &Blit<'_, Mali>) -> Result<()> {
        Err(Error::unsupported("blits on Mali"))
    }

    fn resolve(
        &mut self,
        _from: &ImageRef<Mali>,
        _to: &ImageRef<Mali>,
        _region: &vk::ImageResolve2,
        _mode: vk::ResolveModeFlags,
    ) -> Result<()> {
        Err(Error::unsupported("resolves on Mali"))
    }

    fn clear_attachments(
        &mut self,
        _state: &mut CommandState<Mali>,
        _attachments: &[vk::ClearAttachment],
        _rects: &[vk::ClearRect],
    ) -> Result<()> {
        no_draws()
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
        _pool: &Queries,
        _query: u32,
        _precise: bool,
        _stream: u8,
    ) -> Result<()> {
        no_draws()
    }

    fn end_query(&mut self, _pool: &Queries, _query: u32, _stream: u8) -> Result<()> {
        no_draws()
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
