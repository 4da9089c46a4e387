//! The shader compiler for Valhall (Mali v9 and v10): shaders from the IR to machine code.
//!
//! ```text
//! IR ─ passes ─ lower ─▶ IR ─ select ─▶ machine IR ─ cse, dce, schedule, spill, registers ─▶ code ─ emit ─▶ bytes
//! ```
//!
//! - [`prepare`]: the passes of [`tepui_passes`] in the order in which Valhall needs them; [`mod@target`] has their parameters
//! - [`interface`]: resource tables and fast-access uniforms, between a program and its driver; [`preload`]: the registers that
//!   hold something at the start
//! - [`clips`]: clip and cull distances, and viewports
//! - [`stage`]: properties of graphics programs; `tepui_passes::side_effects`: discards
//! - `select`: instruction selection, which keeps the hardware's rules for uniforms and constants
//! - [`mir`]: the machine IR, which [`tepui_backend`] optimises, schedules and gives registers
//! - `emit`: branches, dependency slots, the flow field, marks of last uses, encoding
//! - [`stats`]: the statistics that Mesa prints
//!
//! Start reading at [`compile`].

pub mod clips;
mod emit;
pub mod error;
pub mod interface;
mod lower_images;
pub mod mir;
pub mod preload;
mod select;
pub mod stage;
pub mod stats;
pub mod target;

pub use clips::Clips;
pub use error::{Error, Result};
pub use interface::{Binding, FauWord, Layout};
pub use stage::{Entry, FragmentInfo, StageInfo, VertexInfo};
pub use stats::Stats;
pub use tepui_backend::dot;
pub use tepui_backend::values::{self, Names};

use interface::Fau;
use mir::{FULL_OCCUPANCY, Function, REGISTERS, Valhall};
use select::{Part, Request};
use serde::{Deserialize, Serialize};
use target::{UNROLLING, target};
use tepui_backend::{Budget, Finished, finish};
use tepui_ir::{Access, Attrs, Inst, Loc, Op, Shader, Stage, stack};
use tepui_passes::pipeline::Pipeline;
use tepui_passes::{
    flatten_discards, fold_offsets, lower_buffers, lower_quads, nan_selects, push_words,
    side_effects, uniform_operands, vectorise,
};
use tepui_regalloc::Error as RegistersError;
use tepui_sysval::SystemValue;

/// Minimum number of registers that a limit can leave.
const MIN_REGISTERS: u16 = 16;
/// Maximum bytes of scratch memory of a thread. source: [est] the size field of local storage has five bits, in powers of two
const MAX_SCRATCH: u64 = 1 << 20;
/// Words of a granule of pushed uniform buffers: a slot.
const GRANULE: u32 = 2;
/// Maximum number of ranges of pushed uniform buffers.
const MAX_RANGES: usize = 8;

/// Options of the compiler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The descriptors of bindings; if there is none, [`Layout::of`] decides.
    pub layout: Option<&'a Layout>,
    /// Accesses of buffers, images and attributes out of bounds are defined.
    pub robust: bool,
    /// A fragment program runs once for each sample, with the inputs of the pixel: it reads and writes the tile buffer sample by sample.
    pub each_sample: bool,
    /// The resource table of vertex attributes: the one of location N has the index N.
    pub attribute_table: u8,
    /// Attributes are fetched from the first instance on, which only the GPU knows, by [`FauWord::Instances`]; their descriptors begin at
    /// instance 0. Vertex shaders that run as compute programs always do so.
    pub adds_first_instance: bool,
    /// Fragments: outputs of the last stage by which they are discarded.
    pub clips: Clips,
    /// Fragments: samples of a pixel.
    pub samples: u32,
    /// Location by which vertices pass the number of the primitive to fragments; it moves to those of [`Clips`].
    pub primitive_location: Option<u16>,
    /// Words at the start of fast-access uniforms that are the driver's own.
    pub reserved_fau: u8,
    /// Words of uniform buffers that the driver can put into fast-access uniforms.
    pub pushed_words: u32,
    /// The driver can put addresses of buffers into fast-access uniforms.
    pub pushes_addresses: bool,
    /// The limit of registers; 0 for all.
    pub registers: u16,
    /// [`Program::names`] are wanted.
    pub names: bool,
    /// Checks the IR after each pass, the machine IR and the allocation of registers; debug builds always do.
    pub check: bool,
}

impl Options<'_> {
    fn checks(&self) -> bool {
        self.check || cfg!(debug_assertions)
    }
}

