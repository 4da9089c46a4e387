//! Gathers and scatters: one element of memory for each lane, from addresses or from offsets.
//!
//! Threads that are neighbours mostly want the same element or neighbouring ones: both are seen
//! before any lane is read, 16 lanes at a time.

use tepui_softgpu::Access;

use super::Lanes;
use crate::usc::check::memory;
use crate::usc::row::{LANES, Row};

/// Lanes whose offsets are looked at together.
const HALF: usize = LANES / 2;

/// Addresses that lie within 4 GiB: a base and an offset for each lane, counted from the lowest.
pub struct Offsets32 {
    address: u64,
    size: u32,
    /// Offsets from the lowest address; 0 in inactive lanes.
    pub offsets: [u32; LANES],
}

impl Offsets32 {
    /// Offsets of `index << shift` bytes from `base`, at most 4 bits of shift; `None` if some
    /// active lane is too far for 32 bits, or its index is negative.
    #[inline(always)]
    pub fn new(base: u64, index: &Row, shift: u32, exec: u32) -> Option<Offsets32> {
        let all = index
            .0
            .iter()
            .enumerate()
            .fold(0, |all, (i, v)| all | if exec >> i & 1 != 0 { *v } else { 0 });
        if all >> 28 != 0 {
            return None;
        }
        let mut offsets = [0; LANES];
        for i in 0..LANES {
            offsets[i] = index.0[i] << shift;
        }
        let mut near = Offsets32::among(&offsets, 1, exec);
        near.address = near.address.checked_add(base)?;
        Some(near)
    }

    /// One address for all lanes.
    #[inline(always)]
    pub fn one(base: u64, offset: u64) -> Option<Offsets32> {
        Some(Offsets32 { address: base.checked_add(offset)?, size: 0, offsets: [0; LANES] })
    }

    /// Offsets that are given, cut to multiples of `unit`, a power of two. Some lane must be
    /// active.
    #[inline(always)]
    pub fn among(offsets: &[u32; LANES], unit: u32, exec: u32) -> Offsets32 {
        let (mut low, mut high) = (u32::MAX, 0);
        for (i, &offset) in offsets.iter().enumerate() {
            let on = exec >> i & 1 != 0;
            low = low.min(if on { offset } else { u32::MAX });
            high = high.max(if on { offset } else { 0 });
        }
        let cut = !(unit - 1);
        low &= cut;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = if exec >> i & 1 != 0 { (offsets[i] & cut) - low } else { 0 };
        }
        Offsets32 { address: u64::from(low), size: (high & cut) - low, offsets: out }
    }

    /// The lowest address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Distance from the lowest to the highest address.
    pub fn size(&self) -> u64 {
        u64::from(self.size)
    }

    /// The lowest of the given offsets.
    pub fn first(&self) -> u64 {
        self.address
    }

    /// The highest.
    pub fn last(&self) -> u64 {
        self.address + u64::from(self.size)
    }
}

/// Reads the element of each lane, zero-extended.
///
/// # Safety
/// `from` plus any of the offsets must be valid for reads of `unit` bytes: 1, 2 or 4.
#[inline(always)]
pub unsafe fn fetch(from: *const u8, offsets: &[u32; LANES], unit: u32) -> Row {
    let mut row = Row::ZERO;
    for (out, offsets) in row.0.chunks_exact_mut(HALF).zip(offsets.chunks_exact(HALF)) {
        let first = offsets[0];
        let (mut apart, mut ahead) = (0, 0);
        for i in 0..HALF {
            apart |= offsets[i] ^ first;
            ahead |= offsets[i].wrapping_sub(first) ^ (4 * i as u32);
        }
        // SAFETY: the caller's promise covers each lane's element; in the second case the lanes'
        // elements are the 64 bytes.
        unsafe {
            if apart == 0 {
                out.fill(get(from.add(first as usize), unit));
            } else if ahead == 0 && unit == 4 {
                std::ptr::copy_nonoverlapping(
                    from.add(first as usize),
                    out.as_mut_ptr().cast(),
                    4 * HALF,
                );
            } else {
                match unit {
                    4 => (0..HALF).for_each(|i| out[i] = get(from.add(offsets[i] as usize), 4)),
                    2 => (0..HALF).for_each(|i| out[i] = get(from.add(offsets[i] as usize), 2)),
                    _ => (0..HALF).for_each(|i| out[i] = get(from.add(offsets[i] as usize), 1)),
                }
            }
        }
    }
    row
}

/// Writes the element of each active lane, the last lane's last.
///
/// # Safety
/// `to` plus the offset of any active lane must be valid for writes of `unit` bytes: 1, 2 or 4.
#[inline(always)]
pub unsafe fn spread(to: *mut u8, offsets: &[u32; LANES], exec: u32, row: &Row, unit: u32) {
    for h in 0..2 {
        let exec = exec >> (HALF * h) & 0xffff;
        let (offsets, row) = (&offsets[HALF * h..][..HALF], &row.0[HALF * h..][..HALF]);
        let mut ahead = u32::from(unit != 4 || exec != 0xffff);
        for i in 0..HALF {
            ahead |= offsets[i].wrapping_sub(offsets[0]) ^ (4 * i as u32);
        }
        // SAFETY: the caller's promise covers each active lane's element; in the first case all
        // are, and their elements are the 64 bytes.
        unsafe {
            if ahead == 0 {
                let to = to.add(offsets[0] as usize);
                std::ptr::copy_nonoverlapping(row.as_ptr().cast(), to, 4 * HALF);
                continue;
            }
            for i in 0..HALF {
                if exec >> i & 1 != 0 {
                    put(to.add(offsets[i] as usize), unit, row[i]);
                }
            }
        }
    }
}

