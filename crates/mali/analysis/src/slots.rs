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

use crate::code::{Code, CodeError};
use crate::dataflow;
use crate::scoreboard::{Access, Hazard, State};

/// Limit on the visits of instructions.
const MAX_STEPS: usize = 10_000_000;

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
    let step = |n: usize, state: &mut State| state.step(&accesses[n]);
    let next = |n: usize| code.successors(n).filter(|&to| to < code.len());
    let entries = dataflow::entries([code.len(), MAX_STEPS], start, step, next, State::merge);
    let entries = entries.ok_or(SlotError::TooManyPaths)?;
    let mut findings = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        if let Some(state) = entry {
            state.hazards(&accesses[n], |hazard, register, slot| {
                findings.push(Finding { inst: n, hazard, register, slot });
            });
        }
    }
    findings.sort();
    Ok(findings)
}