/// A compiled shader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Machine code.
    pub code: Vec<u8>,
    /// Constant data, which belongs into memory at an address of 16 bytes' alignment ([`FauWord::DataAddress`]).
    pub data: Vec<u8>,
    /// Fast-access uniforms, after the words of [`Options::reserved_fau`].
    pub fau: Vec<FauWord>,
    /// Registers that the hardware must preload: bit N is r48 + N.
    pub preload: u16,
    /// Properties of its stage.
    pub stage: StageInfo,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Invocations of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Statistics.
    pub stats: Stats,
    /// Source location of each instruction: offset in bytes and location.
    #[serde(skip)]
    pub locs: Vec<(u32, Loc)>,
    /// IR values in its registers, with [`Options::names`].
    #[serde(skip)]
    pub names: Names,
}

impl Program {
    /// Words of fast-access uniforms with those of the driver, rounded up to whole slots.
    #[must_use]
    pub fn fau_words(&self, reserved: u8) -> u32 {
        (u32::from(reserved) + self.fau.len() as u32).next_multiple_of(2)
    }
}

/// A snapshot of the program after a pass, for the debug callback.
pub type Snapshot<'a> = tepui_backend::Snapshot<'a, Valhall>;

/// Results of [`prepare`]: words of uniform buffers that it has moved to the driver's data, after what the shader reads there itself.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// Byte of the first one.
    first_byte: u32,
    words: Vec<FauWord>,
    /// Outputs of a vertex shader by which fragments are discarded.
    clips: Clips,
}

impl Prepared {
    /// The word at an offset of the driver's data.
    fn word(&self, offset: u32) -> FauWord {
        let moved = offset.checked_sub(self.first_byte).map(|byte| byte as usize / 4);
        let word = moved.and_then(|at| self.words.get(at)).copied();
        word.unwrap_or(FauWord::System(SystemValue::Driver { offset }, 0))
    }
}

/// End of what a shader reads of the driver's data, in bytes, rounded up to whole words.
fn driver_bytes(s: &Shader) -> u32 {
    let mut end = 0;
    s.walk(|s, _, i| {
        if let (Op::LoadUniform, Attrs::Mem(m)) = (s.insts[i].op, &s.insts[i].attrs)
            && let Some(at) = s.as_const(s.arg(i, 0))
        {
            let first = (at as u32).saturating_add_signed(m.offset);
            end = end.max(first.saturating_add(s.ty(s.result(i)).size_bytes()));
        }
    });
    end.saturating_add(3) & !3
}

/// Runs the passes on the IR that come before selection. `after` sees the shader after each.
///
/// # Panics
/// When [`Options::check`] is set, and in debug builds, if a pass leaves an invalid shader.
pub fn prepare(
    s: &mut Shader,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Prepared {
    let mut look = |name: &'static str, s: &Shader| {
        if options.check
            && let Err(e) = tepui_ir::validate(s)
        {
            panic!("after {name}: {e}\n{s}");
        }
        after(name, Snapshot::Ir(s));
    };
    let mut p = Pipeline::new(target().lanes, &mut look)
        .without_partial_unrolling()
        .with_unrolling(UNROLLING);
    if options.robust {
        p.with(s, "mark_robust", vectorise::mark_robust);
    }
    lower_stage(s, &mut p);
    p.optimise(s);
    if p.with(s, "flatten_discards", flatten_discards::run) {
        p.optimise(s);
    }
    if p.with(s, "nan_selects", nan_selects::run) {
        p.run(s, "dce");
    }
    if p.with(s, "fold_offsets", fold_offsets::run) {
        for name in ["simplify", "dce", "licm", "vectorise", "simplify", "dce"] {
            p.run(s, name);
        }
    }
    let prepared = push(s, options, &mut p);
    Prepared { clips: lower_rest(s, options, &mut p), ..prepared }
}

/// Moves words of uniform buffers to the driver's data, whose first word follows those.
fn push(s: &mut Shader, options: &Options<'_>, p: &mut Pipeline<'_>) -> Prepared {
    let mut words = Vec::new();
    if options.pushed_words == 0 {
        return Prepared::default();
    }
    let first_byte = driver_bytes(s);
    let budget = push_words::Budget {
        words: options.pushed_words,
        granule: GRANULE,
        ranges: MAX_RANGES,
        first_byte,
    };
    let mut ranges = Vec::new();
    p.with(s, "push_words", |s| {
        ranges = push_words::run_where(s, &budget, |set, binding| {
            options.layout.is_none_or(|l| l.find(set, binding).is_some_and(|b| b.is_pushable))
        });
        !ranges.is_empty()
    });
    for r in ranges {
        let (set, binding, element) = (r.set, r.binding, r.element);
        let of = |n| FauWord::Buffer { set, binding, element, word: r.first_word + n };
        words.extend((0..r.words).map(of));
    }
    p.run(s, "dce");
    Prepared { first_byte, words, ..Prepared::default() }
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(s: &mut Shader, options: &Options<'_>, look: &mut dyn FnMut(&'static str, &Shader)) {
    let mut p = Pipeline::new(target().lanes, look);
    lower_stage(s, &mut p);
    lower_rest(s, options, &mut p);
}

