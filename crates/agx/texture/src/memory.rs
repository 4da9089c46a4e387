//! Access to GPU memory.

use tepui_softgpu::{Access, Fault};

/// GPU memory as the texture unit and the pixel back end see it.
///
/// # Safety
/// A pointer from [`Memory::window`] must be valid for `size` bytes of reads, and of writes if
/// `access` is [`Access::Write`], until the call of [`crate::Unit`] that the memory was handed to
/// returns. Other threads may write to the bytes meanwhile, as they may on silicon; then a read
/// sees the old or the new bytes.
pub unsafe trait Memory {
    /// The host address of `size` bytes at GPU address `address`, if they are contiguous in host
    /// memory and may be accessed. `None` does not mean a fault: use [`Memory::read`] or
    /// [`Memory::write`].
    fn window(&mut self, address: u64, size: u64, access: Access) -> Option<*mut u8>;

    /// Copies from GPU memory.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault>;

    /// Copies to GPU memory.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault>;
}
