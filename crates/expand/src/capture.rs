//! Byte offsets of the words of a vertex shader that captures its outputs, or leaves them to the next stage.

/// Addresses of the four buffers, where their first vertex goes.
pub const ADDRESSES: u32 = 0;
/// Number of vertices of an instance.
pub const VERTICES: u32 = 32;
/// Number of vertices that have room in every buffer.
pub const LIMIT: u32 = 36;
