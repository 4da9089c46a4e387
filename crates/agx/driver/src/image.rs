//! Image layouts: planes of a Y′CbCr format, or one plane for each aspect; which images are compressed.

use std::fmt;

use tepui_agx_layout::compression::TILE_SA;
use tepui_agx_layout::twiddled::page_tile;
use tepui_agx_layout::{Dimension, ImageDesc, Layout, Level, Shape, Threads, Tiling, Usage};
use tepui_format::Format;
use tepui_format::units::Extent;
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
    /// Planes: those of a Y′CbCr format, or colour or depth, then stencil.
    pub planes: Vec<Plane>,
    /// Bytes of all planes.
    pub size: u64,
}

/// Alignment of images in bytes: that of a page, which the largest tile fills.
pub const ALIGNMENT: u64 = tepui_agx_chips::PAGE_BYTES;

/// Why an image whose layout the driver chooses is not compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncompressed {
    /// `TEPUI_DEBUG=nocompress`.
    Disabled,
    /// It is never rendered to. Only the end of a tile and the depth unit compress; copies store
    /// uncompressed texels.
    NotRendered,
    /// The host copies from and to it, and shaders store to it, texel by texel.
    /// source: Mesa, hk_image.c, `hk_can_compress`
    Stored,
    /// It is sparse: the metadata would have to be resident as a whole.
    Sparse,
    /// It is read while it is rendered to. Mesa's authors saw such tests fail on the G13D.
    /// source: as above
    Feedback,
    /// Views may have a format with other channels. source: as above
    Views,
    /// The pixel back end does not write the format, or copies could not keep its bits.
    Format,
    /// It is smaller than a tile of compression. source: Mesa, layout.h, `ail_can_compress`
    Small,
}

impl fmt::Display for Uncompressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Uncompressed::Disabled => "TEPUI_DEBUG has nocompress",
            Uncompressed::NotRendered => "nothing renders to it",
            Uncompressed::Stored => "shaders or the host store to it",
            Uncompressed::Sparse => "it is sparse",
            Uncompressed::Feedback => "it is read while it is rendered to",
            Uncompressed::Views => "views have other channels",
            Uncompressed::Format => "its format cannot be compressed",
            Uncompressed::Small => "it is smaller than 16x16 samples",
        })
    }
}

/// Why an image cannot be, or should not be, compressed; `None` if it should be.
pub fn why_uncompressed(info: &ImageInfo) -> Option<Uncompressed> {
    use vk::ImageUsageFlags as U;
    let rendered = U::COLOR_ATTACHMENT | U::DEPTH_STENCIL_ATTACHMENT;
    let sa = tepui_agx_layout::compression::extent_sa(
        Extent::new(info.extent[0], info.extent[1]),
        info.samples,
    );
    let other_views = match info.views {
        ViewFormats::Own => false,
        ViewFormats::Any => true,
        ViewFormats::Listed(list) => {
            list.into_iter().flatten().any(|f| !format::are_alike(info.format, f))
        }
    };
    let reasons = [
        (info.usage.intersects(U::STORAGE | U::HOST_TRANSFER), Uncompressed::Stored),
        (info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING), Uncompressed::Sparse),
        (info.usage.contains(U::ATTACHMENT_FEEDBACK_LOOP_EXT), Uncompressed::Feedback),
        (other_views, Uncompressed::Views),
        (!format::is_compressible(info.format), Uncompressed::Format),
        (sa.w < TILE_SA || sa.h < TILE_SA, Uncompressed::Small),
        // The following reasons are a choice: a modifier can override them.
        (!info.usage.intersects(rendered), Uncompressed::NotRendered),
        (debug::flags().contains(Flags::NO_COMPRESSION), Uncompressed::Disabled),
    ];
    reasons.into_iter().find(|r| r.0).map(|r| r.1)
}

