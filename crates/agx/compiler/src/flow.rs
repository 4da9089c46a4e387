//! Lowers structured control flow to instructions on the nesting counter `r0l`, and parallel copies
//! to moves.
//!
//! A thread executes while its counter is zero; the counter says how many constructs must end
//! before the thread runs again. An `if` is one level. A loop is one level, or two if it contains
//! `continue`: then `continue` leaves one and `break` two. A chain of `else if` is two levels,
//! however long it is. source: applegpu's docs.html on the execution mask; Mesa, agx_compile.c
//! (emit_if, emit_loop, agx_emit_jump)

use crate::mir::{self, Ctl};
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{Dst, FCond, ICond, Size, Src};
use tepui_agx_isa::table::flow::{
    ElseFcmp, ElseIcmp, IfFcmp, JmpExecAny, JmpExecNone, PopExec, Stop, WhileFcmp, WhileIcmp,
};
use tepui_agx_isa::table::integer::Bitop;
use tepui_agx_isa::table::moves::{MovImm16, MovImm32};
use tepui_agx_isa::table::select::{Fcmpsel, Icmpsel};
use tepui_agx_isa::table::stack::StackAdjust;
use tepui_backend::{At, Label};
use tepui_ir::Loc;

type Step = tepui_regalloc::Step<Inst>;
type CodeBlock = tepui_regalloc::CodeBlock<Inst>;
type Code = tepui_regalloc::Code<Inst>;

/// An instruction in its final order.
pub type Line = tepui_backend::Line<Inst>;
/// A program in order.
pub type Listing = tepui_backend::Listing<Inst>;

/// Minimum weight of a then or else block that is jumped over when no thread takes it: a jump costs
/// half as much, and is useless about half of the time. source: Mesa, agx_opt_jmp_none.c
const SKIP_FROM: usize = 38;

/// Levels of a chain of `else if`: threads that are done wait for two, those that have not found their arm yet for one.
const CHAIN: u8 = 2;
/// Maximum number of levels that one `pop_exec` leaves.
const MAX_POPPED: u8 = 3;

/// Highest nesting count that a select can give as an immediate operand.
const MAX_SELECTED: u16 = 255;

struct Loop {
    levels: u8,
    head: Label,
    /// `if`s open inside of it.
    ifs: u16,
}

struct If {
    /// Set when a jump over the then block needs the `else`.
    to_else: Option<Label>,
    to_end: Option<Label>,
    /// The `else` is left out.
    no_else: bool,
    /// The whole construct is left out: it became one instruction.
    gone: bool,
    /// Levels that it takes: none for an `if` that is the `else` of the one around it.
    levels: u8,
}

impl If {
    /// One that leaves no trace.
    const GONE: If = If { to_else: None, to_end: None, no_else: true, gone: true, levels: 0 };
}

/// The blocks of each `if`, by the block that it ends or, for `ends`, by its else block.
struct IfBlocks {
    /// First blocks of both sides, and the block after the `if`.
    of: Vec<Option<[usize; 3]>>,
    /// The block after the `if`.
    ends: Vec<usize>,
    /// Weight of all blocks before each.
    weights: Vec<usize>,
}

impl IfBlocks {
    fn new(code: &Code) -> IfBlocks {
        let n = code.blocks.len();
        let mut a =
            IfBlocks { of: vec![None; n], ends: vec![0; n], weights: Vec::with_capacity(n + 1) };
        let mut open: Vec<[usize; 2]> = Vec::new();
        let mut sum = 0;
        for (k, block) in code.blocks.iter().enumerate() {
            a.weights.push(sum);
            sum += weight(block);
            for (step, _) in &block.steps {
                match step {
                    Step::Ctl(Ctl::If(_)) => open.push([k, k]),
                    Step::Ctl(Ctl::Else) => {
                        if let Some(top) = open.last_mut() {
                            top[1] = k;
                        }
                    }
                    Step::Ctl(Ctl::EndIf) => {
                        if let Some([b, second]) = open.pop() {
                            a.of[b] = Some([b + 1, second, k]);
                            a.ends[second] = k;
                        }
                    }
                    _ => {}
                }
            }
        }
        a.weights.push(sum);
        a
    }

    fn weight(&self, from: usize, to: usize) -> usize {
        self.weights[to] - self.weights[from]
    }
}

