//! Walks a program and chooses host instructions for each operation.

use super::code::{Translated, exit};
use super::region::{Region, regions};
use super::template::is_of_lanes;
use super::translator::Translator;
use crate::usc::code::Code;
use crate::usc::op::Op;
use crate::usc::opcode::Opcode;
use tepui_hostvec::Target;
use tepui_hostvec::asm::{Assembler, Condition, Label};

/// The shortest run of operations that is skipped by a branch when no lane executes.
const WORTH_SKIPPING: usize = 3;

/// Number of operations ahead that are searched for the row whose next use is furthest: enough for most
/// runs, few enough that long ones do not take quadratic time.
const LOOK_AHEAD: usize = 64;

/// Translates a program; `None` where the host cannot run the result.
pub fn translate(code: &Code, target: Target, checks: bool) -> Option<Translated> {
    if !target.is_available() {
        return None;
    }
    let (asm, places) = assemble(code, target, checks);
    let (bytes, labels) = asm.finish();
    let places = places.into_iter().map(|label| match label {
        Some(label) => labels[label.0 as usize],
        None => u32::MAX,
    });
    Translated::new(&bytes, places.collect())
}

/// A program's code, and where execution can begin at each operation. Any host can do this for any
/// target. With `checks`, memory is accessed by handlers, which call the checker.
pub fn assemble(code: &Code, target: Target, checks: bool) -> (Assembler, Vec<Option<Label>>) {
    let ops = code.ops();
    let mut t = Translator::new(code, target);
    let labels: Vec<Label> = ops.iter().map(|_| t.asm.label()).collect();
    let mut begins = vec![false; ops.len()];
    let mut targets = vec![false; ops.len()];
    for op in ops {
        if matches!(op.opcode, Opcode::jmp_exec_any | Opcode::jmp_exec_none | Opcode::call) {
            // The link register's value stands above the target.
            if let Some(target) = targets.get_mut(op.imm as u32 as usize) {
                *target = true;
            }
        }
    }
    if target == Target::Avx512 {
        let new = |(ops, rows), t: &mut Translator<'_>| Region {
            ops,
            rows,
            begin: t.asm.label(),
            end: t.asm.label(),
        };
        let regions = regions(code, &targets);
        t.regions = regions.into_iter().map(|region| new(region, &mut t)).collect();
    }
    t.enter();
    let mut index = 0;
    let mut next_region = 0;
    while index < ops.len() {
        let begins_region = t.regions.get(next_region).is_some_and(|r| r.ops.start == index);
        // Entries from outside and jumps must find nothing pending.
        if index == 0 || targets[index] || begins_region {
            t.count();
        }
        begins[index] = t.pending.is_empty() && t.region.is_none();
        t.asm.place(labels[index]);
        if begins_region {
            t.begin_region(next_region);
            next_region += 1;
        }
        let end = t.region().map_or(ops.len(), |region| region.ops.end);
        let run = 1 + (index + 1..end).take_while(|&i| !targets[i] && is_of_lanes(&ops[i])).count();
        let run = if is_of_lanes(&ops[index]) { run } else { 1 };
        t.index = index;
        t.pending.end = index + run;
        if is_of_lanes(&ops[index]) {
            t.straight(&ops[index..index + run]);
        } else if checks && accesses_memory(&ops[index]) || t.control(&ops[index], &labels).is_err()
        {
            t.by_handler();
        }
        index += run;
        if t.region().is_some_and(|region| region.ops.end == index) {
            t.count();
            t.end_region();
        }
    }
    t.count();
    t.leave(ops.len(), exit::END);
    t.place_exit_stubs();
    let out = t.out;
    t.asm.place(out);
    t.exit();
    let places = begins.iter().zip(labels).map(|(&begins, label)| begins.then_some(label));
    (t.asm, places.collect())
}

/// Whether the checker looks at what an operation accesses.
fn accesses_memory(op: &Op) -> bool {
    matches!(
        op.opcode,
        Opcode::device_load | Opcode::device_store | Opcode::local_load | Opcode::local_store
    )
}

impl Translator<'_> {
    /// Operations of lanes, one after the other: first for one part of the group, then for the
    /// next, each only if some lane of it executes.
    fn straight(&mut self, ops: &[Op]) {
        for part in 0..self.asm.parts() {
            self.part = part;
            let skip = self.asm.label();
            if ops.len() >= WORTH_SKIPPING {
                self.asm.test_mask(self.exec());
                self.asm.jump_if(Condition::Zero, skip);
            }
            for (i, op) in ops.iter().enumerate() {
                self.asm.forget();
                let end = ops.len().min(i + LOOK_AHEAD);
                self.ahead = self.index + i..self.index + end;
                self.rows.begun = self.rows.clock;
                self.lanes(op);
            }
            self.ahead = 0..0;
            self.write_back();
            self.asm.place(skip);
        }
    }
}
