//! GPU address spaces: a two-level page table from GPU virtual pages to host memory.
//!
//! Each entry is one word: the host address of the page (host pages are at least 4 KiB aligned)
//! with permission bits in the low bits, so a translation is two dependent loads and no lock.
//! Binding takes a lock; translating does not. Memory that was unbound stays alive until the
//! address space is told that no job runs in it ([`AddressSpace::release_retired`]), since a job in
//! flight may still hold a translation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use bitflags::bitflags;

use crate::fault::{Access, Fault, FaultKind};
use crate::memory::Memory;

bitflags! {
    /// The GPU's permissions for a page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Protection: u64 {
        /// Loads and instruction fetches.
        const READ = 1;
        /// Stores; with `READ`, atomics.
        const WRITE = 2;
    }
}

const FLAGS: u64 = 0xfff;

/// A refused bind or unbind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// An address, offset or length is not a multiple of the page size.
    #[error(
        "address {address:#x}, offset {offset:#x} and length {length:#x} must be multiples of the page size {page_size:#x}"
    )]
    Misaligned {
        /// GPU virtual address.
        address: u64,
        /// Offset into the memory.
        offset: u64,
        /// Length in bytes.
        length: u64,
        /// Page size in bytes.
        page_size: u64,
    },
    /// The range is empty or leaves the address space.
    #[error("{address:#x} + {length:#x} is not inside the address space of {va_bits} bits")]
    OutOfRange {
        /// GPU virtual address.
        address: u64,
        /// Length in bytes.
        length: u64,
        /// Width of the address space.
        va_bits: u32,
    },
    /// The range leaves the memory that is to be bound.
    #[error("offset {offset:#x} + {length:#x} is not inside a buffer of {size:#x} bytes")]
    OutsideMemory {
        /// Offset into the memory.
        offset: u64,
        /// Length in bytes.
        length: u64,
        /// Size of the memory in bytes.
        size: u64,
    },
}

/// One bound range, as [`AddressSpace::mappings`] lists it.
#[derive(Clone)]
pub struct Mapping {
    /// First GPU virtual address.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
    /// The memory.
    pub memory: Arc<Memory>,
    /// Offset of the first byte in the memory.
    pub offset: u64,
    /// Permissions.
    pub protection: Protection,
    /// The one page at `offset` is bound at every page of the range.
    pub single_page: bool,
}

#[derive(Default)]
struct Bindings {
    /// Bound ranges by first address; they never overlap.
    ranges: BTreeMap<u64, Mapping>,
    /// Memory that was unbound while a job may have been running.
    retired: Vec<Arc<Memory>>,
}

/// A GPU virtual address space.
pub struct AddressSpace {
    page_shift: u32,
    va_bits: u32,
    leaf_bits: u32,
    root: Box<[OnceLock<Box<[AtomicU64]>>]>,
    bindings: Mutex<Bindings>,
    /// Null ranges in order: pages without memory there read zeros and drop writes.
    nulls: RwLock<Vec<std::ops::Range<u64>>>,
    /// Counts changes of the page table, so that translation caches know when they are stale.
    generation: AtomicU64,
    /// Gets each access of units ([`crate::UnitMemory`]).
    observer: OnceLock<Arc<dyn AccessObserver>>,
    id: u64,
}

/// Address spaces so far.
static SPACES: AtomicU64 = AtomicU64::new(0);

/// Contents of memory that is seen through an auxiliary surface, which has the bytes' state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The bytes are plain from now on, and the auxiliary surface says so.
    Plain,
    /// The bytes are plain from now on, and the auxiliary surface still describes them.
    Resolved,
    /// The auxiliary surface says that the bytes are a clear colour.
    Cleared(ClearColour),
    /// A unit has used a clear colour in place of the bytes.
    UsedClear(ClearColour),
}

/// The colour of clear blocks, as a checker compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearColour {
    /// A number of the family that stands for the colour.
    pub number: u64,
    /// The GPU address of the colour in memory; none if it is part of a state.
    pub at: Option<u64>,
}

/// Receiver of all accesses by GPU units to an address space, such as a checker.
pub trait AccessObserver: Send + Sync {
    /// A unit, by a number of its family, has accessed bytes.
    fn access(&self, unit: u8, access: Access, address: u64, bytes: u64);

