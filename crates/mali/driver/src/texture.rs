//! Texture descriptors: of image views, of texel buffers.
//!
//! A descriptor points to planes, one for each level of each layer, which are in memory of the device; storage images and texel
//! buffers are textures, too. source: Mesa, pan_texture.c (`panfrost_new_texture`, `panfrost_emit_plane`)

use tepui_format::Format;
use tepui_format::info::{Compression, Encoding, Numeric};
use tepui_mali_layout::{Layout, Level, Modifier};
use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{
    Astc2dDimension, ClumpOrdering, Plane, PlaneType, Texture, TextureDimension,
};
use tepui_vulkan::{Error, Result, vk};

use crate::device::{Device, Piece, packet};
use crate::format::{self, HwFormat};

/// Bytes of a descriptor.
pub const DESCRIPTOR_B: usize = 32;

/// A packed descriptor.
pub type Bytes = [u8; DESCRIPTOR_B];

/// A texture descriptor and its planes.
pub struct Descriptor {
    /// The descriptor.
    pub bytes: Bytes,
    _planes: Piece,
}

/// Unit that a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The texture unit.
    Sampled,
    /// Stores and atomics, which see no swizzle and one level.
    Storage,
}

/// A part of an image's plane as shaders see it.
pub struct Part<'a> {
    /// Layout of the plane.
    pub layout: &'a Layout,
    /// GPU address of the plane.
    pub address: u64,
    /// Format that shaders see.
    pub format: Format,
    /// Shape.
    pub shape: TextureDimension,
    /// First level, and levels.
    pub levels: [u32; 2],
    /// First layer, and layers; of a 3D image that is seen as layers, slices.
    pub layers: [u32; 2],
    /// Sources of the components.
    pub swizzle: [vk::ComponentSwizzle; 4],
    /// Smallest level of detail that is sampled.
    pub min_lod: f32,
}

/// Sources of components as the descriptor says them: three bits each. source: Mesa, pan_texture.c
/// (`panfrost_translate_swizzle_4`)
fn swizzle(all: [vk::ComponentSwizzle; 4], f: Format) -> u32 {
    let is_red = f.info().is_depth_or_stencil();
    let mut bits = 0;
    for (k, s) in (0u32..).zip(all) {
        let channel = match s {
            vk::ComponentSwizzle::R => 0,
            vk::ComponentSwizzle::G => 1,
            vk::ComponentSwizzle::B => 2,
            vk::ComponentSwizzle::A => 3,
            vk::ComponentSwizzle::ZERO => 4,
            vk::ComponentSwizzle::ONE => 5,
            _ => k,
        };
        // Depth and stencil are red; the API reads 0 and alpha 1 elsewhere.
        let channel = match (is_red, channel) {
            (true, 1 | 2) => 4,
            (true, 3) => 5,
            (_, c) => c,
        };
        bits |= channel << (3 * k);
    }
    bits
}

/// The order of components as they are.
const IDENTITY: [vk::ComponentSwizzle; 4] = [vk::ComponentSwizzle::IDENTITY; 4];

fn astc(n: u32) -> Option<Astc2dDimension> {
    Some(match n {
        4 => Astc2dDimension::N4,
        5 => Astc2dDimension::N5,
        6 => Astc2dDimension::N6,
        8 => Astc2dDimension::N8,
        10 => Astc2dDimension::N10,
        12 => Astc2dDimension::N12,
        _ => return None,
    })
}

/// The plane of a level of a layer, at an address.
fn plane(p: &Part<'_>, hw: &HwFormat, level: &Level, layer_stride: u64, at: u64) -> Result<Plane> {
    let shape = &p.layout.desc().shape;
    let is_volume_of_layers = p.shape != TextureDimension::N3d && shape.depth_px > 1;
    let slice_stride = match shape.samples > 1 || shape.depth_px > 1 && !is_volume_of_layers {
        true => level.surface_stride_B,
        false => layer_stride,
    };
    let fits = |what: &str, value: u64| {
        u32::try_from(value).map_err(|_| Error::unsupported(format!("{what} of {value} bytes")))
    };
    let ordering = match p.layout.desc().modifier {
        Modifier::UInterleaved => ClumpOrdering::TiledUInterleaved,
        Modifier::Linear | Modifier::Afbc(_) => ClumpOrdering::Linear,
    };
    let mut out = Plane {
        plane_type: PlaneType::Generic,
        clump_ordering: ordering,
        size: fits("a level", level.size_B)?,
        pointer: at,
        row_stride: fits("a row", level.row_stride_B)?,
        slice_stride: fits("a layer", slice_stride)? as i32,
        width: level.extent_px.w,
        height: level.extent_px.h,
        ..Plane::default()
    };
    let info = p.format.info();
    if let Encoding::Compressed(Compression::Astc, numeric) = &info.encoding {
        let unknown = || Error::unsupported(format!("textures of {}", p.format));
        out.plane_type = PlaneType::Astc2d;
        out.block_width_2d = astc(info.block.width_px).ok_or_else(unknown)?;
        out.block_height_2d = astc(info.block.height_px).ok_or_else(unknown)?;
        out.decode_wide = *numeric != Numeric::Srgb;
        out.decode_hdr = *numeric == Numeric::Sfloat;
    } else {
        out.clump_format = hw.clump;
    }
    Ok(out)
}

