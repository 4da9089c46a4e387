//! The AGX back end: compiles shaders from the IR to machine code.
//!
//! ```text
//! IR ─ passes ─ lower ─▶ IR ─ select ─▶ machine IR ─ dce ─ regalloc ─▶ code ─ flow ─ waits ─ pack ─▶ bytes
//! ```
//!
//! - [`prepare`]: the passes of [`tepui_passes`] in the order in which AGX needs them
//! - [`lower_images`]: image operations in the form of the texture unit; [`descriptor`]: the memory
//!   layout of descriptors
//! - [`mod@target`]: the parameters of the shared lowering passes for AGX
//! - `select`: instruction selection, which folds modifiers, conversions and comparisons into
//!   instructions
//! - [`mir`]: the machine IR; [`tepui_regalloc`] optimises and schedules it, spills and allocates
//!   registers
//! - [`tepui_backend::group_loads`]: moves loads together, so that fewer waits are needed
//! - [`flow`]: structured control flow to the nesting counter; [`waits`]: scoreboard waits;
//!   [`pack`]: encoding
//! - [`abi`]: prolog, main and epilog of vertex and fragment programs; [`varyings`]: the interface
//!   between stages; [`link`] joins programs
//! - [`uniforms`]: allocation of uniform registers, reported to the driver
//! - [`dot`]: the control-flow graph for Graphviz; [`stats`]: the statistics of Mesa's shader-db
//!
//! Start reading at [`compile`].

pub mod abi;
pub mod descriptor;
pub mod error;
pub mod flow;
pub mod helper;
pub mod link;
pub mod lower_images;
pub mod mir;
pub mod occupancy;
pub mod pack;
mod select;
pub mod shuffles;
pub mod stats;
pub mod target;
pub mod uniforms;
pub mod varyings;
pub mod waits;

pub use abi::Interface;
pub use error::{Error, LinkError, Result};
pub use stats::Stats;
pub use tepui_backend::dot;
pub use tepui_backend::values::{self, Names};
pub use uniforms::{SamplerState, Source, TextureState, Uniform};
pub use varyings::Table;

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use target::target;
use tepui_backend::{Budget, Finished, finish};
use tepui_ir::{Loc, Shader, Stage, stack};
use tepui_passes::pipeline::Pipeline;
use tepui_passes::target::{Target, lower_textures};
use tepui_passes::{
    flatten_discards, fold_offsets, join_branches, lower_quads, multiview, nan_selects, preamble,
    side_effects, sink, vectorise,
};
use tepui_regalloc::{schedule, spill};

/// Minimum number of half-registers that a limit can leave: what the widest instruction needs.
const MIN_HALVES: u16 = 32;

/// Border colours that programs make, since the hardware's samplers do not have them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Borders {
    /// None.
    #[default]
    Hardware,
    /// Any colour.
    Custom,
    /// Opaque black of formats whose alpha is not the last channel in memory.
    OpaqueBlack,
}

/// Options of the compiler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Buffer accesses are checked against the size of their buffer.
    pub robust: bool,
    /// Samplers have a bias of the level of detail, which programs add: the hardware has none
    /// ([`descriptor::LOD_BIAS_B`]).
    pub lod_bias: bool,
    /// Border colours of samplers that the hardware does not have ([`descriptor::SECOND_SAMPLER`]).
    pub borders: Borders,
    /// Samplers may reduce texels to the least or the greatest ([`descriptor::SECOND_SAMPLER`]).
    pub reductions: bool,
    /// Images and storage images may be null descriptors: rows of zeros. They have no size, and stores to them are dropped.
    pub null_images: bool,
    /// The limit of half-registers; 0 for the limit that the workgroup size implies.
    pub registers: u16,
    /// [`Program::names`] are wanted.
    pub names: bool,
    /// Checks the IR after each pass, the machine IR and the allocation of registers; debug builds
    /// always do.
    pub check: bool,
}

impl Options {
    fn checks(&self) -> bool {
        self.check || cfg!(debug_assertions)
    }
}

