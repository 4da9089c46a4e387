//! The way to GPU memory.

use tepui_softgpu::{Access, Fault};

/// GPU memory as the texture unit and the pixel back end see it.
///
/// # Safety
/// A pointer from [`Memory::window`] must be valid for `size` bytes of reads, and of writes if
/// `access` is [`Access::Write`], until the call of [`crate::Unit`] that the memory was handed to
/// returns. Others may write to the bytes meanwhile, as they may on silicon; then the bytes read are
/// either.
pub unsafe trait Memory {
    /// The host address of `size` bytes at GPU address `address` if they lie side by side in host
    /// memory and permit the access. `None` says nothing: use [`Memory::read`] or [`Memory::write`].
    fn window(&mut self, address: u64, size: u64, access: Access) -> Option<*mut u8>;

    /// Copies from GPU memory.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault>;

    /// Copies to GPU memory.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault>;
}
