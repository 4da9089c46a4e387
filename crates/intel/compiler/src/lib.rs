//! The compiler for Intel's execution units (EUs): shaders from the IR to machine code.
//!
//! ```text
//! IR ─ passes ─ lower ─▶ IR ─ select ─▶ machine IR ─ cse, dce ─ spill ─ alloc ─▶ code ─ emit ─ compact ─▶ bytes
//! ```
//!
//! - [`prepare`]: the passes of [`tepui_passes`] in the order in which EUs need them; [`mod@target`] has their
//!   parameters, [`system_values`] the built-ins that threads do not have
//! - [`bind`]: the places of constants and surfaces, which the compiler reports to the driver
//! - [`interface`]: inputs and outputs of graphics shaders, which become [`stage`], the properties that drivers need;
//!   [`vue`]: the entry of a vertex; [`patch`]: the entry of a patch; [`payload`]: registers of graphics threads;
//!   [`emissions`]: emitted vertices as numbered ones
//! - [`scalars`]: values that one channel computes for all; `select`: instruction selection for a number of channels
//! - [`mir`]: the machine IR; [`tepui_regalloc`] optimises it, spills and allocates registers
//! - [`emit`]: instructions of the hardware and their jumps; [`tepui_intel_isa::layout`] compacts them
//! - [`stats`]: the statistics that Mesa prints
//!
//! Start reading at [`compile`].

pub mod bind;
pub mod emissions;
pub mod emit;
pub mod error;
mod fold;
pub mod interface;
mod lower_images;
pub mod mir;
mod named;
mod options;
pub mod patch;
pub mod payload;
mod primitives;
pub mod print;
pub mod replicated;
pub mod scalars;
mod select;
pub mod set_memory;
mod single_patch;
mod slots;
pub mod stage;
pub mod stats;
pub mod system_values;
pub mod target;
pub mod vue;

pub use tepui_backend::Names;

pub use bind::{BindMap, Constant, Sampler, Surface, View};
pub use error::{Error, Result};
pub use options::Options;
pub use patch::PatchInterface;
pub use set_memory::SetBinding;
pub use stage::{FragmentState, StageInfo, Variant};
pub use stats::Stats;

use mir::{Eu, GRF_UNITS, plane_units};
use payload::FragmentPayload;
use select::io;
use serde::{Deserialize, Serialize};
use target::target;
use tepui_backend::values::{self, Holds, ValueLocations};
use tepui_intel_isa::{Generation, layout};
use tepui_ir::{AtomicOp, Attrs, Inst, Loc, Op, Shader, Stage, Type, Value, stack};
use tepui_passes::pipeline::Pipeline;
use tepui_passes::{alignment, flatten_discards, fold_offsets, vectorise};
use tepui_regalloc::alloc::{self, Registers};
use tepui_regalloc::{RegSet, cse, dce, latency, liveness, phis, schedule, spill};

/// Maximum number of threads of a workgroup. source: Mesa, `intel_device_info.c` (`max_cs_threads`;
/// `max_cs_workgroup_threads` is at most 64)
#[must_use]
pub const fn max_threads(generation: Generation) -> u32 {
    match generation {
        Generation::Gen9 => 56,
        Generation::Gen12 => 64,
    }
}

/// Maximum bytes of scratch memory of a thread: 2 MiB are what MEDIA_VFE_STATE can give.
const MAX_SCRATCH: u64 = 2 << 20;

/// Maximum number of registers that inputs and constants take, so that some are left for values.
const MAX_INPUTS: u64 = 104;

/// Instructions for each access of a spilled value above which 16 channels are better than 8 without trying them.
const FEW_SPILLS: u32 = 64;

/// Units of scalar values above which all values are planes: scalar values are not spilled.
const MAX_SCALAR_UNITS: u16 = 72;

/// Units by which the registers of values that are not masked grow where these do not fit, though no more than that are alive at
/// once: vectors need consecutive units, which others lie between.
const MORE_UNMASKED: u16 = 16;
/// Units above which they do not grow any more.
const MAX_MORE_UNMASKED: u16 = 4 * MORE_UNMASKED;

