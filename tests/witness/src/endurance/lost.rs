//! Lost devices: random work, in which one draw reads indices from a buffer whose memory has been freed.
//!
//! Loads and stores of shaders do not fault: outside of memory they return zeros and are dropped on this GPU.
//!
//! After the fault, each call must return an allowed result, in finite time; objects are destroyed as usual, and a new
//! device computes. Waits that will never be satisfied are begun before the fault.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ash::vk::{self, Result as R};

use super::{Report, compute, repeat};
use crate::case::Shader;
use crate::compile::compile;
use crate::gpu::{
    Attachment, Bind, Buffer, Commands, During, Gpu, Graphics, ImageSpec, Kernel, Pass, Robustness,
    Shape, State,
};
use crate::number::Random;

/// The longest that one call may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Bytes of the buffer whose memory is freed: too many for other memory to take its place.
const BYTES: u64 = 1 << 26;

/// The call that is being executed, and its start.
static CALL: Mutex<Option<(&str, Instant)>> = Mutex::new(None);

fn under_way(call: Option<&'static str>) {
    *CALL.lock().unwrap_or_else(PoisonError::into_inner) = call.map(|c| (c, Instant::now()));
}

/// Ends the process if a call does not return.
fn watch() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let call = *CALL.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((name, since)) = call
                && since.elapsed() > LIMIT
            {
                eprintln!("{name} did not return within {LIMIT:?}");
                std::process::exit(3);
            }
        }
    });
}

/// Counts of the results of calls.
struct Results(BTreeMap<String, u64>);

impl Results {
    /// Makes a call, whose result must be one of the allowed ones; true if the device is lost.
    fn call(
        &mut self,
        name: &'static str,
        allowed: &[R],
        call: impl FnOnce() -> Result<(), R>,
    ) -> Result<bool, String> {
        under_way(Some(name));
        let result = call().err().unwrap_or(R::SUCCESS);
        under_way(None);
        *self.0.entry(format!("{name} {result:?}")).or_default() += 1;
        match allowed.contains(&result) {
            true => Ok(result == R::ERROR_DEVICE_LOST),
            false => Err(format!("{name} gave {result:?} around a lost device")),
        }
    }
}

/// Objects for the work of a device.
struct Work<'a> {
    gpu: &'a Gpu,
    buffers: [Buffer; 3],
    step: Kernel,
    graphics: Graphics,
    pass: Pass,
    queries: vk::QueryPool,
}

/// SPIR-V of a kernel, a vertex and a fragment shader.
type Modules = [Vec<u32>; 3];

