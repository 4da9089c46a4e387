//! Depth and stencil tests, and blending.

use tepui_intel_chips::Generation;
use tepui_intel_packets::gen12::State3dDepthBounds;
use tepui_intel_packets::output::{
    BlendState, BlendStateEntry, ColorBufferBlendFunction, ColorCalcState, CompareFunction,
    LogicOpFunction, State3dBlendStatePointers, State3dCcStatePointers, State3dPsBlend,
    State3dWmDepthStencil, StencilOperation,
};
use tepui_vulkan::state::{Blend, MAX_COLOURS};
use tepui_vulkan::{Result, vk};

use super::Context;
use crate::packets::Out;

fn compare(op: vk::CompareOp) -> CompareFunction {
    match op {
        vk::CompareOp::NEVER => CompareFunction::Never,
        vk::CompareOp::LESS => CompareFunction::Less,
        vk::CompareOp::EQUAL => CompareFunction::Equal,
        vk::CompareOp::LESS_OR_EQUAL => CompareFunction::Lequal,
        vk::CompareOp::GREATER => CompareFunction::Greater,
        vk::CompareOp::NOT_EQUAL => CompareFunction::Notequal,
        vk::CompareOp::GREATER_OR_EQUAL => CompareFunction::Gequal,
        _ => CompareFunction::Always,
    }
}

fn stencil(op: vk::StencilOp) -> StencilOperation {
    match op {
        vk::StencilOp::ZERO => StencilOperation::Zero,
        vk::StencilOp::REPLACE => StencilOperation::Replace,
        vk::StencilOp::INCREMENT_AND_CLAMP => StencilOperation::Incrsat,
        vk::StencilOp::DECREMENT_AND_CLAMP => StencilOperation::Decrsat,
        vk::StencilOp::INVERT => StencilOperation::Invert,
        vk::StencilOp::INCREMENT_AND_WRAP => StencilOperation::Incr,
        vk::StencilOp::DECREMENT_AND_WRAP => StencilOperation::Decr,
        _ => StencilOperation::Keep,
    }
}

/// 3DSTATE_WM_DEPTH_STENCIL. Tests without an attachment pass.
pub fn depth_stencil(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let s = c.state;
    let tests_depth = s.depth_test && c.depth;
    let tests_stencil = s.stencil_test && c.stencil;
    let [front, back] = s.stencil;
    let byte = |v: u32| v & 0xff;
    let writes = tests_stencil && s.stencil_write_mask.iter().any(|&m| byte(m) != 0);
    out.put(&State3dWmDepthStencil {
        depth_buffer_write_enable: tests_depth && s.depth_write,
        depth_test_enable: tests_depth,
        depth_test_function: compare(s.depth_compare),
        stencil_buffer_write_enable: writes,
        stencil_test_enable: tests_stencil,
        double_sided_stencil_enable: tests_stencil,
        stencil_test_function: compare(front.compare),
        stencil_fail_op: stencil(front.fail),
        stencil_pass_depth_fail_op: stencil(front.depth_fail),
        stencil_pass_depth_pass_op: stencil(front.pass),
        backface_stencil_test_function: compare(back.compare),
        backface_stencil_fail_op: stencil(back.fail),
        backface_stencil_pass_depth_fail_op: stencil(back.depth_fail),
        backface_stencil_pass_depth_pass_op: stencil(back.pass),
        stencil_test_mask: byte(s.stencil_compare_mask[0]),
        backface_stencil_test_mask: byte(s.stencil_compare_mask[1]),
        stencil_write_mask: byte(s.stencil_write_mask[0]),
        backface_stencil_write_mask: byte(s.stencil_write_mask[1]),
        stencil_reference_value: byte(s.stencil_reference[0]),
        backface_stencil_reference_value: byte(s.stencil_reference[1]),
        ..State3dWmDepthStencil::default()
    })
}

/// 3DSTATE_DEPTH_BOUNDS, which Gen9 does not have.
pub fn depth_bounds(c: &Context<'_>, out: &mut Out) -> Result<()> {
    if c.generation == Generation::Gen9 {
        return Ok(());
    }
    let [depth_bounds_test_min_value, depth_bounds_test_max_value] = c.state.depth_bounds;
    out.put(&State3dDepthBounds {
        depth_bounds_test_enable: u32::from(c.state.depth_bounds_test && c.depth),
        depth_bounds_test_min_value,
        depth_bounds_test_max_value,
        ..State3dDepthBounds::default()
    })
}

