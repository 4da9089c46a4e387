//! Lowers subgroup operations that a GPU lacks to `ballot`, `read_lane`, `read_first` and
//! `shuffle`.
//!
//! Subgroups have up to 32 lanes. Clustered reductions become reductions that the hardware has,
//! once for each cluster, in which lanes of other clusters contribute the operator's identity.
//! Reductions and scans that the hardware lacks altogether are done lane by lane: a loop takes the
//! lowest remaining lane and reads its value, and the lanes that need it combine it. This is
//! correct under any divergence and takes as many iterations as there are active lanes. Where all
//! lanes are active, targets can ask for a tree of shuffles instead, with a step for each power of
//! two ([`Options::tree`]).

use crate::rewrite::{self, Emit, Lowering, Step};
use bitflags::bitflags;
use tepui_ir::{Attrs, Builtin, Inst, Op, Props, QuadDir, Reduce, ReduceOp, Shader, Type, Value};

bitflags! {
    /// The operations to lower.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Subgroups: u16 {
        /// `shuffle_up`, `shuffle_down` to `shuffle`.
        const RELATIVE = 1 << 0;
        /// `quad_broadcast`, `quad_swap` to `shuffle`.
        const QUAD = 1 << 1;
        /// `vote_eq_bits`, `vote_eq_float` to `read_first` and `vote_all`.
        const VOTE_EQ = 1 << 2;
        /// `vote_any`, `vote_all` to `ballot`.
        const VOTE = 1 << 3;
        /// `elect` to `ballot`.
        const ELECT = 1 << 4;
        /// Reductions and scans of truth values to `ballot`.
        const BOOL_REDUCE = 1 << 5;
        /// Reductions of clusters of other sizes than 4.
        const CLUSTERED = 1 << 6;
        /// Reductions of clusters of 4.
        const CLUSTERED_4 = 1 << 7;
        /// Arithmetic reductions and scans of 64 bits.
        const REDUCE_64 = 1 << 8;
        /// All reductions of whole sub-groups.
        const REDUCE = 1 << 9;
        /// All scans.
        const SCAN = 1 << 10;
        /// Products of integers.
        const IMUL = 1 << 11;
        /// Products of floats.
        const FMUL = 1 << 12;
        /// `shuffle_xor` to `shuffle`.
        const XOR = 1 << 13;
    }
}

/// The operations to lower, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The operations.
    pub lower: Subgroups,
    /// Lanes of a subgroup in which reductions and scans take a tree of shuffles while all lanes are active.
    pub tree: Option<u32>,
}

/// Runs the pass.
pub fn run(s: &mut Shader, lower: Subgroups) -> bool {
    run_with(s, Options { lower, tree: None })
}

/// [`run`] with all options.
pub fn run_with(s: &mut Shader, options: Options) -> bool {
    rewrite::run(s, &mut Pass(options))
}

struct Pass(Options);

fn lane(e: &mut Emit) -> Value {
    e.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::SubgroupInvocationId), &[], Type::B32)
}

fn ballot(e: &mut Emit, c: Value) -> Value {
    let v = e.value(Op::Ballot, Attrs::None, &[c], Type::vec(32, 4));
    e.extract(v, 0)
}

fn active(e: &mut Emit) -> Value {
    let c = e.konst(Type::B1, 1);
    ballot(e, c)
}

fn is_zero(e: &mut Emit, v: Value) -> Value {
    let zero = e.u32(0);
    e.op(Op::IEq, &[v, zero])
}

