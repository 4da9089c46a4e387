//! The family as the runtime names it.

/// Intel's GPUs.
pub struct Intel;
