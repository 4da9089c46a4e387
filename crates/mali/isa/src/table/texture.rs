//! Textures, and varyings fused with them.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

const TEXTURE: SourceField = src(0, "texture").sized(64);
const VARYING_OFFSET: SourceField = src(2, "offset").sized(32);

rows! {
    after varying;

    "Loads texels without a filter."
    Form {
        modifiers: &[
            SLOT, SKIP, REGISTER_TYPE, REGISTER_WIDTH, WRITE_MASK, DIMENSION, WIDE_INDICES,
            ARRAY_ENABLE, TEXEL_OFFSET,
        ],
        staging: &[WRITE_AT_16, READ_UNMARKED],
        sources: &[TEXTURE],
        ..TEX
    } => {
        TEX_FETCH = "TEX_FETCH" 32, 0x125, 0x0;
    }

    "Samples a texture."
    Form {
        modifiers: &[
            SLOT, SKIP, REGISTER_TYPE, REGISTER_WIDTH, WRITE_MASK, DIMENSION, WIDE_INDICES,
            ARRAY_ENABLE, TEXEL_OFFSET, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_AT_16, READ_UNMARKED],
        sources: &[TEXTURE],
        ..TEX
    } => {
        TEX_SINGLE = "TEX_SINGLE" 32, 0x128, 0x0;
    }

    "Loads one component of the four texels that a filter would weigh."
    Form {
        modifiers: &[
            SLOT, SKIP, REGISTER_TYPE, REGISTER_WIDTH, WRITE_MASK, DIMENSION, WIDE_INDICES,
            ARRAY_ENABLE, TEXEL_OFFSET, INTEGER_COORDINATES, FETCH_COMPONENT, SHADOW,
        ],
        staging: &[WRITE_AT_16, READ_UNMARKED],
        sources: &[TEXTURE],
        ..TEX
    } => {
        TEX_GATHER = "TEX_GATHER" 32, 0x129, 0x0;
    }

    "Computes a gradient descriptor, from which the level of detail of samples follows."
    Form {
        modifiers: &[
            SLOT, SKIP, REGISTER_TYPE, REGISTER_WIDTH, WRITE_MASK, DIMENSION, WIDE_INDICES,
            LOD_BIAS_DISABLE, LOD_CLAMP_DISABLE, FORCE_DELTA_ENABLE, DERIVATIVE_ENABLE,
        ],
        staging: &[WRITE_AT_16, READ_UNMARKED],
        sources: &[TEXTURE],
        ..TEX
    } => {
        TEX_GRADIENT = "TEX_GRADIENT" 32, 0x12a, 0x0;
    }

    "Samples two textures at the same coordinates."
    Form {
        modifiers: &[
            SLOT, SKIP, REGISTER_TYPE, REGISTER_WIDTH, SECONDARY_REGISTER_WIDTH, WRITE_MASK,
            DIMENSION, WIDE_INDICES, ARRAY_ENABLE, TEXEL_OFFSET, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_AT_16, READ_UNMARKED],
        sources: &[TEXTURE],
        ..TEX
    } => {
        TEX_DUAL = "TEX_DUAL" 32, 0x12f, 0x0;
    }

    "Samples a texture at a varying of the hardware's vertex buffer."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_BUF_SINGLE = "VAR_TEX_BUF_SINGLE" 32, 0x130, 0x0;
    }

    "Gathers from a texture at a varying of the hardware's vertex buffer."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, INTEGER_COORDINATES, FETCH_COMPONENT, SHADOW,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_BUF_GATHER = "VAR_TEX_BUF_GATHER" 32, 0x131, 0x0;
    }

    "Computes a gradient descriptor at a varying of the hardware's vertex buffer."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_BIAS_DISABLE, LOD_CLAMP_DISABLE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_BUF_GRADIENT = "VAR_TEX_BUF_GRADIENT" 32, 0x132, 0x0;
    }

    "Samples two textures at a varying of the hardware's vertex buffer."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_BUF_DUAL = "VAR_TEX_BUF_DUAL" 32, 0x137, 0x0;
    }

    "Samples a texture at a varying."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_SINGLE = "VAR_TEX_SINGLE" 32, 0x138, 0x0;
    }

    "Gathers from a texture at a varying."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, INTEGER_COORDINATES, FETCH_COMPONENT, SHADOW,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_GATHER = "VAR_TEX_GATHER" 32, 0x139, 0x0;
    }

    "Computes a gradient descriptor at a varying."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_BIAS_DISABLE, LOD_CLAMP_DISABLE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_GRADIENT = "VAR_TEX_GRADIENT" 32, 0x13a, 0x0;
    }

    "Samples two textures at a varying."
    Form {
        modifiers: &[
            SLOT, SKIP, SAMPLE_AND_UPDATE_MODE, REGISTER_TYPE, VARYING_TEXTURE_REGISTER_WIDTH,
            DIMENSION, ARRAY_ENABLE, SHADOW, LOD_MODE,
        ],
        staging: &[WRITE_COUNTED_AT_36],
        sources: &[TEXTURE, VARYING_OFFSET],
        ..VARTEX
    } => {
        VAR_TEX_DUAL = "VAR_TEX_DUAL" 32, 0x13f, 0x0;
    }
}
