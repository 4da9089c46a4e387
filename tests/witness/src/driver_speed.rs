//! What a driver costs on the CPU: draws recorded and submitted, pipelines created, memory held by objects.
//!
//! Times of draws are of the recording thread, so that whatever executes them elsewhere does not count: the model's threads,
//! or lavapipe's. Memory is what the process holds more afterwards.

use std::time::Instant;

use ash::vk;
use serde::Serialize;

use crate::case::Shader;
use crate::compile::compile;
use crate::gpu::{
    Attachment, Bind, Commands, Gpu, Graphics, ImageSpec, Pass, Pipelines, Result, Shape, State,
    Transfer,
};

/// Draws of a command buffer.
const DRAWS: u32 = 10_000;
/// Command buffers that are timed; the fastest counts.
const ROUNDS: usize = 5;
/// Pipelines that are created for a figure.
const PIPELINES: usize = 200;
/// Width and height of the render target.
const SIZE_PX: [u32; 2] = [64, 64];
const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;
/// The number in the fragment shader that is replaced.
const MARK: f32 = 1234.5;

/// The figures of a device.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Draws a second, recorded and submitted, with nothing between them.
    pub draws_per_s: f64,
    /// The same with a pipeline, a descriptor set, push constants and a vertex buffer bound before each.
    pub draws_with_state_per_s: f64,
    /// Graphics pipelines a second, each with a fragment shader of its own.
    pub pipelines_per_s: f64,
    /// The same linked from libraries, whose creation does not count; nothing if the device has no libraries.
    pub links_per_s: Option<f64>,
    /// The same with a first draw of each that is recorded: a driver may leave work of the link to it.
    pub links_with_draw_per_s: Option<f64>,
    /// First draws a second of a pipeline with dynamic state, each with blending that no draw had before; nothing if the device has
    /// no such state.
    pub new_states_per_s: Option<f64>,
    /// Bytes that the process holds more for 10,000 buffers of 256 bytes, bound to one memory.
    pub bytes_of_10000_buffers: u64,
    /// Bytes for 1,000 images of 64 by 64 pixels with views and memory of their own, untouched.
    pub bytes_of_1000_images: u64,
    /// Bytes for 1,000 graphics pipelines.
    pub bytes_of_1000_pipelines: u64,
}

/// CPU time of this thread in seconds.
pub(crate) fn thread_s() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Bytes of memory that the process holds, in pages of 4,096 bytes as the kernel counts them.
pub(crate) fn held_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|w| w.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Measures a device.
///
/// # Errors
/// When a shader does not compile, or a call of the device fails.
pub fn run(device: &str, spirv: &std::path::Path) -> std::result::Result<Figures, String> {
    let modules = [Shader::new("speed.vert"), Shader::new("speed.frag")]
        .iter()
        .map(|s| compile(s, spirv))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(device, crate::gpu::Robustness::Off).map_err(|e| e.to_string())?;
    figures(&gpu, &modules).map_err(|e| e.to_string())
}

struct Scene<'a> {
    gpu: &'a Gpu,
    modules: &'a [Vec<u32>],
    colours: crate::gpu::Buffer,
}

impl Scene<'_> {
    fn state(&self) -> State {
        let attribute = [(vk::Format::R32G32B32A32_SFLOAT, 16)];
        let mut state = State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &attribute);
        state.push_bytes = 16;
        state
    }

    /// The fragment shader with the number `n`.
    fn fragment(&self, n: usize) -> Vec<u32> {
        let number = (n as f32 + 0.25).to_bits();
        let swap = |&word: &u32| if word == MARK.to_bits() { number } else { word };
        self.modules[1].iter().map(swap).collect()
    }

    /// A pipeline with its set.
    fn graphics(&self, n: usize) -> Result<Graphics> {
        let fragment = self.fragment(n);
        let stages = [(VERTEX, &self.modules[0][..]), (FRAGMENT, &fragment[..])];
        self.gpu.graphics(&stages, &self.state(), &[Bind::Uniform(&self.colours)])
    }

    /// A pipeline with another's layout.
    fn pipeline(&self, n: usize, layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
        let fragment = self.fragment(n);
        let stages = [(VERTEX, &self.modules[0][..]), (FRAGMENT, &fragment[..])];
        self.gpu.pipeline_of(&stages, &self.state(), layout)
    }
}

