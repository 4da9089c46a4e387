//! Shaders: the IR of a stage, and the machine code of each variant that draws ask for.
//!
//! A variant is a monolithic program for one state: attributes and their strides for vertices, formats, samples and blending of
//! the render targets for fragments. Uniform registers, texture state and sampler state are loaded by USC words
//! straight from descriptor sets where the program wants what stands there, so that descriptors may change until a submission
//! executes; the rest is written by the CPU for each draw ([`Recipe`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{
    Attributes, Beyond, Colours, Fragment, Interface, Prolog, Vertex, VertexResults,
};
use tepui_agx_compiler::link::{self, Varyings};
use tepui_agx_compiler::varyings::{FragmentTable, VertexTable};
use tepui_agx_compiler::{Borders, Options, Program, Stats, Table};
use tepui_agx_isa::disasm::Disassembler;
use tepui_expand::{Expansion, pull};
use tepui_ir::{Attrs, Builtin, Op, ResKind, Shader as Ir, Stage};
use tepui_vulkan::backend::Executable;
use tepui_vulkan::cache::Programs;
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::Variants as ByState;
use tepui_vulkan_kit::variants;

use crate::borders::WrongBorders;
use crate::caches::Mains;
use crate::code::Code;
use crate::device::Device;
use crate::recipe::{Places, Recipe};
use tepui_vulkan_expand::{Derivation, Derived, count_fragments};

/// The `id` of the next variant.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// The machine code of a variant.
pub struct Variant {
    /// Code of the main program.
    pub code: Code,
    /// Code of the preamble.
    pub preamble: Option<Code>,
    /// Constant data of the program.
    pub data: Option<Code>,
    /// Layout of the registers.
    pub recipe: Recipe,
    /// Texture state registers in use.
    pub textures: u32,
    /// Whether it has samplers.
    pub samplers: u32,
    /// Half-registers of a thread.
    pub registers: u16,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Threads of a workgroup.
    pub workgroup: [u32; 3],
    /// The stage's table for linking.
    pub table: Table,
    /// Statistics.
    pub stats: Stats,
    /// Machine code as text, if the pipeline is to show it.
    pub assembly: Option<String>,
    /// A number that no other variant has.
    id: u64,
    /// Compiled as one, or linked from parts.
    linking: Linking,
    /// Cache of links: varyings of fragments with vertices, by the vertex variant's `id` and the
    /// provoking vertex.
    links: RwLock<FxHashMap<(u64, u8), Arc<Linked>>>,
}

/// Whether the state asks fragment shaders to run for each sample.
pub fn shades_samples(s: &tepui_vulkan::state::GraphicsState, samples: u8) -> bool {
    s.sample_shading && s.min_sample_shading * f32::from(samples) > 1.0
}

/// Linking mode of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Linking {
    /// From a main part, which is compiled when the shader is created, and a prolog and an epilog for
    /// the state ([`crate::parts`]).
    Parts,
    /// As a monolithic program, compiled when the state is known.
    Whole,
}

/// Link of a vertex and a fragment variant.
pub struct Linked {
    /// Places of varyings and fixed-function words.
    pub varyings: Varyings,
    /// Coefficient bindings.
    pub bindings: Option<Code>,
}

/// Key of a vertex variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VertexKey {
    /// Attributes by location.
    pub attributes: Vec<Option<Attribute>>,
    /// The draw is repeated for each view.
    pub multiview: bool,
    /// Depth in clip space goes from -w to w.
    pub negative_one_to_one: bool,
    /// Destination of outputs.
    pub results: Results,
    /// Attributes past the end of their buffers read zeros, whatever the shader was made with.
    pub robust: bool,
}

/// Destination of a vertex variant's outputs. Variants that store to memory run as compute programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Results {
    /// To the rasteriser.
    #[default]
    Store,
    /// Captured outputs into buffers of transform feedback.
    Feedback,
    /// All to the next stage.
    Record,
}

/// Key of a fragment variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    /// Render targets and blending.
    pub tile: Tile,
    /// Runs for each sample.
    pub per_sample: bool,
    /// Whether only blending needs that.
    pub whole_coverage: bool,
    /// Work before fragments are shaded.
    pub prolog: Prolog,
    /// Additional work that is not in the shader.
    pub additions: Additions,
}

