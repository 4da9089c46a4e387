//! Memory of expanded draws.

use tepui_vulkan::backend::Encoder as _;
use tepui_vulkan::{Error, Result, vk};

use super::Encoder;

/// Minimum bytes of the memory of pieces.
pub(super) const MIN_PIECES_B: u64 = 1 << 20;

/// Bytes of the heap for draws whose sizes only the GPU knows.
pub(super) const HEAP_B: u32 = 1 << 28;

/// Maximum bytes of the heap, for draws of which one primitive might need more.
pub(super) const HEAP_MOST_B: u32 = u32::MAX - 0xffff;

/// Reserved bytes at the start of the heap.
pub(super) const HEAP_HEAD_B: u32 = 256;

impl Encoder {
    /// Frees the memory of expanded draws: later work is ordered after them.
    pub(super) fn free_expanded(&mut self) {
        (self.pieces.used, self.heap_open, self.heap_reserved) = (0, false, 0);
    }

    /// The heap of draws whose sizes only the GPU knows, shared by all draws of a rendering. Only a
    /// draw that has it to itself may need
    /// more bytes than there are.
    pub(super) fn expansion_heap(&mut self, wanted: u64) -> Result<(u64, u32)> {
        let heap = match self.heap.take().filter(|heap| heap.size >= wanted) {
            Some(heap) => heap,
            None => {
                let bytes = u32::try_from(wanted.next_multiple_of(HEAP_B.into()));
                let bytes = bytes.unwrap_or(HEAP_MOST_B).max(HEAP_B);
                self.device.expansion.heap(&self.device.kernel, bytes.into())?
            }
        };
        let (address, bytes) = (heap.address, heap.size as u32);
        self.heap = Some(heap);
        if !self.heap_open {
            // The number of bytes in use.
            self.order();
            self.fill_buffer(address, 4, HEAP_HEAD_B)?;
            self.order();
            self.heap_open = true;
        }
        Ok((address, bytes))
    }

    /// Memory that the GPU writes.
    pub(super) fn room(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.arena.take(&self.device, bytes.max(16), 64)?.address)
    }

    /// Begins a piece of a draw, which takes at most `bytes` bytes. Draws of a rendering take at most `most` bytes together, unless
    /// one needs more; gives whether there is room before the next rendering.
    pub(super) fn begin_piece(&mut self, bytes: u64, most: u64) -> Result<bool> {
        let end = self.pieces.used.next_multiple_of(64).saturating_add(bytes);
        if self.pieces.used > 0 && end > most {
            return Ok(false);
        }
        if self.pieces.place.as_ref().is_none_or(|place| place.size < end) {
            let grown = end.max(MIN_PIECES_B).checked_next_power_of_two().unwrap_or(end);
            let place = self.device.expansion.pieces(&self.device.kernel, grown)?;
            self.pieces.outgrown.extend(self.pieces.place.replace(place));
        }
        self.pieces.open = true;
        Ok(true)
    }

    /// Memory that the GPU writes for a draw, or for the piece of one that was begun.
    pub(super) fn piece_room(&mut self, bytes: u64) -> Result<u64> {
        if !self.pieces.open {
            return self.room(bytes);
        }
        let at = self.pieces.used.next_multiple_of(64);
        let end = at + bytes;
        let Some(place) = self.pieces.place.as_ref().filter(|place| end <= place.size) else {
            return Err(Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "a piece of a draw"));
        };
        self.pieces.used = end;
        Ok(place.address + at)
    }
}
