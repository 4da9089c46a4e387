//! Built-ins of compute shaders, their derivatives, and barriers.

use super::alu::op;
use super::{Comp, Select, Source};
use crate::bind::Constant;
use crate::error::Result;
use crate::mir::{self, Inst, MOp, Operand};
use tepui_intel_isa::{Opcode, Type as Ty};
use tepui_ir::{self as ir, Attrs, Barrier, Builtin, MemSet, Op, Scope};
use tepui_sysval::SystemValue;

/// Double words of g0 that have the number of the workgroup. source: IVB PRM volume 2 part 2, "GPGPU thread payload"
const WORKGROUP: [u16; 3] = [1, 6, 7];

impl Select<'_> {
    /// Selects built-ins and barriers; whether the instruction is one.
    pub(super) fn group(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadBuiltin, Attrs::Builtin(b)) => self.builtin(i, b).map(|()| true),
            (Op::Barrier, Attrs::Barrier(b)) => {
                self.memory_fence(b);
                let invocations: u32 = s.info.workgroup_size.iter().product();
                let several = invocations > u32::from(self.width);
                if matches!(b.exec, Scope::Workgroup | Scope::QueueFamily | Scope::Device)
                    && several
                {
                    self.effect(mir::Op::Barrier);
                }
                Ok(true)
            }
            (Op::DdxCoarse | Op::DdxFine | Op::DdyCoarse | Op::DdyFine, _) => {
                self.derivative(i);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Makes writes to memory visible.
    pub(super) fn memory_fence(&mut self, b: Barrier) {
        let buffers = b.spaces.intersects(MemSet::BUFFER | MemSet::IMAGE);
        let local = b.spaces.intersects(MemSet::SHARED);
        if b.mem != Scope::Invocation && (buffers || local) {
            self.effect(mir::Op::Fence { buffers, local });
        }
    }

    pub(super) fn effect(&mut self, o: mir::Op) {
        self.emit(MOp::Isa(Inst::new(o, Operand::NONE, &[])), &[], &[]);
    }

    fn builtin(&mut self, i: ir::Inst, b: Builtin) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let invocations: u32 = s.info.workgroup_size.iter().product();
        let width = u32::from(self.width);
        let constants = |c: &Self, make: fn(u8) -> SystemValue| {
            let dword = |k| c.map.dword(Constant::System(make(k)));
            (0..3).map(|k| dword(k).map_or(Comp::Undef, Comp::Fixed)).collect()
        };
        let comps: Vec<Comp> = match b {
            Builtin::WorkgroupId => WORKGROUP.map(Comp::Fixed).to_vec(),
            Builtin::NumWorkgroups => constants(self, |axis| SystemValue::NumWorkgroups { axis }),
            Builtin::BaseWorkgroupId => constants(self, |axis| SystemValue::BaseWorkgroup { axis }),
            Builtin::DeviceIndex => vec![Comp::Const(0)],
            Builtin::WorkgroupSize => s.info.workgroup_size.map(Comp::Const).to_vec(),
            Builtin::SubgroupSize => vec![Comp::Const(width)],
            Builtin::NumSubgroups => vec![Comp::Const(invocations.div_ceil(width))],
            Builtin::SubgroupId if invocations <= width => vec![Comp::Const(0)],
            Builtin::SubgroupId => vec![Comp::Fixed(self.map.thread_number())],
            Builtin::SubgroupInvocationId => vec![Comp::Val(self.lane())],
            Builtin::LocalInvocationIndex => vec![self.local_index(invocations)],
            _ => {
                return self
                    .refuse(i, format!("of {} is not compiled for Intel's GPUs yet", b.name()));
            }
        };
        let n = self.dwords(r);
        self.set(r, &comps[..n]);
        Ok(())
    }

    pub(super) fn lane(&mut self) -> tepui_regalloc::Val {
        self.def(mir::Op::Lane, Ty::UD, &[])
    }

    /// The number of an invocation within its workgroup: threads have consecutive ones.
    fn local_index(&mut self, invocations: u32) -> Comp {
        let lane = self.lane();
        if invocations <= u32::from(self.width) {
            return Comp::Val(lane);
        }
        let number = Comp::Fixed(self.map.thread_number());
        let x = self.source(number, Ty::UD);
        let shift = u64::from(self.width.trailing_zeros());
        let n = Source { operand: Operand::immediate(Ty::UD, shift), val: None };
        let first = self.def(op(Opcode::Shl), Ty::UD, &[x, n]);
        let read = |c: &Self, v| c.read(v, Ty::UD);
        Comp::Val(self.def(op(Opcode::Add), Ty::UD, &[read(self, first), read(self, lane)]))
    }
}
