//! Endurance tests of a driver: thousands of devices and frames, host allocations that fail one after the other,
//! shader modules with damaged words, devices that are lost.
//!
//! Each task prints figures; it fails when a call returns a disallowed result, or when the process holds more memory
//! or files at the end than shortly after the beginning.

mod lost;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use ash::vk;
use serde::Serialize;

use crate::case::Shader;
use crate::compile::compile;
use crate::driver_speed::held_bytes;
use crate::gpu::{Attachment, Bind, Gpu, ImageSpec, Pass, Robustness, Shape, State, Transfer};
use crate::number::Random;

/// A task.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Endurance {
    /// Devices that are opened, compute, and are destroyed.
    Devices,
    /// Frames of one device, each with objects of its own.
    Frames,
    /// Each host allocation of a device's objects fails once.
    Host,
    /// Devices that a kernel loses amid other work.
    Lost,
    /// Pipelines of shaders whose words were changed at random.
    Shaders,
}

/// The results of a task.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Number of repetitions.
    pub times: u64,
    /// Bytes that the process held after a tenth of the repetitions, and at the end.
    pub held_bytes: [u64; 2],
    /// Number of files that the process had open at these times.
    pub files: [usize; 2],
    /// Results of calls by name, if calls may fail.
    pub results: BTreeMap<String, u64>,
}

/// Growth that is not a leak: the allocator's free memory varies.
const SLACK_BYTES: u64 = 24 << 20;

fn held() -> (u64, usize) {
    (held_bytes(), std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count))
}

/// Repeats an operation and compares the resources that the process holds.
fn repeat(times: u64, mut once: impl FnMut(u64) -> Result<(), String>) -> Result<Report, String> {
    let mut report = Report { times, ..Report::default() };
    for k in 0..times {
        once(k)?;
        if k == times / 10 {
            (report.held_bytes[0], report.files[0]) = held();
        }
    }
    (report.held_bytes[1], report.files[1]) = held();
    let [early, late] = report.held_bytes;
    if late > early + SLACK_BYTES {
        return Err(format!("{early} bytes were held after a tenth, {late} at the end"));
    }
    let [early, late] = report.files;
    if late > early {
        return Err(format!("{early} files were open after a tenth, {late} at the end"));
    }
    Ok(report)
}

/// Runs a task.
///
/// # Errors
/// The problem.
pub fn run(what: Endurance, device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    match what {
        Endurance::Devices => devices(device, spirv, times),
        Endurance::Frames => frames(device, spirv, times),
        Endurance::Host => host(device, spirv, times),
        Endurance::Lost => lost::run(device, spirv, times),
        Endurance::Shaders => shaders(device, spirv, times),
    }
}

/// `x = 5 x + 9` on a device's own kernel.
fn compute(gpu: &Gpu, words: &[u32]) -> Result<(), String> {
    let text = |e: crate::gpu::Error| e.to_string();
    let data = gpu.buffer(&[7u32; 64]).map_err(text)?;
    let kernel = gpu.kernel(words).storage(&[&data]).push_bytes(8).build().map_err(text)?;
    gpu.submit(|c| {
        c.push(&kernel, &[5u32, 9]);
        c.dispatch(&kernel, [1, 1, 1]);
    })
    .map_err(text)?;
    match data.read::<u32>().iter().all(|&x| x == 44) {
        true => Ok(()),
        false => Err("a kernel gave something else".to_owned()),
    }
}

fn devices(device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    let words = compile(&Shader::new("step.comp"), spirv)?;
    repeat(times, |_| {
        let gpu = Gpu::open(device, Robustness::Off).map_err(|e| e.to_string())?;
        compute(&gpu, &words)
    })
}

