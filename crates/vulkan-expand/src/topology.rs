//! Topologies between the stages before the rasteriser.

use tepui_expand::Emission;
use tepui_expand::outline::Outlines;
use tepui_expand::tessellate::Tessellation;
use tepui_ir::{PrimitiveKind, Shader, Spacing};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

use crate::order::Order;

/// Modes of the tessellator: either stage may set them.
pub fn tessellation(control: &Shader, evaluation: &Shader, lower_left: bool) -> Tessellation {
    let [c, e] = [&control.info.primitives, &evaluation.info.primitives];
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
pub fn assembled(topology: vk::PrimitiveTopology) -> Result<PrimitiveKind> {
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
pub fn input_order(s: &GraphicsState) -> Result<Order> {
    if s.topology == vk::PrimitiveTopology::PATCH_LIST {
        return Ok(Order::Whole(s.patch_points.max(1)));
    }
    Order::new(s.topology, s.provoking_last)
        .ok_or_else(|| Error::unsupported("geometry shaders with this topology"))
}

/// Whether primitives share no vertices, so that their indices have no restarts.
pub fn is_list(topology: vk::PrimitiveTopology) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(topology, T::LINE_LIST | T::TRIANGLE_LIST)
}

/// Whether such primitives are drawn as points.
pub fn makes_points(s: &GraphicsState, primitives: PrimitiveKind) -> bool {
    primitives == PrimitiveKind::Points || s.polygon_mode == vk::PolygonMode::POINT
}

/// Edges or corners that are drawn of polygons, and those that are culled; `None` if polygons are filled. `flat` are the locations that
/// fragments do not interpolate.
pub fn outlines(s: &GraphicsState, flat: u64) -> Option<Outlines> {
    let corners = match s.polygon_mode {
        vk::PolygonMode::FILL => return None,
        mode => mode == vk::PolygonMode::POINT,
    };
    // An area is positive in the framebuffer where the determinant is negative, as long as the viewport is not flipped.
    let is_flipped = s.viewports[0].height < 0.0;
    let front_is_negative = (s.front_face == vk::FrontFace::COUNTER_CLOCKWISE) != is_flipped;
    let culled = |is_front| {
        let face = if is_front { vk::CullModeFlags::FRONT } else { vk::CullModeFlags::BACK };
        s.cull_mode.contains(face)
    };
    let culls = [culled(front_is_negative), culled(!front_is_negative)];
    Some(Outlines { corners, culls, flat, last: s.provoking_last })
}

/// Topology of primitives that share no vertices.
pub fn list_topology(primitives: PrimitiveKind) -> vk::PrimitiveTopology {
    match primitives {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

/// Topology of a geometry shader's indices.
pub fn topology(emission: &Emission) -> vk::PrimitiveTopology {
    match emission.output {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_STRIP,
        _ => vk::PrimitiveTopology::TRIANGLE_STRIP,
    }
}
