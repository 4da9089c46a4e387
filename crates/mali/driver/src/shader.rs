//! Shaders: the machine code of a stage where it can run, and what the driver supplies to it.

use std::hash::Hash;
use std::sync::{Arc, OnceLock, Weak};

use tepui_expand::{Expansion, pull};
use tepui_format::Format;
use tepui_ir::{Attrs, Builtin, Interp, IoLoc, Op, ResKind, Shader as Ir, Stage};
use tepui_mali_compiler::interface::PUSHED_WORDS;
use tepui_mali_compiler::{Binding, Clips, Layout, Options, Program, StageInfo, Stats};
use tepui_mali_isa::disasm;
use tepui_mali_packets::shader::{
    CoverageBitmaskType, ShaderProgram, ShaderRegisterAllocation, ShaderStage, WarpLimit,
};
use tepui_vulkan::backend::{Executable, ShaderInfo, SubgroupSize};
use tepui_vulkan::cache::Programs as CachedPrograms;
use tepui_vulkan::command::MAX_SETS;
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::descriptor::{DescriptorType, SetLayout};
use tepui_vulkan::state::{GraphicsState, MAX_COLOURS};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_expand::Derived;
use tepui_vulkan_kit::{Variants, variants};

use crate::device::Device;
use crate::family::Mali;
use crate::graphics::blend::Lowered;
use crate::graphics::local::Locations;
use crate::limits::SUBGROUP_SIZE;
use crate::packed::packet;
use crate::pushed;
use crate::tables;
use crate::texture::DESCRIPTOR_B;

pub use crate::variant::{Dynamic, Entry, Variant};

/// The descriptors of the bindings of set layouts, for the compiler, and the buffers with dynamic offsets, which are in the driver's
/// table.
pub fn placement(sets: &[Option<Arc<SetLayout<Mali>>>]) -> (Layout, Dynamic) {
    let index = |bytes: u32| bytes / DESCRIPTOR_B as u32;
    let (mut layout, mut dynamic) = (Layout::default(), Dynamic::default());
    let mut first_dynamic = tables::FIRST_DYNAMIC;
    for (number, own) in sets.iter().enumerate().take(MAX_SETS) {
        let Some(own) = own else { continue };
        for (binding, b) in &own.bindings {
            let (set, binding) = (number as u32, *binding);
            layout.bindings.push(match b.is_dynamic {
                true => Binding {
                    set,
                    binding,
                    table: tables::DRIVER,
                    first: first_dynamic + b.first_dynamic,
                    stride: 1,
                    sampler: 0,
                    lone_sampler: 0,
                    is_pushable: !b.partially_bound,
                },
                false => Binding {
                    set,
                    binding,
                    table: tables::FIRST_SET + set as u8,
                    first: index(b.offset[0]),
                    // Planes are elements of their own.
                    stride: index(b.stride[0] / b.planes.max(1)),
                    sampler: u32::from(matches!(
                        b.ty,
                        DescriptorType::CombinedImageSampler | DescriptorType::Mutable
                    )),
                    lone_sampler: u32::from(b.ty == DescriptorType::CombinedImageSampler),
                    // Descriptors are read when commands are recorded, whatever the program does with them.
                    is_pushable: !(b.updates_after_bind || b.partially_bound),
                },
            });
        }
        dynamic[number] = own.dynamic;
        first_dynamic += own.dynamic;
    }
    (layout, dynamic)
}

/// Alignment of constant data. source: `tepui_mali_compiler::Program::data`
const DATA_ALIGN: usize = 64;