/// A compiled shader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Machine code of all variants.
    pub code: Vec<u8>,
    /// Channels of a thread of the last variant, the widest.
    pub width: u8,
    /// The program for each number of channels, ascending: fragment programs can have several.
    pub variants: Vec<Variant>,
    /// Properties of the stage.
    pub stage: StageInfo,
    /// The places of constants and surfaces.
    pub map: BindMap,
    /// Constant data, for [`Surface::Data`].
    pub data: Vec<u8>,
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Whether threads wait for each other.
    pub has_barrier: bool,
    /// Statistics of the last variant.
    pub stats: Stats,
    /// Source location of each instruction: offset in bytes and location.
    #[serde(skip)]
    pub locs: Vec<(u32, Loc)>,
    /// IR values in its registers, with [`Options::names`]. A unit is 16 bytes ([`mir::UNIT_BYTES`]); one unit is a double word
    /// for all channels. Uniform registers are double words, by their number in the register file.
    pub names: Names,
}

impl Program {
    /// Cycles of a thread of a program with one variant, as Mesa's compiler estimates them.
    ///
    /// # Errors
    /// When the code is not that of the generation.
    pub fn cycles(&self, generation: Generation) -> Result<u64> {
        let code = tepui_intel_analysis::Code::decode(generation, &self.code);
        let code = code.map_err(|e| Error::Internal(e.to_string()))?;
        Ok(tepui_intel_analysis::estimate(&code, self.width).cycles as u64)
    }

    /// Threads of a workgroup.
    #[must_use]
    pub fn threads(&self) -> u32 {
        let invocations: u32 = self.workgroup_size.iter().product();
        invocations.div_ceil(u32::from(self.width))
    }
}