/// Additional work of a fragment program that is not in its shader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Additions {
    /// Invocations are counted, at the address in the first words of the driver's own.
    pub counts: bool,
    /// The number of the primitive comes from the vertices ([`pull::PRIMITIVE`]).
    pub primitive: bool,
}

enum Variants {
    Compute(OnceLock<Arc<Variant>>),
    Vertex(ByState<VertexKey, Arc<Variant>>),
    Fragment(ByState<FragmentKey, Arc<Variant>>),
    Expanded(ByState<Expansion, Arc<Variant>>),
}

/// Identity of a shader in the program cache.
#[derive(Default)]
pub struct Origin {
    /// Hash of all inputs of the shader.
    pub key: u128,
    /// The cache.
    pub programs: Arc<Programs>,
    /// Variants keep their machine code as text.
    pub captures: bool,
    /// Border colours of samplers that programs make.
    pub borders: Borders,
    /// Samplers may reduce texels.
    pub reductions: bool,
    /// Descriptors of images may be null.
    pub null_images: bool,
}

/// A shader.
pub struct Shader {
    /// Weak, as the device owns shaders too.
    device: std::sync::Weak<Device>,
    pub(crate) ir: Ir,
    places: Places,
    pub(crate) robust: bool,
    origin: Origin,
    variants: Variants,
    linking: Linking,
    /// The device's borders that programs must correct.
    wrong_borders: Arc<WrongBorders>,
    /// The shader that corrects them, once that is needed.
    corrected: OnceLock<Arc<Shader>>,
    /// Main parts, for the variants that are linked from parts.
    pub(crate) mains: Mains,
    /// Shaders and programs of expanded draws that follow from this one.
    pub(crate) derived: Derived<Shader>,
    /// Input attachments are read, which may be colours of the tile.
    pub reads_attachments: bool,
    /// A vertex shader chooses attributes at run time, which prologs cannot leave in registers.
    pub(crate) indexes_attributes: bool,
    /// A vertex shader passes the number of the primitive to fragments.
    pub passes_primitive: bool,
    /// The shader asks for the number of the primitive.
    pub reads_primitive: bool,
    /// Writes memory that others see.
    pub writes_memory: bool,
    /// Locations that a vertex shader reads, a bit each.
    pub inputs: u32,
}

/// Machine code as text, a line for each instruction.
fn listing(code: &[u8]) -> String {
    Disassembler::new(code).map(|l| format!("{:5x}: {}\n", l.offset, l.text())).collect()
}

/// Statistics: name, description, value.
fn statistics(s: &Stats) -> [(&'static str, &'static str, u64); 13] {
    [
        ("instructions", "Instructions of the main program", s.instructions),
        ("alu", "Cycles: the larger of fscib and ic", s.alu),
        ("fscib", "Cycles of the float, select, compare, integer and bit unit", s.fscib),
        ("ic", "Cycles of the unit for multiplication, shifts and special functions", s.ic),
        ("bytes", "Bytes of machine code", s.bytes),
        ("registers", "Half-registers of a thread", s.registers),
        ("uniforms", "Half-uniforms", s.uniforms),
        ("scratch", "Bytes of scratch memory of a thread", s.scratch),
        ("threads", "Threads of a core that are resident at once", s.threads),
        ("loops", "Loops", s.loops),
        ("spills", "Stores of spilled registers", s.spills),
        ("fills", "Loads of spilled registers", s.fills),
        ("preamble_instructions", "Instructions of the preamble", s.preamble_instructions),
    ]
    .map(|(name, about, value)| (name, about, u64::from(value)))
}

pub(crate) fn compile_error(e: &tepui_agx_compiler::Error) -> Error {
    Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
}