/// Program descriptors of a program whose code is at an address. source: Mesa, panvk_vX_shader.c (`panvk_shader_upload`)
fn descriptors(program: &Program, code: u64) -> Result<Vec<u8>> {
    let one = |offset: u32, preload: u16, stats: &Stats, is_varying: bool| {
        let mut shader = ShaderProgram {
            register_allocation: match stats.is_half() {
                true => ShaderRegisterAllocation::N64PerThread,
                false => ShaderRegisterAllocation::N32PerThread,
            },
            preload: preload.into(),
            binary: code + u64::from(offset),
            ..ShaderProgram::default()
        };
        match &program.stage {
            StageInfo::Compute => shader.stage = ShaderStage::Compute,
            StageInfo::Vertex(_) => {
                shader.stage = ShaderStage::Vertex;
                shader.vertex_warp_limit =
                    if is_varying { WarpLimit::Full } else { WarpLimit::Half };
            }
            StageInfo::Fragment(info) => {
                shader.stage = ShaderStage::Fragment;
                shader.fragment_coverage_bitmask_type = CoverageBitmaskType::Gl;
                shader.requires_helper_threads = info.helpers;
            }
        }
        shader.pack().map_err(packet)
    };
    let mut all = one(0, program.preload, &program.stats, false)?.to_vec();
    if let StageInfo::Vertex(info) = &program.stage {
        for (entry, is_varying) in [(&info.without_point_size, false), (&info.varying, true)] {
            let more = match entry {
                Some(e) => one(e.offset, e.preload, &e.stats, is_varying)?,
                None => one(0, program.preload, &program.stats, false)?,
            };
            all.extend_from_slice(&more);
        }
    }
    Ok(all)
}

impl Variant {
    /// Puts a program where it can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(
        device: &Device,
        program: &Program,
        dynamic: Dynamic,
        captures: bool,
    ) -> Result<Variant> {
        let text = || disasm::program(&program.code);
        if debug::flags().contains(Flags::STATS) {
            eprintln!("tepui: {}", program.stats);
        }
        if debug::flags().contains(Flags::SHADERS) {
            eprint!("{}", text());
        }
        // Constant data follows the code, in the same piece.
        let start = program.code.len().next_multiple_of(DATA_ALIGN);
        let mut bytes = program.code.clone();
        if !program.data.is_empty() {
            bytes.resize(start, 0);
            bytes.extend_from_slice(&program.data);
        }
        let code = device.code(&bytes)?;
        let descriptors = device.descriptors(&descriptors(program, code.address)?)?;
        let mut stats = program.stats;
        if let StageInfo::Vertex(info) = &program.stage {
            // All programs of a draw's vertices have the same memory of threads.
            let more = [&info.without_point_size, &info.varying].into_iter().flatten();
            stats.scratch = more.fold(stats.scratch, |all, e| all.max(e.stats.scratch));
        }
        Ok(Variant {
            data: code.address + start as u64,
            _code: code,
            descriptors,
            fau: program.fau.clone(),
            pushed: Vec::new(),
            addresses: Vec::new(),
            dynamic,
            workgroup: program.workgroup_size,
            shared_bytes: program.shared_bytes,
            stage: program.stage.clone(),
            attributes: match &program.stage {
                StageInfo::Vertex(info) => info.attributes,
                _ => 0,
            },
            stats,
            assembly: captures.then(text),
        })
    }
}

/// State that a program is compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Vertices: several views, each the layer of its number.
    pub several_views: bool,
    /// Vertices: the first instance of attributes is in memory.
    pub adds_first_instance: bool,
    /// Vertices that were not linked: locations that fragments interpolate linearly on the screen, a bit each.
    pub linear: u64,
    /// Fragments: the program runs for each sample.
    pub per_sample: bool,
    /// Fragments: blending that the program does.
    pub blend: Option<Arc<Lowered>>,
    /// Fragments: targets of outputs and input attachments.
    pub locations: Locations,
    /// Fragments: the program counts its invocations.
    pub counts: bool,
    /// Fragments: outputs of the last stage by which they are discarded, and the samples that are looked at.
    pub clips: (Clips, u32),
}

impl Key {
    /// Whether a fragment program runs for each sample, whatever its inputs are: it reads samples of the tile buffer.
    fn reads_samples(&self) -> bool {
        self.locations.reads_samples() || self.blend.as_ref().is_some_and(|b| b.samples > 1)
    }
}

/// Attributes that a vertex shader reads, a bit for each location.
fn attributes(ir: &Ir) -> u32 {
    let mut all = 0;
    ir.walk(|s, _, i| {
        if let (Op::LoadInput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs)
            && let IoLoc::Location(n) = slot.loc
        {
            all |= 1u32.checked_shl(n.into()).unwrap_or(0);
        }
    });
    all
}

