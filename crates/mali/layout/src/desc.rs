//! Descriptions of images, from which layouts are computed.

use std::fmt;

use tepui_format::Format;
use tepui_format::units::{El, Extent};
use tepui_layout::Shape;
use tepui_mali_chips::Arch;

use crate::afbc::variant::Afbc;

/// Memory layouts. Each is a DRM format modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// Rows of elements with a stride.
    Linear,
    /// Tiles of 16×16 pixels, or of 4×4 blocks.
    UInterleaved,
    /// Arm Frame Buffer Compression.
    Afbc(Afbc),
}

const VENDOR_ARM: u64 = 0x08 << 56;
const TYPE_AFBC: u64 = 0x00 << 52;
const TYPE_MISC: u64 = 0x01 << 52;

impl Modifier {
    /// The modifier's number. source: drm_fourcc.h, `DRM_FORMAT_MOD_LINEAR`,
    /// `DRM_FORMAT_MOD_ARM_16X16_BLOCK_U_INTERLEAVED`, `DRM_FORMAT_MOD_ARM_AFBC`.
    pub const fn drm_modifier(self) -> u64 {
        match self {
            Modifier::Linear => 0,
            Modifier::UInterleaved => VENDOR_ARM | TYPE_MISC | 1,
            Modifier::Afbc(afbc) => VENDOR_ARM | TYPE_AFBC | afbc.flags(),
        }
    }

    /// The layout of a modifier's number, if it is one of these.
    pub fn from_drm_modifier(modifier: u64) -> Option<Modifier> {
        match modifier {
            0 => Some(Modifier::Linear),
            m if m == Modifier::UInterleaved.drm_modifier() => Some(Modifier::UInterleaved),
            m if m >> 52 == (VENDOR_ARM | TYPE_AFBC) >> 52 => {
                Afbc::from_flags(m & ((1 << 52) - 1)).map(Modifier::Afbc)
            }
            _ => None,
        }
    }

    /// The name: `linear`, `u-interleaved`, `afbc`.
    pub const fn name(self) -> &'static str {
        match self {
            Modifier::Linear => "linear",
            Modifier::UInterleaved => "u-interleaved",
            Modifier::Afbc(_) => "afbc",
        }
    }

    /// The tile: a superblock of AFBC, a single element of linear images.
    pub fn tile_el(self, format: Format) -> Extent<El> {
        match self {
            Modifier::Linear => Extent::new(1, 1),
            // source: Mesa, tiling.rst.
            Modifier::UInterleaved if format.info().is_compressed() => Extent::new(4, 4),
            Modifier::UInterleaved => Extent::new(16, 16),
            Modifier::Afbc(afbc) => afbc.superblock.extent(),
        }
    }
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Modifier::Afbc(afbc) => write!(f, "afbc ({afbc})"),
            other => f.pad(other.name()),
        }
    }
}

/// Offset and stride of an imported image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExplicitLayout {
    /// Byte offset of level 0.
    pub offset_B: u32,
    /// Bytes from row to row: of pixels where linear, of tiles where u-interleaved, of headers
    /// where AFBC.
    pub row_stride_B: u32,
}

/// An image to lay out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// The architecture of the GPU. Alignments depend on it.
    pub arch: Arch,
    /// Format and size.
    pub shape: Shape,
    /// Memory layout.
    pub modifier: Modifier,
    /// Whether each level is followed by checksums of its tiles (transaction elimination).
    pub checksums: bool,
    /// Offset and stride, if the image is imported. Such images have one level, one layer and one
    /// sample.
    pub explicit: Option<ExplicitLayout>,
}

impl ImageDesc {
    /// A 2D image of one level, one layer and one sample.
    pub const fn new_2d(
        arch: Arch,
        format: Format,
        modifier: Modifier,
        width_px: u32,
        height_px: u32,
    ) -> ImageDesc {
        ImageDesc {
            arch,
            shape: Shape::new_2d(format, width_px, height_px),
            modifier,
            checksums: false,
            explicit: None,
        }
    }
}
