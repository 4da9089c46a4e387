//! Translates subgroup operations, demotion, clocks and interlocks.

use crate::error::Result;
use crate::module::Inst;
use crate::translate::Cx;
use crate::value::Val;
use rspirv::spirv::{GroupOperation, Op as S};
use tepui_ir::{Attrs, Builtin, InstFlags, Op, QuadDir, Reduce, ReduceOp, Type, Value};

fn reduce_op(op: S) -> Option<ReduceOp> {
    use ReduceOp as R;
    Some(match op {
        S::GroupNonUniformIAdd => R::IAdd,
        S::GroupNonUniformFAdd => R::FAdd,
        S::GroupNonUniformIMul => R::IMul,
        S::GroupNonUniformFMul => R::FMul,
        S::GroupNonUniformSMin => R::SMin,
        S::GroupNonUniformUMin => R::UMin,
        S::GroupNonUniformFMin => R::FMin,
        S::GroupNonUniformSMax => R::SMax,
        S::GroupNonUniformUMax => R::UMax,
        S::GroupNonUniformFMax => R::FMax,
        S::GroupNonUniformBitwiseAnd | S::GroupNonUniformLogicalAnd => R::And,
        S::GroupNonUniformBitwiseOr | S::GroupNonUniformLogicalOr => R::Or,
        S::GroupNonUniformBitwiseXor | S::GroupNonUniformLogicalXor => R::Xor,
        _ => return None,
    })
}

