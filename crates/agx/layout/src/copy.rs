//! Moves pixels between a raster image and an image in its layout.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks, all samples of
//! a pixel together where the image is multisampled.

use tepui_format::units::{El, Extent, Px, Sa};
use tepui_tiling::{CopyError, Order, Plane, PlaneError, Rect, Threads};

use crate::compression::{TILE_SA, TileMetadata, extent_sa};
use crate::{Layout, Level, Tiling};

/// Which part of an image to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Mip level.
    pub level: u32,
    /// Array layer, or slice of a 3D image.
    pub layer: u32,
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
    #[error("there is no layer {layer}; level {level} has {layers}")]
    NoSuchLayer { layer: u32, level: u32, layers: u32 },
    #[error(
        "the rectangle cuts through blocks of {}x{} pixels; start and size must be multiples of \
         them, or reach the level's edge", .block.w, .block.h
    )]
    CutsBlocks { block: Extent<Px> },
    #[error("the image buffer has {have_B} bytes; the layout needs {need_B}")]
    ImageTooShort { have_B: usize, need_B: u64 },
    #[error(
        "compression tile ({x_tl}, {y_tl}) of level {level} holds {metadata:?}; how compressed \
         samples are packed is unknown, so that only uncompressed tiles can be moved"
    )]
    Compressed { level: u32, x_tl: u32, y_tl: u32, metadata: TileMetadata },
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Plane(#[from] PlaneError),
}

impl Layout {
    /// The region that is all of a level.
    pub fn whole_level(&self, level: u32, layer: u32) -> Option<Region> {
        let extent_px = self.levels().get(level as usize)?.extent_px;
        Some(Region { level, layer, origin_px: (0, 0), extent_px })
    }

    /// Moves a raster image into a region. `raster` starts at the region's top left; its rows are
    /// `stride_B` bytes apart. `image` holds the whole image.
    ///
    /// Compression tiles that the region covers become uncompressed; those that it touches in part
    /// must be uncompressed.
    pub fn tile(
        &self,
        image: &mut [u8],
        region: Region,
        raster: &[u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.place(image.len(), region)?;
        let metadata = self.touched_metadata(image, region, true)?;
        let level = &mut image[place.level];
        tepui_tiling::tile(&place.plane, level, raster, stride_B, place.rect, threads)?;
        if let Some(uncompressed) = TileMetadata::uncompressed(self.desc().format) {
            for at in metadata {
                image[at..at + 8].copy_from_slice(&uncompressed.0.to_le_bytes());
            }
        }
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
        self.touched_metadata(image, region, false)?;
        let level = &image[place.level];
        tepui_tiling::detile(&place.plane, level, raster, stride_B, place.rect, threads)?;
        Ok(())
    }

    fn place(&self, image_B: usize, region: Region) -> Result<Place, MoveError> {
        let Region { level: l, layer, origin_px: (x, y), extent_px } = region;
        let level = self
            .levels()
            .get(l as usize)
            .ok_or(MoveError::NoSuchLevel { level: l, levels: self.levels().len() as u32 })?;
        let layers = self.desc().layers.max(level.depth_px);
        if layer >= layers {
            return Err(MoveError::NoSuchLayer { layer, level: l, layers });
        }
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
        let rect = Rect { x: x / block.w, y: y / block.h, w: size.w, h: size.h };
        let start = (self.layer_stride_B * u64::from(layer) + level.offset_B) as usize;
        Ok(Place { level: start..start + level.size_B as usize, plane: self.plane(level)?, rect })
    }

    /// A level for the tiling kernels.
    fn plane(&self, level: &Level) -> Result<Plane, PlaneError> {
        let tile = level.tile_el;
        let (order, tile_row_B) = match self.desc().tiling {
            Tiling::Linear => (Order::Raster, level.stride_B),
            Tiling::Twiddled | Tiling::Compressed => {
                let tile_B = tile.area() * u64::from(self.element_B);
                (Order::Morton, u64::from(level.tiles.w) * tile_B)
            }
        };
        let extent = (level.extent_el.w, level.extent_el.h);
        Plane::new(order, self.element_B, extent, (tile.w, tile.h), tile_row_B)
    }

    /// Where the metadata of the compression tiles lies that a region touches. Refuses compressed
    /// tiles, but for those that a write covers.
    fn touched_metadata(
        &self,
        image: &[u8],
        region: Region,
        write: bool,
    ) -> Result<Vec<usize>, MoveError> {
        let Some(metadata) = &self.metadata else { return Ok(Vec::new()) };
        if metadata.levels().len() <= region.level as usize {
            return Ok(Vec::new());
        }
        let desc = self.desc();
        let sa = |x, y| extent_sa(Extent::new(x, y), desc.samples);
        let (x, y) = region.origin_px;
        let level_px = self.levels()[region.level as usize].extent_px;
        let end = (
            x.saturating_add(region.extent_px.w).min(level_px.w),
            y.saturating_add(region.extent_px.h).min(level_px.h),
        );
        let (from, to, edge): (Extent<Sa>, _, _) =
            (sa(x, y), sa(end.0, end.1), sa(level_px.w, level_px.h));
        let mut touched = Vec::new();
        for y_tl in from.h / TILE_SA..to.h.div_ceil(TILE_SA) {
            for x_tl in from.w / TILE_SA..to.w.div_ceil(TILE_SA) {
                let covers = |from: u32, to: u32, edge: u32, tl: u32| {
                    from <= tl * TILE_SA && to >= ((tl + 1) * TILE_SA).min(edge)
                };
                let covered =
                    covers(from.w, to.w, edge.w, x_tl) && covers(from.h, to.h, edge.h, y_tl);
                let Some(at) = metadata.tile_offset_B(region.level, region.layer, x_tl, y_tl)
                else {
                    continue;
                };
                let at = at as usize;
                let mut word = [0; 8];
                word.copy_from_slice(&image[at..at + 8]);
                let found = TileMetadata(u64::from_le_bytes(word));
                let replaced = write && covered;
                if !replaced && !found.is_uncompressed(desc.format) {
                    let (level, metadata) = (region.level, found);
                    return Err(MoveError::Compressed { level, x_tl, y_tl, metadata });
                }
                touched.push(at);
            }
        }
        Ok(touched)
    }
}

/// Where a region lies.
struct Place {
    /// The level's bytes in the image.
    level: std::ops::Range<usize>,
    plane: Plane,
    /// The region in elements.
    rect: Rect,
}