/// The tiling of an image.
fn tiling(info: &ImageInfo) -> Result<Tiling> {
    if info.linear {
        return Ok(Tiling::Linear);
    }
    if let Some(m) = info.modifier {
        return Tiling::from_drm_modifier(m).ok_or_else(|| {
            Error::new(
                vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT,
                format!("no images have the DRM format modifier {m:#x}"),
            )
        });
    }
    let why = why_uncompressed(info);
    if debug::flags().contains(Flags::IMAGES) {
        let [w, h, d] = info.extent;
        let what = format!(
            "{w}x{h}x{d} {} of {} levels, {} layers, {} samples",
            info.format, info.levels, info.layers, info.samples
        );
        match why {
            None => eprintln!("tepui: an image of {what} is compressed"),
            Some(why) => eprintln!("tepui: an image of {what} is not compressed: {why}"),
        }
    }
    Ok(if why.is_none() { Tiling::Compressed } else { Tiling::Twiddled })
}

/// The modifier of a list that suits an image best. The driver prefers to compress what is rendered to, and rows of pixels to nothing;
/// an image that nothing renders to can still be compressed, where the list has nothing else, since copies render.
pub fn best_modifier(info: &ImageInfo, list: &[u64]) -> Option<u64> {
    let worth = |t: Tiling| match (t, why_uncompressed(info)) {
        (Tiling::Twiddled, _) => 3,
        (Tiling::Linear, _) => 2,
        (Tiling::Compressed, None) => 4,
        (Tiling::Compressed, Some(Uncompressed::NotRendered | Uncompressed::Disabled)) => 1,
        (Tiling::Compressed, Some(_)) => 0,
    };
    let known = list.iter().filter_map(|&m| Tiling::from_drm_modifier(m)).filter(|&t| worth(t) > 0);
    known.max_by_key(|&t| worth(t)).map(Tiling::drm_modifier)
}

/// Alignment in bytes of rows of pixels that something else has laid out.
/// source: the addresses of texture and pixel back end descriptors, in units of 16 bytes
const LINEAR_ALIGNMENT: u64 = 16;

/// Checks a plane that the application has laid out against the layout that the hardware will use.
fn check_explicit(l: &Layout, plane: ExplicitPlane) -> std::result::Result<(), String> {
    let shape = &l.desc().shape;
    let is_linear = l.desc().tiling == Tiling::Linear;
    let alignment = if is_linear { LINEAR_ALIGNMENT } else { ALIGNMENT };
    if !plane.offset.is_multiple_of(alignment) {
        return Err(format!("a plane at {}, and not a multiple of {alignment}", plane.offset));
    }
    if plane.offset.checked_add(l.size_B).is_none_or(|end| end > MAX_IMAGE_B) {
        return Err(format!("a plane at {}", plane.offset));
    }
    let pitches = [
        ("array", shape.layers > 1, plane.array_pitch),
        ("depth", shape.depth_px > 1, plane.depth_pitch),
    ];
    for (name, counts, pitch) in pitches {
        if is_linear && counts && pitch != l.layer_stride_B {
            let own = l.layer_stride_B;
            return Err(format!("a pitch of {pitch} bytes in the {name}, which takes {own}"));
        }
    }
    Ok(())
}

