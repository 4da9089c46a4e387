//! The vertex control stream of a render, written to the memory where the GPU reads it.
//!
//! It is a chain of segments of upload memory, each of which ends with a link to the next. Segments grow with the stream, so that short
//! renders take little memory and long ones have few links.

use tepui_agx_packets::vdm::StreamLink;
use tepui_vulkan::Result;
use tepui_vulkan_kit::populate;

use super::arena::Arena;
use crate::device::{Device, packet};

/// Bytes of the link after a segment.
const LINK_B: usize = StreamLink::SIZE_BYTES;
/// Bytes of the first segment.
const FIRST_B: usize = 512;
/// Maximum bytes of a segment.
const MOST_B: usize = 32 << 10;
/// Maximum bytes of the blocks that are written after one call of [`VertexStream::reserve`].
const RESERVED_B: usize = 128;

/// Bytes of a segment whose pages are populated before it is written.
const POPULATED_B: usize = 8 << 10;
/// A vertex control stream that is being written.
pub struct VertexStream {
    /// GPU address of the first block; 0 before there is one.
    start: u64,
    /// Host address of the next block.
    next: *mut u8,
    /// Remaining bytes for blocks.
    left: usize,
    /// Bytes of the segment.
    segment: usize,
}

impl VertexStream {
    /// A stream without blocks.
    pub fn new() -> VertexStream {
        VertexStream { start: 0, next: std::ptr::null_mut(), left: 0, segment: 0 }
    }

    /// GPU address of the first block; 0 before there is one.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Bytes that are left for blocks in the segment.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Makes [`RESERVED_B`] bytes ready to be written: blocks are in one segment.
    ///
    /// # Errors
    /// When there is no memory.
    #[inline]
    pub(super) fn reserve(&mut self, arena: &mut Arena, device: &Device) -> Result<()> {
        match self.left < RESERVED_B {
            true => self.continue_in(arena, device),
            false => Ok(()),
        }
    }

    /// Goes on in a new segment.
    #[cold]
    fn continue_in(&mut self, arena: &mut Arena, device: &Device) -> Result<()> {
        let bytes = (2 * self.segment).clamp(FIRST_B, MOST_B);
        let to = arena.take(device, bytes as u64, 64)?;
        if self.start == 0 {
            self.start = to.address;
        } else {
            let link = StreamLink { with_return: false, target: to.address };
            self.left += LINK_B;
            self.extend_from_slice(&link.pack().map_err(packet)?);
        }
        if bytes >= POPULATED_B {
            populate(to.host, bytes);
        }
        (self.next, self.left, self.segment) = (to.host, bytes - LINK_B, bytes);
        Ok(())
    }

    /// Appends bytes of a block.
    ///
    /// # Panics
    /// When they were not reserved.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.left, "blocks are longer than what was reserved");
        // SAFETY: `left` bytes from `next` on are in the segment, which belongs to the encoder and is mapped while it lives.
        unsafe {
            self.next.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.next = self.next.add(bytes.len());
        }
        self.left -= bytes.len();
    }
}
