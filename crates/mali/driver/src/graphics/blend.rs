//! Blend descriptors of the fixed function.
//!
//! The unit computes `a ± b * c`, with `c` or `1 - c`. Equations that it does not have, logic operations and blending of formats that
//! it does not hold are part of the fragment program, which reads the tile buffer ([`Lowered`]).
//!
//! source: Mesa, pan_blend.c (`to_panfrost_function`, `can_fixed_function_equation`), panvk_vX_blend.c

use tepui_format::Format;
use tepui_format::info::Numeric;
use tepui_ir::Shader;
use tepui_mali_packets::draw::{
    Blend, BlendEquation, BlendMode, BlendOperandA as A, BlendOperandB as B, BlendOperandC as C,
    InternalConversion,
};
use tepui_passes::lower_blend;
use tepui_vulkan::blending;
use tepui_vulkan::state::{GraphicsState, MAX_COLOURS};
use tepui_vulkan::vk::{BlendFactor as Factor, BlendOp};
use tepui_vulkan::{Error, Result};

use super::framebuffer::{Target, TileFormat, tile_format};
use super::load::Loads;
use super::local;
use crate::packed::packet;

/// A half of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    a: A,
    negate_a: bool,
    b: B,
    negate_b: bool,
    c: C,
    invert_c: bool,
}

const REPLACE: Function = Function {
    a: A::Src,
    negate_a: false,
    b: B::Src,
    negate_b: false,
    c: C::Zero,
    invert_c: false,
};

/// A factor as an operand, and whether it is one minus it.
fn factor(f: Factor, alpha: bool) -> Option<(C, bool)> {
    Some(match f {
        Factor::ZERO => (C::Zero, false),
        Factor::ONE => (C::Zero, true),
        Factor::SRC_COLOR if alpha => (C::SrcAlpha, false),
        Factor::SRC_COLOR => (C::Src, false),
        Factor::ONE_MINUS_SRC_COLOR if alpha => (C::SrcAlpha, true),
        Factor::ONE_MINUS_SRC_COLOR => (C::Src, true),
        Factor::DST_COLOR if alpha => (C::DestAlpha, false),
        Factor::DST_COLOR => (C::Dest, false),
        Factor::ONE_MINUS_DST_COLOR if alpha => (C::DestAlpha, true),
        Factor::ONE_MINUS_DST_COLOR => (C::Dest, true),
        Factor::SRC_ALPHA => (C::SrcAlpha, false),
        Factor::ONE_MINUS_SRC_ALPHA => (C::SrcAlpha, true),
        Factor::DST_ALPHA => (C::DestAlpha, false),
        Factor::ONE_MINUS_DST_ALPHA => (C::DestAlpha, true),
        Factor::CONSTANT_COLOR | Factor::CONSTANT_ALPHA => (C::Constant, false),
        Factor::ONE_MINUS_CONSTANT_COLOR | Factor::ONE_MINUS_CONSTANT_ALPHA => (C::Constant, true),
        // The smaller of alpha and one minus the destination's is one for alpha itself.
        Factor::SRC_ALPHA_SATURATE if alpha => (C::Zero, true),
        _ => return None,
    })
}

/// The function of an equation; `None` if the unit has none.
fn function([source, destination, op]: [i32; 3], alpha: bool) -> Option<Function> {
    let (source, destination) = (Factor::from_raw(source), Factor::from_raw(destination));
    let (s, d) = (factor(source, alpha)?, factor(destination, alpha)?);
    let op = BlendOp::from_raw(op);
    let (subtract, reverse) = (op == BlendOp::SUBTRACT, op == BlendOp::REVERSE_SUBTRACT);
    if !subtract && !reverse && op != BlendOp::ADD {
        return None;
    }
    let plain =
        |a, b, (c, invert_c)| Function { a, negate_a: false, b, negate_b: false, c, invert_c };
    let (zero, one) = ((C::Zero, false), (C::Zero, true));
    Some(match (s, d) {
        (s, d) if s == zero => Function { negate_b: subtract, ..plain(A::Zero, B::Dest, d) },
        (s, d) if s == one => {
            Function { negate_b: subtract, negate_a: reverse, ..plain(A::Src, B::Dest, d) }
        }
        (s, d) if d == zero => Function { negate_b: reverse, ..plain(A::Zero, B::Src, s) },
        (s, d) if d == one => {
            Function { negate_a: subtract, negate_b: reverse, ..plain(A::Dest, B::Src, s) }
        }
        (s, d) if s == d => match op {
            BlendOp::ADD => plain(A::Zero, B::SrcPlusDest, s),
            _ => Function { negate_b: reverse, ..plain(A::Zero, B::SrcMinusDest, s) },
        },
        ((sc, si), (dc, di)) if sc == dc && si != di => match op {
            BlendOp::ADD => plain(A::Dest, B::SrcMinusDest, s),
            _ => Function {
                negate_a: subtract,
                negate_b: reverse,
                ..plain(A::Dest, B::SrcPlusDest, s)
            },
        },
        _ => return None,
    })
}

