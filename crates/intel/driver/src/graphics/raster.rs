//! Clipping, setup, rasterisation, viewports and scissors.

use tepui_intel_chips::Generation;
use tepui_intel_packets::output::{
    CcViewport, ScissorRect, SfClipViewport, State3dScissorStatePointers,
    State3dViewportStatePointersCc, State3dViewportStatePointersSfClip,
};
use tepui_intel_packets::pixel::State3dLineStipple;
use tepui_intel_packets::raster::{State3dClip, State3dRaster, State3dSbe, State3dSf};
use tepui_ir::PrimitiveKind;
use tepui_vulkan::{Result, vk};
use vk::LineRasterizationMode as Line;

use super::Context;
use crate::packets::Out;

/// Selections of the provoking vertex of triangle fans, lines, and triangle strips and lists. source: Mesa, genX_gfx_state.c
fn provoking(c: &Context<'_>) -> [u32; 3] {
    if c.state.provoking_last { [2, 1, 2] } else { [1, 0, 0] }
}

/// Whether positions are pixels: those of rectangles of operations on colours.
fn in_pixels(c: &Context<'_>) -> bool {
    c.fragment.is_some_and(|(v, _)| v.operation.is_some())
}

/// 3DSTATE_CLIP.
pub fn clip(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let info = c.outputs;
    let [fan, line, triangle] = provoking(c);
    out.put(&State3dClip {
        statistics_enable: c.statistics,
        clip_enable: !in_pixels(c),
        perspective_divide_disable: in_pixels(c),
        early_cull_enable: true,
        // Depth begins at 0; the other range takes OpenGL's mode.
        api_mode: !c.state.negative_one_to_one,
        // source: genxml, Clip Mode: 3 rejects all
        clip_mode: if c.state.discard { 3 } else { 0 },
        // Lines and points are cut by the scissor, not by the viewport.
        viewport_xy_clip_test_enable: shape(c) == Shape::Polygons,
        guardband_clip_test_enable: true,
        user_clip_distance_clip_test_enable_bitmask: info.clip_mask.into(),
        user_clip_distance_cull_test_enable_bitmask: info.cull_mask.into(),
        non_perspective_barycentric_enable: c.fragment.is_some_and(|f| f.1.linear),
        force_zero_rta_index_enable: !info.layer,
        maximum_vp_index: if info.viewport { c.state.viewport_count.max(1) - 1 } else { 0 },
        minimum_point_width: 0.125,
        maximum_point_width: 255.875,
        triangle_fan_provoking_vertex_select: fan,
        line_strip_list_provoking_vertex_select: line,
        triangle_strip_list_provoking_vertex_select: triangle,
        ..State3dClip::default()
    })
}

/// 3DSTATE_SF.
pub fn sf(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let [fan, line, triangle] = provoking(c);
    out.put(&State3dSf {
        viewport_transform_enable: !in_pixels(c),
        statistics_enable: c.statistics,
        point_width: 1.0,
        // False takes it from vertices.
        point_width_source: !c.outputs.point_size,
        line_width: c.state.line_width,
        legacy_global_depth_bias_enable: bias_unit(c).is_some(),
        triangle_fan_provoking_vertex_select: fan,
        line_strip_list_provoking_vertex_select: line,
        triangle_strip_list_provoking_vertex_select: triangle,
        aa_line_distance_mode: true,
        ..State3dSf::default()
    })
}

/// The kind of primitives that are rasterised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Points,
    Lines,
    Polygons,
}

/// The kind of primitives that are rasterised: those of the last stage before the rasteriser, of which polygons follow their mode.
fn shape(c: &Context<'_>) -> Shape {
    let made = match (c.geometry, c.tessellator) {
        (Some((_, geometry)), _) => match geometry.output {
            PrimitiveKind::Points => Shape::Points,
            PrimitiveKind::Lines => Shape::Lines,
            _ => Shape::Polygons,
        },
        // Of both origins the same but for the winding of triangles.
        (None, Some([tessellator, _])) => match tessellator.topology {
            0 => Shape::Points,
            1 => Shape::Lines,
            _ => Shape::Polygons,
        },
        (None, None) => of_topology(c.state.topology),
    };
    match c.state.polygon_mode {
        vk::PolygonMode::LINE if made == Shape::Polygons => Shape::Lines,
        vk::PolygonMode::POINT if made == Shape::Polygons => Shape::Points,
        _ => made,
    }
}

