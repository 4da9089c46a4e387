//! The texture unit: reads and filters images.

/// A worker's texture unit.
#[derive(Default)]
pub struct Unit {}
