//! Samplers.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Hex, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// Filters within a level.
    pub enum MapFilter = "MAP_FILTER" {
        /// NEAREST.
        #[default]
        Nearest = 0 => "NEAREST",
        /// LINEAR.
        Linear = 1 => "LINEAR",
        /// ANISOTROPIC.
        Anisotropic = 2 => "ANISOTROPIC",
        /// MONO.
        Mono = 6 => "MONO",
    }
}

bits_enum! {
    /// Filters between levels.
    pub enum MipFilter = "MIP_FILTER" {
        /// NONE.
        #[default]
        None = 0 => "NONE",
        /// NEAREST.
        Nearest = 1 => "NEAREST",
        /// LINEAR.
        Linear = 3 => "LINEAR",
    }
}

bits_enum! {
    /// Comparisons with a reference.
    pub enum ShadowFunction = "SHADOW_FUNCTION" {
        /// ALWAYS.
        #[default]
        Always = 0 => "ALWAYS",
        /// NEVER.
        Never = 1 => "NEVER",
        /// LESS.
        Less = 2 => "LESS",
        /// EQUAL.
        Equal = 3 => "EQUAL",
        /// LEQUAL.
        Lequal = 4 => "LEQUAL",
        /// GREATER.
        Greater = 5 => "GREATER",
        /// NOTEQUAL.
        Notequal = 6 => "NOTEQUAL",
        /// GEQUAL.
        Gequal = 7 => "GEQUAL",
    }
}

bits_enum! {
    /// The treatment of coordinates outside of the texture.
    pub enum TextureCoordinateMode = "Texture Coordinate Mode" {
        /// WRAP.
        #[default]
        Wrap = 0 => "WRAP",
        /// MIRROR.
        Mirror = 1 => "MIRROR",
        /// CLAMP.
        Clamp = 2 => "CLAMP",
        /// CUBE.
        Cube = 3 => "CUBE",
        /// CLAMP BORDER.
        ClampBorder = 4 => "CLAMP_BORDER",
        /// MIRROR ONCE.
        MirrorOnce = 5 => "MIRROR_ONCE",
        /// HALF BORDER.
        HalfBorder = 6 => "HALF_BORDER",
    }
}

bits_enum! {
    /// The reduction of a footprint's texels.
    pub enum ReductionType = "REDUCTION_TYPE" {
        /// STD FILTER.
        #[default]
        StdFilter = 0 => "STD_FILTER",
        /// COMPARISON.
        Comparison = 1 => "COMPARISON",
        /// MINIMUM.
        Minimum = 2 => "MINIMUM",
        /// MAXIMUM.
        Maximum = 3 => "MAXIMUM",
    }
}

