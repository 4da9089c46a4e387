//! The end of fragment shaders: tile buffer, alpha test, depth, blending.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after texture;

    "Loads a pixel of the tile buffer."
    Form {
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "pixel").sized(32), src(1, "coverage").sized(32), src(2, "conversion").sized(32),
        ],
        ..MESSAGE
    } => {
        LD_TILE = "LD_TILE" 32, 0x78, 0x0;
    }

    "Stores a pixel to the tile buffer."
    Form {
        modifiers: &[VECTOR_SIZE, REGISTER_FORMAT, SLOT],
        staging: &[READ],
        sources: &[
            src(0, "pixel").sized(32), src(1, "coverage").sized(32), src(2, "conversion").sized(32),
        ],
        ..MESSAGE
    } => {
        ST_TILE = "ST_TILE" 32, 0x79, 0x0;
    }

    "Blends a colour into a render target, and branches by `target` instructions from the next one; where the descriptor \
     names a blend shader, does nothing."
    Form {
        modifiers: &[SLOT, VECTOR_SIZE, REGISTER_FORMAT],
        staging: &[READ],
        sources: &[src(0, "descriptor").sized(64), src(2, "coverage").sized(32)],
        immediates: &[unsigned("target", 8, 8)],
        ..MESSAGE
    } => {
        BLEND = "BLEND" 32, 0x7f, 0x0;
    }

    "Updates the coverage mask by alpha."
    Form {
        staging: &[WRITE],
        sources: &[
            src(0, "coverage").sized(32), src(1, "alpha").swizzled().sized(32),
            src(2, "datum").sized(32),
        ],
        ..MESSAGE
    } => {
        ATEST = "ATEST" 32, 0x7d, 0x0;
    }

    "Writes depth, stencil or both of a fragment."
    Form {
        modifiers: &[Z, STENCIL, SLOT],
        staging: &[WRITE],
        sources: &[
            src(0, "depth").sized(32), src(1, "stencil").sized(32), src(2, "coverage").sized(32),
        ],
        ..MESSAGE
    } => {
        ZS_EMIT = "ZS_EMIT" 32, 0x7e, 0x0;
    }
}
