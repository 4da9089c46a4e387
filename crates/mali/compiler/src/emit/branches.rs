//! Structured control flow as branches.

use super::Listing;
use crate::mir::{Ctl, Fixed, Inst, LINK, Place, Source};
use tepui_backend::listing::{At, Label, Line};
use tepui_ir::Loc;
use tepui_mali_isa::Op;
use tepui_mali_isa::modifier::fields::EQ;
use tepui_regalloc::{Code, Step};

/// Maximum number of instructions of a loop's test that is repeated at its end.
const MAX_TEST: usize = 3;
/// A label that is not placed yet.
const UNPLACED: u32 = u32::MAX;

/// The constructs around.
enum Construct {
    /// An `if`: the line of the branch, and the labels of its else block and its end.
    If { branch: usize, other: Label, end: Label },
    /// A loop: its first line, the branch at its end and what follows it.
    Loop { head: Label, latch: Label, exit: Label, continues: bool },
}

struct Emitter {
    out: Listing,
    constructs: Vec<Construct>,
    at: At,
    /// The last line that a label was placed at, and the number of labels there.
    target: (u32, u32),
}

/// Whether a line always branches.
pub(super) fn is_jump(inst: &Inst) -> bool {
    inst.op == Op::BRANCHZ && inst.sources[0].place == Place::Fixed(Fixed::Constant(0))
}

/// The branch with the opposite condition.
fn opposite(inst: Inst) -> Inst {
    inst.flag(&EQ, !inst.has(&EQ))
}

/// A register that is copied.
fn mov(to: u16, from: u16) -> Inst {
    let mut inst = Inst::new(Op::MOV_I32);
    inst.dest = to;
    inst.sources[0] = Source::new(Place::Register(from));
    inst
}

/// `a ^ b` to a register.
fn xor(to: u16, a: u16, b: u16) -> Inst {
    let mut inst = Inst::new(Op::LSHIFT_XOR_I32);
    inst.dest = to;
    inst.sources[0].place = Place::Register(a);
    inst.sources[1].place = Place::Fixed(Fixed::Constant(0));
    inst.sources[2].place = Place::Register(b);
    inst
}

/// The instructions of one that allocation has made, which the hardware may not have.
fn expand(inst: &Inst, mut f: impl FnMut(Inst)) {
    if inst.op == Op::BLEND {
        return blend(inst, f);
    }
    if inst.op != Op::SEG_ADD_U64 {
        return f(*inst);
    }
    // The address of a stack slot: the low word does not carry.
    let Place::Fixed(Fixed::Special(pointer, _)) = inst.sources[0].place else { return f(*inst) };
    let mut low = Inst::new(Op::IADD_IMM_I32).immediate(0, inst.immediates[0]);
    low.dest = inst.dest;
    low.sources[0].place = Place::Fixed(Fixed::Special(pointer, 0));
    f(low);
    let mut high = Inst::new(Op::MOV_I32);
    high.dest = inst.dest + 1;
    high.sources[0].place = Place::Fixed(Fixed::Special(pointer, 1));
    f(high);
}

/// A blend, and the call of a blend shader where the descriptor names one: fixed functions skip it. source: Mesa, va_pack.c
/// (`va_lower_blend`)
fn blend(inst: &Inst, mut f: impl FnMut(Inst)) {
    use tepui_mali_isa::Special;
    use tepui_mali_isa::modifier::fields::ABSOLUTE;
    /// Instructions of the call.
    const CALL: i64 = 2;
    let Place::Fixed(Fixed::Special(descriptor, _)) = inst.sources[0].place else {
        return f(*inst);
    };
    f(inst.immediate(0, CALL));
    // The program counter is that of the next instruction: the branch.
    let mut link = Inst::new(Op::IADD_IMM_I32).immediate(0, tepui_mali_isa::inst::BYTES as i64);
    link.dest = LINK;
    link.sources[0].place = Place::Fixed(Fixed::Special(Special::ProgramCounter, 0));
    f(link);
    let mut call = Inst::new(Op::BRANCHZI).flag(&EQ, true).flag(&ABSOLUTE, true);
    call.sources[0].place = Place::Fixed(Fixed::Constant(0));
    call.sources[1].place = Place::Fixed(Fixed::Special(descriptor, 1));
    f(call);
}

