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
    #[inline(always)]
    fn apply<const N: usize>(
        &self,
        [src, dest]: [&[f32; N]; 2],
        [src_alpha, dest_alpha]: [&[f32; N]; 2],
        constant: f32,
    ) -> [f32; N] {
        let a = match self.a {
            A::Zero => [0.0; N],
            A::Src => *src,
            A::Dest => *dest,
        };
        let b = match self.b {
            B::SrcMinusDest => each(|i| src[i] - dest[i]),
            B::SrcPlusDest => each(|i| src[i] + dest[i]),
            B::Src => *src,
            B::Dest => *dest,
        };
        let c = match self.c {
            C::Zero => [0.0; N],
            C::Src => *src,
            C::Dest => *dest,
            C::SrcX2 => each(|i| 2.0 * src[i]),
            C::SrcAlpha => *src_alpha,
            C::DestAlpha => *dest_alpha,
            C::Constant => [constant; N],
        };
        let a = if self.negate_a { each(|i| -a[i]) } else { a };
        let b = if self.negate_b { each(|i| -b[i]) } else { b };
        let c = if self.invert_c { each(|i| 1.0 - c[i]) } else { c };
        each(|i| a[i] + b[i] * c[i])
    }
}

/// Applies a function to each lane, in a loop that compilers vectorise.
#[inline(always)]
fn each<const N: usize>(f: impl Fn(usize) -> f32) -> [f32; N] {
    let mut row = [0.0; N];
    for (i, value) in row.iter_mut().enumerate() {
        *value = f(i);
    }
    row
}

/// Blends colours with the old ones of a target; components outside of the write mask keep their value.
#[inline(always)]
pub(crate) fn blend<const N: usize>(
    blend: &BlendEquation,
    src: &[[f32; N]; 4],
    dest: &[[f32; N]; 4],
    constant: f32,
    unorm: bool,
) -> [[f32; N]; 4] {
    // For normalised formats, sources are clamped before blending.
    let clamp = |v: f32| if v > 0.0 { v.min(1.0) } else { 0.0 };
    let mut src = *src;
    if unorm {
        for row in &mut src {
            *row = each(|i| clamp(row[i]));
        }
    }
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
    let mut out = *dest;
    for (k, row) in out.iter_mut().enumerate() {
        if blend.color_mask >> k & 1 != 0 {
            let equation = if k < 3 { &colour } else { &alpha };
            *row = equation.apply([&src[k], &dest[k]], [&src[3], &dest[3]], constant);
        }
    }
    out
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
        let [src, dest] = [[1.0, 0.5, 0.25, 0.5], [0.0, 1.0, 1.0, 0.75]].map(|c| c.map(|v| [v]));
        assert_eq!(blend(&over, &src, &dest, 0.0, true), [[0.5], [0.75], [1.0], [0.5]]);
        let reverse = BlendEquation {
            rgb_a: A::Zero,
            rgb_b: B::Dest,
            rgb_negate_b: true,
            rgb_invert_c: true,
            ..over
        };
        let reverse = BlendEquation { rgb_c: C::Constant, ..reverse };
        let found = blend(&reverse, &[[2.0]; 4], &[[1.0], [0.0], [0.0], [0.0]], 0.25, true);
        assert!((found[0][0] + 0.75).abs() < 1e-4, "{found:?}");
    }
}
