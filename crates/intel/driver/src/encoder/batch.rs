//! The batch of a command buffer: chunks of memory, each of which jumps to the next one, and the last one to the batch of the next
//! command buffer of a submission.

use tepui_intel_packets::mi::{MiBatchBufferEnd, MiBatchBufferStart};
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::{Mapped, Upload as Place};

use crate::device::{Device, Upload, packet};
use crate::kernel::Bo;

/// Bytes that each chunk keeps for its last command.
const END_B: u64 = 16;

/// A batch.
#[derive(Default)]
pub struct Batch {
    chunks: Vec<Bo>,
    used: u64,
}

impl Batch {
    /// Takes room for a command of `size` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn take(&mut self, device: &Device, size: u64) -> Result<Place> {
        let fits = |c: &Bo| self.used + size + END_B <= c.size;
        if !self.chunks.last().is_some_and(fits) {
            let next = device.upload_chunk(Upload::Dynamic, size + END_B)?;
            if let Some(last) = self.chunks.last() {
                last.write(self.used, &jump(next.address)?);
            }
            self.chunks.push(next);
            self.used = 0;
        }
        let chunk = &self.chunks[self.chunks.len() - 1];
        // SAFETY: the range is inside of the chunk.
        let host = unsafe { chunk.host().add(self.used as usize) };
        let address = chunk.address + self.used;
        self.used += size;
        Ok(Place { address, host })
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
        let Some(last) = self.chunks.last() else { return Ok(()) };
        match next.and_then(Batch::first) {
            Some(next) => last.write(self.used, &jump(next.address)?),
            None => last.write(self.used, &MiBatchBufferEnd::default().pack().map_err(packet)?),
        }
        Ok(())
    }

    /// The first command's buffer.
    pub fn first(&self) -> Option<&Bo> {
        self.chunks.first()
    }

    /// Gives the memory back.
    pub fn clear(&mut self, device: &Device) {
        self.chunks.drain(..).for_each(|c| device.recycle(Upload::Dynamic, c));
        self.used = 0;
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