/// Interpolates outputs of a vertex shader as fragments do, whatever it says itself: linearly on the screen at these locations. The
/// hardware interpolates in perspective alone, so that a vertex shader has to multiply them.
fn interpolate(ir: &mut Ir, linear: u64) {
    let mut outputs = Vec::new();
    ir.walk(|s, _, i| {
        if let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) {
            outputs.push((i, slot));
        }
    });
    for (i, mut slot) in outputs {
        if let IoLoc::Location(n) = slot.loc {
            let is_linear = linear.checked_shr(n.into()).is_some_and(|bits| bits & 1 != 0);
            slot.interp = if is_linear { Interp::Linear } else { Interp::Smooth };
            ir.insts[i].attrs = Attrs::Io(slot);
        }
    }
}

/// A shader.
pub struct Shader {
    /// Weak, as the device owns shaders too.
    device: Weak<Device>,
    ir: Ir,
    /// Hash of everything that the shader follows from.
    key: u128,
    /// Cache of compiled programs.
    cached: Arc<CachedPrograms>,
    /// A fragment shader that reads the number of the primitive, which a vertex passes to it.
    pub reads_primitive: bool,
    layout: Layout,
    dynamic: Dynamic,
    captures: bool,
    robust: bool,
    /// There are input attachments.
    reads_attachments: bool,
    /// Attributes that a vertex shader reads, a bit for each location.
    pub attributes: u32,
    /// Locations that a fragment shader interpolates linearly on the screen, a bit each.
    linear: u64,
    only: OnceLock<Arc<Variant>>,
    /// Programs for state.
    others: Variants<Key, Arc<Variant>>,
    /// A vertex shader that shows which invocations run, which runs as a compute program.
    pub shows_invocations: bool,
    /// Shaders of expanded draws that follow from this one.
    pub derived: Derived<Shader>,
    /// The fragment shader of [`Shader::empty_fragment`].
    empty: Variants<(), Arc<Shader>>,
    /// Compute programs of a geometry or tessellation shader.
    pub expanded: Variants<Expansion, Arc<Variant>>,
    /// Compute programs of a vertex shader: that leaves records, and that captures.
    pub vertices: Variants<bool, Arc<Variant>>,
}

pub(crate) fn compile_error(e: &tepui_mali_compiler::Error) -> Error {
    Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
}