impl Cx<'_> {
    /// Translates an instruction of this family; false when it is of another.
    pub fn subgroup_inst(&mut self, i: Inst) -> Result<bool> {
        if let Some(r) = reduce_op(i.op) {
            let v = self.reduction(r)?;
            self.bind(Val::Ssa(v))?;
            return Ok(true);
        }
        let v = match i.op {
            S::GroupNonUniformElect => self.emit1(Op::Elect, Attrs::None, &[], Type::B1),
            S::GroupNonUniformAll => self.vote(Op::VoteAll, 1)?,
            S::GroupNonUniformAny => self.vote(Op::VoteAny, 1)?,
            S::SubgroupAllKHR => self.vote(Op::VoteAll, 0)?,
            S::SubgroupAnyKHR => self.vote(Op::VoteAny, 0)?,
            S::SubgroupAllEqualKHR => self.all_equal(0)?,
            S::GroupNonUniformAllEqual => self.all_equal(1)?,
            S::GroupNonUniformBroadcast => self.lane_op(Op::ReadLane, 1)?,
            S::SubgroupReadInvocationKHR => self.lane_op(Op::ReadLane, 0)?,
            S::GroupNonUniformBroadcastFirst => {
                let a = self.arg_ssa(1)?;
                self.checked(Op::ReadFirst, &[a])?
            }
            S::SubgroupFirstInvocationKHR => {
                let a = self.arg_ssa(0)?;
                self.checked(Op::ReadFirst, &[a])?
            }
            S::GroupNonUniformBallot => self.vote(Op::Ballot, 1)?,
            S::SubgroupBallotKHR => self.vote(Op::Ballot, 0)?,
            S::GroupNonUniformInverseBallot => {
                let b = self.ballot_word(1)?;
                let lane = self.builtin(Builtin::SubgroupInvocationId, Type::B32);
                self.bit_of(b, lane)?
            }
            S::GroupNonUniformBallotBitExtract => {
                let b = self.ballot_word(1)?;
                let n = self.arg_u32(2)?;
                self.bit_of(b, n)?
            }
            S::GroupNonUniformBallotBitCount => {
                let op = GroupOperation::from_u32(self.m.op(&i, 1)?);
                let b = self.ballot_word(2)?;
                let lane = self.builtin(Builtin::SubgroupInvocationId, Type::B32);
                let one = self.u32(1);
                let bit = self.alu(Op::IShl, &[one, lane])?;
                let below = self.alu(Op::ISub, &[bit, one])?;
                let m = match op {
                    Some(GroupOperation::Reduce) => self.lanes()?,
                    Some(GroupOperation::InclusiveScan) => self.alu(Op::IOr, &[below, bit])?,
                    Some(GroupOperation::ExclusiveScan) => below,
                    op => return self.unsupported(format!("group operation {op:?}")),
                };
                let b = self.alu(Op::IAnd, &[b, m])?;
                self.alu(Op::BitCount, &[b])?
            }
            S::GroupNonUniformBallotFindLSB => {
                let b = self.ballot_word(1)?;
                self.alu(Op::FindLsb, &[b])?
            }
            S::GroupNonUniformBallotFindMSB => self.last_of_ballot()?,
            S::GroupNonUniformShuffle => self.lane_op(Op::Shuffle, 1)?,
            S::GroupNonUniformShuffleXor => self.lane_op(Op::ShuffleXor, 1)?,
            S::GroupNonUniformShuffleUp => self.lane_op(Op::ShuffleUp, 1)?,
            S::GroupNonUniformShuffleDown => self.lane_op(Op::ShuffleDown, 1)?,
            S::GroupNonUniformRotateKHR => self.rotate()?,
            S::GroupNonUniformQuadBroadcast => self.lane_op(Op::QuadBroadcast, 1)?,
            S::GroupNonUniformQuadSwap => {
                let a = self.arg_ssa(1)?;
                let dir = match self.arg_const(2)? {
                    0 => QuadDir::Horizontal,
                    1 => QuadDir::Vertical,
                    2 => QuadDir::Diagonal,
                    n => return self.invalid(format!("quad direction {n}")),
                };
                let ty = self.s.ty(a);
                self.emit1(Op::QuadSwap, Attrs::Quad(dir), &[a], ty)
            }
            S::GroupNonUniformQuadAllKHR | S::GroupNonUniformQuadAnyKHR => {
                let mut v = self.arg_ssa(0)?;
                if self.s.ty(v) != Type::B1 {
                    return self.invalid("a quad votes on a truth value");
                }
                // Lanes of the quad that are not active have no vote: a swap would give what they last held.
                let all = i.op == S::GroupNonUniformQuadAllKHR;
                if all {
                    v = self.alu(Op::INot, &[v])?;
                }
                let ballot = self.checked(Op::Ballot, &[v])?;
                let word = self.extract(ballot, 0);
                let lane = self.builtin(Builtin::SubgroupInvocationId, Type::B32);
                let (others, quad, zero) = (self.u32(!3), self.u32(0xf), self.u32(0));
                let first = self.alu(Op::IAnd, &[lane, others])?;
                let votes = self.alu(Op::UShr, &[word, first])?;
                let votes = self.alu(Op::IAnd, &[votes, quad])?;
                let any = self.alu(Op::INe, &[votes, zero])?;
                if all { self.alu(Op::INot, &[any])? } else { any }
            }
            S::DemoteToHelperInvocation => {
                self.emit(Op::Demote, Attrs::None, &[], &[]);
                return Ok(true);
            }
            S::IsHelperInvocationEXT => self.emit1(Op::IsHelper, Attrs::None, &[], Type::B1),
            S::ReadClockKHR => {
                let c = self.emit1(Op::Clock, Attrs::None, &[], Type::vec(32, 2));
                let ty = self.ir_ty(i.ty)?;
                if ty == Type::B64 { self.op1(Op::Bitcast, c, ty) } else { c }
            }
            S::BeginInvocationInterlockEXT => {
                self.emit(Op::InterlockBegin, Attrs::None, &[], &[]);
                return Ok(true);
            }
            S::EndInvocationInterlockEXT => {
                self.emit(Op::InterlockEnd, Attrs::None, &[], &[]);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.bind(Val::Ssa(v))?;
        Ok(true)
    }

    fn vote(&mut self, op: Op, n: usize) -> Result<Value> {
        let a = self.arg_ssa(n)?;
        self.checked(op, &[a])
    }

    fn all_equal(&mut self, n: usize) -> Result<Value> {
        let a = self.arg_ssa(n)?;
        let ty = self.arg_ty(n)?;
        let float = self.types.num_kind(ty) == tepui_ir::NumKind::Float;
        Ok(self.op1(if float { Op::VoteEqFloat } else { Op::VoteEqBits }, a, Type::B1))
    }

    fn lane_op(&mut self, op: Op, n: usize) -> Result<Value> {
        let (a, l) = (self.arg_ssa(n)?, self.arg_u32(n + 1)?);
        self.checked(op, &[a, l])
    }

    /// The word of a ballot that holds the lanes: sub-groups have at most 32.
    fn ballot_word(&mut self, n: usize) -> Result<Value> {
        let b = self.arg_ssa(n)?;
        if self.s.ty(b) != Type::vec(32, 4) {
            return self.invalid("a ballot has four 32-bit components");
        }
        Ok(self.extract(b, 0))
    }

    /// The last lane of a ballot.
    fn last_of_ballot(&mut self) -> Result<Value> {
        let (b, lanes) = (self.ballot_word(1)?, self.lanes()?);
        let b = self.alu(Op::IAnd, &[b, lanes])?;
        self.alu(Op::UFindMsb, &[b])
    }

    /// The bits of a ballot that stand for lanes: those above the size of the sub-group do not count.
    fn lanes(&mut self) -> Result<Value> {
        let size = self.builtin(Builtin::SubgroupSize, Type::B32);
        let (one, two) = (self.u32(1), self.u32(2));
        let last = self.alu(Op::ISub, &[size, one])?;
        // Of 32 lanes nothing is left of the bit above the last one.
        let above = self.alu(Op::IShl, &[two, last])?;
        self.alu(Op::ISub, &[above, one])
    }

    fn bit_of(&mut self, word: Value, n: Value) -> Result<Value> {
        let (one, zero) = (self.u32(1), self.u32(0));
        let s = self.alu(Op::UShr, &[word, n])?;
        let b = self.alu(Op::IAnd, &[s, one])?;
        self.alu(Op::INe, &[b, zero])
    }

    fn rotate(&mut self) -> Result<Value> {
        let (a, d) = (self.arg_ssa(1)?, self.arg_u32(2)?);
        let lane = self.builtin(Builtin::SubgroupInvocationId, Type::B32);
        let one = self.u32(1);
        let size = if self.m.ops(&self.at).len() > 3 {
            self.arg_u32(3)?
        } else {
            self.builtin(Builtin::SubgroupSize, Type::B32)
        };
        let mask = self.alu(Op::ISub, &[size, one])?;
        let sum = self.alu(Op::IAdd, &[lane, d])?;
        let low = self.alu(Op::IAnd, &[sum, mask])?;
        let keep = self.alu(Op::INot, &[mask])?;
        let high = self.alu(Op::IAnd, &[lane, keep])?;
        let from = self.alu(Op::IOr, &[high, low])?;
        self.checked(Op::Shuffle, &[a, from])
    }

    fn reduction(&mut self, op: ReduceOp) -> Result<Value> {
        let i = self.at;
        let a = self.arg_ssa(2)?;
        let ty = self.s.ty(a);
        let (iop, cluster) = match GroupOperation::from_u32(self.m.op(&i, 1)?) {
            Some(GroupOperation::Reduce) => (Op::Reduce, 0),
            Some(GroupOperation::InclusiveScan) => (Op::InclusiveScan, 0),
            Some(GroupOperation::ExclusiveScan) => (Op::ExclusiveScan, 0),
            Some(GroupOperation::ClusteredReduce) => match self.arg_const(3)? {
                n if n.is_power_of_two() && n <= 128 => (Op::Reduce, n as u8),
                n => return self.invalid(format!("a cluster of {n} lanes")),
            },
            g => return self.unsupported(format!("group operation {g:?}")),
        };
        let v = self.emit1(iop, Attrs::Reduce(Reduce { op, cluster }), &[a], ty);
        if (iop, op) != (Op::ExclusiveScan, ReduceOp::FAdd) {
            return Ok(v);
        }
        // SPIR-V's identity is +0.0, with which the scan begins. The op's is -0.0, which keeps the sign of every zero.
        let zero = self.konst(ty.elem(), 0);
        let zero = self.splat(zero, ty.comps())?;
        if ty.bits() == 64 {
            // An addition of 64 bits is a long program on most GPUs.
            let negative = self.konst(ty.elem(), 1 << 63);
            let negative = self.splat(negative, ty.comps())?;
            let is_negative = self.checked(Op::IEq, &[v, negative])?;
            return self.checked(Op::Select, &[is_negative, zero, v]);
        }
        self.flags.insert(InstFlags::EXACT);
        let sum = self.alu(Op::FAdd, &[v, zero]);
        self.flags.remove(InstFlags::EXACT);
        sum
    }
}