/// source: genxml, `3D_Color_Buffer_Blend_Factor`
fn factor(f: i32) -> u32 {
    match vk::BlendFactor::from_raw(f) {
        vk::BlendFactor::ONE => 1,
        vk::BlendFactor::SRC_COLOR => 2,
        vk::BlendFactor::SRC_ALPHA => 3,
        vk::BlendFactor::DST_ALPHA => 4,
        vk::BlendFactor::DST_COLOR => 5,
        vk::BlendFactor::SRC_ALPHA_SATURATE => 6,
        vk::BlendFactor::CONSTANT_COLOR => 7,
        vk::BlendFactor::CONSTANT_ALPHA => 8,
        vk::BlendFactor::SRC1_COLOR => 9,
        vk::BlendFactor::SRC1_ALPHA => 10,
        vk::BlendFactor::ONE_MINUS_SRC_COLOR => 18,
        vk::BlendFactor::ONE_MINUS_SRC_ALPHA => 19,
        vk::BlendFactor::ONE_MINUS_DST_ALPHA => 20,
        vk::BlendFactor::ONE_MINUS_DST_COLOR => 21,
        vk::BlendFactor::ONE_MINUS_CONSTANT_COLOR => 23,
        vk::BlendFactor::ONE_MINUS_CONSTANT_ALPHA => 24,
        vk::BlendFactor::ONE_MINUS_SRC1_COLOR => 25,
        vk::BlendFactor::ONE_MINUS_SRC1_ALPHA => 26,
        _ => 17,
    }
}

/// Source factor, destination factor and operation. Minimum and maximum multiply by nothing.
fn equation([source, destination, op]: [i32; 3]) -> (u32, u32, ColorBufferBlendFunction) {
    use ColorBufferBlendFunction as Op;
    let op = match vk::BlendOp::from_raw(op) {
        vk::BlendOp::SUBTRACT => Op::Subtract,
        vk::BlendOp::REVERSE_SUBTRACT => Op::ReverseSubtract,
        vk::BlendOp::MIN => Op::Min,
        vk::BlendOp::MAX => Op::Max,
        _ => Op::Add,
    };
    match op {
        Op::Min | Op::Max => (1, 1, op),
        _ => (factor(source), factor(destination), op),
    }
}

fn logic_op(op: vk::LogicOp) -> LogicOpFunction {
    use LogicOpFunction as L;
    match op {
        vk::LogicOp::CLEAR => L::Clear,
        vk::LogicOp::AND => L::And,
        vk::LogicOp::AND_REVERSE => L::AndReverse,
        vk::LogicOp::AND_INVERTED => L::AndInverted,
        vk::LogicOp::NO_OP => L::Noop,
        vk::LogicOp::XOR => L::Xor,
        vk::LogicOp::OR => L::Or,
        vk::LogicOp::NOR => L::Nor,
        vk::LogicOp::EQUIVALENT => L::Equiv,
        vk::LogicOp::INVERT => L::Invert,
        vk::LogicOp::OR_REVERSE => L::OrReverse,
        vk::LogicOp::COPY_INVERTED => L::CopyInverted,
        vk::LogicOp::OR_INVERTED => L::OrInverted,
        vk::LogicOp::NAND => L::Nand,
        vk::LogicOp::SET => L::Set,
        _ => L::Copy,
    }
}

/// The number of the attachment of a fragment output, if the rendering has it.
pub fn attachment(c: &Context<'_>, location: usize) -> Option<usize> {
    let at = c.state.locations.iter().position(|&l| l == Some(location as u8))?;
    ((c.colours & !c.state.absent_colours) >> at & 1 != 0).then_some(at)
}

/// The components that a fragment output writes.
fn mask(c: &Context<'_>, location: usize) -> u8 {
    attachment(c, location).map_or(0, |k| match c.state.write_enable >> k & 1 {
        0 => 0,
        _ => c.state.write_mask[k] & 0xf,
    })
}

