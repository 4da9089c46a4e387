//! Moves pixels between a raster image and an image in its layout.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks.

use tepui_format::units::{El, Extent, Px};
use tepui_tiling::{CopyError, Plane, PlaneError, Rect, Threads};

use crate::Layout;

/// Which part of an image to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Mip level.
    pub level: u32,
    /// Array layer.
    pub layer: u32,
    /// Slice of a 3D image, or sample.
    pub surface: u32,
    /// Left column and top row in pixels; multiples of the block's sides.
    pub origin_px: (u32, u32),
    /// Size in pixels; multiples of the block's sides, or up to the level's edge.
    pub extent_px: Extent<Px>,
}

/// Why pixels cannot be moved. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum MoveError {
    #[error("there is no level {level}; the image has {levels}")]
    NoSuchLevel { level: u32, levels: u32 },
    #[error("level {level} has no surface {surface} of layer {layer}")]
    NoSuchSurface { level: u32, layer: u32, surface: u32 },
    #[error(
        "the rectangle cuts through blocks of {}x{} pixels; start and size must be multiples of \
         them, or reach the level's edge", .block.w, .block.h
    )]
    CutsBlocks { block: Extent<Px> },
    #[error("the image buffer has {have_B} bytes; the layout needs {need_B}")]
    ImageTooShort { have_B: usize, need_B: u64 },
    #[error("the pixels of AFBC images are compressed in a way that is not published")]
    Afbc,
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Plane(#[from] PlaneError),
}

impl Layout {
    /// The region that is all of a surface.
    pub fn whole_surface(&self, level: u32, layer: u32, surface: u32) -> Option<Region> {
        let extent_px = self.levels().get(level as usize)?.extent_px;
        Some(Region { level, layer, surface, origin_px: (0, 0), extent_px })
    }

    /// Moves a raster image into a region. `raster` starts at the region's top left; its rows are
    /// `stride_B` bytes apart. `image` holds the whole image.
    pub fn tile(
        &self,
        image: &mut [u8],
        region: Region,
        raster: &[u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.place(image.len(), region)?;
        let surface = &mut image[place.surface];
        tepui_tiling::tile(&place.plane, surface, raster, stride_B, place.rect, threads)?;
        Ok(())
    }

    /// Moves a region into a raster image: the inverse of [`Layout::tile`].
    pub fn detile(
        &self,
        image: &[u8],
        region: Region,
        raster: &mut [u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.place(image.len(), region)?;
        let surface = &image[place.surface];
        tepui_tiling::detile(&place.plane, surface, raster, stride_B, place.rect, threads)?;
        Ok(())
    }

    fn place(&self, image_B: usize, region: Region) -> Result<Place, MoveError> {
        let Region { level: l, layer, surface, origin_px: (x, y), extent_px } = region;
        let levels = self.levels().len() as u32;
        let level =
            self.levels().get(l as usize).ok_or(MoveError::NoSuchLevel { level: l, levels })?;
        if level.afbc.is_some() {
            return Err(MoveError::Afbc);
        }
        let start = self.surface_offset_B(l, layer, surface).ok_or(MoveError::NoSuchSurface {
            level: l,
            layer,
            surface,
        })? as usize;
        if (image_B as u64) < self.size_B {
            return Err(MoveError::ImageTooShort { have_B: image_B, need_B: self.size_B });
        }
        let block = self.desc().format.info().block.extent();
        let cuts = |start: u32, size: u32, side: u32, edge: u32| {
            !start.is_multiple_of(side)
                || (!size.is_multiple_of(side) && start.saturating_add(size) != edge)
        };
        if cuts(x, extent_px.w, block.w, level.extent_px.w)
            || cuts(y, extent_px.h, block.h, level.extent_px.h)
        {
            return Err(MoveError::CutsBlocks { block });
        }
        let size: Extent<El> = extent_px.to_el(block);
        Ok(Place {
            surface: start..start + level.surface_stride_B as usize,
            plane: self.plane(level)?,
            rect: Rect { x: x / block.w, y: y / block.h, w: size.w, h: size.h },
        })
    }
}

/// Where a region lies.
struct Place {
    /// The surface's bytes in the image.
    surface: std::ops::Range<usize>,
    plane: Plane,
    /// The region in elements.
    rect: Rect,
}
