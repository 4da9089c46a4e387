//! Descriptions of images, from which layouts are computed.

use std::fmt;
use std::str::FromStr;

use tepui_format::Format;
use tepui_layout::Shape;

/// Memory layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Rows of pixels, a stride apart.
    Linear,
    /// Tiles of elements in Morton order.
    Twiddled,
    /// Twiddled, with a metadata buffer for the lossless compression.
    Compressed,
}

impl Tiling {
    /// All of them.
    pub const ALL: [Tiling; 3] = [Tiling::Linear, Tiling::Twiddled, Tiling::Compressed];

    /// The name: `linear`, `twiddled`, `compressed`.
    pub const fn name(self) -> &'static str {
        match self {
            Tiling::Linear => "linear",
            Tiling::Twiddled => "twiddled",
            Tiling::Compressed => "compressed",
        }
    }

    /// The DRM format modifier. source: drm_fourcc.h, `DRM_FORMAT_MOD_LINEAR`,
    /// `DRM_FORMAT_MOD_APPLE_GPU_TILED`, `DRM_FORMAT_MOD_APPLE_GPU_TILED_COMPRESSED`.
    pub const fn drm_modifier(self) -> u64 {
        const VENDOR_APPLE: u64 = 0x0c << 56;
        match self {
            Tiling::Linear => 0,
            Tiling::Twiddled => VENDOR_APPLE | 1,
            Tiling::Compressed => VENDOR_APPLE | 2,
        }
    }

    /// The tiling that a DRM format modifier names.
    pub fn from_drm_modifier(modifier: u64) -> Option<Tiling> {
        Tiling::ALL.into_iter().find(|t| t.drm_modifier() == modifier)
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Tiling {
    type Err = String;

    fn from_str(name: &str) -> Result<Tiling, String> {
        Tiling::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| {
            format!("AGX has no tiling '{name}'; it has linear, twiddled and compressed")
        })
    }
}

/// Uses of the image besides sampling. Some need padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Usage {
    /// The image is a colour, depth or stencil attachment.
    pub renderable: bool,
    /// Shaders store to the image.
    pub writable: bool,
}

/// An image to lay out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Format and size. More than one level reserves the whole chain.
    pub shape: Shape,
    /// Memory layout.
    pub tiling: Tiling,
    /// Uses besides sampling.
    pub usage: Usage,
    /// Bytes from row to row of a linear image; the smallest that suits the hardware if none.
    pub linear_stride_B: Option<u32>,
}

impl ImageDesc {
    /// Layers, or slices of a 3D image: the number of miptrees.
    pub fn slices(&self) -> u32 {
        self.shape.layers.max(self.shape.depth_px)
    }

    /// A sampled 2D image of one level, one layer and one sample.
    pub const fn new_2d(
        format: Format,
        tiling: Tiling,
        width_px: u32,
        height_px: u32,
    ) -> ImageDesc {
        ImageDesc {
            shape: Shape::new_2d(format, width_px, height_px),
            tiling,
            usage: Usage { renderable: false, writable: false },
            linear_stride_B: None,
        }
    }
}
