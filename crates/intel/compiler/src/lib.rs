//! The compiler for Intel's execution units (EUs): shaders from the IR to machine code.
//!
//! ```text
//! IR ─ passes ─ lower ─▶ IR ─ select ─▶ machine IR ─ cse, dce ─ spill ─ alloc ─▶ code ─ emit ─ compact ─▶ bytes
//! ```
//!
//! - [`prepare`]: the passes of [`tepui_passes`] in the order in which EUs need them; [`mod@target`] has their
//!   parameters, [`system_values`] the built-ins that threads do not have
//! - [`bind`]: the places of constants and surfaces, which the compiler reports to the driver
//! - [`scalars`]: values that one channel computes for all; `select`: instruction selection for a number of channels
//! - [`mir`]: the machine IR; [`tepui_regalloc`] optimises it, spills and allocates registers
//! - [`emit`]: instructions of the hardware and their jumps; [`tepui_intel_isa::layout`] compacts them
//! - [`stats`]: the statistics that Mesa prints
//!
//! Start reading at [`compile`].

pub mod bind;
pub mod emit;
pub mod error;
pub mod mir;
pub mod print;
pub mod scalars;
mod select;
pub mod set_memory;
pub mod stage;
pub mod stats;
pub mod system_values;
pub mod target;
pub mod vue;

pub use bind::{BindMap, Constant, Sampler, Surface, View};
pub use error::{Error, Result};
pub use set_memory::SetBinding;
pub use stage::{FragmentState, StageInfo, Variant};
pub use stats::Stats;

use mir::{Eu, GRF_UNITS, plane_units};
use target::target;
use tepui_intel_isa::{Generation, layout};
use tepui_ir::{Loc, Shader, Stage, stack};
use tepui_passes::pipeline::Pipeline;
use tepui_regalloc::alloc::{self, Registers};
use tepui_regalloc::{RegSet, cse, dce, liveness, phis, schedule, spill};

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

/// The register at which the constants of compute threads begin.
const GRF_START: u16 = 1;

/// Units of scalar values above which all values are planes: scalar values are not spilled.
const MAX_SCALAR_UNITS: u16 = 72;

/// Options of the compiler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The placement of bindings in the memory of their sets; if there is none, [`set_memory::placement`] decides.
    pub sets: &'a [SetBinding],
    /// Channels of a thread: 8, 16 or 32; 0 chooses.
    pub width: u8,
    /// Maximum number of registers that values take; 0 for all.
    pub registers: u16,
    /// Checks the IR after each pass and the allocation of registers; debug builds always do.
    pub check: bool,
    /// The pipeline's state, for fragment programs.
    pub fragment: FragmentState,
}

impl Options<'_> {
    fn checks(&self) -> bool {
        self.check || cfg!(debug_assertions)
    }
}

/// A compiled shader.
#[derive(Clone, Debug)]
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
    pub locs: Vec<(u32, Loc)>,
}

impl Program {
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
    let mut p = Pipeline::new(target(generation).lanes, &mut look);
    p.with(s, "system_values", system_values::run);
    p.optimise(s);
    lower_rest(s, generation, &mut p);
}

