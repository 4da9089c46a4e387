//! Errors of texture and image accesses.

use tepui_agx_layout::LayoutError;
use tepui_agx_packets::Problem;
use tepui_agx_packets::texture::{Channels, Layout, TextureType};
use tepui_format::Format;
use tepui_texel::FormatError;

/// Reason why a descriptor cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Bits whose meaning is unknown.
    #[error("{0}")]
    Bits(#[from] Problem),
    /// No such format is known.
    #[error("unknown format: channels {channels}, type {type_}{}", if *srgb { ", sRGB" } else { "" })]
    Format {
        /// Channels of the descriptor.
        channels: Channels,
        /// Their type.
        type_: TextureType,
        /// Converted from or to sRGB.
        srgb: bool,
    },
    /// The format is known, but not implemented.
    #[error("texels of {0} are not decoded by this model")]
    Undecoded(Format),
    /// The pixel back end does not write block-compressed formats.
    #[error("{0} is not a format that the pixel back end writes")]
    NotWritable(Format),
    /// The memory layout is unknown.
    #[error("the content of layout {0} is unknown")]
    Layout(Layout),
    /// The hardware has no layout for this shape of image.
    #[error("{0}")]
    Shape(#[from] LayoutError),
    /// A combination of fields whose meaning is unknown.
    #[error("{0} is unknown")]
    Unknown(&'static str),
}

/// An access that ends the job with a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A texel that is written or loaded to a tile is not mapped. Unlike loads and stores of
    /// shaders, this is no soft fault. source: asahi_drm.h, DRM_ASAHI_FEATURE_SOFT_FAULTS, speaks
    /// of loads and stores. Reads by texture instructions end as [`crate::Note::Unmapped`].
    #[error("{0}")]
    Memory(#[from] tepui_softgpu::Fault),
    /// The descriptor of an image that is written is not understood.
    #[error("PBE descriptor: {0}")]
    Descriptor(Unsupported),
    /// The instruction asks for something whose outcome is unknown.
    #[error("{0} is unknown")]
    Unknown(&'static str),
}

impl From<FormatError> for Unsupported {
    fn from(error: FormatError) -> Unsupported {
        match error {
            FormatError::Undecoded(format) => Unsupported::Undecoded(format),
            FormatError::NotWritable(format) => Unsupported::NotWritable(format),
        }
    }
}
