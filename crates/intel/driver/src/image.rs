//! Image layouts: planes of a Y′CbCr format, or one plane for each aspect.

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::aux::{Aux, AuxKind};
use tepui_intel_layout::{
    Dimension, ImageDesc, ImageKind, ImageLayout, Layout, Shape, Threads, Tiling,
};
use tepui_vulkan::backend::{ImageInfo, PlaneMemory, SparseLayout, Subresource};
use tepui_vulkan::host::HostCopy;
use tepui_vulkan::{Error, Result, vk};

use crate::compression;
use crate::format;
use crate::kernel::PAGE_B;

/// A plane of an image.
pub struct Plane {
    /// Its layout.
    pub layout: Layout,
    /// First byte in the image's memory.
    pub offset: u64,
    /// Its auxiliary surface.
    pub auxiliary: Option<Auxiliary>,
}

/// The auxiliary surface of a plane.
pub struct Auxiliary {
    /// Its layout.
    pub surface: Aux,
    /// First byte, from that of the plane on.
    pub offset: u64,
}

/// The layout of an image.
pub struct Image {
    /// Planes: colour, those of a Y′CbCr format, or depth and then stencil.
    pub planes: Vec<Plane>,
    /// Bytes of all planes.
    pub size: u64,
}

/// Alignment of images in bytes: that of a tile.
pub const ALIGNMENT: u64 = PAGE_B;

fn tiling(generation: Generation, info: &ImageInfo, format: Format) -> Tiling {
    match ImageKind::of(format) {
        // One-dimensional ones are rows of tiles as two-dimensional ones are.
        Some(ImageKind::Stencil) if generation == Generation::Gen9 => Tiling::W,
        Some(ImageKind::Stencil) => Tiling::Y,
        Some(ImageKind::Depth) => Tiling::Y,
        _ if info.linear || info.image_type == vk::ImageType::_1D => Tiling::Linear,
        // Tiles have no texels of three channels.
        _ if !format.info().block.bytes.is_power_of_two() => Tiling::Linear,
        _ => Tiling::Y,
    }
}

/// The kind of auxiliary surface that a plane of an image has.
fn kind(info: &ImageInfo, format: Format) -> Option<AuxKind> {
    match ImageKind::of(format)? {
        ImageKind::Depth if compression::has_hierarchy(info) => Some(AuxKind::Hiz),
        ImageKind::Colour if compression::has_sample_control(info) => Some(AuxKind::Mcs),
        _ => None,
    }
}

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(generation: Generation, info: &ImageInfo) -> Result<Image> {
        if info.modifier.is_some() {
            return Err(Error::unsupported("images with DRM format modifiers"));
        }
        let list = format::planes(info.format);
        let mut planes = Vec::with_capacity(list.len());
        let mut size = 0;
        for tepui_format::Plane { format, width_divisor, height_divisor } in list {
            let desc = ImageDesc {
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
                tiling: tiling(generation, info, format),
                may_have_aux: kind(info, format).is_some(),
                linear_stride_B: None,
            };
            let layout = match generation {
                Generation::Gen9 => Layout::new(&desc),
                Generation::Gen12 => Layout::of_gen12(&desc),
            }
            .map_err(|e| Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()))?;
            let offset = u64::next_multiple_of(size, ALIGNMENT);
            size = offset + layout.size_B;
            planes.push(Plane { layout, offset, auxiliary: None });
        }
        // Auxiliary surfaces follow all planes, so that these are where they are without.
        for plane in &mut planes {
            if let Some(surface) = plane.layout.aux() {
                let at = u64::next_multiple_of(size, ALIGNMENT);
                size = at + surface.size_B;
                plane.auxiliary = Some(Auxiliary { surface, offset: at - plane.offset });
            }
        }
        Ok(Image { planes, size })
    }

    /// The hierarchical depth buffer of the first plane.
    pub fn hierarchy(&self) -> Option<&Auxiliary> {
        self.planes[0].auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::Hiz)
    }

    /// The multisample control surface of the first plane.
    pub fn sample_control(&self) -> Option<&Auxiliary> {
        self.planes[0].auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::Mcs)
    }

    /// The depth of blocks that its hierarchical buffer calls clear: one for the image's life, so that no memory has to keep it.
    /// source: Mesa, anv_private.h (`anv_image_hiz_clear_value`), on what programs clear to
    pub fn clear_depth(&self) -> f32 {
        if self.planes.len() == 2 { 0.0 } else { 1.0 }
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

    /// Location of a level of a layer in a plane: linear images have rows, of tiled ones only pitches are told.
    pub fn subresource(&self, plane: usize, level: u32, layer: u32) -> Subresource {
        let l = &self.planes[plane].layout;
        let Some(at) = l.levels().get(level as usize) else { return Subresource::default() };
        let element_b = u64::from(l.element_B());
        let slice = u64::from(l.qpitch_el) * l.row_pitch_B;
        let (row_pitch, pitch) = match l.row_pitch_B {
            // Rows of linear 1D images follow one another.
            0 => (u64::from(at.extent_el.w) * element_b, u64::from(l.qpitch_el) * element_b),
            row => (row, slice),
        };
        let [left, top, _] = at.origin_el;
        Subresource {
            offset: u64::from(layer) * pitch
                + u64::from(top) * row_pitch
                + u64::from(left) * element_b,
            size: u64::from(at.extent_el.h) * row_pitch,
            row_pitch,
            array_pitch: pitch,
            depth_pitch: pitch,
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
