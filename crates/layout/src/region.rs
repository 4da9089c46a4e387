//! Parts of an image, and moving their pixels between raster order and the GPU's order.
//!
//! Raster rows hold elements from left to right: blocks where the format has blocks, all samples of
//! a pixel together where the GPU stores them so.

use std::ops::Range;

use tepui_format::units::{El, Extent, Px};
use tepui_tiling::{CopyError, Plane, PlaneError, Rect, Threads};

use crate::{Dimension, Shape};

/// One sample of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Texel {
    /// Mip level.
    pub level: u32,
    /// Array layer.
    pub layer: u32,
    /// Column in pixels.
    pub x_px: u32,
    /// Row in pixels.
    pub y_px: u32,
    /// Slice of a 3D image in pixels.
    pub z_px: u32,
    /// Sample of the pixel.
    pub sample: u32,
}

/// A rectangle of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Mip level.
    pub level: u32,
    /// Array layer, or slice of a 3D image.
    pub layer: u32,
    /// Sample, where the GPU stores the samples of a pixel apart; else 0.
    pub sample: u32,
    /// Left column and top row in pixels; multiples of the block's sides.
    pub origin_px: (u32, u32),
    /// Size in pixels; multiples of the block's sides, or up to the level's edge.
    pub extent_px: Extent<Px>,
}

/// Reason why a region has no place in an image, or cannot be moved. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum RegionError {
    #[error("there is no level {level}; the image has {levels}")]
    NoSuchLevel { level: u32, levels: u32 },
    #[error("there is no layer {layer}; level {level} has {layers}")]
    NoSuchLayer { layer: u32, level: u32, layers: u32 },
    #[error("there is no sample {sample}; the image has {samples}")]
    NoSuchSample { sample: u32, samples: u32 },
    #[error("the GPU stores the samples of a pixel together: raster rows hold all of them")]
    SamplesTogether,
    #[error(
        "the rectangle cuts through blocks of {}x{} pixels; start and size must be multiples of \
         them, or reach the level's edge", .block.w, .block.h
    )]
    CutsBlocks { block: Extent<Px> },
    #[error("the image buffer has {have_B} bytes; the layout needs {need_B}")]
    ImageTooShort { have_B: usize, need_B: u64 },
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Plane(#[from] PlaneError),
}

/// Location of one level of one layer (and sample).
#[derive(Clone, Debug)]
pub struct Surface {
    /// Its bytes in the image.
    pub bytes: Range<u64>,
    /// The order of its elements.
    pub plane: Plane,
    /// Column and row of its first element in the plane.
    pub origin_el: (u32, u32),
}

/// An image that has been laid out, whatever the GPU.
pub trait ImageLayout {
    /// The image.
    fn shape(&self) -> &Shape;

    /// Bytes of the image.
    fn size_B(&self) -> u64;

    /// Bytes of an element of a raster row: a block, or all samples of a pixel that are stored
    /// together.
    fn element_B(&self) -> u32;

    /// Number of levels that the layout has.
    fn level_count(&self) -> u32;

    /// Location of a level of a layer (or slice of a 3D image). The level, the layer and the sample
    /// must exist.
    fn surface(&self, level: u32, layer: u32, sample: u32) -> Result<Surface, RegionError>;

    /// Whether samples of a pixel lie apart, each in a surface of its own.
    fn samples_apart(&self) -> bool;

    /// Width and height of a level.
    fn level_px(&self, level: u32) -> Option<Extent<Px>> {
        let shape = self.shape();
        let level0 = Extent::<Px>::new(shape.width_px, shape.height_px);
        (level < self.level_count()).then(|| level0.minify(level))
    }

    /// Layers of a level, or slices of a 3D image.
    fn level_layers(&self, level: u32) -> u32 {
        let shape = self.shape();
        match shape.dimension {
            Dimension::D3 => tepui_format::units::minify(shape.depth_px, level),
            _ => shape.layers,
        }
    }

    /// The region that is all of a level.
    fn whole_level(&self, level: u32, layer: u32, sample: u32) -> Option<Region> {
        let extent_px = self.level_px(level)?;
        Some(Region { level, layer, sample, origin_px: (0, 0), extent_px })
    }

    /// Location of a region in an image of `image_B` bytes.
    fn place(&self, image_B: usize, region: Region) -> Result<RegionLocation, RegionError> {
        let Region { level, layer, sample, origin_px: (x, y), extent_px } = region;
        let levels = self.level_count();
        let edge = self.level_px(level).ok_or(RegionError::NoSuchLevel { level, levels })?;
        let layers = self.level_layers(level);
        if layer >= layers {
            return Err(RegionError::NoSuchLayer { layer, level, layers });
        }
        let samples = self.shape().samples;
        if sample > 0 && !self.samples_apart() {
            return Err(RegionError::SamplesTogether);
        }
        if sample >= samples {
            return Err(RegionError::NoSuchSample { sample, samples });
        }
        if (image_B as u64) < self.size_B() {
            return Err(RegionError::ImageTooShort { have_B: image_B, need_B: self.size_B() });
        }
        let block = self.shape().format.info().block.extent();
        let cuts = |start: u32, size: u32, side: u32, edge: u32| {
            !start.is_multiple_of(side)
                || (!size.is_multiple_of(side) && start.saturating_add(size) != edge)
        };
        if cuts(x, extent_px.w, block.w, edge.w) || cuts(y, extent_px.h, block.h, edge.h) {
            return Err(RegionError::CutsBlocks { block });
        }
        let size: Extent<El> = extent_px.to_el(block);
        let Surface { bytes, plane, origin_el: (left, top) } =
            self.surface(level, layer, sample)?;
        Ok(RegionLocation {
            bytes: bytes.start as usize..bytes.end as usize,
            plane,
            rect: Rect { x: left + x / block.w, y: top + y / block.h, w: size.w, h: size.h },
        })
    }
}

/// A region's place in the image buffer.
#[derive(Clone, Debug)]
pub struct RegionLocation {
    /// The bytes of the region's surface.
    bytes: Range<usize>,
    plane: Plane,
    /// The region in elements.
    rect: Rect,
}

impl RegionLocation {
    /// Moves a raster image into the region. `raster` starts at the region's top left; its rows are
    /// `stride_B` bytes apart. `image` holds the whole image.
    pub fn tile(
        &self,
        image: &mut [u8],
        raster: &[u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), RegionError> {
        let surface = &mut image[self.bytes.clone()];
        tepui_tiling::tile(&self.plane, surface, raster, stride_B, self.rect, threads)?;
        Ok(())
    }

    /// Moves the region into a raster image: the inverse of [`RegionLocation::tile`].
    pub fn detile(
        &self,
        image: &[u8],
        raster: &mut [u8],
        stride_B: usize,
        threads: Threads,
    ) -> Result<(), RegionError> {
        let surface = &image[self.bytes.clone()];
        tepui_tiling::detile(&self.plane, surface, raster, stride_B, self.rect, threads)?;
        Ok(())
    }
}
