//! The run loop.

use super::lanes::{Lanes, Next};

/// Why a SIMD-group no longer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended.
    Stop,
    /// It waits for the other groups of its workgroup.
    Barrier,
    /// It cannot go on; `Lanes::fault` says why and `Lanes::pc` is behind the instruction.
    Fault,
}

/// Runs a group to its end, its next barrier or its fault.
pub fn run(l: &mut Lanes<'_, '_>) -> Outcome {
    let ops = l.program.ops();
    let mut since_jump = l.pc;
    let outcome = loop {
        let Some(op) = ops.get(l.pc) else {
            l.fault = Some("execution runs past the end of the program".to_owned());
            break Outcome::Fault;
        };
        if let Some(checker) = &mut l.checker {
            checker.before(l.program, l.pc, l.exec);
        }
        l.pc += 1;
        let here = l.pc;
        // SAFETY: the program holds handlers of a set that this host can run, and operands that lie
        // in the files, whose lengths `Lanes::new` checked.
        match unsafe { (op.run)(l, op) } {
            Next::Continue => {}
            Next::Jump => {
                let ran = (here - since_jump) as u64;
                l.executed += ran;
                since_jump = l.pc;
                if l.executed > l.budget {
                    l.fault = Some(format!(
                        "no end after {} instructions: the loop is taken for endless",
                        l.executed
                    ));
                    l.pc = here;
                    break Outcome::Fault;
                }
            }
            Next::Barrier => break Outcome::Barrier,
            Next::Stop => break Outcome::Stop,
            Next::Fault => break Outcome::Fault,
        }
    };
    l.executed += l.pc.saturating_sub(since_jump) as u64;
    outcome
}
