//! Shared parts of drivers that run the stages before the rasteriser as compute programs ([`tepui_expand`]): the programs that run between
//! the stages, in which order they run with which buffers, and how draws are divided.
//!
//! A family implements [`Expander`] for its encoder and [`ExpandShader`] for its shaders: launches, memory, compiled programs. Then
//! - [`draw()`] and [`draw_rest`] draw with geometry and tessellation shaders,
//! - [`capture()`], [`begin_capture`], [`end_capture`] and [`captured_draw`] are transform feedback,
//! - [`begin_statistics`], [`end_statistics`], [`count_draw`] and [`count_dispatch`] are pipeline statistics.
//!
//! A draw whose counts the CPU knows takes pieces of memory that the encoder allocates ([`pieces`]). Of one that is tessellated or has
//! restarts among its indices, only the GPU knows the sizes: programs allocate from a heap and leave the parameters of later
//! programs in memory ([`params`]).
//!
//! - [`Program`]: programs that list vertices, place buffers, sum counts, capture vertices and count statistics, for sub-groups of any
//!   power of two of lanes. Their words are structures ([`tepui_sysval::push_words!`])
//! - [`Order`], [`topology`]: the order of vertices in primitives, and the topologies that stages make

#![forbid(unsafe_code)]

mod capture;
pub mod counted;
mod counting;
mod derived;
mod draw;
mod emissions;
pub mod feedback;
mod in_heap;
mod launch;
mod lists;
mod memory;
mod order;
pub mod params;
pub mod pieces;
pub mod place;
mod program;
mod stages;
mod state;
mod statistics;
mod tessellate;
pub mod topology;

pub use capture::{begin_capture, capture, captured_draw, end_capture};
pub use counting::{begin_statistics, count_dispatch, count_draw, end_statistics};
pub use derived::{Derivation, Derived, Gathered};
pub use draw::{draw, draw_rest, expands};
pub use launch::{
    Application, ExpandBackend, ExpandShader, Expander, Launch, ProgramOf, SetsOf, SharedUse,
    Supplied, VertexValues,
};
pub use lists::{PartWords, SumsWords};
pub use memory::SharedMemory;
pub use order::{ListSource, ListWords, Order};
pub use program::Program;
pub use stages::inputs_with;
pub use state::ExpandState;
pub use statistics::{AddWords, CountDrawsWords, CountThreadsWords, CountedWords, count_fragments};