fn figures(gpu: &Gpu, modules: &[Vec<u32>]) -> Result<Figures> {
    let scene = Scene { gpu, modules, colours: gpu.buffer(&[1e-4f32; 4])? };
    // Degenerate triangles: drawing them costs almost nothing on the GPU.
    let vertices = [gpu.buffer(&[0.5f32; 12])?, gpu.buffer(&[0.25f32; 12])?];
    let drawn = [scene.graphics(1)?, scene.graphics(2)?];
    let layout = drawn[0].layout;
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
    };
    let target = gpu.image(spec.through(Transfer::Gpu))?;
    let pass = Pass {
        colors: vec![Attachment::color(&target, [0.0; 4])],
        size_px: SIZE_PX,
        ..Pass::default()
    };
    let draws_per_s = draws(gpu, &pass, &|c| {
        c.bind_graphics(&drawn[0]);
        c.vertex_buffers(&[&vertices[0]]);
        c.push_graphics(&drawn[0], &[0.0f32; 4]);
        for _ in 0..DRAWS {
            // SAFETY: a pipeline with its descriptors and vertices is bound, inside of a rendering.
            unsafe { gpu.device.cmd_draw(c.handle, 3, 1, 0, 0) };
        }
    })?;
    let draws_with_state_per_s = draws(gpu, &pass, &|c| {
        for k in 0..DRAWS as usize {
            let graphics = &drawn[k & 1];
            c.bind_graphics(graphics);
            c.vertex_buffers(&[&vertices[k >> 1 & 1]]);
            c.push_graphics(graphics, &[k as f32, 0.0, 0.0, 0.0]);
            // SAFETY: as above.
            unsafe { gpu.device.cmd_draw(c.handle, 3, 1, 0, 0) };
        }
    })?;
    let start = Instant::now();
    let mut made = Vec::with_capacity(PIPELINES);
    for n in 0..PIPELINES {
        made.push(scene.pipeline(100 + n, layout)?);
    }
    let pipelines_per_s = PIPELINES as f64 / start.elapsed().as_secs_f64();
    let (links_per_s, links_with_draw_per_s) =
        links(&scene, &drawn[0], &pass, &vertices[0])?.unzip();
    let new_states_per_s = new_states(&scene, &pass, &vertices[0])?;

    let bytes_of_10000_buffers = buffers(gpu)?;
    let before = held_bytes();
    let mut images = Vec::with_capacity(1000);
    for _ in 0..1000 {
        images.push(gpu.image(ImageSpec { usage: vk::ImageUsageFlags::SAMPLED, ..target.spec })?);
    }
    let bytes_of_1000_images = held_bytes().saturating_sub(before);
    let before = held_bytes();
    for n in 0..1000 {
        made.push(scene.pipeline(10_000 + n, layout)?);
    }
    let bytes_of_1000_pipelines = held_bytes().saturating_sub(before);
    Ok(Figures {
        draws_per_s,
        draws_with_state_per_s,
        pipelines_per_s,
        links_per_s,
        links_with_draw_per_s,
        new_states_per_s,
        bytes_of_10000_buffers,
        bytes_of_1000_images,
        bytes_of_1000_pipelines,
    })
}

/// Draws a second on this thread, recorded and submitted.
fn draws(gpu: &Gpu, pass: &Pass, record: &dyn Fn(&Commands)) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = thread_s();
        let buffer = gpu.record(|c| c.render(pass, record))?;
        let fence = gpu.fence()?;
        let buffers = [buffer];
        let submit = vk::SubmitInfo::default().command_buffers(&buffers);
        // SAFETY: the command buffer is complete and the fence unsignalled.
        let submitted = unsafe { gpu.device.queue_submit(gpu.queue(), &[submit], fence) };
        best = best.min(thread_s() - start);
        submitted.map_err(|result| crate::gpu::Error::Vulkan { call: "vkQueueSubmit", result })?;
        gpu.wait(fence)?;
    }
    Ok(f64::from(DRAWS) / best)
}

/// Links a second of pipelines from libraries, without and with a first draw.
fn links(
    scene: &Scene<'_>,
    like: &Graphics,
    pass: &Pass,
    vertices: &crate::gpu::Buffer,
) -> Result<Option<(f64, f64)>> {
    let gpu = scene.gpu;
    if gpu.require(ash::ext::graphics_pipeline_library::NAME).is_err() {
        return Ok(None);
    }
    gpu.pipelines.set(Pipelines::Libraries);
    gpu.link_s.set(0.0);
    let mut made = Vec::with_capacity(PIPELINES);
    for n in 0..PIPELINES {
        made.push(scene.pipeline(1000 + n, like.layout)?);
    }
    gpu.pipelines.set(Pipelines::Whole);
    let link_s = gpu.link_s.get();
    let start = thread_s();
    gpu.record(|c| {
        c.render(pass, |c: &Commands| {
            c.bind_graphics(like);
            c.vertex_buffers(&[vertices]);
            c.push_graphics(like, &[0.0f32; 4]);
            for &pipeline in &made {
                // SAFETY: the pipeline has the layout of the one that is bound; its state is the same but for the shaders.
                unsafe {
                    let bind = vk::PipelineBindPoint::GRAPHICS;
                    gpu.device.cmd_bind_pipeline(c.handle, bind, pipeline);
                    gpu.device.cmd_draw(c.handle, 3, 1, 0, 0);
                }
            }
        });
    })?;
    let draw_s = thread_s() - start;
    let count = PIPELINES as f64;
    Ok(Some((count / link_s, count / (link_s + draw_s))))
}

