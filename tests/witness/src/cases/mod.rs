//! The cases, a theme a file.

mod algorithms;
mod integer;
mod map;

use crate::case::Case;

/// Every case, in the order in which a model learns them: commands and memory first.
pub fn all() -> Vec<Case> {
    [algorithms::cases(), integer::cases()].into_iter().flatten().collect()
}
