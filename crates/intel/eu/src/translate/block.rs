//! Finds blocks, and translates them.

use tepui_hostvec::Target;
use tepui_hostvec::asm::{Assembler, Condition, Gpr, Group, Label, Mask, V};

use super::code::{Block, Translated};
use super::kind::{self, Kind, PART_B};
use crate::lane::FloatMode;
use crate::memory;
use crate::op::{Flow, Op};
use crate::operand::{CHANNELS, Layout};
use crate::thread::{HostState, Thread};

/// The thread.
pub const THREAD: Gpr = Gpr::RBX;
/// Its registers.
pub const REGISTERS: Gpr = Gpr::RBP;
/// The program's operations.
const OPS: Gpr = Gpr::R15;

/// Vector registers that keep rows which the thread's registers have too.
const POOL: std::ops::Range<u8> = 6..13;

/// Offset of a field of the thread.
macro_rules! field {
    ($name:ident) => {
        (std::mem::offset_of!(Thread, host) + std::mem::offset_of!(HostState, $name)) as i32
    };
}

const GROUP: Group = Group {
    lanes: CHANNELS,
    base: THREAD,
    exec: field!(exec),
    exec_row: field!(exec_row),
    // No template asks which channels exist.
    alive: field!(exec),
};

/// Translates a program's blocks; `None` where the host cannot run them or there are none.
pub fn translate(ops: &[Op], mode: FloatMode) -> Option<Translated> {
    if !Target::Avx2.is_available() {
        return None;
    }
    // The host rounds to nearest.
    let rounded = |kind: &Kind| matches!(kind, Kind::ToFloat(_) | Kind::Float | Kind::Plane);
    let rounds = |kind: &Kind| !(mode.to_zero() && rounded(kind));
    let kinds: Vec<Option<Kind>> = ops.iter().map(|op| kind::kind(op).filter(rounds)).collect();
    let mut blocks = vec![Block::default(); ops.len()];
    let mut places: Vec<(usize, [Label; 2])> = Vec::new();
    let mut t = Translator::new(mode);
    t.enter();
    let mut index = 0;
    while index < ops.len() {
        let length = length(&ops[index..]);
        let run = index..index + length;
        if length == 0 || kinds[run.clone()].iter().all(Option::is_none) {
            index += length.max(1);
            continue;
        }
        let versions = [false, true].map(|masked| t.block(ops, &kinds, run.clone(), masked));
        places.push((index, versions));
        let masked = ops[run].iter().filter(|op| !op.no_mask);
        let channels = masked.fold(0, |all, op| all | op.all() << op.first);
        blocks[index] = Block { length: length as u32, channels, ..Block::default() };
        index += length;
    }
    t.exit();
    if places.is_empty() {
        return None;
    }
    let (code, labels) = t.asm.finish();
    for (index, [whole, masked]) in places {
        blocks[index].whole = labels[whole.0 as usize];
        blocks[index].masked = labels[masked.0 as usize];
    }
    Translated::new(&code, blocks)
}

/// Operations of the block that begins with the first one.
fn length(ops: &[Op]) -> usize {
    let within = |op: &Op| op.flow == Flow::None && !op.reads_state && !writes_control(op);
    let first = ops.first().is_some_and(within);
    let behind = ops.iter().skip(1).take_while(|op| within(op) && !op.joins).count();
    if first { 1 + behind } else { 0 }
}

/// The float mode may change.
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

/// A translation under way.
pub struct Translator {
    pub asm: Assembler,
    /// The version at hand writes only the channels of the mask.
    pub masked: bool,
    /// Denormals of floats are zeros.
    pub flush: bool,
    out: Label,
    /// First bytes of the rows that vector registers have, a row of eight channels each.
    rows: [Option<u16>; POOL.end as usize],
    /// The register that is taken next.
    next: u8,
}

impl Translator {
    fn new(mode: FloatMode) -> Translator {
        let mut asm = Assembler::new(Target::Avx2, GROUP);
        let out = asm.label();
        Translator {
            asm,
            masked: false,
            flush: !mode.keeps_denormals(),
            out,
            rows: [None; POOL.end as usize],
            next: POOL.start,
        }
    }