struct Flow<'a> {
    code: &'a Code,
    arms: IfBlocks,
    out: Listing,
    loops: Vec<Loop>,
    ifs: Vec<If>,
    /// Constructs open.
    depth: u32,
    /// A label precedes this line.
    fence: usize,
    loc: Loc,
    step: At,
}

/// Lowers a program and ends it with `stop`; `scratch` are the bytes of a thread's scratch memory.
#[must_use]
pub fn run(code: &Code, scratch: u32) -> Listing {
    let mut f = Flow {
        code,
        arms: IfBlocks::new(code),
        out: Listing::default(),
        loops: Vec::new(),
        ifs: Vec::new(),
        depth: 0,
        fence: 0,
        loc: Loc::default(),
        step: At::default(),
    };
    if scratch > 0 {
        let v = (scratch.div_ceil(4) + mir::STACK_EXTRA).next_multiple_of(4) as i16;
        f.push(StackAdjust { v, ..StackAdjust::default() });
    }
    let continued = continued(code);
    let mut nth_loop = 0;
    let mut skip = vec![false; code.blocks.len()];
    for (b, block) in code.blocks.iter().enumerate() {
        if skip[b] {
            continue;
        }
        for (n, &(step, loc)) in block.steps.iter().enumerate() {
            (f.loc, f.step) = (loc, At { block: b as u32, step: n as u32 });
            match step {
                Step::Ctl(Ctl::Loop) => {
                    let levels = if continued[nth_loop] { 2 } else { 1 };
                    nth_loop += 1;
                    f.begin_loop(levels);
                }
                Step::Ctl(Ctl::If(inst)) => {
                    debug_assert_eq!(n + 1, block.steps.len());
                    f.begin_if(b, inst, &mut skip);
                }
                Step::Ctl(c) => f.control(c, b),
                Step::Inst(inst) => f.push(inst),
                Step::Move { to, from, units } => f.mov(to, from, units),
                Step::Swap { a, b, units } => {
                    f.xor(a, a, b, units);
                    f.xor(b, a, b, units);
                    f.xor(a, a, b, units);
                }
            }
        }
    }
    f.push(Stop::default());
    f.out
}

/// Whether something continues each loop, in the order of their beginnings.
fn continued(code: &Code) -> Vec<bool> {
    let (mut all, mut open) = (Vec::new(), Vec::new());
    for (step, _) in code.blocks.iter().flat_map(|b| &b.steps) {
        match step {
            Step::Ctl(Ctl::Loop) => {
                open.push(all.len());
                all.push(false);
            }
            Step::Ctl(Ctl::Continue) => {
                if let Some(&l) = open.last() {
                    all[l] = true;
                }
            }
            Step::Ctl(Ctl::EndLoop) => {
                open.pop();
            }
            _ => {}
        }
    }
    all
}

fn invert(inst: Inst) -> Inst {
    match inst {
        Inst::IfIcmp(mut i) => {
            i.cc = invert_int(i.cc);
            i.into()
        }
        Inst::IfFcmp(mut i) => {
            i.cc = invert_float(i.cc);
            i.into()
        }
        i => i,
    }
}

/// The condition that holds where this one does not.
pub fn invert_int(cc: ICond) -> ICond {
    match cc {
        ICond::Ueq => ICond::Nueq,
        ICond::Ult => ICond::Ugte,
        ICond::Ugt => ICond::Ulte,
        ICond::Seq => ICond::Nseq,
        ICond::Slt => ICond::Sgte,
        ICond::Sgt => ICond::Slte,
        ICond::Nueq => ICond::Ueq,
        ICond::Ugte => ICond::Ult,
        ICond::Ulte => ICond::Ugt,
        ICond::Nseq => ICond::Seq,
        ICond::Sgte => ICond::Slt,
        ICond::Slte => ICond::Sgt,
        c => c,
    }
}

/// Version of [`invert_int`] of floats.
pub fn invert_float(cc: FCond) -> FCond {
    match cc {
        FCond::Eq => FCond::Neq,
        FCond::Lt => FCond::Nlt,
        FCond::Gt => FCond::Ngt,
        FCond::Ltn => FCond::Nltn,
        FCond::Gte => FCond::Ngte,
        FCond::Lte => FCond::Nlte,
        FCond::Gtn => FCond::Ngtn,
        FCond::Neq => FCond::Eq,
        FCond::Nlt => FCond::Lt,
        FCond::Ngt => FCond::Gt,
        FCond::Nltn => FCond::Ltn,
        FCond::Ngte => FCond::Gte,
        FCond::Nlte => FCond::Lte,
        FCond::Ngtn => FCond::Gtn,
        c => c,
    }
}

