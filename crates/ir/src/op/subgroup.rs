//! Sub-groups, quads, derivatives, barriers.

macro_rules! subgroup_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Mask of active lanes whose operand is true; lane 0 is bit 0 of the first component.
    Ballot "ballot" (B1) -> (V4) [PURE, CONVERGENT] = Fold::None;
    /// True in one active lane: the lowest.
    Elect "elect" () -> (B1) [PURE, CONVERGENT] = Fold::None;
    /// True when any active lane's operand is.
    VoteAny "vote_any" (B1) -> (B1) [PURE, CONVERGENT] = Fold::None;
    /// True when every active lane's operand is.
    VoteAll "vote_all" (B1) -> (B1) [PURE, CONVERGENT] = Fold::None;
    /// True when the operand's bits are the same in every active lane.
    VoteEqBits "vote_eq_bits" (Any) -> (B1) [PURE, CONVERGENT] = Fold::None;
    /// True when the operand's floats compare equal in every active lane.
    VoteEqFloat "vote_eq_float" (Any) -> (B1) [PURE, CONVERGENT] = Fold::None;
    /// The value of the given lane; the lane must be the same for all: (value, lane).
    ReadLane "read_lane" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of the lowest active lane.
    ReadFirst "read_first" (T) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of another lane, any lane for each: (value, lane).
    Shuffle "shuffle" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of lane (own lane xor mask): (value, mask).
    ShuffleXor "shuffle_xor" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of lane (own lane - delta): (value, delta).
    ShuffleUp "shuffle_up" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of lane (own lane + delta): (value, delta).
    ShuffleDown "shuffle_down" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// Combines the values of all active lanes (of the cluster).
    Reduce "reduce" (T) -> (T) : Reduce [PURE, CONVERGENT] = Fold::None;
    /// Combines the values of active lanes up to and including the own.
    InclusiveScan "inclusive_scan" (T) -> (T) : Reduce [PURE, CONVERGENT] = Fold::None;
    /// Combines the values of active lanes before the own; the identity in the first.
    ExclusiveScan "exclusive_scan" (T) -> (T) : Reduce [PURE, CONVERGENT] = Fold::None;
    /// The value of the given lane (0–3) of the quad: (value, lane).
    QuadBroadcast "quad_broadcast" (T, S32) -> (T) [PURE, CONVERGENT] = Fold::None;
    /// The value of a neighbour in the quad.
    QuadSwap "quad_swap" (T) -> (T) : Quad [PURE, CONVERGENT] = Fold::None;
    /// Derivative in x from the lane's own row of the quad.
    DdxFine "ddx_fine" (F) -> (F) [PURE, CONVERGENT, FLOAT] = Fold::None;
    /// Derivative in y from the lane's own column of the quad.
    DdyFine "ddy_fine" (F) -> (F) [PURE, CONVERGENT, FLOAT] = Fold::None;
    /// Derivative in x, one for the quad.
    DdxCoarse "ddx_coarse" (F) -> (F) [PURE, CONVERGENT, FLOAT] = Fold::None;
    /// Derivative in y, one for the quad.
    DdyCoarse "ddy_coarse" (F) -> (F) [PURE, CONVERGENT, FLOAT] = Fold::None;
    /// Execution and memory barrier.
    Barrier "barrier" () -> () : Barrier [READS, WRITES, CONVERGENT] = Fold::None;
] $($rest)* } }; }
pub(super) use subgroup_ops;
