//! A GPU unit's access to memory through the page table, with a cache of the last ranges.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::fault::{Access, Fault, FaultKind};
use crate::vm::{AddressSpace, Protection, RangeCache};

/// An address space as one thread of the host uses it.
pub struct UnitMemory<'a> {
    vm: &'a AddressSpace,
    ranges: RangeCache,
    null_reads: u64,
    /// Number of the unit, for observers.
    unit: u8,
    /// The way in which the unit sees memory, for observers.
    view: u64,
}

impl<'a> UnitMemory<'a> {
    /// Access to an address space.
    pub fn new(vm: &'a AddressSpace) -> UnitMemory<'a> {
        let mut ranges = RangeCache::default();
        ranges.refresh(vm);
        UnitMemory { vm, ranges, null_reads: 0, unit: 0, view: 0 }
    }

    /// Sets the unit that accesses are reported as, a number of the family; returns the one before.
    #[inline]
    pub fn set_unit(&mut self, unit: u8) -> u8 {
        std::mem::replace(&mut self.unit, unit)
    }

    /// Sets the view that accesses are reported with (see [`crate::AccessObserver::access_as`]); returns the one before.
    #[inline]
    pub fn set_view(&mut self, view: u64) -> u64 {
        std::mem::replace(&mut self.view, view)
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// A page is not bound.
    #[inline]
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        match self.ranges.lookup(self.vm, address, into.len() as u64, Protection::READ) {
            Some(host) => {
                // SAFETY: the range was found to hold `into.len()` bytes; others may write at the same
                // time, as they may on silicon, and then the bytes are either.
                unsafe {
                    std::ptr::copy_nonoverlapping(host.cast_const(), into.as_mut_ptr(), into.len());
                }
                Ok(())
            }
            None => {
                self.null_reads += u64::from(self.vm.is_null(address));
                self.read_pages(address, into)
            }
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// A page is not bound; then nothing is written.
    #[inline]
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        match self.ranges.lookup(self.vm, address, from.len() as u64, Protection::WRITE) {
            Some(host) => {
                // SAFETY: as in `read`.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), host, from.len()) }
                Ok(())
            }
            None => self.write_pages(address, from),
        }
    }

    /// The unit and the view that accesses are reported with.
    fn seen(&self) -> (u8, u64) {
        (self.unit, self.view)
    }

    #[cold]
    fn read_pages(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let Some(observer) = self.vm.observer() else { return self.vm.read(address, into) };
        observer.read(self.vm, self.unit, address, into)?;
        observer.access_as(self.vm, self.seen(), Access::Read, address, into.len() as u64);
        Ok(())
    }

    #[cold]
    fn write_pages(&self, address: u64, from: &[u8]) -> Result<(), Fault> {
        let Some(observer) = self.vm.observer() else { return self.vm.write(address, from) };
        observer.write(self.vm, self.unit, address, from)?;
        observer.access_as(self.vm, self.seen(), Access::Write, address, from.len() as u64);
        Ok(())
    }

    /// Changes a word of up to 8 bytes of which an observer performs the accesses; none if there is no such observer.
    #[cold]
    fn update_observed<const N: usize>(
        &self,
        address: u64,
        change: impl Fn([u8; N]) -> [u8; N],
    ) -> Option<Result<[u8; N], Fault>> {
        let observer = self.vm.observer().filter(|observer| observer.performs())?;
        let mut old = [0; N];
        let update = |old: &mut [u8; N]| {
            observer.read(self.vm, self.unit, address, old)?;
            observer.write(self.vm, self.unit, address, &change(*old))
        };
        Some(update(&mut old).map(|()| old))
    }

    /// The host address of bytes that lie in one bound range with the permissions; none if they do not, or if
    /// accesses are observed. It is valid while the job runs.
    #[inline]
    pub fn window(&mut self, address: u64, bytes: u64, need: Protection) -> Option<*mut u8> {
        self.ranges.lookup(self.vm, address, bytes, need)
    }

    /// Number of reads so far that began in a null range.
    pub fn null_reads(&self) -> u64 {
        self.null_reads
    }

    /// The address space.
    pub fn space(&self) -> &'a AddressSpace {
        self.vm
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// As [`UnitMemory::read`].
    #[inline]
    pub fn read_array<const N: usize>(&mut self, address: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Changes a word of 32 bits in one step; returns the old value.
    ///
    /// # Errors
    /// The page is not bound, or the address is not that of a word.
    pub fn update_u32(&mut self, address: u64, change: impl Fn(u32) -> u32) -> Result<u32, Fault> {
        let Some(host) = self.aligned(address, 4)? else { return Ok(0) };
        let observed = |old| change(u32::from_le_bytes(old)).to_le_bytes();
        if let Some(old) = self.update_observed(address, observed) {
            return old.map(u32::from_le_bytes);
        }
        // SAFETY: the address is bound, aligned, and lives while the job runs; all that change it at
        // the same time do so atomically or accept either value.
        let word = unsafe { AtomicU32::from_ptr(host.cast()) };
        let updated =
            word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(change(old)));
        Ok(updated.unwrap_or_else(|old| old))
    }

    /// Version of [`UnitMemory::update_u32`] for 64 bits.
    ///
    /// # Errors
    /// As [`UnitMemory::update_u32`].
    pub fn update_u64(&mut self, address: u64, change: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        let Some(host) = self.aligned(address, 8)? else { return Ok(0) };
        let observed = |old| change(u64::from_le_bytes(old)).to_le_bytes();
        if let Some(old) = self.update_observed(address, observed) {
            return old.map(u64::from_le_bytes);
        }
        // SAFETY: as in `update_u32`.
        let word = unsafe { AtomicU64::from_ptr(host.cast()) };
        let updated =
            word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(change(old)));
        Ok(updated.unwrap_or_else(|old| old))
    }

    /// The host address of a word; none in a null range, where it is 0 and stays so.
    fn aligned(&mut self, address: u64, bytes: u64) -> Result<Option<*mut u8>, Fault> {
        if !address.is_multiple_of(bytes) {
            return Err(Fault { address, access: Access::Atomic, kind: FaultKind::Misaligned });
        }
        match self.ranges.lookup(self.vm, address, bytes, Protection::READ | Protection::WRITE) {
            Some(host) => Ok(Some(host)),
            None => match self.vm.translate(address, Access::Atomic) {
                Err(fault) if self.vm.is_null_access(&fault) => Ok(None),
                found => {
                    let host = found?;
                    if let Some(observer) = self.vm.observer() {
                        observer.access_as(self.vm, self.seen(), Access::Atomic, address, bytes);
                    }
                    Ok(Some(host))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::Memory;

    #[test]
    fn an_observer_gets_every_access() {
        #[derive(Default)]
        struct Seen(std::sync::Mutex<Vec<(u8, Access, u64, u64)>>);
        impl crate::AccessObserver for Seen {
            fn access(&self, unit: u8, access: Access, address: u64, bytes: u64) {
                self.0.lock().unwrap().push((unit, access, address, bytes));
            }
        }
        let vm = AddressSpace::new(12, 39);
        let memory = Arc::new(Memory::new(1 << 12).expect("memory"));
        vm.bind(0x1000, memory, 0, 1 << 12, Protection::READ | Protection::WRITE).unwrap();
        let mut unit = UnitMemory::new(&vm);
        // The translation is cached now.
        unit.write(0x1000, &[1; 8]).unwrap();
        let seen = Arc::new(Seen::default());
        vm.observe(seen.clone());
        let mut unit = UnitMemory::new(&vm);
        assert_eq!(unit.set_unit(3), 0);
        unit.write(0x1008, &[1; 4]).unwrap();
        assert_eq!(unit.read_array::<8>(0x1004), Ok([1; 8]));
        assert!(unit.write(0x3000, &[1]).is_err());
        assert_eq!(unit.set_unit(4), 3);
        unit.update_u32(0x1010, |v| v + 1).unwrap();
        assert!(unit.window(0x1000, 4, Protection::READ).is_none());
        let seen = seen.0.lock().unwrap();
        let (read, write) = (Access::Read, Access::Write);
        assert_eq!(seen[..2], [(3, write, 0x1008, 4), (3, read, 0x1004, 8)]);
        assert_eq!(seen[2..], [(4, Access::Atomic, 0x1010, 4)]);
    }

    #[test]
    fn an_observer_may_perform_the_accesses() {
        /// Memory that reads as the complement of what was written.
        struct Inverter;
        impl crate::AccessObserver for Inverter {
            fn access(&self, _: u8, _: Access, _: u64, _: u64) {}

            fn performs(&self) -> bool {
                true
            }

            fn read(
                &self,
                vm: &AddressSpace,
                _: u8,
                address: u64,
                into: &mut [u8],
            ) -> Result<(), Fault> {
                vm.read(address, into)?;
                into.iter_mut().for_each(|byte| *byte = !*byte);
                Ok(())
            }
        }
        let vm = AddressSpace::new(12, 39);
        let memory = Arc::new(Memory::new(1 << 12).expect("memory"));
        vm.bind(0x1000, memory, 0, 1 << 12, Protection::READ | Protection::WRITE).unwrap();
        vm.observe(Arc::new(Inverter));
        let mut unit = UnitMemory::new(&vm);
        unit.write(0x1000, &[1; 8]).unwrap();
        assert_eq!(unit.read_array::<8>(0x1000), Ok([!1; 8]));
        assert_eq!(unit.update_u32(0x1000, |v| v - 1), Ok(!0x0101_0101));
        assert_eq!(unit.update_u64(0x1000, |v| v), Ok(!0x0101_0101 << 32 | 0x0101_0102));
        assert!(unit.update_u32(0x3000, |v| v).is_err());
    }

    #[test]
    fn words_change_in_one_step_where_they_may() {
        let vm = AddressSpace::new(12, 39);
        let memory = Arc::new(Memory::new(2 << 12).expect("memory"));
        vm.bind(0x1000, memory.clone(), 0, 1 << 12, Protection::READ | Protection::WRITE).unwrap();
        vm.bind(0x2000, memory, 1 << 12, 1 << 12, Protection::READ).unwrap();
        let mut unit = UnitMemory::new(&vm);
        unit.write(0x1008, &7u64.to_le_bytes()).unwrap();
        assert_eq!(unit.update_u32(0x1008, |v| v + 1), Ok(7));
        assert_eq!(unit.update_u64(0x1008, |v| v << 32), Ok(8));
        assert_eq!(unit.read_array::<8>(0x1008), Ok((8u64 << 32).to_le_bytes()));
        let kind = |result: Result<u32, Fault>| result.unwrap_err().kind;
        assert_eq!(kind(unit.update_u32(0x1002, |v| v)), FaultKind::Misaligned);
        assert_eq!(kind(unit.update_u32(0x2000, |v| v)), FaultKind::Permission);
        assert_eq!(kind(unit.update_u32(0x5000, |v| v)), FaultKind::Unmapped);
        // Across two bindings, of which the second cannot be written.
        assert!(unit.write(0x1ffc, &[0; 8]).is_err());
        assert!(unit.read_array::<8>(0x1ffc).is_ok());
    }
}
