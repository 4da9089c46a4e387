//! Shaders to AGX machine code.
//!
//! ```text
//! IR ─ passes ─ legalise ─▶ IR ─ select ─▶ machine IR ─ dce ─ regalloc ─▶ code ─ flow ─ waits ─ pack ─▶ bytes
//! ```
//!
//! - [`legalise`]: operations that the machine lacks, in terms of those it has
//! - [`select`](mod@select): instructions, with everything that the hardware does for free
//! - [`mir`]: the machine IR; [`liveness`], [`regalloc`], [`dce`] work on it
//! - [`flow`]: structured control flow to the nesting counter; [`waits`]: scoreboards; [`pack`]: bytes
//! - [`uniforms`]: what the shader wants to find in which uniform register, chosen here and reported
//! - [`stats`]: the figures of Mesa's shader-db
//!
//! Start reading at [`compile`].

pub mod code;
pub mod cse;
pub mod dce;
pub mod error;
pub mod flow;
pub mod fold_offsets;
pub mod group_loads;
pub mod legalise;
pub mod liveness;
pub mod mir;
pub mod pack;
pub mod phis;
pub mod preamble;
mod print;
pub mod regalloc;
mod select;
pub mod spill;
pub mod stats;
pub mod uniforms;
pub mod validate;
pub mod waits;

pub use error::{Error, Result};
pub use stats::Stats;
pub use uniforms::{Source, Uniform};

use tepui_ir::{Loc, Shader, Stage};

/// Half-registers beside those of values: `r0`, and what alignment may waste.
const SLACK: u32 = 3;

/// Fewest half-registers that a limit can leave: what the widest instruction needs.
const FEWEST: u16 = 32;

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Buffer accesses are checked against the size of their buffer.
    pub robust: bool,
    /// At most so many half-registers; 0 for as many as a workgroup's threads leave.
    pub registers: u16,
}

/// A compiled shader.
#[derive(Clone, Debug)]
pub struct Program {
    /// Machine code.
    pub code: Vec<u8>,
    /// Machine code that runs once before, and leaves uniforms.
    pub preamble: Option<Vec<u8>>,
    /// What the uniform registers must hold.
    pub uniforms: Vec<Uniform>,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Threads of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Statistics.
    pub stats: Stats,
    /// Where each instruction comes from: offset in bytes and place.
    pub locs: Vec<(u32, Loc)>,
}