/// The kind of primitives that draws of a topology make without other stages.
fn of_topology(topology: vk::PrimitiveTopology) -> Shape {
    use vk::PrimitiveTopology as T;
    match topology {
        T::LINE_LIST
        | T::LINE_STRIP
        | T::LINE_LIST_WITH_ADJACENCY
        | T::LINE_STRIP_WITH_ADJACENCY => Shape::Lines,
        T::POINT_LIST => Shape::Points,
        _ => Shape::Polygons,
    }
}

/// Whether lines are rasterised.
fn are_lines(c: &Context<'_>) -> bool {
    shape(c) == Shape::Lines
}

/// The rules for lines.
fn line_mode(c: &Context<'_>) -> Line {
    match c.state.line_mode {
        Line::DEFAULT if c.state.samples > 1 => Line::RECTANGULAR,
        Line::DEFAULT => Line::BRESENHAM,
        mode => mode,
    }
}

/// API Mode and DX Multisample Rasterization Enable. source: Mesa, genX_gfx_state.c (`anv_rasterization_mode`)
fn modes(c: &Context<'_>) -> (u32, bool) {
    /// Rules for lines of one pixel, and rules that are Vulkan's for all else. source: genxml, DX9/OGL, DX10.1+
    const OGL: u32 = 0;
    const DX101: u32 = 2;
    match (are_lines(c), line_mode(c)) {
        (false, _) => (DX101, true),
        // Skylake draws wider lines as parallelograms, which it does not offer as rectangles.
        (true, Line::RECTANGULAR) => {
            (DX101, c.generation == Generation::Gen12 || c.state.line_width < 1.007_812_5)
        }
        (true, _) => (OGL, false),
    }
}

/// 3DSTATE_LINE_STIPPLE.
pub fn stipple(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let (factor, pattern) = c.state.stipple;
    // The factor may be any number where lines are not stippled.
    let factor = factor.clamp(1, 256);
    out.put(&State3dLineStipple {
        line_stipple_pattern: pattern.into(),
        line_stipple_repeat_count: factor,
        line_stipple_inverse_repeat_count: 1.0 / factor as f32,
        ..State3dLineStipple::default()
    })
}

/// The unit of the constant part of the depth bias where it is not the depth format's. source: Mesa, genX_gfx_state.c: Legacy Global
/// Depth Bias Enable makes the hardware's unit 1
fn bias_unit(c: &Context<'_>) -> Option<f32> {
    let unit = c.state.depth_bias_unit;
    if unit.one {
        return Some(1.0);
    }
    // The step of fixed point of as many bits as the float's fraction and its first bit.
    (unit.unorm && c.float_depth).then_some(1.0 / (1 << 24) as f32)
}

/// 3DSTATE_RASTER.
pub fn raster(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let s = c.state;
    let fill = match s.polygon_mode {
        vk::PolygonMode::LINE => 1,
        vk::PolygonMode::POINT => 2,
        _ => 0,
    };
    let [constant, clamp, slope] = s.depth_bias;
    let constant = constant * bias_unit(c).unwrap_or(1.0);
    let clips = s.depth_clip.unwrap_or(!s.depth_clamp);
    let (api_mode, several) = modes(c);
    out.put(&State3dRaster {
        viewport_z_near_clip_test_enable: clips,
        viewport_z_far_clip_test_enable: clips,
        scissor_rectangle_enable: true,
        front_face_fill_mode: fill,
        back_face_fill_mode: fill,
        global_depth_offset_enable_point: s.depth_bias_enable,
        global_depth_offset_enable_wireframe: s.depth_bias_enable,
        global_depth_offset_enable_solid: s.depth_bias_enable,
        global_depth_offset_constant: constant,
        global_depth_offset_scale: slope,
        global_depth_offset_clamp: clamp,
        dx_multisample_rasterization_enable: several,
        // source: genxml: 3 is on for every pattern
        dx_multisample_rasterization_mode: if several { 3 } else { 0 },
        cull_mode: match s.cull_mode {
            m if m == vk::CullModeFlags::FRONT_AND_BACK => 0,
            m if m == vk::CullModeFlags::FRONT => 2,
            m if m == vk::CullModeFlags::BACK => 3,
            _ => 1,
        },
        front_winding: s.front_face == vk::FrontFace::COUNTER_CLOCKWISE,
        api_mode,
        conservative_rasterization_enable: s.conservative,
        antialiasing_enable: are_lines(c) && line_mode(c) == Line::RECTANGULAR_SMOOTH,
        ..State3dRaster::default()
    })
}

