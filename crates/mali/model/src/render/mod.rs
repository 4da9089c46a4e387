//! Rendering: from RUN_IDVS to pixels in memory.
//!
//! ```text
//!  RUN_IDVS ──vertex──▶ positions, varyings ──geometry──▶ primitives of a scene
//!  RUN_FRAGMENT ──framebuffer──▶ attachments; ──fragment──▶ tiles, in parallel:
//!      coverage, depth and stencil ──quads──▶ warps of fragments ──pixels──▶ blending into the tile
//!      ──target──▶ memory
//! ```
//!
//! Scenes, framebuffers, tiles and blending are in [`pixels`](crate::pixels).
//!
//! A tiler context in memory names its scene by a number in the words of the hardware's private state.
//! Silicon keeps polygon lists in the heap there; only the hardware reads them, so this model keeps
//! primitives outside of GPU memory.
//!
//! Start reading in `draw.rs`, then `geometry.rs` and `fragment.rs`.

mod copied;
mod descriptor;
pub(crate) mod draw;
pub(crate) mod fragment;
mod frame;
pub(crate) mod framebuffer;
mod geometry;
pub(crate) mod indexed;
pub(crate) mod midgard;
mod pipeline;
mod quads;
pub(crate) mod renderer_state;
pub(crate) mod sfbd;
pub(crate) mod stage;
pub(crate) mod vertex;
