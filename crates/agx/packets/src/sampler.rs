//! Sampler descriptors.
//!
// source: cmdbuf.xml, "Sampler", "Border"

use tepui_packets::types::{Bool, Hex, Log2, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

/// Number of the sampler heap's first sampler, as registers of shaders name it: smaller numbers are
/// sampler state registers. source: Mesa's hk_descriptor_set.c
pub const FIRST_OF_HEAP: u16 = 28;

bits_enum! {
    /// Shadow comparison of the reference with the texel.
    pub enum CompareFunc = "Compare func" {
        /// Less or equal.
        #[default]
        Lequal = 0 => "Lequal",
        /// Greater or equal.
        Gequal = 1 => "Gequal",
        /// Less.
        Less = 2 => "Less",
        /// Greater.
        Greater = 3 => "Greater",
        /// Equal.
        Equal = 4 => "Equal",
        /// Not equal.
        NotEqual = 5 => "Not Equal",
        /// Always passes.
        Always = 6 => "Always",
        /// Never passes.
        Never = 7 => "Never",
    }
}

bits_enum! {
    /// Address mode: how coordinates outside the image are treated.
    pub enum Wrap = "Wrap" {
        /// The texel at the edge.
        #[default]
        ClampToEdge = 0 => "Clamp to edge",
        /// The image repeats.
        Repeat = 1 => "Repeat",
        /// The image repeats, every other copy mirrored.
        MirroredRepeat = 2 => "Mirrored repeat",
        /// The border colour.
        ClampToBorder = 3 => "Clamp to border",
        /// OpenGL's `GL_CLAMP`: the edge, filtered with the border colour.
        ClampGl = 4 => "Clamp (GL)",
        /// Mirrored once, then the texel at the edge.
        MirroredClampToEdge = 5 => "Mirrored clamp to edge",
    }
}

bits_enum! {
    /// Selection of mip levels.
    pub enum MipFilter = "Mip filter" {
        /// The first level only.
        #[default]
        None = 0 => "None",
        /// The nearest level.
        Nearest = 1 => "Nearest",
        /// Interpolates between the two nearest levels.
        Linear = 2 => "Linear",
    }
}

bits_enum! {
    /// The border colour.
    pub enum BorderColour = "Border colour" {
        /// (0, 0, 0, 0).
        #[default]
        TransparentBlack = 0 => "Transparent black",
        /// (0, 0, 0, 1).
        OpaqueBlack = 1 => "Opaque black",
        /// (1, 1, 1, 1).
        OpaqueWhite = 2 => "Opaque white",
        /// A [`Border`] follows the sampler.
        Custom = 3 => "Custom",
    }
}

bits_enum! {
    /// Filter within a level.
    pub enum Filter = "Filter" {
        /// The nearest.
        #[default]
        Nearest = 0 => "Nearest",
        /// Linear interpolation.
        Linear = 1 => "Linear",
        /// Cubic; details unknown.
        Bicubic = 2 => "Bicubic",
    }
}

packet! {
    /// Sampler state.
    pub struct Sampler = "Sampler", 8 bytes
    fields {
        /// Smallest level of detail. Mesa clamps to 0 to 14.
        minimum_lod: UnsignedFixed<6> [0..10] "Minimum LOD";
        /// Largest level of detail. Mesa clamps to 0 to 14.
        maximum_lod: UnsignedFixed<6> [10..20] "Maximum LOD";
        /// Largest ratio of anisotropy, 1 to 16.
        maximum_anisotropy: Log2 [20..23] "Maximum anisotropy";
        /// Filter when texels are larger than pixels.
        magnify: Filter [23..25] "Magnify";
        /// Filter when texels are smaller than pixels.
        minify: Filter [25..27] "Minify";
        /// Selection of mip levels.
        mip_filter: MipFilter [27..29] "Mip filter";
        /// Address mode of the first coordinate.
        wrap_s: Wrap [29..32] "Wrap S";
        /// Address mode of the second coordinate.
        wrap_t: Wrap [32..35] "Wrap T";
        /// Address mode of the third coordinate.
        wrap_r: Wrap [35..38] "Wrap R";
        /// Coordinates are unnormalised: in texels.
        pixel_coordinates: Bool [38..39] "Pixel coordinates";
        /// Shadow comparison.
        compare_func: CompareFunc [39..42] "Compare func";
        /// Enables the comparison.
        compare_enable: Bool [42..43] "Compare enable";
        /// The border colour.
        border_colour: BorderColour [55..57] "Border colour";
        /// Does not filter across the edges of a cube.
        seamful_cube_maps: Bool [57..58] "Seamful cube maps";
    }
}

packet! {
    /// A custom border colour, in the format of the image's channels.
    pub struct Border = "Border", 16 bytes
    fields {
        /// Red.
        channel_0: Hex [0..32] "Channel 0";
        /// Green.
        channel_1: Hex [32..64] "Channel 1";
        /// Blue.
        channel_2: Hex [64..96] "Channel 2";
        /// Alpha.
        channel_3: Hex [96..128] "Channel 3";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[Sampler::INFO, Border::INFO];
