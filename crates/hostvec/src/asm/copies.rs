//! AVX2's instructions, and which copies between registers they save. Templates work in scratch
//! registers: they copy rows there, compute, and copy the result to a row. But an instruction may
//! read the row itself, and write its result to where it is wanted: so a copy to a scratch register
//! is only noted, until one of the two is written; and if the last instruction's result is copied
//! on, the instruction is encoded again with another destination.

use super::{Assembler, Rm, V, Vop};

/// Scratch registers: those from 0 on.
const SCRATCH: usize = 6;

/// By the signs of the lanes of a fourth register.
pub const BLENDVPS: Vop = Vop(3, 1, 0x4a);
/// The zero flag if no sign is set in both operands, the carry flag if none in the second only.
pub const TESTPS: Vop = Vop(2, 1, 0x0e);
/// The signs, to a general register.
pub const MOVMSKPS: Vop = Vop(1, 0, 0x50);
/// Words of 64 bits, by the immediate.
pub const PERMQ: Vop = Vop(3, 1, 0x00);

/// Deferred register copies at the end of the code, for AVX2, whose instructions cannot take all
/// operands that AVX-512's can.
#[derive(Default)]
pub struct DeferredCopies {
    /// For each scratch register, the register that it is a deferred copy of.
    of: [Option<V>; SCRATCH],
    /// The last instruction, if it may be encoded again.
    last: Option<LastInstruction>,
}

struct LastInstruction {
    /// Range of its bytes in the code.
    start: usize,
    end: usize,
    /// Number of constant reads before it.
    reads: usize,
    d: V,
    what: LastOperation,
}

enum LastOperation {
    /// Reads its operands before it writes.
    Plain(Encoding),
    /// `x · a + b`, in the register of `x` or a copy.
    MultiplyAdd { x: V, a: V, b: Rm },
}

/// An instruction without its destination.
#[derive(Clone, Copy)]
struct Encoding {
    op: Vop,
    w: bool,
    a: V,
    b: Rm,
    constant: [u32; 8],
    immediate: Option<u8>,
}

impl Assembler {
    /// Drops all deferred copies: the scratch registers are dead.
    pub fn forget(&mut self) {
        self.copies = DeferredCopies::default();
    }

    /// Emits all deferred copies, before control flow joins or leaves.
    pub(super) fn settle(&mut self) {
        for s in 0..SCRATCH {
            if let Some(from) = self.copies.of[s].take() {
                self.copy(V(s as u8), from);
            }
        }
        self.copies.last = None;
    }

    /// The register that has what a register is to hold.
    pub(super) fn resolve(&self, v: V) -> V {
        self.copies.of.get(usize::from(v.0)).copied().flatten().unwrap_or(v)
    }

    fn resolve_operand(&self, b: Rm) -> Rm {
        match b {
            Rm::Reg(v) => Rm::Reg(self.resolve(v)),
            _ => b,
        }
    }

    /// Makes the copies of a register that is about to be written.
    pub(super) fn overwritten(&mut self, d: V) {
        if let Some(of) = self.copies.of.get_mut(usize::from(d.0)) {
            *of = None;
        }
        for s in 0..SCRATCH {
            if self.copies.of[s] == Some(d) {
                self.copies.of[s] = None;
                self.copy(V(s as u8), d);
            }
        }
        self.copies.last = None;
    }

    /// `d = a`
    pub(super) fn vex_move(&mut self, d: V, a: V) {
        let from = self.resolve(a);
        if from == d {
            // A scratch register that is a copy of `d` stays one; `d` itself has it already.
        } else if usize::from(d.0) < SCRATCH {
            self.overwritten(d);
            self.copies.of[usize::from(d.0)] = Some(from);
        } else if !self.retarget(from, d) {
            self.overwritten(d);
            self.copy(d, from);
        }
    }

    fn copy(&mut self, d: V, from: V) {
        self.encode(Vop::MOVDQU_LOAD, false, [d.0, 0], Rm::Reg(from), [0; 8], None);
    }

    /// Encodes the last instruction again, if its result is in scratch register `from`, to have it
    /// in `d`.
    fn retarget(&mut self, from: V, d: V) -> bool {
        let Some(last) = self.copies.last.take() else { return false };
        let scratch = usize::from(from.0) < SCRATCH;
        let at_end = last.end == self.code.len();
        if last.d != from || !scratch || !at_end || self.copies.of.contains(&Some(d)) {
            return false;
        }
        let again = |t: &mut Self| {
            t.code.truncate(last.start);
            t.reads.truncate(last.reads);
        };
        match last.what {
            LastOperation::Plain(Encoding { op, w, a, b, constant, immediate }) => {
                again(self);
                self.encode(op, w, [d.0, a.0], b, constant, immediate);
            }
            LastOperation::MultiplyAdd { x, a, b } => {
                let (op, other, b, copy) = if d == a {
                    (Vop::FMADD213PS, x, b, false)
                } else if b == Rm::Reg(d) {
                    (Vop::FMADD231PS, x, Rm::Reg(a), false)
                } else if x != from {
                    (Vop::FMADD213PS, a, b, x != d)
                } else {
                    return false;
                };
                again(self);
                if copy {
                    self.copy(d, x);
                }
                self.encode(op, false, [d.0, other.0], b, constant(b), None);
            }
        }
        self.copies.of[usize::from(from.0)] = Some(d);
        true
    }

