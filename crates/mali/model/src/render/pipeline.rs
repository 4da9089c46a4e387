//! The fragment pipeline of a draw, once its descriptors have been read.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tepui_mali_isa::Special;
use tepui_mali_packets::draw::{
    Blend, BlendMode, DepthClampMode, DepthSource, DepthStencil, OcclusionMode, PixelKill,
    StencilOp as Op,
};
use tepui_mali_packets::shader::ShaderStage;
use tepui_mali_packets::texture::CompareFunction;
use tepui_mali_packets::{Packet, revision};
use tepui_raster::{Compare, DepthBias, Stencil, StencilOp, Tests};
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::midgard;
use super::stage::Stage;
use crate::gpu::Gpu;
use crate::job::{JobFault, Unit};
use crate::pixels::MAX_TARGETS;
use crate::pixels::draw::Draw;
use crate::pixels::framebuffer::Framebuffer;
use crate::pixels::state::FragmentState;
use crate::shader::copies::Copies;

/// The fragment pipeline of a draw.
pub(crate) struct Pipeline {
    pub stage: Option<Stage>,
    pub state: Arc<FragmentState>,
    /// The copies of a frame shader that only copies texels.
    pub copies: Option<Copies>,
}

/// The comparison of a compare function.
pub(crate) fn compare(function: CompareFunction) -> Compare {
    match function {
        CompareFunction::Never => Compare::NEVER,
        CompareFunction::Less => Compare::LESS,
        CompareFunction::Equal => Compare::EQUAL,
        CompareFunction::Lequal => Compare::LEQUAL,
        CompareFunction::Greater => Compare::GREATER,
        CompareFunction::NotEqual => Compare::NOT_EQUAL,
        CompareFunction::Gequal => Compare::GEQUAL,
        CompareFunction::Always => Compare::ALWAYS,
    }
}

fn operation(op: Op) -> StencilOp {
    match op {
        Op::Keep => StencilOp::Keep,
        Op::Replace => StencilOp::Replace,
        Op::Zero => StencilOp::Zero,
        Op::Invert => StencilOp::Invert,
        Op::IncrWrap => StencilOp::IncrWrap,
        Op::DecrWrap => StencilOp::DecrWrap,
        Op::IncrSat => StencilOp::IncrSat,
        Op::DecrSat => StencilOp::DecrSat,
    }
}

fn tests(d: &DepthStencil) -> [Tests; 2] {
    let depth = compare(d.depth_function);
    let of = |stencil: Stencil| Tests {
        depth,
        write: d.depth_write_enable,
        stencil: d.stencil_test_enable.then_some(stencil),
    };
    let front = Stencil {
        compare: compare(d.front_compare_function),
        reference: d.front_reference_value as u8,
        read_mask: d.front_value_mask as u8,
        write_mask: d.front_write_mask as u8,
        fail: operation(d.front_stencil_fail),
        depth_fail: operation(d.front_depth_fail),
        pass: operation(d.front_depth_pass),
    };
    let back = Stencil {
        compare: compare(d.back_compare_function),
        reference: d.back_reference_value as u8,
        read_mask: d.back_value_mask as u8,
        write_mask: d.back_write_mask as u8,
        fail: operation(d.back_stencil_fail),
        depth_fail: operation(d.back_depth_fail),
        pass: operation(d.back_depth_pass),
    };
    [of(front), of(back)]
}

