//! The run loop.

use super::check::{Checker, memory};
use super::exec::Handlers;
use super::inspect;
use super::lanes::Lanes;
use super::op::{Next, Op};
use super::opcode::Opcode;
use super::program::Program;
use super::row::LANES;
use crate::job::FaultKind;

/// Reason why a SIMD-group stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All lanes have ended.
    Stop,
    /// The group waits for the other groups of its workgroup.
    Barrier,
    /// The group waits for scratch memory.
    Scratch,
    /// A fault: `Lanes::fault` has the reason and `Lanes::pc` is after the instruction.
    Fault,
}

/// Runs a group until it stops or waits: as translated code if the program has some, otherwise by
/// the interpreter.
pub fn run(l: &mut Lanes<'_, '_>, program: &Program) -> Outcome {
    #[cfg(target_arch = "x86_64")]
    if l.port.watch.as_ref().is_none_or(|watch| !watch.observer().steps())
        && let Some(code) = match &l.checker {
            None => program.translated(),
            Some(checker) if checker.trusts_registers() => program.translated_with_checks(),
            Some(_) => None,
        }
    {
        return translated(l, program, code);
    }
    loop {
        if let Some(outcome) = interpret(l, program, |_| false) {
            return outcome;
        }
    }
}

/// Runs translated code, and the interpreter up to the next instruction at which translated code
/// can be entered.
#[cfg(target_arch = "x86_64")]
fn translated(l: &mut Lanes<'_, '_>, program: &Program, code: &super::jit::Translated) -> Outcome {
    use super::jit::exit;
    loop {
        if !code.begins_at(l.pc) {
            match interpret(l, program, |pc| code.begins_at(pc)) {
                Some(outcome) => return outcome,
                None => continue,
            }
        }
        match code.run(l) {
            exit::JUMP if l.executed.instructions <= l.budget => {}
            exit::JUMP | exit::BUDGET => return endless(l, l.pc),
            exit::BARRIER => return Outcome::Barrier,
            exit::SCRATCH => return Outcome::Scratch,
            exit::STOP => return Outcome::Stop,
            exit::END => return end(l),
            _ => return Outcome::Fault,
        }
    }
}

/// Interprets until the group stops, or until `until` returns true for the index of the next
/// operation.
fn interpret(
    l: &mut Lanes<'_, '_>,
    program: &Program,
    until: impl Fn(usize) -> bool,
) -> Option<Outcome> {
    let handlers = Handlers::of_host();
    let ops = l.code.ops();
    let watch = l.port.watch.clone().filter(|watch| watch.observer().steps());
    let watches = |checker: &Checker| !checker.trusts_registers();
    let footprints = l.checker.as_deref().is_some_and(watches).then(|| program.footprints());
    let mut since_jump = l.pc;
    let outcome = loop {
        let Some(op) = ops.get(l.pc) else {
            break Some(end(l));
        };
        if let Some(footprints) = footprints {
            let first = chosen(l, op);
            if let Some(checker) = &mut l.checker {
                checker.before(l.code, footprints, l.pc, [l.exec, l.alive, first]);
            }
            if footprints.crosses(l.pc) && l.exec != 0 {
                memory::effect(l, l.exec);
            }
        }
        if let Some(watch) = &watch {
            inspect::tell(watch, l);
        }
        l.pc += 1;
        let here = l.pc;
        // SAFETY: the handlers are of a set that this host can run, and the program's operands lie
        // in the files, whose lengths `Lanes::new` checked.
        match unsafe { (handlers.of(op))(l, op) } {
            Next::Continue => {}
            Next::Jump => {
                l.executed += l.code.counts(since_jump..here);
                since_jump = l.pc;
                // As in translated code: only backward jumps can loop for ever.
                let ahead = matches!(op.opcode, Opcode::jmp_exec_any | Opcode::jmp_exec_none)
                    && l.pc >= here;
                if !ahead && l.executed.instructions > l.budget {
                    return Some(endless(l, here));
                }
            }
            Next::Barrier => break Some(Outcome::Barrier),
            Next::Scratch => break Some(Outcome::Scratch),
            Next::Stop => break Some(Outcome::Stop),
            Next::Fault => break Some(Outcome::Fault),
        }
        if until(l.pc) {
            break None;
        }
    };
    l.executed += l.code.counts(since_jump..l.pc);
    outcome
}

/// The lanes that take the former of the two operands between which an operation chooses, if it does.
fn chosen(l: &Lanes<'_, '_>, op: &Op) -> u32 {
    let yes = match op.opcode {
        Opcode::icmpsel => super::exec::int::icompare(l, op, op.aux[0]),
        Opcode::fcmpsel => super::exec::float::fcompare(l, op, op.aux[0]),
        _ => return 0,
    };
    (0..LANES).fold(0, |lanes, i| lanes | (yes.0[i] & 1) << i)
}

#[cold]
fn end(l: &mut Lanes<'_, '_>) -> Outcome {
    l.fail("execution runs past the end of the program");
    Outcome::Fault
}

/// Stops the group because its budget is exceeded, at the operation before `pc`.
#[cold]
fn endless(l: &mut Lanes<'_, '_>, pc: usize) -> Outcome {
    let executed = l.executed.instructions;
    let why = format!("no end after {executed} instructions: the loop is taken for endless");
    l.fail_as(FaultKind::Endless, why);
    l.pc = pc;
    Outcome::Fault
}
