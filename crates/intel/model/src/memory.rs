//! Memory as units reach it: through the page table, with the last ranges remembered.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tepui_softgpu::{Access, AddressSpace, Fault, FaultKind, Protection, RangeCache};

/// Bits of a GPU address; the upper bits repeat the highest of them and are left away.
pub const ADDRESS_BITS: u32 = 48;

/// The 48 bits of an address.
pub const fn address(canonical: u64) -> u64 {
    canonical & ((1 << ADDRESS_BITS) - 1)
}

/// An address space as one thread of the host uses it.
pub struct Memory<'a> {
    vm: &'a AddressSpace,
    ranges: RangeCache,
}

impl<'a> Memory<'a> {
    /// Access to an address space.
    pub fn new(vm: &'a AddressSpace) -> Memory<'a> {
        let mut ranges = RangeCache::default();
        ranges.refresh(vm);
        Memory { vm, ranges }
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// A page is not bound.
    #[inline]
    pub fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        let at = address(at);
        match self.ranges.lookup(self.vm, at, into.len() as u64, Protection::READ) {
            Some(host) => {
                // SAFETY: the range was found to hold so many bytes; the client may write at the
                // same time, as it may on silicon, and then the bytes are either.
                unsafe {
                    std::ptr::copy_nonoverlapping(host.cast_const(), into.as_mut_ptr(), into.len());
                }
                Ok(())
            }
            None => self.vm.read(at, into),
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// A page is not bound; then nothing is written.
    #[inline]
    pub fn write(&mut self, at: u64, from: &[u8]) -> Result<(), Fault> {
        let at = address(at);
        match self.ranges.lookup(self.vm, at, from.len() as u64, Protection::WRITE) {
            Some(host) => {
                // SAFETY: as in `read`.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), host, from.len()) }
                Ok(())
            }
            None => self.vm.write(at, from),
        }
    }

    /// Where bytes are on the host, if they lie in one bound range with permissions. They stay there while the batch
    /// runs.
    #[inline]
    pub fn window(&mut self, at: u64, bytes: u64, need: Protection) -> Option<*mut u8> {
        self.ranges.lookup(self.vm, address(at), bytes, need)
    }

    /// Whether the page that holds an address was ever written; of one that is not bound, that is so.
    #[cold]
    pub fn was_written(&self, at: u64) -> bool {
        self.vm.was_written(address(at))
    }

    /// Reads a double word.
    ///
    /// # Errors
    /// As [`Memory::read`].
    #[inline]
    pub fn read_u32(&mut self, at: u64) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Changes a double word in one step; returns the old value.
    ///
    /// # Errors
    /// The page is not bound, or the address is not that of a double word.
    pub fn update_u32(&mut self, at: u64, change: impl Fn(u32) -> u32) -> Result<u32, Fault> {
        let host = self.aligned(at, 4)?;
        // SAFETY: the address is bound, aligned, and lives while the batch runs; all that change
        // it at the same time do so atomically or accept either value.
        let word = unsafe { AtomicU32::from_ptr(host.cast()) };
        let updated =
            word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(change(old)));
        Ok(updated.unwrap_or_else(|old| old))
    }

    /// As [`Memory::update_u32`], of 64 bits.
    ///
    /// # Errors
    /// As [`Memory::update_u32`].
    pub fn update_u64(&mut self, at: u64, change: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        let host = self.aligned(at, 8)?;
        // SAFETY: as in `update_u32`.
        let word = unsafe { AtomicU64::from_ptr(host.cast()) };
        let updated =
            word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(change(old)));
        Ok(updated.unwrap_or_else(|old| old))
    }

    fn aligned(&mut self, at: u64, bytes: u64) -> Result<*mut u8, Fault> {
        let at = address(at);
        if !at.is_multiple_of(bytes) {
            let kind = FaultKind::Misaligned;
            return Err(Fault { address: at, access: Access::Atomic, kind });
        }
        match self.ranges.lookup(self.vm, at, bytes, Protection::READ | Protection::WRITE) {
            Some(host) => Ok(host),
            None => self.vm.translate(at, Access::Atomic),
        }
    }
}
