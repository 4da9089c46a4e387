//! The translator's state and what all templates use: the registers of the calling convention,
//! entry and exit, calls of handlers, and the rows that are kept in vector registers.

use std::ops::Range;

use super::region::{Kept, Region};
use crate::usc::code::Code;
use crate::usc::exec::execute;
use crate::usc::lanes::Lanes;
use crate::usc::op::{File, Form, Op, Src};
use crate::usc::opcode::Opcode;
use crate::usc::row::{LANES as COUNT, Row};
use tepui_hostvec::Target;
use tepui_hostvec::asm::{ALL, Assembler, Condition, Gpr, GroupLayout, Label, Mask, Rm, V, Vop};

/// The group.
pub const LANES: Gpr = Gpr::RBX;
/// Its registers.
pub const REGISTERS: Gpr = Gpr::RBP;
/// Uniform registers and constants.
pub const SHARED: Gpr = Gpr::R13;
/// The program's operations.
const OPS: Gpr = Gpr::R15;

/// An operation that the interpreter's handler does.
pub struct ByHandler;

pub type Done = Result<(), ByHandler>;

/// Calls a handler.
extern "sysv64" fn step(l: &mut Lanes<'_, '_>, op: &Op) -> u32 {
    // SAFETY: as in the interpreter, the rows of the program's operations lie in the files.
    unsafe { execute(l, op) as u32 }
}

/// A translation under way: the assembler, the operation at hand, and the rows in vector registers.
pub struct Translator<'p> {
    /// The program.
    pub code: &'p Code,
    /// The code so far.
    pub asm: Assembler,
    /// Operations that are not counted yet.
    pub pending: Range<usize>,
    /// The way out, with the exit's number in `rax`.
    pub out: Label,
    /// The operation at hand.
    pub index: usize,
    /// The part of the group's lanes at hand.
    pub part: usize,
    /// The next operations of the run, from the one at hand on.
    pub ahead: Range<usize>,
    /// Rows that are in vector registers.
    pub rows: Rows,
    /// The program's regions.
    pub regions: Vec<Region>,
    /// The one that the operation at hand is in.
    pub region: Option<usize>,
    /// Exit stubs of regions: the label of each, the region, and where it jumps to.
    exit_stubs: Vec<(Label, usize, Label)>,
}

/// Rows of registers that are in vector registers, over a run of operations of one part of the
/// lanes. Lanes that do not execute hold anything there: only the active ones are written back.
#[derive(Default)]
pub struct Rows {
    pub held: Vec<Held>,
    /// Registers that templates hold otherwise, a bit for each.
    kept: u32,
    pub clock: u32,
    /// The clock before the operation at hand.
    pub begun: u32,
}

/// A row in a vector register.
pub struct Held {
    row: u16,
    at: V,
    changed: bool,
    used: u32,
}

/// Offset of a field of the group.
macro_rules! field {
    ($($name:ident).+) => {
        (std::mem::offset_of!(crate::usc::lanes::Lanes<'_, '_>, $($name).+) as i32)
    };
}

pub(super) use field;

/// Layout of the SIMD-group's state for the assembler.
pub(super) const GROUP: GroupLayout = GroupLayout {
    lanes: COUNT,
    base: LANES,
    exec: field!(exec),
    exec_row: field!(exec_row),
    alive: field!(alive),
};

