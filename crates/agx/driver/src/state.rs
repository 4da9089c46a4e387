//! Fixed-function state: from the API's terms to the hardware's.

use tepui_agx_packets::{ppp, render};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, vk};

use crate::device::packet;
use crate::encoder::render::Render;

/// Places of samples in sixteenths of a pixel: Vulkan's standard locations.
pub fn sample_places(samples: u8) -> [[u32; 2]; 4] {
    match samples {
        2 => [[12, 12], [4, 4], [8, 8], [8, 8]],
        4 => [[6, 2], [14, 6], [2, 10], [10, 14]],
        _ => [[8, 8]; 4],
    }
}

/// The largest coordinate of a sample in sixteenths of a pixel.
pub const MAX_SAMPLE_PLACE: u32 = 15;

/// Places of samples that the application chose; `None` for the standard ones.
pub fn own_sample_places(s: &GraphicsState) -> Option<[[u32; 2]; 4]> {
    let sixteenths = |x: f32| ((x * 16.0).max(0.0) as u32).min(MAX_SAMPLE_PLACE);
    s.sample_locations_enable.then(|| s.sample_locations.map(|place| place.map(sixteenths)))
}

/// A comparison.
pub fn zs_func(op: vk::CompareOp) -> ppp::ZsFunc {
    match op {
        vk::CompareOp::LESS => ppp::ZsFunc::Less,
        vk::CompareOp::EQUAL => ppp::ZsFunc::Equal,
        vk::CompareOp::LESS_OR_EQUAL => ppp::ZsFunc::Lequal,
        vk::CompareOp::GREATER => ppp::ZsFunc::Greater,
        vk::CompareOp::NOT_EQUAL => ppp::ZsFunc::NotEqual,
        vk::CompareOp::GREATER_OR_EQUAL => ppp::ZsFunc::Gequal,
        vk::CompareOp::ALWAYS => ppp::ZsFunc::Always,
        _ => ppp::ZsFunc::Never,
    }
}

fn stencil_op(op: vk::StencilOp) -> ppp::StencilOp {
    match op {
        vk::StencilOp::ZERO => ppp::StencilOp::Zero,
        vk::StencilOp::REPLACE => ppp::StencilOp::Replace,
        vk::StencilOp::INCREMENT_AND_CLAMP => ppp::StencilOp::IncrSat,
        vk::StencilOp::DECREMENT_AND_CLAMP => ppp::StencilOp::DecrSat,
        vk::StencilOp::INVERT => ppp::StencilOp::Invert,
        vk::StencilOp::INCREMENT_AND_WRAP => ppp::StencilOp::IncrWrap,
        vk::StencilOp::DECREMENT_AND_WRAP => ppp::StencilOp::DecrWrap,
        _ => ppp::StencilOp::Keep,
    }
}

/// Stencil test of a face.
pub fn stencil(s: &GraphicsState, face: usize, has_stencil: bool) -> ppp::FragmentStencil {
    if !has_stencil || !s.stencil_test {
        return ppp::FragmentStencil { compare: ppp::ZsFunc::Always, ..Default::default() };
    }
    let st = &s.stencil[face];
    ppp::FragmentStencil {
        write_mask: u64::from(s.stencil_write_mask[face] & 0xff) as _,
        read_mask: u64::from(s.stencil_compare_mask[face] & 0xff) as _,
        depth_pass: stencil_op(st.pass),
        depth_fail: stencil_op(st.depth_fail),
        stencil_fail: stencil_op(st.fail),
        compare: zs_func(st.compare),
    }
}

/// Whether lines are drawn.
pub fn is_line(s: &GraphicsState) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(s.topology, T::LINE_LIST | T::LINE_STRIP)
        || is_polygon(s) && s.polygon_mode == vk::PolygonMode::LINE
}

fn is_polygon(s: &GraphicsState) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(s.topology, T::TRIANGLE_LIST | T::TRIANGLE_STRIP | T::TRIANGLE_FAN)
}

/// The type of what is rasterised.
pub fn object_type(s: &GraphicsState) -> ppp::ObjectType {
    use vk::PrimitiveTopology as T;
    match (s.topology, s.polygon_mode) {
        (T::POINT_LIST, _) => ppp::ObjectType::PointSpriteUv01,
        (T::LINE_LIST | T::LINE_STRIP, _) => ppp::ObjectType::Line,
        (_, vk::PolygonMode::LINE) => ppp::ObjectType::LineFilledTriangle,
        (_, vk::PolygonMode::POINT) => ppp::ObjectType::PointFilledTriangle,
        _ => ppp::ObjectType::Triangle,
    }
}

/// Culling and clipping.
pub fn cull(s: &GraphicsState, provoking: u8) -> ppp::Cull {
    let is_bresenham = s.line_mode == vk::LineRasterizationMode::BRESENHAM;
    let clip = s.depth_clip.unwrap_or(!s.depth_clamp);
    ppp::Cull {
        cull_front: s.cull_mode.contains(vk::CullModeFlags::FRONT),
        cull_back: s.cull_mode.contains(vk::CullModeFlags::BACK),
        flat_shading_vertex: match provoking {
            0 => ppp::PppVertex::Vertex0,
            1 => ppp::PppVertex::Vertex1,
            _ => ppp::PppVertex::Vertex2,
        },
        depth_clip: clip,
        depth_clamp: !clip,
        // All samples of a pixel or none: other lines cover samples as a rectangle does. source: Mesa, hk_cmd_draw.c, primitive_msaa
        primitive_msaa: is_bresenham && object_type(s) == ppp::ObjectType::Line,
        front_face_ccw: s.front_face == vk::FrontFace::COUNTER_CLOCKWISE,
        rasterizer_discard: s.discard,
    }
}