    /// A unit has accessed bytes in a view: both are numbers of the family. Views are ways to see memory, such as through an auxiliary
    /// surface; 0 is as bytes.
    fn access_as(
        &self,
        _vm: &AddressSpace,
        seen: (u8, u64),
        access: Access,
        address: u64,
        bytes: u64,
    ) {
        self.access(seen.0, access, address, bytes);
    }

    /// A unit has changed or used the contents of bytes, by their address and number, without an access to them.
    fn contents(&self, _vm: &AddressSpace, _view: u64, _at: (u64, u64), _contents: Contents) {}

    /// Whether accesses are performed by [`AccessObserver::read`] and [`AccessObserver::write`], such as by a
    /// simulation of caches. All units then run on one thread.
    fn performs(&self) -> bool {
        false
    }

    /// Performs a read by a unit.
    ///
    /// # Errors
    /// A page is not bound.
    fn read(
        &self,
        vm: &AddressSpace,
        _unit: u8,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Fault> {
        vm.read(address, into)
    }

    /// Performs a write by a unit.
    ///
    /// # Errors
    /// A page is not bound; then nothing is written.
    fn write(&self, vm: &AddressSpace, _unit: u8, address: u64, from: &[u8]) -> Result<(), Fault> {
        vm.write(address, from)
    }
}

impl AddressSpace {
    /// An empty address space of `va_bits` bits with pages of `1 << page_shift` bytes.
    ///
    /// # Panics
    /// If the page is smaller than the host's 4 KiB or the table would need over 2^40 entries:
    /// both are constants of a GPU, not input.
    pub fn new(page_shift: u32, va_bits: u32) -> AddressSpace {
        assert!(page_shift >= 12 && va_bits > page_shift && va_bits - page_shift <= 40);
        let bits = va_bits - page_shift;
        let leaf_bits = bits.div_ceil(2);
        let root = (0..1u64 << (bits - leaf_bits)).map(|_| OnceLock::new()).collect();
        AddressSpace {
            page_shift,
            va_bits,
            leaf_bits,
            root,
            bindings: Mutex::default(),
            nulls: RwLock::default(),
            generation: AtomicU64::new(1),
            observer: OnceLock::new(),
            id: SPACES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Reports all accesses of units from now on. Translation caches then find nothing, so that no access goes past
    /// the observer; without one, accesses cost the same as if there were no observers. The first observer stays.
    pub fn observe(&self, observer: Arc<dyn AccessObserver>) {
        if self.observer.set(observer).is_ok() {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Tells the observer, if there is one, of an access that is not performed by a [`crate::UnitMemory`].
    #[inline]
    pub fn report_access(&self, unit: u8, access: Access, address: u64, bytes: u64) {
        if let Some(observer) = self.observer() {
            observer.access(unit, access, address, bytes);
        }
    }

    /// Whether there is an observer of accesses.
    #[inline]
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.observer().is_some()
    }

    /// Tells the observer, if there is one, of contents that change or are used without an access.
    #[inline]
    pub fn report_contents(&self, view: u64, address: u64, bytes: u64, contents: Contents) {
        if let Some(observer) = self.observer() {
            observer.contents(self, view, (address, bytes), contents);
        }
    }

    /// A number that no other address space of the process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The observer of accesses.
    pub(crate) fn observer(&self) -> Option<&dyn AccessObserver> {
        self.observer.get().map(|observer| &**observer)
    }

    /// Page size in bytes.
    pub fn page_size(&self) -> u64 {
        1 << self.page_shift
    }

    /// Changes whenever a page is bound or unbound.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Binds `length` bytes of `memory` from `offset` at `address`, replacing what was there.
    pub fn bind(
        &self,
        address: u64,
        memory: Arc<Memory>,
        offset: u64,
        length: u64,
        protection: Protection,
    ) -> Result<(), BindError> {
        self.bind_inner(address, memory, offset, length, protection, false)
    }

    /// Binds the one page of `memory` at `offset` at every page of the range.
    pub fn bind_single_page(
        &self,
        address: u64,
        memory: Arc<Memory>,
        offset: u64,
        length: u64,
        protection: Protection,
    ) -> Result<(), BindError> {
        self.bind_inner(address, memory, offset, length, protection, true)
    }

    fn bind_inner(
        &self,
        address: u64,
        memory: Arc<Memory>,
        offset: u64,
        length: u64,
        protection: Protection,
        single_page: bool,
    ) -> Result<(), BindError> {
        self.check_range(address, offset, length)?;
        let needed = if single_page { self.page_size() } else { length };
        let size = memory.size() as u64;
        if offset.checked_add(needed).is_none_or(|end| end > size) {
            return Err(BindError::OutsideMemory { offset, length: needed, size });
        }
        let mut bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove(&mut bindings, address, length);
        let base = memory.base() as u64 + offset;
        for page in 0..length >> self.page_shift {
            let host = if single_page { base } else { base + (page << self.page_shift) };
            self.entry_or_new((address >> self.page_shift) + page)
                .store(host | protection.bits(), Ordering::Release);
        }
        bindings
            .ranges
            .insert(address, Mapping { address, length, memory, offset, protection, single_page });
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Unbinds every page of the range; pages that are not bound are left as they are.
    pub fn unbind(&self, address: u64, length: u64) -> Result<(), BindError> {
        self.check_range(address, 0, length)?;
        let mut bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove(&mut bindings, address, length);
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Lets go of memory that was unbound. Call it only while no job runs in this address space.
    pub fn release_retired(&self) {
        let retired = {
            let mut bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut bindings.retired)
        };
        drop(retired);
    }

    /// All bound ranges, in order of address.
    pub fn mappings(&self) -> Vec<Mapping> {
        let bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        bindings.ranges.values().cloned().collect()
    }

    /// The bound ranges that begin in a range of addresses, in order.
    pub fn mappings_in(&self, range: std::ops::Range<u64>) -> Vec<Mapping> {
        let bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        bindings.ranges.range(range).map(|(_, mapping)| mapping.clone()).collect()
    }

    /// Sets the null ranges, which are in order and do not overlap: in these, reads of pages that are not bound
    /// give zeros, and writes are dropped.
    pub fn set_null_ranges(&self, ranges: Vec<std::ops::Range<u64>>) {
        *self.nulls.write().unwrap_or_else(PoisonError::into_inner) = ranges;
    }

    /// Whether an address is in a null range.
    #[cold]
    pub(crate) fn is_null(&self, address: u64) -> bool {
        let nulls = self.nulls.read().unwrap_or_else(PoisonError::into_inner);
        let after = nulls.partition_point(|range| range.start <= address);
        after.checked_sub(1).is_some_and(|last| address < nulls[last].end)
    }

    /// Whether a fault is an access to a page without memory in a null range, which has no effect.
    pub(crate) fn is_null_access(&self, fault: &Fault) -> bool {
        fault.kind == FaultKind::Unmapped && self.is_null(fault.address)
    }

    /// The bound range that holds `address`.
    pub fn mapping_at(&self, address: u64) -> Option<Mapping> {
        let bindings = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, mapping) = bindings.ranges.range(..=address).next_back()?;
        (address - mapping.address < mapping.length).then(|| mapping.clone())
    }

    /// Whether the host page of an address was ever written, by the GPU or by a client; true if nothing
    /// is bound there.
    pub fn was_written(&self, address: u64) -> bool {
        let Some(m) = self.mapping_at(address) else { return true };
        let within =
            if m.single_page { address & (self.page_size() - 1) } else { address - m.address };
        m.memory.is_touched((m.offset + within) as usize)
    }

    /// The host address of one byte, valid to the end of its GPU page and until the page's memory
    /// is released.
    #[inline]
    pub fn translate(&self, address: u64, access: Access) -> Result<*mut u8, Fault> {
        let need = match access {
            Access::Read | Access::Execute => Protection::READ.bits(),
            Access::Write => Protection::WRITE.bits(),
            Access::Atomic => Protection::READ.bits() | Protection::WRITE.bits(),
        };
        let entry = self.entry_value(address, access)?;
        if entry & need != need {
            let kind = if entry == 0 { FaultKind::Unmapped } else { FaultKind::Permission };
            return Err(Fault { address, access, kind });
        }
        let in_page = address & (self.page_size() - 1);
        Ok(((entry & !FLAGS) + in_page) as *mut u8)
    }

    /// Copies from GPU memory; `into` may span pages.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.each_piece(address, into.len(), Access::Read, |host, range| {
            let piece = &mut into[range];
            let Some(host) = host else { return piece.fill(0) };
            // SAFETY: `host` is valid for the piece, which ends with its page; the client may write
            // at the same time, as it may on silicon, and then the bytes are either.
            unsafe { std::ptr::copy_nonoverlapping(host, piece.as_mut_ptr(), piece.len()) }
        })
    }

