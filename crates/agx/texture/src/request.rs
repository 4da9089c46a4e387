//! Decoded texture instructions and their operands.

use tepui_agx_packets::texture::TextureDimension;

use crate::{LANES, Row};

/// The constant part of a texture instruction, made when the program is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The kind of result.
    pub kind: Kind,
    /// Dimensions of the coordinates.
    pub dimension: TextureDimension,
    /// Depth comparison with [`Operands`]' reference.
    pub compare: bool,
    /// Texel offsets are added to the coordinates.
    pub offset: bool,
    /// Source of the level of detail.
    pub lod: LodSource,
    /// Results are 16 bits: floats are rounded, integers truncated.
    pub narrow: bool,
    /// Mask of the components that are returned, each in a row of its own.
    pub mask: u8,
    /// A further row has the residency code: 0 if all texels were resident. source: Mesa's
    /// agx_nir_lower_texture.c, `AGX_RESIDENT`
    pub residency: bool,
}

/// The kind of result of a texture instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A filtered texel; coordinates are floats.
    Sample,
    /// An unfiltered texel; coordinates and level are integers.
    Load,
    /// One component of each of four texels.
    Gather {
        /// Number of the component.
        component: u8,
    },
    /// The level of detail: clamped to the image and the sampler, and unclamped.
    QueryLod,
}

/// Source of the level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LodSource {
    /// Derivatives within quads; level 0 for loads.
    Auto,
    /// Derivatives within quads plus [`Operands::lod`].
    Bias,
    /// Derivatives plus [`Operands::lod`], at least [`Operands::min_lod`].
    BiasMin,
    /// [`Operands::lod`].
    Level,
    /// [`Operands::gradient`].
    Gradient,
    /// Version of `Gradient`: at least [`Operands::min_lod`].
    GradientMin,
}

/// Operands of a texture instruction. Only those that the request names are read.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Operands {
    /// Coordinates: bits of floats, or unsigned integers for loads.
    pub coordinates: [Row; 3],
    /// Array layer.
    pub layer: Row,
    /// Sample of a multisampled texel.
    pub sample: Row,
    /// Level or bias: bits of floats; of a load an integer.
    pub lod: Row,
    /// Smallest level: bits of floats.
    pub min_lod: Row,
    /// Rates of change of each coordinate, to the right and down: bits of floats.
    pub gradient: [[Row; 2]; 3],
    /// Reference values of comparisons: bits of floats.
    pub reference: Row,
    /// Offsets in texels: four signed bits each, x lowest.
    pub offset: Row,
}

impl Default for Operands {
    fn default() -> Self {
        const ZERO: Row = [0; LANES];
        Operands {
            coordinates: [ZERO; 3],
            layer: ZERO,
            sample: ZERO,
            lod: ZERO,
            min_lod: ZERO,
            gradient: [[ZERO; 2]; 3],
            reference: ZERO,
            offset: ZERO,
        }
    }
}

impl Request {
    /// A request for all four components as 32 bits, without modifiers.
    pub const fn new(kind: Kind, dimension: TextureDimension) -> Request {
        Request {
            kind,
            dimension,
            compare: false,
            offset: false,
            lod: LodSource::Auto,
            narrow: false,
            mask: 15,
            residency: false,
        }
    }

    /// Rows of the result.
    #[inline]
    pub fn rows(&self) -> usize {
        (self.mask & 15).count_ones() as usize + usize::from(self.residency)
    }

    pub(crate) fn axes(&self) -> usize {
        match self.dimension {
            TextureDimension::D1 | TextureDimension::D1Array => 1,
            TextureDimension::D3 => 3,
            _ => 2,
        }
    }

    /// Whether there are two coordinates, besides a layer.
    pub(crate) fn is_flat(&self) -> bool {
        matches!(self.dimension, TextureDimension::D2 | TextureDimension::D2Array)
    }

    pub(crate) fn is_cube(&self) -> bool {
        matches!(self.dimension, TextureDimension::Cube | TextureDimension::CubeArray)
    }

    pub(crate) fn is_array(&self) -> bool {
        use TextureDimension::{CubeArray, D1Array, D2Array, D2ArrayMultisampled};
        matches!(self.dimension, D1Array | D2Array | CubeArray | D2ArrayMultisampled)
    }
}
