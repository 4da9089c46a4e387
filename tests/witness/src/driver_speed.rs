//! CPU costs of a driver: recording and submitting draws, creating pipelines, memory held by objects.
//!
//! Times of draws are those of the recording thread, so that execution elsewhere is not included: in the model's
//! threads, or lavapipe's. Memory is the growth of the process.

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
/// Number of repetitions of a measurement; the fastest is reported.
const ROUNDS: usize = 5;
/// Command buffers of draws that are timed, each of which takes less than a millisecond.
const DRAW_ROUNDS: usize = 25;
/// Number of pipelines that are created for a figure.
const PIPELINES: usize = 200;
/// Width and height of the render target.
const SIZE_PX: [u32; 2] = [64, 64];
const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;
/// The constant in the fragment shader that is replaced.
const MARK: f32 = 1234.5;

/// The figures of a device.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Rates of draws.
    #[serde(flatten)]
    pub draws: Draws,
    /// Graphics pipelines per second, each with its own fragment shader.
    pub pipelines_per_s: f64,
    /// Graphics pipelines linked from libraries per second, without the creation of these; `None` if the
    /// device has no libraries.
    pub links_per_s: Option<f64>,
    /// Linked pipelines per second, each with a recorded first draw: a driver may defer work of the link to
    /// it.
    pub links_with_draw_per_s: Option<f64>,
    /// First draws per second of a pipeline with dynamic state, each with blending that no draw had before; `None` if
    /// the device has no such state.
    pub new_states_per_s: Option<f64>,
    /// Graphics pipelines per second that are found in a pipeline cache.
    pub cached_per_s: f64,
    /// Frames of scenes with geometry and tessellation shaders.
    #[serde(flatten)]
    pub scenes: Scenes,
    /// Growth of the process in bytes for 10,000 buffers of 256 bytes, bound to one memory.
    pub bytes_of_10000_buffers: u64,
    /// Bytes for 1,000 images of 64 by 64 pixels with views and memory of their own, untouched.
    pub bytes_of_1000_images: u64,
    /// Bytes for 1,000 graphics pipelines.
    pub bytes_of_1000_pipelines: u64,
}

/// Rates of recorded draws.
#[derive(Clone, Debug, Serialize)]
pub struct Draws {
    /// Draws per second, recorded and submitted, with nothing between them.
    pub draws_per_s: f64,
    /// Draws per second with a pipeline, a descriptor set, push constants and a vertex buffer bound before
    /// each.
    pub draws_with_state_per_s: f64,
    /// Draws with nothing between them that one thread records per second of its CPU time, without submitting them.
    pub plain_draws_of_one_thread_per_cpu_s: f64,
    /// Draws with state that one thread records per second of wall time, without submitting them.
    pub draws_of_one_thread_per_s: f64,
    /// Draws with state that one thread records per second of its CPU time.
    pub draws_of_one_thread_per_cpu_s: f64,
    /// Draws with state that two threads record at the same time per second of wall time, each into its own
    /// command buffers.
    pub draws_of_two_threads_per_s: f64,
    /// Draws with state of two threads per second of CPU time of each: twice the draws of one if they share
    /// nothing.
    pub draws_of_two_threads_per_cpu_s: f64,
}

/// CPU time of this thread in seconds.
pub(crate) fn thread_s() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Resident memory of the process in bytes, from the kernel's count of 4,096-byte pages.
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
        .chain(&expanding())
        .map(|s| compile(s, spirv))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(device, crate::gpu::Robustness::Off).map_err(|e| e.to_string())?;
    figures(&gpu, &modules).map_err(|e| e.to_string())
}

/// Measures only draws.
///
/// # Errors
/// When a shader does not compile, or a call of the device fails.
pub fn only_draws(device: &str, spirv: &std::path::Path) -> std::result::Result<Draws, String> {
    let modules = [Shader::new("speed.vert"), Shader::new("speed.frag")];
    let modules =
        modules.iter().map(|s| compile(s, spirv)).collect::<std::result::Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(device, crate::gpu::Robustness::Off).map_err(|e| e.to_string())?;
    let rates = || Drawing::new(&Scene::new(&gpu, &modules)?, &target(&gpu)?)?.rates(&gpu);
    rates().map_err(|e| e.to_string())
}