impl Work<'_> {
    fn new<'a>(gpu: &'a Gpu, modules: &'a Modules) -> crate::gpu::Result<Work<'a>> {
        let buffers =
            [gpu.buffer(&[7u32; 1024])?, gpu.buffer(&[1u32; 1024])?, gpu.buffer(&[2u32; 1024])?];
        let [step, vertex, fragment] = modules;
        let stages = [
            (vk::ShaderStageFlags::VERTEX, &vertex[..]),
            (vk::ShaderStageFlags::FRAGMENT, fragment),
        ];
        let vec2 = [(vk::Format::R32G32_SFLOAT, 8)];
        let mut state = State::new([64, 64]).vertex_buffer(vk::VertexInputRate::VERTEX, &vec2);
        state.push_bytes = 16;
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [64, 64, 1])
        })?;
        Ok(Work {
            step: gpu.kernel(step).storage(&[&buffers[1]]).push_bytes(8).build()?,
            graphics: gpu.graphics(&stages, &state, &[Bind::Uniform(&buffers[0])])?,
            pass: Pass {
                colors: vec![Attachment::color(&image, [0.25; 4])],
                size_px: [64, 64],
                ..Pass::default()
            },
            queries: gpu.query_pool(vk::QueryType::TIMESTAMP, 4)?,
            buffers,
            gpu,
        })
    }

    /// A draw with the indices of a buffer, from a random offset in its second half.
    fn draw(&self, c: &Commands, indices: vk::Buffer, dice: &mut Random) {
        let at = BYTES / 2 + u64::from(dice.next_u32() % 1024) * 4;
        c.render(&self.pass, |c| {
            c.bind_graphics(&self.graphics);
            c.vertex_buffers(&[&self.buffers[0]]);
            c.push_graphics(&self.graphics, &[0.0f32; 4]);
            // SAFETY: a pipeline with all that it needs is bound, inside of a rendering.
            unsafe {
                let kind = vk::IndexType::UINT32;
                self.gpu.device.cmd_bind_index_buffer(c.handle, indices, at, kind);
                self.gpu.device.cmd_draw_indexed(c.handle, 30, 1, 0, 0, 0);
            }
        });
    }

    /// A command that does not fault.
    fn harmless(&self, c: &Commands, dice: &mut Random) {
        let [a, b, d] = &self.buffers;
        let device = &self.gpu.device;
        match dice.next_u32() % 4 {
            // SAFETY: all objects are live, ranges are inside of the buffers, and the buffer is being recorded; so below.
            0 => unsafe { device.cmd_fill_buffer(c.handle, d.handle, 0, 4096, dice.next_u32()) },
            1 => {
                let region = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 2048 }];
                // SAFETY: as above.
                unsafe { device.cmd_copy_buffer(c.handle, a.handle, b.handle, &region) }
            }
            2 => {
                c.push(&self.step, &[dice.next_u32(), 9]);
                c.dispatch(&self.step, [4, 1, 1]);
            }
            // SAFETY: as above.
            _ => unsafe {
                let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
                device.cmd_write_timestamp(c.handle, stage, self.queries, dice.next_u32() % 2);
            },
        }
        c.barrier();
    }

    /// A command buffer of some commands.
    fn record(&self, dice: &mut Random) -> crate::gpu::Result<vk::CommandBuffer> {
        self.gpu.record(|c| (0..1 + dice.next_u32() % 8).for_each(|_| self.harmless(c, dice)))
    }

    /// Records a command buffer that contains a draw that faults: its indices are destroyed before submission.
    fn record_fault(&self, dice: &mut Random) -> crate::gpu::Result<vk::CommandBuffer> {
        let device = &self.gpu.device;
        let info =
            vk::BufferCreateInfo::default().size(BYTES).usage(vk::BufferUsageFlags::INDEX_BUFFER);
        // SAFETY: the structures are valid. That the objects go too early is the point.
        unsafe {
            let buffer = device.create_buffer(&info, None).during("vkCreateBuffer")?;
            let size = device.get_buffer_memory_requirements(buffer).size;
            let info = vk::MemoryAllocateInfo::default().allocation_size(size);
            let memory = device.allocate_memory(&info, None).during("vkAllocateMemory")?;
            device.bind_buffer_memory(buffer, memory, 0).during("vkBindBufferMemory")?;
            let recorded = self.gpu.record(|c| {
                (0..dice.next_u32() % 5).for_each(|_| self.harmless(c, dice));
                self.draw(c, buffer, dice);
                (0..dice.next_u32() % 5).for_each(|_| self.harmless(c, dice));
            });
            device.destroy_buffer(buffer, None);
            device.free_memory(memory, None);
            recorded
        }
    }
}

