//! Pages of new memory of the host.

use rustix::mm::{Advice, madvise};

/// Bytes of a page of the host; with other sizes, nothing is populated.
const HOST_PAGE_B: usize = 4096;

/// Populates the whole pages among `bytes` of new memory together: page faults on the first writes take several times as
/// long.
pub fn populate(host: *mut u8, bytes: usize) {
    let skipped = host.addr().wrapping_neg() % HOST_PAGE_B;
    let whole = bytes.saturating_sub(skipped) & !(HOST_PAGE_B - 1);
    if whole > 0 {
        let from = host.wrapping_add(skipped).cast();
        // SAFETY: the pages are mapped; what is in them stays. If it fails, they come as they are written.
        let _ = unsafe { madvise(from, whole, Advice::LinuxPopulateWrite) };
    }
}