/// A snapshot of the program after a pass, for the debug callback.
pub enum Snapshot<'a> {
    /// The IR after a pass.
    Ir(&'a Shader),
    /// The machine IR after a pass.
    Mir(&'a mir::Function),
}

/// Runs the passes on the IR that come before selection. `after` sees the shader after each.
///
/// # Panics
/// When [`Options::check`] is set, and in debug builds, if a pass leaves an invalid shader.
pub fn prepare(
    s: &mut Shader,
    generation: Generation,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) {
    let mut look = |name: &'static str, s: &Shader| {
        if options.check
            && let Err(e) = tepui_ir::validate(s)
        {
            panic!("after {name}: {e}\n{s}");
        }
        after(name, Snapshot::Ir(s));
    };
    // A round of a loop takes three instructions for its counter and jump, one of them on one channel.
    let mut p = Pipeline::new(target(generation).lanes, &mut look)
        .without_partial_unrolling()
        .with_unrolling(target::UNROLLING);
    if options.robust {
        p.with(s, "mark_robust", vectorise::mark_robust);
    }
    lower_stage(s, generation, &mut p);
    p.optimise(s);
    if p.with(s, "flatten_discards", flatten_discards::run) {
        p.optimise(s);
    }
    if p.with(s, "fold_offsets", fold_offsets::run) {
        for name in ["simplify", "dce", "vectorise"] {
            p.run(s, name);
        }
        p.with(s, "unfold_offsets", fold_offsets::unfold);
        for name in ["simplify", "dce", "licm"] {
            p.run(s, name);
        }
    }
    p.with(s, "alignment", alignment::run);
    lower_rest(s, generation, options, &mut p);
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(
    s: &mut Shader,
    generation: Generation,
    options: &Options,
    look: &mut dyn FnMut(&'static str, &Shader),
) {
    let mut p = Pipeline::new(target(generation).lanes, look);
    lower_stage(s, generation, &mut p);
    lower_rest(s, generation, options, &mut p);
}

/// Lowers system values, patches and emitted vertices, before all other passes.
fn lower_stage(s: &mut Shader, generation: Generation, p: &mut Pipeline<'_>) {
    match s.info.stage {
        Stage::Compute => _ = p.with(s, "system_values", system_values::run),
        Stage::TessControl => {
            p.with(s, "single_patch", |s| single_patch::run(s, generation));
        }
        Stage::Geometry => {
            // Invariance follows from stores of outputs.
            p.run(s, "invariance");
            p.with(s, "emissions", emissions::run);
        }
        Stage::Vertex | Stage::TessEvaluation | Stage::Fragment => {}
    }
}

fn lower_rest(s: &mut Shader, generation: Generation, options: &Options, p: &mut Pipeline<'_>) {
    let target = target(generation);
    tepui_passes::target::lower_textures(s, &target, p);
    p.with(s, "lower_images", |s| lower_images::run(s, generation));
    p.with(s, "uniform_operands", |s| {
        tepui_passes::uniform_operands::run(s, &select::uniform_operands)
    });
    p.with(s, "lower_buffers", |s| {
        tepui_passes::lower_buffers::run_where(s, &|s, i| by_address(s, i, options.sets))
    });
    p.with(s, "lower_atomics", |s| tepui_passes::lower_atomics::run_but(s, &is_native));
    // Selection refuses what is left, and names it.
    let _ = tepui_passes::target::lower(s, &target, p);
}

/// Whether messages have an atomic of floats: minima and maxima of 32 bits in surfaces and workgroup memory.
/// source: Mesa, brw_eu_defines.h (`GFX9_DATAPORT_DC_PORT1_UNTYPED_ATOMIC_FLOAT_OP`)
fn is_native(s: &Shader, i: Inst) -> bool {
    let Attrs::Atomic(how, _) = s.insts[i].attrs else { return false };
    matches!(s.insts[i].op, Op::AtomicBuffer | Op::AtomicShared)
        && matches!(how, AtomicOp::FMin | AtomicOp::FMax)
        && s.results(i).iter().all(|&v| s.ty(v) == Type::B32)
}

/// Whether an access of a buffer goes to its address instead of a surface: the binding table does not have the buffer, or
/// surfaces do not have the operation.
fn by_address(s: &Shader, i: Inst, sets: &[SetBinding]) -> bool {
    let wide = |v: &Value| s.ty(*v).bits() == 64;
    if s.insts[i].op == Op::AtomicBuffer && s.results(i).iter().any(wide) {
        return true;
    }
    let Some((res, index)) = s.args(i).first().and_then(|&h| bind::descriptor_of(s, h)) else {
        return false;
    };
    let r = &s.resources[res];
    let bindless = |p: &SetBinding| (p.set, p.binding) == (r.set, r.binding) && p.bindless;
    s.as_const(index).is_none() || sets.iter().any(bindless)
}

/// Compiles a shader: passes, selection, allocation, packing. `after` sees each stage's result.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_with(
    s: &mut Shader,
    generation: Generation,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    stack::for_shader(s).run(|| {
        prepare(s, generation, options, after);
        compile_prepared(s, generation, options, after)
    })
}

/// [`compile_with`] without looking.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile(s: &mut Shader, generation: Generation, options: &Options) -> Result<Program> {
    compile_with(s, generation, options, &mut |_, _| {})
}

/// The machine-dependent part: from prepared IR to code.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_prepared(
    s: &Shader,
    generation: Generation,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    limits(s)?;
    stack::for_shader(s).run(|| {
        let mut c = Compilation {
            s,
            generation,
            stage: interface::analyse(s, generation, options)?,
            options,
            after,
        };
        match (s.info.stage, options.width) {
            (Stage::Compute, 0) => c.widest(),
            (Stage::Fragment, 0) => c.fragments(),
            (Stage::Compute | Stage::Fragment, width) => c.back_end(width),
            _ => c.back_end(8),
        }
    })
}

/// A shader that is compiled for several numbers of channels.
struct Compilation<'a> {
    s: &'a Shader,
    generation: Generation,
    stage: StageInfo,
    options: &'a Options<'a>,
    after: &'a mut dyn FnMut(&'static str, Snapshot<'_>),
}

