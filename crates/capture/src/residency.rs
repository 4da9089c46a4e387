//! Finds the pages of a memory block that were ever touched. Most of what a driver allocates never
//! is, and reading an untouched page of shared memory would allocate it.

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use tepui_softgpu::Memory;

use crate::PAGE_BYTES;

/// Pages, of [`PAGE_BYTES`], that may hold something other than zeros.
pub struct TouchedPages(Vec<bool>);

impl TouchedPages {
    /// Whether a page is among them.
    pub fn contains(&self, page: usize) -> bool {
        self.0.get(page).copied().unwrap_or(false)
    }

    /// Adds the pages of a range of bytes.
    fn add(&mut self, start: usize, end: usize) {
        let last = end.div_ceil(PAGE_BYTES).min(self.0.len());
        self.0[(start / PAGE_BYTES).min(last)..last].fill(true);
    }
}

/// The touched pages of a block. For a block without a file these are the pages in RAM: the kernel
/// does not say which it has swapped out.
pub fn touched(memory: &Memory) -> TouchedPages {
    let mut touched = TouchedPages(vec![false; memory.size().div_ceil(PAGE_BYTES)]);
    let found = match memory.file() {
        Some(file) => by_holes(&file, memory.size(), &mut touched),
        None => by_residency(memory, &mut touched),
    };
    // A client's own pages may be gone.
    if found.is_err() && memory.is_mapped() {
        touched.0.fill(true);
    }
    touched
}

/// A file's own account of where it has data.
fn by_holes(
    file: &impl std::os::fd::AsFd,
    size: usize,
    touched: &mut TouchedPages,
) -> Result<(), Errno> {
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at as u64)) {
            Ok(start) => start as usize,
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start as u64))? as usize;
        touched.add(start, end.min(size));
        at = end.max(start + 1);
    }
    Ok(())
}

/// The kernel's account of a mapping's pages.
fn by_residency(memory: &Memory, touched: &mut TouchedPages) -> Result<(), Errno> {
    const STEP_BYTES: usize = 1 << 28;
    let host_page = rustix::param::page_size();
    let mut state = vec![0u8; STEP_BYTES / host_page];
    for at in (0..memory.size()).step_by(STEP_BYTES) {
        let length = STEP_BYTES.min(memory.size() - at);
        let pages = &mut state[..length.div_ceil(host_page)];
        // SAFETY: the range lies inside of the mapping, which begins at a page, and there is a byte
        // for each of its pages.
        let result = unsafe {
            libc::mincore(memory.base().add(at).cast(), length, pages.as_mut_ptr().cast())
        };
        if result != 0 {
            // SAFETY: errno's location is always valid.
            return Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }));
        }
        for (i, _) in pages.iter().enumerate().filter(|(_, state)| **state & 1 != 0) {
            let start = at + i * host_page;
            touched.add(start, (start + host_page).min(memory.size()));
        }
    }
    Ok(())
}

/// Copies a page of a block; what lies beyond its end is zeros.
pub fn copy(memory: &Memory, index: usize, page: &mut [u8]) {
    let from = index * PAGE_BYTES;
    let length = PAGE_BYTES.min(memory.size().saturating_sub(from));
    // SAFETY: the piece lies inside of the block, which is mapped for its whole size. A client may
    // write at the same time, and then the bytes are either.
    unsafe { std::ptr::copy_nonoverlapping(memory.base().add(from), page.as_mut_ptr(), length) };
    page[length..].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_touched_pages_are_found() {
        for make in [Memory::new as fn(usize) -> _, Memory::shareable] {
            let memory = make(PAGE_BYTES * 4096).expect("memory");
            for page in [0, 7, 4095] {
                // SAFETY: inside of the block.
                unsafe { *memory.base().add(page * PAGE_BYTES + 5000) = page as u8 };
            }
            let touched = touched(&memory);
            let found: Vec<_> = (0..5000).filter(|&page| touched.contains(page)).collect();
            assert_eq!(found, [0, 7, 4095]);
            let mut page = vec![0xee; PAGE_BYTES];
            copy(&memory, 7, &mut page);
            assert_eq!((page[4999], page[5000]), (0, 7));
        }
    }
}
