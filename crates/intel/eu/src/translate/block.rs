//! Finds blocks, and translates them.

use tepui_hostvec::asm::{Assembler, Condition, Gpr, GroupLayout, Label, Mask};
use tepui_hostvec::{RowCache, Target};

use super::code::{Block, FAILED, Translated};
use super::flow;
use super::kind::{self, PART_B, TemplateOp};
use crate::lane::FloatMode;
use crate::memory;
use crate::op::{Flow, Op};
use crate::operand::{CHANNELS, Layout};
use crate::state::{HostState, Thread};

/// The pointer to the thread.
pub const THREAD: Gpr = Gpr::RBX;
/// The pointer to its registers.
pub const REGISTERS: Gpr = Gpr::RBP;
/// The pointer to the program's operations.
const OPS: Gpr = Gpr::R15;
/// The pointer to the units that receive messages.
const UNITS: Gpr = Gpr::R13;
/// Callee-saved registers.
const KEPT: [Gpr; 4] = [THREAD, REGISTERS, OPS, UNITS];

/// Vector registers that cache rows of the thread's registers.
const POOL: std::ops::Range<u8> = 6..13;

/// Offset of a field of the thread.
macro_rules! field {
    ($name:ident) => {
        (std::mem::offset_of!(Thread, host) + std::mem::offset_of!(HostState, $name)) as i32
    };
}
pub(super) use field;

/// The thread's layout for generated code of a program with `lanes` channels.
fn group(lanes: usize) -> GroupLayout {
    GroupLayout {
        lanes,
        base: THREAD,
        exec: std::mem::offset_of!(Thread, active) as i32,
        exec_row: field!(exec_row),
        // No template needs to know which channels exist.
        alive: field!(exec),
    }
}

