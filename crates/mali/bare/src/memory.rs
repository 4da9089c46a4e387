//! One block of GPU memory, laid out piece by piece.

use std::sync::Arc;

use tepui_mali_model::address_space;
use tepui_softgpu::{AddressSpace, Memory, Protection};

/// GPU address of the block.
const BASE: u64 = 0x10_0000;
/// Alignment of pieces, and bytes between them that nothing accesses.
const PAGE: u64 = 4096;

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

    /// Reserves memory; returns its GPU address.
    pub fn reserve(&mut self, bytes: u64) -> u64 {
        let at = self.end;
        self.end = (at + bytes.max(1)).next_multiple_of(PAGE) + PAGE;
        BASE + at
    }

    /// Places bytes; returns their GPU address.
    pub fn place(&mut self, bytes: &[u8]) -> u64 {
        let at = self.reserve(bytes.len() as u64);
        self.fill(at, bytes);
        at
    }

    /// Fills reserved memory.
    pub fn fill(&mut self, at: u64, bytes: &[u8]) {
        self.pieces.push((at, bytes.to_vec()));
    }

    /// An address space with the pieces.
    ///
    /// # Errors
    /// When the host has no memory, in its words.
    pub fn bind(&self) -> Result<AddressSpace, String> {
        let bytes = self.end.next_multiple_of(PAGE);
        let vm = address_space();
        let memory = Memory::new(bytes as usize).map_err(|e| e.to_string())?;
        vm.bind(BASE, Arc::new(memory), 0, bytes, Protection::READ | Protection::WRITE)
            .map_err(|e| e.to_string())?;
        for (at, piece) in &self.pieces {
            vm.write(*at, piece).map_err(|e| e.to_string())?;
        }
        Ok(vm)
    }
}
