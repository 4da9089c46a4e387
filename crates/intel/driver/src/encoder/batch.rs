//! The batch of a command buffer: chunks of memory, each of which jumps to the next one, and the last one to the batch of the next
//! command buffer of a submission.

use tepui_intel_packets::mi::{MiBatchBufferEnd, MiBatchBufferStart};
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::{Mapped, Upload as Place};
use tepui_vulkan_kit::{Arena, populate};

use crate::device::{Chunk, Device, Upload};
use crate::packets::packet;

/// Bytes that each chunk keeps for its last command.
const END_B: u64 = 16;

/// Bytes of a batch whose pages come as they are written; a longer one probably fills its chunks, whose pages are populated.
const SHORT_B: u64 = 16 << 10;

/// A batch.
#[derive(Default)]
pub struct Batch {
    chunks: Arena<Chunk>,
    /// Bytes of the first chunk that are not used yet.
    withheld: u64,
}

impl Batch {
    /// Takes room for a command of `size` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    #[inline(always)]
    pub fn take(&mut self, device: &Device, size: u64) -> Result<Place> {
        if size + END_B > self.chunks.left() {
            self.begin_chunk(device, size)?;
        }
        // SAFETY: the bytes are left.
        Ok(unsafe { self.chunks.advance(size) })
    }

    /// Appends the bytes of a command.
    ///
    /// # Errors
    /// When there is no memory.
    #[inline]
    pub fn append(&mut self, device: &Device, bytes: &[u8]) -> Result<()> {
        let to = self.take(device, bytes.len() as u64)?;
        // SAFETY: the batch has this room, which nothing else uses.
        unsafe { to.write(bytes) };
        Ok(())
    }

    /// Appends the words of a command, one by one: a copy of words that were just written would wait for the writes.
    ///
    /// # Errors
    /// When there is no memory.
    #[inline(always)]
    pub fn append_words<const N: usize>(&mut self, device: &Device, words: [u32; N]) -> Result<()> {
        let to = self.take(device, 4 * N as u64)?.host.cast::<u32>();
        for (k, word) in words.into_iter().enumerate() {
            // SAFETY: the batch has this room, which nothing else uses.
            unsafe { to.add(k).write_unaligned(word) };
        }
        Ok(())
    }

    /// Makes room for a command of `size` bytes: in what was withheld of the first chunk, or in a new chunk.
    #[cold]
    fn begin_chunk(&mut self, device: &Device, size: u64) -> Result<()> {
        let withheld = std::mem::take(&mut self.withheld);
        if withheld > 0 {
            // SAFETY: the only chunk so far is the first one.
            unsafe { self.chunks.give_back(withheld) };
            if size + END_B <= self.chunks.left() {
                self.populate();
                return Ok(());
            }
        }
        let has_begun = self.chunks.first().is_some();
        let end = self.chunks.next();
        self.chunks.begin_new(size + END_B, |size| device.upload_chunk(Upload::Dynamic, size))?;
        if has_begun {
            let jump = jump(self.chunks.next().address)?;
            // SAFETY: the chunk keeps room for its last command.
            unsafe { end.write(&jump) };
            self.populate();
        } else {
            self.withheld = self.chunks.withhold(SHORT_B.max(size + END_B));
        }
        Ok(())
    }

    /// Populates the rest of the last chunk.
    fn populate(&self) {
        populate(self.chunks.next().host, self.chunks.left() as usize);
    }

    /// Address of the next command, to which other commands may jump.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn here(&mut self, device: &Device) -> Result<u64> {
        // If the chunk is full, its jump to the next one stands there.
        Ok(self.take(device, 0)?.address)
    }

    /// Ends the batch, or continues with another one's.
    ///
    /// # Errors
    /// When a packet cannot be packed.
    pub fn end(&self, next: Option<&Batch>) -> Result<()> {
        if self.chunks.first().is_none() {
            return Ok(());
        }
        let last = match next.and_then(Batch::first) {
            Some(next) => jump(next.address())?.to_vec(),
            None => MiBatchBufferEnd::default().pack().map_err(packet)?.to_vec(),
        };
        // SAFETY: the chunk keeps room for its last command.
        unsafe { self.chunks.next().write(&last) };
        Ok(())
    }

    /// Memory of the first command.
    pub fn first(&self) -> Option<&Chunk> {
        self.chunks.first()
    }

    /// Gives the memory back.
    pub fn clear(&mut self, device: &Device) {
        self.withheld = 0;
        self.chunks.recycle(0).for_each(|c| device.recycle(Upload::Dynamic, c));
    }
}

/// The command that continues at an address.
pub fn jump_to(address: u64) -> MiBatchBufferStart {
    MiBatchBufferStart {
        address_space_indicator: true,
        batch_buffer_start_address: address,
        ..MiBatchBufferStart::default()
    }
}

fn jump(address: u64) -> Result<[u8; MiBatchBufferStart::SIZE_BYTES]> {
    jump_to(address).pack().map_err(packet)
}
