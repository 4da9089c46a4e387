//! Gradients of cubes, which the texture unit does not take.

use super::Descriptors;
use crate::descriptor::texture;
use tepui_ir::{Op, Value};
use tepui_passes::rewrite::Emit;

/// The level of detail for the gradients of a direction.
pub(super) fn cube_level(e: &mut Emit, handle: Value, r: &[Value], gradients: [Value; 2]) -> Value {
    let width = |e: &mut Emit| {
        let width = e.size(handle, "width");
        let first = e.bits(handle, texture("first_level"));
        e.op(Op::UShr, &[width, first])
    };
    tepui_passes::cubes::level(e, width, r, gradients)
}
