//! Tiler contexts and framebuffers as streams see them.

use tepui_mali_packets::tiler::TilerContext;

/// Bytes of a tiler context.
pub const CONTEXT_B: u64 = TilerContext::SIZE_BYTES as u64;
/// Offset of the addresses of the completed chunks in a tiler context.
pub const COMPLETED: i16 = 40;

/// Registers of RUN_IDVS and RUN_FRAGMENT. source: Mesa, panvk_vX_cmd_draw.c
pub mod registers {
    /// The tiler context of draws, and the framebuffer of fragment jobs.
    pub const TILER: u8 = 40;
    /// The map of tiles that are rendered; 0 for all.
    pub const TILE_MAP: u8 = 44;
    /// Bytes of a row of it.
    pub const TILE_MAP_STRIDE: u8 = 46;
}

/// Framebuffers of a rendering whose draws do not fit into the heap, whose descriptors are given with their flags.
pub struct Parts {
    /// Of the first draws.
    pub first: Vec<u64>,
    /// Of later draws.
    pub next: Vec<u64>,
    /// Of the last draws.
    pub last: Vec<u64>,
}