/// 3DSTATE_SBE and 3DSTATE_SBE_SWIZ: the fragment's attributes.
pub fn setup(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let setup = c.setup;
    let xyzw = 3;
    out.put(&State3dSbe {
        attribute_active_component_format_0: xyzw,
        attribute_active_component_format_1: xyzw,
        attribute_active_component_format_2: xyzw,
        attribute_active_component_format_3: xyzw,
        attribute_active_component_format_4: xyzw,
        attribute_active_component_format_5: xyzw,
        attribute_active_component_format_6: xyzw,
        attribute_active_component_format_7: xyzw,
        attribute_active_component_format_8: xyzw,
        attribute_active_component_format_9: xyzw,
        attribute_active_component_format_10: xyzw,
        attribute_active_component_format_11: xyzw,
        attribute_active_component_format_12: xyzw,
        attribute_active_component_format_13: xyzw,
        attribute_active_component_format_14: xyzw,
        attribute_active_component_format_15: xyzw,
        attribute_active_component_format_16: xyzw,
        attribute_active_component_format_17: xyzw,
        attribute_active_component_format_18: xyzw,
        attribute_active_component_format_19: xyzw,
        attribute_active_component_format_20: xyzw,
        attribute_active_component_format_21: xyzw,
        attribute_active_component_format_22: xyzw,
        attribute_active_component_format_23: xyzw,
        attribute_active_component_format_24: xyzw,
        attribute_active_component_format_25: xyzw,
        attribute_active_component_format_26: xyzw,
        attribute_active_component_format_27: xyzw,
        attribute_active_component_format_28: xyzw,
        attribute_active_component_format_29: xyzw,
        attribute_active_component_format_30: xyzw,
        attribute_active_component_format_31: xyzw,
        ..tepui_intel_programs::setup(setup)
    })?;
    out.put(&tepui_intel_programs::swizzles(setup))
}

/// CC_VIEWPORTs: the range that depth is clamped to.
pub fn depth_viewports(c: &Context<'_>, out: &mut Out) -> Result<()> {
    for k in 0..c.state.viewport_count.max(1) as usize {
        // Clipped depth is in the viewport's range.
        let [minimum_depth, maximum_depth] = c.state.depth_range(k);
        out.put(&CcViewport { minimum_depth, maximum_depth })?;
    }
    Ok(())
}

/// 3DSTATE_VIEWPORT_STATE_POINTERS_CC.
pub fn depth_viewports_pointer(cc_viewport_pointer: u64, out: &mut Out) -> Result<()> {
    out.put(&State3dViewportStatePointersCc { cc_viewport_pointer })
}

