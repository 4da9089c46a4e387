//! Sub-groups, quads, derivatives, barriers.

use super::Pat::{Any, B1, F, S32, T, V4};
use super::code::Op;
use super::info::{OpInfo, Props, op};
use crate::attrs::AttrKind;

const CONVERGENT: Props = Props::CONVERGENT;
const FLOAT: Props = Props::FLOAT;
const PURE: Props = Props::PURE;
const READS: Props = Props::READS;
const WRITES: Props = Props::WRITES;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(
        Op::Ballot,
        "ballot",
        "Mask of active lanes whose operand is true; lane 0 is bit 0 of the first component.",
    )
    .args(&[B1])
    .results(&[V4])
    .props(&[PURE, CONVERGENT]),
    op(Op::Elect, "elect", "True in one active lane: the lowest.")
        .results(&[B1])
        .props(&[PURE, CONVERGENT]),
    op(Op::VoteAny, "vote_any", "True when any active lane's operand is.")
        .args(&[B1])
        .results(&[B1])
        .props(&[PURE, CONVERGENT]),
    op(Op::VoteAll, "vote_all", "True when every active lane's operand is.")
        .args(&[B1])
        .results(&[B1])
        .props(&[PURE, CONVERGENT]),
    op(
        Op::VoteEqBits,
        "vote_eq_bits",
        "True when the operand's bits are the same in every active lane.",
    )
    .args(&[Any])
    .results(&[B1])
    .props(&[PURE, CONVERGENT]),
    op(
        Op::VoteEqFloat,
        "vote_eq_float",
        "True when the operand's floats compare equal in every active lane.",
    )
    .args(&[Any])
    .results(&[B1])
    .props(&[PURE, CONVERGENT]),
    op(
        Op::ReadLane,
        "read_lane",
        "The value of the given lane; the lane must be the same for all: (value, lane).",
    )
    .args(&[T, S32])
    .results(&[T])
    .props(&[PURE, CONVERGENT]),
    op(Op::ReadFirst, "read_first", "The value of the lowest active lane.")
        .args(&[T])
        .results(&[T])
        .props(&[PURE, CONVERGENT]),
    op(Op::Shuffle, "shuffle", "The value of another lane, any lane for each: (value, lane).")
        .args(&[T, S32])
        .results(&[T])
        .props(&[PURE, CONVERGENT]),
    op(Op::ShuffleXor, "shuffle_xor", "The value of lane (own lane xor mask): (value, mask).")
        .args(&[T, S32])
        .results(&[T])
        .props(&[PURE, CONVERGENT]),
    op(Op::ShuffleUp, "shuffle_up", "The value of lane (own lane - delta): (value, delta).")
        .args(&[T, S32])
        .results(&[T])
        .props(&[PURE, CONVERGENT]),
    op(Op::ShuffleDown, "shuffle_down", "The value of lane (own lane + delta): (value, delta).")
        .args(&[T, S32])
        .results(&[T])
        .props(&[PURE, CONVERGENT]),
    op(Op::Reduce, "reduce", "Combines the values of all active lanes (of the cluster).")
        .args(&[T])
        .results(&[T])
        .attrs(AttrKind::Reduce)
        .props(&[PURE, CONVERGENT]),
    op(
        Op::InclusiveScan,
        "inclusive_scan",
        "Combines the values of active lanes up to and including the own.",
    )
    .args(&[T])
    .results(&[T])
    .attrs(AttrKind::Reduce)
    .props(&[PURE, CONVERGENT]),
    op(
        Op::ExclusiveScan,
        "exclusive_scan",
        "Combines the values of active lanes before the own; the identity in the first.",
    )
    .args(&[T])
    .results(&[T])
    .attrs(AttrKind::Reduce)
    .props(&[PURE, CONVERGENT]),
    op(
        Op::QuadBroadcast,
        "quad_broadcast",
        "The value of the given lane (0–3) of the quad: (value, lane).",
    )
    .args(&[T, S32])
    .results(&[T])
    .props(&[PURE, CONVERGENT]),
    op(Op::QuadSwap, "quad_swap", "The value of a neighbour in the quad.")
        .args(&[T])
        .results(&[T])
        .attrs(AttrKind::Quad)
        .props(&[PURE, CONVERGENT]),
    op(Op::DdxFine, "ddx_fine", "Derivative in x from the lane's own row of the quad.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, CONVERGENT, FLOAT]),
    op(Op::DdyFine, "ddy_fine", "Derivative in y from the lane's own column of the quad.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, CONVERGENT, FLOAT]),
    op(Op::DdxCoarse, "ddx_coarse", "Derivative in x, one for the quad.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, CONVERGENT, FLOAT]),
    op(Op::DdyCoarse, "ddy_coarse", "Derivative in y, one for the quad.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, CONVERGENT, FLOAT]),
    op(Op::Barrier, "barrier", "Execution and memory barrier.")
        .attrs(AttrKind::Barrier)
        .props(&[READS, WRITES, CONVERGENT]),
];