/// The lowering part of [`prepare`], for shaders that are not to be optimised.
pub fn lower(s: &mut Shader, generation: Generation, look: &mut dyn FnMut(&'static str, &Shader)) {
    let mut p = Pipeline::new(target(generation).lanes, look);
    p.with(s, "system_values", system_values::run);
    lower_rest(s, generation, &mut p);
}

fn lower_rest(s: &mut Shader, generation: Generation, p: &mut Pipeline<'_>) {
    p.run(s, "lower_atomics");
    // Selection refuses what is left, and names it.
    let _ = tepui_passes::target::lower(s, &target(generation), p);
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
    if s.info.stage != Stage::Compute {
        return Err(Error::Stage(s.info.stage));
    }
    limits(s)?;
    stack::for_shader(s).run(|| {
        let width = match options.width {
            0 => return widest(s, generation, options, after),
            n => n,
        };
        back_end(s, generation, width, options, after)
    })
}

/// A program of 16 channels, of 8 where the workgroup is small or 16 spill, of 32 where the workgroup needs them.
fn widest(
    s: &Shader,
    generation: Generation,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    let invocations: u32 = s.info.workgroup_size.iter().product();
    if invocations <= 8 {
        return back_end(s, generation, 8, options, after);
    }
    if invocations > 16 * max_threads(generation) {
        return back_end(s, generation, 32, options, after);
    }
    let first = back_end(s, generation, 16, options, after)?;
    if first.stats.spills == 0 || invocations > 8 * max_threads(generation) {
        return Ok(first);
    }
    let second = back_end(s, generation, 8, options, after)?;
    Ok(if second.stats.spills == 0 { second } else { first })
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

fn back_end(
    s: &Shader,
    generation: Generation,
    width: u8,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    match width {
        8 => back_end_of::<8>(s, generation, options, after),
        16 => back_end_of::<16>(s, generation, options, after),
        32 => back_end_of::<32>(s, generation, options, after),
        _ => Err(Error::Internal(format!("programs have 8, 16 or 32 channels, not {width}"))),
    }
}

/// The registers of values, after the payload; the last `unmasked` units are those of values that are not masked.
fn registers(width: u8, payload: u16, unmasked: u16, options: &Options) -> Registers {
    let plane = u16::from(plane_units(width));
    let first = (GRF_UNITS * payload).next_multiple_of(plane);
    let end = GRF_UNITS * emit::RESERVED / plane * plane;
    let end = match options.registers {
        0 => end,
        n => end.min(first + (GRF_UNITS * n).next_multiple_of(plane)),
    };
    let divide = end.saturating_sub(unmasked.next_multiple_of(plane)).max(first);
    Registers {
        values: RegSet::range(first..divide),
        unmasked: RegSet::range(divide..end),
        // Payloads are there only within sequences that no copy divides.
        scratch: RegSet::range(GRF_UNITS * emit::RESERVED / plane * plane..256),
    }
}

/// Units for the values that are not masked: what they need at once, and what alignment can waste.
fn unmasked_units<const W: u8>(f: &mir::Function) -> Result<u16> {
    let classes = f.vals.values().filter(|class| class.unmasked);
    let waste = classes.map(|class| u16::from(class.units)).max().unwrap_or(0);
    let units = alloc::unmasked::pressure::<Eu<W>>(f)?;
    Ok(if units == 0 { 0 } else { units.min(256) as u16 + waste })
}

/// Selects instructions and removes those that nothing uses; with the units of values that are not masked.
fn selected<const W: u8>(
    s: &Shader,
    generation: Generation,
    scalars: bool,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<(mir::Function, BindMap, u16)> {
    let mut map = BindMap::new(s)?;
    let scalars = scalars.then(|| scalars::Scalars::new(s));
    let mut f = select::select(s, generation, W, scalars, &mut map)?;
    after("select", Snapshot::Mir(&f));
    phis::run(&mut f);
    cse::run::<Eu<W>>(&mut f, |f, i| match &f.insts[i].op {
        mir::MOp::Isa(inst) => mir::is_shared(inst),
        _ => false,
    });
    dce::run::<Eu<W>>(&mut f);
    select::separate_payloads(&mut f);
    after("mir_dce", Snapshot::Mir(&f));
    let unmasked = unmasked_units::<W>(&f)?;
    Ok((f, map, unmasked))
}

fn back_end_of<const W: u8>(
    s: &Shader,
    generation: Generation,
    options: &Options,
    after: &mut dyn FnMut(&'static str, Snapshot<'_>),
) -> Result<Program> {
    let (mut f, map, unmasked) = match selected::<W>(s, generation, true, after)? {
        (.., unmasked) if unmasked > MAX_SCALAR_UNITS => {
            selected::<W>(s, generation, false, after)?
        }
        done => done,
    };
    let registers = registers(W, 1 + map.registers(), unmasked, options);
    let room = registers.values.len();
    let mut live = liveness::Liveness::new(&f)?;
    let (mut pressure, _) = liveness::pressure::<Eu<W>>(&f, &live);
    // The scheduler does not see what values that are not masked need.
    let interleaved = f.vals.values().any(|c| c.unmasked && *c != mir::SCALAR);
    if pressure > room && !interleaved && schedule::run::<Eu<W>>(&mut f, &live, room, room) {
        after("schedule", Snapshot::Mir(&f));
        (pressure, _) = liveness::pressure::<Eu<W>>(&f, &live);
    }
    // Double words of all channels in a row, as `select` addresses them; whole registers of spilled values follow.
    let scratch_bytes = s.info.scratch_bytes.div_ceil(4).saturating_mul(4 * u32::from(W));
    check_limit("bytes of scratch memory", scratch_bytes.into(), MAX_SCRATCH)?;
    let mut spilled = spill::Spilled { scratch_bytes, ..Default::default() };
    if pressure > room {
        (live, spilled) = spill::run::<Eu<W>>(&mut f, &live, room, scratch_bytes)?;
        after("spill", Snapshot::Mir(&f));
    }
    let extras = alloc::Extras { check: options.checks(), defs: false };
    let code = alloc::run::<Eu<W>>(&f, &live, &registers, extras)?;
    let mut listing = emit::run(generation, W, &code, &registers)?;
    layout::compact(&mut listing.insts, &listing.targets);
    let mut bytes = Vec::with_capacity(16 * listing.insts.len());
    let mut locs = Vec::with_capacity(listing.insts.len());
    for (inst, &loc) in listing.insts.iter().zip(&listing.locs) {
        locs.push((bytes.len() as u32, loc));
        inst.encode(&mut bytes)?;
    }
    let mut stats = Stats::new(&listing, W, &spilled);
    stats.registers = u32::from(code.units.div_ceil(GRF_UNITS));
    let start = GRF_START as u8;
    Ok(Program {
        code: bytes,
        width: W,
        variants: vec![Variant { width: W, offset: 0, start, stats }],
        stage: StageInfo::Compute,
        map,
        data: s.data.clone(),
        workgroup_size: s.info.workgroup_size,
        shared_bytes: s.info.shared_bytes,
        has_barrier: listing.has_barrier,
        stats,
        locs,
    })
}
