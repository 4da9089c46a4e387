//! `paste`, an unmaintained crate, replaced by its successor `pastey`.
//!
//! `texture2ddecoder`, which judges block-compressed formats in tests, still asks for the old name.
//! `[patch.crates-io]` in the workspace puts this crate in its place.

pub use pastey::{item, paste};