/// Whether an equation has the constant's colour or alpha.
fn constants(equation: [i32; 3]) -> [bool; 2] {
    let has =
        |list: [Factor; 2]| equation[..2].iter().any(|&f| list.contains(&Factor::from_raw(f)));
    [
        has([Factor::CONSTANT_COLOR, Factor::ONE_MINUS_CONSTANT_COLOR]),
        has([Factor::CONSTANT_ALPHA, Factor::ONE_MINUS_CONSTANT_ALPHA]),
    ]
}

/// The constant of the unit, one number for all components; `None` if it has several.
fn constant(state: &GraphicsState, target: usize) -> Option<f32> {
    let blend = &state.blend[target];
    let [colour, mut alpha] = constants(blend.colour);
    let of_alpha = constants(blend.alpha);
    alpha |= of_alpha[0] || of_alpha[1];
    let [r, g, b, a] = state.blend_constants;
    match (colour, alpha) {
        (false, false) => Some(0.0),
        (true, _) if r != g || g != b => None,
        (true, true) if r != a => None,
        (true, _) => Some(r),
        (false, true) => Some(a),
    }
}

/// A descriptor that writes nothing.
fn off() -> Blend {
    Blend { enable: false, mode: BlendMode::Off, ..Blend::default() }
}

/// The blend descriptors of a program that loads targets: their colours replace what is there.
///
/// # Errors
/// When a target is not rendered to.
pub fn loads(loads: &Loads, targets: &[Option<Target<'_>>]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(Blend::SIZE_BYTES * targets.len().max(1));
    for (k, target) in targets.iter().enumerate() {
        let blend = match target {
            Some(target) if loads.targets() >> k & 1 != 0 => {
                let tile = tile_format(target.format).ok_or_else(|| {
                    Error::unsupported(format!("rendering to {} on Mali", target.format))
                })?;
                replacing(k, target.format, &tile)
            }
            _ => off(),
        };
        out.extend_from_slice(&blend.pack().map_err(packet)?);
    }
    if targets.is_empty() {
        out.extend_from_slice(&off().pack().map_err(packet)?);
    }
    Ok(out)
}

/// A descriptor of a target whose colour replaces what is there.
fn replacing(k: usize, format: Format, tile: &TileFormat) -> Blend {
    Blend {
        enable: true,
        srgb: format.info().numeric() == Numeric::Srgb,
        round_to_fb_precision: true,
        equation: equation(REPLACE, REPLACE, 0xf),
        mode: BlendMode::Opaque,
        num_comps: 4,
        rt: k as u32,
        conversion: InternalConversion {
            memory_format: tile.conversion,
            ..InternalConversion::default()
        },
        ..Blend::default()
    }
}

fn equation(rgb: Function, alpha: Function, color_mask: u32) -> BlendEquation {
    BlendEquation {
        rgb_a: rgb.a,
        rgb_negate_a: rgb.negate_a,
        rgb_b: rgb.b,
        rgb_negate_b: rgb.negate_b,
        rgb_c: rgb.c,
        rgb_invert_c: rgb.invert_c,
        alpha_a: alpha.a,
        alpha_negate_a: alpha.negate_a,
        alpha_b: alpha.b,
        alpha_negate_b: alpha.negate_b,
        alpha_c: alpha.c,
        alpha_invert_c: alpha.invert_c,
        color_mask,
    }
}

/// Blending that fragment programs do themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lowered {
    /// Blend state; targets that the fixed function blends replace their colour here.
    pub blend: lower_blend::Blend,
    /// Formats of the targets.
    pub formats: [Option<Format>; MAX_COLOURS],
    /// Samples of a pixel.
    pub samples: u8,
}

