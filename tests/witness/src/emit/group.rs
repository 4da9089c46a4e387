//! Sub-groups.

use rspirv::spirv::{GroupOperation, Word};
use tepui_ir::{Attrs, Inst, Op, ReduceOp};

use super::{Emit, EmitResult, Unknown};

impl Emit<'_> {
    pub(super) fn group(&mut self, i: Inst) -> Result<EmitResult, Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        let args = s.args(i);
        let Some(&r) = s.results(i).first() else { return Ok(EmitResult::Other) };
        let ty = self.ty(s.ty(r));
        let v = |e: &Self, n: usize| e.value(args[n]);
        // The sub-group.
        let scope = self.word(3);
        Ok(EmitResult::Value(match (d.op, d.attrs) {
            (Op::Ballot, _) => {
                let x = v(self, 0)?;
                self.did(|b| b.group_non_uniform_ballot(ty, None, scope, x))?
            }
            (Op::VoteAny, _) => {
                let x = v(self, 0)?;
                self.did(|b| b.group_non_uniform_any(ty, None, scope, x))?
            }
            (Op::VoteAll, _) => {
                let x = v(self, 0)?;
                self.did(|b| b.group_non_uniform_all(ty, None, scope, x))?
            }
            (Op::VoteEqBits, _) => {
                let x = v(self, 0)?;
                self.did(|b| b.group_non_uniform_all_equal(ty, None, scope, x))?
            }
            (Op::Elect, _) => self.did(|b| b.group_non_uniform_elect(ty, None, scope))?,
            (Op::ReadFirst, _) => {
                let x = v(self, 0)?;
                self.did(|b| b.group_non_uniform_broadcast_first(ty, None, scope, x))?
            }
            (Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown, _) => {
                let (x, n) = (v(self, 0)?, v(self, 1)?);
                self.did(|b| match d.op {
                    Op::Shuffle => b.group_non_uniform_shuffle(ty, None, scope, x, n),
                    Op::ShuffleXor => b.group_non_uniform_shuffle_xor(ty, None, scope, x, n),
                    Op::ShuffleUp => b.group_non_uniform_shuffle_up(ty, None, scope, x, n),
                    _ => b.group_non_uniform_shuffle_down(ty, None, scope, x, n),
                })?
            }
            (Op::QuadBroadcast, _) => {
                let (x, n) = (v(self, 0)?, v(self, 1)?);
                self.did(|b| b.group_non_uniform_quad_broadcast(ty, None, scope, x, n))?
            }
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(red)) => {
                let kind = match (d.op, red.cluster) {
                    (Op::InclusiveScan, _) => GroupOperation::InclusiveScan,
                    (Op::ExclusiveScan, _) => GroupOperation::ExclusiveScan,
                    (_, 0) => GroupOperation::Reduce,
                    _ => GroupOperation::ClusteredReduce,
                };
                let cluster = (red.cluster > 0).then(|| self.word(u32::from(red.cluster)));
                let x = v(self, 0)?;
                self.reduce(ty, red.op, s.ty(r).bits() == 1, kind, x, cluster)?
            }
            _ => return Ok(EmitResult::Other),
        }))
    }

    fn reduce(
        &mut self,
        ty: Word,
        op: ReduceOp,
        truth: bool,
        kind: GroupOperation,
        x: Word,
        cluster: Option<Word>,
    ) -> Result<Word, Unknown> {
        let scope = self.word(3);
        macro_rules! op {
            ($name:ident) => {
                self.did(|b| b.$name(ty, None, scope, kind, x, cluster))
            };
        }
        match op {
            ReduceOp::And if truth => op!(group_non_uniform_logical_and),
            ReduceOp::Or if truth => op!(group_non_uniform_logical_or),
            ReduceOp::Xor if truth => op!(group_non_uniform_logical_xor),
            ReduceOp::IAdd => op!(group_non_uniform_i_add),
            ReduceOp::IMul => op!(group_non_uniform_i_mul),
            ReduceOp::SMin => op!(group_non_uniform_s_min),
            ReduceOp::SMax => op!(group_non_uniform_s_max),
            ReduceOp::UMin => op!(group_non_uniform_u_min),
            ReduceOp::UMax => op!(group_non_uniform_u_max),
            ReduceOp::And => op!(group_non_uniform_bitwise_and),
            ReduceOp::Or => op!(group_non_uniform_bitwise_or),
            ReduceOp::Xor => op!(group_non_uniform_bitwise_xor),
            _ => Err(format!("reduction {op}")),
        }
    }
}
