//! Arm Frame Buffer Compression: variants, formats, headers.
//!
//! An AFBC surface is an array of 16-byte headers, one per superblock, followed by the body, where each
//! superblock has space for its uncompressed pixels (the *sparse* layout, the only one that drivers lay out
//! ahead of time). Headers are in raster order, or, *tiled*, in 8×8 tiles of superblocks, in Morton order
//! within a tile. The contents of header and payload are Arm's and not published: this module knows sizes and
//! places. source: Mesa, `pan_afbc.c`, `pan_layout.c`, `pan_resource.c` (`get_morton_index`); drm_fourcc.h,
//! `AFBC_FORMAT_MOD_*`.

pub(crate) mod variant;

pub use variant::{Afbc, Superblock};

use tepui_format::Format::{self, *};
use tepui_format::info::{Component, Encoding, Numeric};

use tepui_mali_chips::Arch;

use crate::{ImageDesc, LayoutError, Shape};

/// Bytes of a superblock's header.
pub const HEADER_B: u64 = 16;

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
