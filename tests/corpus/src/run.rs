//! Runs shaders in the interpreter before and after the passes, on the same random memory and
//! inputs.

use crate::{WordDistribution, memory};
use std::collections::HashMap;
use std::fmt;
use tepui_agx_compiler::Options;
use tepui_ir::interp::{Fault, Group, Memory, dispatch, run};
use tepui_ir::{Builtin, InstFlags, IoLoc, Shader, Stage, validate};
use tepui_ir_gen::Rng;
use tepui_passes::lower_alu::Alu;
use tepui_passes::pipeline::{self, Pipeline};
use tepui_passes::target::{self, Target};

/// The outcome of comparing runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// Bit-equal memory after every stage.
    Same,
    /// The interpreter stopped before the end: the missing feature, or the step limit.
    NotRun(String),
}

/// The reason why shaders that use the address of a bound buffer are not run.
const NO_ADDRESS: &str = "buffers without an address";
/// Limit on the steps of a run, each for all lanes of a workgroup.
const LIMIT: u64 = 100_000;
/// Lanes of a vertex or fragment shader's run: fragments come as whole quads.
const LANES: usize = 16;

/// Random values for every input and built-in that a lane may read.
fn inputs(seed: u64) -> Group {
    let mut rng = Rng::new(seed ^ 1);
    let mut g = Group::plain(LANES);
    let mut word = || match rng.below(3) {
        0 => (rng.below(4096) as f32 / 1024.0).to_bits(),
        1 => rng.below(4) as u32,
        _ => ((rng.below(4096) as f32 - 2048.0) / 64.0).to_bits(),
    };
    let places = (0..64)
        .map(|n| (IoLoc::Location(n), 4))
        .chain(Builtin::ALL.iter().map(|&b| (IoLoc::Builtin(b), 8)));
    for (loc, comps) in places {
        for c in 0..comps {
            g.inputs.insert((loc, c), (0..LANES).map(|_| word()).collect());
        }
    }
    for &b in Builtin::ALL {
        let uniform = matches!(b, Builtin::SubgroupInvocationId | Builtin::SubgroupSize);
        if !uniform {
            let lanes = (0..LANES).map(|_| (0..4).map(|_| u64::from(word())).collect());
            g.builtins.insert(b, lanes.collect());
        }
    }
    g
}

/// Outputs by location: one word for each lane that wrote it.
type Outputs = HashMap<(IoLoc, u8, u8), Vec<Option<u32>>>;

/// The final state of a run.
#[derive(PartialEq)]
struct FinalState {
    memory: Memory,
    outputs: Outputs,
}