/// Orders the steps of all blocks.
pub(super) fn run(code: &Code<Inst>) -> Listing {
    let mut e = Emitter {
        out: Listing::default(),
        constructs: Vec::new(),
        at: At::default(),
        target: (UNPLACED, 0),
    };
    for (n, block) in code.blocks.iter().enumerate() {
        for (k, (step, loc)) in block.steps.iter().enumerate() {
            e.at = At { block: n as u32, step: k as u32 };
            match *step {
                Step::Inst(inst) => expand(&inst, |inst| e.push(inst, None, *loc)),
                Step::Move { to, from, units } => {
                    for k in 0..units {
                        e.push(mov(to + k, from + k), None, *loc);
                    }
                }
                Step::Swap { a, b, units } => {
                    for (a, b) in (0..units).map(|k| (a + k, b + k)) {
                        for inst in [xor(a, a, b), xor(b, a, b), xor(a, a, b)] {
                            e.push(inst, None, *loc);
                        }
                    }
                }
                Step::Ctl(ctl) => e.control(ctl, *loc),
            }
        }
    }
    e.out
}

impl Emitter {
    fn push(&mut self, inst: Inst, target: Option<Label>, loc: Loc) {
        self.out.lines.push(Line { inst, target, loc, step: self.at });
    }

    fn label(&mut self) -> Label {
        self.out.labels.push(UNPLACED);
        self.out.labels.len() as u32 - 1
    }

    fn place(&mut self, label: Label) {
        let here = self.out.lines.len() as u32;
        self.out.labels[label as usize] = here;
        let before = if self.target.0 == here { self.target.1 } else { 0 };
        self.target = (here, before + 1);
    }

    fn jump(&mut self, to: Label, loc: Loc) {
        if self.is_left() {
            return;
        }
        let mut inst = Inst::new(Op::BRANCHZ).flag(&EQ, true);
        inst.sources[0].place = Place::Fixed(Fixed::Constant(0));
        self.push(inst, Some(to), loc);
    }

    /// Whether the next line begins at a label.
    fn is_target(&self) -> bool {
        self.target.0 == self.out.lines.len() as u32
    }

    /// Whether the next line is not reached: the last one always branches and none branches here.
    fn is_left(&self) -> bool {
        self.out.lines.last().is_some_and(|l| is_jump(&l.inst)) && !self.is_target()
    }

    /// The end of the innermost loop, and what follows it.
    fn innermost_loop(&self) -> Option<(Label, Label)> {
        self.constructs.iter().rev().find_map(|c| match c {
            Construct::Loop { latch, exit, .. } => Some((*latch, *exit)),
            Construct::If { .. } => None,
        })
    }

    fn note_continue(&mut self) {
        for c in self.constructs.iter_mut().rev() {
            if let Construct::Loop { continues, .. } = c {
                *continues = true;
                return;
            }
        }
    }

    fn control(&mut self, ctl: Ctl, loc: Loc) {
        match ctl {
            Ctl::If(inst) => {
                let (other, end) = (self.label(), self.label());
                let branch = self.out.lines.len();
                self.push(inst, Some(other), loc);
                self.constructs.push(Construct::If { branch, other, end });
            }
            Ctl::Else => self.begin_else(loc),
            Ctl::EndIf => {
                if let Some(Construct::If { branch, other, end }) = self.constructs.pop() {
                    self.drop_jump_to_next(other, end);
                    self.branch_out(branch, end);
                    self.place(end);
                }
            }
            Ctl::Loop => {
                let (head, latch, exit) = (self.label(), self.label(), self.label());
                self.place(head);
                self.out.loops += 1;
                self.constructs.push(Construct::Loop { head, latch, exit, continues: false });
            }
            Ctl::EndLoop => {
                let top = self.constructs.pop();
                if let Some(Construct::Loop { head, latch, exit, continues }) = top {
                    // Lanes that continue early wait here for those that do not: an iteration has all of them.
                    if continues {
                        self.place(latch);
                    }
                    if !self.repeat_test(head, exit) {
                        self.jump(head, loc);
                    }
                    self.place(exit);
                }
            }
            Ctl::Break => {
                if let Some((_, exit)) = self.innermost_loop() {
                    self.jump(exit, loc);
                }
            }
            Ctl::Continue => {
                if let Some((latch, _)) = self.innermost_loop() {
                    self.jump(latch, loc);
                    self.note_continue();
                }
            }
        }
    }

