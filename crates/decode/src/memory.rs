//! The memory interface of the decoder.

use tepui_softgpu::AddressSpace;

/// GPU memory that a decoder can read.
pub trait GpuMemory {
    /// Copies the bytes from `address` on. Fails if any of them is not mapped.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable>;
}

/// Memory that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory to read at {address:#x}")]
pub struct Unreadable {
    /// The first byte that is not mapped.
    pub address: u64,
}

impl GpuMemory for AddressSpace {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        AddressSpace::read(self, address, into)
            .map_err(|fault| Unreadable { address: fault.address })
    }
}
