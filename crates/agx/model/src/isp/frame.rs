//! A frame: the state that all tiles of a scene share, prepared before the first tile.

use std::collections::HashMap;

use tepui_agx_packets::render::{BgEotUsc, Counts};
use tepui_agx_packets::usc::SamplerStates;
use tepui_agx_packets::{Packet, ppp};
use tepui_agx_texture::Tilebuffer;
use tepui_raster::Tests;
use tepui_softgpu::AddressSpace;

use super::history::History;
use super::setup::{self, Samples};
use super::zls::Zls;
use crate::Gpu;
use crate::job::{BgEot, JobFault, JobStats, RenderJob, Unit};
use crate::pipeline::Pipeline;
use crate::render::coefficients::Bindings;
use crate::render::scene::{Scene, State};
use crate::usc::cache::Programs;
use crate::usc::launch::Launch;
use crate::usc::row::Row;

/// The largest framebuffer is as large as the largest image. source: hk_queue.c, where the largest
/// framebuffer is clamped
const MAX_SIDE_PX: u32 = 16384;
/// Maximum number of layers of a framebuffer. source: as above
const MAX_LAYERS: u32 = 2048;

/// source: asahi_drm.h, DRM_ASAHI_RENDER_PROCESS_EMPTY_TILES
const PROCESS_EMPTY_TILES: u32 = 1 << 1;
/// source: asahi_drm.h, DRM_ASAHI_RENDER_DBIAS_IS_INT
const DBIAS_IS_INT: u32 = 1 << 18;

/// A program of the frame, ready to run.
pub struct Prepared<'v> {
    /// The state that its USC words load.
    pub launch: Launch<'v>,
    /// Its shared rows.
    pub rows: Vec<Row>,
}

/// A state of the scene, prepared for tiles.
pub struct DrawState {
    /// The fragment program, if it runs.
    pub shader: Option<Shader>,
    /// Tests of front and back faces.
    pub tests: [Tests; 2],
    /// Slot of the occlusion result, and whether samples are counted.
    pub visibility: Option<(u32, bool)>,
}

/// The fragment program of a state.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// Index in [`Frame::programs`].
    pub program: usize,
    /// Index in [`Frame::bindings`].
    pub bindings: usize,
    /// Depth and stencil tests run before the program; otherwise the program triggers them.
    pub early: bool,
    /// Fragments with the same key may share a SIMD-group.
    pub key: u64,
    /// Whether its output replaces that of all such programs before, and is its only effect.
    pub opaque: bool,
}

/// The shared state of all tiles.
pub struct Frame<'v> {
    /// The address space.
    pub vm: &'v AddressSpace,
    /// The scene.
    pub scene: &'v Scene,
    /// Framebuffer in pixels.
    pub size_px: [u32; 2],
    /// Layers of the framebuffer.
    pub layers: u32,
    /// Pixels of a tile.
    pub tile_px: [u32; 2],
    /// Tiles of a layer.
    pub tiles: [u32; 2],
    /// Sample positions.
    pub samples: Samples,
    /// Layout of colours in local memory.
    pub tilebuffer: Tilebuffer,
    /// All programs.
    pub programs: Vec<Prepared<'v>>,
    /// The program that fills tiles.
    pub background: Option<usize>,
    /// Whether it fills all pixels of all tiles with the same colour.
    pub background_is_flat: bool,
    /// The program that stores them.
    pub end: Option<usize>,
    /// Whether it leaves colours unchanged.
    pub end_keeps_colours: bool,
    /// Coefficient bindings.
    pub bindings: Vec<Bindings>,
    /// States, as in the scene.
    pub states: Vec<DrawState>,
    /// Biases of depth are for a fixed-point buffer.
    pub integer_bias: bool,
    /// Depth and stencil in memory.
    pub zls: Zls,
    /// Tiles without shapes are filled and stored as well.
    pub empty_tiles: bool,
}

fn isp(what: impl Into<String>) -> JobFault {
    JobFault::new(Unit::Isp, what)
}

/// Loads programs, each once.
struct Loader<'a, 'v> {
    gpu: &'a Gpu,
    vm: &'v AddressSpace,
    job: &'a RenderJob,
    decoded: &'v Programs<'v>,
    programs: Vec<Prepared<'v>>,
    known: HashMap<(u64, SamplerStates), usize>,
}

impl<'v> Loader<'_, 'v> {
    fn load(
        &mut self,
        address: u64,
        samplers: SamplerStates,
        stats: &mut JobStats,
    ) -> Result<usize, JobFault> {
        if let Some(&index) = self.known.get(&(address, samplers)) {
            return Ok(index);
        }
        let pipeline = Pipeline {
            vm: self.vm,
            usc_exec_base: self.job.usc_exec_base,
            address,
            samplers,
            sampler_heap: (self.job.sampler_heap, u32::from(self.job.sampler_count)),
            helper: self.job.fragment_helper,
        };
        let launch = pipeline.load(self.decoded)?;
        let launch = self.gpu.prepare(self.vm, launch, stats)?;
        let rows = launch.program.code.shared_rows(&launch.uniforms);
        self.programs.push(Prepared { launch, rows });
        let index = self.programs.len() - 1;
        self.known.insert((address, samplers), index);
        Ok(index)
    }

    fn tile_program(
        &mut self,
        program: &BgEot,
        stats: &mut JobStats,
    ) -> Result<Option<usize>, JobFault> {
        let odd = |p: tepui_packets::Problem| isp(p.to_string());
        let usc = BgEotUsc::unpack(&program.usc.to_le_bytes()).map_err(odd)?;
        if usc.pipeline == 0 {
            return Ok(None);
        }
        let counts = Counts::unpack(&program.rsrc_spec.to_le_bytes()).map_err(odd)?;
        self.load(usc.pipeline, counts.sampler_state_register_count, stats).map(Some)
    }
}