    /// `d = op(a, b)`. `a` counts only if the instruction has two operands besides the destination.
    pub(super) fn vex(&mut self, op: Vop, d: u8, a: u8, b: Rm, immediate: Option<u8>) {
        let constant = constant(b);
        self.emit(V(d), Encoding { op, w: false, a: V(a), b, constant, immediate });
    }

    /// `d = op(a, table)`, with a word for each lane.
    pub(super) fn vex_table(&mut self, op: Vop, d: V, a: V, table: [u32; 8]) {
        let b = Rm::Constant(0);
        self.emit(d, Encoding { op, w: false, a, b, constant: table, immediate: None });
    }

    /// An instruction with operands of 64 bits.
    pub(super) fn vex_wide(&mut self, op: Vop, d: V, b: Rm, immediate: u8) {
        let immediate = Some(immediate);
        self.emit(d, Encoding { op, w: true, a: V(0), b, constant: [0; 8], immediate });
    }

    fn emit(&mut self, d: V, encoding: Encoding) {
        let Encoding { op, w, a, b, constant, mut immediate } = encoding;
        let (reg, operand) = (self.resolve(d), self.resolve_operand(b));
        match op {
            // Without a destination, or with a general register.
            Vop::MOVDQU_STORE | TESTPS => {
                return self.encode(op, w, [reg.0, 0], operand, constant, immediate);
            }
            MOVMSKPS => return self.encode(op, w, [d.0, 0], operand, constant, immediate),
            // The destination is the last operand, or the second.
            Vop::CVTPS2PH => {
                if let Rm::Reg(to) = b {
                    self.overwritten(to);
                }
                return self.encode(op, w, [reg.0, 0], b, constant, immediate);
            }
            Vop::SHIFT => {
                self.overwritten(a);
                return self.encode(op, w, [d.0, a.0], operand, constant, immediate);
            }
            Vop::FMADD213PS => {
                let (x, a) = (reg, self.resolve(a));
                self.overwritten(d);
                let (start, reads) = (self.code.len(), self.reads.len());
                if x != d {
                    self.copy(d, x);
                }
                self.encode(op, w, [d.0, a.0], operand, constant, immediate);
                let what = LastOperation::MultiplyAdd { x, a, b: operand };
                let end = self.code.len();
                self.copies.last = Some(LastInstruction { start, end, reads, d, what });
                return;
            }
            BLENDVPS => immediate = immediate.map(|mask| self.resolve(V(mask >> 4)).0 << 4),
            _ => {}
        }
        let a = if is_unary(op) || w { V(0) } else { self.resolve(a) };
        self.overwritten(d);
        let (start, reads) = (self.code.len(), self.reads.len());
        self.encode(op, w, [d.0, a.0], operand, constant, immediate);
        let what = LastOperation::Plain(Encoding { op, w, a, b: operand, constant, immediate });
        let end = self.code.len();
        self.copies.last = Some(LastInstruction { start, end, reads, d, what });
    }

    fn encode(
        &mut self,
        Vop(map, prefix, opcode): Vop,
        w: bool,
        [reg, vvvv]: [u8; 2],
        rm: Rm,
        constant: [u32; 8],
        immediate: Option<u8>,
    ) {
        debug_assert!(reg < 16 && vvvv < 16);
        self.copies.last = None;
        let base = match rm {
            Rm::Reg(r) => r.0,
            Rm::Mem(base, _) | Rm::Broadcast(base, _) => base.0,
            Rm::Constant(_) => 0,
        };
        debug_assert!(base < 16);
        // Inverted: the register fields' fourth bits, and the second operand.
        let (r, b) = ((!reg & 8) << 4, (!base & 8) << 2);
        let rest = (!vvvv & 15) << 3 | 1 << 2 | prefix;
        if map == 1 && b != 0 && !w {
            self.bytes(&[0xc5, r | rest, opcode]);
        } else {
            self.bytes(&[0xc4, r | 1 << 6 | b | map, u8::from(w) << 7 | rest, opcode]);
        }
        let field = (reg & 7) << 3;
        match rm {
            Rm::Reg(r) => self.bytes(&[0xc0 | field | r.0 & 7]),
            Rm::Mem(base, offset) | Rm::Broadcast(base, offset) => {
                debug_assert!(base.0 & 7 != 4);
                match i8::try_from(offset) {
                    Ok(short) => self.bytes(&[0x40 | field | base.0 & 7, short as u8]),
                    Err(_) => {
                        self.bytes(&[0x80 | field | base.0 & 7]);
                        self.word(offset);
                    }
                }
            }
            Rm::Constant(_) => {
                self.bytes(&[field | 5]);
                self.read(constant, usize::from(immediate.is_some()));
            }
        }
        if let Some(immediate) = immediate {
            self.bytes(&[immediate]);
        }
    }
}

/// The memory contents of a constant operand, else zeros.
fn constant(b: Rm) -> [u32; 8] {
    match b {
        Rm::Constant(value) => [value; 8],
        _ => [0; 8],
    }
}

/// Whether the instruction has one operand besides the destination.
fn is_unary(op: Vop) -> bool {
    matches!(
        op,
        Vop::SQRTPS
            | Vop::RNDSCALEPS
            | Vop::CVTDQ2PS
            | Vop::CVTTPS2DQ
            | Vop::CVTPH2PS
            | Vop::PMOVZXDQ
            | Vop::PBROADCASTB
            | Vop::PMOVZXWD
            | Vop::PMOVSXWD
            | Vop::PBROADCASTW
            | Vop::PBROADCASTQ
            | Vop::PSHUFD
            | Vop::PBROADCASTD
            | Vop::MOVDQU_LOAD
    )
}