impl Lowered {
    /// Lowers the stores of a fragment shader.
    pub fn run(&self, ir: &mut Shader) {
        let targets = self.formats.map(|f| f.and_then(lower_blend::Target::of));
        lower_blend::run(ir, &self.blend, &targets, self.samples);
    }
}

/// Location of a colour without a render target: blending drops it, alpha to coverage may read it.
pub const NO_TARGET: u8 = MAX_COLOURS as u8;

/// Blending of a draw.
pub struct Blending {
    /// Targets that programs blend, a bit each.
    targets: u8,
    /// Programs blend, or take samples away.
    is_lowered: bool,
    /// Blending by the program, if there is some.
    pub lowered: Option<Lowered>,
}

impl Blending {
    /// Divides the blending of draws to targets of some formats between the fixed function and programs.
    ///
    /// # Errors
    /// When the state has what the specification has not.
    pub fn new(state: &GraphicsState, formats: &[Option<Format>; MAX_COLOURS]) -> Result<Blending> {
        let targets = (0..MAX_COLOURS)
            .filter(|&k| is_written(state, k))
            .filter(|&k| formats[k].is_some_and(|f| fixed_function(state, k, f).is_none()))
            .fold(0u8, |all, k| all | 1 << k);
        let moved = local::moved(state, formats);
        // The hardware looks at the alpha of target 0.
        let moves_alpha = state.alpha_to_coverage && moved.is_some();
        if targets == 0 && !moves_alpha {
            return Ok(Blending { targets, is_lowered: false, lowered: None });
        }
        let mut blend = blending::of_state(state)?;
        blend.alpha_location = moved.map_or(0, |m| m[0].unwrap_or(NO_TARGET));
        for (k, location) in blend.locations.iter_mut().enumerate() {
            if targets >> k & 1 == 0 {
                *location = Default::default();
            }
        }
        let samples = state.samples.clamp(1, 16) as u8;
        let lowered = Lowered { blend, formats: *formats, samples };
        Ok(Blending { targets, is_lowered: true, lowered: Some(lowered) })
    }

    /// Whether programs blend.
    pub fn is_lowered(&self) -> bool {
        self.is_lowered
    }

    /// The blend descriptors of draws to targets of some formats.
    ///
    /// # Errors
    /// When a target is not rendered to.
    pub fn descriptors(
        &self,
        state: &GraphicsState,
        formats: &[Option<Format>],
    ) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(Blend::SIZE_BYTES * formats.len().max(1));
        for (k, format) in formats.iter().enumerate() {
            let blend = match format {
                Some(format) if is_written(state, k) => self.of_target(state, k, *format)?,
                _ => off(),
            };
            out.extend_from_slice(&blend.pack().map_err(packet)?);
        }
        if formats.is_empty() {
            out.extend_from_slice(&off().pack().map_err(packet)?);
        }
        Ok(out)
    }

    fn of_target(&self, state: &GraphicsState, k: usize, format: Format) -> Result<Blend> {
        let refused = || Error::unsupported(format!("rendering to {format} on Mali"));
        let tile = tile_format(format).ok_or_else(refused)?;
        if self.targets >> k & 1 != 0 {
            return Ok(Blend { load_destination: true, ..replacing(k, format, &tile) });
        }
        fixed_function(state, k, format).ok_or_else(refused)
    }
}

fn uses_constant(state: &GraphicsState, k: usize) -> bool {
    let blend = &state.blend[k];
    state.blend_enable >> k & 1 != 0
        && [blend.colour, blend.alpha].into_iter().any(|e| constants(e) != [false; 2])
}

