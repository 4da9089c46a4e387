//! Numbers of the resource tables.

/// The driver's: a sampler, then buffers with dynamic offsets.
pub const DRIVER: u8 = 0;
/// Index of the first buffer with a dynamic offset in it.
pub const FIRST_DYNAMIC: u32 = 1;
/// Set 0; the others follow.
pub const FIRST_SET: u8 = 1;
/// Attributes of vertices, and vertex buffers: after those of all sets.
pub const ATTRIBUTES: u8 = 9;