impl Compilation<'_> {
    /// A program of 16 channels, of 8 where the workgroup is small or 16 spill and take longer than twice 8, of 32 where the
    /// workgroup needs them.
    fn widest(&mut self) -> Result<Program> {
        let invocations: u32 = self.s.info.workgroup_size.iter().product();
        if invocations <= 8 {
            return self.back_end(8);
        }
        if invocations > 16 * max_threads(self.generation) {
            return self.back_end(32);
        }
        let first = self.back_end(16)?;
        let accesses = first.stats.spills + first.stats.fills;
        let few = accesses * FEW_SPILLS <= first.stats.instructions;
        if few || invocations > 8 * max_threads(self.generation) {
            return Ok(first);
        }
        let second = self.back_end(8)?;
        // Twice as many threads.
        let slower = 2 * second.cycles(self.generation)? > first.cycles(self.generation)?;
        Ok(if slower { first } else { second })
    }

    /// Programs of 8 and of 16 channels where that does not spill; only one of them if it runs for each sample. source: Mesa,
    /// `intel_genX_state_brw.h` (`intel_set_ps_dispatch_state`)
    fn fragments(&mut self) -> Result<Program> {
        let narrow = self.back_end(8)?;
        let StageInfo::Fragment(info) = &self.stage else { return Ok(narrow) };
        let per_sample = info.per_sample;
        if info.stencil || info.dual_source || narrow.stats.spills > 0 {
            return Ok(narrow);
        }
        let wide = self.back_end(16)?;
        Ok(match wide.stats.spills {
            0 if per_sample => wide,
            0 => join(narrow, wide),
            _ => narrow,
        })
    }

    fn back_end(&mut self, width: u8) -> Result<Program> {
        if let StageInfo::Fragment(info) = &self.stage
            && (info.stencil || info.dual_source)
            && width != 8
        {
            return Err(Error::Feature("stencil or a second colour for other than 8 channels"));
        }
        match width {
            8 => back_end_of::<8>(self),
            16 => back_end_of::<16>(self),
            32 if self.s.info.stage == Stage::Compute => back_end_of::<32>(self),
            _ => Err(Error::Feature("this number of channels")),
        }
    }
}

/// Two programs of a shader as one. A program begins at a multiple of 64 bytes.
fn join(first: Program, second: Program) -> Program {
    let mut code = first.code;
    code.resize(code.len().next_multiple_of(64), 0);
    let offset = code.len() as u32;
    code.extend(&second.code);
    let moved = |&v: &Variant| Variant { offset: v.offset + offset, ..v };
    let mut variants = first.variants;
    variants.extend(second.variants.iter().map(moved));
    let mut locs = first.locs;
    locs.extend(second.locs.iter().map(|&(at, loc)| (at + offset, loc)));
    let names = join_names(first.names, second.names, offset);
    Program { code, variants, locs, names, ..second }
}

/// The names of two programs, the second of which begins at an offset. Uniform registers are those of the second.
fn join_names(mut first: Names, second: Names, offset: u32) -> Names {
    let known = first.names.len() as u32;
    first.names.extend(second.names);
    let moved = |h: Holds, by| Holds { offset: h.offset + by, name: h.name + known, ..h };
    first.registers.extend(second.registers.into_iter().map(|h| moved(h, offset)));
    first.uniforms = second.uniforms.into_iter().map(|h| moved(h, 0)).collect();
    first
}

/// Refuses shaders that no dispatch can have. source: Mesa, `anv_physical_device.c` (`maxComputeWorkGroupInvocations`,
/// `maxComputeSharedMemorySize`)
fn limits(s: &Shader) -> Result<()> {
    let threads: u64 = s.info.workgroup_size.iter().map(|&n| u64::from(n)).product();
    check_limit("invocations of a workgroup", threads, 1024)?;
    check_limit("bytes of workgroup memory", u64::from(s.info.shared_bytes), 65536)
}