    /// Saves what callers keep, and jumps to the block.
    fn enter(&mut self) {
        for r in [THREAD, REGISTERS, OPS] {
            self.asm.push(r);
        }
        self.asm.mov(THREAD, Gpr::RDI);
        self.asm.mov(REGISTERS, Gpr::RSI);
        self.asm.mov(OPS, Gpr::RDX);
        self.set_denormals(true);
        self.asm.jump_register(Gpr::RCX);
    }

    /// Restores what callers keep, and returns.
    fn exit(&mut self) {
        let out = self.out;
        self.asm.place(out);
        self.asm.clear_upper();
        self.set_denormals(false);
        for r in [OPS, REGISTERS, THREAD] {
            self.asm.pop(r);
        }
        self.asm.ret();
    }

    /// Denormals become zeros in templates, and are kept in what the compiler made.
    fn set_denormals(&mut self, flush: bool) {
        if self.flush {
            let at = field!(float_control) + 4 * i32::from(flush);
            self.asm.load_control(THREAD, at);
        }
    }

    /// A version of a block.
    fn block(
        &mut self,
        ops: &[Op],
        kinds: &[Option<Kind>],
        run: std::ops::Range<usize>,
        masked: bool,
    ) -> Label {
        let begin = self.asm.label();
        self.asm.forget();
        self.asm.place(begin);
        self.masked = masked;
        self.rows = Default::default();
        for index in run {
            let op = &ops[index];
            let whole = |kind: &Kind| !(kind.needs_all() && masked && !op.no_mask);
            match kinds[index].filter(whole) {
                Some(kind) => self.template(op, kind),
                None => self.by_handler(index),
            }
        }
        self.asm.forget();
        self.asm.mov_constant(Gpr::RAX, 0);
        let out = self.out;
        self.asm.jump(out);
        begin
    }

    fn by_handler(&mut self, index: usize) {
        self.asm.forget();
        self.rows = Default::default();
        self.asm.clear_upper();
        self.set_denormals(false);
        self.asm.mov(Gpr::RDI, THREAD);
        self.asm.address(Gpr::RSI, OPS, (index * size_of::<Op>()) as i32);
        self.asm.mov_constant(Gpr::RAX, step as *const () as u64);
        self.asm.call(Gpr::RAX);
        let done = self.asm.label();
        self.asm.test(Gpr::RAX);
        self.asm.jump_if(Condition::Zero, done);
        self.asm.mov_constant(Gpr::RAX, index as u64 + 1);
        let out = self.out;
        self.asm.jump(out);
        self.asm.place(done);
        self.set_denormals(true);
    }

    /// The vector register that has the row of eight channels at a byte.
    pub fn held(&self, base: u16) -> Option<V> {
        POOL.map(V).find(|v| self.rows[usize::from(v.0)] == Some(base))
    }

    /// A vector register for the row at a byte, which is about to be written: what others have of it is out of date.
    pub fn take(&mut self, base: u16) -> V {
        let same = self.held(base);
        self.forget(base, PART_B);
        let v = same.unwrap_or_else(|| {
            let v = V(self.next);
            self.next = if self.next + 1 == POOL.end { POOL.start } else { self.next + 1 };
            v
        });
        self.rows[usize::from(v.0)] = Some(base);
        v
    }

    /// Bytes of the thread's registers are about to be written.
    pub fn forget(&mut self, base: u16, bytes: usize) {
        let (first, end) = (usize::from(base), usize::from(base) + bytes);
        for row in &mut self.rows {
            if row.is_some_and(|b| usize::from(b) < end && first < usize::from(b) + PART_B) {
                *row = None;
            }
        }
    }

    /// The execution mask of a part of an operation's channels; `None` if all of them are written.
    pub fn exec(&self, op: &Op, part: usize) -> Option<Mask> {
        (self.masked && !op.no_mask).then(|| Mask::Exec(op.first / 8 + part as u8))
    }
}
