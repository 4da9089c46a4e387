//! The software scoreboard of Gen12: whether annotations order all accesses of registers.
//!
//! Hardware does not check dependencies between instructions: an instruction waits for what its annotation names (`@3`:
//! the in-order instruction three before it and all that came earlier; `$5.dst` and `$5.src`: the results and the
//! payloads of the instructions that set token 5). Messages and `math` complete out of order, everything else in
//! order. The [checker](check) follows all paths of a program until nothing changes, and reports each pair of accesses of a
//! register that may overlap in time: a read of what a pending instruction writes, a write of what it writes or
//! reads. The same [`state`] follows one path when a program is executed ([`Tracker`]).
//!
//! # What hardware orders by itself
//!
//! Accesses of flag registers, implicit accesses of accumulators, writes of in-order instructions after reads of in-order
//! instructions. Messages have read a descriptor in a0 when they are issued. A token that is set again is first waited for.
//! Ten in-order instructions later, an in-order instruction has completed.
//! source: Mesa 25.0, `brw_lower_scoreboard.cpp`, `brw_ir_performance.cpp` (`issue_inst`: tokens set again).
//!
//! Where sources differ or are silent there are [rules](Rules).

mod state;

use std::fmt;

use tepui_intel_isa::Generation;

use crate::code::Code;
use state::{Conflict, Footprint, State};

/// Limit on the work of the checker: for each visit of an instruction, one and the pending instructions there.
const MAX_STEPS: usize = 100_000_000;

/// Choices where sources differ or are silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether jumps count in distances. Mesa counts them. Intel's assembler library does not (`RegDeps.cpp` of the Intel Graphics
    /// Compiler); code that is right for both has no distance across a jump but 1, or counts on neither.
    pub jumps_count: bool,
    /// Whether a write must be ordered after an earlier write of another in-order instruction. Mesa's scoreboard pass does so, its
    /// encoder relies on the opposite (scratch headers, shuffles), and Intel's assembler library names write after
    /// write as a dependency of different pipelines only.
    pub in_order_writes: bool,
    /// Whether the wait at a barrier (`sync.bar`) counts in distances. Mesa counts a barrier's message and wait as one in-order
    /// instruction.
    pub barriers_count: bool,
    /// Whether a message waits for the a0 that holds its descriptor by itself. Mesa 26.1 relies on it.
    pub descriptors_wait: bool,
    /// Whether a read of an accumulator must be ordered after a write of it by an instruction of the same pipe, which is that of 64-bit types
    /// or that of all others. Mesa's scoreboard pass does so; Intel's assembler library has it from the hardware (`SWSBSetter.cpp` of the
    /// Intel Graphics Compiler).
    pub accumulators: bool,
    /// Whether in-order instructions that touch different bytes of a register must be ordered. Mesa's scoreboard pass knows whole
    /// registers; Intel's assembler library has dependencies between bytes (`RegDeps.cpp`).
    pub whole_registers: bool,
    /// Whether a wait of an instruction with a mask is worthless for an instruction without one: fused execution units walk
    /// through blocks with all channels off, in which masked instructions do not wait (Wa_1407528679).
    pub masked_waits: bool,
    /// Whether a message's results must be ordered after the payload of an earlier message of the same channels to the same shared
    /// function is read. Mesa's scoreboard pass does so; Intel's compiler has it from the order in which a function takes
    /// messages (`SWSB_G4IR.cpp` of the Intel Graphics Compiler, `WARDepRequired`).
    pub payload_order: bool,
}

impl Rules {
    /// As Mesa's compiler understands the hardware.
    pub const MESA: Rules = Rules {
        jumps_count: true,
        in_order_writes: false,
        barriers_count: true,
        descriptors_wait: true,
        accumulators: true,
        whole_registers: true,
        masked_waits: true,
        payload_order: true,
    };
    /// As far as Mesa's compiler and Intel's agree.
    pub const COMMON: Rules =
        Rules { accumulators: false, whole_registers: false, payload_order: false, ..Rules::MESA };
    /// Every choice on the safe side.
    pub const STRICT: Rules = Rules {
        jumps_count: false,
        in_order_writes: true,
        barriers_count: false,
        descriptors_wait: false,
        accumulators: true,
        whole_registers: true,
        masked_waits: true,
        payload_order: true,
    };
}

