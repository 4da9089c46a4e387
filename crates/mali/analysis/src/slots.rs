//! Message slots of Valhall: whether a program waits for the results of its messages.
//!
//! An instruction that is a message to a unit outside of the execution engine completes later and names a slot; its
//! results are in registers once the program has waited for the slot, by the flow of an instruction (`.wait0`), which
//! takes effect after it. The hardware does not check: without the wait, an instruction reads the old value. The checker
//! follows all paths of a program until nothing changes and reports each access of a register that a message may still
//! write, each read of a register whose value was given up (`^r3`), and units that need waits of their own.
//!
//! Hardware waits by itself until a message has read its staging registers.
//!
//! source: Mesa, va_insert_flow.c, va_mark_last.c, bi_ra.c.

use tepui_mali_isa::{Flow, Op};

use crate::code::{Access, Code, CodeError, RegisterSet};
use crate::dataflow;

/// Slots of a program: 0 to 2 for messages, 6 and 7 for waits of the fixed functions.
const SLOTS: usize = 8;

/// Slots of messages.
const MESSAGE_SLOTS: u8 = 0b111;

/// Slots of fixed functions that ATEST and ZS_EMIT wait for, and those that BLEND and the tile buffer do.
const EARLY_FUNCTIONS: u8 = 1 << 6;
const LATE_FUNCTIONS: u8 = 1 << 6 | 1 << 7;

/// Limit on the visits of instructions.
const MAX_STEPS: usize = 10_000_000;

/// The order that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// A read of a register that a message writes later.
    ReadPending,
    /// A write of a register that a message writes later.
    WritePending,
    /// A write of a register that a message may not have read yet; Bifrost only, since Valhall waits by itself.
    WriteStaging,
    /// A read of a register after the mark of its last use, or after a blend shader that may have changed it.
    ReadDiscarded,
    /// A barrier while messages are in flight.
    BarrierPending,
    /// An access of the tile buffer, of depth or of coverage before the slot of the hardware's own tests.
    Unsynchronised,
}

/// A mistake of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// Index of the instruction.
    pub inst: usize,
    /// The order that is missing.
    pub hazard: Hazard,
    /// The first register, of hazards of registers.
    pub register: Option<u8>,
    /// The slot that a wait is missing for.
    pub slot: Option<u8>,
}

impl Finding {
    /// One sentence.
    pub fn text(&self, code: &Code) -> String {
        let at = format!("{:#x}: `{}`", code.offset(self.inst), code.insts()[self.inst]);
        let register = self.register.unwrap_or_default();
        let slot = self.slot.unwrap_or_default();
        match self.hazard {
            Hazard::ReadPending => format!(
                "{at} reads r{register}, which a message of slot {slot} writes: a wait for the slot is missing"
            ),
            Hazard::WritePending => format!(
                "{at} writes r{register}, which a message of slot {slot} writes later: a wait for the slot is missing"
            ),
            Hazard::WriteStaging => format!(
                "{at} writes r{register}, which a message of slot {slot} may not have read yet"
            ),
            Hazard::ReadDiscarded => {
                format!(
                    "{at} reads r{register}, whose value was given up by a mark of the last use or a blend shader"
                )
            }
            Hazard::BarrierPending => {
                format!(
                    "{at} comes while messages of slot {slot} are in flight: a wait for the slot is missing"
                )
            }
            Hazard::Unsynchronised => format!("{at} needs a wait for slot {slot} before it"),
        }
    }
}

/// A program that is not analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// Code that is no program.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The paths do not settle within the limit on visits.
    #[error("the program has too many paths: {MAX_STEPS} steps were not enough")]
    TooManyPaths,
}

/// Results that may be in flight at a place of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    /// For each slot, registers that its messages write.
    pending: [RegisterSet; SLOTS],
    /// Slots with messages.
    busy: u8,
    /// Slots of fixed functions that were not waited for.
    unsynchronised: u8,
    /// Registers whose values were given up.
    discarded: RegisterSet,
}

impl State {
    /// The state at the start: the hardware's own tests are in flight.
    fn start() -> State {
        State { unsynchronised: LATE_FUNCTIONS, ..State::default() }
    }

