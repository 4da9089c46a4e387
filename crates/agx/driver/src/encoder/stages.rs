//! The stages of a draw before the rasteriser, and the topologies between them.

use std::sync::Arc;

use tepui_expand::tessellate::Tessellation;
use tepui_expand::{Emission, Record};
use tepui_ir::{PrimitiveKind, Spacing};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

use super::variants::vertex_key;
use crate::family::Agx;
use crate::meta::feedback::Order;
use crate::shader::{Results, Shader, VertexKey};

/// The stages of a draw with a geometry shader whose counts the CPU knows, and what they read and write.
pub(super) struct GeometryStages {
    pub(super) vertex: Arc<Shader>,
    pub(super) geometry: Arc<Shader>,
    pub(super) order: Order,
    /// Vertices that are read.
    pub(super) input: Record,
    /// Vertices that are emitted.
    pub(super) output: Record,
    pub(super) emission: Emission,
    /// Index lists.
    pub(super) lists: u32,
}

/// The stages of a draw before the rasteriser.
pub(super) struct Stages {
    pub(super) vertex: Arc<Shader>,
    pub(super) tessellation: Option<Tessellated>,
    pub(super) geometry: Option<Arc<Shader>>,
}

/// The stages around the tessellator.
pub(super) struct Tessellated {
    pub control: Arc<Shader>,
    pub evaluation: Arc<Shader>,
    pub how: Tessellation,
}

/// Modes of the tessellator: either stage may set them.
pub(super) fn tessellation(
    control: &Shader,
    evaluation: &Shader,
    lower_left: bool,
) -> Tessellation {
    let [c, e] = [&control.ir.info.primitives, &evaluation.ir.info.primitives];
    let clockwise = e.clockwise.or(c.clockwise).unwrap_or(false);
    Tessellation {
        domain: e.input.or(c.input).unwrap_or(PrimitiveKind::Triangles),
        spacing: e.spacing.or(c.spacing).unwrap_or(Spacing::Equal),
        points: e.point_mode || c.point_mode,
        // With v downwards, clockwise is counter-clockwise to the tessellator.
        clockwise: clockwise == lower_left,
    }
}

/// The primitives that a topology makes.
pub(super) fn assembled(topology: vk::PrimitiveTopology) -> Result<PrimitiveKind> {
    use vk::PrimitiveTopology as T;
    Ok(match topology {
        T::POINT_LIST => PrimitiveKind::Points,
        T::LINE_LIST | T::LINE_STRIP => PrimitiveKind::Lines,
        T::TRIANGLE_LIST | T::TRIANGLE_STRIP | T::TRIANGLE_FAN => PrimitiveKind::Triangles,
        T::LINE_LIST_WITH_ADJACENCY | T::LINE_STRIP_WITH_ADJACENCY => PrimitiveKind::LinesAdjacency,
        T::TRIANGLE_LIST_WITH_ADJACENCY | T::TRIANGLE_STRIP_WITH_ADJACENCY => {
            PrimitiveKind::TrianglesAdjacency
        }
        other => {
            let what =
                format!("primitive topology {} without an evaluation shader", other.as_raw());
            return Err(Error::unsupported(what));
        }
    })
}

/// The order of the vertices of a draw's primitives.
pub(super) fn input_order(s: &GraphicsState) -> Result<Order> {
    if s.topology == vk::PrimitiveTopology::PATCH_LIST {
        return Ok(Order::Whole(s.patch_points.max(1)));
    }
    Order::new(s.topology, s.provoking_last)
        .ok_or_else(|| Error::unsupported("geometry shaders with this topology"))
}

/// The key of a vertex shader that leaves its outputs to the next stage.
pub(super) fn record_key(vertex: &Shader, s: &GraphicsState) -> VertexKey {
    let mut key = vertex_key(vertex.inputs, s);
    key.results = Results::Record;
    // Later stages convert the depth, and write the view's layer.
    key.negative_one_to_one = false;
    key.multiview = false;
    key
}

/// Whether primitives share no vertices, so that their indices have no restarts.
pub(super) fn is_list(topology: vk::PrimitiveTopology) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(topology, T::LINE_LIST | T::TRIANGLE_LIST)
}

/// Whether such primitives are drawn as points.
pub(super) fn makes_points(s: &GraphicsState, primitives: PrimitiveKind) -> bool {
    primitives == PrimitiveKind::Points || s.polygon_mode == vk::PolygonMode::POINT
}

/// Topology of primitives that share no vertices.
pub(super) fn list_topology(primitives: PrimitiveKind) -> vk::PrimitiveTopology {
    match primitives {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

/// Topology of a geometry shader's indices.
pub(super) fn topology(emission: &Emission) -> vk::PrimitiveTopology {
    match emission.output {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_STRIP,
        _ => vk::PrimitiveTopology::TRIANGLE_STRIP,
    }
}

/// The index buffer of a list that the stages wrote.
pub(super) fn list_buffer(address: u64, size: u64) -> IndexBuffer {
    IndexBuffer { address, size, index_bytes: 4, is_sparse: false }
}

impl Stages {
    /// `emissions` says that something asks for the primitives that reach the rasteriser.
    pub(super) fn new(state: &CommandState<Agx>, emissions: bool) -> Result<Stages> {
        let between = &state.bound.between;
        let missing = |what| move || Error::unsupported(format!("draws without {what} shader"));
        let vertex = state.bound.vertex.clone().ok_or_else(missing("a vertex"))?;
        let tessellation = match (&between.control, &between.evaluation) {
            (None, None) => None,
            (control, evaluation) => {
                let control = control.clone().ok_or_else(missing("a control"))?;
                let evaluation = evaluation.clone().ok_or_else(missing("an evaluation"))?;
                let how = tessellation(&control, &evaluation, state.graphics.patch_lower_left);
                Some(Tessellated { control, evaluation, how })
            }
        };
        let geometry = match (&between.geometry, &tessellation) {
            (Some(geometry), _) => Some(geometry.clone()),
            // Something has to count and capture what the tessellator makes.
            (None, Some(t)) if emissions => Some(t.evaluation.passed_on(t.how.output())?),
            (None, Some(_)) => None,
            (None, None) => Some(vertex.passed_on(assembled(state.graphics.topology)?)?),
        };
        Ok(Stages { vertex, tessellation, geometry })
    }
}
