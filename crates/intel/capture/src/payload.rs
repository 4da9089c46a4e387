//! A batch in a capture.

use tepui_intel_model::Batch;

/// A capture's record of a submission: [`tepui_capture::Start::payload`], 24 bytes, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Payload {
    /// GPU address of the batch.
    pub address: u64,
    /// Its length in bytes, up to the first jump.
    pub length: u64,
    /// The context's id in the file.
    pub context: u32,
    /// Index of the engine in the context.
    pub engine: u32,
}

impl Payload {
    /// Reads the payload from its bytes; `None` if there are too few.
    pub fn read(bytes: &[u8]) -> Option<Payload> {
        bytes.get(..size_of::<Payload>()).map(bytemuck::pod_read_unaligned)
    }

    /// The batch.
    pub fn batch(&self) -> Batch {
        Batch { address: self.address, length: self.length }
    }

    /// The number of the queue in captures: the context, and the engine in the upper eight bits.
    pub fn queue(&self) -> u32 {
        self.engine << 24 | self.context & 0xff_ffff
    }
}
