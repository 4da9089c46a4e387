//! The properties of a format.

use crate::Format;
use crate::units::{Extent, Px};

/// The table entry of a format, returned by [`Format::info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// Vulkan's name without the `VK_FORMAT_` prefix.
    pub name: &'static str,
    /// The block: the unit that memory is addressed in.
    pub block: Block,
    /// Encoding of a block.
    pub encoding: Encoding,
}

/// A block, the unit of storage: one pixel for most formats, a rectangle of pixels for
/// block-compressed and 4:2:2 formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
    /// Size of a block in bytes; for a planar format, of one pixel of its first plane.
    pub bytes: u32,
}

impl Block {
    /// Width and height in pixels.
    pub const fn extent(&self) -> Extent<Px> {
        Extent::new(self.width_px, self.height_px)
    }
}

/// Encoding of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One pixel whose components are bit fields.
    Plain(Channels),
    /// Three 9-bit mantissas with a shared 5-bit exponent (`E5B9G9R9`).
    SharedExponent,
    /// Depth, stencil or both, each a bit field.
    DepthStencil(Channels),
    /// 4:2:2: two horizontally adjacent pixels share their chroma, so a block has four components.
    /// They are listed in memory order; the second `G` is that of the second pixel.
    Subsampled(Channels),
    /// Several planes, each an image.
    Planar(Planes),
    /// A compressed block, decoded by [`crate::block`].
    Compressed(Compression, Numeric),
}

/// Up to four components of a pixel in memory order (least significant bit first).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    pub(crate) list: [Channel; 4],
    pub(crate) len: u8,
}

impl Channels {
    pub(crate) const NONE: Channels = Channels {
        list: [Channel { component: Component::R, shift: 0, bits: 0, numeric: Numeric::Unorm }; 4],
        len: 0,
    };

    /// The components, the one at the lowest address or least significant bit first.
    pub const fn as_slice(&self) -> &[Channel] {
        self.list.split_at(self.len as usize).0
    }

    /// The bit field that holds `component`.
    pub fn get(&self, component: Component) -> Option<&Channel> {
        self.as_slice().iter().find(|c| c.component == component)
    }
}

/// A bit field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The component that it holds.
    pub component: Component,
    /// Position of its least significant bit, counted from bit 0 of byte 0 of the block (little
    /// endian).
    pub shift: u16,
    /// Width in bits.
    pub bits: u8,
    /// Number format of its bits.
    pub numeric: Numeric,
}

/// A component of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// Red, or chroma Cr.
    R,
    /// Green, or luma Y.
    G,
    /// Blue, or chroma Cb.
    B,
    /// Alpha.
    A,
    /// Depth.
    D,
    /// Stencil.
    S,
}

/// Number format of a channel's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// Unsigned fixed point: all ones is 1.0.
    Unorm,
    /// Signed fixed point: the largest positive integer is 1.0, the two smallest are −1.0.
    Snorm,
    /// An unsigned integer, converted to a float.
    Uscaled,
    /// A signed integer, converted to a float.
    Sscaled,
    /// An unsigned integer.
    Uint,
    /// A signed integer, two's complement.
    Sint,
    /// A float without a sign bit: 5 exponent bits, the rest mantissa.
    Ufloat,
    /// A float of 16, 32 or 64 bits.
    Sfloat,
    /// Unsigned fixed point after the sRGB transfer function (alpha is linear).
    Srgb,
}

impl Numeric {
    /// Whether shaders see integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Numeric::Uint | Numeric::Sint)
    }
}

/// The planes of a planar format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    pub(crate) list: [Plane; 3],
    pub(crate) len: u8,
}

impl Planes {
    /// The planes, plane 0 first.
    pub const fn as_slice(&self) -> &[Plane] {
        self.list.split_at(self.len as usize).0
    }
}

/// One plane of a planar format, which is an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// The plane's own format. source: Vulkan specification, "Compatible Formats of Planes".
    pub format: Format,
    /// Horizontal subsampling: pixels of the image per pixel of the plane.
    pub width_divisor: u32,
    /// Vertical subsampling.
    pub height_divisor: u32,
}

/// The families of block compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// BC1 (DXT1). With `alpha`, the fourth colour of a three-colour block is transparent.
    Bc1 {
        /// Whether the format has alpha.
        alpha: bool,
    },
    /// BC2 (DXT3).
    Bc2,
    /// BC3 (DXT5).
    Bc3,
    /// BC4 (RGTC1).
    Bc4,
    /// BC5 (RGTC2).
    Bc5,
    /// BC6H.
    Bc6h,
    /// BC7.
    Bc7,
    /// ETC2 without alpha; ETC1 is a subset.
    Etc2Rgb,
    /// ETC2 with 1-bit alpha.
    Etc2Rgba1,
    /// ETC2 with EAC alpha.
    Etc2Rgba8,
    /// EAC, one component.
    EacR,
    /// EAC, two components.
    EacRg,
    /// ASTC of 2D blocks.
    Astc,
    /// PVRTC, version 1.
    Pvrtc1,
    /// PVRTC, version 2.
    Pvrtc2,
}

impl Compression {
    /// Components of the formats: the first of red, green, blue and alpha. Of the others, colours read as 0 and alpha as 1.
    pub const fn components(self) -> usize {
        match self {
            Compression::Bc4 | Compression::EacR => 1,
            Compression::Bc5 | Compression::EacRg => 2,
            Compression::Bc1 { alpha: false } | Compression::Bc6h | Compression::Etc2Rgb => 3,
            Compression::Bc1 { alpha: true }
            | Compression::Bc2
            | Compression::Bc3
            | Compression::Bc7
            | Compression::Etc2Rgba1
            | Compression::Etc2Rgba8
            | Compression::Astc
            | Compression::Pvrtc1
            | Compression::Pvrtc2 => 4,
        }
    }
}

impl FormatInfo {
    /// Whether the format is block-compressed.
    pub const fn is_compressed(&self) -> bool {
        matches!(self.encoding, Encoding::Compressed(..))
    }

    /// Whether the format holds depth, stencil or both.
    pub const fn is_depth_or_stencil(&self) -> bool {
        matches!(self.encoding, Encoding::DepthStencil(_))
    }

    /// Whether the format has several planes.
    pub const fn is_planar(&self) -> bool {
        matches!(self.encoding, Encoding::Planar(_))
    }

    /// The planes of a planar format; empty for other formats.
    pub const fn planes(&self) -> &[Plane] {
        match &self.encoding {
            Encoding::Planar(planes) => planes.as_slice(),
            _ => &[],
        }
    }

    /// The numeric type of the first colour component.
    pub fn numeric(&self) -> Numeric {
        match &self.encoding {
            Encoding::Plain(c) | Encoding::DepthStencil(c) | Encoding::Subsampled(c) => {
                c.list[0].numeric
            }
            Encoding::SharedExponent => Numeric::Ufloat,
            Encoding::Planar(_) => Numeric::Unorm,
            Encoding::Compressed(_, numeric) => *numeric,
        }
    }
}
