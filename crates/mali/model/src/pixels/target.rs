//! Images in memory to which tiles are written.
//!
//! Superblocks of AFBC are written without compression, which headers can express: each has space for its
//! pixels. The order of pixels within a superblock is this model's own, since only the hardware reads it.
//!
// source: Mesa, pan_desc.c (`pan_prepare_rt`, `pan_prepare_zs`), pan_layout.c; of AFBC headers:
// pan_afbc_cso.c (sizes of subblocks).

use tepui_mali_layout::afbc::{Afbc, HEADER_B, Superblock};
use tepui_mali_layout::index_in_tile;
use tepui_mali_packets::framebuffer::{BlockFormat, RenderTarget, ZsCrcExtension};
use tepui_softgpu::{Fault, UnitMemory};

use crate::job::{JobFault, Unit};

/// The memory layout of an image's pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ImageLayout {
    Linear,
    UInterleaved,
    Interleaved64k,
    Afbc(AfbcImage),
}

/// A surface of AFBC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AfbcImage {
    pub afbc: Afbc,
    /// Superblocks in a row, padding included.
    pub stride: u32,
    /// Bytes from the headers to the bodies.
    pub body_offset: u64,
}

/// An image to which tiles are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surface {
    pub base: u64,
    pub order: ImageLayout,
    /// Stride of rows of pixels, or of tiles, in bytes.
    pub row_stride: u64,
    /// Stride of samples in bytes.
    pub surface_stride: u64,
}

/// Number of superblocks in a row of headers.
pub(crate) fn header_columns(afbc: Afbc, row_stride: u64) -> u32 {
    let tile = if afbc.tiled { 8 } else { 1 };
    (row_stride / HEADER_B / tile) as u32
}

impl Surface {
    /// The image of a colour attachment.
    pub fn colour(target: &RenderTarget) -> Result<Surface, JobFault> {
        if target.yuv_enable || target.is_afrc() {
            let what = "render targets in several planes or in AFRC";
            return Err(JobFault::unimplemented(Unit::Fragment, what));
        }
        let superblock = if target.wide_block { Superblock::S32x8 } else { Superblock::S16x16 };
        let (base, stride) = match target.is_afbc() {
            true => (target.header, target.header_row_stride),
            false => (target.base, target.row_stride),
        };
        let order = order(target.writeback_block_format, superblock, stride, target.body_offset)?;
        Ok(Surface {
            base,
            order,
            row_stride: stride.into(),
            surface_stride: target.surface_stride.into(),
        })
    }

    /// The image of the depth attachment.
    pub fn depth(extension: &ZsCrcExtension) -> Result<Surface, JobFault> {
        let stride = extension.zs_writeback_row_stride;
        Ok(Surface {
            base: extension.zs_writeback_base,
            order: order(
                extension.zs_block_format,
                Superblock::S16x16,
                stride,
                extension.zs_afbc_body_offset,
            )?,
            row_stride: stride.into(),
            surface_stride: extension.zs_writeback_surface_stride.into(),
        })
    }

    /// The image of the stencil attachment.
    pub fn stencil(extension: &ZsCrcExtension) -> Result<Surface, JobFault> {
        let stride = extension.s_writeback_row_stride;
        Ok(Surface {
            base: extension.s_writeback_base,
            order: order(
                extension.s_block_format,
                Superblock::S16x16,
                stride,
                extension.s_afbc_body_offset,
            )?,
            row_stride: stride.into(),
            surface_stride: extension.s_writeback_surface_stride.into(),
        })
    }

    /// Number of pixels from a column on that are contiguous in memory, or within one 16×16 tile.
    #[inline]
    pub fn run(&self, x: u32) -> u32 {
        match &self.order {
            ImageLayout::Linear => u32::MAX >> 1,
            _ => 16 - x % 16,
        }
    }

    /// Whether the pixels of [`Surface::run`] are contiguous.
    #[inline]
    pub fn is_consecutive(&self) -> bool {
        matches!(self.order, ImageLayout::Linear | ImageLayout::Afbc(_))
    }

    /// The address of a pixel.
    #[inline]
    pub fn pixel(&self, [x, y]: [u32; 2], sample: u32, bytes: u64) -> u64 {
        let offset = match &self.order {
            ImageLayout::Linear => u64::from(y) * self.row_stride + u64::from(x) * bytes,
            ImageLayout::UInterleaved => u_interleaved([x, y], self.row_stride, bytes),
            ImageLayout::Interleaved64k => interleaved_64k([x, y], self.row_stride, bytes),
            ImageLayout::Afbc(image) => image.body_offset + image.place([x, y], bytes),
        };
        self.base.wrapping_add(u64::from(sample) * self.surface_stride).wrapping_add(offset)
    }

    /// Writes the headers of the superblocks that a rectangle touches.
    pub fn headers(
        &self,
        memory: &mut UnitMemory<'_>,
        [min, max]: [[u32; 2]; 2],
        bytes: u64,
    ) -> Result<(), Fault> {
        let ImageLayout::Afbc(image) = &self.order else { return Ok(()) };
        let size = image.afbc.superblock.extent();
        for y in min[1] / size.h..max[1].div_ceil(size.h) {
            for x in min[0] / size.w..max[0].div_ceil(size.w) {
                let index = image.afbc.header_index(x, y, image.stride);
                let body = image.body_offset + index * SUPERBLOCK_PIXELS * bytes;
                let header = header(body as u32);
                memory.write(self.base + index * HEADER_B, &header)?;
            }
        }
        Ok(())
    }
}

