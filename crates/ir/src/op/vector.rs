//! Constants, and construction and extraction of vectors.

use super::Pat::{Any, B, B1, E, F, Rest, S32, T};
use super::code::Op;
use super::info::{Fold, OpInfo, Props, op};
use super::lanes;
use crate::attrs::{AttrKind, Attrs};

const COMM: Props = Props::COMM;
const FLOAT: Props = Props::FLOAT;
const PURE: Props = Props::PURE;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(Op::Const, "const", "A scalar constant. Vectors of constants are built with `vec`.")
        .results(&[T])
        .attrs(AttrKind::Const)
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| {
            if let Attrs::Const(c) = w.attrs {
                o.push(*c)
            }
        })),
    op(Op::Undef, "undef", "Any bits; each use may see other bits.").results(&[T]).props(&[PURE]),
    op(Op::Copy, "copy", "The same value.")
        .args(&[T])
        .results(&[T])
        .props(&[PURE])
        .fold(uint!(n; a => a)),
    op(Op::Vec, "vec", "A vector from scalars of its component type, one operand per component.")
        .args(&[Rest])
        .results(&[Any])
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| o.extend(w.args.iter().map(|a| a.1[0])))),
    op(Op::Extract, "extract", "One component, by constant index.")
        .args(&[Any])
        .results(&[Any])
        .attrs(AttrKind::Index)
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| {
            if let Attrs::Index(i) = w.attrs {
                o.push(w.args[0].1[*i as usize])
            }
        })),
    op(Op::ExtractDyn, "extract_dyn", "One component, by index; 0 when the index is out of range.")
        .args(&[T, S32])
        .results(&[E])
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| {
            o.push(w.args[0].1.get(w.args[1].1[0] as usize).copied().unwrap_or(0))
        })),
    op(
        Op::InsertDyn,
        "insert_dyn",
        "The vector with one component replaced, by index; unchanged when the index is out of \
         range: (vector, scalar, index).",
    )
    .args(&[T, E, S32])
    .results(&[T])
    .props(&[PURE])
    .fold(Fold::Whole(|w, o| {
        let at = o.len();
        o.extend(w.args[0].1);
        if let Some(c) = o.get_mut(at..).and_then(|s| s.get_mut(w.args[2].1[0] as usize)) {
            *c = w.args[1].1[0];
        }
    })),
    op(Op::FDot, "fdot", "Sum of the products of the components.")
        .args(&[F, F])
        .results(&[E])
        .props(&[PURE, COMM, FLOAT])
        .fold(Fold::Whole(lanes::fdot)),
    op(Op::BAny, "bany", "Any component true.")
        .args(&[B])
        .results(&[B1])
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| o.push(u64::from(w.args[0].1.iter().any(|c| c & 1 != 0))))),
    op(Op::BAll, "ball", "All components true.")
        .args(&[B])
        .results(&[B1])
        .props(&[PURE])
        .fold(Fold::Whole(|w, o| o.push(u64::from(w.args[0].1.iter().all(|c| c & 1 != 0))))),
];