impl<'v> Frame<'v> {
    /// Prepares a scene.
    pub fn new(
        gpu: &Gpu,
        vm: &'v AddressSpace,
        job: &RenderJob,
        scene: &'v Scene,
        decoded: &'v Programs<'v>,
        stats: &mut JobStats,
    ) -> Result<Frame<'v>, JobFault> {
        let size_px = [job.width_px, job.height_px].map(u32::from);
        let layers = u32::from(job.layers);
        if size_px.iter().any(|&n| n == 0 || n > MAX_SIDE_PX) || !(1..=MAX_LAYERS).contains(&layers)
        {
            return Err(isp(format!(
                "a framebuffer of {} x {} pixels and {layers} layers",
                size_px[0], size_px[1]
            )));
        }
        let tile_px = [job.utile_width_px, job.utile_height_px].map(u32::from);
        let samples = setup::samples(job)?;
        if !matches!(tile_px, [32, 32] | [32, 16] | [16, 16]) {
            return Err(isp(format!("tiles of {} x {} pixels", tile_px[0], tile_px[1])));
        }
        let mut loader =
            Loader { gpu, vm, job, decoded, programs: Vec::new(), known: HashMap::new() };
        let (bg, eot) = (
            if scene.continued { &job.partial_bg } else { &job.bg },
            if scene.unfinished { &job.partial_eot } else { &job.eot },
        );
        let background = loader.tile_program(bg, stats)?;
        let end = loader.tile_program(eot, stats)?;
        let mut bindings: Vec<Bindings> = Vec::new();
        let mut states = Vec::with_capacity(scene.states.len());
        for (index, state) in scene.states.iter().enumerate() {
            states.push(draw_state(&mut loader, &mut bindings, index, state, stats)?);
        }
        // Whoever looks at a pixel wants to see what is hidden, too.
        if gpu.options.watch.as_ref().and_then(History::new).is_none() {
            find_opaque(&loader.programs, &mut states);
        }
        Ok(Frame {
            vm,
            scene,
            size_px,
            layers,
            tile_px,
            tiles: [size_px[0].div_ceil(tile_px[0]), size_px[1].div_ceil(tile_px[1])],
            tilebuffer: Tilebuffer {
                size: tile_px,
                samples: u32::from(job.samples),
                sample_bytes: u32::from(job.sample_size_bytes),
            },
            samples,
            background_is_flat: background
                .is_some_and(|p| loader.programs[p].launch.program.code.ignores_lane()),
            end_keeps_colours: end
                .is_none_or(|p| loader.programs[p].launch.program.code.keeps_local()),
            programs: loader.programs,
            background,
            end,
            bindings,
            states,
            integer_bias: job.flags & DBIAS_IS_INT != 0,
            zls: Zls::new(job, scene.continued, scene.unfinished)?,
            empty_tiles: job.flags & PROCESS_EMPTY_TILES != 0,
        })
    }

    /// The fragment program of a primitive, if one runs.
    #[inline(always)]
    pub fn shader(&self, primitive: u32) -> Option<Shader> {
        let state = self.scene.primitives[primitive as usize].state;
        self.states[state as usize].shader
    }

    /// Bytes of a tile's colours.
    pub fn tile_bytes(&self) -> usize {
        let t = &self.tilebuffer;
        (t.size[0] * t.size[1] * t.samples * t.sample_bytes) as usize
    }
}

/// Finds the states whose programs are opaque: they write all bytes of a sample that any of them writes.
fn find_opaque(programs: &[Prepared<'_>], states: &mut [DrawState]) {
    let writes = |shader: &Shader| {
        let code = &programs[shader.program].launch.program.code;
        if shader.early { code.overwrites() } else { None }
    };
    let shaders = || states.iter().filter_map(|state| state.shader.as_ref());
    let all = shaders().filter_map(writes).fold(0, |all, bytes| all | bytes);
    for shader in states.iter_mut().filter_map(|state| state.shader.as_mut()) {
        shader.opaque = writes(shader) == Some(all);
    }
}

fn draw_state(
    loader: &mut Loader<'_, '_>,
    bindings: &mut Vec<Bindings>,
    index: usize,
    state: &State,
    stats: &mut JobStats,
) -> Result<DrawState, JobFault> {
    let (a, b) = (&state.control, &state.control2);
    let runs = !(a.tag_write_disable || b.tag_write_disable) && state.pipeline != 0;
    let shader = if runs {
        let samplers = state.shader.sampler_state_register_count;
        let program = loader.load(state.pipeline, samplers, stats)?;
        let own = Bindings::read(loader.vm, loader.job.usc_exec_base, state)?;
        let number = bindings.iter().position(|b| *b == own).unwrap_or_else(|| {
            bindings.push(own);
            bindings.len() - 1
        });
        let properties = &loader.programs[program].launch.fragment;
        let early = properties.as_ref().is_some_and(|p| p.early_z_testing);
        // Programs that run tests need the state's own; others differ by program and bindings.
        let key =
            if early { (program as u64) << 32 | number as u64 } else { 1 << 63 | index as u64 };
        Some(Shader { program, bindings: number, early, key, opaque: false })
    } else {
        None
    };
    let mode = match (a.visibility_mode, b.visibility_mode) {
        (ppp::VisibilityMode::None, mode) | (mode, _) => mode,
    };
    let visibility = match mode {
        ppp::VisibilityMode::None => None,
        ppp::VisibilityMode::Counting => Some((state.occlusion.index, true)),
        ppp::VisibilityMode::Boolean => Some((state.occlusion.index, false)),
    };
    Ok(DrawState { shader, tests: setup::tests(state), visibility })
}