/// Whether draws write to a target.
pub fn is_written(state: &GraphicsState, k: usize) -> bool {
    state.write_mask[k] & 0xf != 0
        && state.write_enable >> k & 1 != 0
        && state.absent_colours >> k & 1 == 0
        && state.locations[k].is_some()
}

/// The descriptor with which the fixed function blends; `None` if it does not.
fn fixed_function(state: &GraphicsState, k: usize, format: Format) -> Option<Blend> {
    let tile = tile_format(format)?;
    if state.logic_op_enable || state.alpha_to_one {
        return None;
    }
    let blends = state.blend_enable >> k & 1 != 0;
    let mask = state.write_mask[k] & 0xf;
    let opaque = !blends && mask == 0xf;
    if !opaque && tile.bits.is_none() {
        return None;
    }
    let [rgb, alpha] = match blends {
        false => [REPLACE; 2],
        true => [function(state.blend[k].colour, false)?, function(state.blend[k].alpha, true)?],
    };
    let constant = match uses_constant(state, k) {
        false => 0,
        true => {
            let value = constant(state, k)?;
            let most = tile.bits.map_or(8, |b| b.iter().map(|c| c.0).max().unwrap_or(8));
            let factor = ((1u32 << most) - 1) << (16 - most);
            (value.clamp(0.0, 1.0) * factor as f32) as u32
        }
    };
    Some(Blend {
        load_destination: !opaque,
        constant,
        equation: equation(rgb, alpha, mask.into()),
        mode: if opaque { BlendMode::Opaque } else { BlendMode::FixedFunction },
        ..replacing(k, format, &tile)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: Factor, destination: Factor, op: BlendOp) -> Option<Function> {
        function([source.as_raw(), destination.as_raw(), op.as_raw()], false)
    }

    /// The value that the unit computes, of a source with alpha and a destination.
    fn value(f: &Function, s: f32, sa: f32, d: f32) -> f32 {
        let a = match f.a {
            A::Zero => 0.0,
            A::Src => s,
            A::Dest => d,
        };
        let b = match f.b {
            B::SrcMinusDest => s - d,
            B::SrcPlusDest => s + d,
            B::Src => s,
            B::Dest => d,
        };
        let c = match f.c {
            C::Zero => 0.0,
            C::Src => s,
            C::Dest => d,
            C::SrcX2 => 2.0 * s,
            C::SrcAlpha => sa,
            C::DestAlpha => 0.75,
            C::Constant => 0.125,
        };
        let c = if f.invert_c { 1.0 - c } else { c };
        let sign = |negative: bool| if negative { -1.0 } else { 1.0 };
        sign(f.negate_a) * a + sign(f.negate_b) * b * c
    }

    #[test]
    fn functions_compute_the_equations() {
        let all = [
            (Factor::ZERO, 0.0),
            (Factor::ONE, 1.0),
            (Factor::SRC_COLOR, 0.5),
            (Factor::ONE_MINUS_SRC_COLOR, 0.5),
            (Factor::DST_COLOR, 0.25),
            (Factor::ONE_MINUS_DST_COLOR, 0.75),
            (Factor::SRC_ALPHA, 0.375),
            (Factor::ONE_MINUS_SRC_ALPHA, 0.625),
            (Factor::DST_ALPHA, 0.75),
            (Factor::CONSTANT_COLOR, 0.125),
            (Factor::ONE_MINUS_CONSTANT_COLOR, 0.875),
        ];
        let (s, sa, d) = (0.5, 0.375, 0.25);
        let mut known = 0;
        for (sf, sv) in all {
            for (df, dv) in all {
                for (op, right) in [
                    (BlendOp::ADD, s * sv + d * dv),
                    (BlendOp::SUBTRACT, s * sv - d * dv),
                    (BlendOp::REVERSE_SUBTRACT, d * dv - s * sv),
                ] {
                    if let Some(f) = of(sf, df, op) {
                        let got = value(&f, s, sa, d);
                        assert!((got - right).abs() < 1e-6, "{sf:?} {df:?} {op:?}: {f:?} {got}");
                        known += 1;
                    }
                }
            }
        }
        assert!(known > 120, "{known}");
        assert!(of(Factor::SRC_ALPHA, Factor::DST_COLOR, BlendOp::ADD).is_none());
    }
}
