//! Upload memory of a command buffer.

use tepui_vulkan::Result;

use crate::device::Device;
use crate::kernel::{Bo, USC_BASE};

/// Upload memory: chunks that are filled from their start on.
#[derive(Default)]
pub struct Arena {
    chunks: Vec<Bo>,
    used: u64,
}

/// A place in upload memory.
#[derive(Clone, Copy, Debug)]
pub struct Upload {
    /// GPU address.
    pub address: u64,
    /// Host address.
    pub host: *mut u8,
}

impl Upload {
    /// Address relative to the base of code.
    pub fn usc(&self) -> u64 {
        self.address - USC_BASE
    }
}

impl Arena {
    /// Takes memory of an alignment.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn take(&mut self, device: &Device, size: u64, align: u64) -> Result<Upload> {
        let mut at = self.used.next_multiple_of(align);
        if self.chunks.last().is_none_or(|c| at + size > c.size) {
            self.chunks.push(device.upload_chunk(size)?);
            at = 0;
        }
        self.used = at + size;
        let chunk = &self.chunks[self.chunks.len() - 1];
        // SAFETY: the range is inside of the chunk.
        Ok(Upload { address: chunk.address + at, host: unsafe { chunk.host().add(at as usize) } })
    }

    /// Gives all chunks after the first `keep` back; what is kept is filled anew.
    pub(super) fn recycle(&mut self, device: &Device, keep: usize) {
        let keep = keep.min(self.chunks.len());
        for chunk in self.chunks.drain(keep..) {
            device.recycle(chunk);
        }
        self.used = 0;
    }
}
