//! Memory access of Intel's units: the 48 bits of an address are translated by the page table.

use tepui_softgpu::{AddressSpace, Contents, Fault, Protection, UnitMemory};

use crate::compressed::View;
use crate::order::MemoryUnit;

/// Bits of a GPU address; the upper bits repeat the highest of them and are ignored.
pub const ADDRESS_BITS: u32 = 48;

/// The 48 bits of an address.
pub const fn address(canonical: u64) -> u64 {
    canonical & ((1 << ADDRESS_BITS) - 1)
}

/// An address space as accessed by one host thread.
pub struct Memory<'a>(UnitMemory<'a>);

impl<'a> Memory<'a> {
    /// Access to an address space.
    pub fn new(vm: &'a AddressSpace, unit: MemoryUnit) -> Memory<'a> {
        let mut memory = UnitMemory::new(vm);
        memory.set_unit(unit as u8);
        Memory(memory)
    }

    /// Sets the unit that later accesses are by, for the checker of order.
    #[inline]
    pub fn set_unit(&mut self, unit: MemoryUnit) {
        self.0.set_unit(unit as u8);
        self.0.set_view(View::BYTES.0);
    }

    /// Sets the way in which later accesses see memory, for the checker, until the unit is set; returns the one before.
    #[inline]
    pub fn set_view(&mut self, view: View) -> View {
        View(self.0.set_view(view.0))
    }

    /// Accesses memory in a view.
    #[inline]
    pub fn in_view<T>(&mut self, view: View, access: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.set_view(view);
        let result = access(self);
        self.set_view(before);
        result
    }

    /// Tells the checker of contents that change or are used without an access.
    pub fn report_contents(&self, view: View, at: u64, bytes: u64, contents: Contents) {
        self.0.space().report_contents(view.0, address(at), bytes, contents);
    }

    /// Whether a checker gets the accesses.
    pub fn is_observed(&self) -> bool {
        self.0.space().is_observed()
    }

    /// Reads bytes by another unit than other accesses.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_by(&mut self, unit: MemoryUnit, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        let before = self.0.set_unit(unit as u8);
        let result = self.read(at, into);
        self.0.set_unit(before);
        result
    }

    /// Reads bytes past caches and observers.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_untracked(&mut self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.0.space().read(address(at), into)
    }

    /// Reads bytes for an observer, past caches; whether all of them are bound.
    pub fn peek(&self, at: u64, into: &mut [u8]) -> bool {
        self.0.space().read(address(at), into).is_ok()
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// A page is not bound.
    #[inline]
    pub fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.0.read(address(at), into)
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// A page is not bound; then nothing is written.
    #[inline]
    pub fn write(&mut self, at: u64, from: &[u8]) -> Result<(), Fault> {
        self.0.write(address(at), from)
    }

    /// The host address of a range of bytes; see [`UnitMemory::window`].
    #[inline]
    pub fn window(&mut self, at: u64, bytes: u64, need: Protection) -> Option<*mut u8> {
        self.0.window(address(at), bytes, need)
    }

    /// Number of reads so far in tiles without memory; see [`UnitMemory::null_reads`].
    pub fn null_reads(&self) -> u64 {
        self.0.null_reads()
    }

    /// Whether the page that contains an address was ever written; true if it is not bound.
    #[cold]
    pub fn was_written(&self, at: u64) -> bool {
        self.0.space().was_written(address(at))
    }

    /// Reads a double word.
    ///
    /// # Errors
    /// As [`Memory::read`].
    #[inline]
    pub fn read_u32(&mut self, at: u64) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.0.read_array(address(at))?))
    }

    /// Atomically updates a double word; returns the old value.
    ///
    /// # Errors
    /// The page is not bound, or the address is not aligned to a double word.
    pub fn update_u32(&mut self, at: u64, change: impl Fn(u32) -> u32) -> Result<u32, Fault> {
        self.0.update_u32(address(at), change)
    }

    /// As [`Memory::update_u32`], for 64 bits.
    ///
    /// # Errors
    /// As [`Memory::update_u32`].
    pub fn update_u64(&mut self, at: u64, change: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        self.0.update_u64(address(at), change)
    }
}
