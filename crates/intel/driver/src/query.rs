//! Query pools, which there are none of yet.

/// A query pool.
pub enum Queries {}