/// Frame rates of the scenes with geometry and tessellation shaders.
#[derive(Clone, Debug, Serialize)]
pub struct Scenes {
    /// Frames per second of triangles with a geometry shader, including execution.
    pub geometry_frames_per_s: f64,
    /// Frames per second of tessellated patches, including execution.
    pub tessellation_frames_per_s: f64,
}

/// Measures only the scenes with a geometry shader and with patches.
///
/// # Errors
/// When a shader does not compile, or a call of the device fails.
pub fn scenes(device: &str, spirv: &std::path::Path) -> std::result::Result<Scenes, String> {
    let modules = expanding();
    let modules =
        modules.iter().map(|s| compile(s, spirv)).collect::<std::result::Result<Vec<_>, _>>()?;
    let gpu = Gpu::open(device, crate::gpu::Robustness::Off).map_err(|e| e.to_string())?;
    expanded(&gpu, &modules).map_err(|e| e.to_string())
}

struct Scene<'a> {
    gpu: &'a Gpu,
    modules: &'a [Vec<u32>],
    colours: crate::gpu::Buffer,
}

impl<'a> Scene<'a> {
    fn new(gpu: &'a Gpu, modules: &'a [Vec<u32>]) -> Result<Scene<'a>> {
        Ok(Scene { gpu, modules, colours: gpu.buffer(&[1e-4f32; 4])? })
    }

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

    /// A pipeline with its descriptor set.
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

/// The objects of recorded draws.
struct Drawing {
    pipelines: [Graphics; 2],
    vertices: [crate::gpu::Buffer; 2],
    pass: Pass,
}

impl Drawing {
    fn new(scene: &Scene<'_>, target: &crate::gpu::Image) -> Result<Drawing> {
        let gpu = scene.gpu;
        Ok(Drawing {
            pipelines: [scene.graphics(1)?, scene.graphics(2)?],
            // Degenerate triangles: drawing them costs almost nothing on the GPU.
            vertices: [gpu.buffer(&[0.5f32; 12])?, gpu.buffer(&[0.25f32; 12])?],
            pass: Pass {
                colors: vec![Attachment::color(target, [0.0; 4])],
                size_px: SIZE_PX,
                ..Pass::default()
            },
        })
    }

    fn rates(&self, gpu: &Gpu) -> Result<Draws> {
        let [first, _] = &self.pipelines;
        let draws_per_s = draws(gpu, &self.pass, &|c| {
            c.bind_graphics(first);
            c.vertex_buffers(&[&self.vertices[0]]);
            c.push_graphics(first, &[0.0f32; 4]);
            let mut k = 0;
            // Iterators are calls where this crate is not optimised, whose time would count as the driver's.
            while k < DRAWS {
                // SAFETY: a pipeline with its descriptors and vertices is bound, inside of a rendering.
                unsafe { gpu.device.cmd_draw(c.handle, 3, 1, 0, 0) };
                k += 1;
            }
        })?;
        let objects = DrawObjects::new(&self.pipelines, &self.vertices);
        let draws_with_state_per_s = draws(gpu, &self.pass, &|c| {
            // SAFETY: as above.
            unsafe { objects.draw(&gpu.device, c.handle) };
        })?;
        let plain = DrawObjects { has_state: false, ..objects };
        let [_, plain_draws_of_one_thread_per_cpu_s] =
            draws_of_threads::<1>(gpu, &self.pass, plain)?;
        let [draws_of_one_thread_per_s, draws_of_one_thread_per_cpu_s] =
            draws_of_threads::<1>(gpu, &self.pass, objects)?;
        let [draws_of_two_threads_per_s, draws_of_two_threads_per_cpu_s] =
            draws_of_threads::<2>(gpu, &self.pass, objects)?;
        Ok(Draws {
            draws_per_s,
            draws_with_state_per_s,
            plain_draws_of_one_thread_per_cpu_s,
            draws_of_one_thread_per_s,
            draws_of_one_thread_per_cpu_s,
            draws_of_two_threads_per_s,
            draws_of_two_threads_per_cpu_s,
        })
    }
}