impl<'p> Translator<'p> {
    /// A translator of a program, before its first instruction.
    pub fn new(code: &'p Code, target: Target) -> Translator<'p> {
        let mut t = Translator {
            code,
            asm: Assembler::new(target, GROUP),
            pending: 0..0,
            out: Label(0),
            index: 0,
            part: 0,
            ahead: 0..0,
            rows: Rows::default(),
            regions: Vec::new(),
            region: None,
            exit_stubs: Vec::new(),
        };
        t.out = t.asm.label();
        t
    }
}

impl Translator<'_> {
    /// Saves what callers keep, and brings the arguments where they stay.
    pub fn enter(&mut self) {
        for r in [LANES, REGISTERS, SHARED, OPS] {
            self.asm.push(r);
        }
        self.asm.move_stack(-8);
        self.asm.mov(LANES, Gpr::RDI);
        self.asm.mov(REGISTERS, Gpr::RSI);
        self.asm.mov(SHARED, Gpr::RDX);
        self.asm.mov(OPS, Gpr::RCX);
        self.asm.load_exec();
        self.asm.jump_register(Gpr(8));
    }

    /// Restores what callers keep, and returns.
    pub fn exit(&mut self) {
        self.asm.move_stack(8);
        for r in [OPS, SHARED, REGISTERS, LANES] {
            self.asm.pop(r);
        }
        self.asm.ret();
    }

    /// The lanes of the part at hand that execute.
    pub fn exec(&self) -> Mask {
        Mask::Exec(self.part as u8)
    }

    /// The current part of a row at a register plus an offset.
    pub fn piece(&self, base: Gpr, offset: i32) -> Rm {
        Rm::Mem(base, offset + self.asm.width() * self.part as i32)
    }

    /// The current part of a row of a register file.
    pub fn in_file(&self, file: Gpr, row: u16) -> Rm {
        self.piece(file, (usize::from(row) * size_of::<Row>()) as i32)
    }

    /// Counts the operations so far.
    pub fn count(&mut self) {
        let counts = self.code.counts(self.pending.clone());
        self.pending.start = self.pending.end;
        for (place, count) in [
            (field!(executed.instructions), counts.instructions),
            (field!(executed.fscib), counts.fscib),
            (field!(executed.ic), counts.ic),
        ] {
            if count != 0 {
                self.asm.add_to(LANES, place, count as i32);
            }
        }
    }

    /// Returns with the program counter at an operation.
    pub fn leave(&mut self, pc: usize, why: u32) {
        self.asm.store_constant(LANES, field!(pc), pc as u32);
        self.asm.mov_constant(Gpr::RAX, u64::from(why));
        self.asm.jump(self.out);
    }

    /// Calls the operation's handler.
    pub fn by_handler(&mut self) {
        self.by(step as *const () as u64);
    }

    /// Calls a function of the group and the operation that does what the handler does.
    pub fn by(&mut self, function: u64) {
        self.count();
        self.asm.store_constant(LANES, field!(pc), self.index as u32 + 1);
        self.asm.mov(Gpr::RDI, LANES);
        self.asm.address(Gpr::RSI, OPS, (self.index * size_of::<Op>()) as i32);
        self.asm.mov_constant(Gpr::RAX, function);
        if self.asm.target == Target::Avx2 {
            // No vector register is in use. Handlers may have been compiled for older vectors.
            self.asm.clear_upper();
        }
        self.asm.call(Gpr::RAX);
        self.asm.test(Gpr::RAX);
        self.asm.jump_if(Condition::NotZero, self.out);
        self.asm.load_exec();
    }

    /// Writes changed rows to the register file and forgets all, scratch registers too.
    pub fn write_back(&mut self) {
        self.asm.forget();
        let held = std::mem::take(&mut self.rows.held);
        let changed = held.iter().filter(|held| held.changed).count();
        if self.asm.target == Target::Avx512 || changed == 0 {
            return held.iter().for_each(|held| self.write(held));
        }
        // Stores of some lanes are several instructions; mostly all execute.
        let (some, done) = (self.asm.label(), self.asm.label());
        self.asm.test_all_of_part(self.part as u8);
        self.asm.jump_if(Condition::NotZero, some);
        for held in held.iter().filter(|held| held.changed) {
            self.asm.store(self.in_file(REGISTERS, held.row), ALL, held.at);
        }
        self.asm.jump(done);
        self.asm.place(some);
        let (exec, whole) = (Mask::In(0), V(1));
        self.asm.mask_move(exec, self.exec());
        for held in held.iter().filter(|held| held.changed) {
            let row = self.in_file(REGISTERS, held.row);
            self.asm.load(whole, row);
            self.asm.vector(Vop::PBLENDMD, whole, exec, whole, Rm::Reg(held.at), None);
            self.asm.store(row, ALL, whole);
        }
        self.asm.place(done);
    }

