//! Shaders: the machine code of a stage, and the places of what it reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tepui_intel_compiler::patch::PatchInterface;
use tepui_intel_compiler::stage::Tessellator;
use tepui_intel_compiler::{FragmentState, Options, Program};
use tepui_intel_isa::disasm;
use tepui_ir::{Attrs, Builtin, Op, Shader as Ir, Stage};
use tepui_vulkan::backend::{Executable, ShaderInfo, SubgroupSize};
use tepui_vulkan::cache::Programs as CachedPrograms;
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::descriptor::SetLayout;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::{Variants, variants};

use crate::bind::{Places, Sets, placements};
use crate::device::Device;
use crate::family::Intel;
use crate::kernel::lock;
use crate::states::buffer_state;
use crate::variant::{Variant, statistics};

/// The size of subgroups that shaders read where it does not vary. source: Mesa, brw_compiler.h (`BRW_SUBGROUP_SIZE`)
pub const SUBGROUP_SIZE: u8 = 32;

impl Variant {
    /// Puts a program where it can run.
    ///
    /// # Errors
    /// When there is no memory, or it reads what the driver does not fill in.
    pub fn new(device: &Device, p: &Program, sets: Sets<'_>, captures: bool) -> Result<Variant> {
        let generation = device.generation();
        let text = || disasm::program(generation, &p.code);
        if debug::flags().contains(Flags::STATS) {
            eprintln!("tepui: {:?}", p.stats);
        }
        if debug::flags().contains(Flags::SHADERS) {
            eprint!("{}", text());
        }
        // Constant data follows the code, in the same piece.
        let start = p.code.len().next_multiple_of(64);
        let mut bytes = p.code.clone();
        if !p.data.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&p.data);
        }
        let code = device.code(&bytes)?;
        let data = match p.data.is_empty() {
            true => None,
            false => {
                let at = code.address + start as u64;
                let state = buffer_state(generation, at, p.data.len() as u32, true);
                Some((at, device.bindless(&state)?))
            }
        };
        Ok(Variant {
            code,
            data,
            data_bytes: p.data.len() as u32,
            places: Places::new(&p.map, sets)?,
            width: p.width,
            programs: p.variants.clone(),
            stage: p.stage.clone(),
            captures: Vec::new(),
            thread_constants: p.map.thread_constants,
            scratch: p.variants.iter().map(|v| v.stats.scratch).max().unwrap_or(0),
            shared_bytes: p.shared_bytes,
            has_barrier: p.has_barrier,
            workgroup: p.workgroup_size,
            operation: None,
            registers: p.map.shared_registers(),
            stats: p.stats,
            assembly: captures.then(text),
        })
    }
}

/// Operations whose results depend on the size of subgroups.
const OF_SUBGROUPS: [Op; 15] = [
    Op::Ballot,
    Op::Elect,
    Op::VoteAny,
    Op::VoteAll,
    Op::VoteEqBits,
    Op::VoteEqFloat,
    Op::ReadLane,
    Op::ReadFirst,
    Op::Shuffle,
    Op::ShuffleXor,
    Op::ShuffleUp,
    Op::ShuffleDown,
    Op::Reduce,
    Op::InclusiveScan,
    Op::ExclusiveScan,
];

/// The number of channels that a shader's subgroups ask for; 0 for any. A shader that runs with any, and reads the size of its
/// subgroups as a constant, gets [`SUBGROUP_SIZE`]: invocations after the last channel are those that do not run.
/// source: Mesa, brw_nir.c (`get_subgroup_size`)
fn width_of(ir: &mut Ir, size: SubgroupSize) -> Result<u8> {
    let is_compute = ir.info.stage == Stage::Compute;
    let size_of = Attrs::Builtin(Builtin::SubgroupSize);
    match size {
        SubgroupSize::Required(size) if is_compute && matches!(size, 8 | 16 | 32) => Ok(size as u8),
        SubgroupSize::Required(size) => Err(Error::unsupported(format!(
            "subgroups of {size} invocations: compute shaders have 8, 16 or 32"
        ))),
        SubgroupSize::Constant if is_compute => {
            let of_subgroups = |i: &tepui_ir::InstData| match (i.op, i.attrs) {
                (Op::LoadBuiltin, Attrs::Builtin(b)) => matches!(
                    b,
                    Builtin::SubgroupSize
                        | Builtin::NumSubgroups
                        | Builtin::SubgroupId
                        | Builtin::SubgroupInvocationId
                ),
                (op, _) => OF_SUBGROUPS.contains(&op),
            };
            Ok(if ir.insts.values().any(of_subgroups) { SUBGROUP_SIZE } else { 0 })
        }
        SubgroupSize::Constant => {
            for inst in ir.insts.values_mut().filter(|i| i.attrs == size_of) {
                (inst.op, inst.attrs) = (Op::Const, Attrs::Const(u64::from(SUBGROUP_SIZE)));
            }
            Ok(0)
        }
        SubgroupSize::Varying => Ok(0),
    }
}