/// An order that annotations do not establish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hazard {
    /// A read of what the earlier instruction writes.
    ReadAfterWrite,
    /// A write of what the earlier instruction writes.
    WriteAfterWrite,
    /// A write of what the earlier instruction reads.
    WriteAfterRead,
}

/// A register, as the checker counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScoreboardRegister {
    /// A general register.
    General(u8),
    /// The address register.
    Address,
    /// An accumulator.
    Accumulator(u8),
}

impl fmt::Display for ScoreboardRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScoreboardRegister::General(n) => write!(f, "g{n}"),
            ScoreboardRegister::Address => f.write_str("a0"),
            ScoreboardRegister::Accumulator(n) => write!(f, "acc{n}"),
        }
    }
}

/// The annotation that would order two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// A distance, on the later instruction or between.
    Distance(u8),
    /// A wait for the results of a token.
    TokenWritten(u8),
    /// A wait for the payloads of a token.
    TokenRead(u8),
    /// The earlier instruction sets no token, so that nothing can wait for it.
    Token,
    /// A wait without a mask: only an instruction with a mask waits.
    WithoutMask,
}

/// Two instructions that may access a register at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Finding {
    /// Index of the later instruction.
    pub consumer: usize,
    /// Index of the earlier one.
    pub producer: usize,
    /// The order that is missing.
    pub hazard: Hazard,
    /// The first register.
    pub register: ScoreboardRegister,
    /// Annotation that would order them.
    pub missing: Missing,
}

impl Finding {
    /// One sentence with both instructions.
    pub fn text(&self, code: &Code) -> String {
        let [later, earlier] = [self.consumer, self.producer].map(|n| code.text(n));
        let earlier = format!("`{earlier}` at {:#x}", code.offset(self.producer));
        format!("{:#x}: `{later}` {}", code.offset(self.consumer), self.description(&earlier))
    }

    /// The rest of a sentence about the later instruction; `earlier` names the other.
    pub fn description(&self, earlier: &str) -> String {
        let (doing, did) = match self.hazard {
            Hazard::ReadAfterWrite => ("reads", "writes"),
            Hazard::WriteAfterWrite => ("writes", "writes"),
            Hazard::WriteAfterRead => ("writes", "reads"),
        };
        let missing = match self.missing {
            Missing::Distance(distance) => format!("a distance of at most {distance} is missing"),
            Missing::TokenWritten(id) => format!("a wait for ${id}.dst is missing"),
            Missing::TokenRead(id) => format!("a wait for ${id}.src is missing"),
            Missing::Token => "the latter sets no token".to_owned(),
            Missing::WithoutMask => "only an instruction with a mask waits".to_owned(),
        };
        format!("{doing} {}, which {earlier} {did}: {missing}", self.register)
    }
}

/// A program that is not analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreboardError {
    /// A generation without a software scoreboard.
    #[error("{0} has no software scoreboard: hardware checks dependencies")]
    Generation(Generation),
    /// More instructions that nothing waits for than [`state::MAX_PENDING`].
    #[error("{offset:#x}: more than {} instructions are pending", state::MAX_PENDING)]
    TooManyPending {
        /// Offset of the instruction.
        offset: usize,
    },
    /// The paths do not settle within the limit on visits.
    #[error("the program has too many paths: {MAX_STEPS} steps were not enough")]
    TooManyPaths,
}

/// Blocks of a program: instructions without jumps between them.
#[derive(Clone, Debug)]
struct Blocks {
    /// Index of the block of each instruction, and one more for the end.
    of: Vec<u32>,
    /// The first instruction of each block.
    first: Vec<usize>,
}

impl Blocks {
    fn new(code: &Code) -> Blocks {
        let mut leads = vec![false; code.len() + 1];
        leads[0] = true;
        for n in 0..code.len() {
            let next = code.successors(n);
            if next != [n + 1] {
                next.iter().for_each(|&to| leads[to.min(code.len())] = true);
                leads[n + 1] = true;
            }
        }
        let mut blocks = Blocks { of: Vec::with_capacity(code.len() + 1), first: Vec::new() };
        for (n, leads) in leads.into_iter().enumerate() {
            if leads {
                blocks.first.push(n);
            }
            blocks.of.push(blocks.first.len() as u32 - 1);
        }
        blocks
    }