/// Loses a device once: submissions of which one faults, followed by every kind of call.
fn lose(work: &Work, dice: &mut Random, results: &mut Results) -> Result<(), String> {
    let (gpu, device) = (work.gpu, &work.gpu.device);
    let text = |e: crate::gpu::Error| e.to_string();
    let lost_too = [R::SUCCESS, R::ERROR_DEVICE_LOST];
    let queue = gpu.queue();
    let timeline = gpu.timeline(0).map_err(text)?;
    let count = 2 + dice.next_u32() % 4;
    let strays = dice.next_u32() % count;
    let (mut fences, mut lost) = (Vec::new(), false);
    for k in 0..count {
        let recorded = if k == strays { work.record_fault(dice) } else { work.record(dice) };
        let buffers = [recorded.map_err(text)?];
        let fence = gpu.fence().map_err(text)?;
        let value = [u64::from(k) + 1];
        let signals = [timeline];
        let mut values = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&value);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .signal_semaphores(&signals)
            .push_next(&mut values);
        // SAFETY: what is submitted is complete, and the fence is new; so below.
        let submitted = results.call("vkQueueSubmit", &lost_too, || unsafe {
            device.queue_submit(queue, &[submit], fence)
        })?;
        lost |= submitted;
        if !submitted {
            fences.push(fence);
        }
        if dice.next_u32().is_multiple_of(2) {
            std::thread::sleep(Duration::from_millis(u64::from(dice.next_u32() % 4)));
        }
    }
    // Waits for a point that is never signalled, and for later work in the queue.
    let never = gpu.fence().map_err(text)?;
    if dice.next_u32().is_multiple_of(2) {
        let (value, stages) = ([1u64 << 40], [vk::PipelineStageFlags::ALL_COMMANDS]);
        let waits = [timeline];
        let mut values = vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&value);
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages)
            .push_next(&mut values);
        // SAFETY: as above.
        let submitted = results.call("vkQueueSubmit", &lost_too, || unsafe {
            device.queue_submit(queue, &[submit], never)
        })?;
        lost |= submitted;
        if !submitted {
            fences.push(never);
        }
    }
    for n in 0..12 {
        // In a different order each time.
        match (n + dice.next_u32() % 3) % 12 {
            0 => {
                for &fence in &fences {
                    // SAFETY: the fences were submitted; so below for every object.
                    results.call("vkWaitForFences", &lost_too, || unsafe {
                        device.wait_for_fences(&[fence], true, u64::MAX)
                    })?;
                }
            }
            1 => {
                // The kernel reports the fault here at the latest, when the faulting submission has ended.
                // SAFETY: as above.
                results.call("vkQueueWaitIdle", &lost_too, || unsafe {
                    device.queue_wait_idle(queue)
                })?;
                let more = [vk::SubmitInfo::default()];
                // SAFETY: as above.
                results.call("vkQueueSubmit", &[R::ERROR_DEVICE_LOST], || unsafe {
                    device.queue_submit(queue, &more, vk::Fence::null())
                })?;
                lost = true;
            }
            // SAFETY: as above.
            2 => drop(
                results
                    .call("vkDeviceWaitIdle", &lost_too, || unsafe { device.device_wait_idle() })?,
            ),
            3 => {
                // Queries that are never written: only the loss of the device ends the wait.
                let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
                let mut values = [0u64; 2];
                // SAFETY: as above.
                results.call("vkGetQueryPoolResults", &[R::ERROR_DEVICE_LOST], || unsafe {
                    device.get_query_pool_results(work.queries, 2, &mut values, flags)
                })?;
                lost = true;
            }
            4 => {
                let (semaphores, values) = ([timeline], [1u64 << 39]);
                let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
                // SAFETY: as above.
                results.call("vkWaitSemaphores", &[R::ERROR_DEVICE_LOST], || unsafe {
                    device.wait_semaphores(&wait, u64::MAX)
                })?;
                lost = true;
            }
            5 => {
                // SAFETY: as above.
                results.call("vkGetSemaphoreCounterValue", &lost_too, || unsafe {
                    device.get_semaphore_counter_value(timeline).map(drop)
                })?;
            }
            6 => {
                let may = [R::SUCCESS, R::NOT_READY, R::ERROR_DEVICE_LOST];
                // SAFETY: as above.
                results.call("vkGetFenceStatus", &may, || unsafe {
                    match device.get_fence_status(never)? {
                        true => Ok(()),
                        false => Err(R::NOT_READY),
                    }
                })?;
            }
            7 => {
                // Objects are created and used as usual.
                let mark = gpu.mark();
                results.call("vkAllocateMemory", &[R::SUCCESS], || {
                    match gpu.buffer(&[5u32; 64]) {
                        Ok(b) if b.read::<u32>() == [5; 64] => Ok(()),
                        Ok(_) => Err(R::ERROR_MEMORY_MAP_FAILED),
                        Err(crate::gpu::Error::Vulkan { result, .. }) => Err(result),
                        Err(_) => Err(R::ERROR_UNKNOWN),
                    }
                })?;
                gpu.forget(mark);
            }
            8 => {
                results.call("vkEndCommandBuffer", &lost_too, || match work.record(dice) {
                    Ok(_) => Ok(()),
                    Err(crate::gpu::Error::Vulkan { result, .. }) => Err(result),
                    Err(_) => Err(R::ERROR_UNKNOWN),
                })?;
            }
            9 => {
                let event = gpu.event().map_err(text)?;
                let may = [R::EVENT_SET, R::EVENT_RESET, R::ERROR_DEVICE_LOST];
                // SAFETY: as above.
                results.call("vkGetEventStatus", &may, || unsafe {
                    device.set_event(event)?;
                    match device.get_event_status(event)? {
                        true => Err(R::EVENT_SET),
                        false => Err(R::EVENT_RESET),
                    }
                })?;
            }
            10 if lost => {
                let info = vk::SemaphoreSignalInfo::default().semaphore(timeline).value(1 << 41);
                // SAFETY: as above.
                results.call("vkSignalSemaphore", &lost_too, || unsafe {
                    device.signal_semaphore(&info)
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Loses `times` devices, one after the other.
pub(super) fn run(device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    let names = ["step.comp", "speed.vert", "speed.frag"];
    let compiled = names.iter().map(|n| compile(&Shader::new(n), spirv));
    let modules: Modules = compiled
        .collect::<Result<Vec<_>, _>>()?
        .try_into()
        .map_err(|_| "three modules are three")?;
    watch();
    let mut results = Results(BTreeMap::new());
    let mut report = repeat(times, |k| {
        let mut dice = Random::new(1000 + k);
        let gpu = Gpu::open(device, Robustness::Off).map_err(|e| e.to_string())?;
        let work = Work::new(&gpu, &modules).map_err(|e| e.to_string())?;
        lose(&work, &mut dice, &mut results).map_err(|e| format!("device {k}: {e}"))?;
        under_way(Some("vkDestroyDevice"));
        drop(work);
        drop(gpu);
        under_way(None);
        let gpu = Gpu::open(device, Robustness::Off).map_err(|e| e.to_string())?;
        compute(&gpu, &modules[0]).map_err(|e| format!("a new device after device {k}: {e}"))
    })?;
    report.results = results.0;
    Ok(report)
}