/// State that a fragment program is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    /// It runs for each sample.
    pub per_sample: bool,
    /// Pixels have one sample.
    pub single_sample: bool,
    /// Several targets take the alpha of the first one, for alpha to coverage.
    pub replicate_alpha: bool,
    /// It may run for coarse pixels.
    pub coarse: bool,
}

impl FragmentKey {
    /// The key of graphics state.
    pub fn of(s: &GraphicsState) -> FragmentKey {
        let samples = s.samples.max(1);
        let share = s.min_sample_shading * samples as f32;
        FragmentKey {
            per_sample: samples > 1 && s.sample_shading && share > 1.0,
            single_sample: samples == 1,
            replicate_alpha: s.alpha_to_coverage,
            // Sample shading takes precedence, whatever its share of samples. source: Vulkan specification, "Combining the Fragment
            // Shading Rates"
            coarse: s.fragment_size != [1; 2] && !s.sample_shading,
        }
    }
}

/// Number of the next shader.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A shader.
pub struct Shader {
    /// Weak, as the device owns shaders too.
    device: Weak<Device>,
    ir: Ir,
    /// Hash of everything that the shader follows from.
    key: u128,
    /// Cache of compiled programs.
    cached: Arc<CachedPrograms>,
    sets: Vec<Option<Arc<SetLayout<Intel>>>>,
    captures: bool,
    robust: bool,
    /// Channels of a thread; 0 leaves them to the compiler.
    width: u8,
    /// The only program of a stage that depends on no state.
    only: OnceLock<Arc<Variant>>,
    /// Programs of stages before the rasteriser that depend on others, or on state.
    before_pixels: Variants<GeometryKey, Arc<Variant>>,
    /// The interface of patches with the evaluation shader of this number, for patches of that many vertices.
    patch: Mutex<Option<(u64, u8, PatchInterface)>>,
    /// Number of the shader in the process.
    id: u64,
    /// Programs of a fragment shader.
    fragments: Variants<FragmentKey, Arc<Variant>>,
}

/// State and other stages that a program of a stage before the rasteriser is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GeometryKey {
    /// Vertices go to another stage before the rasteriser.
    pub feeds_stage: bool,
    /// Several views, and no stage before the rasteriser follows: the layer is the number of the view.
    pub several_views: bool,
    /// The entry of a patch, of tessellation shaders.
    pub patch: Option<PatchInterface>,
}

/// State that a program is compiled for.
#[derive(Clone, Copy, Debug, Hash)]
enum Key {
    /// None.
    Plain,
    /// That of a program before the rasteriser.
    BeforePixels(GeometryKey),
    /// That of a fragment program.
    Fragment(FragmentKey),
}

pub(crate) fn compile_error(e: &tepui_intel_compiler::Error) -> Error {
    Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
}

