//! Rasterisation: from assembled vertices to covered samples that passed depth and stencil tests.
//!
//! ```text
//!  vertices ──assembly──▶ points, lines, triangles
//!           ──projected──▶ clipped ([`clip`]), projected, snapped to the sub-pixel grid: pieces
//!              (vertices that many primitives share are projected once: [`Projection`], [`ProjectedVertex`])
//!           ──shape──▶ edge functions; ──interpolation──▶ planes of depth and varyings
//!           ──bins──▶ the shapes of each tile ──coverage──▶ covered samples ──depth──▶ samples that pass
//!           ──tags──▶ samples that no later opaque primitive hides
//! ```
//!
//! A GPU model describes its hardware by a [`Grid`] (sub-pixel bits, guard band, fill rule), sample
//! positions ([`Samples`]), a [`ClipVolume`] and depth and stencil [`Tests`], which it decodes from its
//! control stream. Results depend on nothing but the arguments, so pictures are the same at any thread
//! count.
//!
//! Tiles are at most [`TILE_SIDE`] pixels wide and high: a row of coverage is one word.
//!
//! Start reading in `projected.rs`, then `shape.rs` and `coverage.rs`.

pub mod assembly;
mod bins;
pub mod clip;
mod coverage;
pub mod depth;
mod grid;
mod interpolation;
mod primitive;
mod projected;
mod shape;
mod tags;
mod vertices;

pub use assembly::{Assembler, Provoking, Topology};
pub use bins::Bins;
pub use coverage::{Coverage, Samples};
pub use depth::{Compare, DepthStencil, Plane, Stencil, StencilOp, Tests};
pub use grid::{FillRule, Grid};
pub use interpolation::{DepthBias, Interpolation, WindowPlane};
pub use primitive::{Piece, PrimitiveKind};
pub use projected::{ClipVolume, DepthRange, ProjectedPrimitive, Viewport, area, drop_outside};
pub use shape::{CoverageRule, Edge, Outline, RasterBounds, Shape};
pub use tags::Tags;
pub use vertices::{ProjectedVertex, Projection};

/// Maximum width and height of a tile in pixels.
pub const TILE_SIDE: usize = 32;