fn frames(device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    let text = |e: crate::gpu::Error| e.to_string();
    let modules = [Shader::new("speed.vert"), Shader::new("speed.frag"), Shader::new("step.comp")]
        .iter()
        .map(|s| compile(s, spirv))
        .collect::<Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(device, Robustness::Off).map_err(text)?;
    let stages = [
        (vk::ShaderStageFlags::VERTEX, &modules[0][..]),
        (vk::ShaderStageFlags::FRAGMENT, &modules[1][..]),
    ];
    let vec2 = [(vk::Format::R32G32_SFLOAT, 8)];
    let mut state = State::new([64, 64]).vertex_buffer(vk::VertexInputRate::VERTEX, &vec2);
    state.push_bytes = 16;
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [64, 64, 1])
    };
    let colours = gpu.buffer(&[0.5f32; 4]).map_err(text)?;
    // Drawing with one pipeline for all frames, computing with one for each.
    let graphics = gpu.graphics(&stages, &state, &[Bind::Uniform(&colours)]).map_err(text)?;
    let start = gpu.mark();
    repeat(times, |_| {
        let vertices = gpu.buffer(&[-1.0f32, -1.0, 3.0, -1.0, -1.0, 3.0]).map_err(text)?;
        let image = gpu.image(spec.through(Transfer::Gpu)).map_err(text)?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, [0.25; 4])],
            size_px: [64, 64],
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.bind_graphics(&graphics);
                c.vertex_buffers(&[&vertices]);
                c.push_graphics(&graphics, &[0.0f32; 4]);
                // SAFETY: a pipeline with its descriptors and vertices is bound, inside of a rendering.
                unsafe { gpu.device.cmd_draw(c.handle, 3, 1, 0, 0) };
            });
        })
        .map_err(text)?;
        compute(&gpu, &modules[2])?;
        gpu.forget(start);
        Ok(())
    })
}

/// Counts an application's allocations, one of which fails.
#[derive(Default)]
struct Counter {
    live: AtomicI64,
    until_failure: AtomicI64,
}

/// Bytes in front of an allocation, which hold its size.
const HEAD_B: usize = 64;

unsafe extern "system" fn allocate(
    user: *mut c_void,
    size: usize,
    align: usize,
    _: vk::SystemAllocationScope,
) -> *mut c_void {
    // SAFETY: `user` is the counter, which outlives every object.
    let counter = unsafe { &*user.cast::<Counter>() };
    if size == 0 || align > HEAD_B || counter.until_failure.fetch_sub(1, Ordering::Relaxed) == 1 {
        return std::ptr::null_mut();
    }
    let Ok(layout) = std::alloc::Layout::from_size_align(size + HEAD_B, HEAD_B) else {
        return std::ptr::null_mut();
    };
    counter.live.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the layout is not empty; the size fits in front.
    unsafe {
        let memory = std::alloc::alloc(layout);
        memory.cast::<usize>().write(size);
        memory.add(HEAD_B).cast()
    }
}

unsafe extern "system" fn free(user: *mut c_void, memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: `allocate` made the memory.
    unsafe {
        (*user.cast::<Counter>()).live.fetch_sub(1, Ordering::Relaxed);
        let memory = memory.cast::<u8>().sub(HEAD_B);
        let size = memory.cast::<usize>().read();
        let layout = std::alloc::Layout::from_size_align_unchecked(size + HEAD_B, HEAD_B);
        std::alloc::dealloc(memory, layout);
    }
}

unsafe extern "system" fn reallocate(
    user: *mut c_void,
    old: *mut c_void,
    size: usize,
    align: usize,
    scope: vk::SystemAllocationScope,
) -> *mut c_void {
    // SAFETY: as in `allocate` and `free`.
    unsafe {
        if size == 0 || old.is_null() {
            free(user, old);
            return if size == 0 {
                std::ptr::null_mut()
            } else {
                allocate(user, size, align, scope)
            };
        }
        let new = allocate(user, size, align, scope);
        if !new.is_null() {
            let had = old.cast::<u8>().sub(HEAD_B).cast::<usize>().read();
            std::ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), had.min(size));
            free(user, old);
        }
        new
    }
}

