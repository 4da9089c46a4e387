//! Regions: runs of operations, with the control flow among them, over which rows of registers stay
//! in vector registers.
//!
//! Outside of regions rows are loaded and written back between two changes of the execution mask,
//! in the active lanes ([`Rows`](super::translator::Rows)). In a region, the rows that are used most
//! have a vector register for each part of the group from its begin to its end, which holds *all*
//! lanes: results replace the active ones. So a branch or a turn of a loop costs neither loads nor
//! stores. All operations of a region have templates that access registers by
//! [`Translator::row`](super::translator::Translator::row) alone, and the only way in is its begin,
//! where rows are loaded. Jumps out of a region go by exit stubs, which write them to the register file.
//!
//! With AVX-512 two parts and 32 vector registers leave room for nine rows, and a result replaces
//! the active lanes by an instruction that copies under a mask, as cheap as a plain copy. AVX2 has
//! four parts, sixteen registers and no masks: regions are for AVX-512 alone.

use std::ops::Range;

use super::template::{is_mask_change, is_of_lanes, jump_target};
use crate::usc::code::Code;
use crate::usc::op::{File, Form, Op};
use crate::usc::opcode::Opcode;
use tepui_hostvec::asm::{Label, V};

/// Rows that a region keeps, at most: the others of an operation need six registers.
const MAX_ROWS: usize = 9;
/// The vector registers of rows are those below this one.
const BELOW: u8 = 30;
/// Assumed trip count of a loop.
const TURNS: u32 = 8;
/// Maximum number of iterations of cutting regions at jumps into their middle.
const CUTS: usize = 8;

/// A region.
pub struct Region {
    /// Its operations.
    pub ops: Range<usize>,
    /// The rows that it keeps.
    pub rows: Vec<Kept>,
    /// After the loads at its start.
    pub begin: Label,
    /// Before the stores at its end.
    pub end: Label,
}

/// A row that a region keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The row.
    pub row: u16,
    /// The vector register of the first part; the next one is the second part's.
    first: u8,
    /// Whether some operation of the region writes it.
    pub changed: bool,
}

impl Kept {
    /// The vector register of a part.
    pub fn at(&self, part: usize) -> V {
        V(self.first + part as u8)
    }

    /// Its vector registers, a bit each.
    pub fn bits(&self) -> u32 {
        0b11 << self.first
    }
}

/// Whether a region may have the operation.
fn stays(op: &Op, count: usize) -> bool {
    is_of_lanes(op) || is_mask_change(op) || jump_target(op, count).is_some()
}

/// The regions of a program in order, without labels; `targets` are the operations that jumps and
/// calls go to.
pub fn regions(code: &Code, targets: &[bool]) -> Vec<(Range<usize>, Vec<Kept>)> {
    let ops = code.ops();
    let count = ops.len();
    let stay: Vec<bool> = ops.iter().map(|op| stays(op, count)).collect();
    // Whether an operation starts a run that is one region, or none.
    let mut cut: Vec<bool> = (0..count).map(|i| i == 0 || !stay[i] || !stay[i - 1]).collect();
    let jumps: Vec<(usize, usize)> =
        (0..count).filter_map(|i| jump_target(&ops[i], count).map(|target| (i, target))).collect();
    for op in ops.iter().filter(|op| op.opcode == Opcode::call) {
        if let Some(begin) = cut.get_mut(op.imm as u32 as usize) {
            *begin = true;
        }
    }
    let mut number = vec![0u32; count];
    let mut is_whole = false;
    for _ in 0..CUTS {
        let mut runs = 0;
        for (number, &cut) in number.iter_mut().zip(&cut) {
            runs += u32::from(cut);
            *number = runs;
        }
        is_whole = true;
        for &(from, to) in &jumps {
            if number[from] != number[to] && !cut[to] {
                (cut[to], is_whole) = (true, false);
            }
        }
        if is_whole {
            break;
        }
    }
    if !is_whole {
        return Vec::new();
    }
    let mut regions = Vec::new();
    let mut start = 0;
    while start < count {
        let end = (start + 1..count).find(|&i| cut[i]).unwrap_or(count);
        if stay[start] {
            let rows = rows(ops, start..end, targets, &jumps);
            if !rows.is_empty() {
                regions.push((start..end, rows));
            }
        }
        start = end;
    }
    regions
}

/// Calls `f` with each row that an operation of a region touches, and whether it is written.
fn touched(op: &Op, mut f: impl FnMut(u16, bool)) {
    for s in op.s.iter().filter(|s| s.file == File::Registers) {
        f(s.row, false);
        if s.form == Form::Pair {
            f(s.row + 1, false);
        }
    }
    if is_mask_change(op) {
        // The counts of constructs that lanes are out of.
        f(0, true);
    } else if is_of_lanes(op) && op.opcode != Opcode::nop {
        f(op.d.row, true);
    }
}

/// The rows that a region keeps in registers: those with more uses between changes of the mask than
/// loads and stores at its start and end.
fn rows(ops: &[Op], region: Range<usize>, targets: &[bool], jumps: &[(usize, usize)]) -> Vec<Kept> {
    /// Number of uses of a row, the last run that used it, and whether it is changed.
    #[derive(Clone, Copy, Default)]
    struct Use {
        times: u32,
        run: u32,
        changed: bool,
    }
    let mut uses: Vec<Use> = Vec::new();
    // Ends of the loops that the operation at hand is in: how many turn back at each operation.
    let from = jumps.partition_point(|jump| jump.0 < region.start);
    let to = jumps.partition_point(|jump| jump.0 < region.end);
    let mut depth = vec![0i32; region.len() + 1];
    for &(end, begin) in jumps[from..to].iter().filter(|(end, begin)| begin <= end) {
        if region.contains(&begin) {
            depth[begin - region.start] += 1;
            depth[end + 1 - region.start] -= 1;
        }
    }
    let (mut run, mut loops) = (1, 0);
    for index in region.clone() {
        loops += depth[index - region.start];
        if targets[index] {
            run += 1;
        }
        let weight = TURNS.pow(loops.clamp(0, 3) as u32);
        touched(&ops[index], |row, is_written| {
            let row = usize::from(row);
            if uses.len() <= row {
                uses.resize(row + 1, Use::default());
            }
            let row = &mut uses[row];
            if row.run != run {
                (row.run, row.times) = (run, row.times.saturating_add(weight));
            }
            row.changed |= is_written;
        });
        if !is_of_lanes(&ops[index]) {
            run += 1;
        }
    }
    let mut rows: Vec<(u32, u16)> = (0..)
        .zip(&uses)
        .filter(|(_, used)| used.times > 2)
        .map(|(row, used)| (used.times, row))
        .collect();
    rows.sort_by_key(|&(times, row)| (std::cmp::Reverse(times), row));
    rows.truncate(MAX_ROWS);
    let kept = |(i, &(_, row)): (usize, &(u32, u16))| Kept {
        row,
        first: BELOW - 2 * (i as u8 + 1),
        changed: uses[usize::from(row)].changed,
    };
    rows.iter().enumerate().map(kept).collect()
}
