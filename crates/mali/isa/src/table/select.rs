//! Selects and comparisons.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after flow;

    "Compares two floats and selects one of two values."
    Form {
        dest: true,
        modifiers: &[CONDITION],
        sources: &[src(0, "left"), src(1, "right"), src(2, "true value"), src(3, "false value")],
        ..CVT
    } => {
        CSEL_F32 = "CSEL.f32" 32, 0x154, 0x0;
        CSEL_V2F16 = "CSEL.v2f16" 16, 0x155, 0x0;
    }

    "Compares two integers and selects one of two values."
    Form {
        dest: true,
        modifiers: &[CONDITION],
        sources: &[src(0, "left"), src(1, "right"), src(2, "true value"), src(3, "false value")],
        ..CVT
    } => {
        CSEL_U32 = "CSEL.u32" 32, 0x150, 0x0;
        CSEL_V2U16 = "CSEL.v2u16" 16, 0x151, 0x0;
        CSEL_S32 = "CSEL.s32" 32, 0x158, 0x0;
        CSEL_V2S16 = "CSEL.v2s16" 16, 0x159, 0x0;
    }

    "Selects A or B by a mask: A where the mask is negative, an integer zero, a float zero, or \
     bit by bit where it is set."
    Form {
        dest: true,
        modifiers: &[MUX],
        sources: &[src(0, "A"), src(1, "B"), src(2, "mask")],
        ..SFU
    } => {
        MUX_I32 = "MUX.i32" 32, 0xb8, 0x0;
    }

    "Selects A or B by a mask: A where the mask is negative, an integer zero, a float zero, or \
     bit by bit where it is set."
    Form {
        dest: true,
        modifiers: &[MUX],
        sources: &[src(0, "A").swizzled(), src(1, "B").swizzled(), src(2, "mask").swizzled()],
        ..SFU
    } => {
        MUX_V2I16 = "MUX.v2i16" 16, 0xb9, 0x0;
    }

    "Selects A or B by a mask: A where the mask is negative, an integer zero, a float zero, or \
     bit by bit where it is set."
    Form {
        dest: true,
        modifiers: &[MUX],
        sources: &[src(0, "A"), src(1, "B"), src(2, "mask")],
        ..SFU
    } => {
        MUX_V4I8 = "MUX.v4i8" 8, 0xba, 0x0;
    }

    "The S coordinate of a cube map, before division, for a face."
    Form {
        second: AT_24,
        dest: true,
        sources: &[src(0, "z").float(), src(1, "x").float(), src(2, "face")],
        ..SFU
    } => {
        CUBE_SSEL = "CUBE_SSEL" 32, 0xbc, 0x0;
    }

    "The T coordinate of a cube map, before division, for a face."
    Form {
        second: AT_24,
        dest: true,
        sources: &[src(0, "y").float(), src(1, "z").float(), src(2, "face")],
        ..SFU
    } => {
        CUBE_TSEL = "CUBE_TSEL" 32, 0xbc, 0x1;
    }

    "The coordinate of a cube map with the largest magnitude, as its magnitude."
    Form {
        dest: true,
        sources: &[src(0, "x").float(), src(1, "y").float(), src(2, "z").float()],
        ..SFU
    } => {
        CUBEFACE1 = "CUBEFACE1" 32, 0xc0, 0x0;
    }

    "The face of a cube map that a direction meets."
    Form {
        dest: true,
        sources: &[src(0, "x").float(), src(1, "y").float(), src(2, "z").float()],
        ..SFU
    } => {
        CUBEFACE2_V9 = "CUBEFACE2_V9" 32, 0xc1, 0x0;
    }

    "Compares integers, ors C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").widened(), src(1, "B").widened(), src(2, "C")],
        ..CVT
    } => {
        ICMP_OR_U32 = "ICMP_OR.u32" 32, 0xf0, 0x0;
        ICMP_OR_V2U16 = "ICMP_OR.v2u16" 16, 0xf1, 0x0;
        ICMP_OR_V4U8 = "ICMP_OR.v4u8" 8, 0xf2, 0x0;
    }

    "Compares integers, ands C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").widened(), src(1, "B").widened(), src(2, "C")],
        ..CVT
    } => {
        ICMP_AND_U32 = "ICMP_AND.u32" 32, 0xf0, 0x1;
        ICMP_AND_V2U16 = "ICMP_AND.v2u16" 16, 0xf1, 0x1;
        ICMP_AND_V4U8 = "ICMP_AND.v4u8" 8, 0xf2, 0x1;
    }

    "Compares floats, ors C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").float().swizzled(), src(1, "B").float().swizzled(), src(2, "C")],
        ..CVT
    } => {
        FCMP_OR_F32 = "FCMP_OR.f32" 32, 0xf4, 0x0;
        FCMP_OR_V2F16 = "FCMP_OR.v2f16" 16, 0xf5, 0x0;
    }

    "Compares floats, ands C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").float().swizzled(), src(1, "B").float().swizzled(), src(2, "C")],
        ..CVT
    } => {
        FCMP_AND_F32 = "FCMP_AND.f32" 32, 0xf4, 0x1;
        FCMP_AND_V2F16 = "FCMP_AND.v2f16" 16, 0xf5, 0x1;
    }

    "Compares integers, ors C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").widened(), src(1, "B").widened(), src(2, "C")],
        ..CVT
    } => {
        ICMP_OR_S32 = "ICMP_OR.s32" 32, 0xf8, 0x0;
        ICMP_OR_V2S16 = "ICMP_OR.v2s16" 16, 0xf9, 0x0;
        ICMP_OR_V4S8 = "ICMP_OR.v4s8" 8, 0xfa, 0x0;
    }

    "Compares integers, ands C to the result and returns the boolean in the form that the result \
     type says."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").widened(), src(1, "B").widened(), src(2, "C")],
        ..CVT
    } => {
        ICMP_AND_S32 = "ICMP_AND.s32" 32, 0xf8, 0x1;
        ICMP_AND_V2S16 = "ICMP_AND.v2s16" 16, 0xf9, 0x1;
        ICMP_AND_V4S8 = "ICMP_AND.v4s8" 8, 0xfa, 0x1;
    }

    "Compares one half of a 64-bit integer; the low half's result, of type `u1`, is C of the high \
     half's."
    Form {
        second: AT_24_2,
        dest: true,
        modifiers: &[CONDITION, RESULT_TYPE],
        sources: &[src(0, "A").widened(), src(1, "B").widened(), src(2, "C")],
        ..CVT
    } => {
        ICMP_MULTI_U32 = "ICMP_MULTI.u32" 32, 0xf0, 0x2;
        ICMP_MULTI_S32 = "ICMP_MULTI.s32" 32, 0xf8, 0x2;
    }
}