    /// Takes what may be in flight on another path; returns whether that is more.
    fn merge(&mut self, other: &State) -> bool {
        let before = *self;
        self.pending.iter_mut().zip(other.pending).for_each(|(a, b)| *a |= b);
        self.busy |= other.busy;
        self.unsynchronised |= other.unsynchronised;
        self.discarded |= other.discarded;
        *self != before
    }

    fn wait(&mut self, slots: u8) {
        for (slot, pending) in self.pending.iter_mut().enumerate() {
            if slots >> slot & 1 != 0 {
                *pending = 0;
            }
        }
        self.busy &= !slots;
        self.unsynchronised &= !slots;
    }

    /// Executes an instruction, and the waits of its flow.
    fn step(&mut self, access: &Access, flow: Flow) {
        let written = access.writes | access.results;
        self.discarded = self.discarded & !written | access.discards;
        if let Some(slot) = access.slot {
            self.pending[usize::from(slot) % SLOTS] |= access.results;
            self.busy |= 1 << slot;
        }
        self.wait(waits(flow));
    }

    fn findings(&self, n: usize, op: Op, access: &Access, mut found: impl FnMut(Finding)) {
        let first = |set: RegisterSet| (set != 0).then_some(set.trailing_zeros() as u8);
        let kinds = [
            (access.reads, Hazard::ReadPending),
            (access.writes | access.results, Hazard::WritePending),
        ];
        for (set, hazard) in kinds {
            for (slot, pending) in (0..).zip(self.pending) {
                let register = first(pending & set);
                if register.is_some() {
                    found(Finding { inst: n, hazard, register, slot: Some(slot) });
                }
            }
        }
        let register = first(self.discarded & access.reads);
        if register.is_some() {
            found(Finding { inst: n, hazard: Hazard::ReadDiscarded, register, slot: None });
        }
        let mut slots = |set: u8, hazard| {
            if set != 0 {
                let slot = Some(set.trailing_zeros() as u8);
                found(Finding { inst: n, hazard, register: None, slot });
            }
        };
        match op {
            Op::BARRIER => slots(self.busy & MESSAGE_SLOTS, Hazard::BarrierPending),
            Op::ATEST | Op::ZS_EMIT => {
                slots(self.unsynchronised & EARLY_FUNCTIONS, Hazard::Unsynchronised);
            }
            Op::BLEND | Op::LD_TILE | Op::ST_TILE => {
                slots(self.unsynchronised & LATE_FUNCTIONS, Hazard::Unsynchronised);
            }
            _ => {}
        }
    }
}

/// The slots that a flow waits for, after its instruction.
fn waits(flow: Flow) -> u8 {
    match flow {
        Flow::Wait0 => 0b1,
        Flow::Wait1 => 0b10,
        Flow::Wait01 => 0b11,
        Flow::Wait2 => 0b100,
        Flow::Wait02 => 0b101,
        Flow::Wait12 => 0b110,
        Flow::Wait012 => 0b111,
        Flow::Wait0126 => 0b111 | EARLY_FUNCTIONS,
        Flow::Wait | Flow::End => u8::MAX,
        Flow::None | Flow::Reconverge | Flow::WaitResource | Flow::Discard => 0,
    }
}

/// Finds accesses that the waits of a program do not order, sorted by the instruction. A blend shader is called when the
/// waits for the tile buffer are over.
///
/// # Errors
/// The program exceeds the limit on visits.
pub fn check(code: &Code, is_blend_shader: bool) -> Result<Vec<Finding>, SlotError> {
    let accesses: Vec<Access> = (0..code.len()).map(|n| code.access(n)).collect();
    let start = match is_blend_shader {
        true => State::default(),
        false => State::start(),
    };
    let step = |n: usize, state: &mut State| state.step(&accesses[n], code.insts()[n].flow);
    let next = |n: usize| code.successors(n).filter(|&to| to < code.len());
    let entries = dataflow::entries([code.len(), MAX_STEPS], start, step, next, State::merge);
    let entries = entries.ok_or(SlotError::TooManyPaths)?;
    let mut findings = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        if let Some(state) = entry {
            state.findings(n, code.insts()[n].op, &accesses[n], |finding| findings.push(finding));
        }
    }
    findings.sort();
    Ok(findings)
}
