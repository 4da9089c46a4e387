//! Blending and logical operations of a render target.

use tepui_format::info::Numeric;
use tepui_intel_packets::Packet;
use tepui_intel_packets::output::{
    BlendState, BlendStateEntry, ColorBufferBlendFunction as Function, ColorCalcState,
    LogicOpFunction, State3dBlendStatePointers, State3dCcStatePointers,
};
use tepui_raster::Compare;
use tepui_texel::Floats;
#[cfg(target_arch = "x86_64")]
use tepui_texel::Vectors;

use super::depth::compare;
use super::state::{latched, read};
use super::unit::UNIT;
use crate::context::HardwareContext;
use crate::format::Format;
use crate::job::JobFault;
use crate::memory::Memory;

/// Channels of a message.
pub(crate) const LANES: usize = 16;

/// The colours of all channels of a message, one row per component.
pub(crate) type Colours = [Floats<LANES>; 4];

/// Maximum number of render targets.
pub(crate) const MAX_TARGETS: usize = 8;

/// The blending of a draw.
pub(crate) struct Blending {
    pub entries: [Blend; MAX_TARGETS],
    pub alpha_to_coverage: bool,
    pub alpha_to_one: bool,
    /// The test that a pixel's alpha must pass against a value.
    pub alpha_test: Option<(Compare, f32)>,
    constant: [f32; 4],
}

/// The blending of a render target.
#[derive(Clone, Copy)]
pub(crate) struct Blend {
    /// Mask of the components that are written.
    pub write: [bool; 4],
    pub enabled: bool,
    /// Functions and factors (source, destination) of colours and of alpha.
    colour: (Function, [u32; 2]),
    alpha: (Function, [u32; 2]),
    pub logic: Option<LogicOpFunction>,
}

impl Blend {
    /// Writes everything without blending.
    const NONE: Blend = Blend {
        write: [true; 4],
        enabled: false,
        colour: (Function::Add, [factor::ONE, factor::ZERO]),
        alpha: (Function::Add, [factor::ONE, factor::ZERO]),
        logic: None,
    };

    /// Whether the result is independent of the target's contents.
    pub fn replaces(&self) -> bool {
        !self.enabled && self.logic.is_none() && self.write == [true; 4]
    }
}

/// Blend factors.
///
/// source: genxml, 3D_Color_Buffer_Blend_Factor.
mod factor {
    pub const ONE: u32 = 1;
    pub const SRC_COLOR: u32 = 2;
    pub const SRC_ALPHA: u32 = 3;
    pub const DST_ALPHA: u32 = 4;
    pub const DST_COLOR: u32 = 5;
    pub const SRC_ALPHA_SATURATE: u32 = 6;
    pub const CONST_COLOR: u32 = 7;
    pub const CONST_ALPHA: u32 = 8;
    pub const SRC1_COLOR: u32 = 9;
    pub const SRC1_ALPHA: u32 = 10;
    pub const ZERO: u32 = 17;
    /// Added to a factor's code for one minus the factor.
    pub const INVERSE: u32 = 16;
}

impl Blending {
    /// Writes everything without blending.
    pub const NONE: Blending = Blending {
        entries: [Blend::NONE; MAX_TARGETS],
        alpha_to_coverage: false,
        alpha_to_one: false,
        alpha_test: None,
        constant: [0.0; 4],
    };

    /// Whether a pixel's alpha affects its coverage.
    pub fn changes_coverage(&self) -> bool {
        self.alpha_test.is_some() || self.alpha_to_coverage
    }