/// Draws a second, each with a blend equation of its own, which drivers compile into programs.
fn new_states(
    scene: &Scene<'_>,
    pass: &Pass,
    vertices: &crate::gpu::Buffer,
) -> Result<Option<f64>> {
    use ash::ext::extended_dynamic_state3 as ext;
    use vk::BlendFactor as B;
    const FACTORS: [B; 10] = [
        B::ONE,
        B::SRC_COLOR,
        B::ONE_MINUS_SRC_COLOR,
        B::DST_COLOR,
        B::ONE_MINUS_DST_COLOR,
        B::SRC_ALPHA,
        B::ONE_MINUS_SRC_ALPHA,
        B::DST_ALPHA,
        B::ONE_MINUS_DST_ALPHA,
        B::CONSTANT_COLOR,
    ];
    let gpu = scene.gpu;
    if gpu.require(ext::NAME).is_err() {
        return Ok(None);
    }
    let more = ext::Device::new(&gpu.instance, &gpu.device);
    gpu.pipelines.set(Pipelines::Dynamic);
    let graphics = scene.graphics(2000);
    gpu.pipelines.set(Pipelines::Whole);
    let graphics = graphics?;
    let mut equations = Vec::new();
    for op in [vk::BlendOp::ADD, vk::BlendOp::SUBTRACT] {
        for source in FACTORS {
            for target in FACTORS {
                equations.push(
                    vk::ColorBlendEquationEXT::default()
                        .src_color_blend_factor(source)
                        .dst_color_blend_factor(target)
                        .color_blend_op(op)
                        .src_alpha_blend_factor(B::ONE)
                        .dst_alpha_blend_factor(B::ONE)
                        .alpha_blend_op(op),
                );
            }
        }
    }
    let start = thread_s();
    gpu.record(|c| {
        c.render(pass, |c: &Commands| {
            c.bind_graphics(&graphics);
            c.vertex_buffers(&[vertices]);
            c.push_graphics(&graphics, &[0.0f32; 4]);
            // SAFETY: the pipeline has this state as dynamic state.
            unsafe { more.cmd_set_color_blend_enable(c.handle, 0, &[vk::TRUE]) };
            for &equation in &equations {
                // SAFETY: as above; a pipeline with its descriptors and vertices is bound.
                unsafe {
                    more.cmd_set_color_blend_equation(c.handle, 0, &[equation]);
                    gpu.device.cmd_draw(c.handle, 3, 1, 0, 0);
                }
            }
        });
    })?;
    Ok(Some(equations.len() as f64 / (thread_s() - start)))
}

/// Bytes held for 10,000 buffers of 256 bytes in one memory.
fn buffers(gpu: &Gpu) -> Result<u64> {
    let create = vk::BufferCreateInfo::default()
        .size(256)
        .usage(vk::BufferUsageFlags::UNIFORM_BUFFER | vk::BufferUsageFlags::STORAGE_BUFFER);
    let before = held_bytes();
    let mut all = Vec::with_capacity(10_000);
    for _ in 0..10_000 {
        all.push(gpu.bare_buffer(&create)?);
    }
    // SAFETY: the buffers are live.
    let needs = unsafe { gpu.device.get_buffer_memory_requirements(all[0]) };
    let step = needs.size.next_multiple_of(needs.alignment);
    let whole = vk::MemoryRequirements { size: step * all.len() as u64, ..needs };
    let memory = gpu.allocate(whole, vk::MemoryPropertyFlags::empty())?;
    for (k, &buffer) in all.iter().enumerate() {
        // SAFETY: each buffer has a range of the memory to itself.
        unsafe { gpu.device.bind_buffer_memory(buffer, memory, step * k as u64) }
            .map_err(|result| crate::gpu::Error::Vulkan { call: "vkBindBufferMemory", result })?;
    }
    Ok(held_bytes().saturating_sub(before))
}
