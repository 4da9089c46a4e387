//! The one thing that a decoder needs of the GPU: to read its memory.

use tepui_softgpu::AddressSpace;

/// GPU memory as a decoder reads it.
pub trait GpuMemory {
    /// Copies the bytes from `address` on. Fails if any of them is not there.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable>;
}

/// Memory that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory to read at {address:#x}")]
pub struct Unreadable {
    /// The first byte that is not there.
    pub address: u64,
}

impl GpuMemory for AddressSpace {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        AddressSpace::read(self, address, into)
            .map_err(|fault| Unreadable { address: fault.address })
    }
}
