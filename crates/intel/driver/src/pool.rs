//! Pools of small pieces of device memory that live for long: code, samplers, surface states.

use std::sync::{Arc, Mutex};

use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::Heap;
use tepui_vulkan_kit::arena::Mapped;

use crate::kernel::{Bo, Kernel, lock};
use crate::space::Window;

/// A pool: chunks of memory in a window, and the free ranges in them.
pub struct Pool {
    kernel: Arc<Kernel>,
    window: Window,
    chunk_b: u64,
    align: u64,
    state: Mutex<State>,
}

struct State {
    chunks: Vec<Bo>,
    free: Heap,
}

/// A piece of a pool, which goes back when it is dropped.
pub struct Piece {
    pool: Arc<Pool>,
    /// GPU address.
    pub address: u64,
    size: u64,
}

impl Pool {
    /// An empty pool in a window, of pieces with an alignment.
    pub fn new(kernel: &Arc<Kernel>, window: Window, chunk_b: u64, align: u64) -> Arc<Pool> {
        Arc::new(Pool {
            kernel: kernel.clone(),
            window,
            chunk_b,
            align,
            state: Mutex::new(State { chunks: Vec::new(), free: Heap::empty() }),
        })
    }

    /// A piece with these bytes, and room for `padding` bytes after them.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn place(self: &Arc<Self>, bytes: &[u8], padding: u64) -> Result<Piece> {
        let size = (bytes.len() as u64 + padding).next_multiple_of(self.align);
        let mut state = lock(&self.state);
        let address = match state.free.take(size, self.align) {
            Some(at) => at,
            None => {
                let chunk = Bo::new(&self.kernel, size.max(self.chunk_b), self.window)?;
                state.free.give(chunk.address, chunk.size);
                state.chunks.push(chunk);
                let full = || Error::device_memory("a pool's new chunk is too small");
                state.free.take(size, self.align).ok_or_else(full)?
            }
        };
        let holds = |c: &&Bo| (c.address..c.address + c.size).contains(&address);
        if let Some(chunk) = state.chunks.iter().find(holds) {
            chunk.write(address - chunk.address, bytes);
        }
        Ok(Piece { pool: self.clone(), address, size })
    }

    /// The first `N` bytes at an address, if it is in a chunk of the pool.
    pub fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let state = lock(&self.state);
        let inside = |c: &&Bo| address >= c.address && address + N as u64 <= c.address + c.size;
        let chunk = state.chunks.iter().find(inside)?;
        let mut bytes = [0; N];
        // SAFETY: the range is inside of the mapping; pieces are written once, before they are used.
        unsafe {
            let from = chunk.host().add((address - chunk.address) as usize);
            from.copy_to_nonoverlapping(bytes.as_mut_ptr(), N);
        }
        Some(bytes)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        lock(&self.pool.state).free.give(self.address, self.size);
    }
}