    /// Writes a row to the register file if it changed.
    fn write(&mut self, held: &Held) {
        if held.changed {
            self.asm.store(self.in_file(REGISTERS, held.row), self.exec(), held.at);
        }
    }

    /// The region that the operation at hand is in.
    pub fn region(&self) -> Option<&Region> {
        self.region.map(|region| &self.regions[region])
    }

    /// The vector register of the part at hand of a row that the region keeps.
    pub fn kept(&self, row: u16) -> Option<V> {
        let kept = self.region()?.rows.iter().find(|kept| kept.row == row)?;
        Some(kept.at(self.part))
    }

    /// The begin of a region: loads the rows that it keeps.
    pub fn begin_region(&mut self, number: usize) {
        self.region = Some(number);
        let Region { rows, begin, .. } = &self.regions[number];
        let (rows, begin) = (rows.clone(), *begin);
        for kept in &rows {
            self.each_part(kept, |t, at, of_file| t.asm.load(at, of_file));
        }
        self.rows.kept = rows.iter().fold(0, |all, kept| all | kept.bits());
        self.asm.place(begin);
    }

    /// The end of a region: writes what it changed.
    pub fn end_region(&mut self) {
        let Some(number) = self.region.take() else { return };
        self.asm.place(self.regions[number].end);
        self.write_region(number);
        self.rows.kept = 0;
    }

    /// Writes the rows that a region changed to the register file.
    fn write_region(&mut self, number: usize) {
        let rows = self.regions[number].rows.clone();
        for kept in rows.iter().filter(|kept| kept.changed) {
            self.each_part(kept, |t, at, of_file| t.asm.store(of_file, ALL, at));
        }
    }

    /// Calls `f` for each part of a row that a region keeps.
    fn each_part(&mut self, kept: &Kept, mut f: impl FnMut(&mut Self, V, Rm)) {
        for part in 0..self.asm.parts() {
            self.part = part;
            f(self, kept.at(part), self.in_file(REGISTERS, kept.row));
        }
    }

    /// The label of a jump to an operation: an exit stub's if the jump leaves a region.
    pub fn jump_label(&mut self, target: usize, label: Label) -> Label {
        match self.region() {
            Some(region) if target == region.ops.start => region.begin,
            Some(region) if target == region.ops.end => region.end,
            Some(region) if region.ops.contains(&target) => label,
            _ => self.exit_stub(label),
        }
    }

    /// The label of an exit stub, which writes what the region changed and jumps to a place outside; outside of regions, that
    /// place.
    pub fn exit_stub(&mut self, to: Label) -> Label {
        let Some(region) = self.region else { return to };
        let stub = self.asm.label();
        self.exit_stubs.push((stub, region, to));
        stub
    }

    /// Emits the exit stubs, after the end of other code.
    pub fn place_exit_stubs(&mut self) {
        for (stub, region, to) in std::mem::take(&mut self.exit_stubs) {
            self.asm.place(stub);
            self.write_region(region);
            self.asm.jump(to);
        }
    }

    /// The vector register of a row, which is loaded unless it will be `overwritten`.
    pub fn row(&mut self, row: u16, overwritten: bool) -> V {
        if let Some(kept) = self.kept(row) {
            // Inactive lanes are not to be overwritten: `store` looks after those.
            debug_assert!(!overwritten);
            return kept;
        }
        self.rows.clock += 1;
        let clock = self.rows.clock;
        if let Some(held) = self.rows.held.iter_mut().find(|held| held.row == row) {
            held.used = clock;
            held.changed |= overwritten;
            return held.at;
        }
        let at = self.vacate();
        if !overwritten {
            self.asm.load(at, self.in_file(REGISTERS, row));
        }
        self.rows.held.push(Held { row, at, changed: overwritten, used: clock });
        at
    }

