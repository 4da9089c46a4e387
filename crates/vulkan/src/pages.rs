//! The host's view of a sparse image: which memory each of its bytes is in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::backend::Backend;

/// Memory of a range of bytes.
struct Piece<B: Backend> {
    size: u64,
    memory: Weak<B::Memory>,
    /// First byte in the memory.
    at: u64,
}

/// Memory that is bound to an image, by its first byte in the image. Applications free memory while it is bound, if nothing uses it
/// any more.
pub struct Pages<B: Backend>(Mutex<BTreeMap<u64, Piece<B>>>);

impl<B: Backend> Default for Pages<B> {
    fn default() -> Self {
        Pages(Mutex::default())
    }
}

impl<B: Backend> Pages<B> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Piece<B>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that memory was bound to a range, or taken away from it.
    pub fn bind(&self, offset: u64, size: u64, memory: Option<&(Arc<B::Memory>, u64)>) {
        let mut pieces = self.lock();
        let end = offset.saturating_add(size);
        // What the range covers goes; of pieces that reach out of it, the rest stays.
        let first = pieces.range(..offset).next_back().map_or(offset, |(&start, _)| start);
        let old: Vec<u64> = pieces.range(first..end).map(|(&start, _)| start).collect();
        for start in old {
            let Some(p) = pieces.remove(&start) else { continue };
            let p_end = start + p.size;
            if p_end > end {
                let rest = end.max(start);
                let (memory, at) = (p.memory.clone(), p.at + (rest - start));
                pieces.insert(rest, Piece { size: p_end - rest, memory, at });
            }
            if start < offset {
                let size = p_end.min(offset) - start;
                pieces.insert(start, Piece { size, memory: p.memory, at: p.at });
            }
        }
        if let Some((memory, at)) = memory {
            pieces.insert(offset, Piece { size, memory: Arc::downgrade(memory), at: *at });
        }
    }

    /// Calls `body` with the address on the host and the range within `offset..offset + size` of each part that has memory.
    fn each(&self, offset: u64, size: u64, mut body: impl FnMut(*mut u8, std::ops::Range<usize>)) {
        let pieces = self.lock();
        let end = offset + size;
        let first = pieces.range(..=offset).next_back().map_or(offset, |(&start, _)| start);
        for (&start, p) in pieces.range(first..end) {
            let (from, to) = (start.max(offset), (start + p.size).min(end));
            let Some(memory) = p.memory.upgrade().filter(|_| from < to) else { continue };
            // SAFETY: memory is bound to what is inside of it.
            let host = unsafe { B::host(&memory).add((p.at + (from - start)) as usize) };
            body(host, (from - offset) as usize..(to - offset) as usize);
        }
    }

    /// Reads bytes; those without memory stay as they are.
    pub fn read(&self, offset: u64, out: &mut [u8]) {
        self.each(offset, out.len() as u64, |host, range| {
            let out = &mut out[range];
            // SAFETY: the memory is mapped, and holds the range.
            unsafe { out.as_mut_ptr().copy_from_nonoverlapping(host, out.len()) };
        });
    }

    /// Writes bytes; those without memory are dropped.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        self.each(offset, bytes.len() as u64, |host, range| {
            let bytes = &bytes[range];
            // SAFETY: the memory is mapped, and holds the range.
            unsafe { host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        });
    }
}
