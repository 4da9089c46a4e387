//! Simplifies subgroup operations.
//!
//! On a subgroup-uniform operand, the result of shuffles, votes and most reductions is known. In
//! uniform control flow all lanes are active: a ballot of true is a constant, a reduction of a
//! whole cluster need not test which lanes take part, and the first active lane is lane 0. A
//! shuffle whose lane is uniform becomes `read_lane`.

use crate::divergence::Divergence;
use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::interp::operator;
use tepui_ir::{
    Attrs, Builtin, Inst, InstFlags, Op, Props, Reduce, ReduceOp, Region, Shader, Stage, Type,
    Value,
};

/// Runs the pass for a target with sub-groups of `lanes` lanes; `None` when they differ in size.
pub fn run(s: &mut Shader, lanes: Option<u32>) -> bool {
    if !s.any(|s, _, i| wanted(s, i)) {
        return false;
    }
    let divergence = Divergence::new(s);
    let mut active = Active { divergence: &divergence, known: SecondaryMap::new() };
    let all = match (s.info.stage, lanes) {
        (Stage::Compute, Some(size)) => first_lanes(s.info.workgroup_size.iter().product(), size),
        // A fragment shader's helpers come and go, and vertices need not fill a sub-group.
        _ => 0,
    };
    active.region(s, s.root, all);
    let known = active.known;
    let analysed = s.values.len();
    rewrite::run(s, &mut Pass { divergence, analysed, known, size: lanes })
}

const SIZE: Attrs = Attrs::Builtin(Builtin::SubgroupSize);

/// Whether the pass may do something with an instruction.
fn wanted(s: &Shader, i: Inst) -> bool {
    asks(s.insts[i].op) || s.insts[i].attrs == SIZE
}

/// Whether the op reads other lanes.
fn asks(op: Op) -> bool {
    op.is_pure() && op.props().contains(Props::CONVERGENT)
}

/// Number of active lanes of each subgroup, from the first on; 0 if subgroups differ.
fn first_lanes(threads: u32, size: u32) -> u32 {
    match threads {
        0 => 0,
        n if n.is_multiple_of(size) => size,
        n if n < size => n,
        _ => 0,
    }
}

/// Finds where the active lanes are known: the number of leading lanes, or 0.
struct Active<'a> {
    divergence: &'a Divergence,
    known: SecondaryMap<Inst, u32>,
}

impl Active<'_> {
    fn region(&mut self, s: &Shader, r: Region, lanes: u32) {
        for &i in &s.regions[r].insts {
            self.known[i] = lanes;
            let inner = if self.divergence.is_divergent_control(i) { 0 } else { lanes };
            for q in s.inst_regions(i) {
                self.region(s, q, inner);
            }
        }
    }
}

struct Pass {
    divergence: Divergence,
    /// Number of values that the analysis has seen; nothing is known of values that the pass creates.
    analysed: usize,
    /// Number of active lanes from the first on, for each instruction; 0 if unknown.
    known: SecondaryMap<Inst, u32>,
    /// Lanes of a sub-group, if that is known.
    size: Option<u32>,
}

impl Pass {
    /// Whether lanes may hold different bits.
    fn is_divergent(&self, v: Value) -> bool {
        v.as_u32() as usize >= self.analysed || self.divergence.is_divergent(v)
    }
}

