//! Planes and texture descriptors.

use tepui_format::Format;
use tepui_format::info::{Compression, Encoding, Numeric};
use tepui_mali_layout::afbc::{self, Afbc, Mode, Superblock};
use tepui_mali_layout::{Layout, Level, Modifier};
use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{
    AfbcCompressionMode, AfbcSuperblockSize, Astc2dDimension, ClumpOrdering, Plane, PlaneType,
    Texture, TextureDimension,
};

use crate::Error;
use crate::format::{self, HwFormat};

/// Bytes of a descriptor.
pub const DESCRIPTOR_B: usize = 32;

/// A packed descriptor.
pub type Bytes = [u8; DESCRIPTOR_B];

/// Unit that a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The texture unit.
    Sampled,
    /// Loads, stores and atomics, which see no swizzle and one level. Programs read in the swizzle whether the format lacks alpha.
    Storage,
}

/// Source of a component, by its number in descriptors. source: genxml (`Channel`)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The first component.
    R,
    /// The second one.
    G,
    /// The third one.
    B,
    /// The fourth one.
    A,
    /// 0.
    Zero,
    /// 1.
    One,
}

/// The order of components as they are.
pub const IDENTITY: [Channel; 4] = [Channel::R, Channel::G, Channel::B, Channel::A];

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
    pub swizzle: [Channel; 4],
    /// Smallest level of detail that is sampled.
    pub min_lod: f32,
}

impl Part<'_> {
    /// Levels that the descriptor has planes for.
    fn level_count(&self) -> u32 {
        self.levels[1].max(1)
    }

    /// Layers that the descriptor has planes for: one of a volume.
    fn layer_count(&self) -> u32 {
        if self.shape == TextureDimension::N3d { 1 } else { self.layers[1].max(1) }
    }
}

/// Sources of components as the descriptor says them: three bits each. source: Mesa, pan_texture.c
/// (`panfrost_translate_swizzle_4`)
///
/// Alpha that the format lacks is 1 here, too, so that texels outside of the image, which are zeros, have it.
fn swizzle(all: [Channel; 4], f: Format) -> u32 {
    let is_red = f.info().is_depth_or_stencil();
    let is_opaque = is_red || format::hw(f).is_some_and(HwFormat::is_opaque);
    let mut bits = 0;
    for (k, channel) in (0u32..).zip(all) {
        // Depth and stencil are red; the API reads 0 elsewhere.
        let channel = match channel {
            Channel::G | Channel::B if is_red => Channel::Zero,
            Channel::A if is_opaque => Channel::One,
            c => c,
        };
        bits |= (channel as u32) << (3 * k);
    }
    bits
}

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

fn fits(what: &'static str, value: u64) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| Error::Large(what, value))
}

/// The compression mode of the images of a layout. source: Mesa, pan_afbc.h (`panfrost_afbc_format`), v9.xml ("AFBC Compression Mode")
pub fn compression_mode(l: &Layout) -> Option<AfbcCompressionMode> {
    use AfbcCompressionMode as M;
    let desc = l.desc();
    Some(match afbc::mode(desc.arch, desc.shape.format)? {
        Mode::R8 => M::R8,
        Mode::R8G8 => M::R8g8,
        Mode::R8G8B8 => M::R8g8b8,
        Mode::R8G8B8A8 => M::R8g8b8a8,
        Mode::R5G6B5 => M::R5g6b5,
        Mode::R5G5B5A1 => M::R5g5b5a1,
        Mode::R10G10B10A2 => M::R10g10b10a2,
        Mode::R4G4B4A4 => M::R4g4b4a4,
    })
}

/// The plane of a compressed level of a layer, whose headers are at an address. source: Mesa, pan_texture.c (`emit_afbc_plane`)
fn compressed_plane(p: &Part<'_>, level: &Level, afbc: Afbc, at: u64) -> Result<Plane, Error> {
    let parts = level.afbc.ok_or(Error::Format(p.format))?;
    let shape = &p.layout.desc().shape;
    let is_volume = p.shape == TextureDimension::N3d && shape.depth_px > 1;
    Ok(Plane {
        plane_type: PlaneType::Afbc,
        superblock_size: match afbc.superblock {
            Superblock::S16x16 => AfbcSuperblockSize::N16x16,
            Superblock::S32x8 => AfbcSuperblockSize::N32x8,
            Superblock::S64x4 => AfbcSuperblockSize::N64x4,
        },
        ytr: afbc.ytr,
        split_block: afbc.split,
        tiled_header: afbc.tiled,
        prefetch: true,
        compression_mode: compression_mode(p.layout).ok_or(Error::Format(p.format))?,
        size: fits("a level", level.size_B)?,
        pointer: at,
        row_stride: fits("a row of headers", level.row_stride_B)?,
        header_stride: fits("headers", parts.header_size_B)?,
        slice_stride: match is_volume {
            true => fits("the headers of a slice", parts.header_stride_B)? as i32,
            false => 0,
        },
        width: level.extent_px.w,
        height: level.extent_px.h,
        ..Plane::default()
    })
}

