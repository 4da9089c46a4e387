//! Shared core of the command line (`tepui compile`, `tepui debug`), the page (`crates/web`) and their
//! tests: shader text to SPIR-V ([`source`]), IR and machine code with source lines ([`listing`],
//! [`compile`]), comparison of two programs ([`compare`]), runs on the virtual GPU ([`run`]) with input
//! images ([`images`]), recordings for the debugger ([`record`]), all of these for Intel's GPUs ([`intel`])
//! and Mali's ([`mali`]),
//! and a JSON interface for the page ([`api`]).
//!
//! Nothing here reads files or needs an operating system, so that it runs in a browser too.

pub mod api;
pub mod assembly;
mod bind;
pub mod bound;
pub mod compare;
pub mod compile;
pub mod findings;
pub mod images;
mod inputs;
pub mod intel;
pub mod listing;
pub mod mali;
#[cfg(feature = "naga")]
mod naga;
pub mod names;
pub mod pattern;
pub mod picture;
pub mod record;
pub mod run;
pub mod source;