    /// Ends a loop that begins with the test whether to leave it by the opposite test, which saves a jump in each turn; whether
    /// there is such a test.
    fn repeat_test(&mut self, head: Label, exit: Label) -> bool {
        if self.is_left() {
            return false;
        }
        let first = self.out.labels[head as usize] as usize;
        let test = self.out.lines[first..].iter().take(MAX_TEST).position(|l| l.target.is_some());
        let Some(branch) = test.map(|n| first + n) else { return false };
        let is_plain = |l: &Line<Inst>| !l.inst.is_message() && l.inst.op != Op::NOP;
        let line = self.out.lines[branch];
        let is_entered = |label: &&u32| (first + 1..=branch).contains(&(**label as usize));
        if line.target != Some(exit)
            || is_jump(&line.inst)
            || !self.out.lines[first..branch].iter().all(is_plain)
            || self.out.labels.iter().filter(|l| **l != UNPLACED).any(|l| is_entered(&l))
        {
            return false;
        }
        let body = self.label();
        self.out.labels[body as usize] = branch as u32 + 1;
        for n in first..branch {
            let copy = self.out.lines[n];
            self.out.lines.push(copy);
        }
        self.out.lines.push(Line { inst: opposite(line.inst), target: Some(body), ..line });
        true
    }

    /// Ends the then block. One that only branches, or is empty, becomes the branch with the opposite condition.
    fn begin_else(&mut self, loc: Loc) {
        let Some(&Construct::If { branch, other, end }) = self.constructs.last() else { return };
        let after = self.out.lines.len() - branch - 1;
        let labels = self.target.0 != UNPLACED && self.target.0 as usize > branch;
        match after {
            0 if !labels => {
                let line = &mut self.out.lines[branch];
                line.inst = opposite(line.inst);
                line.target = Some(end);
            }
            1 if !labels && is_jump(&self.out.lines[branch + 1].inst) => {
                let target = self.out.lines[branch + 1].target;
                self.out.lines.pop();
                let line = &mut self.out.lines[branch];
                line.inst = opposite(line.inst);
                line.target = target;
            }
            _ => self.jump(end, loc),
        }
        self.place(other);
    }

    /// Makes one branch of a branch over an else block that only jumps.
    fn branch_out(&mut self, branch: usize, end: Label) {
        let [over, jump] = match self.out.lines.get(branch..) {
            Some([over, jump]) => [*over, *jump],
            _ => return,
        };
        // The else block begins at the jump; nothing else goes there.
        let entered = self.target.0 as usize == branch + 1 && self.target.1 > 1;
        if over.target == Some(end) && is_jump(&jump.inst) && !entered && !self.is_target() {
            self.out.lines.pop();
            let line = &mut self.out.lines[branch];
            line.inst = opposite(over.inst);
            line.target = jump.target;
        }
    }

    /// Removes the jump over an else block that has turned out to be empty.
    fn drop_jump_to_next(&mut self, other: Label, end: Label) {
        let next = self.out.lines.len() as u32;
        let is_empty = self.out.labels[other as usize] == next;
        let jumps = self.out.lines.last().is_some_and(|l| l.target == Some(end));
        // Another label here would move with it.
        let alone = self.target == (next, 1);
        if is_empty && jumps && alone {
            self.out.lines.pop();
            self.place(other);
        }
    }
}