impl Lowering for Pass {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        s.insts[i].op.props().contains(Props::CONVERGENT) && s.results(i).len() == 1
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let on = |f: Subgroups| self.0.lower.contains(f);
        let ty = e.ty(e.s.result(i));
        let args = e.s.args(i).to_vec();
        let shuffle = |e: &mut Emit, from: Value| e.op(Op::Shuffle, &[args[0], from]);
        let v = match (op, attrs) {
            (Op::ShuffleUp | Op::ShuffleDown, _) if on(Subgroups::RELATIVE) => {
                let own = lane(e);
                let how = if op == Op::ShuffleUp { Op::ISub } else { Op::IAdd };
                let from = e.op(how, &[own, args[1]]);
                shuffle(e, from)
            }
            (Op::ShuffleXor, _) if on(Subgroups::XOR) => {
                let own = lane(e);
                let from = e.op(Op::IXor, &[own, args[1]]);
                shuffle(e, from)
            }
            (Op::QuadBroadcast, _) if on(Subgroups::QUAD) => {
                let (own, quad, three) = (lane(e), e.u32(!3), e.u32(3));
                let base = e.op(Op::IAnd, &[own, quad]);
                let k = e.op(Op::IAnd, &[args[1], three]);
                let from = e.op(Op::IOr, &[base, k]);
                shuffle(e, from)
            }
            (Op::QuadSwap, Attrs::Quad(dir)) if on(Subgroups::QUAD) => {
                let x = match dir {
                    QuadDir::Horizontal => 1,
                    QuadDir::Vertical => 2,
                    QuadDir::Diagonal => 3,
                };
                let (own, x) = (lane(e), e.u32(x));
                let from = e.op(Op::IXor, &[own, x]);
                shuffle(e, from)
            }
            (Op::VoteEqBits | Op::VoteEqFloat, _) if on(Subgroups::VOTE_EQ) => {
                let first = e.op(Op::ReadFirst, &[args[0]]);
                let eq = if op == Op::VoteEqBits { Op::IEq } else { Op::FEq };
                let same = e.op(eq, &[args[0], first]);
                let same = if e.ty(same).is_scalar() {
                    same
                } else {
                    e.value(Op::BAll, Attrs::None, &[same], Type::B1)
                };
                self.vote(e, Op::VoteAll, same)
            }
            (Op::VoteAny | Op::VoteAll, _) if on(Subgroups::VOTE) => self.vote(e, op, args[0]),
            (Op::Elect, _) if on(Subgroups::ELECT) => {
                let m = active(e);
                let first = e.op(Op::FindLsb, &[m]);
                let own = lane(e);
                e.op(Op::IEq, &[own, first])
            }
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(reduce)) => {
                if !ty.is_scalar() {
                    return Step::Keep; // scalarise comes first
                }
                let cluster = match reduce.cluster {
                    c if op != Op::Reduce || c >= 32 => 0,
                    c => c,
                };
                let reduce = Reduce { cluster, ..reduce };
                let parts = on(Subgroups::CLUSTERED) && !matches!(cluster, 0 | 4);
                if cluster == 1 {
                    // Its own value, but for NaNs and signs of zeros in front of the identity.
                    let (combine, identity) = tepui_ir::interp::operator(reduce.op, ty);
                    if ty.bits() == 1 {
                        args[0]
                    } else {
                        let identity = e.konst(ty, identity);
                        e.op(combine, &[identity, args[0]])
                    }
                } else if ty.bits() == 1 && on(Subgroups::BOOL_REDUCE) {
                    truth(e, op, reduce, args[0])
                } else if ty.bits() == 1 {
                    match (op, reduce.op) {
                        (Op::Reduce, ReduceOp::And | ReduceOp::UMin) if cluster == 0 => {
                            self.vote(e, Op::VoteAll, args[0])
                        }
                        (Op::Reduce, ReduceOp::Or | ReduceOp::UMax) if cluster == 0 => {
                            self.vote(e, Op::VoteAny, args[0])
                        }
                        _ if parts => truth(e, op, reduce, args[0]),
                        _ => return Step::Keep,
                    }
                } else if self.by_lane(op, Reduce { cluster: 0, ..reduce }, ty) {
                    self.combine(e, op, reduce, args[0])
                } else if parts {
                    masked(e, reduce, args[0], !on(Subgroups::CLUSTERED_4))
                } else if self.by_lane(op, reduce, ty) {
                    self.combine(e, op, reduce, args[0])
                } else {
                    return Step::Keep;
                }
            }
            _ => return Step::Keep,
        };
        Step::Replace(vec![v])
    }
}

