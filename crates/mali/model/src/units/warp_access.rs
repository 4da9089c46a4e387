//! Accesses of a whole warp: host addresses of its lanes' bytes, if they lie in one range.

use tepui_softgpu::{Protection, UnitMemory};

use super::Port;
#[cfg(target_arch = "x86_64")]
use crate::warp::local::LocalStorage;
use crate::warp::local::{LOCAL_WINDOW, WORD};
use crate::warp::row::{ALL, LANES, Row};

/// Limit on the distance between the first and the last byte of a warp.
const SPAN: u64 = 1 << 31;

/// Host addresses of a warp's bytes.
pub struct WarpAccess {
    /// The range on the host, which contains the bytes at all offsets.
    host: *mut u8,
    offsets: [u32; LANES],
    /// Stride of a lane's words in bytes.
    stride: usize,
    /// Whether the lanes' words are contiguous, in the order of the lanes.
    consecutive: bool,
}

/// Rows of thread-local storage: consecutive words of all lanes.
pub struct LocalRows {
    host: *mut Row,
}

impl LocalRows {
    /// Loads the words of all lanes.
    #[inline(always)]
    pub fn load<const BYTES: usize>(&self, words: &mut [Row; 4]) {
        for (i, row) in words[..BYTES / 4].iter_mut().enumerate() {
            // SAFETY: `Port::local_rows` has checked this number of bytes.
            *row = unsafe { self.host.add(i).read_unaligned() };
        }
    }

    /// Stores the words of the masked lanes. No other thread writes the other lanes' words.
    #[inline(always)]
    pub fn store<const BYTES: usize>(&self, mask: u16, words: &[Row; 4]) {
        for (i, row) in words[..BYTES / 4].iter().enumerate() {
            // SAFETY: as in `load`, of a range that may be written.
            unsafe {
                let to = self.host.add(i);
                match mask {
                    ALL => to.write_unaligned(*row),
                    _ => to.write_unaligned(to.read_unaligned().choose(mask, row)),
                }
            }
        }
    }
}

impl Port<'_> {
    /// All rows of thread-local storage, and the size of each lane's part in bytes: none if they are not in one
    /// writable range.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn all_local_rows(&mut self) -> (*mut Row, i64) {
        let LocalStorage { base, bytes } = self.local;
        let need = Protection::READ | Protection::WRITE;
        if bytes == 0 || bytes > SPAN {
            return (std::ptr::null_mut(), 0);
        }
        match self.memory.window(base, bytes * LANES as u64, need) {
            Some(host) => (host.cast(), bytes as i64),
            None => (std::ptr::null_mut(), 0),
        }
    }

    /// The rows of thread-local storage of an access at a uniform offset, of a number of bytes that is a multiple of
    /// words.
    #[inline(always)]
    pub fn local_rows(
        &mut self,
        [low, high]: [&Row; 2],
        offset: i64,
        mask: u16,
        bytes: u64,
        need: Protection,
    ) -> Option<LocalRows> {
        let lane = mask.trailing_zeros() as usize % LANES;
        let (first, upper) = (low.0[lane], high.0[lane]);
        if upper >> 31 == 0 || !bytes.is_multiple_of(WORD) {
            return None;
        }
        let mut other = 0;
        for lane in 0..LANES {
            let active = (u32::from(mask) >> lane & 1).wrapping_neg();
            other |= ((low.0[lane] ^ first) | (high.0[lane] ^ upper)) & active;
        }
        let address = (u64::from(upper) << 32 | u64::from(first)).wrapping_add_signed(offset);
        let offset = address & 0xffff_ffff;
        let local = other == 0
            && address >> 32 == LOCAL_WINDOW >> 32
            && offset.is_multiple_of(WORD)
            && offset + bytes <= self.local.bytes;
        if !local {
            return None;
        }
        let (address, bytes) = (self.local.at(offset, 0), bytes * LANES as u64);
        let host = self.memory.window(address, bytes, need)?.cast();
        Some(LocalRows { host })
    }

    /// Locates `bytes` of each lane of a mask at the lanes' addresses. `None` if they are not all in one range with
    /// permissions: then each lane is accessed separately.
    #[inline(always)]
    pub fn warp_access(
        &mut self,
        addresses: &[u64; LANES],
        mask: u16,
        bytes: u64,
        need: Protection,
    ) -> Option<WarpAccess> {
        let (inside, [low, high]) = active(addresses, mask);
        if low >> 32 == LOCAL_WINDOW >> 32 && high >> 32 == LOCAL_WINDOW >> 32 {
            return self.local_access(&inside, high, bytes, need);
        }
        WarpAccess::within(&mut self.memory, &inside, [low, high], bytes, need)
    }

    /// Version of [`Port::warp_access`] for thread-local storage, whose words are rows of lanes.
    #[inline(always)]
    fn local_access(
        &mut self,
        addresses: &[u64; LANES],
        high: u64,
        bytes: u64,
        need: Protection,
    ) -> Option<WarpAccess> {
        let size = self.local.bytes;
        if (high & 0xffff_ffff) + bytes > size || size >= SPAN / LANES as u64 {
            return None;
        }
        let host = self.memory.window(self.local.base, size * LANES as u64, need)?;
        let (mut offsets, mut low) = ([0; LANES], 0);
        for (lane, address) in addresses.iter().enumerate() {
            let offset = *address as u32;
            low |= offset % WORD as u32;
            offsets[lane] = (offset / WORD as u32 * LANES as u32 + lane as u32) * WORD as u32;
        }
        // Either the access consists of aligned words, or it lies within one.
        let whole = low == 0 && (bytes < WORD || bytes.is_multiple_of(WORD));
        let stride = WORD as usize * LANES;
        whole.then_some(WarpAccess { host, offsets, stride, consecutive: false })
    }
}

