//! Values that a driver supplies to programs outside of descriptor sets.
//!
//! - [`SystemValue`]: values of a draw or a dispatch, by name; a family's compiler chooses where they stand and reports it
//! - [`push_words!`](crate::push_words): structures of words for the driver's own programs. The driver fills them in, and programs read
//!   them by [`Field`]s, so that both sides use one declaration
//! - [`LaunchWords`]: the words of one launch, from the CPU or from memory
//!
//! Programs read words with `load_uniform` of the IR at a field's byte offset.

#![forbid(unsafe_code)]

mod launch;
mod value;
mod words;

pub use launch::{LaunchWords, MemoryWords};
pub use value::{Arguments, SystemValue};
pub use words::{Field, Long, Member, Words};

#[doc(hidden)]
pub use pastey;