/// The descriptor of a part of an image.
///
/// # Errors
/// When the hardware has no such texture, or there is no memory.
pub fn of_part(device: &Device, p: &Part<'_>, role: Role) -> Result<Descriptor> {
    let unknown = || Error::unsupported(format!("textures of {}", p.format));
    let hw = format::hw(p.format).ok_or_else(unknown)?;
    let shape = &p.layout.desc().shape;
    let [first_level, levels] = p.levels;
    let [first, count] = p.layers;
    let levels = levels.max(1);
    let is_slices = p.shape != TextureDimension::N3d && shape.depth_px > 1;
    let count = if p.shape == TextureDimension::N3d { 1 } else { count.max(1) };
    let mut planes = Vec::new();
    for layer in first..first + count {
        for l in first_level..first_level + levels {
            let outside = || Error::unsupported("views of levels that are not there");
            let level = p.layout.levels().get(l as usize).ok_or_else(outside)?;
            let (layer, slice) = if is_slices { (0, layer) } else { (layer, 0) };
            let offset = p.layout.surface_offset_B(l, layer, slice).ok_or_else(outside)?;
            let plane = plane(p, &hw, level, p.layout.layer_stride_B, p.address + offset)?;
            planes.extend_from_slice(&plane.pack().map_err(packet)?);
        }
    }
    let piece = device.descriptors(&planes)?;
    let minify = |n: u32| (n >> first_level).max(1);
    // Views of blocks of compressed images count blocks.
    let block = shape.format.info().block;
    let counts_blocks = shape.format.info().is_compressed() && !p.format.info().is_compressed();
    let [w, h] = [(shape.width_px, block.width_px), (shape.height_px, block.height_px)]
        .map(|(n, b)| if counts_blocks { minify(n).div_ceil(b) } else { minify(n) });
    let is_interleaved = p.layout.desc().modifier != Modifier::Linear;
    let texture = Texture {
        dimension: p.shape,
        format: hw.number,
        width: w,
        height: h,
        swizzle: match role {
            Role::Sampled => swizzle(p.swizzle, p.format),
            Role::Storage => swizzle(IDENTITY, Format::R8G8B8A8_UNORM),
        },
        texel_interleave: is_interleaved || p.format.info().is_compressed(),
        levels,
        minimum_lod: match role {
            Role::Sampled => p.min_lod.max(0.0).min((levels - 1) as f32),
            Role::Storage => 0.0,
        },
        maximum_lod: match role {
            Role::Sampled => (levels - 1) as f32,
            Role::Storage => 0.0,
        },
        sample_count: if p.shape == TextureDimension::N3d { 1 } else { shape.samples.max(1) },
        surfaces: piece.address,
        array_size: match p.shape {
            TextureDimension::Cube => (count / 6).max(1),
            _ => count,
        },
        depth: if p.shape == TextureDimension::N3d { minify(shape.depth_px) } else { 1 },
        ..Texture::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    texture.pack_into(&mut bytes).map_err(packet)?;
    Ok(Descriptor { bytes, _planes: piece })
}

/// Maximum number of elements of a texel buffer: the width of a texture.
pub const MAX_ELEMENTS: u32 = 1 << 16;

/// The descriptor of a texel buffer: a row of texels.
///
/// # Errors
/// When the hardware has no such texture, or there is no memory.
pub fn of_buffer(device: &Device, f: Format, address: u64, size: u64) -> Result<Descriptor> {
    let unknown = || Error::unsupported(format!("texel buffers of {f}"));
    let hw = format::hw(f).ok_or_else(unknown)?;
    let element = u64::from(f.info().block.bytes);
    let count = (size / element).min(MAX_ELEMENTS.into()) as u32;
    let row = u64::from(count) * element;
    let plane = Plane {
        plane_type: PlaneType::Generic,
        clump_ordering: ClumpOrdering::Linear,
        clump_format: hw.clump,
        size: row as u32,
        pointer: address,
        row_stride: row as u32,
        width: count.max(1),
        height: 1,
        ..Plane::default()
    };
    let piece = device.descriptors(&plane.pack().map_err(packet)?)?;
    let texture = Texture {
        dimension: TextureDimension::N1d,
        format: hw.number,
        width: count.max(1),
        height: 1,
        swizzle: swizzle(IDENTITY, f),
        surfaces: piece.address,
        ..Texture::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    // An empty buffer is no texture: reads give zeros.
    if count > 0 {
        texture.pack_into(&mut bytes).map_err(packet)?;
    }
    Ok(Descriptor { bytes, _planes: piece })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles_are_three_bits_a_component() {
        use vk::ComponentSwizzle as S;
        let colour = Format::R8G8B8A8_UNORM;
        assert_eq!(swizzle(IDENTITY, colour), 0o3210);
        assert_eq!(swizzle([S::B, S::G, S::R, S::ONE], colour), 0o5012);
        // Depth has red alone.
        assert_eq!(swizzle(IDENTITY, Format::D32_SFLOAT), 0o5440);
        assert_eq!(swizzle([S::A, S::R, S::ZERO, S::R], Format::D32_SFLOAT), 0o0405);
    }
}