impl Variant {
    /// Puts a program where it can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(device: &Arc<Device>, p: &Program, places: &Places) -> Result<Variant> {
        if debug::flags().contains(Flags::STATS) {
            eprintln!("tepui: {:?}", p.stats);
        }
        if debug::flags().contains(Flags::SHADERS) {
            eprint!("{}", listing(&p.code));
        }
        let data = match p.data.is_empty() {
            true => None,
            false => Some(device.code(&p.data)?),
        };
        Ok(Variant {
            code: device.code(&p.code)?,
            preamble: p.preamble.as_ref().map(|c| device.code(c)).transpose()?,
            recipe: Recipe::new(p, places, data.as_ref().map_or(0, Code::address)),
            data,
            textures: p.textures.len() as u32,
            samplers: p.samplers.len() as u32,
            registers: p.stats.registers as u16,
            scratch: p.stats.scratch,
            shared_bytes: p.shared_bytes,
            workgroup: p.workgroup_size,
            table: p.table.clone(),
            stats: p.stats,
            assembly: None,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            linking: Linking::Whole,
            links: RwLock::default(),
        })
    }

    /// The vertex table.
    ///
    /// # Panics
    /// When the variant is none of a vertex shader.
    pub fn vertex(&self) -> &VertexTable {
        match &self.table {
            Table::Vertex(t) => t,
            _ => unreachable!("a vertex variant"),
        }
    }

    /// The fragment table.
    ///
    /// # Panics
    /// When the variant is none of a fragment shader.
    pub fn fragment(&self) -> &FragmentTable {
        match &self.table {
            Table::Fragment(t) => t,
            _ => unreachable!("a fragment variant"),
        }
    }

    /// Links a fragment variant with a vertex variant.
    ///
    /// # Errors
    /// When they do not fit together.
    pub fn link(
        &self,
        device: &Arc<Device>,
        vertex: &Variant,
        provoking: u8,
    ) -> Result<Arc<Linked>> {
        let key = (vertex.id, provoking);
        if let Some(l) = self.links.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(l.clone());
        }
        let varyings = link::varyings(vertex.vertex(), self.fragment(), provoking)
            .map_err(|e| compile_error(&e))?;
        let mut bytes = varyings.header.pack().map_err(crate::device::packet)?.to_vec();
        for b in &varyings.bindings {
            bytes.extend(b.pack().map_err(crate::device::packet)?);
        }
        let bindings = match varyings.bindings.is_empty() {
            true => None,
            false => Some(device.code(&bytes)?),
        };
        let linked = Arc::new(Linked { varyings, bindings });
        self.links.write().unwrap_or_else(PoisonError::into_inner).insert(key, linked.clone());
        Ok(linked)
    }
}

impl Shader {
    /// A shader whose variants are compiled on demand; the only variant of a compute shader is compiled
    /// immediately.
    ///
    /// # Errors
    /// When a compute shader does not compile.
    pub fn new(
        device: &std::sync::Weak<Device>,
        ir: Ir,
        places: Places,
        robust: bool,
        origin: Origin,
        linking: Linking,
    ) -> Result<Shader> {
        let variants = match ir.info.stage {
            Stage::Compute => Variants::Compute(OnceLock::new()),
            Stage::Vertex => Variants::Vertex(ByState::default()),
            Stage::Fragment => Variants::Fragment(ByState::default()),
            Stage::TessControl | Stage::TessEvaluation | Stage::Geometry => {
                Variants::Expanded(ByState::default())
            }
        };
        let inputs = match ir.info.stage {
            Stage::Vertex => tepui_agx_compiler::abi::input_locations(&ir),
            _ => 0,
        };
        let wrong_borders = device.upgrade().map(|d| d.wrong_borders.clone()).unwrap_or_default();
        let device = device.clone();
        let indexes_attributes = ir.info.stage == Stage::Vertex
            && ir
                .any(|s, _, i| s.insts[i].op == Op::LoadInput && s.as_const(s.arg(i, 0)).is_none());
        let passes_primitive = ir.info.stage == Stage::Vertex && pull::passes_primitive(&ir);
        let number = Attrs::Builtin(Builtin::PrimitiveId);
        let reads_primitive = ir.any(|s, _, i| s.insts[i].attrs == number);
        let writes_memory = tepui_passes::side_effects::writes_memory(&ir);
        let mains = Mains::default();
        let reads_attachments = ir.resources.values().any(|r| r.kind == ResKind::InputAttachment);
        let shader = Shader {
            device,
            ir,
            places,
            robust,
            origin,
            variants,
            linking,
            wrong_borders,
            corrected: OnceLock::new(),
            mains,
            derived: Derived::default(),
            reads_attachments,
            indexes_attributes,
            passes_primitive,
            reads_primitive,
            writes_memory,
            inputs,
        };
        if shader.ir.info.stage == Stage::Compute {
            shader.compute()?;
        }
        Ok(shader)
    }

