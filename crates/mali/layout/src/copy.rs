//! Copies of pixels between raster images and images in their layout.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks.

use tepui_layout::{Dimension, ImageLayout, Region, RegionError, Shape, Surface, Threads};

use crate::Layout;

/// The error of a copy, which wrote nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation.
pub enum MoveError {
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error("the pixels of AFBC images are compressed in a way that is not published")]
    Afbc,
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
        let (layer, surface) = match self.desc().shape.dimension {
            Dimension::D3 => (0, layer),
            _ => (layer, sample),
        };
        let layers = self.desc().shape.layers;
        let start = self
            .surface_offset_B(level, layer, surface)
            .ok_or(RegionError::NoSuchLayer { layer, level, layers })?;
        let bytes = start..start + at.surface_stride_B;
        Ok(Surface { bytes, plane: self.plane(at)?, origin_el: (0, 0) })
    }
}

impl Layout {
    /// Copies a raster image into a region. `raster` starts at the region's top left; its rows are
    /// `stride_B` bytes apart. `image` holds the whole image.
    pub fn tile(
        &self,
        image: &mut [u8],
        region: Region,
        raster: &[u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), MoveError> {
        let place = self.plain(region)?.place(image.len(), region)?;
        Ok(place.tile(image, raster, stride_B, threads)?)
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
        let place = self.plain(region)?.place(image.len(), region)?;
        Ok(place.detile(image, raster, stride_B, threads)?)
    }

    /// The layout, unless the region's level is compressed.
    fn plain(&self, region: Region) -> Result<&Layout, MoveError> {
        match self.levels().get(region.level as usize) {
            Some(level) if level.afbc.is_some() => Err(MoveError::Afbc),
            _ => Ok(self),
        }
    }
}
