//! Rendering: from RUN_IDVS to pixels in memory.
//!
//! ```text
//!  RUN_IDVS ──vertex──▶ positions, varyings ──geometry──▶ primitives of a [`scene`]
//!  RUN_FRAGMENT ──framebuffer──▶ attachments; ──fragment──▶ tiles, in parallel:
//!      coverage, depth and stencil ──quads──▶ warps of fragments ──pixels──▶ blending into the [`tile`]
//!      ──target──▶ memory
//! ```
//!
//! A tiler context in memory names its scene by a number in the words of the hardware's private state.
//! Silicon keeps polygon lists in the heap there; only the hardware reads them, so this model keeps
//! primitives outside of GPU memory.
//!
//! Start reading in `draw.rs`, then `geometry.rs` and `fragment.rs`.

pub(crate) mod blend;
pub(crate) mod colour;
mod copied;
pub(crate) mod draw;
pub(crate) mod fragment;
pub(crate) mod framebuffer;
mod geometry;
pub(crate) mod indexed;
pub(crate) mod midgard;
mod pipeline;
pub(crate) mod pixels;
mod quads;
pub(crate) mod renderer_state;
pub(crate) mod scene;
pub(crate) mod sfbd;
pub(crate) mod stage;
pub(crate) mod target;
pub(crate) mod tile;
pub(crate) mod vertex;

/// Maximum number of samples of a pixel.
pub(crate) const MAX_SAMPLES: usize = 16;

/// Maximum number of render targets.
pub(crate) const MAX_TARGETS: usize = 8;