    /// The shader whose programs draws and dispatches run, if it is not this one: where the device has borders that the hardware makes
    /// wrong, the one that corrects them.
    fn current(&self) -> Result<Option<&Shader>> {
        if !self.wrong_borders.may_show() || self.origin.borders != Borders::Hardware {
            return Ok(None);
        }
        if let Some(shader) = self.corrected.get() {
            return Ok(Some(shader));
        }
        let samples = |op: Op| matches!(op, Op::TexSample | Op::TexSampleLod | Op::TexGather);
        if !self.ir.any(|s, _, i| samples(s.insts[i].op)) {
            return Ok(None);
        }
        let programs = self.origin.programs.clone();
        let origin = Origin { borders: Borders::OpaqueBlack, programs, ..self.origin };
        let (ir, places) = (self.ir.clone(), self.places.clone());
        let shader = Shader::new(&self.device, ir, places, self.robust, origin, self.linking)?;
        Ok(Some(self.corrected.get_or_init(|| Arc::new(shader))))
    }

    /// The program for an interface, out of the cache or compiled.
    pub(crate) fn program(&self, interface: &Interface, additions: Additions) -> Result<Program> {
        let programs = &self.origin.programs;
        let origin = &self.origin;
        let features = [self.robust, origin.reductions, origin.null_images];
        let key = variants::key(&(origin.key, features, origin.borders, additions, interface));
        if let Some(p) = programs.find(key, |bytes| postcard::from_bytes(bytes).ok())? {
            return Ok(p);
        }
        let mut ir = self.ir.clone();
        if additions.counts {
            count_fragments(&mut ir);
        }
        if additions.primitive {
            pull::fetch_primitive(&mut ir);
        }
        let options = Options {
            robust: self.robust,
            lod_bias: true,
            borders: self.origin.borders,
            reductions: self.origin.reductions,
            null_images: self.origin.null_images,
            names: debug::wants_programs(),
            ..Options::default()
        };
        let p = tepui_agx_compiler::compile_as(&mut ir, &options, interface, &mut |_, _| {})
            .map_err(|e| compile_error(&e))?;
        programs.keep(key, || postcard::to_allocvec(&p).ok());
        let stage = self.ir.info.stage.name();
        debug::statistics("agx", &format!("{key:032x}"), stage, &statistics(&p.stats));
        Ok(p)
    }

    /// Puts a program where it can run.
    fn variant(&self, p: &Program, linking: Linking) -> Result<Arc<Variant>> {
        let device = self.device()?;
        debug::program(&self.ir, &p.code, &p.locs, &p.names);
        let mut v = Variant::new(&device, p, &self.places)?;
        v.linking = linking;
        if self.origin.captures {
            v.assembly = Some(listing(&p.code));
        }
        Ok(Arc::new(v))
    }

    /// Value of attributes past the end of their buffers.
    pub(crate) fn beyond(&self, key: &VertexKey, device: &Device) -> Beyond {
        match (self.robust || key.robust, device.kernel.has_soft_faults()) {
            (false, _) => Beyond::First,
            (true, false) => Beyond::Zeros,
            (true, true) => Beyond::Unbound,
        }
    }

    pub(crate) fn device(&self) -> Result<Arc<Device>> {
        let gone = || Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is gone");
        self.device.upgrade().ok_or_else(gone)
    }

    /// The variants that there are so far.
    pub fn executables(&self) -> Vec<Executable> {
        let variants: Vec<Arc<Variant>> = match &self.variants {
            Variants::Compute(slot) => slot.get().cloned().into_iter().collect(),
            Variants::Vertex(map) => map.all(),
            Variants::Fragment(map) => map.all(),
            Variants::Expanded(map) => map.all(),
        };
        let (stage, name) = (self.ir.info.stage, self.ir.info.stage.name());
        let one = |(k, v): (usize, &Arc<Variant>)| Executable {
            stage: match stage {
                Stage::Vertex => vk::ShaderStageFlags::VERTEX,
                Stage::Fragment => vk::ShaderStageFlags::FRAGMENT,
                Stage::Compute => vk::ShaderStageFlags::COMPUTE,
                Stage::TessControl => vk::ShaderStageFlags::TESSELLATION_CONTROL,
                Stage::TessEvaluation => vk::ShaderStageFlags::TESSELLATION_EVALUATION,
                Stage::Geometry => vk::ShaderStageFlags::GEOMETRY,
            },
            name: format!("{name} {k}"),
            description: format!("The {name} shader for one state of the pipeline"),
            subgroup_size: 32,
            statistics: statistics(&v.stats).to_vec(),
            assembly: v.assembly.clone(),
        };
        variants.iter().enumerate().map(one).collect()
    }

