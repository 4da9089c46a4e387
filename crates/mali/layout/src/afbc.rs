//! Arm Frame Buffer Compression: variants, formats, headers.
//!
//! An AFBC surface is an array of 16-byte headers, one a superblock, followed by the body, where
//! each superblock has room for its uncompressed pixels (the *sparse* layout, the only one that
//! drivers lay out ahead of time). Headers stand in raster order, or, *tiled*, in 8×8 tiles of
//! superblocks, in Morton order within a tile. What header and payload contain is Arm's and not
//! published: this module knows sizes and places.
//! source: Mesa, `pan_afbc.c`, `pan_layout.c`, `pan_resource.c` (`get_morton_index`); drm_fourcc.h,
//! `AFBC_FORMAT_MOD_*`.

use std::fmt;
use std::str::FromStr;

use tepui_format::Format::{self, *};
use tepui_format::info::{Component, Encoding, Numeric};
use tepui_format::units::{El, Extent};
use tepui_mali_chips::Arch;

use crate::{ImageDesc, LayoutError, Shape};

/// Bytes of a superblock's header.
pub const HEADER_B: u64 = 16;

/// The shape of a superblock. All have 256 pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Superblock {
    /// 16×16.
    S16x16,
    /// 32×8.
    S32x8,
    /// 64×4.
    S64x4,
}

impl Superblock {
    const ALL: [Superblock; 3] = [Superblock::S16x16, Superblock::S32x8, Superblock::S64x4];

    /// Width and height.
    pub const fn extent(self) -> Extent<El> {
        match self {
            Superblock::S16x16 => Extent::new(16, 16),
            Superblock::S32x8 => Extent::new(32, 8),
            Superblock::S64x4 => Extent::new(64, 4),
        }
    }

    /// The unit of rendering: superblocks of fewer than 16 rows are padded to 16.
    pub const fn render_extent(self) -> Extent<El> {
        let Extent { w, h, .. } = self.extent();
        Extent::new(w, h.next_multiple_of(16))
    }
}

/// A variant of AFBC. All are sparse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Afbc {
    /// The shape of a superblock.
    pub superblock: Superblock,
    /// Headers are in tiles of 8×8 superblocks.
    pub tiled: bool,
    /// Red, green and blue are decorrelated before compression.
    pub ytr: bool,
    /// The second half of a payload has a fixed address.
    pub split: bool,
    /// A superblock of one colour has no payload.
    pub solid_color: bool,
}

impl Afbc {
    /// Superblocks of 16×16, headers in raster order.
    pub const PLAIN: Afbc = Afbc {
        superblock: Superblock::S16x16,
        tiled: false,
        ytr: false,
        split: false,
        solid_color: false,
    };

    const YTR: u64 = 1 << 4;
    const SPLIT: u64 = 1 << 5;
    const SPARSE: u64 = 1 << 6;
    const TILED: u64 = 1 << 8;
    const SOLID_COLOR: u64 = 1 << 9;

    /// The flags of the DRM format modifier. source: drm_fourcc.h, `AFBC_FORMAT_MOD_*`.
    pub const fn flags(self) -> u64 {
        let mut flags = Afbc::SPARSE
            | match self.superblock {
                Superblock::S16x16 => 1,
                Superblock::S32x8 => 2,
                Superblock::S64x4 => 3,
            };
        if self.tiled {
            flags |= Afbc::TILED;
        }
        if self.ytr {
            flags |= Afbc::YTR;
        }
        if self.split {
            flags |= Afbc::SPLIT;
        }
        if self.solid_color {
            flags |= Afbc::SOLID_COLOR;
        }
        flags
    }

    /// The variant of a modifier's flags, if it is one of these.
    pub fn from_flags(flags: u64) -> Option<Afbc> {
        let superblock = match flags & 0xf {
            1 => Superblock::S16x16,
            2 => Superblock::S32x8,
            3 => Superblock::S64x4,
            _ => return None,
        };
        let afbc = Afbc {
            superblock,
            tiled: flags & Afbc::TILED != 0,
            ytr: flags & Afbc::YTR != 0,
            split: flags & Afbc::SPLIT != 0,
            solid_color: flags & Afbc::SOLID_COLOR != 0,
        };
        (afbc.flags() == flags).then_some(afbc)
    }

    /// Superblocks on a side of a tile of headers.
    pub(crate) const fn header_tile(self) -> u32 {
        if self.tiled { 8 } else { 1 }
    }

    /// Alignment of the body. source: Mesa, `pan_afbc_body_align`.
    pub(crate) const fn body_align_B(self, arch: Arch) -> u64 {
        match (self.tiled, arch.0) {
            (true, _) => 4096,
            (false, 6..) => 128,
            (false, _) => 64,
        }
    }

    /// The index of a superblock's header within its surface, with `stride` superblocks in a row.
    pub fn header_index(self, x: u32, y: u32, stride: u32) -> u64 {
        let (x, y, stride) = (u64::from(x), u64::from(y), u64::from(stride));
        if !self.tiled {
            return y * stride + x;
        }
        let bit = |value: u64, from: u32, to: u32| (value >> from & 1) << to;
        let within =
            bit(x, 0, 0) | bit(y, 0, 1) | bit(x, 1, 2) | bit(y, 1, 3) | bit(x, 2, 4) | bit(y, 2, 5);
        (y & !7) * stride + (x & !7) * 8 + within
    }
}