/// A compiled shader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Machine code.
    pub code: Vec<u8>,
    /// Bytes of the machine code before its end, the `stop` and the traps after it.
    pub body_bytes: u32,
    /// Machine code that runs once before, and leaves uniforms.
    pub preamble: Option<Vec<u8>>,
    /// Constant data, which belongs into memory at an address of 16 bytes' alignment
    /// ([`Source::DataAddress`]).
    pub data: Vec<u8>,
    /// The values of the uniform registers.
    pub uniforms: Vec<Uniform>,
    /// The textures of the texture state registers, from `ts0` on.
    pub textures: Vec<TextureState>,
    /// The samplers of the sampler state registers, from `ss1` on; `ss0` is
    /// [`descriptor::loads_sampler`].
    pub samplers: Vec<SamplerState>,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Threads of a workgroup.
    pub workgroup_size: [u32; 3],
    /// The information that linking needs.
    pub table: Table,
    /// Statistics.
    pub stats: Stats,
    /// Source location of each instruction: offset in bytes and location.
    #[serde(skip)]
    pub locs: Vec<(u32, Loc)>,
    /// IR values in its registers, with [`Options::names`].
    #[serde(skip)]
    pub names: Names,
}

/// A snapshot of the program after a pass, for the debug callback.
pub type Snapshot<'a> = tepui_backend::Snapshot<'a, mir::Agx>;

/// Runs the passes on the IR that come before selection. `after` sees the shader after each.
///
/// # Panics
/// When [`Options::check`] is set, and in debug builds, if a pass leaves an invalid shader.
pub fn prepare(
    s: &mut Shader,
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
    let t = target(options);
    let mut p = Pipeline::new(t.lanes, &mut look);
    if options.robust {
        p.with(s, "mark_robust", vectorise::mark_robust);
    }
    p.with(s, "lower_quads", lower_quads::run);
    p.optimise(s);
    if p.with(s, "flatten_discards", flatten_discards::run) {
        p.optimise(s);
    }
    if p.with(s, "nan_selects", nan_selects::run) {
        p.run(s, "dce");
    }
    let images = images(s, &t, options, &mut p);
    // Offsets in the terms of the machine, then what that brings closer together.
    let folded = p.with(s, "fold_offsets", fold_offsets::run);
    if images || folded {
        for name in ["simplify", "dce", "licm", "vectorise", "simplify", "dce"] {
            p.run(s, name);
        }
    }
    lower_rest(s, &t, &mut p);
    p.with(s, "join_branches", |s| join_branches::run(s, &target::PREAMBLE));
    p.with(s, "sink", sink::run);
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(s: &mut Shader, options: &Options, look: &mut dyn FnMut(&'static str, &Shader)) {
    let t = target(options);
    let mut p = Pipeline::new(t.lanes, look);
    p.with(s, "lower_quads", lower_quads::run);
    images(s, &t, options, &mut p);
    lower_rest(s, &t, &mut p);
}

/// Images and textures in the form that the machine takes.
fn images(s: &mut Shader, t: &Target, options: &Options, p: &mut Pipeline<'_>) -> bool {
    lower_textures(s, t, p);
    let images = p.with(s, "lower_images", |s| lower_images::run(s, options));
    p.run(s, "lower_atomics") || images
}

fn lower_rest(s: &mut Shader, t: &Target, p: &mut Pipeline<'_>) {
    p.run(s, "lower_io");
    // With early fragment tests, a discarded invocation keeps its depth and loses only its colours. The hardware drops plain
    // stores of helpers by itself, but not in programs that run for each sample, and never atomics. source: Mesa,
    // agx_nir_lower_frag_sidefx.c
    let options = side_effects::Options {
        records_discards: s.info.early_tests,
        guards_helpers: true,
        all_samples: 0xff,
    };
    if p.with(s, "side_effects", |s| side_effects::run(s, options)) {
        for name in ["promote", "control", "simplify", "dce"] {
            p.run(s, name);
        }
    }
    // Selection refuses what is left, and names it.
    let _ = tepui_passes::target::lower(s, t, p);
}

/// Compiles a shader: passes, selection, allocation, packing. `after` sees each stage's result.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_with(
    s: &mut Shader,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    compile_as(s, options, &Interface::main(s.info.stage), after)
}

/// [`compile_with`] for an interface: a part of a program, or a monolithic one.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_as(
    s: &mut Shader,
    options: &Options,
    interface: &Interface,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    stack::for_shader(s).run(|| {
        if let Interface::Expanded(expansion) = interface {
            tepui_expand::lower(s, expansion, abi::capture::THREADS)?;
        }
        abi::colour::run(s, interface)?;
        if matches!(interface, Interface::Vertex(v) if v.multiview) {
            multiview::run(s);
        }
        abi::capture::run(s, interface);
        prepare(s, options, after);
        abi::colour::cull_before_tests(s, interface);
        compile_part(s, options, interface, after)
    })
}

