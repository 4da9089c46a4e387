//! Float arithmetic.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after unary;

    "Replaces special floats: subnormal numbers, infinities, NaN, as the modifiers say."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[NAN_MODE, FTZ, FLUSH_INF],
        sources: &[src(0, "A").float().swizzled()],
        ..CVT
    } => {
        FLUSH_F32 = "FLUSH.f32" 32, 0x98, 0x0;
        FLUSH_V2F16 = "FLUSH.v2f16" 16, 0x98, 0x1;
    }

    "Adds floats."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float().swizzled(), src(1, "B").float().swizzled()],
        ..FMA
    } => {
        FADD_F32 = "FADD.f32" 32, 0xa4, 0x0;
        FADD_V2F16 = "FADD.v2f16" 16, 0xa5, 0x0;
    }

    "The lesser of two floats."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float().swizzled(), src(1, "B").float().swizzled()],
        ..CVT
    } => {
        FMIN_F32 = "FMIN.f32" 32, 0xa4, 0x2;
        FMIN_V2F16 = "FMIN.v2f16" 16, 0xa5, 0x2;
    }

    "The greater of two floats."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP],
        sources: &[src(0, "A").float().swizzled(), src(1, "B").float().swizzled()],
        ..CVT
    } => {
        FMAX_F32 = "FMAX.f32" 32, 0xa4, 0x3;
        FMAX_V2F16 = "FMAX.v2f16" 16, 0xa5, 0x3;
    }

    "Multiplies and adds floats with one rounding: A * B + C."
    Form {
        dest: true,
        modifiers: &[CLAMP],
        sources: &[
            src(0, "A").float().swizzled(), src(1, "B").float().swizzled(),
            src(2, "C").float().swizzled(),
        ],
        ..FMA
    } => {
        FMA_F32 = "FMA.f32" 32, 0xb2, 0x0;
        FMA_V2F16 = "FMA.v2f16" 16, 0xb3, 0x0;
    }

    "Adds a float from the instruction."
    Form {
        dest: true,
        sources: &[src(0, "A")],
        immediates: &[unsigned("constant", 8, 32)],
        ..FMA
    } => {
        FADD_IMM_F32 = "FADD_IMM.f32" 32, 0x114, 0x0;
        FADD_IMM_V2F16 = "FADD_IMM.v2f16" 16, 0x115, 0x0;
    }
}
