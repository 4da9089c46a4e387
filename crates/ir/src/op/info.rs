//! The contents of a row of the op table.

use super::code::Op;
use crate::attrs::{AttrKind, Attrs};
use crate::types::Type;
use bitflags::bitflags;

/// The pattern of an operand or result. Within one instruction all [`Pat::T`], [`Pat::F`] and
/// [`Pat::I`] are one type "T"; `B`, `W`, `UF`, `UI` have as many components as T.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pat {
    /// T, any type.
    T,
    /// T, with 16, 32 or 64 bits (read as float).
    F,
    /// T, with 8, 16, 32 or 64 bits (read as integer).
    I,
    /// 1 bit, as many components as T.
    B,
    /// 32 bits, as many components as T.
    W,
    /// A second float type with as many components as T.
    UF,
    /// A second integer type (8–64 bits) with as many components as T.
    UI,
    /// One 1-bit component.
    B1,
    /// One 32-bit component.
    S32,
    /// One 64-bit component: an address.
    S64,
    /// One 64-bit component: a descriptor handle, opaque to everything but the descriptor lowering.
    H,
    /// b32x2.
    V2,
    /// b32x4.
    V4,
    /// One 16-, 32- or 64-bit component.
    SF,
    /// Scalar with the bits of T.
    E,
    /// Any type, unrelated to T.
    Any,
    /// Any number of operands or results of any type (only as the last pattern).
    Rest,
}

bitflags! {
    /// Properties of an op.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Props: u16 {
        /// The results depend on operands and attributes only; no effect.
        const PURE = 1 << 0;
        /// The first two operands may be swapped.
        const COMM = 1 << 1;
        /// Other lanes take part: must not move into or out of divergent control flow.
        const CONVERGENT = 1 << 2;
        /// Reads memory that something may write.
        const READS = 1 << 3;
        /// Writes memory, or has another effect that must stay.
        const WRITES = 1 << 4;
        /// Ends a region.
        const TERM = 1 << 5;
        /// Associative when it is exact arithmetic (integers, logic).
        const ASSOC = 1 << 6;
        /// The result is one of, or rounds like, float arithmetic: contraction and reassociation
        /// rules apply.
        const FLOAT = 1 << 7;
        /// Owns regions.
        const REGIONS = 1 << 8;
    }
}

/// One component of an element-wise op to evaluate.
pub struct Lane<'a> {
    /// Operand bits, zero-extended.
    pub args: &'a [u64],
    /// Bits of the first operand.
    pub bits: u8,
    /// Bits of the result.
    pub dst: u8,
}

/// Operands of a whole (possibly vector) op, for its fold.
pub struct Whole<'a> {
    /// Operands: type and components.
    pub args: &'a [(Type, &'a [u64])],
    /// Attributes.
    pub attrs: &'a Attrs,
    /// Result type.
    pub ty: Type,
}

/// The meaning of an op on constants.
#[derive(Clone, Copy)]
pub enum Fold {
    /// Not a function of constants.
    None,
    /// A function of each component.
    Lane(fn(&Lane) -> u64),
    /// A function of the whole operands; pushes the result's components. Cannot fail on operands
    /// that the validator accepts.
    Whole(fn(&Whole, &mut Vec<u64>)),
    /// Element-wise with two results.
    Lane2(fn(&Lane) -> [u64; 2]),
}

/// A row of the op table.
#[derive(Clone, Copy)]
pub struct OpInfo {
    /// The op.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// One-line description.
    pub doc: &'static str,
    /// Operand patterns.
    pub operands: &'static [Pat],
    /// Result patterns.
    pub results: &'static [Pat],
    /// Kind of attributes.
    pub attrs: AttrKind,
    /// Properties.
    pub props: Props,
    /// Meaning.
    pub fold: Fold,
}

/// A row for an op without operands, results, attributes, properties and meaning on constants, to
/// which the methods of
/// [`OpInfo`] add what the op has.
pub(super) const fn op(op: Op, name: &'static str, doc: &'static str) -> OpInfo {
    OpInfo {
        op,
        name,
        doc,
        operands: &[],
        results: &[],
        attrs: AttrKind::None,
        props: Props::empty(),
        fold: Fold::None,
    }
}

impl OpInfo {
    /// Sets the operands' patterns.
    pub(super) const fn args(self, operands: &'static [Pat]) -> OpInfo {
        OpInfo { operands, ..self }
    }

    /// Sets the results' patterns.
    pub(super) const fn results(self, results: &'static [Pat]) -> OpInfo {
        OpInfo { results, ..self }
    }

    /// Sets the kind of attributes.
    pub(super) const fn attrs(self, attrs: AttrKind) -> OpInfo {
        OpInfo { attrs, ..self }
    }

    /// Sets properties.
    pub(super) const fn props(self, list: &[Props]) -> OpInfo {
        let (mut props, mut i) = (self.props, 0);
        while i < list.len() {
            props = props.union(list[i]);
            i += 1;
        }
        OpInfo { props, ..self }
    }

    /// Sets the fold: the meaning on constants.
    pub(super) const fn fold(self, fold: Fold) -> OpInfo {
        OpInfo { fold, ..self }
    }
}
