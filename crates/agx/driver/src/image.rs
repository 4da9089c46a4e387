//! Image layouts: one plane for each aspect.

use tepui_agx_layout::{Dimension, ImageDesc, Layout, Region, Shape, Threads, Tiling, Usage};
use tepui_format::Format;
use tepui_format::units::Extent;
use tepui_vulkan::backend::{ImageInfo, Subresource};
use tepui_vulkan::host::HostRegion;
use tepui_vulkan::{Error, Result, vk};

/// A plane of an image.
pub struct Plane {
    /// Its layout.
    pub layout: Layout,
    /// First byte in the image's memory.
    pub offset: u64,
}

/// The layout of an image.
pub struct Image {
    /// Planes: colour or depth, then stencil.
    pub planes: Vec<Plane>,
    /// Bytes of all planes.
    pub size: u64,
}

/// Alignment of images in bytes: that of a page, which the largest tile fills.
pub const ALIGNMENT: u64 = tepui_agx_chips::PAGE_BYTES;

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(info: &ImageInfo) -> Result<Image> {
        let formats: &[Format] = match info.format {
            Format::D32_SFLOAT_S8_UINT => &[Format::D32_SFLOAT, Format::S8_UINT],
            ref f => std::slice::from_ref(f),
        };
        let attachment = vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
            | vk::ImageUsageFlags::INPUT_ATTACHMENT
            | vk::ImageUsageFlags::TRANSFER_DST;
        let mut planes = Vec::new();
        let mut size = 0;
        for &format in formats {
            let is_3d = info.image_type == vk::ImageType::_3D;
            let layout = Layout::new(&ImageDesc {
                shape: Shape {
                    format,
                    dimension: if is_3d { Dimension::D3 } else { Dimension::D2 },
                    width_px: info.extent[0],
                    height_px: info.extent[1],
                    depth_px: info.extent[2],
                    layers: info.layers,
                    samples: info.samples,
                    levels: info.levels,
                },
                tiling: if info.linear { Tiling::Linear } else { Tiling::Twiddled },
                usage: Usage {
                    renderable: info.usage.intersects(attachment) && !format.info().is_compressed(),
                    writable: info.usage.contains(vk::ImageUsageFlags::STORAGE),
                },
                linear_stride_B: info.stride,
            })
            .map_err(|e| Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()))?;
            let offset = u64::next_multiple_of(size, ALIGNMENT);
            size = offset + layout.size_B;
            planes.push(Plane { layout, offset });
        }
        Ok(Image { planes, size })
    }

    /// The plane that a view of a format sees.
    pub fn plane_of(&self, format: Format) -> &Plane {
        let n = usize::from(format == Format::S8_UINT && self.planes.len() > 1);
        &self.planes[n]
    }

    /// Where a level of a layer lies.
    pub fn subresource(&self, level: u32, layer: u32) -> Subresource {
        let l = &self.planes[0].layout;
        let Some(at) = l.levels().get(level as usize) else { return Subresource::default() };
        Subresource {
            offset: l.level_offset_B(level, layer).unwrap_or(0),
            size: at.size_B,
            row_pitch: at.stride_B,
            array_pitch: l.layer_stride_B,
            depth_pitch: l.layer_stride_B,
        }
    }

    /// Copies a rectangle to or from memory on the host, by the tiling library.
    ///
    /// # Errors
    /// When the image has no such rectangle.
    ///
    /// # Safety
    /// `image` is the first byte of the whole image, and `memory` reaches as far as the rectangle does with rows `pitch` bytes apart.
    pub unsafe fn copy_host(
        &self,
        image: *mut u8,
        r: &HostRegion,
        memory: *mut u8,
        pitch: usize,
        to_image: bool,
    ) -> Result<()> {
        let stencil = r.aspect == vk::ImageAspectFlags::STENCIL && self.planes.len() > 1;
        let plane = &self.planes[usize::from(stencil)];
        let l = &plane.layout;
        let block = l.desc().shape.format.info().block;
        let region = Region {
            level: r.level,
            layer: r.layer,
            sample: 0,
            origin_px: (r.origin[0], r.origin[1]),
            extent_px: Extent::new(r.extent[0], r.extent[1]),
        };
        let [w, h] = [
            r.extent[0].div_ceil(block.width_px) as usize,
            r.extent[1].div_ceil(block.height_px) as usize,
        ];
        if w == 0 || h == 0 {
            return Ok(());
        }
        let bytes = (h - 1) * pitch + w * l.element_B as usize;
        // SAFETY: as the caller says.
        let (inside, outside) = unsafe {
            let at = image.add(plane.offset as usize);
            (
                std::slice::from_raw_parts_mut(at, l.size_B as usize),
                std::slice::from_raw_parts_mut(memory, bytes),
            )
        };
        let moved = match to_image {
            true => l.tile(inside, region, outside, pitch, Threads::One),
            false => l.detile(inside, region, outside, pitch, Threads::One),
        };
        moved.map_err(|e| Error::new(vk::Result::ERROR_UNKNOWN, e.to_string()))
    }
}
