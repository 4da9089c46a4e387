//! Image layouts: planes of a Y′CbCr format, or one plane for each aspect.

use tepui_layout::{Dimension, Shape, Threads};
use tepui_mali_chips::Arch;
use tepui_mali_layout::{ImageDesc, Layout, Modifier, PAGE_B};
use tepui_vulkan::backend::{HostCopy, ImageInfo, PlaneMemory, SparseLayout, Subresource};
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

fn modifier(info: &ImageInfo) -> Modifier {
    // One-dimensional images have no columns to interleave.
    match info.linear || info.image_type == vk::ImageType::_1D {
        true => Modifier::Linear,
        false => Modifier::UInterleaved,
    }
}

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(arch: Arch, info: &ImageInfo) -> Result<Image> {
        if info.modifier.is_some() {
            return Err(Error::unsupported("images with DRM format modifiers on Mali"));
        }
        let list = format::planes(info.format);
        let mut planes = Vec::with_capacity(list.len());
        let mut size = 0;
        for tepui_format::Plane { format, width_divisor, height_divisor } in list {
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
                modifier: modifier(info),
                checksums: false,
                explicit: None,
            };
            let layout = Layout::new(&desc)
                .map_err(|e| Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()))?;
            let offset = u64::next_multiple_of(size, ALIGNMENT);
            size = offset + layout.size_B;
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
            row_pitch: at.row_stride_B,
            array_pitch: l.layer_stride_B,
            depth_pitch: at.surface_stride_B,
        }
    }

    /// Pages of sparse images, which there are none of.
    pub fn sparse_layout(&self) -> SparseLayout {
        SparseLayout { page_px: [1, 1], page_size: PAGE_B, tail_level: 0, tail_size: self.size }
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
