//! Descriptions of images, from which layouts are computed.

use std::str::FromStr;

use tepui_format::Format;
use tepui_format::info::{Component, Encoding};
use tepui_layout::Shape;
use tepui_tiling::AddressBits;

/// The DRM format modifier of images in Y tiles whose cache lines are compressed, with a control surface as their second plane, of
/// Gen12. source: drm_fourcc.h, `I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS`
pub const Y_TILED_GEN12_RC_CCS: u64 = 0x01 << 56 | 6;

/// The modifier of Y tiles whose cache lines may be compressed on Gen9, with the control surface as a second plane. source: drm_fourcc.h,
/// `I915_FORMAT_MOD_Y_TILED_CCS`
pub const Y_TILED_CCS: u64 = 0x01 << 56 | 4;

/// The arrangement of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Rows of elements.
    Linear,
    /// Tiles of 512 bytes by 8 rows, row by row.
    X,
    /// Tiles of 128 bytes by 32 rows, in columns of 16 bytes.
    Y,
    /// Tiles of 64 by 64 bytes of stencil; bits of column and row are interleaved.
    W,
    /// Tiles of 4 KiB whose shape depends on the bytes of an element, with a tail of small levels.
    Yf,
    /// Tiles of 64 KiB whose shape depends on the bytes and the samples of an element, with a tail of small levels. No public source says
    /// how their elements are ordered, so that only the GPU reads them.
    Ys,
}

impl Tiling {
    /// All tilings.
    pub const ALL: [Tiling; 6] =
        [Tiling::Linear, Tiling::X, Tiling::Y, Tiling::W, Tiling::Yf, Tiling::Ys];

    /// The name: `linear`, `x`, `y`, `w`, `yf`, `ys`.
    pub const fn name(self) -> &'static str {
        match self {
            Tiling::Linear => "linear",
            Tiling::X => "x",
            Tiling::Y => "y",
            Tiling::W => "w",
            Tiling::Yf => "yf",
            Tiling::Ys => "ys",
        }
    }

    /// The DRM format modifier, if there is one. source: drm_fourcc.h, `DRM_FORMAT_MOD_LINEAR`,
    /// `I915_FORMAT_MOD_X_TILED`, `I915_FORMAT_MOD_Y_TILED`, `I915_FORMAT_MOD_Yf_TILED`.
    pub const fn drm_modifier(self) -> Option<u64> {
        const VENDOR_INTEL: u64 = 0x01 << 56;
        match self {
            Tiling::Linear => Some(0),
            Tiling::X => Some(VENDOR_INTEL | 1),
            Tiling::Y => Some(VENDOR_INTEL | 2),
            Tiling::Yf => Some(VENDOR_INTEL | 3),
            Tiling::W | Tiling::Ys => None,
        }
    }

    /// The bits of a byte's offset in a tile that come from its column and its row; `None` for linear images, and for
    /// tiles whose order is not known.
    ///
    /// source: Mesa, docs/isl/tiling.rst (X, Y, W); drm_fourcc.h, `I915_FORMAT_MOD_Yf_TILED`: 16 bytes by
    /// 4 rows make 64 bytes, four of these a unit of 256, four units a group and four groups the
    /// tile, columns first; isl.c, `isl_tiling_get_info`, for its shapes.
    #[inline]
    pub fn bits(self, element_B: u32) -> Option<AddressBits> {
        let (x, y) = match (self, element_B) {
            (Tiling::Linear | Tiling::Ys, _) => return None,
            (Tiling::X, _) => (0x1ff, 0xe00),
            (Tiling::Y, _) => (0xe0f, 0x1f0),
            (Tiling::W, _) => (0xe15, 0x1ea),
            (Tiling::Yf, 1) => (0xa0f, 0x5f0),
            (Tiling::Yf, 2 | 4) => (0xa8f, 0x570),
            (Tiling::Yf, _) => (0xacf, 0x530),
        };
        Some(AddressBits { x, y })
    }

    /// Bytes of a row of a tile, and its rows, in the units of pitches: a W tile is as wide as a Y tile,
    /// since two of its rows count as one. source: Mesa, isl.c, `isl_tiling_get_info`.
    pub(crate) fn physical(self, element_B: u32) -> (u64, u64) {
        match self {
            Tiling::W => (128, 32),
            _ => match self.bits(element_B).map(AddressBits::tile) {
                Some((width_B, rows)) => (width_B.into(), rows.into()),
                None => (element_B.into(), 1),
            },
        }
    }
}

impl FromStr for Tiling {
    type Err = ();

    fn from_str(name: &str) -> Result<Tiling, ()> {
        Tiling::ALL.into_iter().find(|tiling| tiling.name() == name).ok_or(())
    }
}

/// The kind of an image's pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Colours.
    Colour,
    /// Depth.
    Depth,
    /// Stencil.
    Stencil,
}

impl ImageKind {
    /// The kind of a format; `None` for combined depth and stencil, which Gen9 keeps in two images.
    pub fn of(format: Format) -> Option<ImageKind> {
        let Encoding::DepthStencil(channels) = format.info().encoding else {
            return Some(ImageKind::Colour);
        };
        let has = |component| channels.get(component).is_some();
        match (has(Component::D), has(Component::S)) {
            (true, true) => None,
            (true, false) => Some(ImageKind::Depth),
            _ => Some(ImageKind::Stencil),
        }
    }
}

/// The description of an image and its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageDesc {
    /// Format and size.
    pub shape: Shape,
    /// The arrangement of elements.
    pub tiling: Tiling,
    /// Whether the image may have an auxiliary surface (CCS), for which levels of colour images are aligned
    /// to 16 elements instead of 4.
    pub may_have_aux: bool,
    /// Row stride of a linear image in bytes; otherwise the minimum is used.
    pub linear_stride_B: Option<u32>,
}

impl ImageDesc {
    /// A 2D image of one level, one layer and one sample.
    pub const fn new_2d(format: Format, tiling: Tiling, width_px: u32, height_px: u32) -> Self {
        ImageDesc {
            shape: Shape::new_2d(format, width_px, height_px),
            tiling,
            may_have_aux: true,
            linear_stride_B: None,
        }
    }
}
