//! The shape of an image, and the rules that every GPU has for it.

use tepui_format::Format;
use tepui_format::units::full_chain_levels;

/// The dimensionality of an image. Arrays are images of more than one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// One row.
    D1,
    /// A rectangle.
    D2,
    /// A box: levels halve the depth too.
    D3,
    /// Six square layers a cube.
    Cube,
}

/// Format and size of an image: what an image is, whatever GPU stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Pixel format.
    pub format: Format,
    /// Dimensionality.
    pub dimension: Dimension,
    /// Width of level 0 in pixels.
    pub width_px: u32,
    /// Height of level 0 in pixels.
    pub height_px: u32,
    /// Depth of level 0 in pixels; 1 unless the image is 3D.
    pub depth_px: u32,
    /// Array layers; six a cube.
    pub layers: u32,
    /// Samples a pixel.
    pub samples: u32,
    /// Mip levels.
    pub levels: u32,
}

impl Shape {
    /// A 2D image of one level, one layer and one sample.
    pub const fn new_2d(format: Format, width_px: u32, height_px: u32) -> Shape {
        Shape {
            format,
            dimension: Dimension::D2,
            width_px,
            height_px,
            depth_px: 1,
            layers: 1,
            samples: 1,
            levels: 1,
        }
    }

    /// Number of levels of a full mip chain of this image.
    pub fn full_chain(&self) -> u32 {
        let major = self.width_px.max(self.height_px);
        let depth = if self.dimension == Dimension::D3 { self.depth_px } else { 1 };
        full_chain_levels(major.max(depth))
    }

    /// Checks the rules that follow from the shape alone, with a GPU's limits.
    pub fn check(&self, limits: &Limits) -> Result<(), ShapeError> {
        let &Shape { format, width_px, height_px, depth_px, layers, samples, levels, .. } = self;
        if format.info().is_planar() {
            return Err(ShapeError::Planar { format });
        }
        for (what, value, limit) in [
            ("the width", width_px, limits.width_px),
            ("the height", height_px, limits.extent_px),
            ("the depth", depth_px, limits.extent_px),
            ("the number of layers", layers, limits.layers),
        ] {
            if value == 0 {
                return Err(ShapeError::Zero { what });
            }
            ShapeError::limit(what, value.into(), limit.into())?;
        }
        if levels == 0 {
            return Err(ShapeError::Zero { what: "the number of levels" });
        }
        if levels > self.full_chain() {
            return Err(ShapeError::TooManyLevels { levels, full: self.full_chain() });
        }
        if !samples.is_power_of_two() || samples > limits.samples {
            return Err(ShapeError::SampleCount { samples, limit: limits.samples });
        }
        self.check_dimension()
    }

    fn check_dimension(&self) -> Result<(), ShapeError> {
        let &Shape { width_px, height_px, depth_px, layers, .. } = self;
        match self.dimension {
            Dimension::D3 if layers > 1 => Err(ShapeError::LayersOf3d { layers }),
            Dimension::D3 => Ok(()),
            _ if depth_px > 1 => Err(ShapeError::DepthWithout3d { depth_px }),
            Dimension::D1 if height_px > 1 => Err(ShapeError::HeightOf1d { height_px }),
            Dimension::Cube if width_px != height_px || layers % 6 != 0 => {
                Err(ShapeError::CubeShape { width_px, height_px, layers })
            }
            _ => Ok(()),
        }
    }

    /// Refuses samples of block-compressed formats, and of formats that share values among pixels.
    pub fn check_blocks(&self) -> Result<(), ShapeError> {
        let block = self.format.info().block;
        if self.samples > 1 && block.width_px * block.height_px > 1 {
            return Err(ShapeError::MultisampledBlocks { format: self.format });
        }
        Ok(())
    }
}

/// The largest images of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest width.
    pub width_px: u32,
    /// Largest height and depth.
    pub extent_px: u32,
    /// Maximum number of layers.
    pub layers: u32,
    /// Maximum number of samples of a pixel; numbers of samples are powers of two.
    pub samples: u32,
}

impl Limits {
    /// One limit for width, height, depth and the number of layers.
    pub const fn new(extent_px: u32, samples: u32) -> Limits {
        Limits { width_px: extent_px, extent_px, layers: extent_px, samples }
    }
}

/// A rule that the shape of an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum ShapeError {
    #[error("{what} is 0; it must be at least 1")]
    Zero { what: &'static str },
    #[error("{what} is {value}; the hardware's limit is {limit}")]
    TooLarge { what: &'static str, value: u64, limit: u64 },
    #[error("{samples} samples; the hardware has powers of two up to {limit}")]
    SampleCount { samples: u32, limit: u32 },
    #[error("{levels} levels; the full chain of this image has {full}")]
    TooManyLevels { levels: u32, full: u32 },
    #[error("depth is {depth_px}; only 3D images have a depth")]
    DepthWithout3d { depth_px: u32 },
    #[error("height is {height_px}; 1D images have one row")]
    HeightOf1d { height_px: u32 },
    #[error("a cube of {width_px}x{height_px} with {layers} layers; its faces are square and six")]
    CubeShape { width_px: u32, height_px: u32, layers: u32 },
    #[error("3D images have no layers, and this one has {layers}")]
    LayersOf3d { layers: u32 },
    #[error("{format} is planar: lay out each plane as an image of its own")]
    Planar { format: Format },
    #[error("{format} stores blocks of pixels, which excludes multisampling")]
    MultisampledBlocks { format: Format },
}

impl ShapeError {
    /// [`ShapeError::TooLarge`] where `value` is above `limit`.
    pub fn limit(what: &'static str, value: u64, limit: u64) -> Result<(), ShapeError> {
        if value > limit { Err(ShapeError::TooLarge { what, value, limit }) } else { Ok(()) }
    }
}

/// A GPU's support for a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FormatSupport {
    /// The texture unit reads it.
    pub texturable: bool,
    /// It can be a colour attachment.
    pub renderable: bool,
    /// It can be a depth or stencil attachment.
    pub depth_stencil: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_caller_s() {
        let limits = Limits { width_px: 64, ..Limits::new(32, 2) };
        let wide = Shape::new_2d(Format::R8_UNORM, 64, 32);
        assert_eq!(wide.check(&limits), Ok(()));
        let tall = Shape { height_px: 33, ..wide };
        let too_large = ShapeError::TooLarge { what: "the height", value: 33, limit: 32 };
        assert_eq!(tall.check(&limits), Err(too_large));
        let samples = Shape { samples: 4, ..wide };
        let too_many = ShapeError::SampleCount { samples: 4, limit: 2 };
        assert_eq!(samples.check(&limits), Err(too_many));
        assert_eq!(samples.check(&Limits { samples: 4, ..limits }), Ok(()));
        let blocks = Shape { format: Format::BC7_UNORM_BLOCK, ..samples };
        assert!(blocks.check_blocks().is_err() && samples.check_blocks().is_ok());
        let cube = Shape { dimension: Dimension::Cube, width_px: 32, layers: 6, ..wide };
        assert_eq!(cube.check(&limits), Ok(()));
        assert!(Shape { layers: 7, ..cube }.check(&limits).is_err());
        assert_eq!(Shape { levels: 6, ..cube }.check(&limits), Ok(()));
        assert!(Shape { levels: 7, ..cube }.check(&limits).is_err());
    }
}
