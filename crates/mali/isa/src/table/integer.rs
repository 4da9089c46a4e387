//! Integer arithmetic.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after special;

    "Adds integers."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SATURATE],
        sources: &[src(0, "A").widened(), src(1, "B").widened()],
        ..CVT
    } => {
        IADD_U32 = "IADD.u32" 32, 0xa0, 0x0;
        IADD_V2U16 = "IADD.v2u16" 16, 0xa1, 0x0;
        IADD_V4U8 = "IADD.v4u8" 8, 0xa2, 0x0;
        IADD_S32 = "IADD.s32" 32, 0xa8, 0x0;
        IADD_V2S16 = "IADD.v2s16" 16, 0xa9, 0x0;
        IADD_V4S8 = "IADD.v4s8" 8, 0xaa, 0x0;
        IADD_U64 = "IADD.u64" 64, 0x1a3, 0x0;
        IADD_S64 = "IADD.s64" 64, 0x1ab, 0x0;
    }

    "Subtracts integers."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SATURATE],
        sources: &[src(0, "A").widened(), src(1, "B").widened()],
        ..CVT
    } => {
        ISUB_U32 = "ISUB.u32" 32, 0xa0, 0x1;
        ISUB_V2U16 = "ISUB.v2u16" 16, 0xa1, 0x1;
        ISUB_V4U8 = "ISUB.v4u8" 8, 0xa2, 0x1;
        ISUB_S32 = "ISUB.s32" 32, 0xa8, 0x1;
        ISUB_V2S16 = "ISUB.v2s16" 16, 0xa9, 0x1;
        ISUB_V4S8 = "ISUB.v4s8" 8, 0xaa, 0x1;
        ISUB_U64 = "ISUB.u64" 64, 0x1a3, 0x1;
        ISUB_S64 = "ISUB.s64" 64, 0x1ab, 0x1;
    }

    "Adds an offset to an address of a memory segment, or with `.neg` subtracts it."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[NEG, PRESERVE_NULL],
        sources: &[src(0, "A"), src(1, "B").widened()],
        ..CVT
    } => {
        SEG_ADD_U64 = "SEG_ADD.u64" 64, 0x1a3, 0x6;
    }

    "Adds B, extended to 64 bits and shifted left, to A."
    Form {
        second: AT_16,
        dest: true,
        sources: &[src(0, "A"), src(1, "B").widened()],
        immediates: &[unsigned("shift", 20, 3)],
        ..CVT
    } => {
        SHADDX_U64 = "SHADDX.u64" 64, 0x1a3, 0x7;
        SHADDX_S64 = "SHADDX.s64" 64, 0x1ab, 0x7;
    }

    "Multiplies integers."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SATURATE],
        sources: &[src(0, "A").widened(), src(1, "B").widened()],
        ..SFU
    } => {
        IMUL_I32 = "IMUL.i32" 32, 0xa0, 0xa;
        IMUL_V2I16 = "IMUL.v2i16" 16, 0xa1, 0xa;
        IMUL_V4I8 = "IMUL.v4i8" 8, 0xa2, 0xa;
        IMUL_S32 = "IMUL.s32" 32, 0xa8, 0xa;
        IMUL_V2S16 = "IMUL.v2s16" 16, 0xa9, 0xa;
        IMUL_V4S8 = "IMUL.v4s8" 8, 0xaa, 0xa;
    }

    "Multiplies two integers of 32 bits to one of 64."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SATURATE],
        sources: &[src(0, "A").widened(), src(1, "B").widened()],
        ..SFU
    } => {
        IMULD_U64 = "IMULD.u64" 64, 0x1a3, 0xa;
    }

    "Half of a sum, without overflow; with `.rhadd` rounded up."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[RHADD],
        sources: &[src(0, "A").widened(), src(1, "B").widened()],
        ..CVT
    } => {
        HADD_U32 = "HADD.u32" 32, 0xa0, 0xb;
        HADD_V2U16 = "HADD.v2u16" 16, 0xa1, 0xb;
        HADD_V4U8 = "HADD.v4u8" 8, 0xa2, 0xb;
        HADD_S32 = "HADD.s32" 32, 0xa8, 0xb;
        HADD_V2S16 = "HADD.v2s16" 16, 0xa9, 0xb;
        HADD_V4S8 = "HADD.v4s8" 8, 0xaa, 0xb;
    }

    "The dot product of four bytes each, added to a number."
    Form {
        second: AT_24,
        dest: true,
        modifiers: &[SATURATE],
        sources: &[src(0, "A"), src(1, "B"), src(2, "C")],
        ..FMA
    } => {
        IDP_V4S8 = "IDP.v4s8" 8, 0xc2, 0x0;
        IDP_V4U8 = "IDP.v4u8" 8, 0xc2, 0x1;
    }

    "Adds an integer from the instruction."
    Form {
        dest: true,
        sources: &[src(0, "A")],
        immediates: &[unsigned("constant", 8, 32)],
        ..CVT
    } => {
        IADD_IMM_I32 = "IADD_IMM.i32" 32, 0x110, 0x0;
        IADD_IMM_V2I16 = "IADD_IMM.v2i16" 16, 0x111, 0x0;
        IADD_IMM_V4I8 = "IADD_IMM.v4i8" 8, 0x112, 0x0;
    }
}