impl Pass {
    /// A reduction or scan without the operation of the hardware.
    fn combine(&self, e: &mut Emit, op: Op, r: Reduce, v: Value) -> Value {
        let Some(lanes) = self.0.tree else { return serial(e, op, r, v) };
        let now = active(e);
        let all = e.u32(((1u64 << lanes) - 1) as u32);
        let full = e.op(Op::IEq, &[now, all]);
        let ty = e.ty(v);
        e.if_else(full, ty, |e| self.tree(e, (op, lanes), r, v), |e| serial(e, op, r, v))
    }

    /// A reduction or scan of lanes that are all active: in each step lanes combine what twice as many have given.
    fn tree(&self, e: &mut Emit, (op, lanes): (Op, u32), r: Reduce, v: Value) -> Value {
        let ty = e.ty(v);
        let (alu, identity) = tepui_ir::interp::operator(r.op, ty);
        let steps = |end: u32| (0..end.trailing_zeros()).map(|n| 1u32 << n);
        if op == Op::Reduce {
            let end = if r.cluster == 0 { lanes } else { u32::from(r.cluster).min(lanes) };
            return steps(end).fold(v, |sum, distance| {
                let distance = e.u32(distance);
                let other = if self.0.lower.contains(Subgroups::XOR) {
                    let own = lane(e);
                    let from = e.op(Op::IXor, &[own, distance]);
                    e.op(Op::Shuffle, &[sum, from])
                } else {
                    e.op(Op::ShuffleXor, &[sum, distance])
                };
                e.op(alu, &[sum, other])
            });
        }
        let own = lane(e);
        let mut sum = v;
        for distance in steps(lanes) {
            let distance = e.u32(distance);
            let from = e.op(Op::ISub, &[own, distance]);
            let other = e.op(Op::Shuffle, &[sum, from]);
            let more = e.op(alu, &[other, sum]);
            let has_other = e.op(Op::UGe, &[own, distance]);
            sum = e.select(has_other, more, sum);
        }
        if op == Op::InclusiveScan {
            return sum;
        }
        let (one, zero) = (e.u32(1), e.u32(0));
        let from = e.op(Op::ISub, &[own, one]);
        let before = e.op(Op::Shuffle, &[sum, from]);
        let is_first = e.op(Op::IEq, &[own, zero]);
        let identity = e.konst(ty, identity);
        e.select(is_first, identity, before)
    }

    fn vote(&self, e: &mut Emit, op: Op, c: Value) -> Value {
        if !self.0.lower.contains(Subgroups::VOTE) {
            return e.op(op, &[c]);
        }
        if op == Op::VoteAny {
            let m = ballot(e, c);
            let none = is_zero(e, m);
            return e.op(Op::INot, &[none]);
        }
        let n = e.op(Op::INot, &[c]);
        let m = ballot(e, n);
        is_zero(e, m)
    }

    fn by_lane(&self, op: Op, r: Reduce, ty: Type) -> bool {
        let on = |f: Subgroups| self.0.lower.contains(f);
        let bitwise = matches!(r.op, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor);
        (ty.bits() == 64 && !bitwise && on(Subgroups::REDUCE_64))
            || (r.op == ReduceOp::IMul && on(Subgroups::IMUL))
            || (r.op == ReduceOp::FMul && on(Subgroups::FMUL))
            || match (op, r.cluster) {
                (Op::Reduce, 0) => on(Subgroups::REDUCE),
                (Op::Reduce, 4) => on(Subgroups::CLUSTERED_4),
                (Op::Reduce, _) => on(Subgroups::CLUSTERED),
                _ => on(Subgroups::SCAN),
            }
    }
}

/// The lanes whose values a lane combines, as a mask: all, those of its cluster, or those before
/// it.
fn peers(e: &mut Emit, op: Op, r: Reduce, own: Value) -> Option<Value> {
    let (one, ones) = (e.u32(1), e.u32(u32::MAX));
    match op {
        Op::Reduce if r.cluster == 0 || r.cluster >= 32 => None,
        Op::Reduce => {
            let size = u32::from(r.cluster);
            let (start, cluster) = (e.u32(!(size - 1)), e.u32(((1u64 << size) - 1) as u32));
            let base = e.op(Op::IAnd, &[own, start]);
            Some(e.op(Op::IShl, &[cluster, base]))
        }
        Op::InclusiveScan => {
            // Shifted twice, as 32 is no count.
            let x = e.op(Op::IShl, &[ones, own]);
            let x = e.op(Op::IShl, &[x, one]);
            Some(e.op(Op::INot, &[x]))
        }
        _ => {
            let x = e.op(Op::IShl, &[ones, own]);
            Some(e.op(Op::INot, &[x]))
        }
    }
}