/// Lowers what is a stage's own, before all other passes.
fn lower_stage(s: &mut Shader, p: &mut Pipeline<'_>) {
    p.with(s, "lower_quads", lower_quads::run);
}

/// Lowers what is left; returns the outputs of a vertex shader that fragments are clipped by.
fn lower_rest(s: &mut Shader, options: &Options<'_>, p: &mut Pipeline<'_>) -> Clips {
    let target = target();
    tepui_passes::target::lower_textures(s, &target, p);
    p.with(s, "lower_images", |s| lower_images::run(s, options.robust));
    p.run(s, "lower_atomics");
    p.run(s, "lower_io");
    let mut clips = Clips::default();
    p.with(s, "clips", |s| {
        clips = clips::run(s, options);
        clips != Clips::default()
    });
    // The hardware's discard ends the thread, at which other lanes may still look.
    let asks = s.any(|s, _, i| s.insts[i].op == Op::IsHelper);
    let discards = side_effects::Options {
        records_discards: asks || stage::needs_helpers(s),
        guards_helpers: false,
        all_samples: 0xffff,
    };
    if p.with(s, "side_effects", |s| side_effects::run(s, discards)) {
        for name in ["promote", "control", "simplify", "dce"] {
            p.run(s, name);
        }
    }
    p.with(s, "uniform_operands", |s| uniform_operands::run(s, &|_, _| Vec::new()));
    p.with(s, "lower_buffers", |s| lower_buffers::run_where(s, &stores_several));
    // Selection refuses what is left, and names it.
    let _ = tepui_passes::target::lower(s, &target, p);
    clips
}

/// Whether an instruction is a store of several elements whose bounds are checked: the hardware checks the first byte alone.
fn stores_several(s: &Shader, i: Inst) -> bool {
    let (Op::StoreBuffer, Attrs::Mem(m)) = (s.insts[i].op, s.insts[i].attrs) else { return false };
    m.access.contains(Access::ROBUST) && s.args(i).last().is_some_and(|&v| s.ty(v).size_bytes() > 4)
}

/// Compiles a shader: passes, selection, allocation, emission. `after` sees each stage's result.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_with(
    s: &mut Shader,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    stack::for_shader(s).run(|| {
        let prepared = prepare(s, options, after);
        compile_prepared(s, &prepared, options, after)
    })
}

/// [`compile_with`] without looking.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile(s: &mut Shader, options: &Options<'_>) -> Result<Program> {
    compile_with(s, options, &mut |_, _| {})
}

/// The machine-dependent part: from prepared IR to code.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_prepared(
    s: &Shader,
    prepared: &Prepared,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    limits(s)?;
    stack::for_shader(s).run(|| back_end(s, prepared, options, after))
}

fn back_end(
    s: &Shader,
    prepared: &Prepared,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    let own;
    let layout = match options.layout {
        Some(layout) => layout,
        None => {
            own = Layout::of(s);
            &own
        }
    };
    let request = Request {
        layout,
        pushed: prepared,
        part: Part::Whole,
        attribute_table: options.attribute_table,
        pushes_addresses: options.pushes_addresses,
        adds_first_instance: options.adds_first_instance || s.info.stage == Stage::Compute,
        each_sample: options.each_sample,
        robust: options.robust,
        value_locations: options.names,
    };
    let mut c =
        Compilation { s, request, options, after, fau: Fau::new(options.reserved_fau.into()) };
    let mut program = match s.info.stage {
        Stage::Vertex => c.vertex()?,
        Stage::Fragment => {
            let mut info = stage::fragment(s);
            info.per_sample |= options.each_sample;
            let stage = StageInfo::Fragment(info);
            Program { stage, ..c.part(Part::Whole)? }
        }
        _ => c.part(Part::Whole)?,
    };
    program.fau = c.fau.into_words();
    program.stats.fau = program.fau.len() as u32;
    Ok(program)
}

/// A shader that is compiled, in one part or several.
struct Compilation<'a> {
    s: &'a Shader,
    request: Request<'a>,
    options: &'a Options<'a>,
    after: &'a mut dyn FnMut(&'static str, Snapshot<'_>),
    /// The uniforms of all parts.
    fau: Fau,
}

