//! What texture instructions ask for.

use tepui_agx_packets::texture::TextureDimension;

use crate::{LANES, Row};

/// What a texture instruction asks for. Made once, when the program is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is returned.
    pub kind: Kind,
    /// How many coordinates there are, and what they mean.
    pub dimension: TextureDimension,
    /// Compares texels with a reference.
    pub compare: bool,
    /// Moves texels by an offset.
    pub offset: bool,
    /// Where the level of detail comes from.
    pub lod: LodSource,
    /// Results are rounded to halves, or cut to 16 bits.
    pub narrow: bool,
    /// Components that are returned, a bit each, one row after the other.
    pub mask: u8,
    /// A further row says whether all texels were there: 0 if so. source: Mesa's
    /// agx_nir_lower_texture.c, `AGX_RESIDENT`
    pub residency: bool,
}

/// What a texture instruction returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A filtered texel; coordinates are floats.
    Sample,
    /// A texel by its number; coordinates and level are integers.
    Load,
    /// One component of each of four texels.
    Gather {
        /// Number of the component.
        component: u8,
    },
    /// The level of detail, clamped to the image and sampler, and not clamped.
    QueryLod,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LodSource {
    /// Differences within quads; level 0 for loads.
    Auto,
    /// The same plus [`Operands::lod`].
    Bias,
    /// As `Bias`, but at least [`Operands::min_lod`].
    BiasMin,
    /// [`Operands::lod`].
    Level,
    /// [`Operands::gradient`].
    Gradient,
    /// As `Gradient`, but at least [`Operands::min_lod`].
    GradientMin,
}

/// Operands of a texture instruction. Only those that the request names are read.
#[derive(Clone, Debug)]
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
    /// What texels are compared with: bits of floats.
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
    /// One for all components of 32 bits and without further conditions.
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

    /// Whether there are two coordinates, of an image or of layers of one.
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