/// Truth values: a mask says it all.
fn truth(e: &mut Emit, op: Op, r: Reduce, c: Value) -> Value {
    // Signed and unsigned extremes of one bit, sums and products are logic as well.
    let all = matches!(r.op, ReduceOp::And | ReduceOp::UMin | ReduceOp::SMax | ReduceOp::IMul);
    let odd = matches!(r.op, ReduceOp::Xor | ReduceOp::IAdd);
    let x = if all { e.op(Op::INot, &[c]) } else { c };
    let mut m = ballot(e, x);
    let own = lane(e);
    if let Some(p) = peers(e, op, r, own) {
        m = e.op(Op::IAnd, &[m, p]);
    }
    if odd {
        let n = e.op(Op::BitCount, &[m]);
        let one = e.u32(1);
        let n = e.op(Op::IAnd, &[n, one]);
        let even = is_zero(e, n);
        return e.op(Op::INot, &[even]);
    }
    let none = is_zero(e, m);
    if all { none } else { e.op(Op::INot, &[none]) }
}

/// Reductions of a cluster from reductions of more lanes, one for each cluster in them: those
/// outside bring the identity.
fn masked(e: &mut Emit, r: Reduce, v: Value, quads: bool) -> Value {
    let ty = e.ty(v);
    let (_, identity) = tepui_ir::interp::operator(r.op, ty);
    let identity = e.konst(ty, identity);
    let size = u32::from(r.cluster);
    let around = if size == 2 && quads { 4 } else { 32 };
    let reduce = Reduce { cluster: if around == 4 { 4 } else { 0 }, ..r };
    let own = lane(e);
    let by = e.u32(size.trailing_zeros());
    let mut at = e.op(Op::UShr, &[own, by]);
    if around == 4 {
        let one = e.u32(1);
        at = e.op(Op::IAnd, &[at, one]);
    }
    let mut result = None;
    for k in 0..around / size {
        let k = e.u32(k);
        let mine = e.op(Op::IEq, &[at, k]);
        let part = e.select(mine, v, identity);
        let part = e.value(Op::Reduce, Attrs::Reduce(reduce), &[part], ty);
        result = Some(match result {
            None => part,
            Some(before) => e.select(mine, part, before),
        });
    }
    result.unwrap_or(v)
}

/// Lane by lane, in order.
fn serial(e: &mut Emit, op: Op, r: Reduce, v: Value) -> Value {
    let ty = e.ty(v);
    let (alu, identity) = tepui_ir::interp::operator(r.op, ty);
    let start = e.konst(ty, identity);
    let own = lane(e);
    let wanted = peers(e, op, r, own);
    let left = active(e);
    let zero = e.u32(0);
    let out = e.while_(
        &[left, start],
        |e, p| e.op(Op::INe, &[p[0], zero]),
        |e, p| {
            let one = e.u32(1);
            let next = e.op(Op::FindLsb, &[p[0]]);
            // One lane after the other: all lanes agree on which.
            let x = e.op(Op::ReadLane, &[v, next]);
            let sum = e.op(alu, &[p[1], x]);
            let sum = match wanted {
                None => sum,
                Some(w) => {
                    let bit = e.op(Op::UShr, &[w, next]);
                    let bit = e.op(Op::IAnd, &[bit, one]);
                    let mine = e.op(Op::INe, &[bit, zero]);
                    e.select(mine, sum, p[1])
                }
            };
            let less = e.op(Op::ISub, &[p[0], one]);
            vec![e.op(Op::IAnd, &[p[0], less]), sum]
        },
    );
    out[1]
}
