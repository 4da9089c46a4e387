//! Image layouts: planes of a Y′CbCr format, or one plane for each aspect.

use tepui_layout::{Dimension, Shape, Threads};
use tepui_mali_chips::{Arch, Chip};
use tepui_mali_layout::afbc::Afbc;
use tepui_mali_layout::{ExplicitLayout, ImageDesc, Layout, Level, Modifier, PAGE_B};
use tepui_vulkan::backend::{
    ExplicitPlane, HostCopy, ImageInfo, PlaneMemory, SparseLayout, Subresource, ViewFormats,
};
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::{Error, Result, vk};

use crate::format;

/// A plane of an image.
pub struct Plane {
    /// Its layout.
    pub layout: Layout,
    /// First byte in the image's memory.
    pub offset: u64,
}

/// The layout of an image.
pub struct Image {
    /// Planes: colour, those of a Y′CbCr format, or depth and then stencil.
    pub planes: Vec<Plane>,
    /// Bytes of all planes.
    pub size: u64,
}

/// Alignment of images in bytes.
pub const ALIGNMENT: u64 = PAGE_B;
/// Alignment of planes that something else has laid out. source: Mesa, pan_layout.c (`format_minimum_alignment`)
const EXPLICIT_ALIGNMENT: u64 = 64;
/// Bytes after which no plane begins: those of the addresses.
const MAX_OFFSET: u64 = 1 << 40;

/// The error of a layout in memory that the application gives.
fn bad_planes(why: impl Into<String>) -> Error {
    Error::new(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT, why.into())
}

/// Whether images with a DRM format modifier are compressed.
pub fn is_compressed(modifier: u64) -> bool {
    matches!(Modifier::from_drm_modifier(modifier), Some(Modifier::Afbc(_)))
}

/// Whether an image may be compressed: textures read it and tiles are written to it, in formats that are compressed alike.
fn can_be_compressed(arch: Arch, info: &ImageInfo) -> bool {
    use vk::ImageUsageFlags as U;
    let views = match info.views {
        ViewFormats::Own => true,
        ViewFormats::Any => false,
        ViewFormats::Listed(list) => {
            list.into_iter().flatten().all(|f| format::are_alike(arch, info.format, f))
        }
    };
    views
        && info.image_type == vk::ImageType::_2D
        && info.samples == 1
        && !info.usage.intersects(U::STORAGE | U::HOST_TRANSFER)
}

/// Pixels of a side up to which images stay uncompressed: those of a superblock. source: Mesa, pan_resource.c (`panfrost_should_afbc`)
const SMALL_PX: u32 = 16;
/// Pixels of both sides from which headers are tiled. source: Mesa, pan_resource.c (`panfrost_should_tile_afbc`)
const TILED_HEADERS_PX: u32 = 128;

/// The compression of an image whose layout the driver chooses, if it should have one: only the end of a tile compresses, so that images
/// which nothing renders to keep their texels as they are.
///
/// source: Mesa, panvk_image.c (`panvk_image_can_use_mod`), pan_resource.c (`panfrost_best_modifier`)
fn compression(arch: Arch, info: &ImageInfo) -> Option<Afbc> {
    let [width, height, _] = info.extent;
    let is_small = width <= SMALL_PX && height <= SMALL_PX;
    let is_wanted = info.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT)
        && !is_small
        && format::is_compressible(arch, info.format)
        && can_be_compressed(arch, info)
        && !debug::flags().contains(Flags::NO_COMPRESSION);
    let views = match info.views {
        ViewFormats::Listed(list) => list,
        ViewFormats::Own | ViewFormats::Any => Default::default(),
    };
    let all = || views.into_iter().flatten().chain([info.format]);
    let tiled = width >= TILED_HEADERS_PX && height >= TILED_HEADERS_PX;
    let ytr = all().all(format::has_transform);
    is_wanted.then_some(Afbc { ytr, tiled, solid_color: tiled, ..Afbc::PLAIN })
}

