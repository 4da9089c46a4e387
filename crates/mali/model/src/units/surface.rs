//! Surfaces of Bifrost's textures: formats that include a compression, and a surface for each level, layer and sample.
//! Both are converted to Valhall's texel formats and planes.
//!
// source: Mesa, v7.xml ("Format", "Texture Layout", "AFBC Surface Flag"), pan_format.c (interchange formats),
// pan_texture.c (panfrost_emit_texture_payload, panfrost_compression_tag).

use tepui_mali_chips::Arch;
use tepui_mali_packets::bifrost::SurfaceWithStride;
use tepui_mali_packets::texture::{
    AfbcCompressionMode, AfbcSuperblockSize, Astc2dDimension, ClumpFormat, ClumpOrdering,
    ComponentOrder, Format, Plane, PlaneType, Texture, TextureDimension, TextureLayout,
};
use tepui_mali_packets::{Packet, Problem, revision};
use tepui_softgpu::UnitMemory;

use crate::pixels::format::PixelFormat;
use crate::warp::trap::{Trap, failed};

/// The coordinates of a texel.
#[derive(Clone, Copy, Default)]
pub struct Texel {
    pub x: u32,
    pub y: u32,
    /// The slice of a 3D image, or the sample.
    pub z: u32,
    pub layer: u32,
    pub level: u32,
}

/// The memory layout of a texture's levels.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Whether the faces of a level are adjacent (v6); otherwise they are layers.
    faces_inside: bool,
    ordering: TextureLayout,
    stored: TexelStorage,
}

/// The storage of texels in elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TexelStorage {
    /// Elements are texels of the format.
    Texels,
    Clump(ClumpFormat),
    /// ASTC blocks; true for high dynamic range.
    Astc(bool),
}

/// The texel format and the storage that a format number encodes.
fn stored(format: u32) -> Option<(Format, TexelStorage)> {
    use ClumpFormat as Clump;
    use Format::{R16Snorm, R16Unorm, R32f, Rg16Snorm, Rg16Unorm, Rgba8Unorm, Rgba16f, S8};
    Some(match format {
        1 => (Rgba8Unorm, TexelStorage::Clump(Clump::Etc2Rgb8)),
        2 => (R16Unorm, TexelStorage::Clump(Clump::Etc2R11Unorm)),
        3 => (Rgba8Unorm, TexelStorage::Clump(Clump::Etc2Rgba8)),
        4 => (Rg16Unorm, TexelStorage::Clump(Clump::Etc2Rg11Unorm)),
        7 => (Rgba8Unorm, TexelStorage::Clump(Clump::Bc1Unorm)),
        8 => (Rgba8Unorm, TexelStorage::Clump(Clump::Bc2Unorm)),
        9 => (Rgba8Unorm, TexelStorage::Clump(Clump::Bc3Unorm)),
        10 => (R16Unorm, TexelStorage::Clump(Clump::Bc4Unorm)),
        11 => (R16Snorm, TexelStorage::Clump(Clump::Bc4Snorm)),
        12 => (Rg16Unorm, TexelStorage::Clump(Clump::Bc5Unorm)),
        13 => (Rg16Snorm, TexelStorage::Clump(Clump::Bc5Snorm)),
        14 => (Rgba16f, TexelStorage::Clump(Clump::Bc6hUf16)),
        15 => (Rgba16f, TexelStorage::Clump(Clump::Bc6hSf16)),
        16 => (Rgba8Unorm, TexelStorage::Clump(Clump::Bc7Unorm)),
        17 => (R16Snorm, TexelStorage::Clump(Clump::Etc2R11Snorm)),
        18 => (Rg16Snorm, TexelStorage::Clump(Clump::Etc2Rg11Snorm)),
        19 => (Rgba8Unorm, TexelStorage::Clump(Clump::Etc2Rgb8a1)),
        22 | 62 => (Rgba8Unorm, TexelStorage::Astc(false)),
        23 => (Rgba16f, TexelStorage::Astc(true)),
        85 => (S8, TexelStorage::Clump(Clump::X24s8)),
        87 => (R32f, TexelStorage::Clump(Clump::D32x32)),
        _ => return None,
    })
}

/// The component format of a luminance or alpha format, with the swizzle that maps channels to it.
fn luminance(format: u32) -> Option<u32> {
    let (format, channels) = match format {
        24 => (Format::Rg8Unorm, [0, 0, 0, 1]),
        25 => (Format::Rg8Unorm, [1, 1, 1, 0]),
        26 => (Format::R8Unorm, [ZERO, ZERO, ZERO, 0]),
        _ => return None,
    };
    let swizzle = channels.iter().rev().fold(0, |bits, channel| bits << 3 | channel);
    Some((format.raw() as u32) << FORMAT_START | swizzle)
}

impl Layout {
    /// Reads a texture descriptor of Bifrost; the format of the result is that of texels.
    pub fn read(arch: Arch, bytes: &[u8; 32]) -> Result<(Texture, Layout), Problem> {
        let mut texture = Texture::unpack_as(bytes, revision(arch.0))?;
        // Red in all channels has the swizzle 0, which is a component order on v7.
        if arch.0 < 7 && texture.format & ORDER == 0 {
            texture.format |= ComponentOrder::Rrrr.raw() as u32;
        }
        let ordering = texture.texel_ordering;
        if let Some(format) = luminance(texture.format >> FORMAT_START & 0xff) {
            texture.format = texture.format & SRGB | format;
        }
        let found = stored(texture.format >> FORMAT_START & 0xff);
        let stored = found.map_or(TexelStorage::Texels, |(format, stored)| {
            let others = texture.format & !(0xff << FORMAT_START);
            texture.format = others | (format.raw() as u32) << FORMAT_START;
            stored
        });
        Ok((texture, Layout { faces_inside: arch.0 < 7, ordering, stored }))
    }

