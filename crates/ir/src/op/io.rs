//! Inputs, outputs, built-ins and fragment operations.

use super::Pat::{Any, B1, S32, V2};
use super::code::Op;
use super::info::{OpInfo, Props, op};
use crate::attrs::AttrKind;

const PURE: Props = Props::PURE;
const READS: Props = Props::READS;
const WRITES: Props = Props::WRITES;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(
        Op::LoadInput,
        "load_input",
        "Reads a vertex attribute, an input of the patch or a fragment input at its declared sampling: (offset in \
         locations, 0 when not an array; components for clip and cull distances). An offset \
         past the end is that of the last element, here and in the other loads and stores.",
    )
    .args(&[S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[PURE]),
    op(
        Op::LoadInputAtSample,
        "load_input_at_sample",
        "Reads a fragment input at a sample: (offset in locations, sample).",
    )
    .args(&[S32, S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[PURE]),
    op(
        Op::LoadInputAtOffset,
        "load_input_at_offset",
        "Reads a fragment input at an offset from the pixel's centre: (offset in locations, \
         b32x2 in pixels).",
    )
    .args(&[S32, V2])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[PURE]),
    op(
        Op::LoadInputVertex,
        "load_input_vertex",
        "Reads an input of vertex `vertex` of the primitive or patch, in fragment shaders of the \
         triangle (`PerVertexKHR`): (offset in locations, vertex).",
    )
    .args(&[S32, S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[PURE]),
    op(
        Op::LoadOutput,
        "load_output",
        "Reads the colour that a fragment's output slot has in the framebuffer so far.",
    )
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[READS]),
    op(
        Op::LoadOutputSample,
        "load_output_sample",
        "Reads the colour that a sample of the pixel has in a fragment's output slot so far: (sample).",
    )
    .args(&[S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[READS]),
    op(
        Op::StoreOutput,
        "store_output",
        "Writes an output: (value, offset in locations or, for clip and cull distances, in \
         components).",
    )
    .args(&[Any, S32])
    .attrs(AttrKind::Io)
    .props(&[WRITES]),
    op(
        Op::StoreOutputVertex,
        "store_output_vertex",
        "Writes an output of a vertex of the output patch: (value, offset in locations, vertex).",
    )
    .args(&[Any, S32, S32])
    .attrs(AttrKind::Io)
    .props(&[WRITES]),
    op(
        Op::LoadOutputVertex,
        "load_output_vertex",
        "Reads an output of a vertex of the output patch: (offset in locations, vertex).",
    )
    .args(&[S32, S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[READS]),
    op(
        Op::LoadOutputPatch,
        "load_output_patch",
        "Reads an output of the patch: (offset in locations or, for levels, in components).",
    )
    .args(&[S32])
    .results(&[Any])
    .attrs(AttrKind::Io)
    .props(&[READS]),
    op(
        Op::EmitVertex,
        "emit_vertex",
        "Appends a vertex with the outputs stored so far to the strip of a stream; the stream is the attribute.",
    )
    .attrs(AttrKind::Index)
    .props(&[READS, WRITES]),
    op(
        Op::EndPrimitive,
        "end_primitive",
        "Ends the strip of a stream; the stream is the attribute.",
    )
    .attrs(AttrKind::Index)
    .props(&[READS, WRITES]),
    op(Op::LoadBuiltin, "load_builtin", "Reads a built-in; its type is given with the built-in.")
        .results(&[Any])
        .attrs(AttrKind::Builtin)
        .props(&[PURE]),
    op(
        Op::Demote,
        "demote",
        "Turns the invocation into a helper: its later writes do nothing, derivatives go on.",
    )
    .props(&[WRITES]),
    op(Op::DemoteIf, "demote_if", "`demote` where the condition holds.")
        .args(&[B1])
        .props(&[WRITES]),
    op(
        Op::IsHelper,
        "is_helper",
        "Whether the invocation is a helper now (was one from the start, or was demoted).",
    )
    .results(&[B1])
    .props(&[READS]),
    op(
        Op::RunTests,
        "run_tests",
        "Runs a fragment's tests of depth and stencil here if they would follow the shader: an \
         invocation without samples that pass is a helper afterwards.",
    )
    .props(&[READS, WRITES]),
    op(Op::Clock, "clock", "The shader's clock, b32x2, for `OpReadClockKHR`.")
        .results(&[V2])
        .props(&[READS, WRITES]),
    op(
        Op::InterlockBegin,
        "interlock_begin",
        "Begin of a fragment-shader-interlock critical section.",
    )
    .props(&[READS, WRITES]),
    op(Op::InterlockEnd, "interlock_end", "End of a fragment-shader-interlock critical section.")
        .props(&[READS, WRITES]),
];