fn check_limit(what: &'static str, needed: u64, limit: u64) -> Result<()> {
    if needed > limit { Err(Error::Limit { what, needed, limit }) } else { Ok(()) }
}

/// Registers of a program, apart from those of its constants.
struct Layout {
    /// The first register after constants and inputs.
    first: u16,
    /// Registers of inputs that values take when the inputs are not needed any more.
    inputs: RegSet,
    /// The first register after those of values.
    end: u16,
}

impl Layout {
    fn new(stage: &io::Stage<'_>, constants: u16, width: u8) -> Layout {
        let first = stage.start() + constants;
        let inputs = |from: u16, registers: u16| {
            RegSet::range(GRF_UNITS * from..GRF_UNITS * (from + registers))
        };
        let plane = u16::from(width / 8);
        match stage {
            io::Stage::Compute => Layout { first, inputs: RegSet::EMPTY, end: emit::RESERVED },
            io::Stage::Vertex(info) => {
                let registers = info.registers();
                let inputs = inputs(first, registers);
                Layout { first: first + registers, inputs, end: emit::RESERVED }
            }
            io::Stage::Hull(_) | io::Stage::Geometry(_) => {
                Layout { first, inputs: RegSet::EMPTY, end: emit::RESERVED }
            }
            io::Stage::Domain(info) => {
                let first = first + u16::from(info.read_length);
                Layout { first, inputs: RegSet::EMPTY, end: emit::RESERVED }
            }
            io::Stage::Fragment(info, payload, state) => {
                let parts = [(info.source_depth, payload.depth), (info.source_w, payload.w)];
                let there = parts.into_iter().filter(|p| p.0);
                let inputs = there.fold(RegSet::EMPTY, |set, p| set.union(inputs(p.1, plane)));
                // Targets but the last have a prefix in the last registers.
                let alpha = u16::from(state.replicate_alpha) * plane;
                let prefix = 2 + alpha + u16::from(info.sample_mask);
                let several = info.targets.count_ones() > 1;
                let end = if several { 128 - prefix } else { emit::RESERVED };
                let registers = 2 * info.inputs.len() as u16;
                Layout { first: first + registers, inputs, end }
            }
        }
    }

    /// The registers of values: those that are not masked are the last ones of compute programs, and the first ones of others,
    /// whose last ones become the payload of the message that ends the thread.
    /// A register is that of barriers where there are any.
    fn registers(
        &self,
        f: &mir::Function,
        stage: &io::Stage<'_>,
        width: u8,
        unmasked: u16,
        options: &Options,
    ) -> Registers {
        let plane = u16::from(plane_units(width));
        let first = (GRF_UNITS * self.first).next_multiple_of(plane);
        let is_barrier =
            |op: &mir::MOp| matches!(op, mir::MOp::Isa(inst) if inst.op == mir::Op::Barrier);
        let has_barrier = f.insts.values().any(|inst| is_barrier(&inst.op));
        let end = if has_barrier { self.end.min(emit::BARRIER.into()) } else { self.end };
        let end = GRF_UNITS * end / plane * plane;
        let unmasked = unmasked.next_multiple_of(plane);
        let end = match options.registers {
            0 => end,
            n => {
                let beside = if matches!(stage, io::Stage::Compute) { 0 } else { unmasked };
                end.min(first + beside + (GRF_UNITS * n).next_multiple_of(plane))
            }
        };
        let (values, unmasked) = match stage {
            io::Stage::Compute => {
                let divide = end.saturating_sub(unmasked).max(first);
                (first..divide, divide..end)
            }
            _ => {
                let divide = (first + unmasked).min(end);
                (divide..end, first..divide)
            }
        };
        Registers {
            in_turns: false,
            values: RegSet::range(values).union(self.inputs),
            unmasked: RegSet::range(unmasked),
            // Payloads are there only within sequences that no copy divides.
            scratch: RegSet::range(GRF_UNITS * emit::RESERVED / plane * plane..256),
        }
    }
}