/// SF_CLIP_VIEWPORTs: from clip space to pixels, and the guard band.
pub fn viewports(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let area = c.area;
    let end = |start: i32, size: u32| (i64::from(start) + i64::from(size)) as f32;
    let (right, bottom) =
        (end(area.offset.x, area.extent.width), end(area.offset.y, area.extent.height));
    for v in &c.state.viewports[..c.state.viewport_count.max(1) as usize] {
        let (m00, m11) = (v.width / 2.0, v.height / 2.0);
        let (m30, m31) = (v.x + m00, v.y + m11);
        let (m22, m32) = match c.state.negative_one_to_one {
            true => ((v.max_depth - v.min_depth) / 2.0, (v.max_depth + v.min_depth) / 2.0),
            false => (v.max_depth - v.min_depth, v.min_depth),
        };
        let (x, y) = (guard_band(m00, m30, right), guard_band(m11, m31, bottom));
        let (top, low) = (v.y.min(v.y + v.height), v.y.max(v.y + v.height));
        out.put(&SfClipViewport {
            viewport_matrix_element_m00: m00,
            viewport_matrix_element_m11: m11,
            viewport_matrix_element_m22: m22,
            viewport_matrix_element_m30: m30,
            viewport_matrix_element_m31: m31,
            viewport_matrix_element_m32: m32,
            x_min_clip_guardband: x[0],
            x_max_clip_guardband: x[1],
            y_min_clip_guardband: y[0],
            y_max_clip_guardband: y[1],
            x_min_viewport: v.x.max(0.0),
            x_max_viewport: (v.x + v.width).min(right) - 1.0,
            y_min_viewport: top.max(0.0),
            y_max_viewport: low.min(bottom) - 1.0,
        })?;
    }
    Ok(())
}

/// 3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP.
pub fn viewports_pointer(sf_clip_viewport_pointer: u64, out: &mut Out) -> Result<()> {
    out.put(&State3dViewportStatePointersSfClip { sf_clip_viewport_pointer })
}

/// The guard band of a direction in clip space: pixels up to half of the rasteriser's range on both sides of what is drawn to.
///
/// source: Mesa, intel_guardband.h
fn guard_band(scale: f32, centre: f32, size: f32) -> [f32; 2] {
    /// Pixels on each side.
    const REACH: f32 = 16384.0;
    if scale == 0.0 {
        return [-1.0, 1.0];
    }
    let low = (centre - scale.abs()).max(0.0);
    let high = (centre + scale.abs()).min(size);
    let middle = (low + high) / 2.0;
    let [a, b] = [middle - REACH, middle + REACH].map(|edge| (edge - centre) / scale);
    [a.min(b), a.max(b)]
}

/// SCISSOR_RECTs, within the area that is rendered.
pub fn scissors(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let range = |start: i32, size: u32| (i64::from(start), i64::from(start) + i64::from(size));
    let area = c.area;
    for r in &c.state.scissors[..c.state.viewport_count.max(1) as usize] {
        let cut = |a: (i64, i64), b: (i64, i64)| (a.0.max(b.0).max(0), a.1.min(b.1));
        let x = cut(range(r.offset.x, r.extent.width), range(area.offset.x, area.extent.width));
        let y = cut(range(r.offset.y, r.extent.height), range(area.offset.y, area.extent.height));
        // Edges are inclusive; one whose minimum is greater than its maximum is empty.
        let empty = x.0 >= x.1 || y.0 >= y.1;
        let edges =
            |(from, to): (i64, i64)| if empty { (1, 0) } else { (from as u32, to as u32 - 1) };
        let ((left, right), (top, bottom)) = (edges(x), edges(y));
        out.put(&ScissorRect {
            scissor_rectangle_x_min: left,
            scissor_rectangle_y_min: top,
            scissor_rectangle_x_max: right,
            scissor_rectangle_y_max: bottom,
        })?;
    }
    Ok(())
}

/// 3DSTATE_SCISSOR_STATE_POINTERS.
pub fn scissors_pointer(scissor_rect_pointer: u64, out: &mut Out) -> Result<()> {
    out.put(&State3dScissorStatePointers { scissor_rect_pointer })
}

#[cfg(test)]
mod tests {
    use super::guard_band;

    #[test]
    fn guard_bands_reach_as_far_on_both_sides_of_what_is_drawn_to() {
        // A viewport of 256 pixels at 0: its middle is at 128.
        assert_eq!(guard_band(128.0, 128.0, 256.0), [-128.0, 128.0]);
        // Mirrored, and with less of it visible.
        assert_eq!(guard_band(-128.0, 128.0, 256.0), [-128.0, 128.0]);
        let [low, high] = guard_band(128.0, 128.0, 128.0);
        assert_eq!(((low + high) / 2.0, high - low), (-0.5, 256.0));
    }
}
