//! One block of GPU memory, laid out piece by piece.

use std::sync::Arc;

use tepui_softgpu::{AddressSpace, Memory, Protection};

/// GPU address of the block.
const BASE: u64 = 0x10_0000;
/// Threads that have scratch memory of their own: the model numbers them by what its workers run at once.
pub const SLOTS: u64 = 512;
/// Bytes between pieces that nothing accesses.
const GAP: u64 = 4096;

/// Pieces of memory that are not bound yet.
pub struct Layout {
    pieces: Vec<(u64, Vec<u8>)>,
    end: u64,
}

impl Layout {
    /// Nothing.
    pub fn new() -> Layout {
        Layout { pieces: Vec::new(), end: 0 }
    }

    /// Reserves memory; returns its offset.
    pub fn reserve(&mut self, bytes: u64, align: u64) -> u64 {
        let at = self.end.next_multiple_of(align);
        self.end = at + bytes + GAP;
        at
    }

    /// Places bytes; returns their offset.
    pub fn place(&mut self, bytes: &[u8], align: u64) -> u64 {
        let at = self.reserve(bytes.len() as u64, align);
        self.fill(at, bytes);
        at
    }

    /// Fills reserved memory.
    pub fn fill(&mut self, at: u64, bytes: &[u8]) {
        self.pieces.push((at, bytes.to_vec()));
    }

    /// The GPU address of an offset.
    pub fn address(&self, offset: u64) -> u64 {
        BASE + offset
    }

    /// An address space with the pieces.
    ///
    /// # Errors
    /// When the host has no memory, in its words.
    pub fn bind(&self) -> Result<AddressSpace, String> {
        let bytes = self.end.next_multiple_of(4096);
        let vm = AddressSpace::new(12, 48);
        let memory = Memory::new(bytes as usize).map_err(|e| e.to_string())?;
        vm.bind(BASE, Arc::new(memory), 0, bytes, Protection::READ | Protection::WRITE)
            .map_err(|e| e.to_string())?;
        for (at, piece) in &self.pieces {
            vm.write(BASE + at, piece).map_err(|e| e.to_string())?;
        }
        Ok(vm)
    }
}
