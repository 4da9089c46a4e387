//! Copies of pixels between raster images and images in their layout.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks.

use tepui_layout::{Dimension, ImageLayout, Region, RegionError, Shape, Surface, Threads};

use crate::{Layout, Msaa};

/// The error of a copy, which wrote nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation.
pub enum MoveError {
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error("the order of elements in Ys tiles, and in Yf tiles of three dimensions, is not known")]
    Unknown,
    #[error("interleaved samples are no rectangles; they can be had one by one")]
    Interleaved,
}

impl ImageLayout for Layout {
    fn shape(&self) -> &Shape {
        &self.desc().shape
    }

    fn size_B(&self) -> u64 {
        self.size_B
    }

    fn element_B(&self) -> u32 {
        self.desc().shape.format.info().block.bytes
    }

    fn level_count(&self) -> u32 {
        self.levels().len() as u32
    }

    fn samples_apart(&self) -> bool {
        true
    }

    fn surface(&self, level: u32, layer: u32, sample: u32) -> Result<Surface, RegionError> {
        let at = &self.levels()[level as usize];
        let [left, top, first] = at.origin_el;
        let layer = if self.shape().dimension == Dimension::D3 { layer + first } else { layer };
        let row = u64::from(top) + self.first_row_el(layer, sample);
        let outside = RegionError::NoSuchLayer { layer, level, layers: self.level_layers(level) };
        let row = u32::try_from(row).map_err(|_| outside)?;
        Ok(Surface { bytes: 0..self.size_B, plane: self.plane()?, origin_el: (left, row) })
    }
}

impl Layout {
    /// Copies a raster image into a region. `raster` starts at the region's top left; its rows are
    /// `stride_B` bytes apart. `image` holds the whole image.
    ///
    /// # Errors
    /// The region does not exist or has no rows.
    pub fn tile(
        &self,
        image: &mut [u8],
        region: Region,
        raster: &[u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.plain()?.place(image.len(), region)?;
        Ok(place.tile(image, raster, stride_B, threads)?)
    }

    /// Copies a region into a raster image: the inverse of [`Layout::tile`].
    ///
    /// # Errors
    /// As [`Layout::tile`].
    pub fn detile(
        &self,
        image: &[u8],
        region: Region,
        raster: &mut [u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.plain()?.place(image.len(), region)?;
        Ok(place.detile(image, raster, stride_B, threads)?)
    }

    /// The layout, unless its pixels cannot be copied in rows.
    fn plain(&self) -> Result<&Layout, MoveError> {
        match self.msaa {
            _ if self.is_unknown() => Err(MoveError::Unknown),
            Msaa::Interleaved => Err(MoveError::Interleaved),
            _ => Ok(self),
        }
    }
}
