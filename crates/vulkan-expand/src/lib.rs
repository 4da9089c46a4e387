//! Shared parts of drivers that run the stages before the rasteriser as compute programs ([`tepui_expand`]): the programs that run between
//! the stages, and how draws are divided.
//!
//! - [`Program`]: programs that list vertices, place buffers, sum counts, capture vertices and count statistics, for sub-groups of any
//!   power of two of lanes
//! - [`place::params`]: the parameters of a draw whose sizes only the GPU knows, which programs pass on
//! - [`Order`], [`topology`]: the order of vertices in primitives, and the topologies that stages make
//! - [`pieces`]: division of draws whose vertices need more memory than there is
//! - [`counted`]: queries of statistics that count
//!
//! A family's encoder launches the programs, with words of its own, and allocates.

#![forbid(unsafe_code)]

pub mod counted;
pub mod feedback;
mod order;
pub mod pieces;
pub mod place;
mod program;
mod statistics;
pub mod topology;

pub use order::{Order, UNROLL_ALL, UNROLL_FROM};
pub use program::Program;
pub use statistics::count_fragments;