/// The plane of a level of a layer, at an address.
fn plane(p: &Part<'_>, hw: &HwFormat, level: &Level, at: u64) -> Result<Plane, Error> {
    let shape = &p.layout.desc().shape;
    let is_volume_of_layers = p.shape != TextureDimension::N3d && shape.depth_px > 1;
    let slice_stride = match shape.samples > 1 || shape.depth_px > 1 && !is_volume_of_layers {
        true => level.surface_stride_B,
        false => p.layout.layer_stride_B,
    };
    let ordering = match p.layout.desc().modifier {
        Modifier::UInterleaved => ClumpOrdering::TiledUInterleaved,
        Modifier::Linear => ClumpOrdering::Linear,
        Modifier::Afbc(afbc) => return compressed_plane(p, level, afbc, at),
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
        let unknown = || Error::Format(p.format);
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

/// The planes of a part of an image: the levels of the first layer, those of the next.
///
/// # Errors
/// When the hardware has no such texture.
pub fn planes(p: &Part<'_>) -> Result<Vec<u8>, Error> {
    let hw = format::hw(p.format).ok_or(Error::Format(p.format))?;
    let shape = &p.layout.desc().shape;
    let (first_level, first) = (p.levels[0], p.layers[0]);
    let is_slices = p.shape != TextureDimension::N3d && shape.depth_px > 1;
    let mut planes = Vec::new();
    for layer in first..first + p.layer_count() {
        for l in first_level..first_level + p.level_count() {
            let level = p.layout.levels().get(l as usize).ok_or(Error::Outside)?;
            let (layer, slice) = if is_slices { (0, layer) } else { (layer, 0) };
            let offset = p.layout.surface_offset_B(l, layer, slice).ok_or(Error::Outside)?;
            let plane = plane(p, &hw, level, p.address + offset)?;
            planes.extend_from_slice(&plane.pack()?);
        }
    }
    Ok(planes)
}

/// The descriptor of a part of an image whose [`planes`] are at an address.
///
/// # Errors
/// When the hardware has no such texture.
pub fn of_part(p: &Part<'_>, role: Role, planes: u64) -> Result<Bytes, Error> {
    let hw = format::hw(p.format).ok_or(Error::Format(p.format))?;
    let shape = &p.layout.desc().shape;
    let (first_level, levels, count) = (p.levels[0], p.level_count(), p.layer_count());
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
            Role::Storage => swizzle(IDENTITY, p.format),
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
        surfaces: planes,
        array_size: match p.shape {
            TextureDimension::Cube => (count / 6).max(1),
            _ => count,
        },
        depth: if p.shape == TextureDimension::N3d { minify(shape.depth_px) } else { 1 },
        ..Texture::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    texture.pack_into(&mut bytes)?;
    Ok(bytes)
}

/// Maximum number of elements of a texel buffer: the width of a texture.
pub const MAX_ELEMENTS: u32 = 1 << 16;

/// Elements of a texel buffer of `size` bytes.
fn elements(f: Format, size: u64) -> u32 {
    (size / u64::from(f.info().block.bytes)).min(MAX_ELEMENTS.into()) as u32
}

/// The plane of a texel buffer: a row of texels.
///
/// # Errors
/// When the hardware has no such texture.
pub fn buffer_plane(f: Format, address: u64, size: u64) -> Result<Vec<u8>, Error> {
    let hw = format::hw(f).ok_or(Error::Format(f))?;
    let count = elements(f, size);
    let row = count * f.info().block.bytes;
    let plane = Plane {
        plane_type: PlaneType::Generic,
        clump_ordering: ClumpOrdering::Linear,
        clump_format: hw.clump,
        size: row,
        pointer: address,
        row_stride: row,
        width: count.max(1),
        height: 1,
        ..Plane::default()
    };
    Ok(plane.pack()?.to_vec())
}

/// The descriptor of a texel buffer of `size` bytes whose [`buffer_plane`] is at an address.
///
/// # Errors
/// When the hardware has no such texture.
pub fn of_buffer(f: Format, size: u64, plane: u64) -> Result<Bytes, Error> {
    let hw = format::hw(f).ok_or(Error::Format(f))?;
    let count = elements(f, size);
    let texture = Texture {
        dimension: TextureDimension::N1d,
        format: hw.number,
        width: count.max(1),
        height: 1,
        swizzle: swizzle(IDENTITY, f),
        surfaces: plane,
        ..Texture::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    // An empty buffer is no texture: reads give zeros.
    if count > 0 {
        texture.pack_into(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles_are_three_bits_a_component() {
        use Channel as C;
        let colour = Format::R8G8B8A8_UNORM;
        assert_eq!(swizzle(IDENTITY, colour), 0o3210);
        assert_eq!(swizzle([C::B, C::G, C::R, C::One], colour), 0o5012);
        // Depth has red alone.
        assert_eq!(swizzle(IDENTITY, Format::D32_SFLOAT), 0o5440);
        assert_eq!(swizzle([C::A, C::R, C::Zero, C::R], Format::D32_SFLOAT), 0o0405);
    }

    #[test]
    fn texel_buffers_have_at_most_a_row() {
        let plane = buffer_plane(Format::R32_UINT, 0x1000, 1 << 20).unwrap();
        let plane = Plane::unpack(&plane).unwrap();
        assert_eq!((plane.width, plane.row_stride), (MAX_ELEMENTS, 4 * MAX_ELEMENTS));
        assert_eq!(of_buffer(Format::R32_UINT, 3, 0x40), Ok([0; DESCRIPTOR_B]));
        assert_eq!(of_buffer(Format::R64_UINT, 64, 0x40), Err(Error::Format(Format::R64_UINT)));
    }
}
