//! The parameters of `tepui_texel` for AGX: 32 lanes, and the precisions of its filters.

pub use tepui_agx_chips::LANES;
use tepui_texel::{TextureUnit, axis, cube, lod};

use crate::image::Level;

/// 32 bits for each lane.
pub type Row = tepui_texel::Row<LANES>;

/// A float for each lane.
pub type Floats = tepui_texel::Floats<LANES>;

/// A signed integer for each lane.
pub type Ints = tepui_texel::Ints<LANES>;

/// AGX's texture unit.
pub struct Agx;

impl TextureUnit for Agx {
    /// Assumption: 8, as Mesa announces (subTexelPrecisionBits), rounded to the nearest.
    const SUBTEXEL_BITS: u32 = 8;
    /// Assumption: 8, as Mesa announces (mipmapPrecisionBits), rounded to the nearest.
    const LOD_BITS: u32 = 8;
    type Level = Level;
}

pub(crate) type Kernels = tepui_texel::Kernels<LANES, Agx>;
pub(crate) type Axis = axis::Axis<LANES>;
pub(crate) type Faces = cube::Faces<LANES>;
pub(crate) type Footprint = lod::Footprint<LANES>;
pub(crate) type Gradient = lod::Gradient<LANES>;
pub(crate) type Plan = lod::Plan<LANES>;
pub(crate) type Placed = tepui_texel::Placed<LANES>;
pub(crate) type Tap<'a> = tepui_texel::Tap<'a, LANES>;
pub(crate) type Quad<'a> = tepui_texel::Quad<'a, LANES>;

/// The words of the texels of all lanes.
pub(crate) type Words = [Row; 4];

/// The texel of a level that each lane reads.
pub(crate) struct Texels<'a> {
    pub level: &'a Level,
    /// Column and row, inside the level.
    pub at: [&'a Ints; 2],
    /// Layer or slice, inside the image.
    pub layer: &'a Row,
    /// Sample, below the image's.
    pub sample: &'a Row,
    /// All ones in lanes that read the border colour and need no texel.
    pub outside: &'a Row,
}
