//! The instruction set of Intel's execution units (EUs), from one table keyed by generation.

pub mod sfid;

pub use sfid::Sfid;
pub use tepui_intel_chips::Generation;