/// The image that draws are recorded for.
fn target(gpu: &Gpu) -> Result<crate::gpu::Image> {
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
    };
    gpu.image(spec.through(Transfer::Gpu))
}

fn figures(gpu: &Gpu, modules: &[Vec<u32>]) -> Result<Figures> {
    let scene = Scene::new(gpu, modules)?;
    let target = target(gpu)?;
    let drawing = Drawing::new(&scene, &target)?;
    let draws = drawing.rates(gpu)?;
    let Drawing { pipelines: [first, _], vertices: [vertices, _], pass } = &drawing;
    let layout = first.layout;
    let start = Instant::now();
    let mut made = Vec::with_capacity(PIPELINES);
    for n in 0..PIPELINES {
        made.push(scene.pipeline(100 + n, layout)?);
    }
    let pipelines_per_s = PIPELINES as f64 / start.elapsed().as_secs_f64();
    let cached_per_s = cached(&scene, layout)?;
    let (links_per_s, links_with_draw_per_s) = links(&scene, first, pass, vertices)?.unzip();
    let new_states_per_s = new_states(&scene, pass, vertices)?;

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
    let scenes = expanded(gpu, &modules[2..])?;
    Ok(Figures {
        draws,
        pipelines_per_s,
        cached_per_s,
        scenes,
        links_per_s,
        links_with_draw_per_s,
        new_states_per_s,
        bytes_of_10000_buffers,
        bytes_of_1000_images,
        bytes_of_1000_pipelines,
    })
}

