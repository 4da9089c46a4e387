//! Fixed-function blending: A + B * C.
//!
// source: Mesa, pan_blend.c (`to_panfrost_function`).

use tepui_mali_packets::draw::{
    BlendEquation, BlendOperandA as A, BlendOperandB as B, BlendOperandC as C,
};

/// An equation of colour or alpha.
#[derive(Clone, Copy)]
struct Equation {
    a: A,
    negate_a: bool,
    b: B,
    negate_b: bool,
    c: C,
    invert_c: bool,
}

impl Equation {
    fn apply(&self, src: f32, dest: f32, src_alpha: f32, dest_alpha: f32, constant: f32) -> f32 {
        let a = match self.a {
            A::Zero => 0.0,
            A::Src => src,
            A::Dest => dest,
        };
        let b = match self.b {
            B::SrcMinusDest => src - dest,
            B::SrcPlusDest => src + dest,
            B::Src => src,
            B::Dest => dest,
        };
        let c = match self.c {
            C::Zero => 0.0,
            C::Src => src,
            C::Dest => dest,
            C::SrcX2 => 2.0 * src,
            C::SrcAlpha => src_alpha,
            C::DestAlpha => dest_alpha,
            C::Constant => constant,
        };
        let a = if self.negate_a { -a } else { a };
        let b = if self.negate_b { -b } else { b };
        let c = if self.invert_c { 1.0 - c } else { c };
        a + b * c
    }
}

/// Blends a colour with the old one of a target; components that are not written keep their value.
pub(crate) fn blend(
    blend: &BlendEquation,
    src: [f32; 4],
    dest: [f32; 4],
    constant: f32,
    unorm: bool,
) -> [f32; 4] {
    // Of normalised numbers, sources are clamped before.
    let clamp = |v: f32| if v > 0.0 { v.min(1.0) } else { 0.0 };
    let src = if unorm { src.map(clamp) } else { src };
    let colour = Equation {
        a: blend.rgb_a,
        negate_a: blend.rgb_negate_a,
        b: blend.rgb_b,
        negate_b: blend.rgb_negate_b,
        c: blend.rgb_c,
        invert_c: blend.rgb_invert_c,
    };
    let alpha = Equation {
        a: blend.alpha_a,
        negate_a: blend.alpha_negate_a,
        b: blend.alpha_b,
        negate_b: blend.alpha_negate_b,
        c: blend.alpha_c,
        invert_c: blend.alpha_invert_c,
    };
    std::array::from_fn(|k| {
        if blend.color_mask >> k & 1 == 0 {
            return dest[k];
        }
        let equation = if k < 3 { &colour } else { &alpha };
        equation.apply(src[k], dest[k], src[3], dest[3], constant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_sums_and_products() {
        // src * src.a + dest * (1 - src.a) = dest + (src - dest) * src.a
        let over = BlendEquation {
            rgb_a: A::Dest,
            rgb_b: B::SrcMinusDest,
            rgb_c: C::SrcAlpha,
            alpha_a: A::Src,
            alpha_b: B::Dest,
            alpha_c: C::Zero,
            color_mask: 0b1011,
            ..Default::default()
        };
        let found = blend(&over, [1.0, 0.5, 0.25, 0.5], [0.0, 1.0, 1.0, 0.75], 0.0, true);
        assert_eq!(found, [0.5, 0.75, 1.0, 0.5]);
        let reverse = BlendEquation {
            rgb_a: A::Zero,
            rgb_b: B::Dest,
            rgb_negate_b: true,
            rgb_invert_c: true,
            ..over
        };
        let reverse = BlendEquation { rgb_c: C::Constant, ..reverse };
        let found = blend(&reverse, [2.0; 4], [1.0, 0.0, 0.0, 0.0], 0.25, true);
        assert!((found[0] + 0.75).abs() < 1e-4, "{found:?}");
    }
}
