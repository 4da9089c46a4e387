//! What the command line (`tepui compile`, `tepui debug`), the page (`crates/web`) and their tests share: shader text to SPIR-V
//! ([`source`]), IR and machine code with source lines ([`listing`], [`compile`]), runs on the virtual GPU ([`run`]), recordings
//! for the debugger ([`record`]), and all of that as JSON for the page ([`api`]).
//!
//! Nothing here reads files or needs an operating system, so that it runs in a browser too.

pub mod api;
pub mod assembly;
pub mod compile;
pub mod findings;
pub mod listing;
#[cfg(feature = "naga")]
mod naga;
pub mod names;
pub mod record;
pub mod run;
pub mod source;