/// Units for the values that are not masked: what they need at once, and what alignment can waste.
fn unmasked_units<const W: u8>(f: &mir::Function) -> Result<u16> {
    let classes = f.vals.values().filter(|class| class.unmasked);
    let waste = classes.map(|class| u16::from(class.units)).max().unwrap_or(0);
    let units = alloc::unmasked::pressure::<Eu<W>>(f)?;
    Ok(if units == 0 { 0 } else { units.min(256) as u16 + waste })
}

/// Selected instructions, before registers are allocated.
struct Selected {
    f: mir::Function,
    ending: select::Ending,
    map: BindMap,
    /// Units of values that are not masked.
    unmasked: u16,
    value_locations: Option<ValueLocations>,
}

/// Selects instructions and removes those that nothing uses.
fn selected<const W: u8>(
    s: &Shader,
    generation: Generation,
    options: &Options,
    stage: io::Stage<'_>,
    scalars: bool,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Selected> {
    let has_scalars = scalars;
    let mut map = BindMap::new(s, options.sets, stage.surfaces())?;
    let scalars = scalars.then(|| scalars::Scalars::new(s));
    let select::Selection { mut f, ending, value_locations } =
        select::select(s, generation, W, stage, scalars, &mut map, options.names)?;
    after("select", Snapshot::Mir(&f));
    phis::run(&mut f);
    cse::run::<Eu<W>>(&mut f, |f, i| match &f.insts[i].op {
        // Addresses are not spilled; what they are made of is.
        mir::MOp::Isa(mir::Inst { op: mir::Op::Address, .. }) => has_scalars,
        mir::MOp::Isa(inst) => mir::is_shared(inst),
        _ => false,
    });
    dce::run::<Eu<W>>(&mut f);
    fold::run(&mut f, generation);
    dce::run::<Eu<W>>(&mut f);
    select::separate_payloads(&mut f);
    after("mir_dce", Snapshot::Mir(&f));
    let layout = Layout::new(&stage, map.registers(), W);
    check_limit("registers of inputs and constants", layout.first.into(), MAX_INPUTS)?;
    let unmasked = order::<W>(&mut f, &layout, &stage, options, after)?;
    Ok(Selected { f, ending, map, unmasked, value_locations })
}

/// Orders the instructions of each block: for pressure where values do not fit, and for latency. Returns the units of values
/// that are not masked: what they need depends on the order, and the schedulers do not see it.
fn order<const W: u8>(
    f: &mut mir::Function,
    layout: &Layout,
    stage: &io::Stage<'_>,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<u16> {
    let mut unmasked = unmasked_units::<W>(f)?;
    let room =
        |f: &mir::Function, unmasked| layout.registers(f, stage, W, unmasked, options).values.len();
    let limit = room(f, unmasked);
    let live = liveness::Liveness::new(f)?;
    let pressure = |f: &mir::Function| liveness::pressure::<Eu<W>>(f, &live).0;
    for is_latency in [false, true] {
        // Vectors are not spilled, so those of messages stay next to them where others are.
        let is_full = pressure(f) > limit;
        let old = f.blocks.clone();
        let changed = match is_latency {
            false => is_full && schedule::run::<Eu<W>>(f, &live, limit, limit),
            true => !is_full && latency::run::<Eu<W>>(f, &live, limit - limit / 8),
        };
        if !changed {
            continue;
        }
        let needed = unmasked_units::<W>(f)?;
        if needed > unmasked && (needed > MAX_SCALAR_UNITS || pressure(f) > room(f, needed)) {
            f.blocks = old;
            continue;
        }
        unmasked = needed;
        after(if is_latency { "latency" } else { "schedule" }, Snapshot::Mir(f));
    }
    Ok(unmasked)
}

fn back_end_of<const W: u8>(c: &mut Compilation<'_>) -> Result<Program> {
    let mut more = 0;
    loop {
        match with_unmasked::<W>(c, more) {
            Err(Error::Registers(tepui_regalloc::Error::Unmasked { .. }))
                if more < MAX_MORE_UNMASKED =>
            {
                more += MORE_UNMASKED;
            }
            done => return done,
        }
    }
}

/// The program with more units for values that are not masked than they need at once.
fn with_unmasked<const W: u8>(c: &mut Compilation<'_>, more: u16) -> Result<Program> {
    let Compilation { s, generation, stage: info, options, after } = c;
    let (s, generation) = (*s, *generation);
    let payload = match info {
        StageInfo::Fragment(info) => FragmentPayload::new(info, W),
        _ => FragmentPayload::default(),
    };
    let stage = match info {
        StageInfo::Compute => io::Stage::Compute,
        StageInfo::Vertex(info) => io::Stage::Vertex(info),
        StageInfo::Hull(info) => io::Stage::Hull(info),
        StageInfo::Domain(info) => io::Stage::Domain(info),
        StageInfo::Geometry(info) => io::Stage::Geometry(info),
        StageInfo::Fragment(info) => io::Stage::Fragment(info, payload, options.fragment),
    };
    let patch_threads = match stage {
        io::Stage::Hull(info) => info.threads,
        _ => 0,
    };
    let first = selected::<W>(s, generation, options, stage, true, after)?;
    let selected = match first.unmasked > MAX_SCALAR_UNITS {
        true => selected::<W>(s, generation, options, stage, false, after)?,
        false => first,
    };
    let Selected { mut f, ending, map, unmasked, value_locations } = selected;
    let layout = Layout::new(&stage, map.registers(), W);
    let mut registers = layout.registers(&f, &stage, W, unmasked + more, options);
    registers.in_turns = generation == Generation::Gen12;
    let room = registers.values.len();
    let mut live = liveness::Liveness::new(&f)?;
    let (pressure, _) = liveness::pressure::<Eu<W>>(&f, &live);
    // Double words of all channels in a row, as `select` addresses them; whole registers of spilled values follow.
    let scratch_bytes = s.info.scratch_bytes.div_ceil(4).saturating_mul(4 * u32::from(W));
    check_limit("bytes of scratch memory", scratch_bytes.into(), MAX_SCRATCH)?;
    let mut spilled = spill::Spilled { scratch_bytes, ..Default::default() };
    if pressure > room {
        (live, spilled) = spill::run::<Eu<W>>(&mut f, &live, room, scratch_bytes)?;
        after("spill", Snapshot::Mir(&f));
    }
    let extras = alloc::Extras { check: options.checks(), defs: options.names };
    let code = alloc::run::<Eu<W>>(&f, &live, &registers, extras)?;
    let mut listing = emit::run(
        generation,
        W,
        &code,
        &registers,
        &emit::Thread { ending, positions: payload.positions, patch_threads },
    )?;
    let bytes = layout::assemble(&mut listing.insts, &listing.targets)?;
    let mut locs = Vec::with_capacity(listing.insts.len());
    let mut at = 0;
    for (inst, &(loc, _)) in listing.insts.iter().zip(&listing.origins) {
        locs.push((at, loc));
        at += inst.bytes() as u32;
    }
    let names = value_locations.map_or(Names::default(), |locations| {
        let held = values::held(&f, &locations, &code.defs);
        let steps: Vec<_> = listing.origins.iter().map(|origin| origin.1).collect();
        let registers = values::place_steps(&held, &steps, &locs);
        Names::new(&values::Values { registers, uniforms: locations.uniforms }, s)
    });
    let mut stats = Stats::new(&listing, W, &spilled);
    stats.registers = u32::from(code.units.div_ceil(GRF_UNITS));
    let start = map.start as u8;
    Ok(Program {
        code: bytes,
        width: W,
        variants: vec![Variant { width: W, offset: 0, start, stats }],
        stage: info.clone(),
        map,
        data: s.data.clone(),
        workgroup_size: s.info.workgroup_size,
        shared_bytes: s.info.shared_bytes,
        has_barrier: listing.has_barrier,
        stats,
        locs,
        names,
    })
}
