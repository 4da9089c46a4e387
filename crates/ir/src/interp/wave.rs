//! Executes ops across lanes: subgroup operations, quads, derivatives.

use super::{Fault, Machine, Mask};
use crate::attrs::{Attrs, QuadDir, ReduceOp};
use crate::entity::{Inst, Value};
use crate::op::{Op, fold};
use crate::types::Type;

/// The op that combines two values, and the identity's bits for a type.
#[must_use]
pub fn operator(r: ReduceOp, ty: Type) -> (Op, u64) {
    let bits = u32::from(ty.bits());
    let (ones, sign) = (ty.mask(), 1u64 << (bits - 1));
    let float = |h: u64, s: u64, d: u64| match bits {
        16 => h,
        32 => s,
        _ => d,
    };
    let inf = float(0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000);
    match r {
        ReduceOp::IAdd => (Op::IAdd, 0),
        // -0.0 is the identity of float addition.
        ReduceOp::FAdd => (Op::FAdd, sign),
        ReduceOp::IMul => (Op::IMul, 1),
        ReduceOp::FMul => (Op::FMul, float(0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000)),
        ReduceOp::SMin => (Op::SMin, ones ^ sign),
        ReduceOp::UMin => (Op::UMin, ones),
        ReduceOp::FMin => (Op::FMin, inf),
        ReduceOp::SMax => (Op::SMax, sign),
        ReduceOp::UMax => (Op::UMax, 0),
        ReduceOp::FMax => (Op::FMax, inf | sign),
        ReduceOp::And => (Op::IAnd, ones),
        ReduceOp::Or => (Op::IOr, 0),
        ReduceOp::Xor => (Op::IXor, 0),
    }
}

fn binary(op: Op, ty: Type, a: u64, b: u64) -> u64 {
    let mut out = Vec::with_capacity(1);
    fold(op, &[(ty, &[a]), (ty, &[b])], &Attrs::None, &[ty], &mut out);
    out.first().copied().unwrap_or(0)
}

