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
pub mod dce;
pub mod error;
pub mod flow;
pub mod legalise;
pub mod liveness;
pub mod mir;
pub mod pack;
mod print;
pub mod regalloc;
mod select;
pub mod stats;
pub mod uniforms;
pub mod waits;

pub use error::{Error, Result};
pub use stats::Stats;
pub use uniforms::{Source, Uniform};

use tepui_ir::{Loc, Shader, Stage};

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Buffer accesses are checked against the size of their buffer.
    pub robust: bool,
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
    tepui_passes::pipeline::optimise_with(s, &mut look);
    lower(s, options, &mut look);
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(s: &mut Shader, options: &Options, look: &mut dyn FnMut(&'static str, &Shader)) {
    use tepui_passes::pipeline::run_pass;
    run_pass(s, "lower_vars", look);
    if options.robust {
        run_pass(s, "lower_buffers", look);
    }
    run_pass(s, "lower_bits16", look);
    run_pass(s, "scalarise", look);
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
    compile_prepared(s, after)
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
    after: &mut dyn FnMut(&'static str, Made<'_>),
) -> Result<Program> {
    if s.info.stage != Stage::Compute {
        return Err(Error::Stage(s.info.stage));
    }
    let (mut f, uniforms) = select::select(s, Default::default(), &[])?;
    after("select", Made::Mir(&f));
    dce::run(&mut f);
    after("mir_dce", Made::Mir(&f));
    let live = liveness::Liveness::new(&f);
    let (pressure, _) = liveness::pressure(&f, &live);
    let threads: u32 = s.info.workgroup_size.iter().product();
    let most = stats::registers_for(threads);
    // Two halves for r0, and alignment.
    let needed = pressure + 3;
    if needed > u32::from(most) {
        return Err(Error::Limit {
            what: "half-registers",
            needed: u64::from(needed),
            limit: u64::from(most),
        });
    }
    let code = regalloc::run(&f, &live, stats::tier(needed as u16))?;
    let mut listing = flow::run(&code);
    waits::run(&mut listing);
    let packed = pack::run(&listing)?;
    let mut stats = Stats::default();
    stats.count(&listing);
    stats.bytes = packed.code.len() as u32;
    stats.registers = u32::from(code.halves);
    stats.uniforms = u32::from(uniforms.halves());
    stats.scratch = s.info.scratch_bytes;
    stats.threads = u32::from(stats::threads(code.halves));
    Ok(Program {
        code: packed.code,
        preamble: None,
        uniforms: uniforms.list,
        shared_bytes: s.info.shared_bytes,
        workgroup_size: s.info.workgroup_size,
        stats,
        locs: packed.locs,
    })
}