    /// The blending state of a context.
    pub fn of(context: &HardwareContext, memory: &mut Memory<'_>) -> Result<Blending, JobFault> {
        let mut blending = Blending::NONE;
        let mut alpha_reference = 0.0;
        let cc: State3dCcStatePointers = latched(context)?;
        if cc.color_calc_state_pointer_valid {
            let at = context.bases.dynamic + cc.color_calc_state_pointer;
            let state: ColorCalcState = read(memory, at)?;
            let reference = state.alpha_reference_value_as_unorm8;
            alpha_reference = match state.alpha_test_format {
                true => f32::from_bits(reference),
                false => (reference & 0xff) as f32 / 255.0,
            };
            blending.constant = [
                state.blend_constant_color_red,
                state.blend_constant_color_green,
                state.blend_constant_color_blue,
                state.blend_constant_color_alpha,
            ];
        }
        let pointer: State3dBlendStatePointers = latched(context)?;
        if !pointer.blend_state_pointer_valid {
            return Ok(blending);
        }
        let at = context.bases.dynamic + pointer.blend_state_pointer;
        let state: BlendState = read(memory, at)?;
        if state.alpha_test_enable {
            blending.alpha_test = Some((compare(state.alpha_test_function), alpha_reference));
        }
        blending.alpha_to_coverage = state.alpha_to_coverage_enable;
        blending.alpha_to_one = state.alpha_to_one_enable;
        let separate = state.independent_alpha_blend_enable;
        let mut bytes = [0; BlendStateEntry::SIZE_BYTES * MAX_TARGETS];
        // Drivers omit the entries of missing targets, possibly at the end of memory.
        for (index, bytes) in bytes.chunks_exact_mut(BlendStateEntry::SIZE_BYTES).enumerate() {
            let at = at + (BlendState::SIZE_BYTES + index * bytes.len()) as u64;
            if memory.read(at, bytes).is_err() && index == 0 {
                return Err(JobFault::new(UNIT, "BLEND_STATE is not in memory"));
            }
        }
        for (entry, bytes) in
            blending.entries.iter_mut().zip(bytes.chunks_exact(BlendStateEntry::SIZE_BYTES))
        {
            // Bytes after the last entry are arbitrary.
            if let Ok(state) = BlendStateEntry::unpack(bytes) {
                *entry = Blend::of(&state, separate);
            }
        }
        Ok(blending)
    }

    /// As [`Blending::blend`], for all channels of a message.
    pub fn blend_rows(
        &self,
        blend: &Blend,
        numeric: Numeric,
        source: &Colours,
        second: &Colours,
        old: &Colours,
    ) -> Colours {
        #[cfg(target_arch = "x86_64")]
        if Vectors::of_host() != Vectors::Any {
            // SAFETY: the host has AVX2.
            return unsafe { self.blend_rows_wide(blend, numeric, source, second, old) };
        }
        self.blend_rows_any(blend, numeric, source, second, old)
    }