/// A viewport.
pub fn viewport(s: &GraphicsState, k: usize) -> ppp::Viewport {
    let v = s.viewports[k];
    let (near, far) = (v.min_depth, v.max_depth);
    ppp::Viewport {
        translate_x: v.x + v.width / 2.0,
        scale_x: v.width / 2.0,
        translate_y: v.y + v.height / 2.0,
        scale_y: v.height / 2.0,
        translate_z: near,
        scale_z: far - near,
    }
}

/// The rectangle of pixels that a viewport's primitives are drawn to: left, top, right, bottom. The hardware clips points and lines at
/// its guard band alone, so that the viewport bounds what is drawn of those with their centres outside. source: Mesa, hk_flush_vp_state
fn rectangle(s: &GraphicsState, k: usize, r: &Render) -> [u32; 4] {
    let v = s.viewports[k];
    let (x0, x1) = (v.x.min(v.x + v.width), v.x.max(v.x + v.width));
    let (y0, y1) = (v.y.min(v.y + v.height), v.y.max(v.y + v.height));
    let sc = if k < s.scissor_count as usize { s.scissors[k] } else { s.scissors[0] };
    let area = r.area;
    let clamp = |v: f32, most: u32| v.max(0.0).min(most as f32) as u32;
    let left = clamp(x0.floor(), r.size[0])
        .max(sc.offset.x.max(0) as u32)
        .max(area.offset.x.max(0) as u32);
    let top = clamp(y0.floor(), r.size[1])
        .max(sc.offset.y.max(0) as u32)
        .max(area.offset.y.max(0) as u32);
    let end = |o: i32, e: u32| (i64::from(o) + i64::from(e)).clamp(0, i64::from(u32::MAX)) as u32;
    let right = clamp(x1.ceil(), r.size[0])
        .min(end(sc.offset.x, sc.extent.width))
        .min(end(area.offset.x, area.extent.width));
    let bottom = clamp(y1.ceil(), r.size[1])
        .min(end(sc.offset.y, sc.extent.height))
        .min(end(area.offset.y, area.extent.height));
    [left, top, right.max(left), bottom.max(top)]
}

/// A scissor with the range of depth.
pub fn scissor(s: &GraphicsState, k: usize, r: &Render) -> Result<[u8; 16]> {
    let [min_x, min_y, max_x, max_y] = rectangle(s, k, r);
    // source: Mesa, hk_cmd_draw.c
    let [min_z, max_z] = s.depth_range(k);
    render::Scissor { max_x, min_x, max_y, min_y, min_z, max_z }.pack().map_err(packet)
}

/// The tiles that a viewport's rectangle touches.
pub fn region(s: &GraphicsState, k: usize, r: &Render) -> ppp::RegionClip {
    let [left, top, right, bottom] = rectangle(s, k, r);
    let min = |v: u32| (v / 32).min(511);
    let max = |v: u32, from: u32| v.div_ceil(32).max(min(from) + 1).min(512);
    ppp::RegionClip {
        max_x: max(right, left),
        min_x: min(left),
        enable: true,
        max_y: max(bottom, top),
        min_y: min(top),
    }
}

/// Depth bias. For fixed-point depth the hardware takes the constant as a share of the range. source: Mesa, hk_cmd_draw.c,
/// hk_depth_bias_factor
pub fn depth_bias(s: &GraphicsState, depth_16: bool) -> render::DepthBias {
    let [constant, clamp, slope_scale] = s.depth_bias;
    let steps = match (depth_16, s.depth_bias_unit.unorm) {
        (true, _) => (1u32 << 16) as f32,
        (false, true) => (1u32 << 24) as f32,
        (false, false) => 1.0,
    };
    let is_float = steps == 1.0;
    let steps = if s.depth_bias_unit.exact || is_float { steps } else { steps / 2.0 };
    let constant = constant / steps;
    render::DepthBias { depth_bias: constant, slope_scale, clamp }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bresenham_lines_have_no_coverage_of_samples() {
        use vk::{LineRasterizationMode as M, PrimitiveTopology as T};
        let lines = |topology, polygon_mode, line_mode| {
            cull(&GraphicsState { topology, polygon_mode, line_mode, ..Default::default() }, 0)
                .primitive_msaa
        };
        let fill = vk::PolygonMode::FILL;
        for topology in [T::LINE_LIST, T::LINE_STRIP] {
            assert!(lines(topology, fill, M::BRESENHAM));
            assert!(!lines(topology, fill, M::DEFAULT));
            assert!(!lines(topology, fill, M::RECTANGULAR));
        }
        // The edges of polygons are lines of another type of object.
        assert!(!lines(T::TRIANGLE_LIST, vk::PolygonMode::LINE, M::BRESENHAM));
        assert!(!lines(T::POINT_LIST, fill, M::BRESENHAM));
    }
}