/// An element of 1, 2 or 4 bytes.
///
/// # Safety
/// `p` must be valid for `unit` bytes.
#[inline(always)]
pub unsafe fn get(p: *const u8, unit: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        match unit {
            4 => p.cast::<u32>().read_unaligned(),
            2 => u32::from(p.cast::<u16>().read_unaligned()),
            _ => u32::from(*p),
        }
    }
}

/// Lowest and highest address over the active lanes.
#[inline(always)]
fn span(addresses: &[u64; LANES], exec: u32) -> (u64, u64) {
    let (mut low, mut high) = (u64::MAX, 0);
    if exec == u32::MAX {
        for &a in addresses {
            low = low.min(a);
            high = high.max(a);
        }
    } else {
        for (i, &a) in addresses.iter().enumerate() {
            let on = exec >> i & 1 != 0;
            low = low.min(if on { a } else { u64::MAX });
            high = high.max(if on { a } else { 0 });
        }
    }
    (low, high)
}

/// Reads `count` elements at `step` bytes each from every active lane's address and hands each to
/// the sink as a row of raw bits.
#[inline(always)]
pub fn gather(
    l: &mut Lanes<'_, '_>,
    addresses: &[u64; LANES],
    element: u32,
    mask: u8,
    mut sink: impl FnMut(&mut Lanes<'_, '_>, usize, Row),
) {
    let exec = l.exec;
    if exec == 0 {
        return;
    }
    if l.checker.is_some() {
        memory::reads(l, addresses, element, mask);
    }
    let elements = 8 - u32::from(mask).leading_zeros().saturating_sub(24);
    let (low, high) = span(addresses, exec);
    // Addresses are 64 bits of a program's making: the span may be all of them.
    let whole = (high - low).saturating_add(u64::from(element * elements));
    // A span that lies in one buffer needs one translation for all lanes and elements.
    let host = if whole < 1 << 32 { l.port.ranges_lookup(low, whole) } else { None };
    let mut k = 0;
    for e in 0..elements {
        if mask >> e & 1 == 0 {
            continue;
        }
        let at = u64::from(e * element);
        let mut row = Row::ZERO;
        match host {
            Some(host) => {
                // Inactive lanes read the lowest address, which is mapped like the others.
                let mut offsets = [0u32; LANES];
                for i in 0..LANES {
                    let on = exec >> i & 1 != 0;
                    offsets[i] = if on { (addresses[i] - low) as u32 } else { 0 };
                }
                // SAFETY: every offset plus the element lies in the span that was looked up; the
                // client may write at the same time, and then the bytes are either.
                row = unsafe { fetch(host.add(at as usize), &offsets, element) };
            }
            None => {
                for i in 0..LANES {
                    if exec >> i & 1 == 0 {
                        continue;
                    }
                    let address = addresses[i].wrapping_add(at);
                    if let Some(p) = l.port.host(address, u64::from(element), Access::Read) {
                        // SAFETY: `host` vouches for the element's bytes.
                        row.0[i] = unsafe {
                            match element {
                                4 => p.cast::<u32>().read_unaligned(),
                                2 => u32::from(p.cast::<u16>().read_unaligned()),
                                _ => u32::from(*p),
                            }
                        };
                    }
                }
            }
        }
        sink(l, k, row);
        k += 1;
    }
}

/// Writes one element for each lane of `exec`.
#[inline(always)]
pub fn scatter(
    l: &mut Lanes<'_, '_>,
    exec: u32,
    addresses: &[u64; LANES],
    element: u32,
    at: u64,
    row: &Row,
) {
    if exec == 0 {
        return;
    }
    if l.checker.is_some() {
        memory::writes(l, exec, addresses, at, element, row);
    }
    let (low, high) = span(addresses, exec);
    let whole = (high - low).saturating_add(u64::from(element));
    let low = low.wrapping_add(at);
    if let Some(host) = (whole <= 1 << 32).then(|| l.port.ranges_lookup_write(low, whole)).flatten()
    {
        for i in 0..LANES {
            if exec >> i & 1 == 0 {
                continue;
            }
            let offset = addresses[i].wrapping_add(at).wrapping_sub(low) as usize;
            // SAFETY: the offset plus the element lies in the span that was looked up.
            unsafe { put(host.add(offset), element, row.0[i]) };
        }
        return;
    }
    for i in 0..LANES {
        if exec >> i & 1 == 0 {
            continue;
        }
        let address = addresses[i].wrapping_add(at);
        if let Some(p) = l.port.host(address, u64::from(element), Access::Write) {
            // SAFETY: `host` vouches for the element's bytes.
            unsafe { put(p, element, row.0[i]) };
        }
    }
}

/// # Safety
/// `p` must be valid for `element` bytes.
#[inline(always)]
unsafe fn put(p: *mut u8, element: u32, value: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        match element {
            4 => p.cast::<u32>().write_unaligned(value),
            2 => p.cast::<u16>().write_unaligned(value as u16),
            _ => p.write(value as u8),
        }
    }
}