    /// As [`Blending::blend_rows_any`], with wide vectors.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn blend_rows_wide(
        &self,
        blend: &Blend,
        numeric: Numeric,
        source: &Colours,
        second: &Colours,
        old: &Colours,
    ) -> Colours {
        self.blend_rows_any(blend, numeric, source, second, old)
    }

    #[inline(always)]
    fn blend_rows_any(
        &self,
        blend: &Blend,
        numeric: Numeric,
        source: &Colours,
        second: &Colours,
        old: &Colours,
    ) -> Colours {
        // Inputs are clamped to the target's range; NaN stays NaN.
        let range = match numeric {
            Numeric::Unorm | Numeric::Srgb => Some([0.0, 1.0]),
            Numeric::Snorm => Some([-1.0, 1.0]),
            _ => None,
        };
        let (mut s, mut s1, mut constant) =
            (*source, *second, self.constant.map(|value| [value; LANES]));
        if let Some([low, high]) = range {
            for row in s.iter_mut().chain(&mut s1).chain(&mut constant) {
                row.iter_mut().for_each(|value| *value = value.clamp(low, high));
            }
        }
        let plain = |number: u32, c: usize| -> Floats<LANES> {
            match number {
                factor::ONE => [1.0; LANES],
                factor::SRC_COLOR => s[c],
                factor::SRC_ALPHA => s[3],
                factor::DST_ALPHA => old[3],
                factor::DST_COLOR => old[c],
                factor::SRC_ALPHA_SATURATE if c < 3 => {
                    std::array::from_fn(|i| s[3][i].min(1.0 - old[3][i]))
                }
                factor::SRC_ALPHA_SATURATE => [1.0; LANES],
                factor::CONST_COLOR => constant[c],
                factor::CONST_ALPHA => constant[3],
                factor::SRC1_COLOR => s1[c],
                factor::SRC1_ALPHA => s1[3],
                _ => [0.0; LANES],
            }
        };
        let value = |number: u32, c: usize| match number {
            0..factor::INVERSE => plain(number, c),
            _ => {
                let mut row = plain(number - factor::INVERSE, c);
                row.iter_mut().for_each(|value| *value = 1.0 - *value);
                row
            }
        };
        let mut out = [[0.0; LANES]; 4];
        for (c, out) in out.iter_mut().enumerate() {
            let (function, [from, to]) = if c < 3 { blend.colour } else { blend.alpha };
            let (a, b) = (&s[c], &old[c]);
            let (f, t) = (value(from, c), value(to, c));
            macro_rules! each {
                ($i:ident => $result:expr) => {
                    for $i in 0..LANES {
                        out[$i] = $result;
                    }
                };
            }
            match function {
                Function::Add => each!(i => a[i] * f[i] + b[i] * t[i]),
                Function::Subtract => each!(i => a[i] * f[i] - b[i] * t[i]),
                Function::ReverseSubtract => each!(i => b[i] * t[i] - a[i] * f[i]),
                // Functions without factors.
                Function::Min => each!(i => a[i].min(b[i])),
                Function::Max => each!(i => a[i].max(b[i])),
            }
        }
        out
    }

    /// The result of a target's blending. `second` is the second colour of dual source blending.
    pub fn blend(
        &self,
        blend: &Blend,
        numeric: Numeric,
        source: [f32; 4],
        second: [f32; 4],
        old: [f32; 4],
    ) -> [f32; 4] {
        // Inputs are clamped to the target's range.
        let clamp = |v: f32| match numeric {
            Numeric::Unorm | Numeric::Srgb => v.clamp(0.0, 1.0),
            Numeric::Snorm => v.clamp(-1.0, 1.0),
            _ => v,
        };
        let (s, s1) = (source.map(clamp), second.map(clamp));
        let constant = self.constant.map(clamp);
        let plain = |number: u32, c: usize| match number {
            factor::ONE => 1.0,
            factor::SRC_COLOR => s[c],
            factor::SRC_ALPHA => s[3],
            factor::DST_ALPHA => old[3],
            factor::DST_COLOR => old[c],
            factor::SRC_ALPHA_SATURATE if c < 3 => s[3].min(1.0 - old[3]),
            factor::SRC_ALPHA_SATURATE => 1.0,
            factor::CONST_COLOR => constant[c],
            factor::CONST_ALPHA => constant[3],
            factor::SRC1_COLOR => s1[c],
            factor::SRC1_ALPHA => s1[3],
            _ => 0.0,
        };
        let value = |number: u32, c: usize| match number {
            0..factor::INVERSE => plain(number, c),
            _ => 1.0 - plain(number - factor::INVERSE, c),
        };
        std::array::from_fn(|c| {
            let (function, [from, to]) = if c < 3 { blend.colour } else { blend.alpha };
            let (a, b) = (s[c], old[c]);
            match function {
                Function::Add => a * value(from, c) + b * value(to, c),
                Function::Subtract => a * value(from, c) - b * value(to, c),
                Function::ReverseSubtract => b * value(to, c) - a * value(from, c),
                // Functions without factors.
                Function::Min => a.min(b),
                Function::Max => a.max(b),
            }
        })
    }
}

impl Blend {
    fn of(state: &BlendStateEntry, separate: bool) -> Blend {
        let colour = (
            state.color_blend_function,
            [state.source_blend_factor, state.destination_blend_factor],
        );
        let alpha = (
            state.alpha_blend_function,
            [state.source_alpha_blend_factor, state.destination_alpha_blend_factor],
        );
        Blend {
            write: [
                !state.write_disable_red,
                !state.write_disable_green,
                !state.write_disable_blue,
                !state.write_disable_alpha,
            ],
            enabled: state.color_buffer_blend_enable,
            colour,
            alpha: if separate { alpha } else { colour },
            logic: state.logic_op_enable.then_some(state.logic_op_function),
        }
    }
}

/// A logical operation on a texel's bits.
pub(crate) fn logic(operation: LogicOpFunction, new: u128, old: u128) -> u128 {
    use LogicOpFunction as Op;
    match operation {
        Op::Clear => 0,
        Op::Nor => !(new | old),
        Op::AndInverted => !new & old,
        Op::CopyInverted => !new,
        Op::AndReverse => new & !old,
        Op::Invert => !old,
        Op::Xor => new ^ old,
        Op::Nand => !(new & old),
        Op::And => new & old,
        Op::Equiv => !(new ^ old),
        Op::Noop => old,
        Op::OrInverted => !new | old,
        Op::Copy => new,
        Op::OrReverse => new | !old,
        Op::Or => new | old,
        Op::Set => u128::MAX,
    }
}