/// The entry of a fragment output.
fn entry(c: &Context<'_>, location: usize) -> BlendStateEntry {
    let s = c.state;
    let written = mask(c, location);
    let disabled = |bit: u8| written >> bit & 1 == 0;
    let k = attachment(c, location).unwrap_or(location);
    let Blend { colour, alpha, .. } = s.blend[k];
    let (source, destination, op) = equation(colour);
    let (source_alpha, destination_alpha, op_alpha) = equation(alpha);
    BlendStateEntry {
        write_disable_red: disabled(0),
        write_disable_green: disabled(1),
        write_disable_blue: disabled(2),
        write_disable_alpha: disabled(3),
        color_buffer_blend_enable: s.blend_enable >> k & 1 != 0 && !s.logic_op_enable,
        source_blend_factor: source,
        destination_blend_factor: destination,
        color_blend_function: op,
        source_alpha_blend_factor: source_alpha,
        destination_alpha_blend_factor: destination_alpha,
        alpha_blend_function: op_alpha,
        pre_blend_color_clamp_enable: true,
        post_blend_color_clamp_enable: true,
        // source: genxml: 2 is the range of the target's format
        color_clamp_range: 2,
        logic_op_enable: s.logic_op_enable,
        logic_op_function: logic_op(s.logic_op),
        ..BlendStateEntry::default()
    }
}

/// Whether equations of alpha differ from those of colours.
fn is_independent(s: &tepui_vulkan::state::GraphicsState) -> bool {
    s.blend.iter().any(|b| b.colour != b.alpha)
}

/// BLEND_STATE and its entries, one for each fragment output up to the last one that the program writes.
pub fn blend(c: &Context<'_>, out: &mut Out) -> Result<()> {
    out.put(&BlendState {
        alpha_to_coverage_enable: c.state.alpha_to_coverage,
        alpha_to_one_enable: c.state.alpha_to_one,
        independent_alpha_blend_enable: is_independent(c.state),
        ..BlendState::default()
    })?;
    let targets = c.fragment.map_or(0, |f| f.1.targets);
    let count = 8 - targets.leading_zeros() as usize;
    (0..count.max(1)).try_for_each(|k| out.put(&entry(c, k)))
}

/// 3DSTATE_BLEND_STATE_POINTERS.
pub fn blend_pointer(blend_state_pointer: u64, out: &mut Out) -> Result<()> {
    out.put(&State3dBlendStatePointers { blend_state_pointer, blend_state_pointer_valid: true })
}

/// 3DSTATE_PS_BLEND: the first entry, and what of all decides whether fragments are shaded.
pub fn ps_blend(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let first = entry(c, 0);
    let targets = c.fragment.map_or(0, |f| f.1.targets);
    let writes = (0..MAX_COLOURS).any(|k| targets >> k & 1 != 0 && mask(c, k) != 0);
    out.put(&State3dPsBlend {
        has_writeable_rt: writes,
        color_buffer_blend_enable: first.color_buffer_blend_enable,
        source_blend_factor: first.source_blend_factor,
        destination_blend_factor: first.destination_blend_factor,
        source_alpha_blend_factor: first.source_alpha_blend_factor,
        destination_alpha_blend_factor: first.destination_alpha_blend_factor,
        independent_alpha_blend_enable: is_independent(c.state),
        alpha_to_coverage_enable: c.state.alpha_to_coverage,
        ..State3dPsBlend::default()
    })
}

/// COLOR_CALC_STATE: constants of blending.
pub fn constants(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let [red, green, blue, alpha] = c.state.blend_constants;
    out.put(&ColorCalcState {
        blend_constant_color_red: red,
        blend_constant_color_green: green,
        blend_constant_color_blue: blue,
        blend_constant_color_alpha: alpha,
        ..ColorCalcState::default()
    })
}

/// 3DSTATE_CC_STATE_POINTERS.
pub fn constants_pointer(color_calc_state_pointer: u64, out: &mut Out) -> Result<()> {
    out.put(&State3dCcStatePointers {
        color_calc_state_pointer,
        color_calc_state_pointer_valid: true,
    })
}
