//! Runs a warp.

use super::message::Port;
use super::op::{Lanes, Next, Op, Trap};
use super::program::Program;
use super::uniforms::Uniforms;
use super::warp::Warp;

/// The reason why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All of its lanes have ended.
    End,
    /// It waits at a barrier.
    Barrier,
    /// All of its lanes continue at an address, of which these are the lower 32 bits.
    Jump(u32),
}

/// A trap, and the operation that raised it.
#[derive(Debug)]
pub struct RaisedTrap {
    /// The trap.
    pub trap: Box<Trap>,
    /// The index of the operation.
    pub index: u32,
}

/// Runs a warp up to a barrier or its end; takes the executed operations from `budget`.
///
/// # Errors
/// The trap that stopped it.
pub fn run(
    program: &Program,
    warp: &mut Warp,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    budget: &mut u64,
) -> Result<Stop, RaisedTrap> {
    if let Some(check) = &program.check {
        return super::check::run(program, check, warp, uniforms, port, budget);
    }
    if let Some(watched) = port.watched.take() {
        let result = super::watched::run(program, &watched, warp, uniforms, port, budget);
        port.watched = Some(watched);
        return result;
    }
    let translated = program.translation.get(program);
    let mut left = *budget;
    let mut lanes = Lanes { warp, uniforms, port };
    let result = loop {
        let warp = &mut *lanes.warp;
        if warp.pc >= warp.meet {
            warp.choose();
        }
        if warp.mask == 0 {
            break Ok(Stop::End);
        }
        if let Some(translated) = translated
            && let Some(block) = translated.block(warp.pc)
        {
            if let Err(trapped) = translated.run(program, &mut lanes, block, &mut left) {
                break Err(trapped);
            }
            if lanes.warp.pc >= lanes.warp.meet {
                continue;
            }
        }
        let index = lanes.warp.pc;
        let Some(op) = program.ops.get(index as usize) else {
            let what = "the program goes on after its end";
            break Err(RaisedTrap { trap: Box::new(Trap::Invalid(what.into())), index });
        };
        if left == 0 {
            break Err(RaisedTrap { trap: Box::new(Trap::Endless), index });
        }
        left -= 1;
        if let Err(trap) = (op.run)(&mut lanes, op) {
            break Err(RaisedTrap { trap, index });
        }
        match after(lanes.warp, op, index) {
            Ok(None) => {}
            Ok(Some(stop)) => break Ok(stop),
            Err(trapped) => break Err(trapped),
        }
    };
    *budget = left;
    result
}

/// The operation that a warp executes next, taken from the budget, for interpreters that look at each; none if all of its lanes
/// have ended.
pub(super) fn next(
    program: &Program,
    warp: &mut Warp,
    budget: &mut u64,
) -> Result<Option<u32>, RaisedTrap> {
    if warp.pc >= warp.meet {
        warp.choose();
    }
    if warp.mask == 0 {
        return Ok(None);
    }
    let index = warp.pc;
    let raised = |trap: Trap| RaisedTrap { trap: Box::new(trap), index };
    if index as usize >= program.ops.len() {
        return Err(raised(Trap::Invalid("the program goes on after its end".into())));
    }
    if *budget == 0 {
        return Err(raised(Trap::Endless));
    }
    *budget -= 1;
    Ok(Some(index))
}

/// Executes an operation; returns why the warp stops.
pub(super) fn execute(
    lanes: &mut Lanes<'_, '_>,
    op: &Op,
    index: u32,
) -> Result<Option<Stop>, RaisedTrap> {
    (op.run)(lanes, op).map_err(|trap| RaisedTrap { trap, index })?;
    after(lanes.warp, op, index)
}

/// Goes to the next operation; returns why the warp stops.
#[inline(always)]
pub(super) fn after(warp: &mut Warp, op: &Op, index: u32) -> Result<Option<Stop>, RaisedTrap> {
    match op.next {
        Next::Following => warp.pc = index + 1,
        Next::Chosen => {}
        Next::Barrier => {
            warp.pc = index + 1;
            return Ok(Some(Stop::Barrier));
        }
        Next::End => warp.end(),
        Next::Discard => warp.end_lanes(warp.helpers),
        Next::Jump => {
            if let Some(target) = warp.jump.take() {
                if !warp.is_together() {
                    let what = "a jump to another program by some of the lanes".into();
                    return Err(RaisedTrap { trap: Box::new(Trap::Unimplemented(what)), index });
                }
                return Ok(Some(Stop::Jump(target)));
            }
        }
    }
    Ok(None)
}