/// The modifier of a list that suits an image best.
pub fn best_modifier(chip: &Chip, info: &ImageInfo, list: &[u64]) -> Option<u64> {
    let (features, compresses) = (chip.texture_features().0, can_be_compressed(chip.arch, info));
    let own = format::modifiers(chip, features, info.format).into_iter().map(|m| m.0);
    own.filter(|&m| compresses || !is_compressed(m)).find(|m| list.contains(m))
}

fn modifier(arch: Arch, info: &ImageInfo) -> Result<Modifier> {
    if let Some(m) = info.modifier {
        let unknown = || bad_planes(format!("no images have the DRM format modifier {m:#x}"));
        let known = Modifier::from_drm_modifier(m).ok_or_else(unknown)?;
        if matches!(known, Modifier::Afbc(_)) && !can_be_compressed(arch, info) {
            let why = "the image's usage or views forbid a compressed layout";
            return Err(Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, why));
        }
        return Ok(known);
    }
    // One-dimensional images have no columns to interleave. A tile has 4×4 blocks of a block-compressed format but 16×16 texels of
    // others, so that blocks are texels of the same layout only in rows.
    let blocks_as_texels = info.flags.contains(vk::ImageCreateFlags::BLOCK_TEXEL_VIEW_COMPATIBLE);
    if info.linear || info.image_type == vk::ImageType::_1D || blocks_as_texels {
        return Ok(Modifier::Linear);
    }
    Ok(compression(arch, info).map_or(Modifier::UInterleaved, Modifier::Afbc))
}

/// Bytes of a row of pixels, by which drivers describe rows of tiles to each other; from the bytes of a row in descriptors. source:
/// Mesa, pan_texture.c (`panfrost_get_legacy_stride`)
fn shared_pitch(l: &Layout, level: &Level) -> u64 {
    let element = u64::from(l.desc().shape.format.info().block.bytes);
    match l.desc().modifier {
        Modifier::Linear => level.row_stride_B,
        Modifier::UInterleaved => level.row_stride_B / u64::from(level.tile_el.h),
        Modifier::Afbc(_) => u64::from(level.tiles.w * level.tile_el.w) * element,
    }
}