    fn instructions(&self, block: usize, code: &Code) -> std::ops::Range<usize> {
        let end = self.first.get(block + 1).copied().unwrap_or(code.len());
        self.first[block].min(code.len())..end.min(code.len())
    }
}

/// Finds accesses that the annotations of a program do not order, sorted by the later instruction.
///
/// Registers that are read or written through a0 are not known from the code and are not checked: execution does that
/// ([`Tracker`]).
///
/// # Errors
/// Programs of other generations, and such as exceed the limits.
pub fn check(code: &Code, rules: Rules) -> Result<Vec<Finding>, ScoreboardError> {
    if let Some(inst) = code.insts().first()
        && inst.generation < Generation::Gen12
    {
        return Err(ScoreboardError::Generation(inst.generation));
    }
    let blocks = Blocks::new(code);
    let footprints: Vec<Footprint> =
        (0..code.len()).map(|n| Footprint::new(&code.insts()[n], &code.access(n))).collect();
    let mut entries: Vec<Option<State>> = vec![None; blocks.first.len()];
    entries[0] = Some(State::default());
    let mut open = std::collections::BTreeSet::from([0usize]);
    let mut steps = 0;
    while let Some(block) = open.pop_first() {
        let Some(mut state) = entries[block].clone() else { continue };
        let range = blocks.instructions(block, code);
        steps += range.len() * (1 + state.len());
        if steps > MAX_STEPS {
            return Err(ScoreboardError::TooManyPaths);
        }
        state.enter(block as u32);
        for n in range.clone() {
            state.wait(n, &footprints, block as u32, rules);
            state.issue(n, &footprints, rules);
            if state.len() > state::MAX_PENDING {
                return Err(ScoreboardError::TooManyPending { offset: code.offset(n) });
            }
        }
        let Some(last) = range.last() else { continue };
        for to in code.successors(last).into_iter().filter(|&to| to < code.len()) {
            let to = blocks.of[to] as usize;
            let changed = match &mut entries[to] {
                Some(entry) => entry.merge(&state),
                entry => {
                    *entry = Some(state.clone());
                    true
                }
            };
            if changed {
                open.insert(to);
            }
        }
    }
    let mut findings = Vec::new();
    for (block, entry) in entries.into_iter().enumerate() {
        let Some(mut state) = entry else { continue };
        state.enter(block as u32);
        for n in blocks.instructions(block, code) {
            state.wait(n, &footprints, block as u32, rules);
            state.conflicts(n, &footprints, block as u32, rules, &mut |conflict: Conflict| {
                findings.push(conflict.finding(n));
            });
            state.issue(n, &footprints, rules);
        }
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// The scoreboard along the path that a thread takes.
///
/// Unlike [`check`], it knows which registers instructions access through a0.
#[derive(Clone, Debug)]
pub struct Tracker {
    state: State,
    footprints: Vec<Footprint>,
    blocks: Blocks,
    rules: Rules,
}

impl Tracker {
    /// A tracker at the start of a program.
    pub fn new(code: &Code, rules: Rules) -> Tracker {
        let footprints =
            (0..code.len()).map(|n| Footprint::new(&code.insts()[n], &code.access(n))).collect();
        Tracker { state: State::default(), footprints, blocks: Blocks::new(code), rules }
    }

    /// Goes back to the start.
    pub fn restart(&mut self) {
        self.state = State::default();
    }

    /// Executes an instruction, and tells what it may overlap with. `indirect` are masks of the general registers that it
    /// reads and writes through a0.
    pub fn execute(&mut self, n: usize, indirect: [u128; 2], mut found: impl FnMut(Finding)) {
        let (Some(footprint), Some(&block)) = (self.footprints.get_mut(n), self.blocks.of.get(n))
        else {
            return;
        };
        footprint.set_indirect(indirect);
        if self.blocks.first.get(block as usize) == Some(&n) {
            self.state.enter(block);
        }
        self.state.wait(n, &self.footprints, block, self.rules);
        self.state.conflicts(n, &self.footprints, block, self.rules, &mut |conflict| {
            found(conflict.finding(n));
        });
        self.state.issue(n, &self.footprints, self.rules);
    }
}
