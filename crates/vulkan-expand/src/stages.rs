//! The stages of a draw before the rasteriser.

use std::sync::Arc;

use tepui_expand::tessellate::Tessellation;
use tepui_expand::{Emission, Record};
use tepui_ir::{Interp, IoLoc, PrimitiveKind, Shader};
use tepui_passes::side_effects::shows_invocations;
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::{Error, Result};

use crate::derived::{outlined, passed_on};
use crate::launch::{ExpandBackend, ExpandShader, Expander, ShaderOf};
use crate::order::Order;
use crate::place::EmissionSizes;
use crate::topology::{assembled, outlines, tessellation};

/// The stages of a draw with a geometry shader whose counts the CPU knows, and what they read and write.
pub(crate) struct GeometryStages<B: ExpandBackend> {
    pub(crate) vertex: ShaderOf<B>,
    pub(crate) geometry: ShaderOf<B>,
    pub(crate) order: Order,
    /// Vertices that are read.
    pub(crate) input: Record,
    /// Vertices that are emitted.
    pub(crate) output: Record,
    pub(crate) emission: Emission,
    /// Index lists.
    pub(crate) lists: u32,
}

/// The stages of a draw before the rasteriser.
pub(crate) struct Stages<B: ExpandBackend> {
    pub(crate) vertex: ShaderOf<B>,
    pub(crate) tessellation: Option<Tessellated<B>>,
    pub(crate) geometry: Option<ShaderOf<B>>,
}

/// The stages around the tessellator.
pub(crate) struct Tessellated<B: ExpandBackend> {
    pub(crate) control: ShaderOf<B>,
    pub(crate) evaluation: ShaderOf<B>,
    pub(crate) how: Tessellation,
}

/// The index buffer of a list that the stages wrote.
pub(crate) fn list_buffer(address: u64, size: u64) -> IndexBuffer {
    IndexBuffer { address, size, index_bytes: 4, is_sparse: false }
}

/// Bytes of a record in memory.
pub(crate) fn record_b(record: &Record) -> u32 {
    record.stride().max(16)
}

/// Sizes of what a geometry shader leaves.
pub(crate) fn emission_sizes<B: ExpandBackend>(g: &B::Shader, rasterised: u32) -> EmissionSizes {
    let emission = Emission::of(g.ir());
    EmissionSizes {
        invocations: emission.invocations,
        records_bytes: emission.vertices * record_b(&Record::of_vertices(g.ir())),
        indices: emission.indices,
        lists: tepui_expand::lists(emission.streams, rasterised),
    }
}

/// Whether primitives have an area.
fn is_polygon(kind: PrimitiveKind) -> bool {
    use PrimitiveKind as P;
    matches!(kind, P::Triangles | P::Quads | P::TrianglesAdjacency)
}

/// Whether the hardware can run an evaluation shader as the vertex shader of a draw.
fn is_drawn<B: ExpandBackend>(evaluation: &B::Shader) -> bool {
    B::Encoder::VERTICES_ARE_EXACT || !shows_invocations(evaluation.ir())
}

/// Locations that a fragment shader interpolates in a way, a bit each.
#[must_use]
pub fn inputs_with(fragment: &Shader, interp: Interp) -> u64 {
    let mut found = 0;
    for input in fragment.inputs.iter().filter(|i| i.slot.interp == interp) {
        if let IoLoc::Location(first) = input.slot.loc {
            let all = (u32::from(first)..64).take(input.locations as usize);
            found |= all.fold(0, |all, l| all | 1u64 << l);
        }
    }
    found
}

impl<B: ExpandBackend> Stages<B> {
    /// `emissions` says that something asks for the primitives that reach the rasteriser.
    pub(crate) fn new(state: &CommandState<B>, emissions: bool) -> Result<Stages<B>> {
        let between = &state.bound.between;
        let missing = |what| move || Error::unsupported(format!("draws without {what} shader"));
        let vertex = state.bound.vertex.clone().ok_or_else(missing("a vertex"))?;
        let tessellation = match (&between.control, &between.evaluation) {
            (None, None) => None,
            (control, evaluation) => {
                let control = control.clone().ok_or_else(missing("a control"))?;
                let evaluation = evaluation.clone().ok_or_else(missing("an evaluation"))?;
                let how =
                    tessellation(control.ir(), evaluation.ir(), state.graphics.patch_lower_left);
                Some(Tessellated { control, evaluation, how })
            }
        };
        let fragment = state.bound.fragment.as_deref();
        let flat = fragment.map_or(0, |f| inputs_with(f.ir(), Interp::Flat));
        let outlines = match B::Encoder::DRAWS_POLYGONS_WHOLE {
            true => outlines(&state.graphics, flat),
            false => None,
        };
        let is_outlined = |kind| outlines.is_some() && is_polygon(kind);
        if outlines.is_some() && state.feedback.active {
            return Err(Error::unsupported(
                "captures of polygons that are drawn as lines or points",
            ));
        }
        let geometry: Option<Arc<B::Shader>> = match (&between.geometry, &tessellation) {
            (Some(geometry), _) => Some(match outlines {
                Some(o) if is_outlined(Emission::of(geometry.ir()).output) => {
                    outlined(&**geometry, o)?
                }
                _ => geometry.clone(),
            }),
            // Something has to count and capture what the tessellator makes, to draw its outlines, or to draw vertices whose shader
            // runs as a compute program.
            (None, Some(t))
                if emissions || is_outlined(t.how.output()) || !is_drawn::<B>(&t.evaluation) =>
            {
                Some(passed_on(&*t.evaluation, t.how.output(), outlines)?)
            }
            (None, Some(_)) => None,
            (None, None) => {
                Some(passed_on(&*vertex, assembled(state.graphics.topology)?, outlines)?)
            }
        };
        Ok(Stages { vertex, tessellation, geometry })
    }
}