    /// The index of a texel's surface, and the slice within it.
    pub fn index(self, t: &Texture, at: Texel, level: u32) -> (u32, u32) {
        // Each sample has a surface of its own.
        let (samples, sample, slice) = match t.dimension {
            TextureDimension::N3d => (1, 0, at.z),
            _ => (t.sample_count, at.z, 0),
        };
        let index = match self.faces_inside {
            false => {
                let layer = at.layer.wrapping_mul(samples).wrapping_add(sample);
                layer.wrapping_mul(t.levels).wrapping_add(level)
            }
            true => {
                let faces = if t.dimension == TextureDimension::Cube { 6 } else { 1 };
                let layer = (at.layer / faces).wrapping_mul(t.levels).wrapping_add(level);
                let face = layer.wrapping_mul(faces).wrapping_add(at.layer % faces);
                face.wrapping_mul(samples).wrapping_add(sample)
            }
        };
        (index, slice)
    }

    /// The plane of a layer's level; each sample has its own surface.
    pub fn plane(
        self,
        memory: &mut UnitMemory<'_>,
        t: &Texture,
        format: &PixelFormat,
        surface: u32,
        level: u32,
    ) -> Result<Plane, Box<Trap>> {
        use TextureLayout::{Afbc, Linear, None, Tiled};
        let at = t.surfaces.wrapping_add(u64::from(surface) * SurfaceWithStride::SIZE_BYTES as u64);
        let bytes = memory.read_array::<{ SurfaceWithStride::SIZE_BYTES }>(at).map_err(failed)?;
        let s = SurfaceWithStride::unpack(&bytes)
            .map_err(|e| Box::new(Trap::Invalid(format!("surface of a texture: {e}"))))?;
        let mut plane = Plane {
            plane_type: PlaneType::Generic,
            row_stride: s.row_stride as u32,
            slice_stride: s.surface_stride,
            pointer: s.pointer,
            clump_ordering: match self.ordering {
                TextureLayout::Tiled => ClumpOrdering::TiledUInterleaved,
                _ => ClumpOrdering::Linear,
            },
            ..Plane::default()
        };
        match (self.ordering, self.stored) {
            (Tiled | Linear, TexelStorage::Texels) => plane.clump_format = raw(format),
            (Tiled | Linear, TexelStorage::Clump(clump)) => plane.clump_format = clump,
            (Tiled | Linear, TexelStorage::Astc(high)) => {
                // The block size is in the lowest bits of the address.
                let side = |start: u32| Astc2dDimension::from_raw(s.pointer >> start & 7);
                let unknown = || Box::new(Trap::Invalid("a side of an ASTC block".into()));
                plane.plane_type = PlaneType::Astc2d;
                plane.block_width_2d = side(0).ok_or_else(unknown)?;
                plane.block_height_2d = side(3).ok_or_else(unknown)?;
                plane.decode_hdr = high;
                plane.pointer &= !TAG;
            }
            (Afbc, _) => {
                plane.plane_type = PlaneType::Afbc;
                plane.pointer &= !TAG;
                plane.tiled_header = s.pointer & TILED_HEADER != 0;
                plane.superblock_size = AfbcSuperblockSize::N16x16;
                if let TexelStorage::Clump(ClumpFormat::X24s8) = self.stored {
                    plane.compression_mode = AfbcCompressionMode::X24s8;
                }
                // A descriptor without a stride implies rows of headers as wide as the level.
                if plane.row_stride == 0 {
                    let width = (t.width >> level.min(31)).max(1);
                    plane.row_stride = width.div_ceil(AFBC_SIDE) * AFBC_HEADER;
                }
            }
            (None, _) => {
                return Err(Box::new(Trap::Invalid("a texture without a layout".into())));
            }
        }
        Ok(plane)
    }
}

/// The component order bits of a pixel format.
const ORDER: u32 = 0xfff;

/// The sRGB bit of a pixel format.
const SRGB: u32 = 1 << 20;

/// The swizzle code of a channel that is 0.
const ZERO: u32 = 4;

/// The first of the texel format bits of a pixel format.
const FORMAT_START: u32 = 12;

/// Side of a superblock in texels, and bytes of its header.
const AFBC_SIDE: u32 = 16;
const AFBC_HEADER: u32 = 16;

/// Tag bits of a surface's address, and the one for AFBC with tiled headers.
const TAG: u64 = 0x3f;
const TILED_HEADER: u64 = 8;

/// The clump of a format's texels.
fn raw(format: &PixelFormat) -> ClumpFormat {
    match format.bytes() {
        1 => ClumpFormat::Raw8,
        2 => ClumpFormat::Raw16,
        3 => ClumpFormat::Raw24,
        4 => ClumpFormat::Raw32,
        6 => ClumpFormat::Raw48,
        8 => ClumpFormat::Raw64,
        12 => ClumpFormat::Raw96,
        _ => ClumpFormat::Raw128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pixels::format::NumericType;

    #[test]
    fn luminance_is_in_three_channels() {
        let one = 1f32.to_bits();
        let of = |format: u32, bytes: &[u8]| {
            let bits = luminance(format).expect("a format");
            PixelFormat::new(bits).expect("known").unpack(bytes, NumericType::Float)
        };
        assert_eq!(of(24, &[255, 0]), [one, one, one, 0]);
        assert_eq!(of(25, &[0, 255]), [one, one, one, 0]);
        assert_eq!(of(26, &[255]), [0, 0, 0, one]);
        assert!(luminance(1).is_none());
    }
}
