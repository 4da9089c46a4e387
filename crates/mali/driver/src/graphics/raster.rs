//! Depth and stencil descriptors, and the flags of draws.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`prepare_ds`, `prepare_dcd`, `set_tiler_idvs_flags`), pan_earlyzs.c

use tepui_mali_compiler::FragmentInfo;
use tepui_mali_packets::Packet;
use tepui_mali_packets::draw::{
    DcdFlags0, DcdFlags1, DepthClampMode, DepthSource, DepthStencil, DrawMode, FifoFormat,
    OcclusionMode, PixelKill, PointSizeArrayFormat, PrimitiveFlags, Scissor, StencilOp,
};
use tepui_mali_packets::texture::CompareFunction;
use tepui_vulkan::state::{GraphicsState, Stencil};
use tepui_vulkan::{Error, Result, vk};

use crate::packed::packet;

/// Attachments that a rendering has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tests {
    /// Depth.
    pub depth: bool,
    /// Stencil.
    pub stencil: bool,
}

fn compare(op: vk::CompareOp) -> CompareFunction {
    match op {
        vk::CompareOp::LESS => CompareFunction::Less,
        vk::CompareOp::EQUAL => CompareFunction::Equal,
        vk::CompareOp::LESS_OR_EQUAL => CompareFunction::Lequal,
        vk::CompareOp::GREATER => CompareFunction::Greater,
        vk::CompareOp::NOT_EQUAL => CompareFunction::NotEqual,
        vk::CompareOp::GREATER_OR_EQUAL => CompareFunction::Gequal,
        vk::CompareOp::ALWAYS => CompareFunction::Always,
        _ => CompareFunction::Never,
    }
}

fn stencil(op: vk::StencilOp) -> StencilOp {
    match op {
        vk::StencilOp::ZERO => StencilOp::Zero,
        vk::StencilOp::REPLACE => StencilOp::Replace,
        vk::StencilOp::INCREMENT_AND_CLAMP => StencilOp::IncrSat,
        vk::StencilOp::DECREMENT_AND_CLAMP => StencilOp::DecrSat,
        vk::StencilOp::INVERT => StencilOp::Invert,
        vk::StencilOp::INCREMENT_AND_WRAP => StencilOp::IncrWrap,
        vk::StencilOp::DECREMENT_AND_WRAP => StencilOp::DecrWrap,
        _ => StencilOp::Keep,
    }
}

/// Whether primitives are clipped in depth.
fn clips(s: &GraphicsState) -> bool {
    s.depth_clip.unwrap_or(!s.depth_clamp)
}

/// The depth and stencil descriptor.
///
/// # Errors
/// When a value does not fit.
pub fn depth_stencil(s: &GraphicsState, has: Tests, f: Option<&FragmentInfo>) -> Result<Vec<u8>> {
    let (tests_depth, tests_stencil) = (has.depth && s.depth_test, has.stencil && s.stencil_test);
    let face = |k: usize| -> Stencil { s.stencil[k] };
    let mut out = DepthStencil {
        stencil_test_enable: tests_stencil,
        stencil_from_shader: f.is_some_and(|f| f.stencil),
        front_write_mask: s.stencil_write_mask[0] & 0xff,
        back_write_mask: s.stencil_write_mask[1] & 0xff,
        front_value_mask: s.stencil_compare_mask[0] & 0xff,
        back_value_mask: s.stencil_compare_mask[1] & 0xff,
        front_reference_value: s.stencil_reference[0] & 0xff,
        back_reference_value: s.stencil_reference[1] & 0xff,
        front_compare_function: CompareFunction::Always,
        back_compare_function: CompareFunction::Always,
        depth_cull_enable: clips(s),
        depth_clamp_mode: match s.depth_clamp {
            true => DepthClampMode::Bounds,
            false => DepthClampMode::ZeroToOne,
        },
        depth_source: match f.is_some_and(|f| f.depth) {
            true => DepthSource::Shader,
            false => DepthSource::FixedFunction,
        },
        depth_write_enable: tests_depth && s.depth_write,
        depth_bias_enable: s.depth_bias_enable,
        depth_function: match tests_depth {
            true => compare(s.depth_compare),
            false => CompareFunction::Always,
        },
        depth_units: s.depth_bias[0],
        depth_factor: s.depth_bias[2],
        depth_bias_clamp: s.depth_bias[1],
        ..DepthStencil::default()
    };
    if tests_stencil {
        let (front, back) = (face(0), face(1));
        out.front_compare_function = compare(front.compare);
        out.front_stencil_fail = stencil(front.fail);
        out.front_depth_fail = stencil(front.depth_fail);
        out.front_depth_pass = stencil(front.pass);
        out.back_compare_function = compare(back.compare);
        out.back_stencil_fail = stencil(back.fail);
        out.back_depth_fail = stencil(back.depth_fail);
        out.back_depth_pass = stencil(back.pass);
    }
    Ok(out.pack().map_err(packet)?.to_vec())
}

