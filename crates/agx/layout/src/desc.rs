//! What one says of an image before its layout is known.

use std::fmt;
use std::str::FromStr;

use tepui_format::Format;
use tepui_format::units::full_chain_levels;

/// How pixels are arranged in memory.
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
    /// Every tiling.
    pub const ALL: [Tiling; 3] = [Tiling::Linear, Tiling::Twiddled, Tiling::Compressed];

    /// The word for it: `linear`, `twiddled`, `compressed`.
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

/// The shape of an image. Arrays are images of more than one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// One row.
    D1,
    /// A rectangle.
    D2,
    /// A box: levels halve the depth too.
    D3,
    /// Six square layers a cube.
    Cube,
}

/// What the GPU will do with the image besides sampling it. Some uses need padding.
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
    /// Pixel format.
    pub format: Format,
    /// Arrangement in memory.
    pub tiling: Tiling,
    /// Shape.
    pub dimension: Dimension,
    /// Width of level 0 in pixels.
    pub width_px: u32,
    /// Height of level 0 in pixels.
    pub height_px: u32,
    /// Depth of level 0 in pixels; 1 unless the image is 3D.
    pub depth_px: u32,
    /// Array layers; six a cube.
    pub layers: u32,
    /// Samples a pixel: 1, 2 or 4.
    pub samples: u32,
    /// Mip levels. More than one reserves the whole chain.
    pub levels: u32,
    /// What the GPU does with it.
    pub usage: Usage,
    /// Bytes from row to row of a linear image; the smallest that suits the hardware if none.
    pub linear_stride_B: Option<u32>,
}

impl ImageDesc {
    /// A sampled 2D image of one level, one layer and one sample.
    pub const fn new_2d(
        format: Format,
        tiling: Tiling,
        width_px: u32,
        height_px: u32,
    ) -> ImageDesc {
        ImageDesc {
            format,
            tiling,
            dimension: Dimension::D2,
            width_px,
            height_px,
            depth_px: 1,
            layers: 1,
            samples: 1,
            levels: 1,
            usage: Usage { renderable: false, writable: false },
            linear_stride_B: None,
        }
    }

    /// How many levels a full mip chain of this image has.
    pub fn full_chain(&self) -> u32 {
        let major = self.width_px.max(self.height_px);
        let depth = if self.dimension == Dimension::D3 { self.depth_px } else { 1 };
        full_chain_levels(major.max(depth))
    }
}
