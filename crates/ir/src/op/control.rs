//! Structured control flow and terminators.

use super::Pat::{B1, Rest};
use super::code::Op;
use super::info::{OpInfo, Props, op};
use crate::attrs::AttrKind;

const REGIONS: Props = Props::REGIONS;
const TERM: Props = Props::TERM;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(
        Op::If,
        "if",
        "Runs the first region when the condition holds, else the second; the results are the \
         operands of the `yield` that ends the region taken.",
    )
    .args(&[B1])
    .results(&[Rest])
    .attrs(AttrKind::If)
    .props(&[REGIONS]),
    op(
        Op::Loop,
        "loop",
        "Runs the body until `break`. Operands are the first values of the body's parameters, \
         `continue` gives the next, `break` the results.",
    )
    .args(&[Rest])
    .results(&[Rest])
    .attrs(AttrKind::Loop)
    .props(&[REGIONS]),
    op(
        Op::Yield,
        "yield",
        "Ends a region of an `if` (operands: its results) or the whole shader (no operands).",
    )
    .args(&[Rest])
    .props(&[TERM]),
    op(Op::Break, "break", "Leaves the innermost loop; from any depth of `if`s.")
        .args(&[Rest])
        .props(&[TERM]),
    op(
        Op::Continue,
        "continue",
        "Starts the next iteration of the innermost loop; from any depth of `if`s.",
    )
    .args(&[Rest])
    .props(&[TERM]),
];