impl Compilation<'_> {
    fn part(&mut self, part: Part) -> Result<Program> {
        let (s, options) = (self.s, self.options);
        let request = Request { part, ..self.request };
        let selected = select::select(s, request, std::mem::take(&mut self.fau))?;
        self.fau = selected.fau;
        let mut f = selected.function;
        (self.after)("select", Snapshot::Mir(&f));
        let finished = allocate(&mut f, s.info.scratch_bytes, options, self.after)?;
        let listing = emit::run(&finished.code);
        let encoded = emit::encode(&listing)?;
        let uniforms = f.value_locations.as_mut().map(|m| std::mem::take(&mut m.uniforms));
        let names = uniforms.map_or(Names::default(), |uniforms| {
            let registers = values::place(&finished.held, &listing.lines, &encoded.locs);
            Names::new(&values::Values { registers, uniforms }, s)
        });
        let mut stats = Stats::default();
        stats.count(&listing);
        stats.bytes = encoded.code.len() as u32;
        stats.registers = used_registers(&listing).into();
        stats.spills = finished.spilled.stores;
        stats.fills = finished.spilled.loads;
        stats.scratch = finished.spilled.scratch_bytes;
        Ok(Program {
            code: encoded.code,
            data: s.data.clone(),
            fau: Vec::new(),
            preload: selected.preload,
            stage: StageInfo::Compute,
            shared_bytes: s.info.shared_bytes,
            workgroup_size: s.info.workgroup_size,
            stats,
            locs: encoded.locs,
            names,
        })
    }

    /// The programs of a vertex shader, one after the other.
    fn vertex(&mut self) -> Result<Program> {
        let mut info = stage::vertex(self.s)?;
        info.clips = self.request.pushed.clips;
        let mut program = self.part(Part::Position)?;
        if info.point_size {
            let other = self.part(Part::PositionWithoutSize)?;
            info.without_point_size = Some(append(&mut program, &other));
        }
        if info.varying_bytes > 0 {
            let other = self.part(Part::Varying)?;
            info.varying = Some(append(&mut program, &other));
        }
        program.stage = StageInfo::Vertex(info);
        Ok(program)
    }
}

/// Appends a program's code. source: Mesa, va_pack.c (`bi_pack_valhall`): programs begin at multiples of 128 bytes
fn append(program: &mut Program, other: &Program) -> Entry {
    const ALIGN: usize = 128;
    let offset = (program.code.len() + 16).next_multiple_of(ALIGN);
    program.code.resize(offset, 0);
    program.code.extend(&other.code);
    let offset = offset as u32;
    program.locs.extend(other.locs.iter().map(|&(at, loc)| (at + offset, loc)));
    Entry { offset, preload: other.preload, stats: other.stats }
}

/// The shared passes on the machine IR. A program that does not fit into half the register file, where vectors find fewer places, is
/// allocated in all of it.
fn allocate(
    f: &mut Function,
    scratch_bytes: u32,
    options: &Options<'_>,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Finished<Valhall>> {
    let limit = match options.registers {
        0 => REGISTERS,
        n => n.clamp(MIN_REGISTERS, REGISTERS) & !1,
    };
    let budget = Budget {
        min_pressure: 24,
        full_occupancy: FULL_OCCUPANCY,
        limit,
        scratch_bytes: scratch_bytes.next_multiple_of(16),
    };
    let first = f.clone();
    match finish::run(f, budget, options.checks(), after) {
        Err(tepui_backend::Error::Registers(RegistersError::Full { .. })) if limit == REGISTERS => {
            *f = first;
            f.state.whole_file = true;
            Ok(finish::run(f, budget, options.checks(), after)?)
        }
        done => Ok(done?),
    }
}

/// Registers that a program needs to have: 32 if it uses none of the middle, else 64.
fn used_registers(listing: &emit::Listing) -> u16 {
    let middle = tepui_regalloc::RegSet::range(16..48);
    let mut used = tepui_regalloc::RegSet::EMPTY;
    for line in &listing.lines {
        for set in emit::registers(&line.inst) {
            used.add(set);
        }
    }
    if used.meets(&middle) { used.len().max(33) as u16 } else { used.len() as u16 }
}

/// Refuses shaders that no dispatch can have, and stages that are not compiled. source: Mesa, panvk_vX_physical_device.c
/// (`maxComputeWorkGroupInvocations`, `maxComputeSharedMemorySize`)
fn limits(s: &Shader) -> Result<()> {
    match s.info.stage {
        Stage::Compute | Stage::Fragment | Stage::Vertex => {}
        _ => return Err(Error::Feature("tessellation or geometry as a stage of its own")),
    }
    let threads: u64 = s.info.workgroup_size.iter().map(|&n| u64::from(n)).product();
    check_limit("invocations of a workgroup", threads, 1024)?;
    check_limit("bytes of workgroup memory", u64::from(s.info.shared_bytes), 32768)?;
    check_limit("bytes of scratch memory", u64::from(s.info.scratch_bytes), MAX_SCRATCH)
}

fn check_limit(what: &'static str, needed: u64, limit: u64) -> Result<()> {
    if needed > limit { Err(Error::Limit { what, needed, limit }) } else { Ok(()) }
}