    /// The program of a compute shader.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn compute(&self) -> Result<Arc<Variant>> {
        if let Some(shader) = self.current()? {
            return shader.compute();
        }
        let Variants::Compute(slot) = &self.variants else { return Err(wrong_stage()) };
        if let Some(v) = slot.get() {
            return Ok(v.clone());
        }
        let v = self
            .variant(&self.program(&Interface::Compute, Additions::default())?, Linking::Whole)?;
        Ok(slot.get_or_init(|| v).clone())
    }

    /// The variant of a vertex shader for a state, made as `linking` says or better.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn vertex(&self, key: &VertexKey, linking: Linking) -> Result<Arc<Variant>> {
        if let Some(shader) = self.current()? {
            return shader.vertex(key, linking);
        }
        let Variants::Vertex(map) = &self.variants else { return Err(wrong_stage()) };
        map.get_if_or(
            key,
            |v| v.linking >= linking,
            || {
                if linking == Linking::Parts
                    && let Some(p) = self.vertex_parts(key)?
                {
                    return self.variant(&p, Linking::Parts);
                }
                let interface = Interface::Vertex(Vertex {
                    attributes: Attributes::Fetch(key.attributes.clone()),
                    results: match key.results {
                        Results::Store => VertexResults::Store,
                        Results::Feedback => VertexResults::Memory,
                        Results::Record => VertexResults::Record,
                    },
                    multiview: key.multiview,
                    beyond: self.beyond(key, &*self.device()?),
                    negative_one_to_one: key.negative_one_to_one,
                });
                self.variant(&self.program(&interface, Additions::default())?, Linking::Whole)
            },
        )
    }

    /// The variant of a fragment shader for a state, made as `linking` says or better.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn fragment(&self, key: &FragmentKey, linking: Linking) -> Result<Arc<Variant>> {
        if let Some(shader) = self.current()? {
            return shader.fragment(key, linking);
        }
        let Variants::Fragment(map) = &self.variants else { return Err(wrong_stage()) };
        map.get_if_or(
            key,
            |v| v.linking >= linking,
            || {
                if linking == Linking::Parts
                    && let Some(p) = self.fragment_parts(key)?
                {
                    return self.variant(&p, Linking::Parts);
                }
                let interface = Interface::Fragment(Fragment {
                    behind: None,
                    first_coefficient: 0,
                    colours: Colours::Tile(Box::new(key.tile.clone())),
                    per_sample: key.per_sample,
                    whole_coverage: key.whole_coverage,
                    prolog: key.prolog,
                });
                self.variant(&self.program(&interface, key.additions)?, Linking::Whole)
            },
        )
    }

    /// The compute program of a geometry or tessellation shader.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn expanded(&self, key: &Expansion) -> Result<Arc<Variant>> {
        if let Some(shader) = self.current()? {
            return shader.expanded(key);
        }
        let Variants::Expanded(map) = &self.variants else { return Err(wrong_stage()) };
        map.get_or(key, || {
            self.variant(
                &self.program(&Interface::Expanded(*key), Additions::default())?,
                Linking::Whole,
            )
        })
    }

    /// A shader of expanded draws that follows from this one.
    ///
    /// # Errors
    /// When it does not compile, or there is no memory.
    pub(crate) fn derive_as(&self, ir: Ir, how: &Derivation) -> Result<Shader> {
        let key = variants::key(&(self.origin.key, how));
        let programs = self.origin.programs.clone();
        let (places, robust, origin) = match how.has_descriptors() {
            true => (self.places.clone(), self.robust, Origin { key, programs, ..self.origin }),
            false => {
                let captures = self.origin.captures;
                (Places::default(), false, Origin { key, programs, captures, ..Origin::default() })
            }
        };
        Shader::new(&self.device, ir, places, robust, origin, Linking::Whole)
    }

    /// Whether the shader has no effect at all, as that of draws without a fragment shader and DXVK's for them: it is
    /// not counted as invoked.
    pub fn does_nothing(&self) -> bool {
        let has_effect = |op: Op| !op.is_pure() && !op.is_terminator();
        !self.ir.any(|s, _, i| has_effect(s.insts[i].op))
    }

    /// Linking mode of variants that no pipeline requested in advance.
    pub fn linking(&self) -> Linking {
        self.linking
    }
}

fn wrong_stage() -> Error {
    Error::new(vk::Result::ERROR_UNKNOWN, "a shader of another stage")
}