/// Draws per second on this thread, recorded and submitted.
fn draws(gpu: &Gpu, pass: &Pass, record: &dyn Fn(&Commands)) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..DRAW_ROUNDS {
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

/// Pipelines per second, each of which is in a cache.
fn cached(scene: &Scene<'_>, layout: vk::PipelineLayout) -> Result<f64> {
    let gpu = scene.gpu;
    let info = vk::PipelineCacheCreateInfo::default();
    // SAFETY: the device is live.
    let cache = unsafe { gpu.device.create_pipeline_cache(&info, None) }
        .map_err(|result| crate::gpu::Error::Vulkan { call: "vkCreatePipelineCache", result })?;
    gpu.cache.set(cache);
    let all = || -> Result<f64> {
        let start = Instant::now();
        for n in 0..PIPELINES {
            scene.pipeline(30_000 + n, layout)?;
        }
        Ok(PIPELINES as f64 / start.elapsed().as_secs_f64())
    };
    let rates = [all(), all()];
    gpu.cache.set(vk::PipelineCache::null());
    // SAFETY: no pipeline is being made with the cache.
    unsafe { gpu.device.destroy_pipeline_cache(cache, None) };
    let [first, second] = rates;
    first.and(second)
}

/// Draws with state per second that threads record at the same time: of wall time, and of CPU time of each.
fn draws_of_threads<const THREADS: usize>(
    gpu: &Gpu,
    pass: &Pass,
    objects: DrawObjects,
) -> Result<[f64; 2]> {
    let mut pools = Vec::with_capacity(THREADS);
    for _ in 0..THREADS {
        pools.push(gpu.command_pool_of_thread()?);
    }
    let mut best = [0.0f64; 2];
    let mut failed = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let done: Vec<_> = std::thread::scope(|scope| {
            let run = |&pool: &vk::CommandPool| {
                let (device, view) = (gpu.device.clone(), pass.colors[0].image.view);
                scope.spawn(move || {
                    let start = thread_s();
                    record_draws(&device, pool, view, &objects).map(|()| thread_s() - start)
                })
            };
            let threads: Vec<_> = pools.iter().map(run).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let wall_s = start.elapsed().as_secs_f64();
        let mut per_cpu_s = 0.0;
        for thread in done {
            match thread {
                Ok(Ok(cpu_s)) => per_cpu_s += f64::from(DRAWS) / cpu_s,
                Ok(Err(result)) => failed = Some(result),
                Err(_) => failed = Some(vk::Result::ERROR_UNKNOWN),
            }
        }
        best[0] = best[0].max(f64::from(DRAWS) * THREADS as f64 / wall_s);
        best[1] = best[1].max(per_cpu_s);
    }
    for pool in pools {
        // SAFETY: nothing of the pools was submitted.
        unsafe { gpu.device.destroy_command_pool(pool, None) };
    }
    match failed {
        None => Ok(best),
        Some(result) => Err(crate::gpu::Error::Vulkan { call: "recording in a thread", result }),
    }
}

/// Objects that draws with state bind alternately.
#[derive(Clone, Copy)]
struct DrawObjects {
    /// Pipelines with their layouts and sets.
    drawn: [(vk::Pipeline, vk::PipelineLayout, vk::DescriptorSet); 2],
    /// Vertex buffers.
    vertices: [vk::Buffer; 2],
    /// Objects are bound before each draw, not only before the first one.
    has_state: bool,
}

impl DrawObjects {
    fn new(drawn: &[Graphics; 2], vertices: &[crate::gpu::Buffer; 2]) -> DrawObjects {
        DrawObjects {
            drawn: std::array::from_fn(|k| (drawn[k].pipeline, drawn[k].layout, drawn[k].set)),
            vertices: std::array::from_fn(|k| vertices[k].handle),
            has_state: true,
        }
    }

    /// Records draws, with a pipeline, its set, a vertex buffer and push constants bound before each, or before the first one.
    ///
    /// # Safety
    /// The objects are live, and the command buffer is inside of a rendering.
    unsafe fn draw(&self, device: &ash::Device, c: vk::CommandBuffer) {
        let graphics = vk::PipelineBindPoint::GRAPHICS;
        let stages = vk::ShaderStageFlags::ALL_GRAPHICS;
        let mut k = 0;
        while k < DRAWS {
            if k == 0 || self.has_state {
                let (pipeline, layout, set) = self.drawn[(k & 1) as usize];
                let vertices = self.vertices[(k >> 1 & 1) as usize];
                let mut push = [0; 16];
                push[..4].copy_from_slice(&(k as f32).to_ne_bytes());
                // SAFETY: as the caller says.
                unsafe {
                    device.cmd_bind_pipeline(c, graphics, pipeline);
                    device.cmd_bind_descriptor_sets(c, graphics, layout, 0, &[set], &[]);
                    device.cmd_bind_vertex_buffers(c, 0, &[vertices], &[0]);
                    device.cmd_push_constants(c, layout, stages, 0, &push);
                }
            }
            // SAFETY: as above.
            unsafe { device.cmd_draw(c, 3, 1, 0, 0) };
            k += 1;
        }
    }
}

/// Records a command buffer of draws with state.
fn record_draws(
    device: &ash::Device,
    pool: vk::CommandPool,
    view: vk::ImageView,
    objects: &DrawObjects,
) -> std::result::Result<(), vk::Result> {
    let allocate =
        vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    let color = [vk::RenderingAttachmentInfo::default()
        .image_view(view)
        .image_layout(vk::ImageLayout::GENERAL)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)];
    let extent = vk::Extent2D { width: SIZE_PX[0], height: SIZE_PX[1] };
    let rendering = vk::RenderingInfo::default()
        .render_area(vk::Rect2D { offset: vk::Offset2D::default(), extent })
        .layer_count(1)
        .color_attachments(&color);
    // SAFETY: the pool is this thread's alone, all objects are live, and the commands are in a valid order.
    unsafe {
        let c = device.allocate_command_buffers(&allocate)?[0];
        device.begin_command_buffer(c, &vk::CommandBufferBeginInfo::default())?;
        device.cmd_begin_rendering(c, &rendering);
        objects.draw(device, c);
        device.cmd_end_rendering(c);
        device.end_command_buffer(c)?;
        device.free_command_buffers(pool, &[c]);
    }
    Ok(())
}

/// Width and height of the picture of scenes with other stages.
const SCENE_PX: u32 = 512;
/// Triangles of the scene with a geometry shader.
const TRIANGLES: usize = 6000;
/// Patches of the scene with a tessellator.
const PATCHES: usize = 400;

/// The shaders of scenes with geometry and tessellation.
fn expanding() -> [Shader; 5] {
    [
        Shader::new("mesh.vert"),
        Shader::new("shade.frag"),
        Shader::new("stage.geom")
            .define("IN", "triangles")
            .define("OUT", "triangle_strip")
            .define("BODY", 1)
            .define("INVOCATIONS", 1),
        Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "9.0").define("PATCH", 0),
        Shader::new("stage.tese").define("POINTS", 3).define("MODE", "triangles, equal_spacing"),
    ]
}