fn word<P: Packet>(p: &P) -> Result<u32> {
    let mut bytes = [0; 4];
    p.pack_into(&mut bytes).map_err(packet)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Whether depth or stencil may change.
fn writes_tests(s: &GraphicsState, has: Tests) -> bool {
    has.depth && s.depth_test && s.depth_write || has.stencil && s.stencil_test
}

/// An occlusion query that counts samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occlusion {
    /// Address of the counter.
    pub address: u64,
    /// Samples are counted, instead of whether there are some.
    pub precise: bool,
}

/// Samples of pixels, and the query that counts them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling {
    /// Samples of a pixel.
    pub samples: u32,
    /// The query.
    pub occlusion: Option<Occlusion>,
    /// The hardware takes samples away as alpha says.
    pub alpha_to_coverage: bool,
}

/// When fragments are killed by the tests, and when these update depth and stencil.
fn early(
    s: &GraphicsState,
    has: Tests,
    f: &FragmentInfo,
    is_counted: bool,
) -> (PixelKill, PixelKill) {
    if f.early_tests {
        return (PixelKill::ForceEarly, PixelKill::ForceEarly);
    }
    let writes = f.depth || f.stencil;
    let changes_coverage = f.discards || f.sample_mask || s.alpha_to_coverage;
    let late_update =
        writes || changes_coverage && (is_counted || writes_tests(s, has)) || s.alpha_to_coverage;
    let late_kill = writes || f.side_effects;
    let of = |late| if late { PixelKill::ForceLate } else { PixelKill::ForceEarly };
    (of(late_kill), of(late_update))
}

/// The first two words of a draw descriptor: its flags.
///
/// # Errors
/// When a value does not fit.
pub fn flags(
    s: &GraphicsState,
    has: Tests,
    f: Option<&FragmentInfo>,
    targets: u8,
    sampling: Sampling,
) -> Result<[u32; 2]> {
    let is_multisampled = sampling.samples > 1;
    let mut first = DcdFlags0 {
        multisample_enable: is_multisampled,
        single_sampled_lines: s.line_mode == vk::LineRasterizationMode::BRESENHAM,
        occlusion_query: match sampling.occlusion {
            None => OcclusionMode::Disabled,
            Some(o) if o.precise => OcclusionMode::Counter,
            Some(_) => OcclusionMode::Predicate,
        },
        front_face_ccw: s.front_face == vk::FrontFace::COUNTER_CLOCKWISE,
        cull_front_face: s.cull_mode.contains(vk::CullModeFlags::FRONT),
        cull_back_face: s.cull_mode.contains(vk::CullModeFlags::BACK),
        ..DcdFlags0::default()
    };
    match f {
        Some(f) => {
            (first.pixel_kill_operation, first.zs_update_operation) =
                early(s, has, f, sampling.occlusion.is_some());
            first.evaluate_per_sample = f.per_sample && is_multisampled;
            first.alpha_to_coverage = sampling.alpha_to_coverage;
            first.shader_modifies_coverage =
                f.discards || f.sample_mask || sampling.alpha_to_coverage;
        }
        None => {
            first.overdraw_alpha0 = true;
            first.overdraw_alpha1 = true;
        }
    }
    let second = DcdFlags1 {
        sample_mask: if is_multisampled { s.sample_mask & 0xffff } else { 0xffff },
        render_target_mask: if f.is_some() { targets.into() } else { 0 },
    };
    Ok([word(&first)?, word(&second)?])
}