packet! {
    /// A sampler: filters, address modes, levels of detail, comparison.
    pub struct SamplerState = "SAMPLER_STATE", 16 bytes
    fields {
        /// Anisotropic algorithm.
        anisotropic_algorithm: Bool [0..1] "Anisotropic Algorithm";
        /// Texture LOD bias.
        texture_lod_bias: Hex [1..14] "Texture LOD Bias";
        /// Filters within a level.
        min_mode_filter: MapFilter [14..17] "Min Mode Filter";
        /// Filter of magnified textures.
        mag_mode_filter: MapFilter [17..20] "Mag Mode Filter";
        /// Filters between levels.
        mip_mode_filter: MipFilter [20..22] "Mip Mode Filter";
        /// Coarse LOD quality mode.
        coarse_lod_quality_mode: Uint [22..27] "Coarse LOD Quality Mode";
        /// LOD preclamp mode.
        lod_preclamp_mode: Uint [27..29] "LOD PreClamp Mode";
        /// Texture border color mode.
        texture_border_color_mode: Bool [29..30] "Texture Border Color Mode";
        /// CPS LOD compensation enable.
        cps_lod_compensation_enable: Bool [30..31] "CPS LOD Compensation Enable" since 120;
        /// Sampler disable.
        sampler_disable: Bool [31..32] "Sampler Disable";
        /// Cube surface control mode.
        cube_surface_control_mode: Bool [32..33] "Cube Surface Control Mode";
        /// Comparisons with a reference.
        shadow_function: ShadowFunction [33..36] "Shadow Function";
        /// Chromakey mode.
        chromakey_mode: Bool [36..37] "ChromaKey Mode";
        /// Chromakey index.
        chromakey_index: Uint [37..39] "ChromaKey Index";
        /// Chromakey enable.
        chromakey_enable: Bool [39..40] "ChromaKey Enable";
        /// Max LOD.
        max_lod: UnsignedFixed<8> [40..52] "Max LOD";
        /// Min LOD.
        min_lod: UnsignedFixed<8> [52..64] "Min LOD";
        /// LOD clamp magnification mode.
        lod_clamp_magnification_mode: Bool [64..65] "LOD Clamp Magnification Mode";
        /// SRGB DECODE.
        srgb_decode: Uint [65..66] "SRGB DECODE" since 120;
        /// Return filter weight for null texels.
        return_filter_weight_for_null_texels: Uint [66..67] "Return Filter Weight for Null Texels" since 120;
        /// Return filter weight for border texels.
        return_filter_weight_for_border_texels: Uint [67..68] "Return Filter Weight for Border Texels" since 120;
        /// Force gather4 behavior.
        force_gather4_behavior: Bool [69..70] "Force gather4 Behavior" since 120;
        /// Offset of the border colour from the dynamic state base address.
        border_color_pointer: Shr<Address, 6> [70..96] "Border Color Pointer";
        /// TCZ address control mode.
        tcz_address_control_mode: TextureCoordinateMode [96..99] "TCZ Address Control Mode";
        /// TCY address control mode.
        tcy_address_control_mode: TextureCoordinateMode [99..102] "TCY Address Control Mode";
        /// TCX address control mode.
        tcx_address_control_mode: TextureCoordinateMode [102..105] "TCX Address Control Mode";
        /// Reduction type enable.
        reduction_type_enable: Bool [105..106] "Reduction Type Enable";
        /// Non-normalized coordinate enable.
        non_normalized_coordinate_enable: Bool [106..107] "Non-normalized Coordinate Enable";
        /// Trilinear filter quality.
        trilinear_filter_quality: Uint [107..109] "Trilinear Filter Quality";
        /// R address min filter rounding enable.
        r_address_min_filter_rounding_enable: Bool [109..110] "R Address Min Filter Rounding Enable";
        /// R address mag filter rounding enable.
        r_address_mag_filter_rounding_enable: Bool [110..111] "R Address Mag Filter Rounding Enable";
        /// V address min filter rounding enable.
        v_address_min_filter_rounding_enable: Bool [111..112] "V Address Min Filter Rounding Enable";
        /// V address mag filter rounding enable.
        v_address_mag_filter_rounding_enable: Bool [112..113] "V Address Mag Filter Rounding Enable";
        /// U address min filter rounding enable.
        u_address_min_filter_rounding_enable: Bool [113..114] "U Address Min Filter Rounding Enable";
        /// U address mag filter rounding enable.
        u_address_mag_filter_rounding_enable: Bool [114..115] "U Address Mag Filter Rounding Enable";
        /// Maximum anisotropy.
        maximum_anisotropy: Uint [115..118] "Maximum Anisotropy";
        /// The reduction of a footprint's texels.
        reduction_type: ReductionType [118..120] "Reduction Type";
        /// Allow low quality LOD calculation.
        allow_low_quality_lod_calculation: Bool [120..121] "Allow Low Quality LOD Calculation" since 120;
        /// Low quality filter.
        low_quality_filter: Bool [122..123] "Low Quality Filter" since 120;
    }
}

packet! {
    /// The colour outside of a texture.
    pub struct SamplerBorderColorState = "SAMPLER_BORDER_COLOR_STATE", 16 bytes
    fields {
        /// Border color 32bit red.
        border_color_32bit_red: Hex [0..32] "Border Color 32bit Red";
        /// Border color 32bit green.
        border_color_32bit_green: Hex [32..64] "Border Color 32bit Green";
        /// Border color 32bit blue.
        border_color_32bit_blue: Hex [64..96] "Border Color 32bit Blue";
        /// Border color 32bit alpha.
        border_color_32bit_alpha: Hex [96..128] "Border Color 32bit Alpha";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[SamplerState::INFO, SamplerBorderColorState::INFO];
