//! Memory access of a worker: address translation with a cache of ranges, and soft faults.

use tepui_softgpu::{Access, AddressSpace, Protection, RangeCache};

use super::row::LANES;

/// The bound range that a memory instruction accessed last, for translated code.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// GPU address of its first byte.
    pub start: u64,
    /// Host address of that byte.
    pub host: *mut u8,
    /// Bytes, at most [`Window::MAX_BYTES`]; 0 for none.
    pub length: u64,
}

/// Windows of loads, and as many of stores: each instruction of a program has its own, as far as
/// they reach.
pub const WINDOWS: usize = 8;

/// Access of a worker to memory and to the texture unit.
pub struct Port<'v> {
    /// The address space of the job.
    pub vm: &'v AddressSpace,
    /// Ranges that were touched last.
    pub ranges: RangeCache,
    /// Windows of loads and of stores.
    pub windows: [[Window; WINDOWS]; 2],
    /// The number of the core that this worker acts as, for the helper program.
    pub core: u32,
    /// Soft faults so far: shader accesses of memory that is not bound.
    pub soft_faults: u64,
    /// The first of them.
    pub first_soft_fault: Option<tepui_softgpu::Fault>,
    /// Host pages that were found written, by GPU address over 4096; used by checked jobs.
    pub written_pages: std::collections::HashSet<u64>,
    /// The texture unit's scratch.
    pub sampler: tepui_agx_texture::Unit,
    /// Rows of the texture instruction before.
    pub texture: Option<Box<TextureRows>>,
    /// The initial word of registers, local memory and scratch memory.
    pub uninitialised: u32,
    /// Reports of the texture unit.
    pub reports: Vec<crate::job::Report>,
    /// Observer of instructions.
    pub watch: Option<crate::watch::Watch>,
}

/// The rows of a texture instruction, kept for the next one so that unused rows need not be cleared
/// each time. Their contents in inactive lanes mean nothing.
#[derive(Default)]
#[repr(align(64))]
pub struct TextureRows {
    /// Operands of the texture unit.
    pub operands: tepui_agx_texture::Operands,
    /// Bit mask of layer, sample and level: those that are not zero.
    pub given: u8,
    /// The result.
    pub result: [[u32; LANES]; 5],
}

impl Window {
    /// No memory.
    pub const NONE: Window = Window { start: 0, host: std::ptr::null_mut(), length: 0 };

    /// The longest window: gathers and scatters of the host take offsets of 32 bits with a sign.
    pub const MAX_BYTES: u64 = i32::MAX as u64;

    /// Windows do not reach beyond the addresses that differ in the low half alone.
    pub const SEGMENT: u64 = 1 << 32;
}

impl<'v> Port<'v> {
    /// The host address of `size` bytes at `address`, or `None` after counting a soft fault: then a
    /// load gives zero and a store is dropped. source: asahi_drm.h, DRM_ASAHI_FEATURE_SOFT_FAULTS.
    #[inline(always)]
    pub fn host(&mut self, address: u64, size: u64, access: Access) -> Option<*mut u8> {
        let need = match access {
            Access::Read | Access::Execute => Protection::READ,
            Access::Write => Protection::WRITE,
            Access::Atomic => Protection::READ | Protection::WRITE,
        };
        if let Some(host) = self.ranges.lookup(self.vm, address, size, need) {
            return Some(host);
        }
        self.slow(address, size, access)
    }

    /// The host address of a span of readable bytes that lies in one bound range.
    #[inline(always)]
    pub fn ranges_lookup(&mut self, address: u64, size: u64) -> Option<*mut u8> {
        self.ranges.lookup(self.vm, address, size, Protection::READ)
    }

    /// The host address of a span of writable bytes that lies in one bound range.
    #[inline(always)]
    pub fn ranges_lookup_write(&mut self, address: u64, size: u64) -> Option<*mut u8> {
        self.ranges.lookup(self.vm, address, size, Protection::WRITE)
    }

    /// Lets a window show what is around an address. It may be less than the bound range, but
    /// reaches far to both sides.
    pub fn show(&mut self, number: usize, address: u64, is_store: bool) {
        let window = &mut self.windows[usize::from(is_store)][number % WINDOWS];
        if address.wrapping_sub(window.start) < window.length {
            return;
        }
        let need = if is_store { Protection::WRITE } else { Protection::READ };
        let Some((start, length, host)) = self.ranges.around(self.vm, address, need) else {
            return;
        };
        let low = address & (Window::SEGMENT - 1);
        let skip = (address - start).saturating_sub(low.min(1 << 30));
        let to_end = (length - skip).min(Window::SEGMENT - low + (address - start - skip));
        let length = to_end.min(Window::MAX_BYTES);
        // SAFETY: no more is skipped than lies before the address, which is inside the range.
        let host = unsafe { host.add(skip as usize) };
        *window = Window { start: start + skip, host, length };
    }

    /// Was the page that holds a bound address ever written, by the GPU or by a client?
    #[cold]
    pub fn was_written(&mut self, address: u64) -> bool {
        let page = address >> 12;
        if self.written_pages.contains(&page) {
            return true;
        }
        let written = self.vm.was_written(address);
        if written {
            self.written_pages.insert(page);
        }
        written
    }

    #[cold]
    fn slow(&mut self, address: u64, size: u64, access: Access) -> Option<*mut u8> {
        // A single access is at most 16 bytes and aligned to its size, so it never crosses a page;
        // larger spans come from the fast paths, which fall back to single accesses.
        if size > 16 {
            return None;
        }
        match self.vm.translate(address, access) {
            Ok(host) if (address & (self.vm.page_size() - 1)) + size <= self.vm.page_size() => {
                Some(host)
            }
            Ok(_) => None,
            Err(fault) => {
                self.soft_faults += 1;
                self.first_soft_fault.get_or_insert(fault);
                None
            }
        }
    }
}
