//! Entities: small indices into the arenas of a [`Shader`](crate::Shader).

use cranelift_entity::entity_impl;

/// An SSA value: a result of an instruction or a parameter of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A region: a straight list of instructions that ends in a terminator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(u32);
entity_impl!(Region, "region");

/// A per-invocation variable (SPIR-V `Function` and `Private` storage, and shadows of outputs).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(u32);
entity_impl!(Var, "$v");

/// A descriptor-bound resource: a (set, binding) slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Res(u32);
entity_impl!(Res, "@r");

/// A source location; entry 0 of [`Shader::locs`](crate::Shader::locs) is "unknown".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Loc(u32);
entity_impl!(Loc, "loc");
