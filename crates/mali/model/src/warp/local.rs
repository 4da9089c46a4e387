//! Addresses of thread-local storage, and of nothing.

use super::row::LANES;

/// Upper bits of an address of thread-local storage.
///
/// A shader computes addresses of its own storage from one pointer, which is the same for all threads, so
/// that the unit must add the thread's offset. In packed mode the driver does not determine the location of a
/// thread's bytes, and only the hardware reads them; the pointer's value is this model's own.
pub const LOCAL_WINDOW: u64 = 1 << 63;

/// The address that LEA_BUFFER returns for an offset past a buffer's end.
///
/// Mesa's compiler adds no bounds check of its own before it accesses the address, and Vulkan requires such
/// accesses to do nothing. The address that silicon returns is not known; around this one loads return zero,
/// stores and atomics do nothing.
pub const NOWHERE: u64 = 0x4000_8000_0000_0000;

/// Bytes of a word of thread-local storage.
pub const WORD: u64 = 4;

/// Thread-local storage of a warp. A word of all lanes is a row: the values of the lanes at one offset are
/// contiguous.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalStorage {
    /// The first byte.
    pub base: u64,
    /// Bytes of a thread.
    pub bytes: u64,
}

impl LocalStorage {
    /// The address of a byte of a lane.
    #[inline(always)]
    pub fn at(&self, offset: u64, lane: usize) -> u64 {
        let word = offset / WORD * LANES as u64 + lane as u64;
        self.base.wrapping_add(word * WORD + offset % WORD)
    }
}