impl Lowering for Pass {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        wanted(s, i)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let op = e.s.insts[i].op;
        let attrs = e.s.insts[i].attrs;
        if attrs == SIZE {
            return match self.size {
                Some(size) => Step::Replace(vec![e.u32(size)]),
                None => Step::Keep,
            };
        }
        let args = e.s.args(i).to_vec();
        let [r] = *e.s.results(i) else { return Step::Keep };
        let lanes = self.known[i];
        let same = args.first().is_some_and(|&a| !self.is_divergent(a));
        let new = match (op, attrs) {
            (Op::Ballot, _) if lanes != 0 && e.s.as_const(args[0]).is_some() => {
                let on = e.s.as_const(args[0]) == Some(1);
                let zero = e.u32(0);
                let words: Vec<Value> = (0..4)
                    .map(|word| match lanes.saturating_sub(32 * word).min(32) {
                        active if on && active > 0 => e.u32(u32::MAX >> (32 - active)),
                        _ => zero,
                    })
                    .collect();
                Some(e.vec(&words))
            }
            (Op::VoteAny | Op::VoteAll, _) if same => Some(args[0]),
            (Op::VoteEqBits, _) if same => Some(e.konst(Type::B1, 1)),
            // A NaN is not even like itself.
            (Op::VoteEqFloat, _) if same => {
                let eq = e.op(Op::FEq, &[args[0], args[0]]);
                let all = e.ty(eq).is_scalar();
                Some(if all { eq } else { e.value(Op::BAll, Attrs::None, &[eq], Type::B1) })
            }
            (Op::ReadFirst, _) if same => Some(args[0]),
            // The value of an inactive lane is undefined; the interpreter takes zero.
            (
                Op::ReadLane
                | Op::Shuffle
                | Op::ShuffleXor
                | Op::ShuffleUp
                | Op::ShuffleDown
                | Op::QuadBroadcast
                | Op::QuadSwap,
                _,
            ) if same && !e.flags.contains(InstFlags::EXACT) => Some(args[0]),
            (Op::ReadFirst, _) if lanes != 0 => {
                let first = e.u32(0);
                Some(e.op(Op::ReadLane, &[args[0], first]))
            }
            (Op::Elect, _) if lanes != 0 => {
                let (own, first) = (lane(e), e.u32(0));
                Some(e.op(Op::IEq, &[own, first]))
            }
            (Op::Shuffle, _) if !self.is_divergent(args[1]) => Some(e.op(Op::ReadLane, &args)),
            // In another order roundings are others, and so may be NaNs and the signs of zeros.
            (_, Attrs::Reduce(reduce))
                if is_float(reduce.op)
                    && e.flags.intersects(InstFlags::EXACT | InstFlags::STRICT) =>
            {
                None
            }
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(reduce)) => {
                // A cluster of unknown size is larger than what is known of the lanes.
                let size = self.size.unwrap_or(u32::MAX);
                let cluster = match reduce.cluster {
                    0 => size,
                    c => u32::from(c).min(size),
                };
                let alike = same
                    .then(|| alike(e, op, reduce, cluster, args[0], (lanes, self.size)))
                    .flatten();
                alike.or_else(|| whole(e, op, reduce, cluster, args[0], lanes))
            }
            _ => None,
        };
        match new {
            Some(v) => {
                debug_assert_eq!(e.ty(v), e.ty(r));
                Step::Replace(vec![v])
            }
            None => Step::Keep,
        }
    }
}

fn is_float(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax)
}

/// Number of active lanes that a lane combines, if that can be had for little.
fn count(e: &mut Emit, op: Op, cluster: u32, lanes: u32, size: Option<u32>) -> Option<Value> {
    match op {
        Op::Reduce if lanes != 0 && cluster >= lanes => Some(e.u32(lanes)),
        Op::Reduce if lanes != 0 && lanes.is_multiple_of(cluster) => Some(e.u32(cluster)),
        // One instruction of most machines.
        Op::Reduce if cluster >= 32 || cluster == 4 => None,
        Op::Reduce => {
            // The field of a cluster in the first word of the ballot: sub-groups of more lanes have
            // more words.
            if size.is_none_or(|size| size > 32) {
                return None;
            }
            let all = e.konst(Type::B1, 1);
            let m = e.value(Op::Ballot, Attrs::None, &[all], Type::vec(32, 4));
            let m = e.extract(m, 0);
            let own = lane(e);
            let (start, ones) = (e.u32(!(cluster - 1)), e.u32((1 << cluster) - 1));
            let base = e.op(Op::IAnd, &[own, start]);
            let m = e.op(Op::UShr, &[m, base]);
            let m = e.op(Op::IAnd, &[m, ones]);
            Some(e.op(Op::BitCount, &[m]))
        }
        _ if lanes == 0 => None,
        Op::ExclusiveScan => Some(lane(e)),
        _ => {
            let (own, one) = (lane(e), e.u32(1));
            Some(e.op(Op::IAdd, &[own, one]))
        }
    }
}