/// [`compile_with`] without looking.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile(s: &mut Shader, options: &Options) -> Result<Program> {
    compile_with(s, options, &mut |_, _| {})
}

/// The machine-dependent part: from prepared IR to code.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_prepared(
    s: &Shader,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    compile_part(s, options, &Interface::main(s.info.stage), after)
}

/// [`compile_prepared`] for an interface.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_part(
    s: &Shader,
    options: &Options,
    interface: &Interface,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    stack::for_shader(s).run(|| {
        let mut done = back_end(s, options, interface, after, UniformUse::All);
        for uses in [UniformUse::AddressesBySet, UniformUse::WithoutPreamble] {
            if !matches!(done, Ok(None) | Err(Error::Limit { what: error::HALF_UNIFORMS, .. })) {
                break;
            }
            done = back_end(s, options, interface, after, uses);
        }
        done?.ok_or(OUT_OF_REACH)
    })
}

/// Use of uniform registers, from the fastest code to what needs the fewest of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UniformUse {
    /// Each descriptor's address, and the results of a preamble.
    All,
    /// Addresses of sets, which come first, instead of those of descriptors.
    AddressesBySet,
    /// As [`UniformUse::AddressesBySet`], without a preamble.
    WithoutPreamble,
}

/// Addresses of descriptor sets that texture instructions cannot encode.
const OUT_OF_REACH: Error =
    Error::Feature("a descriptor set out of the texture instructions' reach");