/// `16x16`, `32x8+tiled+ytr`.
impl fmt::Display for Afbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.superblock.extent())?;
        for (set, name) in self.names() {
            if set {
                write!(f, "+{name}")?;
            }
        }
        Ok(())
    }
}

impl Afbc {
    fn names(&self) -> [(bool, &'static str); 4] {
        [(self.tiled, "tiled"), (self.ytr, "ytr"), (self.split, "split"), (self.solid_color, "sc")]
    }
}

impl FromStr for Afbc {
    type Err = String;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Afbc, String> {
        let mut words = text.split('+');
        let size = words.next().unwrap_or_default();
        let superblock =
            Superblock::ALL.into_iter().find(|s| s.extent().to_string() == size).ok_or_else(
                || format!("no AFBC superblock '{size}'; there are 16x16, 32x8 and 64x4"),
            )?;
        let mut afbc = Afbc { superblock, ..Afbc::PLAIN };
        for word in words {
            match word {
                "tiled" => afbc.tiled = true,
                "ytr" => afbc.ytr = true,
                "split" => afbc.split = true,
                "sc" => afbc.solid_color = true,
                "sparse" => {}
                other => {
                    return Err(format!(
                        "no AFBC option '{other}'; there are tiled, ytr, split and sc"
                    ));
                }
            }
        }
        Ok(afbc)
    }
}

/// Internal pixel formats of AFBC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Named after the components and their bits.
pub enum Mode {
    R8,
    R8G8,
    R8G8B8,
    R8G8B8A8,
    R5G6B5,
    R5G5B5A1,
    R10G10B10A2,
    R4G4B4A4,
}

/// The internal format with which AFBC compresses `format`, if it does. source: Mesa,
/// `panfrost_afbc_format`.
pub fn mode(arch: Arch, format: Format) -> Option<Mode> {
    Some(match format {
        R8_UNORM | R8_SRGB => Mode::R8,
        A8_UNORM if arch < Arch(7) => Mode::R8,
        R8G8_UNORM | R8G8_SRGB | D16_UNORM => Mode::R8G8,
        R8G8B8_UNORM | R8G8B8_SRGB | B8G8R8_UNORM | B8G8R8_SRGB => Mode::R8G8B8,
        R8G8B8A8_UNORM
        | R8G8B8A8_SRGB
        | B8G8R8A8_UNORM
        | B8G8R8A8_SRGB
        | A8B8G8R8_UNORM_PACK32
        | A8B8G8R8_SRGB_PACK32
        | D24_UNORM_S8_UINT
        | X8_D24_UNORM_PACK32 => Mode::R8G8B8A8,
        R5G6B5_UNORM_PACK16 | B5G6R5_UNORM_PACK16 => Mode::R5G6B5,
        A1R5G5B5_UNORM_PACK16 | A1B5G5R5_UNORM_PACK16 => Mode::R5G5B5A1,
        A2R10G10B10_UNORM_PACK32 | A2B10G10R10_UNORM_PACK32 => Mode::R10G10B10A2,
        A4R4G4B4_UNORM_PACK16 | A4B4G4R4_UNORM_PACK16 => Mode::R4G4B4A4,
        // v7 compresses the component orders RGB and BGR alone.
        R4G4B4A4_UNORM_PACK16 if arch != Arch(7) => Mode::R4G4B4A4,
        _ => return None,
    })
}

/// Checks the rules of the hardware for AFBC.
pub(crate) fn check(desc: &ImageDesc, afbc: Afbc) -> Result<(), LayoutError> {
    let &ImageDesc { arch, shape: Shape { format, .. }, .. } = desc;
    if arch < Arch(5) {
        return Err(LayoutError::NoAfbc { arch });
    }
    let Some(mode) = mode(arch, format) else {
        return Err(LayoutError::AfbcFormat { format, arch });
    };
    let broken = |rule| Err(LayoutError::AfbcVariant { afbc, arch, rule });
    if afbc.tiled && arch < Arch(7) {
        return broken("tiled headers start with v7");
    }
    if afbc.solid_color && arch < Arch(7) {
        return broken("solid colour superblocks start with v7");
    }
    if afbc.split {
        let wide_ok = matches!(mode, Mode::R8G8B8A8 | Mode::R10G10B10A2);
        if arch < Arch(6) {
            return broken("split payloads start with v6");
        }
        if afbc.superblock == Superblock::S64x4
            || (afbc.superblock == Superblock::S32x8 && !wide_ok)
        {
            return broken("split payloads are for 16x16, and for 32x8 of 32 bits a pixel");
        }
    }
    // source: Mesa, `panfrost_afbc_can_ytr`.
    let three_colors = match &format.info().encoding {
        Encoding::Plain(channels) => channels.get(Component::B).is_some(),
        _ => false,
    };
    if afbc.ytr && (!three_colors || format.info().numeric() == Numeric::Srgb) {
        return broken(
            "the colour transform is for red, green and blue together, and not for sRGB",
        );
    }
    if desc.shape.samples > 1 {
        return Err(LayoutError::AfbcMultisampled { samples: desc.shape.samples });
    }
    if desc.shape.dimension == crate::Dimension::D3 && arch < Arch(7) {
        return Err(LayoutError::Afbc3d { arch });
    }
    Ok(())
}