impl Machine<'_> {
    /// The live lanes of `lane`'s sub-group, in order.
    fn peers<'m>(
        &self,
        lane: usize,
        live: &'m Mask,
    ) -> impl Iterator<Item = usize> + Clone + use<'m> {
        let size = self.group.subgroup;
        let start = lane / size * size;
        (start..(start + size).min(self.n)).filter(move |&l| live[l])
    }

    pub(super) fn cross_lane(&mut self, inst: Inst, live: &Mask) -> Result<(), Fault> {
        let s = self.s;
        let d = &s.insts[inst];
        let (args, Some(&r)) = (s.args(inst), s.results(inst).first()) else {
            return self.unsupported(inst, d.op.name());
        };
        let comps = self.ty(r).comps() as usize;
        let lanes: Vec<usize> = (0..self.n).filter(|&l| live[l]).collect();
        let size = self.group.subgroup;
        let mut out: Vec<(usize, usize, u64)> = Vec::with_capacity(lanes.len() * comps);
        let mut absent = 0;
        for &lane in &lanes {
            let mut put = |c: usize, x: u64| out.push((lane, c, x));
            let start = lane / size * size;
            let in_group = |l: u64| {
                let at = start + (l as usize).min(size);
                if at < (start + size).min(self.n) { Some(at) } else { None }
            };
            let own = (lane % size) as u64;
            let quad = lane & !3;
            match (d.op, d.attrs) {
                (Op::Ballot, _) => {
                    let m = self
                        .peers(lane, live)
                        .filter(|&l| self.get(args[0], 0, l) != 0)
                        .fold(0, |m, l| m | 1u64 << (l - start));
                    (0..4).for_each(|c| put(c, if c == 0 { m } else { 0 }));
                }
                (Op::Elect, _) => put(0, u64::from(self.peers(lane, live).next() == Some(lane))),
                (Op::VoteAny, _) => {
                    put(0, u64::from(self.peers(lane, live).any(|l| self.get(args[0], 0, l) != 0)))
                }
                (Op::VoteAll, _) => {
                    put(0, u64::from(self.peers(lane, live).all(|l| self.get(args[0], 0, l) != 0)))
                }
                (Op::VoteEqBits | Op::VoteEqFloat, _) => {
                    let ty = self.ty(args[0]);
                    let eq = self.peers(lane, live).all(|l| {
                        (0..ty.comps() as usize).all(|c| {
                            let (a, b) = (self.get(args[0], c, lane), self.get(args[0], c, l));
                            if d.op == Op::VoteEqBits {
                                a == b
                            } else {
                                binary_b(Op::FEq, ty.elem(), a, b)
                            }
                        })
                    });
                    put(0, u64::from(eq));
                }
                (Op::ReadFirst, _) => {
                    let from = self.peers(lane, live).next().unwrap_or(lane);
                    (0..comps).for_each(|c| put(c, self.get(args[0], c, from)));
                }
                (
                    Op::ReadLane | Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown,
                    _,
                ) => {
                    let k = self.get(args[1], 0, lane);
                    let from = match d.op {
                        Op::ShuffleXor => Some(own ^ k),
                        Op::ShuffleUp => own.checked_sub(k),
                        Op::ShuffleDown => Some(own + k),
                        _ => Some(k),
                    };
                    // A lane that is not there, or not active, gives zero.
                    let from = from.and_then(in_group).filter(|&l| live[l]);
                    absent += u64::from(from.is_none());
                    (0..comps).for_each(|c| put(c, from.map_or(0, |l| self.get(args[0], c, l))));
                }
                (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(red)) => {
                    let ty = self.ty(r).elem();
                    let (op, identity) = operator(red.op, ty);
                    for c in 0..comps {
                        let take = |l: usize| match d.op {
                            Op::InclusiveScan => l <= lane,
                            Op::ExclusiveScan => l < lane,
                            _ => {
                                red.cluster == 0
                                    || l / red.cluster as usize == lane / red.cluster as usize
                            }
                        };
                        let values = self.peers(lane, live).filter(|&l| take(l));
                        put(
                            c,
                            values
                                .fold(identity, |a, l| binary(op, ty, a, self.get(args[0], c, l))),
                        );
                    }
                }
                (Op::QuadBroadcast, _) => {
                    let k = self.get(args[1], 0, lane) as usize & 3;
                    absent += u64::from(!self.there(quad + k, live));
                    (0..comps).for_each(|c| put(c, self.lane_or_zero(args[0], c, quad + k, live)));
                }
                (Op::QuadSwap, Attrs::Quad(dir)) => {
                    let x = match dir {
                        QuadDir::Horizontal => 1,
                        QuadDir::Vertical => 2,
                        QuadDir::Diagonal => 3,
                    };
                    absent += u64::from(!self.there(lane ^ x, live));
                    (0..comps).for_each(|c| put(c, self.lane_or_zero(args[0], c, lane ^ x, live)));
                }
                (Op::DdxFine | Op::DdyFine | Op::DdxCoarse | Op::DdyCoarse, _) => {
                    let ty = self.ty(r).elem();
                    let (a, b) = match d.op {
                        Op::DdxFine => (lane & !1, lane | 1),
                        Op::DdyFine => (lane & !2, lane | 2),
                        Op::DdxCoarse => (quad, quad + 1),
                        _ => (quad, quad + 2),
                    };
                    for c in 0..comps {
                        let (x, y) = (
                            self.lane_or_zero(args[0], c, a, live),
                            self.lane_or_zero(args[0], c, b, live),
                        );
                        put(c, binary(Op::FSub, ty, y, x));
                    }
                }
                _ => return self.unsupported(inst, d.op.name()),
            }
        }
        for (lane, c, x) in out {
            self.set(r, c, lane, x);
        }
        self.memory.absent_lanes += absent;
        Ok(())
    }

    /// Whether a lane exists and is active.
    pub(super) fn there(&self, lane: usize, live: &Mask) -> bool {
        lane < self.n && live[lane]
    }

    /// A lane that does not exist or is not active gives zero: undefined results must not depend on
    /// earlier register contents.
    fn lane_or_zero(&self, v: Value, c: usize, lane: usize, live: &Mask) -> u64 {
        if self.there(lane, live) { self.get(v, c, lane) } else { 0 }
    }
}

fn binary_b(op: Op, ty: Type, a: u64, b: u64) -> bool {
    let mut out = Vec::with_capacity(1);
    fold(op, &[(ty, &[a]), (ty, &[b])], &Attrs::None, &[Type::B1], &mut out);
    out.first() == Some(&1)
}
