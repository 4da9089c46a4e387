//! Finds blocks, and translates them.

use tepui_hostvec::asm::{Assembler, Condition, Gpr, GroupLayout, Label, Mask};
use tepui_hostvec::{RowCache, Target};

use super::code::{Block, FAILED, Translated, step};
use super::kind;
use super::templates::TakenLanes;
use crate::shader::op::{Next, Op};
use crate::shader::template::TemplateOp;
use crate::warp::row::{LANES, Row};
use crate::warp::{HostState, Warp, uniforms};

/// The pointer to the warp.
pub const WARP: Gpr = Gpr::RBX;
/// The pointer to its registers.
pub const REGISTERS: Gpr = Gpr::RBP;
/// The pointer to the program's operations.
const OPS: Gpr = Gpr::R15;
/// The pointer to the context that code shares with handlers.
pub const CONTEXT: Gpr = Gpr::R13;
/// The pointer to rows that all warps share.
pub const SHARED: Gpr = Gpr::R14;
/// Callee-saved registers: with the return address, their size is a multiple of 16 bytes, as calls require.
const KEPT: [Gpr; 5] = [WARP, REGISTERS, OPS, CONTEXT, SHARED];

/// Vector registers that cache rows of the warp's registers.
const POOL: std::ops::Range<u8> = 6..13;

/// Bytes of a row, and of the part of it that fits into a vector register.
pub const ROW_BYTES: usize = size_of::<Row>();
pub const PART_BYTES: usize = 32;
/// Number of parts of a row.
pub const PARTS: usize = ROW_BYTES / PART_BYTES;

/// Limit on the operations of a program that is translated.
const MAX_OPS: usize = 1 << 16;

/// Offset of a field of the warp's host state.
macro_rules! field {
    ($name:ident) => {
        (std::mem::offset_of!(Warp, host) + std::mem::offset_of!(HostState, $name)) as i32
    };
}

/// Offset of a field of the shared context.
macro_rules! shared {
    ($name:ident) => {
        std::mem::offset_of!($crate::shader::translate::code::Context<'_, '_, '_>, $name) as i32
    };
}
pub(super) use shared;

/// The warp's layout for generated code.
fn group() -> GroupLayout {
    GroupLayout {
        lanes: LANES,
        base: WARP,
        exec: field!(exec),
        exec_row: field!(row),
        // No template needs to know which lanes exist.
        alive: field!(exec),
    }
}

/// Translates the operations of a program, which has rows of constants; `None` if the host cannot run the code or there is nothing to translate.
pub fn translate(ops: &[Op], rows: &[Row]) -> Option<Translated> {
    if !Target::Avx2.is_available() || ops.len() > MAX_OPS {
        return None;
    }
    let kinds: Vec<Option<TemplateOp>> = ops.iter().map(|op| kind::kind(op, rows)).collect();
    if kinds.iter().all(Option::is_none) {
        return None;
    }
    let starts = starts(ops);
    let mut t = Translator::new(rows, ops.len());
    t.enter();
    let mut blocks = vec![Block::default(); ops.len()];
    for masked in [false, true] {
        t.masked = masked;
        for index in (0..ops.len()).filter(|&index| starts[index]) {
            let length = length(ops, &kinds, &starts, index);
            if length == 0 {
                continue;
            }
            blocks[index].length = length as u32;
            t.block(ops, &kinds, index..index + length);
        }
    }
    t.stubs();
    t.exit();
    let places = t.labels;
    let (code, labels) = t.asm.finish();
    for (block, [whole, masked]) in blocks.iter_mut().zip(places).filter(|(b, _)| b.length != 0) {
        let place = |label: Option<Label>| label.map_or(0, |label| labels[label.0 as usize]);
        (block.whole, block.masked) = (place(whole), place(masked));
    }
    Translated::new(&code, blocks, usize::from(uniforms::SHARED_ROWS))
}

/// Starts of blocks: the first operation, operations after control flow, and branch targets.
fn starts(ops: &[Op]) -> Vec<bool> {
    let mut starts = vec![false; ops.len() + 1];
    starts[0] = true;
    for (index, op) in ops.iter().enumerate() {
        if op.next != Next::Following {
            starts[index + 1] = true;
        }
        if let Some(start) = starts.get_mut(op.immediate as usize)
            && op.next == Next::Chosen
        {
            *start = true;
        }
    }
    starts
}

/// Number of operations of the block that begins with one; none if that is not translated.
fn length(ops: &[Op], kinds: &[Option<TemplateOp>], starts: &[bool], first: usize) -> usize {
    let mut end = first;
    while end < ops.len() && (end == first || !starts[end]) && ops[end].next == Next::Following {
        end += 1;
    }
    let branches = kinds.get(end).is_some_and(|kind| kind.is_some_and(TemplateOp::branches));
    end - first + usize::from(branches && (end == first || !starts[end]))
}

/// State of a translation.
pub struct Translator<'p> {
    pub asm: Assembler,
    /// Whether the current version writes only the lanes of the mask.
    pub masked: bool,
    /// Constant rows of the program.
    pub program_rows: &'p [Row],
    /// The rows of eight lanes that vector registers cache.
    pub rows: RowCache,
    /// Labels of blocks, for warps whose lanes all execute and for others, and labels of exits to operations;
    /// created on demand.
    labels: Vec<[Option<Label>; 2]>,
    exits: Vec<Option<Label>>,
    /// Whether each block was translated, for both versions.
    placed: Vec<[bool; 2]>,
    /// Labels of exits at an operation within a block, with the number of remaining operations of the block.
    slow: Vec<(Label, usize, usize)>,
    /// Number of operations of the block from the current one on.
    pub rest: usize,
    out: Label,
}