/// The addresses or offsets of the masked lanes, with that of the first of these for the others; also the lowest and
/// the highest.
#[inline(always)]
fn active<T: Copy + Ord>(addresses: &[T; LANES], mask: u16) -> ([T; LANES], [T; 2]) {
    let first = addresses[mask.trailing_zeros() as usize % LANES];
    let mut inside = *addresses;
    for (lane, address) in inside.iter_mut().enumerate() {
        if mask >> lane & 1 == 0 {
            *address = first;
        }
    }
    let (mut low, mut high) = (first, first);
    for address in inside {
        low = low.min(address);
        high = high.max(address);
    }
    (inside, [low, high])
}

impl WarpAccess {
    /// Locates bytes at addresses between a first and a last one.
    #[inline(always)]
    fn within(
        memory: &mut UnitMemory<'_>,
        addresses: &[u64; LANES],
        [low, high]: [u64; 2],
        bytes: u64,
        need: Protection,
    ) -> Option<WarpAccess> {
        if high >> 56 != 0 || high - low >= SPAN {
            return None;
        }
        let host = memory.window(low, high - low + bytes, need)?;
        Some(WarpAccess::at(host, addresses.map(|address| (address - low) as u32)))
    }

    /// Locates bytes at offsets in a host range.
    #[inline(always)]
    fn at(host: *mut u8, offsets: [u32; LANES]) -> WarpAccess {
        let mut consecutive = true;
        for (lane, offset) in offsets.iter().enumerate() {
            consecutive &= *offset == WORD as u32 * lane as u32;
        }
        WarpAccess { host, offsets, stride: WORD as usize, consecutive }
    }

    /// Version of [`Port::warp_access`] for reading addresses outside of thread-local storage.
    #[inline(always)]
    pub fn readable(
        memory: &mut UnitMemory<'_>,
        addresses: &[u64; LANES],
        mask: u16,
        bytes: u64,
    ) -> Option<WarpAccess> {
        let (inside, ends) = active(addresses, mask);
        WarpAccess::within(memory, &inside, ends, bytes, Protection::READ)
    }

    /// Version of [`WarpAccess::readable`] at offsets from an address.
    #[inline(always)]
    pub fn at_offsets(
        memory: &mut UnitMemory<'_>,
        base: u64,
        offsets: &[u32; LANES],
        mask: u16,
        bytes: u64,
    ) -> Option<WarpAccess> {
        let (mut inside, [low, high]) = active(offsets, mask);
        let start = base.wrapping_add(low.into());
        if start >> 56 != 0 {
            return None;
        }
        let host = memory.window(start, u64::from(high - low) + bytes, Protection::READ)?;
        for offset in &mut inside {
            *offset -= low;
        }
        Some(WarpAccess::at(host, inside))
    }

    /// Loads `BYTES` of each lane, at most 4 per row. Lanes outside of the mask get the value of another lane.
    #[inline(always)]
    pub fn load<const BYTES: usize>(&self, words: &mut [Row; 4]) {
        let whole = BYTES / 4;
        if self.consecutive && BYTES == 4 {
            // SAFETY: as below, of all lanes.
            words[0] = unsafe { self.host.cast::<Row>().read_unaligned() };
            return;
        }
        for lane in 0..LANES {
            // SAFETY: `Port::warp_access` found the lane's bytes in a range of the host that stays there while the job runs;
            // others may write at the same time, as they may on silicon, and then a read returns the old or the new
            // bytes.
            unsafe {
                let from = self.host.add(self.offsets[lane] as usize).cast_const();
                for (i, row) in words[..whole].iter_mut().enumerate() {
                    row.0[lane] = from.add(self.stride * i).cast::<u32>().read_unaligned();
                }
                let from = from.add(self.stride * whole);
                match BYTES % 4 {
                    1 => words[whole].0[lane] = from.read().into(),
                    2 => words[whole].0[lane] = from.cast::<u16>().read_unaligned().into(),
                    3 => {
                        let half = u32::from(from.cast::<u16>().read_unaligned());
                        words[whole].0[lane] = half | u32::from(from.add(2).read()) << 16;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Version of [`WarpAccess::load`] for a texel's size; false if texels cannot have it.
    #[inline(always)]
    pub fn load_texels(&self, bytes: u64, words: &mut [Row; 4]) -> bool {
        match bytes {
            1 => self.load::<1>(words),
            2 => self.load::<2>(words),
            3 => self.load::<3>(words),
            4 => self.load::<4>(words),
            6 => self.load::<6>(words),
            8 => self.load::<8>(words),
            12 => self.load::<12>(words),
            16 => self.load::<16>(words),
            _ => return false,
        }
        true
    }

    /// Stores `BYTES` of the masked lanes, in the order of lanes.
    #[inline(always)]
    pub fn store<const BYTES: usize>(&self, mask: u16, words: &[Row; 4]) {
        let whole = BYTES / 4;
        if self.consecutive && BYTES == 4 && mask == ALL {
            // SAFETY: as in `load`, of a range that may be written.
            unsafe { self.host.cast::<Row>().write_unaligned(words[0]) };
            return;
        }
        for lane in crate::warp::row::numbers(mask) {
            // SAFETY: as in `load`, of a range that may be written.
            unsafe {
                let to = self.host.add(self.offsets[lane] as usize);
                for (i, row) in words[..whole].iter().enumerate() {
                    to.add(self.stride * i).cast::<u32>().write_unaligned(row.0[lane]);
                }
                if !BYTES.is_multiple_of(4) {
                    let bytes = words[whole].0[lane].to_le_bytes();
                    let to = to.add(self.stride * whole);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, BYTES % 4);
                }
            }
        }
    }
}
