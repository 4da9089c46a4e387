//! The parts that decoders of submitted GPU work share: records, limits, control streams, ioctls.
//!
//! A family's decoder starts at an address, reads GPU memory through a [`Reader`], follows every
//! pointer whose target has a known format, and returns a tree of [`Record`]s: a packet with its
//! fields, its address, and what it points to as children. The tree prints as text and serialises
//! as JSON.
//!
//! Decoding terminates for any memory contents: unmapped pages, invalid packets and streams that
//! loop or never end become [`Problem`]s in the tree, and [`Limits`] bound the work.
//!
//! [`mod@stream`] walks control streams with links, calls and ends; [`mod@calls`] decodes the
//! arguments of ioctls.

pub mod calls;
mod memory;
mod reader;
mod record;
pub mod stream;

pub use memory::{GpuMemory, Unreadable};
pub use reader::{Limits, Reader};
pub use record::{Content, InstructionError, Problem, Record};