impl<'p> Translator<'p> {
    fn new(program_rows: &'p [Row], ops: usize) -> Translator<'p> {
        let mut asm = Assembler::new(Target::Avx2, group());
        let out = asm.label();
        Translator {
            asm,
            masked: false,
            program_rows,
            rows: RowCache::new(PART_BYTES as u16, POOL),
            labels: vec![[None; 2]; ops + 1],
            exits: vec![None; ops + 1],
            placed: vec![[false; 2]; ops + 1],
            slow: Vec::new(),
            rest: 0,
            out,
        }
    }

    /// Saves callee-saved registers, and jumps to the block.
    fn enter(&mut self) {
        for r in KEPT {
            self.asm.push(r);
        }
        self.asm.mov(WARP, Gpr::RDI);
        self.asm.mov(REGISTERS, Gpr::RSI);
        self.asm.mov(OPS, Gpr::RDX);
        self.asm.mov(CONTEXT, Gpr::R8);
        self.asm.mov(SHARED, Gpr::R9);
        self.asm.jump_register(Gpr::RCX);
    }

    /// Restores callee-saved registers, and returns.
    fn exit(&mut self) {
        let out = self.out;
        self.asm.place(out);
        self.asm.clear_upper();
        for r in KEPT.into_iter().rev() {
            self.asm.pop(r);
        }
        self.asm.ret();
    }

    /// Translates a version of a block.
    fn block(&mut self, ops: &[Op], kinds: &[Option<TemplateOp>], run: std::ops::Range<usize>) {
        let (first, end) = (run.start, run.end);
        let begin = self.label(first, self.masked);
        self.asm.forget();
        self.asm.place(begin);
        self.placed[first][usize::from(self.masked)] = true;
        self.rows.clear();
        // The interpreter determines where the budget ends.
        let exit = self.exit_for(first);
        self.asm.compare_memory_word(CONTEXT, shared!(left), run.len() as i32);
        self.asm.jump_if(Condition::Less, exit);
        self.asm.add_to(CONTEXT, shared!(left), -(run.len() as i32));
        for index in run {
            let op = &ops[index];
            self.rest = end - index;
            match kinds[index] {
                Some(kind) if kind.branches() => {
                    // If the interpreter executes the branch, it also counts it.
                    self.asm.forget();
                    self.branch(op, index, kind);
                    return;
                }
                Some(kind) => self.template(op, kind, index),
                None => self.by_handler(index),
            }
        }
        self.asm.forget();
        self.go(end);
    }

    /// Translates a branch, which stays in translated code as long as all lanes go the same way.
    fn branch(&mut self, op: &Op, index: usize, kind: TemplateOp) {
        let (next, target) = (index + 1, op.immediate as usize);
        let part = self.asm.label();
        match self.taken(op, kind) {
            TakenLanes::Always => return self.go(target),
            TakenLanes::Lanes => {
                let (none, all) = (self.asm.label(), self.asm.label());
                self.test_taken(none, all);
                self.asm.jump(part);
                self.asm.place(none);
                self.go(next);
                self.asm.place(all);
                self.go(target);
            }
        }
        self.asm.place(part);
        self.asm.add_to(CONTEXT, shared!(left), 1);
        let exit = self.exit_for(index);
        self.asm.jump(exit);
    }

    /// Continues at an operation, unless other lanes wait there or before.
    fn go(&mut self, index: usize) {
        let to = self.label(index, self.masked);
        if !self.masked {
            return self.asm.jump(to);
        }
        let meet = std::mem::offset_of!(Warp, meet) as i32;
        self.asm.compare_memory(WARP, meet, index as i32);
        self.asm.jump_if(Condition::Above, to);
        let exit = self.exit_for(index);
        self.asm.jump(exit);
    }

    /// The label of an operation in a version.
    fn label(&mut self, index: usize, masked: bool) -> Label {
        let label = self.labels[index][usize::from(masked)];
        label.unwrap_or_else(|| {
            let label = self.asm.label();
            self.labels[index][usize::from(masked)] = Some(label);
            label
        })
    }

    /// The label of the exit to an operation.
    fn exit_for(&mut self, index: usize) -> Label {
        let exit = self.exits[index];
        exit.unwrap_or_else(|| {
            let label = self.asm.label();
            self.exits[index] = Some(label);
            label
        })
    }

    /// The label of an exit that leaves the current operation to the interpreter.
    pub fn slow_for(&mut self, index: usize) -> Label {
        let label = self.asm.label();
        self.slow.push((label, index, self.rest));
        label
    }

    /// Emits the exits of translated code.
    fn stubs(&mut self) {
        let out = self.out;
        for (label, index, rest) in std::mem::take(&mut self.slow) {
            self.asm.place(label);
            // The interpreter counts the rest of the block.
            self.asm.add_to(CONTEXT, shared!(left), rest as i32);
            self.asm.mov_constant(Gpr::RAX, index as u64);
            self.asm.jump(out);
        }
        for index in 0..self.labels.len() {
            let open = [0, 1].map(|version| {
                self.labels[index][version].filter(|_| !self.placed[index][version])
            });
            let leaving = [open[0], open[1], self.exits[index]];
            if leaving == [None; 3] {
                continue;
            }
            leaving.into_iter().flatten().for_each(|label| self.asm.place(label));
            self.asm.mov_constant(Gpr::RAX, index as u64);
            self.asm.jump(out);
        }
    }

    fn by_handler(&mut self, index: usize) {
        self.asm.forget();
        self.rows.clear();
        self.asm.clear_upper();
        self.asm.mov(Gpr::RDI, CONTEXT);
        self.asm.address(Gpr::RSI, OPS, (index * size_of::<Op>()) as i32);
        self.asm.mov_constant(Gpr::RAX, step as *const () as u64);
        self.asm.call(Gpr::RAX);
        let done = self.asm.label();
        self.asm.test(Gpr::RAX);
        self.asm.jump_if(Condition::Zero, done);
        self.asm.mov_constant(Gpr::RAX, FAILED | index as u64);
        let out = self.out;
        self.asm.jump(out);
        self.asm.place(done);
    }

    /// The mask register of a part's active lanes.
    pub fn exec(&self, part: usize) -> Mask {
        if self.masked { Mask::Exec(part as u8) } else { Mask::All }
    }
}
