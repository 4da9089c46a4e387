//! Conversions and rounding.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after select;

    "Converts signed integers to floats."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").widened()],
        ..CVT
    } => {
        V2S16_TO_V2F16 = "V2S16_TO_V2F16" 16, 0x90, 0x7;
    }

    "Converts a signed integer to a float."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").widened()],
        ..CVT
    } => {
        S32_TO_F32 = "S32_TO_F32" 32, 0x90, 0x9;
    }

    "Converts unsigned integers to floats."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").widened()],
        ..CVT
    } => {
        V2U16_TO_V2F16 = "V2U16_TO_V2F16" 16, 0x90, 0x17;
    }

    "Converts an unsigned integer to a float."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").widened()],
        ..CVT
    } => {
        U32_TO_F32 = "U32_TO_F32" 32, 0x90, 0x19;
    }

    "Extends a signed integer."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").swizzled().sized(16)], ..CVT } => {
        S16_TO_S32 = "S16_TO_S32" 32, 0x90, 0x4;
    }

    "Converts a signed integer of 16 bits to a float of 32."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").swizzled().sized(16)], ..CVT } => {
        S16_TO_F32 = "S16_TO_F32" 32, 0x90, 0x5;
    }

    "Extends an unsigned integer."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").swizzled().sized(16)], ..CVT } => {
        U16_TO_U32 = "U16_TO_U32" 32, 0x90, 0x14;
    }

    "Converts an unsigned integer of 16 bits to a float of 32."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").swizzled().sized(16)], ..CVT } => {
        U16_TO_F32 = "U16_TO_F32" 32, 0x90, 0x15;
    }

    "Converts a float to a signed integer."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float()],
        ..CVT
    } => {
        F32_TO_S32 = "F32_TO_S32" 32, 0x90, 0xc;
    }

    "Converts a float to an unsigned integer."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float()],
        ..CVT
    } => {
        F32_TO_U32 = "F32_TO_U32" 32, 0x90, 0x1c;
    }

    "Converts floats to signed integers."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().swizzled()],
        ..CVT
    } => {
        V2F16_TO_V2S16 = "V2F16_TO_V2S16" 16, 0x90, 0xe;
    }

    "Converts floats to unsigned integers."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().swizzled()],
        ..CVT
    } => {
        V2F16_TO_V2U16 = "V2F16_TO_V2U16" 16, 0x90, 0x1e;
    }

    "Converts a float of 16 bits to a signed integer of 32."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().swizzled().sized(16)],
        ..CVT
    } => {
        F16_TO_S32 = "F16_TO_S32" 32, 0x90, 0xa;
    }

    "Converts a float of 16 bits to an unsigned integer of 32."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().swizzled().sized(16)],
        ..CVT
    } => {
        F16_TO_U32 = "F16_TO_U32" 32, 0x90, 0x1a;
    }

    "Converts a float of 16 bits to one of 32."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().lane(28).sized(16)],
        ..CVT
    } => {
        F16_TO_F32 = "F16_TO_F32" 32, 0x90, 0xb;
    }

    "Extends a signed byte."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").lane(28).sized(8)], ..CVT } => {
        S8_TO_S32 = "S8_TO_S32" 32, 0x90, 0x0;
    }

    "Converts a signed byte to a float."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").lane(28).sized(8)], ..CVT } => {
        S8_TO_F32 = "S8_TO_F32" 32, 0x90, 0x1;
    }

    "Extends an unsigned byte."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").lane(28).sized(8)], ..CVT } => {
        U8_TO_U32 = "U8_TO_U32" 32, 0x90, 0x10;
    }

    "Converts an unsigned byte to a float."
    Form { second: AT_16_5, dest: true, sources: &[src(0, "A").lane(28).sized(8)], ..CVT } => {
        U8_TO_F32 = "U8_TO_F32" 32, 0x90, 0x11;
    }

    "Extends two signed bytes."
    Form {
        second: AT_16_5,
        dest: true,
        sources: &[src(0, "A").half_swizzled().sized(8)],
        ..CVT
    } => {
        V2S8_TO_V2S16 = "V2S8_TO_V2S16" 16, 0x90, 0x2;
    }

    "Converts two signed bytes to floats of 16 bits."
    Form {
        second: AT_16_5,
        dest: true,
        sources: &[src(0, "A").half_swizzled().sized(8)],
        ..CVT
    } => {
        V2S8_TO_V2F16 = "V2S8_TO_V2F16" 16, 0x90, 0x3;
    }

    "Extends two unsigned bytes."
    Form {
        second: AT_16_5,
        dest: true,
        sources: &[src(0, "A").half_swizzled().sized(8)],
        ..CVT
    } => {
        V2U8_TO_V2U16 = "V2U8_TO_V2U16" 16, 0x90, 0x12;
    }

    "Converts two unsigned bytes to floats of 16 bits."
    Form {
        second: AT_16_5,
        dest: true,
        sources: &[src(0, "A").half_swizzled().sized(8)],
        ..CVT
    } => {
        V2U8_TO_V2F16 = "V2U8_TO_V2F16" 16, 0x90, 0x13;
    }

    "Rounds a float to an integer that stays a float."
    Form {
        second: AT_16_5,
        dest: true,
        modifiers: &[ROUND_MODE],
        sources: &[src(0, "A").float().swizzled()],
        ..CVT
    } => {
        FROUND_F32 = "FROUND.f32" 32, 0x90, 0xd;
        FROUND_V2F16 = "FROUND.v2f16" 16, 0x90, 0xf;
    }

    "Converts two floats of 32 bits to two of 16 in one register."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[CLAMP, ROUND_MODE],
        sources: &[src(0, "A").float().sized(32), src(1, "B").float().sized(32)],
        ..CVT
    } => {
        V2F32_TO_V2F16 = "V2F32_TO_V2F16" 16, 0xa5, 0x4;
    }

    "Joins two halves: A below, B above."
    Form {
        second: AT_16,
        dest: true,
        sources: &[src(0, "A").swizzled(), src(1, "B").swizzled()],
        ..CVT
    } => {
        MKVEC_V2I16 = "MKVEC.v2i16" 16, 0xa1, 0x5;
    }

    "Joins two bytes and a half: A, B above it, the lower half of CD above both."
    Form {
        dest: true,
        sources: &[src(0, "A").lane(38), src(1, "B").lane(36), src(2, "CD")],
        ..CVT
    } => {
        MKVEC_V2I8 = "MKVEC.v2i8" 8, 0xbd, 0x0;
    }
}