    /// Copies to GPU memory; `from` may span pages. Nothing is written when a page refuses.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.each_piece(address, from.len(), Access::Write, |_, _| ())?;
        self.each_piece(address, from.len(), Access::Write, |host, range| {
            let piece = &from[range];
            let Some(host) = host else { return };
            // SAFETY: as in `read`.
            unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), host, piece.len()) }
        })
    }

    /// Reads `N` bytes, for integers: `u32::from_le_bytes(vm.read_array(address)?)`.
    pub fn read_array<const N: usize>(&self, address: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Calls `piece` with the host address of each page's part of a range; none in null ranges.
    fn each_piece(
        &self,
        address: u64,
        length: usize,
        access: Access,
        mut piece: impl FnMut(Option<*mut u8>, std::ops::Range<usize>),
    ) -> Result<(), Fault> {
        let page = self.page_size();
        let mut done = 0usize;
        while done < length {
            let here = address.wrapping_add(done as u64);
            let to_page_end = (page - (here & (page - 1))) as usize;
            let step = to_page_end.min(length - done);
            let host = match self.translate(here, access) {
                Ok(host) => Some(host),
                Err(fault) if self.is_null_access(&fault) => None,
                Err(fault) => return Err(fault),
            };
            piece(host, done..done + step);
            done += step;
        }
        Ok(())
    }

    fn check_range(&self, address: u64, offset: u64, length: u64) -> Result<(), BindError> {
        let page_size = self.page_size();
        if (address | offset | length) & (page_size - 1) != 0 {
            return Err(BindError::Misaligned { address, offset, length, page_size });
        }
        let end = address.checked_add(length);
        if length == 0 || end.is_none_or(|end| end > 1u64 << self.va_bits) {
            return Err(BindError::OutOfRange { address, length, va_bits: self.va_bits });
        }
        Ok(())
    }

    /// Takes the range out of the table and of the list, splitting ranges that straddle its ends.
    fn remove(&self, bindings: &mut Bindings, address: u64, length: u64) {
        let end = address + length;
        let hit: Vec<u64> = bindings
            .ranges
            .range(..end)
            .rev()
            .take_while(|(_, m)| m.address + m.length > address)
            .map(|(&start, _)| start)
            .collect();
        for start in hit {
            let Some(old) = bindings.ranges.remove(&start) else { continue };
            let old_end = old.address + old.length;
            let from = old.address.max(address);
            let to = old_end.min(end);
            for page in from >> self.page_shift..to >> self.page_shift {
                if let Some(entry) = self.entry(page) {
                    entry.store(0, Ordering::Release);
                }
            }
            if old.address < address {
                let piece = Mapping { length: address - old.address, ..old.clone() };
                bindings.ranges.insert(piece.address, piece);
            }
            if old_end > end {
                let skip = if old.single_page { 0 } else { end - old.address };
                let piece = Mapping {
                    address: end,
                    length: old_end - end,
                    offset: old.offset + skip,
                    ..old.clone()
                };
                bindings.ranges.insert(end, piece);
            }
            bindings.retired.push(old.memory);
        }
    }

    #[inline]
    fn entry_value(&self, address: u64, access: Access) -> Result<u64, Fault> {
        if address >> self.va_bits != 0 {
            return Err(Fault { address, access, kind: FaultKind::OutOfRange });
        }
        Ok(self.entry(address >> self.page_shift).map_or(0, |e| e.load(Ordering::Acquire)))
    }

    #[inline]
    fn entry(&self, page: u64) -> Option<&AtomicU64> {
        let leaf = self.root.get((page >> self.leaf_bits) as usize)?.get()?;
        leaf.get((page & ((1 << self.leaf_bits) - 1)) as usize)
    }

    fn entry_or_new(&self, page: u64) -> &AtomicU64 {
        let leaf = self.root[(page >> self.leaf_bits) as usize]
            .get_or_init(|| (0..1u64 << self.leaf_bits).map(|_| AtomicU64::new(0)).collect());
        &leaf[(page & ((1 << self.leaf_bits) - 1)) as usize]
    }
}

