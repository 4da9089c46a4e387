//! Built-ins of compute shaders, subgroup operations and barriers.

use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::{Comp, Fixed, Inst as Isa, MOp, Val, WORD};
use crate::preload;
use crate::target::LANES;
use tepui_ir::{Attrs, Barrier, Builtin, Inst, MemSet, Op, Scope};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::{LaneOperation, Slot};
use tepui_mali_isa::operand::{Special, Swizzle};
use tepui_sysval::SystemValue;

impl Select<'_> {
    /// Selects a built-in, a subgroup operation or a barrier; whether the instruction is one.
    pub(super) fn group(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comps = self.builtin(i, b)?;
                self.set(s.result(i), &comps);
            }
            (Op::Barrier, Attrs::Barrier(b)) => self.barrier(b),
            (Op::DdxCoarse | Op::DdxFine | Op::DdyCoarse | Op::DdyFine, _) => self.derivative(i),
            (Op::Ballot, _) => {
                let c = self.comp(s.arg(i, 0), 0);
                let o = self.opnd(c);
                let mask = self.word(IsaOp::WMASK, &[o]);
                let zero = Comp::Const(0);
                self.set(s.result(i), &[Comp::Val(mask), zero, zero, zero]);
            }
            (Op::ReadFirst, _) => {
                let lane = self.first_lane();
                self.other_lane(i, Opnd::val(lane).part(Swizzle::B00), LaneOperation::None);
            }
            (Op::ReadLane | Op::Shuffle, _) => {
                let c = self.comp(s.arg(i, 1), 0);
                let lane = match c {
                    Comp::Const(n) => Opnd::imm(n as u32 % LANES),
                    _ => self.opnd(c).part(Swizzle::B00),
                };
                self.other_lane(i, lane, LaneOperation::None);
            }
            (Op::ShuffleXor, _) => {
                let c = self.comp(s.arg(i, 1), 0);
                let distance = match c {
                    Comp::Const(n) => Opnd::imm(n as u32 % LANES),
                    _ => self.opnd(c).part(Swizzle::B00),
                };
                self.other_lane(i, distance, LaneOperation::Xor);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The lowest active lane.
    fn first_lane(&mut self) -> Val {
        let active = self.word(IsaOp::WMASK, &[Opnd::imm(u32::MAX)]);
        let reversed = self.word(IsaOp::BITREV_I32, &[Opnd::val(active)]);
        self.word(IsaOp::CLZ_U32, &[Opnd::val(reversed)])
    }

    /// The first operand in another lane: a lane, or what the operation makes of its own number.
    fn other_lane(&mut self, i: Inst, lane: Opnd, operation: LaneOperation) {
        let s = self.s;
        let all = self.all_comps(&[s.arg(i, 0)]);
        let mut out = Vec::with_capacity(all.len());
        for c in all {
            out.push(match c {
                // Special words differ between lanes: the number of the lane.
                Comp::Val(_) | Comp::Uniform(Fixed::Special(..)) => {
                    let v = self.register(c);
                    let inst = Isa::new(IsaOp::CLPER_I32).with(operation);
                    Comp::Val(self.def(inst, WORD, &[Opnd::val(v), lane]))
                }
                c => c,
            });
        }
        self.set(s.result(i), &out);
    }

    /// Ordering of memory alone is a wait for what is under way: an empty instruction that emission knows.
    fn barrier(&mut self, b: Barrier) {
        let threads: u32 = self.s.info.workgroup_size.iter().product();
        let together = matches!(b.exec, Scope::Workgroup | Scope::QueueFamily | Scope::Device);
        if together && threads > LANES {
            let inst = Isa::new(IsaOp::BARRIER).with(Slot::Slot7);
            self.emit(MOp::Isa(inst), &[], &[]);
        } else if b.mem != Scope::Invocation && b.spaces != MemSet::empty() {
            self.emit(MOp::Isa(Isa::new(IsaOp::NOP)), &[], &[]);
        }
    }

    fn builtin(&mut self, i: Inst, b: Builtin) -> Result<Vec<Comp>> {
        let size = self.s.info.workgroup_size;
        Ok(match b {
            Builtin::LocalInvocationId => {
                let mut comps = Vec::new();
                for axis in 0..3 {
                    comps.push(self.local_id(i, axis)?);
                }
                comps
            }
            Builtin::LocalInvocationIndex => vec![self.local_index(i)?],
            Builtin::WorkgroupId => self.registers(i, preload::WORKGROUP_ID)?,
            Builtin::GlobalInvocationId => self.registers(i, preload::GLOBAL_ID)?,
            Builtin::NumWorkgroups => {
                let mut comps = Vec::new();
                for axis in 0..3 {
                    comps.push(self.system(SystemValue::NumWorkgroups { axis })?);
                }
                comps
            }
            Builtin::BaseWorkgroupId => {
                let mut comps = Vec::new();
                for axis in 0..3 {
                    comps.push(self.system(SystemValue::BaseWorkgroup { axis })?);
                }
                comps
            }
            Builtin::DeviceIndex => vec![Comp::Const(0)],
            Builtin::WorkgroupSize => size.map(|n| Comp::Const(n.into())).to_vec(),
            Builtin::SubgroupSize => vec![Comp::Const(LANES.into())],
            Builtin::NumSubgroups => {
                let threads: u32 = size.iter().product();
                vec![Comp::Const(threads.div_ceil(LANES).into())]
            }
            Builtin::SubgroupId => {
                let index = self.local_index(i)?;
                let o = self.opnd(index);
                let ops = [o, Opnd::imm(LANES.trailing_zeros()), Opnd::imm(0)];
                vec![Comp::Val(self.word(IsaOp::RSHIFT_OR_I32, &ops))]
            }
            Builtin::SubgroupInvocationId => {
                vec![Comp::Uniform(Fixed::Special(Special::LaneId, 0))]
            }
            _ => match self.vertex_builtin(i, b)? {
                Some(c) => vec![c],
                None => {
                    return self.refuse(i, format!("{} is not compiled for Mali yet", b.name()));
                }
            },
        })
    }

    fn registers(&mut self, i: Inst, first: u8) -> Result<Vec<Comp>> {
        (0..3).map(|axis| self.preloaded(i, first + axis).map(Comp::Val)).collect()
    }

    /// The number of an invocation in a direction of the workgroup.
    fn local_id(&mut self, i: Inst, axis: u8) -> Result<Comp> {
        if self.s.info.workgroup_size[usize::from(axis)] == 1 {
            return Ok(Comp::Const(0));
        }
        let v = self.preloaded(i, preload::LOCAL_ID + axis / 2)?;
        let half = if axis == 1 { Swizzle::H11 } else { Swizzle::H00 };
        Ok(Comp::Val(self.word(IsaOp::U16_TO_U32, &[Opnd::val(v).part(half)])))
    }

    fn local_index(&mut self, i: Inst) -> Result<Comp> {
        let [x, y, _] = self.s.info.workgroup_size;
        let mut sum = self.local_id(i, 2)?;
        for (axis, size) in [(1, y), (0, x)] {
            let own = self.local_id(i, axis)?;
            sum = match sum {
                Comp::Const(0) => own,
                _ => {
                    let rows = self.opnd(sum);
                    let rows = match size.is_power_of_two() {
                        true => {
                            let ops = [rows, Opnd::imm(size.trailing_zeros()), Opnd::imm(0)];
                            self.word(IsaOp::LSHIFT_OR_I32, &ops)
                        }
                        false => self.word(IsaOp::IMUL_I32, &[rows, Opnd::imm(size)]),
                    };
                    let own = self.opnd(own);
                    Comp::Val(self.word(IsaOp::IADD_U32, &[Opnd::val(rows), own]))
                }
            };
        }
        Ok(sum)
    }
}
