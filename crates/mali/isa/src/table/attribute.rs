//! Attributes and images by descriptor.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after memory;

    "Loads an attribute, named in the instruction, of a vertex and an instance."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "vertex").sized(32), src(1, "instance").sized(32)],
        immediates: &[unsigned("index", 20, 4), unsigned("table", 16, 4)],
        ..LS
    } => {
        LD_ATTR_IMM = "LD_ATTR_IMM" 32, 0x66, 0x0;
    }

    "Loads an attribute of a vertex and an instance."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "vertex").sized(32), src(1, "instance").sized(32),
            src(2, "index and table").sized(32),
        ],
        ..LS
    } => {
        LD_ATTR = "LD_ATTR" 32, 0x76, 0x0;
    }

    "Loads a texel of a texture that the instruction names."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "x and y").sized(32), src(1, "z and sample").sized(32)],
        immediates: &[unsigned("index", 20, 4), unsigned("table", 16, 4)],
        ..LS
    } => {
        LD_TEX_IMM = "LD_TEX_IMM" 32, 0x66, 0x1;
    }

    "Loads a texel of a texture."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "x and y").sized(32), src(1, "z and sample").sized(32),
            src(2, "index and table").sized(32),
        ],
        ..LS
    } => {
        LD_TEX = "LD_TEX" 32, 0x76, 0x1;
    }

    "The address and conversion descriptor of an attribute that the instruction names."
    Form {
        second: AT_37,
        modifiers: &[SLOT],
        staging: &[WRITE],
        sources: &[src(0, "vertex").sized(32), src(1, "instance").sized(32)],
        immediates: &[unsigned("table", 16, 4), unsigned("index", 20, 4)],
        ..LS
    } => {
        LEA_ATTR_IMM = "LEA_ATTR_IMM" 32, 0x67, 0x0;
    }

    "The address and conversion descriptor of an attribute."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "vertex").sized(32), src(1, "instance").sized(32),
            src(2, "index and table").sized(32),
        ],
        ..LS
    } => {
        LEA_ATTR = "LEA_ATTR" 32, 0x77, 0x0;
    }

    "The address and conversion descriptor of a texel of a texture that the instruction names."
    Form {
        second: AT_37,
        modifiers: &[SLOT],
        staging: &[WRITE],
        sources: &[src(0, "x and y").sized(32), src(1, "z and sample").sized(32)],
        immediates: &[unsigned("table", 16, 4), unsigned("index", 20, 4)],
        ..LS
    } => {
        LEA_TEX_IMM = "LEA_TEX_IMM" 32, 0x67, 0x1;
    }

    "The address and conversion descriptor of a texel of a texture."
    Form {
        second: AT_37,
        modifiers: &[VECTOR_SIZE, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "x and y").sized(16), src(1, "z and sample").sized(32),
            src(2, "index and table").sized(32),
        ],
        ..LS
    } => {
        LEA_TEX = "LEA_TEX" 32, 0x77, 0x1;
    }
}
