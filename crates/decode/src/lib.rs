//! What decoders of submitted work share, whatever the GPU.
//!
//! A family's decoder starts at an address, reads GPU memory through a [`Reader`], follows every
//! pointer whose target has a known form, and leaves a tree of [`Record`]s: a packet with its
//! fields, its address, and what it points to as children. The tree prints as text and serialises
//! as JSON.
//!
//! Whatever the memory holds, decoding ends: pages that are missing, packets that are odd, streams
//! that run in circles or never end become [`Problem`]s in the tree, and [`Limits`] bound the work.
//!
//! [`mod@stream`] walks control streams with links, calls and ends; [`mod@calls`] takes the
//! arguments of kernel requests apart.

pub mod calls;
mod memory;
mod reader;
mod record;
pub mod stream;

pub use memory::{GpuMemory, Unreadable};
pub use reader::{Limits, Reader};
pub use record::{Content, InstructionError, Problem, Record};