/// A condition that enters some levels.
fn of_levels(mut inst: Inst, levels: u8) -> Inst {
    match &mut inst {
        Inst::IfIcmp(i) => i.n = levels,
        Inst::IfFcmp(i) => i.n = levels,
        _ => {}
    }
    inst
}

/// The condition of an `if` as that of an `else` in a chain.
fn as_else(inst: Inst) -> Inst {
    match inst {
        Inst::IfIcmp(i) => {
            ElseIcmp { cc: i.cc, a: i.a, b: i.b, n: CHAIN, ..ElseIcmp::default() }.into()
        }
        Inst::IfFcmp(i) => {
            ElseFcmp { cc: i.cc, a: i.a, b: i.b, n: CHAIN, ..ElseFcmp::default() }.into()
        }
        i => i,
    }
}

/// Steps of a block without the marks of an `else`.
fn body(b: &CodeBlock) -> &[(Step, Loc)] {
    match b.steps.first() {
        Some((Step::Ctl(Ctl::Else), _)) => &b.steps[1..],
        _ => &b.steps,
    }
}

impl Flow<'_> {
    fn push(&mut self, inst: impl Into<Inst>) {
        let inst = inst.into();
        // Constants in both halves of a register are one.
        if let Inst::MovImm16(m) = inst
            && let Some(line) = self.out.lines.get_mut(self.fence..).and_then(<[_]>::last_mut)
            && let Inst::MovImm16(l) = line.inst
            && l.d.reg ^ 1 == m.d.reg
            && m.d.reg > 1
        {
            let (low, high) = if l.d.reg < m.d.reg { (l, m) } else { (m, l) };
            let d = Dst::new(low.d.reg, Size::B32);
            let imm = u32::from(low.imm) | u32::from(high.imm) << 16;
            line.inst = MovImm32 { d, imm, ..MovImm32::default() }.into();
            return;
        }
        self.out.lines.push(Line { inst, target: None, loc: self.loc, step: self.step });
    }

    fn jump(&mut self, inst: impl Into<Inst>, target: Label) {
        let (loc, step) = (self.loc, self.step);
        self.out.lines.push(Line { inst: inst.into(), target: Some(target), loc, step });
    }

    fn label(&mut self) -> Label {
        self.out.labels.push(u32::MAX);
        self.out.labels.len() as Label - 1
    }

    fn set_label(&mut self, l: Label) {
        self.fence = self.out.lines.len();
        self.out.labels[l as usize] = self.out.lines.len() as u32;
    }

    fn mov(&mut self, to: u16, from: u16, halves: u16) {
        let size = if halves == 1 { Size::B16 } else { Size::B32 };
        self.push(Bitop {
            table: 0b1010,
            d: Dst::new(to, size),
            a: Src::reg(from, size),
            ..Bitop::default()
        });
    }

    fn xor(&mut self, d: u16, a: u16, b: u16, halves: u16) {
        let size = if halves == 1 { Size::B16 } else { Size::B32 };
        let (a, b) = (Src::reg(a, size), Src::reg(b, size));
        self.push(Bitop { table: 0b0110, d: Dst::new(d, size), a, b, ..Bitop::default() });
    }

    fn begin_loop(&mut self, levels: u8) {
        self.out.loops += 1;
        // Threads that are out must stay so while the loop counts.
        if self.depth > 0 {
            self.push(IfFcmp { cc: FCond::Eq, n: levels, ..IfFcmp::default() });
        }
        let head = self.label();
        self.set_label(head);
        self.loops.push(Loop { levels, head, ifs: 0 });
        self.depth += 1;
    }

    fn begin_if(&mut self, b: usize, inst: Inst, skip: &mut [bool]) {
        let Some([first, second, end]) = self.arms.of[b] else { return };
        let only = |k: usize, next: usize| -> Option<&[(Step, Loc)]> {
            (k + 1 == next).then(|| body(&self.code.blocks[k]))
        };
        let (a, z) = (only(first, second), only(second, end));
        let empty = |s: Option<&[(Step, Loc)]>| s.is_some_and(|s| s.is_empty());
        let leaves = |s: Option<&[(Step, Loc)]>| match s {
            Some([(Step::Ctl(c @ (Ctl::Break | Ctl::Continue)), _)]) => Some(*c),
            _ => None,
        };
        // One side only leaves the loop and the other is empty: one instruction, without an `if`.
        let near = self.loops.last().is_some_and(|l| l.ifs + u16::from(l.levels) <= MAX_SELECTED);
        let leave = match (leaves(a), leaves(z)) {
            _ if !near => None,
            (Some(c), None) if empty(z) => Some((c, inst)),
            (None, Some(c)) if empty(a) => Some((c, invert(inst))),
            _ => None,
        };
        if let Some((c, cond)) = leave {
            skip[first] = true;
            skip[second] = true;
            self.leave_if(c, cond);
            self.ifs.push(If::GONE);
            return;
        }
        let (a, z) = (empty(a), empty(z));
        if a && z {
            skip[first] = true;
            skip[second] = true;
            self.ifs.push(If::GONE);
            return;
        }
        let cond = if a { invert(inst) } else { inst };
        let levels = if self.ifs.last().is_some_and(|f| !f.no_else) && self.continues(b) {
            self.push(as_else(cond));
            0
        } else {
            let levels = if !a && self.continues(second) { CHAIN } else { 1 };
            self.push(of_levels(cond, levels));
            levels
        };
        if let Some(l) = self.loops.last_mut() {
            l.ifs += u16::from(levels);
        }
        self.depth += u32::from(levels > 0);
        let mut frame = If { to_else: None, to_end: None, no_else: a || z, gone: false, levels };
        let arm = if a { self.arms.weight(second, end) } else { self.arms.weight(first, second) };
        if a {
            skip[first] = true;
        }
        if arm >= SKIP_FROM {
            let l = self.label();
            self.jump(JmpExecNone::default(), l);
            if frame.no_else {
                frame.to_end = Some(l);
            } else {
                frame.to_else = Some(l);
            }
        }
        self.ifs.push(frame);
    }

    /// Whether a block is the `else` of an `if` and nothing but another `if`, with which the first one ends: the second `if` is part
    /// of the `else`.
    fn continues(&self, b: usize) -> bool {
        let block = |k: usize| self.code.blocks.get(k).map_or(&[][..], |b| &b.steps);
        let [(Step::Ctl(Ctl::Else), _), (Step::Ctl(Ctl::If(_)), _)] = block(b) else {
            return false;
        };
        let Some([first, second, end]) = self.arms.of[b] else { return false };
        let arm = |k: usize, next: usize| (k + 1 == next).then(|| body(&self.code.blocks[k]));
        let leaves = [Step::Ctl(Ctl::Break), Step::Ctl(Ctl::Continue)];
        let leaves =
            |arm: Option<&[(Step, Loc)]>| matches!(arm, Some([s]) if leaves.contains(&s.0));
        // Blocks that become a branch out of a loop, or nothing, are left alone.
        arm(first, second).is_none_or(|arm| !arm.is_empty())
            && !leaves(arm(first, second))
            && !leaves(arm(second, end))
            && matches!(block(end), [(Step::Ctl(Ctl::EndIf), _)])
            && self.arms.ends[b] == end + 1
    }

    /// Leaves the loop, or its iteration, where a condition holds.
    fn leave_if(&mut self, c: Ctl, cond: Inst) {
        let Some(l) = self.loops.last() else { return };
        let out = if c == Ctl::Break { l.levels } else { 1 };
        let count = l.ifs + u16::from(out);
        if count == 1 && (c == Ctl::Continue || l.levels == 1) {
            // Threads go on while the opposite holds.
            match invert(cond) {
                Inst::IfIcmp(i) => {
                    self.push(WhileIcmp { cc: i.cc, a: i.a, b: i.b, n: 1, ..WhileIcmp::default() })
                }
                Inst::IfFcmp(i) => {
                    self.push(WhileFcmp { cc: i.cc, a: i.a, b: i.b, n: 1, ..WhileFcmp::default() })
                }
                _ => {}
            }
            return;
        }
        let d = Dst::new(0, Size::B16);
        let (yes, no) = (Src::imm(count as u8), Src::imm(0));
        // Selects have no inverted conditions: the results change places.
        match cond {
            Inst::IfIcmp(i) => {
                let plain = matches!(
                    i.cc,
                    ICond::Ueq | ICond::Ult | ICond::Ugt | ICond::Seq | ICond::Slt | ICond::Sgt
                );
                let cc = if plain { i.cc } else { invert_int(i.cc) };
                let (x, y) = if plain { (yes, no) } else { (no, yes) };
                self.push(Icmpsel { cc, d, a: i.a, b: i.b, x, y, ..Icmpsel::default() });
            }
            Inst::IfFcmp(i) => {
                let plain = matches!(
                    i.cc,
                    FCond::Eq
                        | FCond::Lt
                        | FCond::Gt
                        | FCond::Ltn
                        | FCond::Gte
                        | FCond::Lte
                        | FCond::Gtn
                );
                let cc = if plain { i.cc } else { invert_float(i.cc) };
                let (x, y) = if plain { (yes, no) } else { (no, yes) };
                self.push(Fcmpsel { cc, d, a: i.a, b: i.b, x, y, ..Fcmpsel::default() });
            }
            _ => {}
        }
        self.push(PopExec { n: 0, ..PopExec::default() });
    }

    /// Leaves levels, together with those that end just before.
    fn pop(&mut self, levels: u8) {
        if levels == 0 {
            return;
        }
        if let Some(line) = self.out.lines.get_mut(self.fence..).and_then(<[_]>::last_mut)
            && let Inst::PopExec(p) = &mut line.inst
            && p.n > 0
            && p.n + levels <= MAX_POPPED
        {
            p.n += levels;
            return;
        }
        self.push(PopExec { n: levels, ..PopExec::default() });
    }

    fn control(&mut self, c: Ctl, b: usize) {
        match c {
            Ctl::Else => {
                let Some(frame) = self.ifs.last() else { return };
                if frame.no_else {
                    return;
                }
                let to_else = frame.to_else;
                if let Some(l) = to_else {
                    self.set_label(l);
                }
                if self.continues(b) {
                    return;
                }
                let chained = self.ifs.iter().rev().find(|i| i.levels > 0);
                let n = chained.map_or(1, |i| i.levels);
                self.push(ElseFcmp { cc: FCond::Eq, n, ..ElseFcmp::default() });
                let arm = self.arms.weight(b, self.arms.ends[b]);
                if arm >= SKIP_FROM {
                    let l = self.label();
                    self.jump(JmpExecNone::default(), l);
                    if let Some(frame) = self.ifs.last_mut() {
                        frame.to_end = Some(l);
                    }
                }
            }
            Ctl::EndIf => {
                let Some(frame) = self.ifs.pop() else { return };
                if frame.gone {
                    return;
                }
                for l in frame.to_else.into_iter().chain(frame.to_end) {
                    if self.out.labels[l as usize] == u32::MAX {
                        self.set_label(l);
                    }
                }
                self.pop(frame.levels);
                if let Some(l) = self.loops.last_mut() {
                    l.ifs -= u16::from(frame.levels);
                }
                self.depth -= u32::from(frame.levels > 0);
            }
            Ctl::EndLoop => {
                let Some(l) = self.loops.pop() else { return };
                if l.levels == 2 {
                    self.push(WhileIcmp { cc: ICond::Ueq, n: 2, ..WhileIcmp::default() });
                }
                self.jump(JmpExecAny::default(), l.head);
                self.push(PopExec { n: l.levels, ..PopExec::default() });
                self.depth -= 1;
            }
            Ctl::Break | Ctl::Continue => {
                let Some(l) = self.loops.last() else { return };
                let count = l.ifs + u16::from(if c == Ctl::Break { l.levels } else { 1 });
                self.push(MovImm16 {
                    d: Dst::new(0, Size::B16),
                    imm: count,
                    ..MovImm16::default()
                });
                self.push(PopExec { n: 0, ..PopExec::default() });
            }
            Ctl::If(_) | Ctl::Loop => {}
        }
    }
}

/// About how many instructions a block takes; memory counts for several, and textures for many.
/// source: Mesa, agx_opt_jmp_none.c, cost_instr
fn weight(b: &CodeBlock) -> usize {
    b.steps
        .iter()
        .map(|(s, _)| match s {
            Step::Inst(Inst::TextureSample(_) | Inst::TextureLoad(_)) => 50,
            Step::Inst(i) if i.scoreboard().is_some() => 10,
            Step::Inst(_) | Step::Move { .. } => 1,
            Step::Swap { .. } => 3,
            Step::Ctl(Ctl::Loop) => SKIP_FROM,
            Step::Ctl(_) => 1,
        })
        .sum()
}
