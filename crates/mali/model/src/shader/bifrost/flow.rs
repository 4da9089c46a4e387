//! Branches, jumps, barriers.

use tepui_mali_isa::Flow as ValhallFlow;
use tepui_mali_isa::bifrost::disasm::Fau;
use tepui_mali_isa::bifrost::{Inst, Port};
use tepui_mali_isa::modifier::Condition;

use super::{Context, Lowered, nothing};
use crate::shader::alu::select::holds;
use crate::shader::op::{Handler, Lanes, Next, Op};
use crate::shader::template::{Number, TemplateOp};
use crate::warp::row::{LANES, float16};
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Flags of a branch whose target is still a clause offset in words.
const PLACE: u32 = u32::MAX;

/// The special value 0.
// source: Mesa, compiler.h (`BIR_FAU_ZERO`)
const ZERO: u8 = 0;

/// Flags of a branch whose lanes end.
const ENDS: u32 = u32::MAX - 1;

/// Whether an operation is a branch whose target is still a clause offset in words.
pub fn is_branch(op: &Op) -> bool {
    op.flags == PLACE
}

/// Whether an operation determines where lanes continue.
pub fn chooses(op: &Op) -> bool {
    matches!(op.next, Next::Chosen | Next::Jump | Next::End)
}

macro_rules! branches {
    ($($name:ident $of:expr;)*) => {
        $(fn $name(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
            let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
            let mut taken = 0u16;
            for lane in 0..LANES {
                taken |= u16::from(holds(op.condition, $of(a.0[lane]), $of(b.0[lane]))) << lane;
            }
            let taken = taken & l.warp.mask;
            match op.flags {
                ENDS => l.warp.end_lanes(taken),
                _ => l.warp.branch(taken, op.immediate),
            }
            Ok(())
        })*
    };
}

branches! {
    branch_unsigned (|v: u32| v);
    branch_signed (|v: u32| v as i32);
    branch_float f32::from_bits;
    branch_half (|v: u32| float16(v as u16));
}

/// Continues at the address in a register, or ends if it is 0.
fn jump(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let target = l.get(&op.src[0]);
    let mut active = l.active().map(|lane| target.0[lane]);
    let first = active.next().unwrap_or(0);
    if active.any(|other| other != first) {
        return Err(Box::new(Trap::Unimplemented("jumps to several addresses".into())));
    }
    match first {
        0 => l.warp.end(),
        _ => l.warp.jump = Some(first),
    }
    Ok(())
}

/// The condition of a name.
pub fn condition(name: &str) -> Option<Condition> {
    Some(match name {
        "eq" => Condition::Eq,
        "gt" => Condition::Gt,
        "ge" => Condition::Ge,
        "ne" => Condition::Ne,
        "lt" => Condition::Lt,
        "le" => Condition::Le,
        "gtlt" => Condition::Gtlt,
        "total" => Condition::Total,
        _ => return None,
    })
}

/// Translates an instruction; `None` if it is not one of flow.
pub fn lower(context: &mut Context<'_>, inst: &Inst) -> Lowered {
    let name = inst.op.row().name;
    if name == "BARRIER" {
        let mut op = Op::new(nothing, ValhallFlow::None);
        op.next = Next::Barrier;
        return Some(vec![op]);
    }
    if name == "JUMP"
        && let Some(target) = context.target(*inst.sources.first()?)
    {
        // A branch that all lanes take, since zero equals zero.
        let mut op = Op::new(branch_unsigned, ValhallFlow::None);
        op.kind = Some(TemplateOp::BranchCompare(Number::Unsigned));
        (op.flags, op.immediate, op.next) = (PLACE, target, Next::Chosen);
        return Some(vec![op]);
    }
    if name == "JUMP" {
        let mut op = Op::new(jump, ValhallFlow::None);
        op.src[0] = context.plain(inst, 0)?;
        op.next = Next::Jump;
        return Some(vec![op]);
    }
    let (base, kind) = name.split_once('.')?;
    let zero = match base {
        "BRANCH" => false,
        "BRANCHZ" => true,
        _ => return None,
    };
    let (run, number): (Handler, _) = match kind {
        "f32" => (branch_float, Some(Number::Float)),
        "f16" => (branch_half, None),
        "s32" | "s16" => (branch_signed, Some(Number::Signed)),
        _ => (branch_unsigned, Some(Number::Unsigned)),
    };
    let mut op = Op::new(run, ValhallFlow::None);
    op.kind = number.map(TemplateOp::BranchCompare);
    op.src[0] = context.source(inst, 0)?;
    if !zero {
        op.src[1] = context.source(inst, 1)?;
    }
    op.condition = condition(inst.modifier("cmpf")?)?;
    op.next = Next::Chosen;
    let target = *inst.sources.last()?;
    if context.is_zero(target) {
        // Lanes end, as they do for a jump to 0.
        (op.flags, op.kind) = (ENDS, None);
    } else {
        (op.flags, op.immediate) = (PLACE, context.target(target)?);
    }
    Some(vec![op])
}

impl Context<'_> {
    /// Whether a source is the special value 0.
    fn is_zero(&self, port: Port) -> bool {
        let byte = self.clause.tuples[self.tuple].registers.fau();
        matches!(port, Port::FauLow | Port::FauHigh) && Fau::of(byte) == Fau::Special(ZERO)
    }

    /// The clause offset in words of a branch's source.
    fn target(&self, port: Port) -> Option<u32> {
        let target = self.clause.branch_target(self.tuple, port, self.place)?;
        u32::try_from(target).ok()
    }
}
