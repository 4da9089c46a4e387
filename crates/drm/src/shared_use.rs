//! What processes tell one another of a buffer that they share: whether a GPU of one is still to read or write it.
//!
//! Each process has a virtual device of its own, so that fences stay inside of it, but the kernel's drivers order all work on a
//! buffer. Buffers that processes share are files in memory. A process holds a lock of the file while work of its GPU on
//! the buffer is pending, a shared one for reads and an exclusive one for writes, and work of another process waits until
//! a lock for its own use would be granted. The locks belong to an open file of their own, so that they end with the process, and
//! only those of others are in the way.
//!
//! Unlike a kernel's, these fences have no order: if a use cannot have its lock because others have theirs, a later use of
//! those may come first.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::fence::Fence;
use crate::{lock, spawn};

/// How often a waiting use looks whether others have ended theirs.
const INTERVAL: Duration = Duration::from_micros(200);
/// After so long a use goes on: the other process may have stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pending uses of a shared buffer by this process, and the lock that tells others of them.
pub(crate) struct SharedUse {
    file: OwnedFd,
    /// Reads and writes that are pending.
    pending: Mutex<[u32; 2]>,
}

/// A lock of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    None,
    Shared,
    Exclusive,
}

impl SharedUse {
    /// Opens the file of a buffer once more. `None` where the process may not, as in a sandbox: others are not told then.
    pub fn of(buffer: BorrowedFd<'_>) -> Option<Arc<SharedUse>> {
        let path = format!("/proc/self/fd/{}", buffer.as_raw_fd());
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Arc::new(SharedUse { file, pending: Mutex::default() }))
    }

    /// A use that is pending until the fence signals.
    pub fn add(self: &Arc<SharedUse>, until: &Fence, writes: bool) {
        let kind = usize::from(writes);
        let mut pending = lock(&self.pending);
        pending[kind] += 1;
        self.tell(*pending);
        drop(pending);
        let this = self.clone();
        until.on_signal(move |_| {
            let mut pending = lock(&this.pending);
            pending[kind] -= 1;
            this.tell(*pending);
        });
    }

    /// A fence that signals when no other process has pending work that has to end first; none if that is so now.
    pub fn others(self: &Arc<SharedUse>, writes: bool) -> Option<Fence> {
        let wanted = if writes { Lock::Exclusive } else { Lock::Shared };
        if self.is_free(wanted) {
            return None;
        }
        let fence = Fence::new();
        let done = fence.clone();
        let this = self.clone();
        let wait = move || {
            let begin = Instant::now();
            while !this.is_free(wanted) && begin.elapsed() < PATIENCE {
                std::thread::sleep(INTERVAL);
            }
            this.tell(*lock(&this.pending));
            done.signal(Ok(()));
        };
        // Without a thread nobody waits.
        spawn("tepui-shared-use", wait).ok().map(|_| fence)
    }

    /// Sets the lock that pending uses need. If others are in the way it stays as it was, and whoever waits for them tries again.
    fn tell(&self, [reads, writes]: [u32; 2]) {
        let wanted = match (reads, writes) {
            (0, 0) => Lock::None,
            (_, 0) => Lock::Shared,
            _ => Lock::Exclusive,
        };
        // The kernel refuses what others are in the way of, and nothing else that could be mended here.
        let _ = self.control(libc::F_OFD_SETLK, wanted);
    }

    /// Whether no lock of another open file is in the way of one.
    fn is_free(&self, wanted: Lock) -> bool {
        self.control(libc::F_OFD_GETLK, wanted).is_none_or(|found| found == Lock::None)
    }

    /// An operation on locks of the whole file; the lock that the kernel answers, if it does not refuse.
    fn control(&self, operation: libc::c_int, wanted: Lock) -> Option<Lock> {
        let kind = match wanted {
            Lock::None => libc::F_UNLCK,
            Lock::Shared => libc::F_RDLCK,
            Lock::Exclusive => libc::F_WRLCK,
        };
        let mut request = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open, and the kernel reads and writes the structure alone. The raw call, because the library's
        // function may be one that a preloaded library put in its place.
        let done = unsafe {
            libc::syscall(libc::SYS_fcntl, self.file.as_raw_fd(), operation, &raw mut request)
        };
        let found = libc::c_int::from(request.l_type);
        (done == 0).then_some(match found {
            libc::F_RDLCK => Lock::Shared,
            libc::F_WRLCK => Lock::Exclusive,
            _ => Lock::None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::MemfdFlags;

    use super::*;

    /// Two open files of a buffer, as two processes have them.
    fn two() -> [Arc<SharedUse>; 2] {
        let file = rustix::fs::memfd_create("tepui-bo", MemfdFlags::CLOEXEC).unwrap();
        [(); 2].map(|()| SharedUse::of(file.as_fd()).unwrap())
    }

    #[test]
    fn a_use_waits_for_the_other_process_where_one_of_them_writes() {
        for (theirs, ours) in [(false, false), (false, true), (true, false), (true, true)] {
            let [a, b] = two();
            let work = Fence::new();
            a.add(&work, theirs);
            assert!(a.others(ours).is_none(), "its own work is in no lock's way");
            let wait = b.others(ours);
            assert_eq!(wait.is_some(), theirs || ours);
            if let Some(wait) = wait {
                assert!(!wait.is_signaled());
                work.signal(Ok(()));
                assert_eq!(wait.wait(), Ok(()));
            }
            assert!(theirs || ours || b.others(false).is_none());
        }
    }

    #[test]
    fn locks_end_with_the_last_use_and_follow_the_strongest() {
        let [a, b] = two();
        let [read, write, again] = [Fence::new(), Fence::new(), Fence::new()];
        a.add(&read, false);
        a.add(&write, true);
        a.add(&again, true);
        write.signal(Ok(()));
        assert!(b.others(false).is_some());
        again.signal(Ok(()));
        assert!(b.others(false).is_none(), "a read is left");
        assert!(b.others(true).is_some());
        read.signal(Ok(()));
        assert!(b.others(true).is_none());
    }

    #[test]
    fn a_use_that_waited_has_its_lock_before_it_begins() {
        let [a, b] = two();
        let [first, second] = [Fence::new(), Fence::new()];
        a.add(&first, false);
        let wait = b.others(true).expect("a read is pending");
        b.add(&second, true);
        first.signal(Ok(()));
        assert_eq!(wait.wait(), Ok(()));
        assert!(a.others(false).is_some());
        second.signal(Ok(()));
        assert!(a.others(true).is_none());
    }
}
