//! Memory of draws with geometry shaders.

use std::sync::Arc;

use crate::kernel::Bo;

/// Memory of draws with geometry shaders, which those of the next rendering use again.
#[derive(Default)]
pub(super) struct PieceMemory {
    /// The memory.
    pub(super) place: Option<Arc<Bo>>,
    /// Smaller memory that earlier draws use.
    pub(super) outgrown: Vec<Arc<Bo>>,
    /// Bytes that draws of the open render read.
    pub(super) used: u64,
    /// A piece is being put together: what it needs is taken from here.
    pub(super) open: bool,
    /// The primitives of the draw, if its indices have restarts.
    pub(super) listed: Option<Listed>,
}

/// The vertices of the primitives of indices with restarts.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    /// Address of the list.
    pub(super) list: u64,
    /// Maximum number of vertices.
    pub(super) most: u32,
    /// Address of their number.
    pub(super) number: u64,
}