impl Pipeline {
    /// The pipeline of a draw.
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        framebuffer: &Framebuffer,
        state: &Draw,
    ) -> Result<Pipeline, JobFault> {
        let mut memory = UnitMemory::new(vm);
        let flags = &state.flags_0;
        let mut stage = Stage::read(gpu, vm, &state.fragment, &[ShaderStage::Fragment])?;
        let d = state.depth(&mut memory)?;
        let (mut blends, mut midgard_blends) = (ArrayVec::new(), ArrayVec::new());
        let targets = match state.blend_count {
            u32::MAX => framebuffer.targets.len() as u32,
            count => count.min(MAX_TARGETS as u32),
        };
        for index in 0..targets {
            if gpu.chip().arch.0 < 6 {
                let internal = framebuffer.targets.get(index as usize).map(|t| t.internal);
                let (arch, at) = (gpu.chip().arch, state.blend);
                let (equation, own) = midgard::blend(arch, &mut memory, at, index, internal)?;
                blends.push(equation);
                midgard_blends.push(own);
                continue;
            }
            let at = state.blend + u64::from(index) * Blend::SIZE_BYTES as u64;
            let bytes = memory.read_array::<{ Blend::SIZE_BYTES }>(at);
            let bytes = bytes.map_err(|fault| JobFault::memory(Unit::Fragment, fault))?;
            // If a shader blends, or nothing is written, the equation is not read.
            let mode = BlendMode::from_raw(u64::from(bytes[8] & 3));
            let blend = match mode {
                Some(mode @ (BlendMode::Shader | BlendMode::Off)) => {
                    Blend { mode, ..Blend::default() }
                }
                _ => Blend::unpack_as(&bytes, revision(gpu.chip().arch.0)).map_err(|problem| {
                    JobFault::new(Unit::Fragment, format!("blend {index}: {problem}"))
                })?,
            };
            blends.push(blend);
            // The shader reads the upper half.
            let (_, upper) = bytes.as_chunks::<8>().0.split_at(1);
            if let (Some(stage), [upper]) = (&mut stage, upper) {
                stage.uniforms.set(DESCRIPTORS[index as usize], u64::from_le_bytes(*upper));
            }
        }
        if let Some(stage) = &mut stage
            && gpu.chip().arch.0 >= 6
        {
            // A shader may write targets for which the draw has no descriptors. Ignoring such writes is an assumption:
            // PanVK provides one descriptor per target of the pass, whatever the shader writes (panvk_vX_cmd_draw.c).
            for descriptor in &DESCRIPTORS[(targets as usize).min(MAX_TARGETS)..] {
                stage.uniforms.set(*descriptor, BlendMode::Off.raw());
            }
        }
        let p = &framebuffer.parameters;
        if let Some(stage) = &mut stage {
            stage.uniforms.set(Special::Sample, p.sample_locations);
            let size = u64::from(p.bound_max_x) | u64::from(p.bound_max_y) << 16;
            stage.uniforms.set(Special::FramebufferSize, size);
        }
        let tests = tests(&d);
        // Pixels that are killed late are shaded whether they pass or not: shaders with side effects. Such a shader
        // cannot observe whether depths were written before or after it.
        let kills_late = flags.pixel_kill_operation == PixelKill::ForceLate
            && tests.iter().any(|tests| !tests.is_trivial());
        let late =
            stage.is_some() && (flags.zs_update_operation == PixelKill::ForceLate || kills_late);
        // Depth and stencil from the shader are ignored if tests come first.
        let emits = late && (d.depth_source != DepthSource::FixedFunction || d.stencil_from_shader);
        let unit = match framebuffer.unorm_bits() {
            0 => None,
            bits => Some(1.0 / (1u64 << bits) as f64),
        };
        let state = FragmentState {
            tests,
            late,
            killed_early: flags.pixel_kill_operation != PixelKill::ForceLate
                && !emits
                && !d.stencil_test_enable,
            emits,
            range: match d.depth_clamp_mode {
                DepthClampMode::ZeroToOne => [0.0, 1.0],
                DepthClampMode::Bounds => ordered(state.depth_range),
            },
            bias: d.depth_bias_enable.then_some(DepthBias {
                constant: d.depth_units,
                slope: d.depth_factor,
                clamp: d.depth_bias_clamp,
                unit,
            }),
            sample_mask: match flags.multisample_enable {
                true => state.flags_1.sample_mask,
                false => 0xffff,
            },
            per_sample: flags.evaluate_per_sample && framebuffer.samples.count > 1,
            alpha_to_coverage: flags.alpha_to_coverage,
            occlusion: match flags.occlusion_query {
                OcclusionMode::Disabled => None,
                mode => (state.occlusion != 0).then_some((state.occlusion, mode)),
            },
            blends,
            midgard: midgard_blends,
            varying_stride: state.varying_stride,
            points_from_below: state.points_from_below.unwrap_or(p.point_sprite_coord_origin_max_y),
        };
        Ok(Pipeline { stage, state: Arc::new(state), copies: None })
    }
}

/// A range whose bounds are ordered and not NaN.
fn ordered([from, to]: [f32; 2]) -> [f32; 2] {
    let [from, to] = [from, to].map(|v| if v.is_nan() { 0.0 } else { v });
    [from.min(to), from.max(to)]
}

const DESCRIPTORS: [Special; MAX_TARGETS] = [
    Special::BlendDescriptor0,
    Special::BlendDescriptor1,
    Special::BlendDescriptor2,
    Special::BlendDescriptor3,
    Special::BlendDescriptor4,
    Special::BlendDescriptor5,
    Special::BlendDescriptor6,
    Special::BlendDescriptor7,
];
