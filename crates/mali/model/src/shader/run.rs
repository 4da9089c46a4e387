//! Runs a warp.

use super::op::Lanes;
use super::program::Program;
use super::step::{Stop, after};
use super::translate::translate;
use crate::units::Port;
use crate::warp::Warp;
use crate::warp::trap::{RaisedTrap, Trap};
use crate::warp::uniforms::Uniforms;

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
    let translated = program.translation.get(0, || translate(&program.ops, &program.rows));
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
            if let Err(trapped) = translated.run(&program.ops, &mut lanes, block, &mut left) {
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