/// Whether logical operations apply to a format: float and sRGB formats are not changed.
pub(crate) fn has_logic(format: &Format) -> bool {
    !matches!(format.numeric(), Numeric::Sfloat | Numeric::Ufloat | Numeric::Srgb)
}

#[cfg(test)]
impl Blending {
    /// Random factors, functions and masks.
    pub fn random(next: &mut impl FnMut() -> u32) -> Blending {
        let functions = [Function::Add, Function::Subtract, Function::ReverseSubtract];
        let mut pair = || {
            let function = functions[next() as usize % functions.len()];
            (function, [next() % 27, next() % 27])
        };
        let (colour, alpha) = (pair(), pair());
        let (enabled, mask) = (next() >> 8 & 1 != 0, next() >> 8);
        let write = [0, 1, 2, 3].map(|c| next() >> 9 & 1 == 0 || mask >> c & 1 != 0);
        let entry = Blend { write, enabled, colour, alpha, logic: None };
        Blending {
            entries: [entry; MAX_TARGETS],
            constant: [0.25, 0.5, 0.75, 1.0],
            ..Blending::NONE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blending() -> Blending {
        Blending { constant: [0.5; 4], ..Blending::NONE }
    }

    #[test]
    fn colours_and_alpha_have_factors_of_their_own() {
        let blend = Blend {
            enabled: true,
            colour: (Function::Add, [factor::SRC_ALPHA, factor::SRC_ALPHA + factor::INVERSE]),
            alpha: (Function::Max, [factor::ONE, factor::ONE]),
            ..Blend::NONE
        };
        let out = blending().blend(
            &blend,
            Numeric::Unorm,
            [2.0, 0.0, 0.5, 0.25],
            [0.0; 4],
            [0.0, 1.0, 0.5, 0.75],
        );
        assert_eq!(out, [0.25, 0.75, 0.5, 0.75]);
    }

    /// Every function with every factor, for each numeric type.
    #[test]
    fn rows_are_blended_as_single_colours() {
        let blending = blending();
        let mut seed = 1u32;
        let mut colours = || -> Colours {
            std::array::from_fn(|_| {
                std::array::from_fn(|i| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    match i {
                        0 => f32::INFINITY,
                        1 => -0.0,
                        _ => (seed >> 8) as f32 / (1 << 22) as f32 - 1.5,
                    }
                })
            })
        };
        for function in [
            Function::Add,
            Function::Subtract,
            Function::ReverseSubtract,
            Function::Min,
            Function::Max,
        ] {
            for number in 0..27 * 27 {
                let factors = [number % 27, number / 27];
                let [reversed, swapped] = [[factors[1], factors[0]], factors];
                let (colour, alpha) = ((function, swapped), (Function::Add, reversed));
                let blend = Blend { enabled: true, colour, alpha, ..Blend::NONE };
                let (source, second, old) = (colours(), colours(), colours());
                for numeric in [Numeric::Unorm, Numeric::Snorm, Numeric::Srgb, Numeric::Sfloat] {
                    let rows = blending.blend_rows(&blend, numeric, &source, &second, &old);
                    for i in 0..LANES {
                        let of = |rows: &Colours| rows.map(|row| row[i]);
                        let want =
                            blending.blend(&blend, numeric, of(&source), of(&second), of(&old));
                        for (got, want) in of(&rows).into_iter().zip(want) {
                            let same = got == want || got.is_nan() && want.is_nan();
                            assert!(same, "{function:?} {factors:?} {numeric:?}: {got} {want}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn logical_operations_are_those_of_their_truth_tables() {
        // Bit 2 s + d of an operation's number... is the result for source s and destination d.
        for (number, operation) in [
            (8u32, LogicOpFunction::And),
            (14, LogicOpFunction::Or),
            (6, LogicOpFunction::Xor),
            (1, LogicOpFunction::Nor),
            (12, LogicOpFunction::Copy),
            (2, LogicOpFunction::AndInverted),
            (5, LogicOpFunction::Invert),
        ] {
            for (s, d) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let bit = logic(operation, s, d) & 1;
                assert_eq!(bit, u128::from(number >> (2 * s + d) & 1), "{operation:?} {s} {d}");
            }
        }
    }
}
