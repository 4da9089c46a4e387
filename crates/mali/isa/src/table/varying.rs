//! Varyings.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

const MODE: SourceField = src(0, "mode");

rows! {
    after attribute;

    "Interpolates a special varying: 0 and 1 the point coordinate, 2 fragment's w, 3 its depth."
    Form {
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SAMPLE_MODE, UPDATE_MODE, SLOT],
        staging: &[WRITE],
        sources: &[MODE],
        immediates: &[unsigned("index", 12, 4)],
        ..VARY
    } => {
        LD_VAR_SPECIAL = "LD_VAR_SPECIAL" 32, 0x56, 0x0;
    }

    "Interpolates a varying at an offset, in the instruction, of the hardware's vertex buffer."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, SOURCE_FORMAT, SAMPLE_MODE, UPDATE_MODE],
        staging: &[WRITE],
        sources: &[MODE],
        immediates: &[unsigned("index", 16, 8)],
        ..VARY
    } => {
        LD_VAR_BUF_IMM_F32 = "LD_VAR_BUF_IMM.f32" 32, 0x5c, 0x0;
        LD_VAR_BUF_IMM_F16 = "LD_VAR_BUF_IMM.f16" 16, 0x5d, 0x0;
    }

    "Interpolates a varying at an offset of the hardware's vertex buffer."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, SOURCE_FORMAT, SAMPLE_MODE, UPDATE_MODE],
        staging: &[WRITE],
        sources: &[MODE, src(1, "offset")],
        ..VARY
    } => {
        LD_VAR_BUF_F32 = "LD_VAR_BUF.f32" 32, 0x6c, 0x0;
        LD_VAR_BUF_F16 = "LD_VAR_BUF.f16" 16, 0x6d, 0x0;
    }

    "Interpolates a varying by its descriptor."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, REGISTER_FORMAT, SAMPLE_MODE, UPDATE_MODE],
        staging: &[WRITE],
        sources: &[MODE, src(1, "index and table")],
        ..VARY
    } => {
        LD_VAR = "LD_VAR" 32, 0x64, 0x0;
    }

    "Interpolates a varying by its descriptor, which the instruction names."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, REGISTER_FORMAT, SAMPLE_MODE, UPDATE_MODE],
        staging: &[WRITE],
        sources: &[MODE],
        immediates: &[unsigned("table", 8, 4), unsigned("index", 12, 8)],
        ..VARY
    } => {
        LD_VAR_IMM = "LD_VAR_IMM" 32, 0x54, 0x0;
    }

    "Loads a flat varying by its descriptor."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, REGISTER_FORMAT],
        staging: &[WRITE],
        sources: &[src(0, "index and table")],
        ..VARY
    } => {
        LD_VAR_FLAT = "LD_VAR_FLAT" 32, 0x55, 0x0;
    }

    "Loads a flat varying by its descriptor, which the instruction names."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, REGISTER_FORMAT],
        staging: &[WRITE],
        immediates: &[unsigned("table", 8, 4), unsigned("index", 12, 8)],
        ..VARY
    } => {
        LD_VAR_FLAT_IMM = "LD_VAR_FLAT_IMM" 32, 0x41, 0x0;
    }
}