/// Largest end of a plane in bytes: that of the GPU's addresses.
const MAX_IMAGE_B: u64 = 1 << 40;

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(info: &ImageInfo) -> Result<Image> {
        let tiling = tiling(info)?;
        let one = |format| tepui_format::Plane { format, width_divisor: 1, height_divisor: 1 };
        let list: &[tepui_format::Plane] = match info.format {
            Format::D32_SFLOAT_S8_UINT => &[one(Format::D32_SFLOAT), one(Format::S8_UINT)],
            f if f.info().is_planar() => f.info().planes(),
            f => &[one(f)],
        };
        let attachment = vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
            | vk::ImageUsageFlags::INPUT_ATTACHMENT
            | vk::ImageUsageFlags::TRANSFER_DST;
        let bad_planes = |why: String| {
            Error::new(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT, why)
        };
        if let Some(e) = info.explicit.filter(|e| e.count as usize != list.len()) {
            let why = format!("{} plane layouts for {} planes", e.count, list.len());
            return Err(bad_planes(why));
        }
        let mut planes: Vec<Plane> = Vec::new();
        let mut size = 0;
        for (k, &tepui_format::Plane { format, width_divisor, height_divisor }) in
            list.iter().enumerate()
        {
            let explicit = info.explicit.map(|e| e.planes[k]);
            let stride = match explicit {
                Some(p) if info.linear => Some(
                    u32::try_from(p.row_pitch)
                        .map_err(|_| bad_planes(format!("a row pitch of {} bytes", p.row_pitch)))?,
                ),
                _ => None,
            };
            let is_3d = info.image_type == vk::ImageType::_3D;
            let layout = Layout::new(&ImageDesc {
                shape: Shape {
                    format,
                    dimension: if is_3d { Dimension::D3 } else { Dimension::D2 },
                    width_px: info.extent[0].div_ceil(width_divisor),
                    height_px: info.extent[1].div_ceil(height_divisor),
                    depth_px: info.extent[2],
                    layers: info.layers,
                    samples: info.samples,
                    levels: info.levels,
                },
                tiling,
                usage: Usage {
                    renderable: info.usage.intersects(attachment) && !format.info().is_compressed(),
                    // Layers of pages that come and go begin with a page.
                    writable: info.usage.contains(vk::ImageUsageFlags::STORAGE)
                        || info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY),
                },
                linear_stride_B: stride,
            })
            .map_err(|e| match explicit {
                Some(_) => bad_planes(e.to_string()),
                None => Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()),
            })?;
            let offset = match explicit {
                Some(p) => check_explicit(&layout, p).map(|()| p.offset).map_err(bad_planes)?,
                None => u64::next_multiple_of(size, ALIGNMENT),
            };
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

    /// The blocks of a sparse image. Levels that have pages are made of whole ones; a block has two by two.
    pub fn sparse_layout(&self) -> SparseLayout {
        let l = &self.planes[0].layout;
        let page = page_tile(l.element_B);
        let block = l.desc().shape.format.info().block;
        let small = |at: &&Level| at.extent_el.w < 2 * page.w || at.extent_el.h < 2 * page.h;
        let levels = l.levels();
        let tail_level = levels.iter().position(|at| small(&at)).unwrap_or(levels.len());
        let first = levels.get(tail_level).map_or(l.layer_stride_B, |at| at.offset_B);
        SparseLayout {
            page_px: [page.w * block.width_px, page.h * block.height_px, 1],
            page_size: ALIGNMENT,
            tail_level: tail_level as u32,
            tail_size: l.layer_stride_B - first,
            single_tail: false,
        }
    }

    /// The first byte of the page that holds a pixel of a large level.
    pub fn sparse_page(&self, level: u32, layer: u32, [x, y, _]: [u32; 3]) -> u64 {
        let l = &self.planes[0].layout;
        let block = l.desc().shape.format.info().block;
        let Some(at) = l.level_addresser(level) else { return 0 };
        let first = l.level_offset_B(level, layer).unwrap_or(0);
        let inside = at.offset_B(x / block.width_px, y / block.height_px);
        (first + inside) / ALIGNMENT * ALIGNMENT
    }

    /// Location of a level of a layer in a plane.
    pub fn subresource(&self, plane: usize, level: u32, layer: u32) -> Subresource {
        let l = &self.planes[plane].layout;
        let Some(at) = l.levels().get(level as usize) else { return Subresource::default() };
        Subresource {
            offset: l.level_offset_B(level, layer).unwrap_or(0),
            size: at.size_B,
            row_pitch: at.stride_B,
            array_pitch: l.layer_stride_B,
            depth_pitch: l.layer_stride_B,
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