/// Translates a program; `None` if the host cannot run the code or there is nothing to translate.
pub fn translate(ops: &[Op], mode: FloatMode) -> Option<Translated> {
    if !Target::Avx2.is_available() {
        return None;
    }
    // The host rounds to nearest.
    let rounded = |kind: &TemplateOp| {
        matches!(kind, TemplateOp::ToFloat(_) | TemplateOp::Float | TemplateOp::Plane)
    };
    let rounds = |kind: &TemplateOp| !(mode.to_zero() && rounded(kind));
    let kinds: Vec<Option<TemplateOp>> =
        ops.iter().map(|op| kind::kind(op).filter(rounds)).collect();
    if kinds.iter().all(Option::is_none) {
        return None;
    }
    let masked = ops.iter().filter(|op| !op.no_mask);
    let channels = masked.fold(0, |all, op| all | op.all() << op.first);
    let starts = starts(ops, channels);
    let mut t = Translator::new(mode, channels, ops.len());
    t.enter();
    let mut blocks = vec![Block::default(); ops.len()];
    for masked in [false, true] {
        t.masked = masked;
        for index in (0..ops.len()).filter(|&index| starts[index]) {
            let length = length(ops, &starts, index, channels);
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
    Translated::new(&code, blocks, channels)
}

/// Starts of blocks: the first operation, operations after untranslated ones and flow control, and jump targets.
fn starts(ops: &[Op], channels: u32) -> Vec<bool> {
    let mut starts = vec![false; ops.len() + 1];
    starts[0] = true;
    for (index, op) in ops.iter().enumerate() {
        starts[index] |= op.joins;
        if !(within(op) && op.flow == Flow::None) {
            starts[index + 1] = true;
            starts[index] |= !within(op) && flow::kind(op, channels).is_none();
        }
        match op.flow {
            Flow::Branch(_, jip, _) => starts[jip as usize] = true,
            Flow::Jump(to) => starts[to as usize] = true,
            _ => {}
        }
    }
    starts
}

/// Number of operations of the block that begins with one; none if that is not translated.
fn length(ops: &[Op], starts: &[bool], first: usize, channels: u32) -> usize {
    let mut end = first;
    while end < ops.len() && (end == first || !starts[end]) && within(&ops[end]) {
        end += 1;
    }
    let flows = ops.get(end).is_some_and(|op| flow::kind(op, channels).is_some());
    end - first + usize::from(flows && (end == first || !starts[end]))
}

/// Whether an operation only computes, without changing the float mode.
fn within(op: &Op) -> bool {
    op.flow == Flow::None && !op.reads_state && !writes_control(op)
}

/// Whether an operation may change the float mode.
fn writes_control(op: &Op) -> bool {
    match op.dst.layout {
        Some(Layout::Even { base, stride }) => {
            let base = usize::from(base);
            base < memory::CONTROL_END
                && base + usize::from(stride) * usize::from(op.n) + 8 > memory::CONTROL
        }
        _ => false,
    }
}

/// Calls a handler; 1 if it failed.
unsafe extern "sysv64" fn step(thread: *mut Thread, op: *const Op) -> u32 {
    // SAFETY: `Translated::run` gave the code a thread and the program's operations; handlers are those of this host.
    let (thread, op) = unsafe { (&mut *thread, &*op) };
    // SAFETY: as above.
    let done = unsafe { (op.handler)(thread, op) };
    match done {
        Ok(()) => 0,
        Err(kind) => {
            thread.host.fault = Some(kind);
            1
        }
    }
}

/// State of a translation.
pub struct Translator {
    pub asm: Assembler,
    /// Whether the current version writes only the channels of the mask.
    pub masked: bool,
    /// The channels of all operations with a mask.
    pub channels: u32,
    /// Labels of blocks, for threads whose channels all execute and for others, and labels of exits to operations;
    /// created on demand.
    labels: Vec<[Option<Label>; 2]>,
    exits: Vec<Option<Label>>,
    /// Whether each block was translated, for both versions.
    placed: Vec<[bool; 2]>,
    /// Whether denormals of floats are flushed to zero.
    pub flush: bool,
    out: Label,
    /// The rows of eight channels that vector registers cache.
    pub rows: RowCache,
}

impl Translator {
    fn new(mode: FloatMode, channels: u32, ops: usize) -> Translator {
        let lanes = if channels >> 16 == 0 { 16 } else { CHANNELS };
        let mut asm = Assembler::new(Target::Avx2, group(lanes));
        let out = asm.label();
        Translator {
            asm,
            masked: false,
            channels,
            labels: vec![[None; 2]; ops + 2],
            exits: vec![None; ops + 2],
            placed: vec![[false; 2]; ops + 2],
            flush: !mode.keeps_denormals(),
            out,
            rows: RowCache::new(PART_B as u16, POOL),
        }
    }

    /// Saves callee-saved registers, and jumps to the block.
    fn enter(&mut self) {
        for r in KEPT {
            self.asm.push(r);
        }
        // Calls require a stack alignment of 16.
        self.asm.move_stack(-8);
        self.asm.mov(THREAD, Gpr::RDI);
        self.asm.mov(REGISTERS, Gpr::RSI);
        self.asm.mov(OPS, Gpr::RDX);
        self.asm.mov(UNITS, Gpr::R8);
        self.set_denormals(true);
        self.asm.jump_register(Gpr::RCX);
    }

    /// Restores callee-saved registers, and returns.
    fn exit(&mut self) {
        let out = self.out;
        self.asm.place(out);
        self.asm.clear_upper();
        self.set_denormals(false);
        self.asm.move_stack(8);
        for r in KEPT.into_iter().rev() {
            self.asm.pop(r);
        }
        self.asm.ret();
    }

    /// Sets the host's denormal mode: flushed in templates, kept in compiled handlers.
    fn set_denormals(&mut self, flush: bool) {
        if self.flush {
            let at = field!(float_control) + 4 * i32::from(flush);
            self.asm.load_control(THREAD, at);
        }
    }

    /// The label of an operation in a version.
    pub fn label(&mut self, index: usize, masked: bool) -> Label {
        let label = self.labels[index][usize::from(masked)];
        label.unwrap_or_else(|| {
            let label = self.asm.label();
            self.labels[index][usize::from(masked)] = Some(label);
            label
        })
    }

    /// Translates a version of a block.
    fn block(&mut self, ops: &[Op], kinds: &[Option<TemplateOp>], run: std::ops::Range<usize>) {
        let (first, end) = (run.start, run.end);
        let begin = self.label(first, self.masked);
        self.asm.forget();
        self.asm.place(begin);
        self.placed[first][usize::from(self.masked)] = true;
        self.rows.clear();
        if self.masked && ops[first].joins {
            self.join(first);
        }
        // The interpreter determines where the budget ends.
        let exit = self.exit_for(first);
        self.asm.compare_memory_word(THREAD, field!(left), run.len() as i32);
        self.asm.jump_if(Condition::Less, exit);
        self.asm.add_to(THREAD, field!(left), -(run.len() as i32));
        for index in run {
            let op = &ops[index];
            if let Some(kind) = flow::kind(op, self.channels) {
                self.asm.forget();
                self.flow(ops, index, kind);
                continue;
            }
            let whole = |kind: &TemplateOp| !(kind.needs_all() && self.masked && !op.no_mask);
            match kinds[index].filter(whole) {
                Some(kind) => self.template(op, kind),
                None => self.by_handler(index),
            }
        }
        self.asm.forget();
        let next = self.label(end, self.masked);
        self.asm.jump(next);
    }

    /// The label of the exit to an operation.
    pub fn exit_for(&mut self, index: usize) -> Label {
        let exit = self.exits[index];
        exit.unwrap_or_else(|| {
            let label = self.asm.label();
            self.exits[index] = Some(label);
            label
        })
    }

    /// Emits the exits of translated code: for untranslated operations, and for the end of the budget.
    fn stubs(&mut self) {
        let out = self.out;
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
        self.call_for(index);
        self.asm.mov_constant(Gpr::RAX, step as *const () as u64);
        self.asm.call(Gpr::RAX);
        let done = self.asm.label();
        self.asm.test(Gpr::RAX);
        self.asm.jump_if(Condition::Zero, done);
        self.asm.mov_constant(Gpr::RAX, FAILED | index as u64);
        let out = self.out;
        self.asm.jump(out);
        self.asm.place(done);
        self.set_denormals(true);
    }

    /// Prepares a call for an operation, with the thread and the operation as its first arguments.
    fn call_for(&mut self, index: usize) {
        self.asm.forget();
        self.rows.clear();
        self.asm.clear_upper();
        self.set_denormals(false);
        self.asm.mov(Gpr::RDI, THREAD);
        self.asm.address(Gpr::RSI, OPS, (index * size_of::<Op>()) as i32);
    }

    /// Sends the message of an operation; leaves the code if it failed or the thread stops.
    pub fn send(&mut self, index: usize) {
        self.call_for(index);
        self.asm.mov(Gpr::RDX, UNITS);
        self.asm.load_word(Gpr::RAX, UNITS, 0);
        self.asm.call(Gpr::RAX);
        let done = self.asm.label();
        self.asm.test_word(Gpr::RAX);
        self.asm.jump_if(Condition::Zero, done);
        self.asm.mov_constant(Gpr::RCX, index as u64);
        self.asm.or(Gpr::RAX, Gpr::RCX);
        let out = self.out;
        self.asm.jump(out);
        self.asm.place(done);
        self.set_denormals(true);
    }

    /// The execution mask of a part of an operation's channels; `None` if all of them are written.
    pub fn exec(&self, op: &Op, part: usize) -> Option<Mask> {
        (self.masked && !op.no_mask).then(|| Mask::Exec(op.first / 8 + part as u8))
    }
}
