//! Copies of pixels between raster images and images in their layout.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks, all samples of
//! a pixel together where the image is multisampled.

use tepui_format::units::{Extent, Sa};
use tepui_layout::{ImageLayout, Region, RegionError, Shape, Surface, Threads};
use tepui_tiling::{Order, Plane};

use crate::compression::{TILE_SA, TileMetadata, extent_sa};
use crate::{Layout, Tiling};

/// Reason why a copy is not possible. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum MoveError {
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(
        "compression tile ({x_tl}, {y_tl}) of level {level} holds {metadata:?}; how compressed \
         samples are packed is unknown, so that only uncompressed tiles can be moved"
    )]
    Compressed { level: u32, x_tl: u32, y_tl: u32, metadata: TileMetadata },
}

impl ImageLayout for Layout {
    fn shape(&self) -> &Shape {
        &self.desc().shape
    }

    fn size_B(&self) -> u64 {
        self.size_B
    }

    fn element_B(&self) -> u32 {
        self.element_B
    }

    fn level_count(&self) -> u32 {
        self.levels().len() as u32
    }

    fn samples_apart(&self) -> bool {
        false
    }

    fn surface(&self, level: u32, layer: u32, _sample: u32) -> Result<Surface, RegionError> {
        let level = &self.levels()[level as usize];
        let tile = level.tile_el;
        let (order, tile_row_B) = match self.desc().tiling {
            Tiling::Linear => (Order::Raster, level.stride_B),
            Tiling::Twiddled | Tiling::Compressed => {
                let tile_B = tile.area() * u64::from(self.element_B);
                (Order::Morton, u64::from(level.tiles.w) * tile_B)
            }
        };
        let extent = (level.extent_el.w, level.extent_el.h);
        let plane = Plane::new(order, self.element_B, extent, (tile.w, tile.h), tile_row_B)?;
        let start = self.layer_stride_B * u64::from(layer) + level.offset_B;
        Ok(Surface { bytes: start..start + level.size_B, plane, origin_el: (0, 0) })
    }
}

impl Layout {
    /// Copies a raster image into a region. `raster` starts at the region's top left; its rows are
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
        place.tile(image, raster, stride_B, threads)?;
        if let Some(uncompressed) = TileMetadata::uncompressed(self.desc().shape.format) {
            for at in metadata {
                image[at..at + 8].copy_from_slice(&uncompressed.0.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Copies a region into a raster image: the inverse of [`Layout::tile`].
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
        Ok(place.detile(image, raster, stride_B, threads)?)
    }

    /// Byte offsets of the metadata of all compression tiles that a region touches. Compressed
    /// tiles are an error, unless a write covers them completely.
    fn touched_metadata(
        &self,
        image: &[u8],
        region: Region,
        write: bool,
    ) -> Result<Vec<usize>, MoveError> {
        let Some(metadata) = &self.metadata else { return Ok(Vec::new()) };
        if !self.is_level_compressed(region.level) {
            return Ok(Vec::new());
        }
        let desc = self.desc();
        let sa = |x, y| extent_sa(Extent::new(x, y), desc.shape.samples);
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
                if !replaced && !found.is_uncompressed(desc.shape.format) {
                    let (level, metadata) = (region.level, found);
                    return Err(MoveError::Compressed { level, x_tl, y_tl, metadata });
                }
                touched.push(at);
            }
        }
        Ok(touched)
    }
}
