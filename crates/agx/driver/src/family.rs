//! The type that stands for the family, and what all of its GPUs have.

/// The family of Apple AGX GPUs.
pub struct Agx;

/// Lanes of a SIMD-group.
pub const LANES: u32 = tepui_agx_compiler::abi::capture::THREADS;
