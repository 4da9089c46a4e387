//! Steps of a warp, from one operation to the next.

use super::op::{Lanes, Next, Op};
use super::program::Program;
use crate::warp::Warp;
use crate::warp::trap::{RaisedTrap, Trap};

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

/// The operation that a warp executes next, taken from the budget, for interpreters that look at each; none if all of its lanes
/// have ended.
pub fn next(
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
pub fn execute(lanes: &mut Lanes<'_, '_>, op: &Op, index: u32) -> Result<Option<Stop>, RaisedTrap> {
    (op.run)(lanes, op).map_err(|trap| RaisedTrap { trap, index })?;
    after(lanes.warp, op, index)
}

/// Goes to the next operation; returns why the warp stops.
#[inline(always)]
pub fn after(warp: &mut Warp, op: &Op, index: u32) -> Result<Option<Stop>, RaisedTrap> {
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