impl Shader {
    /// A shader; programs that depend on no other state are compiled at once.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn new(device: &Arc<Device>, info: ShaderInfo<'_, Mali>) -> Result<Shader> {
        if let SubgroupSize::Required(size) = info.subgroup_size
            && size != SUBGROUP_SIZE
        {
            return Err(Error::unsupported(format!(
                "subgroups of {size} invocations: they have {SUBGROUP_SIZE}"
            )));
        }
        let (layout, dynamic) = placement(info.sets);
        let (ir, robust, captures) = (info.ir, info.robust, info.captures);
        let cached = (info.key, info.programs);
        Shader::made(Arc::downgrade(device), ir, (layout, dynamic), robust, captures, cached)
    }

    fn made(
        device: Weak<Device>,
        mut ir: Ir,
        (layout, dynamic): (Layout, Dynamic),
        robust: bool,
        captures: bool,
        (key, cached): (u128, Arc<CachedPrograms>),
    ) -> Result<Shader> {
        let stage = ir.info.stage;
        let number = Attrs::Builtin(Builtin::PrimitiveId);
        let reads_primitive =
            stage == Stage::Fragment && ir.any(|s, _, i| s.insts[i].attrs == number);
        if reads_primitive {
            pull::fetch_primitive(&mut ir);
        }
        let mut kinds = ir.resources.values().map(|r| r.kind);
        let reads_attachments = kinds.any(|kind| kind == ResKind::InputAttachment);
        let shows_invocations =
            stage == Stage::Vertex && tepui_passes::side_effects::shows_invocations(&ir);
        let attributes = if stage == Stage::Vertex { attributes(&ir) } else { 0 };
        let linear = match stage {
            Stage::Fragment => tepui_vulkan_expand::inputs_with(&ir, Interp::Linear),
            _ => 0,
        };
        let shader = Shader {
            device,
            ir,
            key,
            cached,
            reads_primitive,
            layout,
            dynamic,
            captures,
            robust,
            reads_attachments,
            attributes,
            linear,
            only: OnceLock::new(),
            others: Variants::default(),
            shows_invocations,
            derived: Derived::default(),
            empty: Variants::default(),
            expanded: Variants::default(),
            vertices: Variants::default(),
        };
        // Programs of other stages depend on the rest of the pipeline.
        if stage == Stage::Compute || stage == Stage::Vertex && !shows_invocations {
            shader.only()?;
        }
        Ok(shader)
    }

    /// The shader as the pipeline has it.
    pub fn source(&self) -> &Ir {
        &self.ir
    }

    /// A shader that follows from this one in a way, with its descriptors or none.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn derive_from(&self, ir: Ir, how: &impl Hash, has_descriptors: bool) -> Result<Shader> {
        let places = match has_descriptors {
            true => (self.layout.clone(), self.dynamic),
            false => Default::default(),
        };
        let cached = (variants::key(&(self.key, how)), self.cached.clone());
        Shader::made(self.device.clone(), ir, places, self.robust, self.captures, cached)
    }

    /// A program, out of the cache or compiled; `what` tells those of this shader apart.
    fn program(&self, what: &impl Hash, ir: &mut Ir, options: &Options<'_>) -> Result<Program> {
        let key = variants::key(&(self.key, self.robust, what));
        if let Some(p) = self.cached.find(key, |bytes| postcard::from_bytes(bytes).ok())? {
            return Ok(p);
        }
        let program = tepui_mali_compiler::compile(ir, options).map_err(|e| compile_error(&e))?;
        self.cached.keep(key, || postcard::to_allocvec(&program).ok());
        Ok(program)
    }

    /// The program of an IR that follows from this shader's in a way, with its descriptors.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn compile_ir(&self, mut ir: Ir, how: &impl Hash) -> Result<Arc<Variant>> {
        let device = self.device()?;
        let attributes = attributes(&ir);
        let program = self.program(&("follows", how), &mut ir, &self.options())?;
        let v = self.variant(&device, &program)?;
        Ok(Arc::new(Variant { attributes, ..v }))
    }

    fn device(&self) -> Result<Arc<Device>> {
        let gone = || Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is gone");
        self.device.upgrade().ok_or_else(gone)
    }

    fn options(&self) -> Options<'_> {
        Options {
            layout: Some(&self.layout),
            robust: self.robust,
            pushed_words: PUSHED_WORDS,
            pushes_addresses: true,
            attribute_table: tables::ATTRIBUTES,
            primitive_location: match pull::PRIMITIVE.loc {
                IoLoc::Location(n) => Some(n),
                IoLoc::Builtin(_) => None,
            },
            ..Options::default()
        }
    }

    fn compile(&self, key: &Key) -> Result<Arc<Variant>> {
        let device = self.device()?;
        let reads_samples = key.reads_samples();
        let adds_first_instance = key.adds_first_instance;
        let (clips, samples) = key.clips;
        let options = Options {
            each_sample: reads_samples,
            adds_first_instance,
            clips,
            samples,
            ..self.options()
        };
        let mut ir = self.ir.clone();
        if clips.are_there() && ir.info.early_tests {
            // Tests must not see what is clipped.
            if key.counts || tepui_passes::side_effects::writes_memory(&ir) {
                return Err(Error::unsupported(
                    "early tests of fragments that write memory and are clipped by distances on Mali",
                ));
            }
            ir.info.early_tests = false;
        }
        if key.several_views {
            tepui_passes::multiview::run(&mut ir);
        }
        if ir.info.stage == Stage::Vertex && !ir.info.linked {
            interpolate(&mut ir, key.linear);
        }
        ir.info.per_sample |= key.per_sample;
        if key.counts {
            tepui_vulkan_expand::count_fragments(&mut ir);
        }
        key.locations.run(&mut ir);
        if let Some(blend) = &key.blend {
            blend.run(&mut ir);
        }
        let program = self.program(key, &mut ir, &options)?;
        if let StageInfo::Fragment(info) = &program.stage
            && reads_samples
            && tepui_passes::side_effects::writes_memory(&self.ir)
            && info.side_effects
            && !self.ir.info.per_sample
            && !key.per_sample
        {
            let what = "programs that write memory and read several samples of tiles on Mali";
            return Err(Error::unsupported(what));
        }
        Ok(Arc::new(self.variant(&device, &program)?))
    }

    /// Puts a program with this shader's descriptors where it can run.
    fn variant(&self, device: &Device, program: &Program) -> Result<Variant> {
        let v = Variant::new(device, program, self.dynamic, self.captures)?;
        let (layout, dynamic) = (&self.layout, &self.dynamic);
        Ok(Variant {
            pushed: pushed::words(&v.fau, layout, dynamic),
            addresses: pushed::addresses(&v.fau, layout, dynamic),
            ..v
        })
    }

    /// The state of a vertex shader whose vertices a fragment shader reads.
    pub fn vertex_key(&self, fragment: Option<&Shader>, several_views: bool) -> Key {
        let linear = fragment.filter(|_| !self.ir.info.linked).map_or(0, |f| f.linear);
        Key { several_views, linear, ..Key::default() }
    }

    /// The program for the usual state.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn only(&self) -> Result<&Arc<Variant>> {
        if let Some(v) = self.only.get() {
            return Ok(v);
        }
        let v = self.compile(&Key::default())?;
        Ok(self.only.get_or_init(|| v))
    }

    /// The program of a fragment shader for graphics state, with the blending that it does, and targets of some formats; whether it
    /// counts its invocations; and outputs of the last stage by which
    /// fragments are discarded.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn fragment(
        &self,
        s: &GraphicsState,
        blend: Option<Lowered>,
        formats: &[Option<Format>; MAX_COLOURS],
        counts: bool,
        clips: Clips,
    ) -> Result<Arc<Variant>> {
        let share = s.min_sample_shading * s.samples.max(1) as f32;
        let per_sample = s.samples > 1 && s.sample_shading && share > 1.0;
        let locations = Locations::new(s, formats, self.reads_attachments);
        let blend = blend.map(Arc::new);
        let samples = if clips.clip > 0 { s.samples.max(1) } else { 1 };
        let clips = (clips, samples);
        self.of(Key { per_sample, blend, locations, counts, clips, ..Key::default() })
    }

    /// A fragment shader that does nothing but discard, for vertex shaders whose primitives are clipped by fragments.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn empty_fragment(&self) -> Result<Arc<Shader>> {
        self.empty.get_or(&(), || {
            let mut ir = Ir::new(Stage::Fragment);
            tepui_ir::Builder::new(&mut ir).yield_(&[]);
            Ok(Arc::new(self.derive_from(ir, &"empty", false)?))
        })
    }

    /// The program for a state.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn of(&self, key: Key) -> Result<Arc<Variant>> {
        if key == Key::default() {
            return self.only().cloned();
        }
        self.others.get_or(&key, || self.compile(&key))
    }

    /// The programs that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        let stage = self.ir.info.stage;
        let one = |v: &Arc<Variant>| Executable {
            stage: match stage {
                Stage::Vertex => vk::ShaderStageFlags::VERTEX,
                Stage::Fragment => vk::ShaderStageFlags::FRAGMENT,
                Stage::TessControl => vk::ShaderStageFlags::TESSELLATION_CONTROL,
                Stage::TessEvaluation => vk::ShaderStageFlags::TESSELLATION_EVALUATION,
                Stage::Geometry => vk::ShaderStageFlags::GEOMETRY,
                _ => vk::ShaderStageFlags::COMPUTE,
            },
            name: stage.name().to_owned(),
            description: format!("The {} shader", stage.name()),
            subgroup_size: SUBGROUP_SIZE,
            statistics: [
                ("instructions", "Instructions", v.stats.instructions),
                ("load_store", "Accesses of memory", v.stats.load_store),
                ("loops", "Loops", v.stats.loops),
                ("spills", "Stores of spilled values", v.stats.spills),
                ("fills", "Loads of spilled values", v.stats.fills),
                ("registers", "Registers of a thread", v.stats.registers),
                ("scratch", "Bytes of scratch memory of a thread", v.stats.scratch),
                ("bytes", "Bytes of machine code", v.stats.bytes),
            ]
            .map(|(name, about, value)| (name, about, u64::from(value)))
            .to_vec(),
            assembly: v.assembly.clone(),
        };
        let of_stages = self.expanded.all().into_iter().chain(self.vertices.all());
        let drawn = self.only.get().cloned().into_iter().chain(self.others.all());
        let all: Vec<_> = drawn.chain(of_stages).collect();
        all.iter().map(one).collect()
    }
}