/// Selection, allocation and packing. Addresses of descriptors take their places among other
/// uniforms; nothing comes of it where that puts one out of the texture instructions' reach.
fn back_end(
    s: &Shader,
    options: &Options,
    interface: &Interface,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
    uses: UniformUse,
) -> Result<Option<Program>> {
    match (s.info.stage, interface) {
        (Stage::Compute, Interface::Compute | Interface::Expanded(_))
        | (Stage::Vertex, Interface::Vertex(_))
        | (Stage::Fragment, Interface::Fragment(_)) => {}
        (stage, _) => return Err(Error::Interface(stage)),
    }
    limits(s)?;
    let is_part = interface.is_part();
    let io = select::stage::Io::new(s, interface)?;
    let mut stats = Stats::default();
    let mut uniforms = interface.uniforms(s);
    if uses != UniformUse::All {
        let sets: BTreeSet<u32> = s.resources.values().map(|r| r.set).collect();
        uniforms.address_by_set(sets.len() as u16);
    }
    // A prolog or epilog has no uniforms of its own.
    let plan = if interface.is_beside() || uses == UniformUse::WithoutPreamble {
        preamble::Plan::default()
    } else {
        preamble::plan(s, &target::PREAMBLE)
    };
    let mut preset = Vec::new();
    let mut preamble = None;
    if !plan.results.is_empty() {
        let (f, u, places) = select::select_preamble(s, uniforms, &plan, io.clone())?;
        after("preamble", Snapshot::Mir(&f));
        if u.out_of_reach() {
            return Ok(None);
        }
        (uniforms, preset) = (u, places);
        let full_occupancy = occupancy::tier(0);
        let min_pressure = full_occupancy.into();
        let budget = Budget { min_pressure, full_occupancy, limit: 256, scratch_bytes: 0 };
        let back = finish(f, false, budget, options.checks(), &mut |_, _| {})?;
        stats.preamble_instructions = back.listing.lines.len() as u32;
        preamble = Some(pack::run(&back.listing)?.code);
    }
    let (mut f, uniforms, io) = select::select(s, uniforms, &preset, io, options.names)?;
    let uniform_values = f.value_locations.as_mut().map(|m| std::mem::take(&mut m.uniforms));
    after("select", Snapshot::Mir(&f));
    if uniforms.out_of_reach() {
        return Ok(None);
    }
    let threads: u32 = s.info.workgroup_size.iter().product();
    let most = match options.registers {
        0 => occupancy::registers_for(threads),
        n => n.clamp(MIN_HALVES, occupancy::registers_for(threads)),
    };
    let budget = Budget {
        min_pressure: schedule::MIN_PRESSURE,
        full_occupancy: occupancy::tier(0),
        limit: most,
        scratch_bytes: s.info.scratch_bytes,
    };
    let back = finish(f, is_part, budget, options.checks(), after)?;
    let packed = pack::run(&back.listing)?;
    let names = uniform_values.map_or(Names::default(), |uniforms| {
        let registers = tepui_backend::values::place(&back.held, &back.listing.lines, &packed.locs);
        Names::new(&values::Values { registers, uniforms }, s)
    });
    stats.count(&back.listing);
    stats.bytes = (packed.code.len() + preamble.as_ref().map_or(0, Vec::len)) as u32;
    stats.registers = u32::from(back.halves);
    stats.uniforms = u32::from(uniforms.halves());
    stats.scratch = back.spilled.scratch_bytes;
    stats.spills = back.spilled.stores;
    stats.fills = back.spilled.loads;
    stats.threads = u32::from(occupancy::threads(back.halves));
    Ok(Some(Program {
        code: packed.code,
        body_bytes: packed.body_bytes,
        preamble,
        data: s.data.clone(),
        uniforms: uniforms.list,
        textures: uniforms.textures,
        samplers: uniforms.samplers,
        shared_bytes: s.info.shared_bytes,
        workgroup_size: s.info.workgroup_size,
        table: io.table(),
        stats,
        locs: packed.locs,
        names,
    }))
}

/// Maximum scratch bytes of a thread: the limit of one `stack_adjust`, as in Mesa (agx_compile.c
/// asserts that the words fit into its signed 16 bits). The blocks of the helper program could be four
/// times as large (AGX_MAX_SCRATCH_DWORDS in agx_scratch.c).
const MAX_SCRATCH: u64 = mir::MAX_SCRATCH as u64;

/// Refuses shaders that no launch can have. source: Mesa, hk_physical_device.c
/// (maxComputeWorkGroupInvocations, maxComputeSharedMemorySize)
fn limits(s: &Shader) -> Result<()> {
    let threads: u64 = s.info.workgroup_size.iter().map(|&n| u64::from(n)).product();
    check_limit("threads in a workgroup", threads, 1024)?;
    check_limit("bytes of workgroup memory", u64::from(s.info.shared_bytes), 32768)?;
    check_limit("bytes of scratch memory", u64::from(s.info.scratch_bytes), MAX_SCRATCH)
}

fn check_limit(what: &'static str, needed: u64, limit: u64) -> Result<()> {
    if needed > limit { Err(Error::Limit { what, needed, limit }) } else { Ok(()) }
}

/// The results of the back end for a function.
struct BackEnd {
    listing: flow::Listing,
    /// Half-registers.
    halves: u16,
    spilled: spill::Spilled,
    /// Registers of the IR's values.
    held: Vec<values::Held>,
}

/// Lowers selected instructions to a listing: the shared passes, control flow, waits.
fn finish(
    mut f: mir::Function,
    is_part: bool,
    budget: Budget,
    check: bool,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<BackEnd> {
    f.state.is_part = is_part;
    let Finished { code, spilled, held } = finish::run(&mut f, budget, check, after)?;
    let halves = code.units.max(if f.state.uses_r0h { 2 } else { 0 });
    let mut listing = flow::run(&code, spilled.scratch_bytes);
    listing.is_part = is_part;
    waits::run(&mut listing);
    Ok(BackEnd { listing, halves, spilled, held })
}
