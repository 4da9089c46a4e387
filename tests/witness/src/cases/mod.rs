//! The cases, a theme a file.

mod algorithms;
mod atomics;
mod commands;
mod control;
mod integer;
mod map;

use crate::case::Case;

/// Every case, in the order in which a model learns them: commands and memory first.
pub fn all() -> Vec<Case> {
    [commands::cases(), algorithms::cases(), control::cases(), integer::cases(), atomics::cases()]
        .into_iter()
        .flatten()
        .collect()
}