/// The layout of a plane whose pitch the application gives.
fn explicit(own: &Layout, given: ExplicitPlane) -> Result<ExplicitLayout> {
    let level = own.levels().first().ok_or_else(|| bad_planes("an image without levels"))?;
    let pitch = match own.desc().modifier {
        Modifier::Linear => Some(given.row_pitch),
        Modifier::UInterleaved => given.row_pitch.checked_mul(level.tile_el.h.into()),
        Modifier::Afbc(_) if given.row_pitch == shared_pitch(own, level) => {
            Some(level.row_stride_B)
        }
        Modifier::Afbc(_) => None,
    };
    match pitch.and_then(|n| u32::try_from(n).ok()) {
        // The place in memory is that of the plane.
        Some(stride) => Ok(ExplicitLayout { offset_B: 0, row_stride_B: stride }),
        None => Err(bad_planes(format!("a row pitch of {} bytes", given.row_pitch))),
    }
}

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(arch: Arch, info: &ImageInfo) -> Result<Image> {
        let modifier = modifier(arch, info)?;
        let list = format::planes(info.format);
        if let Some(e) = info.explicit.filter(|e| e.count as usize != list.len()) {
            return Err(bad_planes(format!("{} plane layouts of {} planes", e.count, list.len())));
        }
        let mut planes = Vec::with_capacity(list.len());
        let mut size = 0;
        for (k, tepui_format::Plane { format, width_divisor, height_divisor }) in
            list.into_iter().enumerate()
        {
            let desc = ImageDesc {
                arch,
                shape: Shape {
                    format,
                    dimension: match info.image_type {
                        vk::ImageType::_1D => Dimension::D1,
                        vk::ImageType::_3D => Dimension::D3,
                        _ => Dimension::D2,
                    },
                    width_px: info.extent[0].div_ceil(width_divisor),
                    height_px: info.extent[1].div_ceil(height_divisor),
                    depth_px: info.extent[2],
                    layers: info.layers,
                    samples: info.samples,
                    levels: info.levels,
                },
                modifier,
                checksums: false,
                explicit: None,
            };
            let mut layout = Layout::new(&desc)
                .map_err(|e| Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()))?;
            let mut offset = u64::next_multiple_of(size, ALIGNMENT);
            if let Some(e) = info.explicit {
                let explicit = Some(explicit(&layout, e.planes[k])?);
                layout = Layout::new(&ImageDesc { explicit, ..desc })
                    .map_err(|e| bad_planes(e.to_string()))?;
                offset = e.planes[k].offset;
                if !offset.is_multiple_of(EXPLICIT_ALIGNMENT) || offset >= MAX_OFFSET {
                    return Err(bad_planes(format!("a plane at byte {offset}")));
                }
            }
            size = size.max(offset + layout.size_B);
            planes.push(Plane { layout, offset });
        }
        Ok(Image { planes, size })
    }

    /// The plane that holds an aspect.
    pub fn plane(&self, aspect: vk::ImageAspectFlags) -> usize {
        use vk::ImageAspectFlags as A;
        let n = match aspect {
            A::STENCIL | A::PLANE_1 | A::MEMORY_PLANE_1_EXT => 1,
            A::PLANE_2 | A::MEMORY_PLANE_2_EXT => 2,
            _ => 0,
        };
        n.min(self.planes.len() - 1)
    }

    /// Location of a plane; planes after the last have the location of the first.
    pub fn plane_memory(&self, plane: usize) -> PlaneMemory {
        let p = self.planes.get(plane).unwrap_or(&self.planes[0]);
        PlaneMemory { offset: p.offset, size: p.layout.size_B, alignment: ALIGNMENT }
    }

    /// Location of a level of a layer in a plane.
    pub fn subresource(&self, plane: usize, level: u32, layer: u32) -> Subresource {
        let l = &self.planes[plane].layout;
        let at = l.levels().get(level as usize);
        let (Some(at), Some(offset)) = (at, l.surface_offset_B(level, layer, 0)) else {
            return Subresource::default();
        };
        Subresource {
            offset,
            size: at.size_B,
            row_pitch: shared_pitch(l, at),
            array_pitch: l.layer_stride_B,
            depth_pitch: at.surface_stride_B,
        }
    }

    /// Headers of superblocks in levels and layers of the first plane: offsets and sizes in bytes. There are none in images that are not
    /// compressed.
    pub fn headers(&self, r: &vk::ImageSubresourceRange) -> Vec<(u64, u64)> {
        let l = &self.planes[0].layout;
        let mut all = Vec::new();
        for level in r.base_mip_level..r.base_mip_level + r.level_count {
            let Some(parts) = l.levels().get(level as usize).and_then(|l| l.afbc) else { continue };
            let layers = r.base_array_layer..r.base_array_layer + r.layer_count;
            let offsets = layers.filter_map(|layer| l.surface_offset_B(level, layer, 0));
            all.extend(offsets.map(|offset| (offset, parts.header_size_B)));
        }
        all
    }

    /// Pages of sparse images, which there are none of.
    pub fn sparse_layout(&self) -> SparseLayout {
        let (tail_level, tail_size) = (0, self.size);
        SparseLayout {
            page_px: [1; 3],
            page_size: PAGE_B,
            tail_level,
            tail_size,
            single_tail: true,
        }
    }

    /// Copies a rectangle of a plane to or from memory on the host.
    ///
    /// # Errors
    /// When the image has no such rectangle.
    pub fn copy_host(&self, plane: usize, c: HostCopy<'_>) -> Result<()> {
        let l = &self.planes[plane].layout;
        let moved = match c.to_image {
            true => l.tile(c.plane, c.region, c.rows, c.row_pitch, Threads::One),
            false => l.detile(c.plane, c.region, c.rows, c.row_pitch, Threads::One),
        };
        moved.map_err(|e| Error::new(vk::Result::ERROR_UNKNOWN, e.to_string()))
    }
}
