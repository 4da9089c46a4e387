//! The comparisons whose outcome the flag register has, so that they are not made again.
//!
//! Every selection and every branch brings its comparison. Selections by one condition follow each other often; the flag
//! keeps its meaning until another comparison, a write of a register that was compared, or a branch: then other channels
//! may execute. A comparison of a result with zero is a condition of the instruction that computes it.

use super::expand::CONDITION;
use super::{Emit, Part};
use crate::mir::{Inst as Mir, Operand, Place, UNIT_BYTES};
use std::ops::Range;
use tepui_intel_isa::{Arf, Condition, Dst, Form, Inst, Location, Opcode, Register, Type, message};

/// Distance to the instruction that computed a value within which it takes the value's comparison with zero.
const WINDOW: usize = 24;

/// A comparison that was made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Known {
    pub condition: Condition,
    pub sources: [Operand; 2],
    pub first: u8,
    pub width: u8,
    /// Of one channel, whatever the execution mask is.
    pub scalar: bool,
}

/// The bytes of the register file that an operand has for channels.
fn bytes(o: &Operand, part: Part) -> Range<u16> {
    match o.place {
        Place::Plane(unit) => {
            let from = unit * UNIT_BYTES + 4 * u16::from(part.first);
            from..from + 4 * u16::from(part.width)
        }
        Place::Scalar(unit) => unit * UNIT_BYTES..unit * UNIT_BYTES + 4,
        _ => 0..0,
    }
}

/// The bytes of the register file that an instruction writes.
fn written(inst: &Inst) -> Range<u16> {
    let Location::Direct { register: Register::General(n), byte } = inst.dst.location else {
        return 0..0;
    };
    let from = u16::from(n) * 32 + u16::from(byte);
    let length = match (inst.form(), inst.send.desc) {
        (Form::Send | Form::SplitSend, tepui_intel_isa::Desc::Immediate(desc)) => {
            32 * u16::from(message::response_registers(desc))
        }
        (Form::Send | Form::SplitSend, _) => u16::MAX - from,
        _ => {
            let step = u16::from(inst.dst.stride) * inst.dst.ty.bytes() as u16;
            u16::from(inst.exec_size) * step
        }
    };
    from..from + length
}

impl Known {
    /// Whether the flag still has the outcome after an instruction that does not write flags.
    pub fn survives(&self, inst: &Inst) -> bool {
        if matches!(inst.form(), Form::Jip | Form::JipUip) {
            return false;
        }
        let to = written(inst);
        let part = Part { first: self.first, width: self.width };
        self.sources.iter().all(|o| {
            let read = bytes(o, part);
            read.end <= to.start || to.end <= read.start
        })
    }
}

/// Comparisons with the outcome that the flag has.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct KnownFlag([Option<Known>; 2]);

impl KnownFlag {
    /// Whether the flag has the outcome of a comparison.
    pub fn has(&self, known: &Known) -> bool {
        self.0.contains(&Some(*known))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0 = [None; 2];
    }

    /// Replaces a comparison whose outcome the flag has by another one.
    pub fn set(&mut self, known: Known) {
        self.0 = [Some(known), None];
    }

    /// Adds a comparison with the same outcome.
    pub fn add(&mut self, known: Known) {
        match self.0[0] {
            None => self.0[0] = Some(known),
            Some(_) => self.0[1] = Some(known),
        }
    }

    /// Keeps what an instruction leaves as it is.
    pub fn keep(&mut self, inst: &Inst) {
        self.0 = self.0.map(|known| known.filter(|known| known.survives(inst)));
    }
}

/// Whether the condition of an instruction compares its result with zero exactly. Sums of integers may overflow, which
/// orders see and equality does not. source: Mesa, `brw_opt_cmod_propagation.cpp`
fn can_compare(inst: &Inst, condition: Condition, ty: Type) -> bool {
    let equality = matches!(condition, Condition::Zero | Condition::NotZero);
    match inst.opcode {
        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => !ty.is_float(),
        Opcode::Add | Opcode::Shl | Opcode::Shr | Opcode::Asr if !ty.is_float() => equality,
        Opcode::Add | Opcode::Mul | Opcode::Mad | Opcode::Frc => ty == Type::F,
        _ => false,
    }
}

/// Whether an instruction reads or writes a flag.
fn uses_flag(inst: &Inst) -> bool {
    let is_flag = |location: &Location| {
        matches!(location, Location::Direct { register: Register::Architecture(Arf::Flag, _), .. })
    };
    inst.predicate.control != 0
        || inst.condition != Condition::None && inst.opcode != Opcode::Sel
        || is_flag(&inst.dst.location)
        || inst.src.iter().any(|src| is_flag(&src.location))
}

impl Emit {
    /// Gives the instruction that computed a value the condition of the value's comparison with zero; whether it took it.
    pub(super) fn fold_comparison(&mut self, inst: &Mir, condition: Condition, part: Part) -> bool {
        let [value, zero] = [inst.src[0], inst.src[1]];
        let plain = !value.negate && !value.abs && value.byte == 0 && value.ty.bytes() == 4;
        if zero.place != Place::Immediate(0) || !plain {
            return false;
        }
        // The comparison is made by all channels of the thread.
        let read = match value.place {
            Place::Plane(_) => bytes(&value, part),
            Place::Scalar(_) if self.scalar => bytes(&value, part),
            _ => return false,
        };
        let equality = matches!(condition, Condition::Zero | Condition::NotZero);
        let first = self.block_start.max(self.out.insts.len().saturating_sub(WINDOW));
        for at in (first..self.out.insts.len()).rev() {
            let found = &mut self.out.insts[at];
            if matches!(found.form(), Form::Jip | Form::JipUip) || uses_flag(found) {
                return false;
            }
            let to = written(found);
            if read.end <= to.start || to.end <= read.start {
                continue;
            }
            let same_type = found.dst.ty == value.ty
                || equality && !found.dst.ty.is_float() && !value.ty.is_float();
            let whole = found.dst.stride == 1 && found.dst.ty.bytes() == 4 && to == read;
            let same_channels = (found.exec_size, found.channel_offset, found.no_mask)
                == (part.width, part.first, self.scalar);
            let folds = same_type && whole && same_channels && !found.saturate && !found.acc_write;
            if !folds || !can_compare(found, condition, value.ty) {
                return false;
            }
            (found.condition, found.flag) = (condition, CONDITION);
            return true;
        }
        false
    }

    /// Notes that the flag is on where a plane or a scalar value of truth values is.
    pub(super) fn flag_is(&mut self, truth: Operand, part: Part) {
        let truth = Operand { ty: Type::D, negate: false, abs: false, byte: 0, ..truth };
        let sources = [truth, Operand::immediate(Type::D, 0)];
        let Part { first, width } = part;
        let condition = Condition::NotZero;
        self.known.add(Known { condition, sources, first, width, scalar: self.scalar });
    }

    /// The destination of a comparison that writes nothing but the flag.
    pub(super) fn no_result(inst: &Mir) -> Dst {
        Dst { ty: inst.src[0].ty, ..Dst::NULL }
    }
}
