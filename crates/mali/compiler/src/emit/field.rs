//! The flow field: waits, reconvergence and the end of the program.
//!
//! The field acts at the end of its instruction, so a wait belongs to the instruction before the one that needs it. Where that one has
//! another flow, or the wait is needed on one path only, an empty instruction carries it.

use super::Listing;
use crate::mir::Inst;
use tepui_backend::{At, Line};
use tepui_ir::Loc;
use tepui_mali_isa::{Flow, Op};

/// Slots that `wait0126` and `wait` wait for in addition.
pub(super) const EARLY: u32 = 1 << 6;
/// See [`EARLY`].
pub(super) const LATE: u32 = 1 << 7;

/// The flow that waits for slots.
fn wait(slots: u32) -> Flow {
    if slots & LATE != 0 {
        return Flow::Wait;
    }
    if slots & EARLY != 0 {
        return Flow::Wait0126;
    }
    match slots & 7 {
        1 => Flow::Wait0,
        2 => Flow::Wait1,
        3 => Flow::Wait01,
        4 => Flow::Wait2,
        5 => Flow::Wait02,
        6 => Flow::Wait12,
        7 => Flow::Wait012,
        _ => Flow::None,
    }
}

/// The slots that a flow waits for, of those that messages take.
fn waited(flow: Flow) -> Option<u32> {
    Some(match flow {
        Flow::None => 0,
        Flow::Wait0 => 1,
        Flow::Wait1 => 2,
        Flow::Wait01 => 3,
        Flow::Wait2 => 4,
        Flow::Wait02 => 5,
        Flow::Wait12 => 6,
        Flow::Wait012 => 7,
        Flow::Wait0126 => 7 | EARLY,
        _ => return None,
    })
}

/// Adds the flow to a listing; `waits` are the slots that each line must wait for.
pub(super) fn run(listing: &Listing, waits: &[u32]) -> Listing {
    let count = listing.lines.len();
    let mut is_target = vec![false; count + 1];
    for line in &listing.lines {
        if let Some(label) = line.target {
            is_target[listing.labels[label as usize] as usize] = true;
        }
    }
    for (n, line) in listing.lines.iter().enumerate() {
        // Fixed functions of a blend go on after the call of a blend shader.
        is_target[n + 1] |= line.inst.op == Op::BRANCHZI;
    }
    let mut out = Listing { labels: Vec::new(), lines: Vec::new(), ..listing.clone() };
    // The new position of each line.
    let mut position = Vec::with_capacity(count + 1);
    for (n, line) in listing.lines.iter().enumerate() {
        let mut line = *line;
        position.push(out.lines.len() as u32);
        let mut here = waits[n];
        if !is_target[n]
            && let Some(last) = out.lines.last_mut()
            && let Some(before) = waited(last.inst.flow)
        {
            last.inst.flow = wait(before | here);
            here = 0;
        }
        // A fence is only its wait.
        let is_fence = line.inst.op == Op::NOP;
        if here != 0 {
            let nop = Inst { flow: wait(here), ..Inst::new(Op::NOP) };
            out.lines.push(Line { inst: nop, target: None, ..line });
        }
        if is_fence {
            continue;
        }
        line.inst.flow = match line.inst.op {
            Op::BARRIER => Flow::Wait,
            Op::BRANCHZ => Flow::Reconverge,
            _ => Flow::None,
        };
        out.lines.push(line);
        let falls = !matches!(line.inst.op, Op::BRANCHZ | Op::BRANCHZI);
        if is_target[n + 1] && n + 1 < count && falls {
            reconverge(&mut out, line);
        }
    }
    position.push(out.lines.len() as u32);
    out.labels =
        listing.labels.iter().map(|&l| position.get(l as usize).copied().unwrap_or(l)).collect();
    end(&mut out);
    out
}

/// Lets the paths to the next line meet.
fn reconverge(out: &mut Listing, line: Line<Inst>) {
    match out.lines.last_mut() {
        Some(last) if last.inst.flow == Flow::None => last.inst.flow = Flow::Reconverge,
        _ => {
            let nop = Inst { flow: Flow::Reconverge, ..Inst::new(Op::NOP) };
            out.lines.push(Line { inst: nop, target: None, ..line });
        }
    }
}

/// Ends the program. One without other instructions has an empty one: the hardware has no programs of no instructions.
fn end(out: &mut Listing) {
    let count = out.lines.len() as u32;
    let is_target =
        out.lines.iter().any(|l| l.target.is_some_and(|t| out.labels[t as usize] >= count));
    let nop = Inst { flow: Flow::End, ..Inst::new(Op::NOP) };
    match out.lines.last_mut() {
        None => out.lines.push(Line {
            inst: nop,
            target: None,
            loc: Loc::default(),
            step: At::default(),
        }),
        Some(last)
            if !is_target && last.inst.flow == Flow::None && last.inst.op != Op::BRANCHZI =>
        {
            last.inst.flow = Flow::End;
        }
        Some(last) => {
            let line = Line { inst: nop, target: None, ..*last };
            out.lines.push(line);
        }
    }
}
