//! Shifts combined with bitwise operations.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after integer;

    "Shifts A left, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_AND_I32 = "LSHIFT_AND.i32" 32, 0xb4, 0x100;
        LSHIFT_AND_V2I16 = "LSHIFT_AND.v2i16" 16, 0xb5, 0x100;
    }

    "Shifts A left, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_AND_V4I8 = "LSHIFT_AND.v4i8" 8, 0xb6, 0x100;
    }

    "Shifts A left, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_AND_I64 = "LSHIFT_AND.i64" 64, 0x1b7, 0x100;
    }

    "Shifts A right, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_AND_I32 = "RSHIFT_AND.i32" 32, 0xb4, 0x0;
        RSHIFT_AND_V2I16 = "RSHIFT_AND.v2i16" 16, 0xb5, 0x0;
    }

    "Shifts A right, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_AND_V4I8 = "RSHIFT_AND.v4i8" 8, 0xb6, 0x0;
    }

    "Shifts A right, then ands B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_AND_I64 = "RSHIFT_AND.i64" 64, 0x1b7, 0x0;
    }

    "Shifts A left, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_OR_I32 = "LSHIFT_OR.i32" 32, 0xb4, 0x101;
        LSHIFT_OR_V2I16 = "LSHIFT_OR.v2i16" 16, 0xb5, 0x101;
    }

    "Shifts A left, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_OR_V4I8 = "LSHIFT_OR.v4i8" 8, 0xb6, 0x101;
    }

    "Shifts A left, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_OR_I64 = "LSHIFT_OR.i64" 64, 0x1b7, 0x101;
    }

    "Shifts A right, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_OR_I32 = "RSHIFT_OR.i32" 32, 0xb4, 0x1;
        RSHIFT_OR_V2I16 = "RSHIFT_OR.v2i16" 16, 0xb5, 0x1;
    }

    "Shifts A right, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_OR_V4I8 = "RSHIFT_OR.v4i8" 8, 0xb6, 0x1;
    }

    "Shifts A right, then ors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_OR_I64 = "RSHIFT_OR.i64" 64, 0x1b7, 0x1;
    }

    "Shifts A left, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_XOR_I32 = "LSHIFT_XOR.i32" 32, 0xb4, 0x102;
        LSHIFT_XOR_V2I16 = "LSHIFT_XOR.v2i16" 16, 0xb5, 0x102;
    }

    "Shifts A left, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_XOR_V4I8 = "LSHIFT_XOR.v4i8" 8, 0xb6, 0x102;
    }

    "Shifts A left, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        LSHIFT_XOR_I64 = "LSHIFT_XOR.i64" 64, 0x1b7, 0x102;
    }

    "Shifts A right, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_XOR_I32 = "RSHIFT_XOR.i32" 32, 0xb4, 0x2;
        RSHIFT_XOR_V2I16 = "RSHIFT_XOR.v2i16" 16, 0xb5, 0x2;
    }

    "Shifts A right, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes(), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_XOR_V4I8 = "RSHIFT_XOR.v4i8" 8, 0xb6, 0x2;
    }

    "Shifts A right, then xors B."
    Form {
        second: AT_24_AND_32,
        dest: true,
        modifiers: &[SIGNED, NOT_RESULT],
        sources: &[src(0, "A").widened(), src(1, "shift").lanes().sized(8), src(2, "B").inverted()],
        ..SFU
    } => {
        RSHIFT_XOR_I64 = "RSHIFT_XOR.i64" 64, 0x1b7, 0x2;
    }
}