/// Compares runs of a shader after every stage; a compute shader without buffers or images has no result and
/// is not run.
///
/// # Errors
/// If two runs differ, or only one of them ends.
pub(crate) fn compare(first: &Shader, seed: u64) -> Result<Option<RunOutcome>, String> {
    let compute = first.info.stage == Stage::Compute;
    if compute && first.resources.is_empty() {
        return Ok(None);
    }
    let mut s = first.clone();
    // Rounding must not be moved, so that results are bit-equal.
    for d in s.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let start = memory(&s, seed, WordDistribution::Any);
    let group = inputs(seed);
    let with_limit = |s: &Shader, limit: u64| -> Result<FinalState, Fault> {
        let mut memory = start.clone();
        let mut outputs = Outputs::new();
        if compute {
            dispatch(s, [2, 1, 1], &mut memory, limit)?;
        } else {
            outputs = run(s, &group, &mut memory, limit)?.outputs;
        }
        // Out-of-bounds reads and reads of other lanes may disappear as dead code, and stores may be merged.
        (memory.out_of_bounds, memory.absent_lanes, memory.conflicts) = (0, 0, 0);
        Ok(FinalState { memory, outputs })
    };
    // Lowered sub-group operations are loops.
    let run = |s: &Shader| with_limit(s, 64 * LIMIT);
    let want = match with_limit(&s, LIMIT) {
        Ok(m) => m,
        Err(e @ Fault::Steps { .. }) => return Ok(Some(RunOutcome::NotRun(e.to_string()))),
        Err(Fault::Unsupported { what, .. }) => return Ok(Some(RunOutcome::NotRun(what))),
        Err(Fault::Memory { error, .. }) => return Ok(Some(RunOutcome::NotRun(error.to_string()))),
        Err(Fault::NoAddress { .. }) => return Ok(Some(RunOutcome::NotRun(NO_ADDRESS.to_owned()))),
    };
    let first = s.clone();
    pipeline::optimise(&mut s);
    if let Err(e) = same(&run, &s, &want, "the optimisations") {
        // Finds the pass that changed the result.
        let mut culprit = None;
        pipeline::optimise_with(&mut first.clone(), &mut |pass, s| {
            if culprit.is_none() && same(&run, s, &want, pass).is_err() {
                culprit = Some(pass);
            }
        });
        return Err(format!("{e}, by {}", culprit.unwrap_or("several passes together")));
    }
    // Lowerings that round differently, or change the result of x / 0, cannot be compared bit by bit.
    let inexact = Alu::FDIV | Alu::FREM | Alu::FPOW | Alu::FLDEXP | Alu::DIV;
    // The target that ships, and for every other shader the target that requires every lowering.
    let ships = tepui_agx_compiler::target::target(&Options { robust: true, ..Options::default() });
    let whole = if seed.is_multiple_of(2) { ships } else { Target::default() };
    let target = Target { alu: whole.alu - inexact, ..whole };
    let lower = |s: &mut Shader, after: &mut dyn FnMut(&'static str, &Shader)| {
        let mut p = Pipeline::new(target.lanes, after);
        target::lower_textures(s, &target, &mut p);
        target::lower(s, &target, &mut p)
    };
    let optimised = s.clone();
    if let Err(e) = lower(&mut s, &mut |_, _| {}) {
        return Ok(Some(RunOutcome::NotRun(format!("lowered: {e}"))));
    }
    validate(&s).map_err(|e| format!("lowered: {e}"))?;
    // Buffers that are accessed only through addresses must have one.
    match same(&run, &s, &want, "the lowerings") {
        Err(Difference::Stops(_, Fault::NoAddress { .. })) => {
            Ok(Some(RunOutcome::NotRun(format!("lowered: {NO_ADDRESS}"))))
        }
        Err(e) => {
            let mut culprit = None;
            let _ = lower(&mut optimised.clone(), &mut |pass, s| {
                if culprit.is_none() && same(&run, s, &want, pass).is_err() {
                    culprit = Some(pass);
                }
            });
            Err(format!("{e}, by {}", culprit.unwrap_or("several passes together")))
        }
        Ok(()) => Ok(Some(RunOutcome::Same)),
    }
}

fn same(
    run: &impl Fn(&Shader) -> Result<FinalState, Fault>,
    s: &Shader,
    want: &FinalState,
    what: &str,
) -> Result<(), Difference> {
    match run(s) {
        Ok(end) if end == *want => Ok(()),
        Ok(end) => {
            let buffers = &end.memory.buffers;
            let slot = want.memory.buffers.iter().find(|(k, v)| buffers.get(k) != Some(v));
            let memory = slot.map(|(k, v)| {
                let at = v.iter().zip(&buffers[k]).position(|(a, b)| a != b);
                format!(" at set {}, binding {}, byte {}", k.0, k.1, at.unwrap_or(0))
            });
            let output = want.outputs.iter().find(|(k, v)| end.outputs.get(k) != Some(v));
            let output = output
                .map(|(k, v)| format!(" at output {k:?}: {v:x?}, then {:x?}", end.outputs.get(k)));
            let place = memory.or(output).unwrap_or_default();
            Err(Difference::Result(format!("another result after {what}{place}")))
        }
        Err(e) => Err(Difference::Stops(what.to_owned(), e)),
    }
}

/// The difference between a run and the first one.
enum Difference {
    /// Its result is different.
    Result(String),
    /// It stops after a pass.
    Stops(String, Fault),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Result(what) => f.write_str(what),
            Difference::Stops(pass, fault) => write!(f, "stops after {pass}: {fault}"),
        }
    }
}
