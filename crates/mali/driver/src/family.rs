//! The family as the runtime names it.

/// Arm's Mali GPUs with a command-stream front end.
pub struct Mali;