/// Outputs of a vertex program that are in the flags of primitives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs {
    /// Point sizes are stored.
    pub point_size: bool,
    /// Layers are stored.
    pub layer: bool,
    /// A varying program runs.
    pub varyings: bool,
}

/// The flags of primitives, without indices.
///
/// # Errors
/// When there are no such primitives.
pub fn primitives(s: &GraphicsState, outputs: Outputs) -> Result<PrimitiveFlags> {
    let draw_mode = match s.topology {
        vk::PrimitiveTopology::POINT_LIST => DrawMode::Points,
        vk::PrimitiveTopology::LINE_LIST => DrawMode::Lines,
        vk::PrimitiveTopology::LINE_STRIP => DrawMode::LineStrip,
        vk::PrimitiveTopology::TRIANGLE_LIST => DrawMode::Triangles,
        vk::PrimitiveTopology::TRIANGLE_STRIP => DrawMode::TriangleStrip,
        vk::PrimitiveTopology::TRIANGLE_FAN => DrawMode::TriangleFan,
        other => {
            let n = other.as_raw();
            return Err(Error::unsupported(format!("primitives of topology {n} on Mali")));
        }
    };
    let extended = outputs.point_size || outputs.layer;
    Ok(PrimitiveFlags {
        draw_mode,
        point_size_array_format: match outputs.point_size {
            true => PointSizeArrayFormat::Fp16,
            false => PointSizeArrayFormat::None,
        },
        layer_index_enable: outputs.layer,
        position_fifo_format: if extended { FifoFormat::Extended } else { FifoFormat::Basic },
        low_depth_cull: clips(s),
        high_depth_cull: clips(s),
        secondary_shader: outputs.varyings,
        primitive_restart: s.restart,
        ..PrimitiveFlags::default()
    })
}

/// The box of pixels that a draw may touch: a viewport and its scissor in the framebuffer; none if it is empty.
pub fn scissor(s: &GraphicsState, viewport: usize, size: [u32; 2]) -> Option<Scissor> {
    let v = &s.viewports[viewport];
    let r = &s.scissors[viewport];
    let span = |start: f32, length: f32, at: i32, extent: u32, size: u32| {
        let (low, high) = (start.min(start + length).floor(), start.max(start + length).ceil());
        let first = (low.max(0.0) as i64).max(at.into());
        let end = (high.max(0.0) as i64).min(i64::from(at) + i64::from(extent)).min(size.into());
        (first < end).then(|| (first as u32, end as u32 - 1))
    };
    let (scissor_minimum_x, scissor_maximum_x) =
        span(v.x, v.width, r.offset.x, r.extent.width, size[0])?;
    let (scissor_minimum_y, scissor_maximum_y) =
        span(v.y, v.height, r.offset.y, r.extent.height, size[1])?;
    Some(Scissor { scissor_minimum_x, scissor_minimum_y, scissor_maximum_x, scissor_maximum_y })
}

/// Factor and offset of a viewport in a direction of normalised coordinates.
pub fn viewport(s: &GraphicsState, number: usize, axis: u8) -> [f32; 2] {
    let v = &s.viewports[number];
    match (axis, s.negative_one_to_one) {
        (0, _) => [v.width / 2.0, v.x + v.width / 2.0],
        (1, _) => [v.height / 2.0, v.y + v.height / 2.0],
        (_, true) => [(v.max_depth - v.min_depth) / 2.0, (v.max_depth + v.min_depth) / 2.0],
        (_, false) => [v.max_depth - v.min_depth, v.min_depth],
    }
}