    /// A vector register for a row or a template; the first six are scratch, the others are free,
    /// or have rows.
    fn vacate(&mut self) -> V {
        let mut pool = match self.asm.target {
            Target::Avx512 => 6..30,
            Target::Avx2 => 6..15,
        };
        let free = |at: &u8| {
            self.rows.kept & 1 << at == 0 && self.rows.held.iter().all(|held| held.at.0 != *at)
        };
        if let Some(free) = pool.find(free) {
            return V(free);
        }
        // The row that was used longest ago: those of the operation at hand are younger.
        let oldest = (0..self.rows.held.len()).min_by_key(|&i| self.rows.held[i].used).unwrap_or(0);
        let victim = match self.asm.target {
            Target::Avx512 => oldest,
            Target::Avx2 => self.least_needed().unwrap_or(oldest),
        };
        let held = self.rows.held.swap_remove(victim);
        if self.asm.target == Target::Avx512 || self.next_use(held.row).is_some() {
            self.write(&held);
        }
        held.at
    }

    /// The row that the operations ahead need last, among those that the one at hand has not asked
    /// for.
    fn least_needed(&self) -> Option<usize> {
        let others = self.rows.held.iter().enumerate();
        let others = others.filter(|(_, held)| held.used <= self.rows.begun);
        let need = |held: &Held| (self.next_use(held.row).unwrap_or(usize::MAX), !held.changed);
        others.max_by_key(|(_, held)| need(held)).map(|(i, _)| i)
    }

    /// Distance in operations to the next read of a row, at most the end of the searched range; `None`
    /// if it is overwritten before.
    fn next_use(&self, row: u16) -> Option<usize> {
        let ahead = &self.code.ops()[self.ahead.clone()];
        for (distance, op) in ahead.iter().enumerate() {
            let part = matches!(op.d.form, Form::Low | Form::High);
            let read = |s: &Src| {
                let second = s.form == Form::Pair && s.row + 1 == row;
                s.file == File::Registers && (s.row == row || second)
            };
            if op.s.iter().any(read) || op.d.row == row && part {
                return Some(distance);
            }
            if op.d.row == row && op.opcode != Opcode::nop {
                return None;
            }
        }
        Some(ahead.len())
    }

    /// A vector register that stays reserved until [`Translator::free`]: this one for AVX-512, which
    /// has enough of them for each template to choose its own (besides rows, but after them).
    pub fn keep(&mut self, number: u8) -> V {
        match self.asm.target {
            Target::Avx512 => V(number),
            Target::Avx2 => {
                let at = self.vacate();
                self.rows.kept |= 1 << at.0;
                at
            }
        }
    }

    /// Gives one back.
    pub fn free(&mut self, at: V) {
        self.rows.kept &= !(1 << at.0);
    }

    /// A mask that stays until it is [`Translator::free_mask`]: this mask register for AVX-512.
    pub fn mask(&mut self, number: u8) -> Mask {
        Mask::In(self.keep(number).0)
    }

    /// Gives one back.
    pub fn free_mask(&mut self, mask: Mask) {
        if let (Target::Avx2, Mask::In(at)) = (self.asm.target, mask) {
            self.free(V(at));
        }
    }

    /// A source's row as an operand.
    pub fn source(&mut self, s: Src) -> Rm {
        match s.file {
            File::Registers => Rm::Reg(self.row(s.row, false)),
            File::Shared => match self.code.constant(s) {
                Some(value) => Rm::Constant(value),
                None => self.in_file(SHARED, s.row),
            },
        }
    }
}
