//! The comparison whose outcome the flag register has, so that it is not made again.
//!
//! Every selection and every branch brings its comparison. Selections by one condition follow each other often; the flag
//! keeps its meaning until another comparison, a write of a register that was compared, or a branch: then other channels
//! may execute.

use super::Part;
use crate::mir::{Operand, Place, UNIT_BYTES};
use std::ops::Range;
use tepui_intel_isa::{Condition, Form, Inst, Location, Register, message};

/// A comparison that was made.
#[derive(Clone, Copy, PartialEq)]
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
