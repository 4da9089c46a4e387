//! Memory of machine code: chunks of the USC window, of which each program has a range.

use std::sync::{Arc, Mutex, Weak};

use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::Heap;
use tepui_vulkan_kit::arena::Mapped;

use crate::kernel::{Bo, Kernel, USC_BASE, Window, lock};

/// Bytes of a chunk of code memory.
const CODE_CHUNK_B: u64 = 1 << 20;
/// Alignment of code and USC words. source: Mesa, agx_usc.h and the 64-byte units of pipeline addresses
const CODE_ALIGN: u64 = 64;

/// Chunks of the USC window, and the free ranges in them.
struct Chunks {
    chunks: Vec<Bo>,
    free: Heap,
}

/// Code memory of a device.
pub struct CodeMemory {
    kernel: Arc<Kernel>,
    chunks: Mutex<Chunks>,
}

impl CodeMemory {
    /// Code memory without chunks yet.
    pub fn new(kernel: Arc<Kernel>) -> CodeMemory {
        let chunks = Mutex::new(Chunks { chunks: Vec::new(), free: Heap::empty() });
        CodeMemory { kernel, chunks }
    }

    /// Puts code, or USC words and bindings, where programs can run.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn put(self: &Arc<Self>, bytes: &[u8]) -> Result<Code> {
        // The instruction fetch may run ahead. source: Mesa, agx_compile.c, on padding after the end
        let size = (bytes.len() as u64 + 64).next_multiple_of(CODE_ALIGN);
        let mut all = lock(&self.chunks);
        let address = match all.free.take(size, CODE_ALIGN) {
            Some(at) => at,
            None => {
                let chunk = Bo::new(&self.kernel, size.max(CODE_CHUNK_B), Window::Usc, false)?;
                all.free.give(chunk.address, chunk.size);
                all.chunks.push(chunk);
                all.free
                    .take(size, CODE_ALIGN)
                    .ok_or_else(|| Error::device_memory("code memory"))?
            }
        };
        let chunk = all.chunks.iter().find(|c| (c.address..c.address + c.size).contains(&address));
        let chunk = chunk.ok_or_else(|| Error::device_memory("code memory"))?;
        chunk.write(address - chunk.address, bytes);
        Ok(Code { memory: Arc::downgrade(self), address, size })
    }
}

/// Machine code in the USC window.
pub struct Code {
    memory: Weak<CodeMemory>,
    address: u64,
    size: u64,
}

impl Code {
    /// Address relative to the base of the window.
    pub fn usc(&self) -> u64 {
        self.address - USC_BASE
    }

    /// GPU address.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.upgrade() {
            lock(&memory.chunks).free.give(self.address, self.size);
        }
    }
}