/// Frames per second of a scene with a geometry shader, and of one with patches: recorded, submitted and
/// executed.
fn expanded(gpu: &Gpu, modules: &[Vec<u32>]) -> Result<Scenes> {
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [SCENE_PX, SCENE_PX, 1])
    };
    let target = gpu.image(spec.through(Transfer::Gpu))?;
    let pass = Pass {
        colors: vec![Attachment::color(&target, [0.0; 4])],
        size_px: [SCENE_PX; 2],
        ..Pass::default()
    };
    let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
    let state =
        || State::new([SCENE_PX; 2]).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4]);
    let mut patches = state();
    patches.topology = vk::PrimitiveTopology::PATCH_LIST;
    patches.patch_points = 3;
    let [v, f, g, tc, te] = std::array::from_fn(|k| &modules[k][..]);
    let between = [
        vec![(vk::ShaderStageFlags::GEOMETRY, g)],
        vec![
            (vk::ShaderStageFlags::TESSELLATION_CONTROL, tc),
            (vk::ShaderStageFlags::TESSELLATION_EVALUATION, te),
        ],
    ];
    let mut rates = [0.0; 2];
    for (k, state, count) in [(0, state(), TRIANGLES), (1, patches, PATCHES)] {
        let stages = [vec![(VERTEX, v)], between[k].clone(), vec![(FRAGMENT, f)]].concat();
        let graphics = gpu.graphics(&stages, &state, &[])?;
        let buffer = gpu.buffer(&crate::cases::small_triangles(count))?;
        let mut best = f64::INFINITY;
        for _ in 0..=ROUNDS {
            let start = Instant::now();
            gpu.submit(|c| {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&graphics, 3 * count as u32, 1);
                });
            })?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        rates[k] = 1.0 / best;
    }
    let [geometry_frames_per_s, tessellation_frames_per_s] = rates;
    Ok(Scenes { geometry_frames_per_s, tessellation_frames_per_s })
}

/// Links per second of pipelines from libraries, without and with a first draw.
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
    gpu.libraries.take();
    for n in 0..PIPELINES {
        scene.pipeline(1000 + n, like.layout)?;
    }
    gpu.pipelines.set(Pipelines::Whole);
    let libraries = gpu.libraries.take();
    let mut made = Vec::new();
    let mut link_s = f64::INFINITY;
    for _ in 0..ROUNDS {
        made = Vec::with_capacity(PIPELINES);
        let start = thread_s();
        for parts in &libraries {
            made.push(gpu.link_libraries(like.layout, vk::PipelineCreateFlags::empty(), parts)?);
        }
        link_s = link_s.min(thread_s() - start);
        gpu.keep_pipelines(&made);
    }
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

/// First draws per second, each with its own blend equation, which drivers compile into programs.
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