/// Cache of the bound ranges that a worker thread accessed last, so that most accesses need neither the
/// page table nor a lock: a buffer object's pages are contiguous in host memory, so one comparison
/// covers a whole buffer.
pub struct RangeCache {
    generation: u64,
    ranges: [Range; RangeCache::SIZE],
    /// Index of the entry that the next miss replaces.
    victim: usize,
}

#[derive(Clone, Copy)]
struct Range {
    start: u64,
    /// One past the last byte; equal to `start` for an empty entry.
    end: u64,
    host: *mut u8,
    protection: Protection,
}

impl Default for RangeCache {
    fn default() -> Self {
        let empty =
            Range { start: 0, end: 0, host: std::ptr::null_mut(), protection: Protection::empty() };
        RangeCache { generation: 0, ranges: [empty; RangeCache::SIZE], victim: 0 }
    }
}

impl RangeCache {
    const SIZE: usize = 8;

    /// Forgets everything if the address space has changed. Call it at the start of each job.
    pub fn refresh(&mut self, vm: &AddressSpace) {
        let now = vm.generation();
        if self.generation != now {
            *self = RangeCache { generation: now, ..RangeCache::default() };
        }
    }

    /// The host address of `size` bytes at `address` that lie in one bound range with the
    /// permissions of `need`; `None` otherwise (then translate page by page, or fault).
    #[inline(always)]
    pub fn lookup(
        &mut self,
        vm: &AddressSpace,
        address: u64,
        size: u64,
        need: Protection,
    ) -> Option<*mut u8> {
        for range in &self.ranges {
            let offset = address.wrapping_sub(range.start);
            let length = range.end - range.start;
            if offset < length && size <= length - offset && range.protection.contains(need) {
                // SAFETY: the offset is inside the range, which is mapped.
                return Some(unsafe { range.host.add(offset as usize) });
            }
        }
        self.miss(vm, address, size, need)
    }