impl Shader {
    /// A shader whose programs are compiled on demand; those that depend on no state immediately.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn new(device: &Weak<Device>, info: ShaderInfo<'_, Intel>) -> Result<Shader> {
        let ShaderInfo { mut ir, sets, captures, robust, subgroup_size, .. } = info;
        let width = width_of(&mut ir, subgroup_size)?;
        let shader = Shader {
            device: device.clone(),
            ir,
            key: variants::key(&(info.key, subgroup_size)),
            cached: info.programs,
            sets: sets.to_vec(),
            captures,
            robust,
            width,
            only: OnceLock::new(),
            before_pixels: Variants::default(),
            patch: Mutex::new(None),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            fragments: Variants::default(),
        };
        match shader.ir.info.stage {
            Stage::Compute => drop(shader.only()?),
            // Other stages depend on the rest of the pipeline.
            Stage::Vertex
            | Stage::TessControl
            | Stage::TessEvaluation
            | Stage::Geometry
            | Stage::Fragment => {}
        }
        Ok(shader)
    }

    /// Number of the shader in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The program for a state, out of the cache or compiled.
    ///
    /// # Errors
    /// When it does not compile, or would have to be and must not.
    fn program(&self, device: &Device, key: Key) -> Result<Program> {
        let cached = variants::key(&(self.key, self.robust, key));
        if let Some(p) = self.cached.find(cached, |bytes| postcard::from_bytes(bytes).ok())? {
            return Ok(p);
        }
        let placements = placements(&self.sets);
        let mut ir = self.ir.clone();
        let (robust, width) = (self.robust, self.width);
        let mut options = Options { sets: &placements, robust, width, ..Options::default() };
        match key {
            Key::Plain => {}
            Key::BeforePixels(key) => {
                if key.several_views {
                    tepui_passes::multiview::run(&mut ir);
                }
                (options.feeds_stage, options.patch) = (key.feeds_stage, key.patch);
            }
            Key::Fragment(key) => {
                options.fragment = FragmentState {
                    per_sample: key.per_sample,
                    single_sample: key.single_sample,
                    replicate_alpha: key.replicate_alpha,
                    coarse: key.coarse,
                };
            }
        }
        let program = tepui_intel_compiler::compile(&mut ir, device.generation(), &options)
            .map_err(|e| compile_error(&e))?;
        self.cached.keep(cached, || postcard::to_allocvec(&program).ok());
        let stage = self.ir.info.stage.name();
        let statistics = statistics(&program.stats);
        debug::statistics("intel", &format!("{cached:032x}"), stage, &statistics);
        Ok(program)
    }

    fn compile(&self, key: Key) -> Result<Arc<Variant>> {
        let gone = || Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is gone");
        let device = self.device.upgrade().ok_or_else(gone)?;
        let program = self.program(&device, key)?;
        let sets = Sets::Layouts(&self.sets);
        let captures = self.ir.captures.clone();
        Ok(Arc::new(Variant { captures, ..Variant::new(&device, &program, sets, self.captures)? }))
    }

    /// The program of a compute or vertex shader.
    ///
    /// # Errors
    /// When it does not compile, or the shader is of another stage.
    pub fn only(&self) -> Result<&Arc<Variant>> {
        if let Some(v) = self.only.get() {
            return Ok(v);
        }
        if self.ir.info.stage == Stage::Fragment {
            return Err(Error::unsupported("a fragment shader in the place of another"));
        }
        let v = self.compile(Key::Plain)?;
        Ok(self.only.get_or_init(|| v))
    }

    /// The program of a shader of a stage before the rasteriser.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn before_pixels(&self, key: GeometryKey) -> Result<Arc<Variant>> {
        if key == GeometryKey::default() {
            return self.only().cloned();
        }
        self.before_pixels.get_or(&key, || self.compile(Key::BeforePixels(key)))
    }

    /// The interface between this tessellation control shader and an evaluation shader, for patches of a number of vertices.
    pub fn patch(&self, evaluation: &Shader, vertices: u8) -> PatchInterface {
        let mut known = lock(&self.patch);
        match *known {
            Some((id, n, patch)) if (id, n) == (evaluation.id, vertices) => patch,
            _ => {
                let patch = PatchInterface::new(&self.ir, &evaluation.ir, vertices);
                *known = Some((evaluation.id, vertices, patch));
                patch
            }
        }
    }

    /// The tessellator between this tessellation control shader and an evaluation shader, with the origin of patches at the upper
    /// left and at the lower left.
    pub fn tessellators(&self, evaluation: &Shader) -> [Tessellator; 2] {
        let [control, evaluation] = [self, evaluation].map(|s| &s.ir.info.primitives);
        [false, true].map(|lower| Tessellator::new(control, evaluation, lower))
    }

    /// The program of a fragment shader for a state.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn fragment(&self, key: FragmentKey) -> Result<Arc<Variant>> {
        if self.ir.info.stage != Stage::Fragment {
            return Err(Error::unsupported("another shader in the place of a fragment shader"));
        }
        self.fragments.get_or(&key, || self.compile(Key::Fragment(key)))
    }

    /// The programs that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        let stage = self.ir.info.stage;
        let one = |v: &Arc<Variant>| Executable {
            stage: match stage {
                Stage::Vertex => vk::ShaderStageFlags::VERTEX,
                Stage::TessControl => vk::ShaderStageFlags::TESSELLATION_CONTROL,
                Stage::TessEvaluation => vk::ShaderStageFlags::TESSELLATION_EVALUATION,
                Stage::Geometry => vk::ShaderStageFlags::GEOMETRY,
                Stage::Fragment => vk::ShaderStageFlags::FRAGMENT,
                _ => vk::ShaderStageFlags::COMPUTE,
            },
            name: stage.name().to_owned(),
            description: format!("The {} shader, of {} channels", stage.name(), v.width),
            subgroup_size: u32::from(v.width),
            statistics: statistics(&v.stats).to_vec(),
            assembly: v.assembly.clone(),
        };
        let all = self.before_pixels.all().into_iter().chain(self.fragments.all());
        let all: Vec<_> = self.only.get().cloned().into_iter().chain(all).collect();
        all.iter().map(one).collect()
    }
}