/// Makes one object of each kind with the callbacks and destroys the objects; returns the first result other than
/// success.
fn objects(gpu: &Gpu, words: &[u32], callbacks: &vk::AllocationCallbacks) -> vk::Result {
    let d = &gpu.device;
    let c = Some(callbacks);
    let mut undo: Vec<Box<dyn FnOnce() + '_>> = Vec::new();
    // SAFETY: every structure is valid, every object is destroyed once, in reverse order, and nothing is submitted.
    let result = (|| unsafe {
        macro_rules! make {
            ($create:ident($($arg:expr),*), $destroy:ident) => {{
                let object = d.$create($($arg,)* c)?;
                undo.push(Box::new(move || d.$destroy(object, c)));
                object
            }};
        }
        let compute = vk::ShaderStageFlags::COMPUTE;
        let pool = vk::CommandPoolCreateInfo::default();
        let pool = make!(create_command_pool(&pool), destroy_command_pool);
        let commands =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(2);
        d.allocate_command_buffers(&commands)?;
        make!(create_fence(&vk::FenceCreateInfo::default()), destroy_fence);
        make!(create_semaphore(&vk::SemaphoreCreateInfo::default()), destroy_semaphore);
        make!(create_event(&vk::EventCreateInfo::default()), destroy_event);
        let queries =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(4);
        make!(create_query_pool(&queries), destroy_query_pool);
        let buffer = vk::BufferCreateInfo::default().size(4096).usage(
            vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER,
        );
        let buffer = make!(create_buffer(&buffer), destroy_buffer);
        let image = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .extent(vk::Extent3D { width: 16, height: 16, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::COLOR_ATTACHMENT);
        let image = make!(create_image(&image), destroy_image);
        let memory = vk::MemoryAllocateInfo::default().allocation_size(1 << 16);
        let memory = make!(allocate_memory(&memory), free_memory);
        d.bind_buffer_memory(buffer, memory, 0)?;
        d.bind_image_memory(image, memory, 1 << 14)?;
        let view = vk::BufferViewCreateInfo::default()
            .buffer(buffer)
            .format(vk::Format::R32_UINT)
            .range(vk::WHOLE_SIZE);
        make!(create_buffer_view(&view), destroy_buffer_view);
        let view = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                level_count: 1,
                layer_count: 1,
                ..Default::default()
            });
        let view = make!(create_image_view(&view), destroy_image_view);
        make!(create_sampler(&vk::SamplerCreateInfo::default()), destroy_sampler);
        let bindings = [vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(compute)];
        let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let set = [make!(create_descriptor_set_layout(&set), destroy_descriptor_set_layout)];
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: 4,
        }];
        let pool = vk::DescriptorPoolCreateInfo::default().max_sets(4).pool_sizes(&sizes);
        let pool = make!(create_descriptor_pool(&pool), destroy_descriptor_pool);
        let sets = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set);
        d.allocate_descriptor_sets(&sets)?;
        let push = [vk::PushConstantRange { stage_flags: compute, offset: 0, size: 8 }];
        let layout =
            vk::PipelineLayoutCreateInfo::default().set_layouts(&set).push_constant_ranges(&push);
        let layout = make!(create_pipeline_layout(&layout), destroy_pipeline_layout);
        let module = vk::ShaderModuleCreateInfo::default().code(words);
        let module = make!(create_shader_module(&module), destroy_shader_module);
        let cache = vk::PipelineCacheCreateInfo::default();
        let cache = make!(create_pipeline_cache(&cache), destroy_pipeline_cache);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(compute)
            .module(module)
            .name(c"main");
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
        let pipeline = d.create_compute_pipelines(cache, &info, c).map_err(|e| e.1)?[0];
        undo.push(Box::new(move || d.destroy_pipeline(pipeline, c)));
        let attachments = [vk::AttachmentDescription::default()
            .format(vk::Format::R8G8B8A8_UNORM)
            .samples(vk::SampleCountFlags::TYPE_1)
            .final_layout(vk::ImageLayout::GENERAL)];
        let colours = [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::GENERAL }];
        let subpasses = [vk::SubpassDescription::default().color_attachments(&colours)];
        let pass =
            vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
        let pass = make!(create_render_pass(&pass), destroy_render_pass);
        let views = [view];
        let framebuffer = vk::FramebufferCreateInfo::default()
            .render_pass(pass)
            .attachments(&views)
            .width(16)
            .height(16)
            .layers(1);
        make!(create_framebuffer(&framebuffer), destroy_framebuffer);
        make!(
            create_private_data_slot(&vk::PrivateDataSlotCreateInfo::default()),
            destroy_private_data_slot
        );
        Ok(())
    })();
    while let Some(f) = undo.pop() {
        f();
    }
    result.err().unwrap_or(vk::Result::SUCCESS)
}

