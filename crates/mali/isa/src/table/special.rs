//! Special functions and the steps of their sequences.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after float;

    "The mantissa of a float, as `frexp` has it, or in the range that logarithms or square roots \
     start from."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SQRT, LOG],
        sources: &[src(0, "A").swizzled()],
        ..CVT
    } => {
        FREXPM_F32 = "FREXPM.f32" 32, 0x99, 0x0;
        FREXPM_V2F16 = "FREXPM.v2f16" 16, 0x99, 0x1;
    }

    "The exponent of a float, as `frexp` has it, or that goes with FREXPM's other ranges."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SQRT, LOG],
        sources: &[src(0, "A").swizzled()],
        ..CVT
    } => {
        FREXPE_F32 = "FREXPE.f32" 32, 0x99, 0x2;
        FREXPE_V2F16 = "FREXPE.v2f16" 16, 0x99, 0x3;
    }

    "The reciprocal."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FRCP_F32 = "FRCP.f32" 32, 0x9c, 0x0;
        FRCP_F16 = "FRCP.f16" 16, 0x9c, 0x1;
    }

    "The reciprocal of the square root."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FRSQ_F32 = "FRSQ.f32" 32, 0x9c, 0x2;
        FRSQ_F16 = "FRSQ.f16" 16, 0x9c, 0x3;
    }

    "The logarithm to base 2 of a mantissa from FREXPM, divided by the mantissa less one."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FLOGD_F32 = "FLOGD.f32" 32, 0x9c, 0x8;
    }

    "The class of a float: sign, zero, subnormal, infinity, NaN."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FPCLASS_F32 = "FPCLASS.f32" 32, 0x9c, 0xa;
        FPCLASS_F16 = "FPCLASS.f16" 16, 0x9c, 0xb;
    }

    "A table of logarithms, from which sequences for them start."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FLOG_TABLE_F32 = "FLOG_TABLE.f32" 32, 0x9c, 0xc;
    }

    "An approximation of the reciprocal, from which sequences start."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FRCP_APPROX_F32 = "FRCP_APPROX.f32" 32, 0x9c, 0xe;
    }

    "An approximation of the reciprocal of the square root, from which sequences start."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").float().swizzled()], ..SFU } => {
        FRSQ_APPROX_F32 = "FRSQ_APPROX.f32" 32, 0x9c, 0xf;
    }

    "The sine of an angle in 64ths of a turn."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        FSIN_TABLE_U6 = "FSIN_TABLE.u6" 32, 0x9c, 0x4;
    }

    "The cosine of an angle in 64ths of a turn."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        FCOS_TABLE_U6 = "FCOS_TABLE.u6" 32, 0x9c, 0x5;
    }

    "What remains of an angle beside its 64th of a turn."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        FSINCOS_OFFSET_U6 = "FSINCOS_OFFSET.u6" 32, 0x9c, 0x6;
    }

    "A table of powers of two by 16ths of the exponent."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        FEXP_TABLE_U4 = "FEXP_TABLE.u4" 32, 0x9c, 0xd;
    }

    "Multiplies a float by a power of two."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float(), src(1, "exponent")],
        ..FMA
    } => {
        LDEXP_F32 = "LDEXP.f32" 32, 0xa4, 0x6;
        LDEXP_V2F16 = "LDEXP.v2f16" 16, 0xa5, 0x6;
    }

    "Two to the power of a number, given as fixed point with 24 fractional bits and as the float \
     it came from."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "fixed point"), src(1, "float").float()],
        ..SFU
    } => {
        FEXP_F32 = "FEXP.f32" 32, 0xa4, 0x8;
    }

    "Adds floats, the step of logarithms that treats special values apart."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float(), src(1, "B").float()],
        ..FMA
    } => {
        FADD_LSCALE_F32 = "FADD_LSCALE.f32" 32, 0xa4, 0x9;
    }

    "The argument reduction of `atan2`, or with `.second` its table."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SECOND],
        sources: &[src(0, "A"), src(1, "B")],
        ..SFU
    } => {
        FATAN_ASSIST_F32 = "FATAN_ASSIST.f32" 32, 0xa4, 0xe;
    }

    "Multiplies and adds floats, then multiplies by two to the power of D."
    Form {
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float(), src(1, "B").float(), src(2, "C").float(), src(3, "D")],
        ..FMA
    } => {
        FMA_RSCALE_F32 = "FMA_RSCALE.f32" 32, 0x160, 0x0;
    }

    "As FMA_RSCALE, but zero times anything is zero."
    Form {
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float(), src(1, "B").float(), src(2, "C").float(), src(3, "D")],
        ..FMA
    } => {
        FMA_RSCALE_N_F32 = "FMA_RSCALE_N.f32" 32, 0x161, 0x0;
    }

    "As FMA_RSCALE, but if a factor is zero the product is A."
    Form {
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float(), src(1, "B").float(), src(2, "C").float(), src(3, "D")],
        ..FMA
    } => {
        FMA_RSCALE_LEFT_F32 = "FMA_RSCALE_LEFT.f32" 32, 0x162, 0x0;
    }

    "As FMA_RSCALE, with D of 16 bits."
    Form {
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float(), src(1, "B").float(), src(2, "C").float(), src(3, "D")],
        ..FMA
    } => {
        FMA_RSCALE_SCALE16_F32 = "FMA_RSCALE_SCALE16.f32" 32, 0x163, 0x0;
    }
}
