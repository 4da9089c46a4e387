//! The type that stands for the family.

/// The family of Apple AGX GPUs.
pub struct Agx;