/// Pixels of a superblock.
const SUPERBLOCK_PIXELS: u64 = 256;

/// The byte offset of a pixel in tiles of 16 by 16.
#[inline]
pub(crate) fn u_interleaved([x, y]: [u32; 2], row_stride: u64, bytes: u64) -> u64 {
    let tile = u64::from(y / 16) * row_stride + u64::from(x / 16) * 256 * bytes;
    tile + u64::from(index_in_tile(x % 16, y % 16)) * bytes
}

/// The byte offset of an element in 64 KiB tiles, whose width is their height or twice that. Squares of 16×16
/// elements are in raster order within a tile.
///
// source: Linux, drm_fourcc.h (`DRM_FORMAT_MOD_ARM_INTERLEAVED_64K`).
#[inline]
pub(crate) fn interleaved_64k([x, y]: [u32; 2], row_stride: u64, bytes: u64) -> u64 {
    const TILE: u64 = 1 << 16;
    let bits = 16 - bytes.max(1).ilog2();
    let [width, height] = [bits.div_ceil(2), bits / 2];
    let tile = u64::from(y >> height) * row_stride + u64::from(x >> width) * TILE;
    let [x, y] = [x & ((1 << width) - 1), y & ((1 << height) - 1)];
    let square = u64::from((y / 16) << (width - 4)) + u64::from(x / 16);
    tile + (square * 256 + u64::from(index_in_tile(x % 16, y % 16))) * bytes
}

/// The header of an uncompressed superblock: the offset of its body, and sixteen six-bit sizes, of which 1
/// means the uncompressed size.
fn header(body: u32) -> [u8; 16] {
    let sizes = (0..16).fold(0u128, |bits, n| bits | 1 << (6 * n));
    (u128::from(body) | sizes << 32).to_le_bytes()
}

impl AfbcImage {
    /// The byte offset of a pixel, relative to the bodies.
    #[inline]
    fn place(&self, at: [u32; 2], bytes: u64) -> u64 {
        let [x, y] = self.superblock(at);
        let index = self.afbc.header_index(x, y, self.stride);
        (index * SUPERBLOCK_PIXELS + self.within(at)) * bytes
    }

    /// The column and row of a pixel's superblock.
    #[inline(always)]
    pub fn superblock(&self, at: [u32; 2]) -> [u32; 2] {
        let [x, y] = self.afbc.superblock.shifts();
        [at[0] >> x, at[1] >> y]
    }

    /// The index of a pixel in its superblock.
    #[inline(always)]
    pub fn within(&self, at: [u32; 2]) -> u64 {
        let [x, y] = self.afbc.superblock.shifts();
        u64::from((at[1] & ((1 << y) - 1)) << x | at[0] & ((1 << x) - 1))
    }
}

/// The body of a superblock, according to its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// It was never written.
    Empty,
    /// Uncompressed pixels at this byte offset from the headers.
    Plain(u32),
    /// Compressed pixels, which this model does not write.
    Compressed,
}

/// Reads a header.
pub(crate) fn body(bytes: [u8; 16]) -> Body {
    let body = u128::from_le_bytes(bytes) as u32;
    match bytes {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] => Body::Empty,
        _ if bytes == header(body) => Body::Plain(body),
        _ => Body::Compressed,
    }
}

fn order(
    format: BlockFormat,
    superblock: Superblock,
    row_stride: u32,
    body_offset: u32,
) -> Result<ImageLayout, JobFault> {
    let afbc = |tiled| {
        let afbc = Afbc { superblock, tiled, ..Afbc::PLAIN };
        let stride = header_columns(afbc, row_stride.into());
        ImageLayout::Afbc(AfbcImage { afbc, stride, body_offset: body_offset.into() })
    };
    Ok(match format {
        BlockFormat::Linear => ImageLayout::Linear,
        BlockFormat::TiledUInterleaved => ImageLayout::UInterleaved,
        BlockFormat::Interleaved64k => ImageLayout::Interleaved64k,
        BlockFormat::Afbc => afbc(false),
        BlockFormat::AfbcTiled => afbc(true),
        BlockFormat::NoWrite => {
            return Err(JobFault::new(Unit::Fragment, "a written attachment without a layout"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_64_kib_have_an_element_at_each_place() {
        for bytes in [1u64, 2, 4, 8, 16] {
            let bits = 16 - bytes.ilog2();
            let [width, height] = [1u32 << bits.div_ceil(2), 1 << (bits / 2)];
            let mut seen = vec![false; 1 << 16];
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let at = interleaved_64k([x, y], 0, bytes) as usize;
                assert!(!std::mem::replace(&mut seen[at], true), "{bytes} {x} {y}");
            }
            assert_eq!(seen.iter().filter(|s| **s).count() as u64, (1 << 16) / bytes);
            assert_eq!(interleaved_64k([width, height], 1 << 20, bytes), (1 << 20) + (1 << 16));
        }
    }

    #[test]
    fn headers_say_where_bodies_are() {
        assert_eq!(body([0; 16]), Body::Empty);
        assert_eq!(body(header(0x1234_5600)), Body::Plain(0x1234_5600));
        let mut other = header(0x1000);
        other[5] ^= 1;
        assert_eq!(body(other), Body::Compressed);
    }
}
