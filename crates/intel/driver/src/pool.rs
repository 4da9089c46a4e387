//! Pools of small pieces of device memory in a window of addresses: code, samplers, surface states.

use std::sync::Arc;

use tepui_vulkan::Result;
use tepui_vulkan_kit::PoolPiece;

use crate::kernel::{Bo, Kernel};
use crate::space::Window;

/// A pool in a window.
pub struct Pool {
    kernel: Arc<Kernel>,
    window: Window,
    pieces: Arc<tepui_vulkan_kit::Pool<Bo>>,
}

/// A piece of a pool, which goes back when it is dropped.
pub type Piece = PoolPiece<Bo>;

impl Pool {
    /// An empty pool of pieces with an alignment, in chunks of `chunk_b` bytes.
    pub fn new(kernel: &Arc<Kernel>, window: Window, chunk_b: u64, align: u64) -> Pool {
        let pieces = tepui_vulkan_kit::Pool::new(chunk_b, align);
        Pool { kernel: kernel.clone(), window, pieces }
    }

    /// A piece with these bytes, and room for `padding` bytes after them.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn place(&self, bytes: &[u8], padding: u64) -> Result<Piece> {
        self.pieces.place(bytes, padding, |size| Bo::new(&self.kernel, size, self.window))
    }

    /// The first `N` bytes at an address, if it is in a chunk of the pool.
    pub fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        self.pieces.read(address)
    }
}