fn host(device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    let words = compile(&Shader::new("step.comp"), spirv)?;
    let gpu = Gpu::open(device, Robustness::Off).map_err(|e| e.to_string())?;
    let (start, mut results) = (gpu.mark(), BTreeMap::new());
    let mut report = repeat(times, |_| {
        for fails in 1.. {
            let counter = Counter::default();
            counter.until_failure.store(fails, Ordering::Relaxed);
            let callbacks = vk::AllocationCallbacks::default()
                .user_data((&raw const counter).cast_mut().cast())
                .pfn_allocation(Some(allocate))
                .pfn_reallocation(Some(reallocate))
                .pfn_free(Some(free));
            let result = objects(&gpu, &words, &callbacks);
            let live = counter.live.load(Ordering::Relaxed);
            if live != 0 {
                return Err(format!("allocation {fails} failed, and {live} were not freed"));
            }
            *results.entry(format!("{result:?}")).or_default() += 1;
            match result {
                vk::Result::SUCCESS if counter.until_failure.load(Ordering::Relaxed) > 0 => break,
                vk::Result::ERROR_OUT_OF_HOST_MEMORY => {}
                other => return Err(format!("allocation {fails} failed: {other:?}")),
            }
        }
        compute(&gpu, &words)?;
        gpu.forget(start);
        Ok(())
    })?;
    report.results = results;
    Ok(report)
}

/// Words of a module with a few changes: bits, whole words, words removed or duplicated.
fn damage(words: &[u32], dice: &mut Random) -> Vec<u32> {
    let mut out = words.to_vec();
    for _ in 0..1 + dice.next_u32() % 4 {
        let at = 5 + dice.next_u32() as usize % (out.len() - 5);
        match dice.next_u32() % 5 {
            0 => out[at] ^= 1 << (dice.next_u32() % 32),
            1 => out[at] = dice.next_u32(),
            2 => out[at] = dice.next_u32() % 64,
            3 => drop(out.remove(at)),
            _ => out.insert(at, out[at]),
        }
    }
    out
}

fn shaders(device: &str, spirv: &Path, times: u64) -> Result<Report, String> {
    let names = ["step.comp", "count.comp", "ids.comp", "mutable.comp", "arguments.comp"];
    let whole: Vec<_> = names
        .iter()
        .map(|n| compile(&Shader::new(n).define("X", 4).define("Y", 2).define("Z", 1), spirv))
        .collect::<Result<_, _>>()?;
    let gpu = Gpu::open(device, Robustness::Off).map_err(|e| e.to_string())?;
    let (buffer, mut dice) =
        (gpu.buffer(&[0u32; 4096]).map_err(|e| e.to_string())?, Random::new(99));
    let (start, mut results) = (gpu.mark(), BTreeMap::new());
    let mut report = repeat(times, |k| {
        let words = damage(&whole[k as usize % whole.len()], &mut dice);
        let all = [&buffer; 4];
        let made = gpu.kernel(&words).storage(&all).push_bytes(8).build();
        let result = match made {
            Ok(_) => "SUCCESS".to_owned(),
            // A panic, which becomes `ERROR_UNKNOWN` as well, is seen by what it prints.
            Err(crate::gpu::Error::Vulkan { result, .. }) => format!("{result:?}"),
            Err(other) => return Err(other.to_string()),
        };
        *results.entry(result).or_default() += 1;
        gpu.forget(start);
        Ok(())
    })?;
    report.results = results;
    Ok(report)
}