fn lane(e: &mut Emit) -> Value {
    e.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::SubgroupInvocationId), &[], Type::B32)
}

/// The result of a reduction or scan of a uniform value, computed from that value alone.
fn alike(
    e: &mut Emit,
    op: Op,
    r: Reduce,
    cluster: u32,
    v: Value,
    (lanes, size): (u32, Option<u32>),
) -> Option<Value> {
    let ty = e.ty(v);
    match r.op {
        ReduceOp::SMin
        | ReduceOp::UMin
        | ReduceOp::FMin
        | ReduceOp::SMax
        | ReduceOp::UMax
        | ReduceOp::FMax
        | ReduceOp::And
        | ReduceOp::Or => (op != Op::ExclusiveScan).then_some(v),
        _ if cluster == 1 && op == Op::Reduce => Some(v),
        _ if ty.bits() == 1 => None,
        ReduceOp::IAdd | ReduceOp::Xor | ReduceOp::FAdd => {
            let mut n = count(e, op, cluster, lanes, size)?;
            if r.op == ReduceOp::Xor {
                let one = e.u32(1);
                n = e.op(Op::IAnd, &[n, one]);
            }
            let float = r.op == ReduceOp::FAdd;
            let n = if float {
                e.value(Op::U2F, Attrs::None, &[n], ty.elem())
            } else {
                e.convert(Op::U2U, n, ty.elem())
            };
            let n = e.vec(&vec![n; usize::from(ty.comps())]);
            Some(e.op(if float { Op::FMul } else { Op::IMul }, &[v, n]))
        }
        ReduceOp::IMul | ReduceOp::FMul => {
            // A power by squaring, where the number of factors is a power of two.
            let n = if op == Op::Reduce
                && lanes != 0
                && (cluster >= lanes || lanes.is_multiple_of(cluster))
            {
                cluster.min(lanes)
            } else {
                return None;
            };
            let (mul, _) = operator(r.op, ty);
            n.is_power_of_two().then(|| (0..n.trailing_zeros()).fold(v, |x, _| e.op(mul, &[x, x])))
        }
    }
}

/// A reduction whose lanes are all there: by halves of the cluster, each with its neighbour. Left
/// alone is what machines have an instruction for: whole sub-groups and quads.
fn whole(e: &mut Emit, op: Op, r: Reduce, cluster: u32, v: Value, lanes: u32) -> Option<Value> {
    if op != Op::Reduce || !e.ty(v).is_scalar() {
        return None;
    }
    if cluster == 1 {
        return Some(v);
    }
    let ty = e.ty(v);
    let bare = ty.bits() != 64 && r.op != ReduceOp::IMul && ty.bits() != 1;
    if lanes == 0 || !(lanes.is_multiple_of(cluster) || cluster > lanes) {
        return None;
    }
    if cluster >= lanes && bare {
        // A cluster of all lanes.
        return (r.cluster != 0)
            .then(|| e.value(Op::Reduce, Attrs::Reduce(Reduce { cluster: 0, ..r }), &[v], ty));
    }
    if ty.bits() == 1 || (bare && cluster == 4) || !cluster.min(lanes).is_power_of_two() {
        return None;
    }
    let (combine, _) = operator(r.op, ty);
    let (mut x, mut step) = (v, 1);
    if bare && cluster > 4 {
        x = e.value(Op::Reduce, Attrs::Reduce(Reduce { cluster: 4, ..r }), &[v], ty);
        step = 4;
    }
    while step < cluster.min(lanes) {
        let n = e.u32(step);
        let y = e.op(Op::ShuffleXor, &[x, n]);
        x = e.op(combine, &[x, y]);
        step *= 2;
    }
    Some(x)
}