    /// The bound range around an address, if it has the permissions of `need`: its first address, its
    /// size in bytes and its host address.
    pub fn around(
        &mut self,
        vm: &AddressSpace,
        address: u64,
        need: Protection,
    ) -> Option<(u64, u64, *mut u8)> {
        self.lookup(vm, address, 1, need)?;
        let holds =
            |r: &&Range| address >= r.start && address < r.end && r.protection.contains(need);
        self.ranges.iter().find(holds).map(|r| (r.start, r.end - r.start, r.host))
    }

    #[cold]
    fn miss(
        &mut self,
        vm: &AddressSpace,
        address: u64,
        size: u64,
        need: Protection,
    ) -> Option<*mut u8> {
        if vm.observer().is_some() {
            return None;
        }
        let m = vm.mapping_at(address)?;
        let (start, end) = if m.single_page {
            // Only one page of such a range is contiguous in host memory.
            let page = vm.page_size();
            let start = address & !(page - 1);
            (start, start + page)
        } else {
            (m.address, m.address + m.length)
        };
        // SAFETY: `bind` checked that the memory has the bytes from `offset` on.
        let host = unsafe { m.memory.base().add(m.offset as usize) };
        let slot = self.victim;
        self.victim = (slot + 1) % RangeCache::SIZE;
        self.ranges[slot] = Range { start, end, host, protection: m.protection };
        let offset = address - start;
        (size <= end - start - offset && m.protection.contains(need))
            // SAFETY: the offset is inside the range.
            .then(|| unsafe { host.add(offset as usize) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(pages: usize) -> Arc<Memory> {
        Arc::new(Memory::new(pages << 14).expect("memfd"))
    }

    #[test]
    fn reads_what_was_written_across_pages_and_mirrors() {
        let vm = AddressSpace::new(14, 39);
        let m = memory(4);
        vm.bind(0x10_0000, m.clone(), 0, 4 << 14, Protection::READ | Protection::WRITE).unwrap();
        vm.bind(0x4000_0000, m, 0x4000, 2 << 14, Protection::READ).unwrap();
        let data: Vec<u8> = (0..=255).cycle().take(0x5000).collect();
        vm.write(0x10_0000 + 0x3800, &data).unwrap();
        let mut back = vec![0; 0x5000];
        vm.read(0x10_0000 + 0x3800, &mut back).unwrap();
        assert_eq!(back, data);
        assert_eq!(vm.read_array::<4>(0x4000_0000).unwrap(), data[0x800..0x804]);
        assert_eq!(vm.write(0x4000_0000, &[1]).unwrap_err().kind, FaultKind::Permission);
    }

    #[test]
    fn null_ranges_read_zeros_and_drop_writes() {
        let vm = AddressSpace::new(14, 39);
        vm.bind(1 << 14, memory(1), 0, 1 << 14, Protection::READ | Protection::WRITE).unwrap();
        let ends = [(1 << 14) - 2, (2 << 14) - 2];
        assert_eq!(vm.write(ends[1], &[7; 4]).unwrap_err().kind, FaultKind::Unmapped);
        vm.set_null_ranges(vec![0..3 << 14, 8 << 14..9 << 14]);
        for end in ends {
            vm.write(end, &[7; 4]).unwrap();
        }
        // Bound pages keep what is written.
        assert_eq!(vm.read_array::<4>(ends[0]).unwrap(), [0, 0, 7, 7]);
        assert_eq!(vm.read_array::<4>(ends[1]).unwrap(), [7, 7, 0, 0]);
        let mut unit = crate::UnitMemory::new(&vm);
        assert_eq!(unit.update_u32(8 << 14, |old| old + 1).unwrap(), 0);
        assert_eq!((unit.read_array::<4>(8 << 14).unwrap(), unit.null_reads()), ([0; 4], 1));
        assert_eq!((unit.read_array::<4>(1 << 14).unwrap(), unit.null_reads()), ([7, 7, 0, 0], 1));
        assert_eq!(unit.update_u32(8 << 14, |old| old + 1).unwrap(), 0);
        assert_eq!(vm.read_array::<1>(3 << 14).unwrap_err().kind, FaultKind::Unmapped);
        assert_eq!(vm.read_array::<1>(9 << 14).unwrap_err().kind, FaultKind::Unmapped);
    }

    #[test]
    fn unbinding_the_middle_splits_the_range() {
        let vm = AddressSpace::new(14, 39);
        let m = memory(8);
        vm.bind(0, m, 0, 8 << 14, Protection::READ).unwrap();
        vm.unbind(2 << 14, 3 << 14).unwrap();
        let left: Vec<_> = vm.mappings().iter().map(|m| (m.address, m.length, m.offset)).collect();
        assert_eq!(left, [(0, 2 << 14, 0), (5 << 14, 3 << 14, 5 << 14)]);
        assert_eq!(vm.read_array::<1>(2 << 14).unwrap_err().kind, FaultKind::Unmapped);
        assert!(vm.read_array::<1>(5 << 14).is_ok());
        assert_eq!(vm.read_array::<1>(1 << 39).unwrap_err().kind, FaultKind::OutOfRange);
    }

    #[test]
    fn a_range_cache_notices_a_changed_table() {
        let vm = AddressSpace::new(14, 39);
        let mut cache = RangeCache::default();
        let read = Protection::READ;
        cache.refresh(&vm);
        assert!(cache.lookup(&vm, 0x4000, 4, read).is_none());
        vm.bind(0x4000, memory(2), 0, 2 << 14, read).unwrap();
        cache.refresh(&vm);
        assert!(cache.lookup(&vm, 0x4000, 4, read).is_some());
        assert!(cache.lookup(&vm, 0x7ffe, 4, read).is_some());
        assert!(cache.lookup(&vm, 0x4000, 4, Protection::WRITE).is_none());
        assert!(cache.lookup(&vm, 0xbffe, 4, read).is_none());
        let host = cache.lookup(&vm, 0x4000, 1, read).unwrap();
        assert_eq!(cache.around(&vm, 0x7abc, read), Some((0x4000, 2 << 14, host)));
        assert_eq!(cache.around(&vm, 0x7abc, Protection::WRITE), None);
        vm.unbind(0x4000, 2 << 14).unwrap();
        cache.refresh(&vm);
        assert!(cache.lookup(&vm, 0x4000, 4, read).is_none());
    }

    #[test]
    fn a_single_page_stands_at_every_page_of_its_range() {
        let vm = AddressSpace::new(14, 39);
        let rw = Protection::READ | Protection::WRITE;
        vm.bind_single_page(0x8000, memory(2), 0x4000, 4 << 14, rw).unwrap();
        vm.write(0x8004, &[7]).unwrap();
        assert_eq!(vm.read_array::<1>(0x8004 + (3 << 14)).unwrap(), [7]);
        let mut cache = RangeCache::default();
        cache.refresh(&vm);
        assert!(cache.lookup(&vm, 0x8004 + (2 << 14), 4, rw).is_some());
        assert!(cache.lookup(&vm, 0xbffe, 4, rw).is_none());
    }
}