/// What a stage of the compiler made, for those who look.
pub enum Made<'a> {
    /// The IR after a pass.
    Ir(&'a Shader),
    /// The machine IR after a pass, as text.
    Mir(&'a dyn std::fmt::Display),
}

/// Runs the passes on the IR that come before selection. `after` sees the shader after each.
pub fn prepare(s: &mut Shader, options: &Options, after: &mut dyn FnMut(&'static str, Made<'_>)) {
    let mut look = |name: &'static str, s: &Shader| after(name, Made::Ir(s));
    use tepui_passes::pipeline::{optimise_with, run_pass};
    optimise_with(s, &mut look);
    // Offsets in the terms of the machine, then what that brings closer together.
    if fold_offsets::run(s) {
        look("fold_offsets", s);
        for p in ["simplify", "dce", "licm", "vectorise", "simplify", "dce"] {
            run_pass(s, p, &mut look);
        }
    }
    lower(s, options, &mut look);
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(s: &mut Shader, options: &Options, look: &mut dyn FnMut(&'static str, &Shader)) {
    use tepui_passes::pipeline::run_pass;
    run_pass(s, "lower_vars", look);
    if options.robust {
        run_pass(s, "lower_buffers", look);
    }
    run_pass(s, "scalarise", look);
    use tepui_passes::lower_subgroups::{self, Subgroups};
    lower_subgroups::run(
        s,
        Subgroups::CLUSTERED | Subgroups::REDUCE_64 | Subgroups::MULTIPLY | Subgroups::VOTE_EQ,
    );
    look("lower_subgroups", s);
    use tepui_passes::lower_int64::{self, Int64};
    lower_int64::run(s, lower_int64::Options { native: Int64::ADD | Int64::MUL_32X32 });
    look("lower_int64", s);
    run_pass(s, "lower_bits16", look);
    legalise::run(s);
    look("legalise", s);
    for _ in 0..2 {
        let mut changed = run_pass(s, "simplify", look);
        changed |= run_pass(s, "dce", look);
        if !changed {
            break;
        }
    }
}

/// Compiles a shader: passes, selection, allocation, packing. `after` sees each stage's result.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn compile_with(
    s: &mut Shader,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Made<'_>),
) -> Result<Program> {
    prepare(s, options, after);
    compile_prepared(s, options, after)
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
    after: &mut dyn FnMut(&'static str, Made<'_>),
) -> Result<Program> {
    if s.info.stage != Stage::Compute {
        return Err(Error::Stage(s.info.stage));
    }
    limits(s)?;
    let mut stats = Stats::default();
    let mut uniforms = uniforms::Uniforms::default();
    let plan = preamble::plan(s);
    let mut preset = Vec::new();
    let mut preamble = None;
    if !plan.results.is_empty() {
        let (f, u, places) = select::select_preamble(s, uniforms, &plan)?;
        after("preamble", Made::Mir(&f));
        (uniforms, preset) = (u, places);
        let back = finish(f, 256, 0, &mut |_, _| {})?;
        stats.preamble_instructions = back.listing.lines.len() as u32 - 1;
        preamble = Some(pack::run(&back.listing)?.code);
    }
    let (f, uniforms) = select::select(s, uniforms, &preset)?;
    after("select", Made::Mir(&f));
    let threads: u32 = s.info.workgroup_size.iter().product();
    let most = match options.registers {
        0 => stats::registers_for(threads),
        n => n.clamp(FEWEST, stats::registers_for(threads)),
    };
    let back = finish(f, most, s.info.scratch_bytes, after)?;
    let packed = pack::run(&back.listing)?;
    stats.count(&back.listing);
    stats.bytes = (packed.code.len() + preamble.as_ref().map_or(0, Vec::len)) as u32;
    stats.registers = u32::from(back.halves);
    stats.uniforms = u32::from(uniforms.halves());
    stats.scratch = back.spilled.scratch_bytes;
    stats.spills = back.spilled.stores;
    stats.fills = back.spilled.loads;
    stats.threads = u32::from(stats::threads(back.halves));
    Ok(Program {
        code: packed.code,
        preamble,
        uniforms: uniforms.list,
        shared_bytes: s.info.shared_bytes,
        workgroup_size: s.info.workgroup_size,
        stats,
        locs: packed.locs,
    })
}

/// Refuses what no launch can have. source: Mesa, hk_physical_device.c (maxComputeWorkGroupInvocations,
/// maxComputeSharedMemorySize)
fn limits(s: &Shader) -> Result<()> {
    let threads: u64 = s.info.workgroup_size.iter().map(|&n| u64::from(n)).product();
    let check = |what, needed: u64, limit: u64| {
        if needed > limit { Err(Error::Limit { what, needed, limit }) } else { Ok(()) }
    };
    check("threads in a workgroup", threads, 1024)?;
    check("bytes of workgroup memory", u64::from(s.info.shared_bytes), 32768)?;
    check("bytes of scratch memory", u64::from(s.info.scratch_bytes), 32000)
}

/// What the back end made of a function.
struct Back {
    listing: flow::Listing,
    /// Half-registers.
    halves: u16,
    spilled: spill::Spilled,
}

/// From selected instructions to a listing: what is unused goes, registers, control flow, waits.
fn finish(
    mut f: mir::Function,
    most: u16,
    scratch_bytes: u32,
    after: &mut dyn FnMut(&'static str, Made<'_>),
) -> Result<Back> {
    phis::run(&mut f);
    cse::run(&mut f);
    dce::run(&mut f);
    after("mir_dce", Made::Mir(&f));
    let (pressure, _) = liveness::pressure(&f, &liveness::Liveness::new(&f));
    group_loads::run(&mut f, pressure + SLACK, u32::from(stats::tier(0).min(most)));
    after("group_loads", Made::Mir(&f));
    if cfg!(debug_assertions) {
        validate::run(&f)?;
    }
    let (live, spilled) = spill::run(&mut f, u32::from(most) - SLACK, scratch_bytes)?;
    if spilled.loads > 0 {
        after("spill", Made::Mir(&f));
    }
    let (pressure, _) = liveness::pressure(&f, &live);
    let code = regalloc::run(&f, &live, stats::tier((pressure + SLACK) as u16).min(most))?;
    let mut listing = flow::run(&code, spilled.scratch_bytes);
    waits::run(&mut listing);
    Ok(Back { listing, halves: code.halves, spilled })
}
