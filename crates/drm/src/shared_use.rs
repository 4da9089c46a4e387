//! Implicit synchronisation of buffers that processes share: pending reads and writes of each process's
//! GPU.
//!
//! Each process has its own virtual device, so fences are local to it, but the kernel's drivers order
//! all work on a buffer. Buffers that processes share are files in memory. A process holds a lock of
//! the file while work of its GPU on the buffer is pending, a shared one for reads and an exclusive one
//! for writes, and work of another process waits until a lock for its own use would be granted. The
//! locks belong to a separate open file, so that they end with the process, and only other processes'
//! locks conflict.
//!
//! A write that waits for reads of others has no lock yet, and later reads would pass it for ever. So
//! there are two locks, on the first two bytes: one is held while uses are executed, the other while
//! writes are announced. A read waits for announced writes of others, and has no lock while it waits.
//! The order of writes of several processes is unspecified.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::fence::Fence;
use crate::{lock, spawn};

/// Polling interval of a waiting use.
const INTERVAL: Duration = Duration::from_micros(200);
/// Timeout after which a use proceeds: the other process may be stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pending uses of a shared buffer by this process, and the locks that announce them to others.
pub(crate) struct SharedUse {
    file: OwnedFd,
    pending: Mutex<Pending>,
}

/// Uses that are pending.
#[derive(Debug, Default)]
struct Pending {
    reads: u32,
    writes: u32,
    /// Reads that came while a read had to wait, and wait with it.
    waiting: u32,
    /// Waits of reads that have not ended, and how many have.
    waits: u32,
    ended: u64,
}

/// The byte that is locked while uses are executed.
const USED: libc::off_t = 0;
/// The byte that is locked while writes are pending, shared by all who write.
const ANNOUNCED: libc::off_t = 1;

/// A lock of a byte.
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

    /// A use that is pending until the fence signals. Whoever adds it has asked [`SharedUse::others`] before.
    pub fn add(self: &Arc<SharedUse>, until: &Fence, writes: bool) {
        let mut pending = lock(&self.pending);
        let ended = pending.ended;
        let waits = !writes && pending.waits > 0;
        *pending.count(writes, waits) += 1;
        self.tell(&pending);
        drop(pending);
        let this = self.clone();
        until.on_signal(move |_| {
            let mut pending = lock(&this.pending);
            let waits = waits && pending.ended == ended;
            *pending.count(writes, waits) -= 1;
            this.tell(&pending);
        });
    }

    /// A fence that signals when no other process has pending work that has to end first; none if that is so now.
    pub fn others(self: &Arc<SharedUse>, writes: bool) -> Option<Fence> {
        if self.may_begin(writes) {
            return None;
        }
        let fence = Fence::new();
        let done = fence.clone();
        let this = self.clone();
        lock(&self.pending).waits += u32::from(!writes);
        let wait = move || {
            let begin = Instant::now();
            while !this.may_begin(writes) && begin.elapsed() < PATIENCE {
                std::thread::sleep(INTERVAL);
            }
            this.end_wait(writes);
            done.signal(Ok(()));
        };
        match spawn("tepui-shared-use", wait) {
            Ok(_) => Some(fence),
            // Without a thread there is no wait.
            Err(_) => {
                self.end_wait(writes);
                None
            }
        }
    }

    /// A wait is over: reads that waited have the lock before they begin.
    fn end_wait(&self, writes: bool) {
        let mut pending = lock(&self.pending);
        if !writes {
            pending.waits -= 1;
            pending.ended += 1;
            pending.reads += std::mem::take(&mut pending.waiting);
        }
        self.tell(&pending);
    }

    /// Whether nothing of others has to end before a use.
    fn may_begin(&self, writes: bool) -> bool {
        match writes {
            true => self.is_free(USED, Lock::Exclusive),
            false => self.is_free(USED, Lock::Shared) && self.is_free(ANNOUNCED, Lock::Exclusive),
        }
    }

    /// Sets the locks that pending uses need. If others are in the way the first stays as it was, and whoever waits for them tries
    /// again.
    fn tell(&self, pending: &Pending) {
        let wanted = match (pending.reads, pending.writes) {
            (0, 0) => Lock::None,
            (_, 0) => Lock::Shared,
            _ => Lock::Exclusive,
        };
        let announced = if pending.writes > 0 { Lock::Shared } else { Lock::None };
        // The kernel refuses what others are in the way of, and nothing else that could be mended here.
        let _ = self.control(libc::F_OFD_SETLK, ANNOUNCED, announced);
        let _ = self.control(libc::F_OFD_SETLK, USED, wanted);
    }

    /// Whether no lock of another open file is in the way of one of a byte.
    fn is_free(&self, byte: libc::off_t, wanted: Lock) -> bool {
        self.control(libc::F_OFD_GETLK, byte, wanted).is_none_or(|found| found == Lock::None)
    }

    /// An operation on locks of a byte; the lock that the kernel answers, if it does not refuse.
    fn control(&self, operation: libc::c_int, byte: libc::off_t, wanted: Lock) -> Option<Lock> {
        let kind = match wanted {
            Lock::None => libc::F_UNLCK,
            Lock::Shared => libc::F_RDLCK,
            Lock::Exclusive => libc::F_WRLCK,
        };
        let mut request = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: byte,
            l_len: 1,
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

impl Pending {
    /// The number of uses of a kind.
    fn count(&mut self, writes: bool, waits: bool) -> &mut u32 {
        match (writes, waits) {
            (true, _) => &mut self.writes,
            (false, true) => &mut self.waiting,
            (false, false) => &mut self.reads,
        }
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

    #[test]
    fn a_read_that_comes_later_does_not_pass_a_write_that_waits() {
        let [a, b] = two();
        let [shown, drawn, shown_next] = [Fence::new(), Fence::new(), Fence::new()];
        a.add(&shown, false);
        let write = b.others(true).expect("a read is pending");
        b.add(&drawn, true);
        let read = a.others(false).expect("a write was announced");
        a.add(&shown_next, false);
        shown.signal(Ok(()));
        assert_eq!(write.wait(), Ok(()), "the read that waits is in nobody's way");
        assert!(!read.is_signaled());
        drawn.signal(Ok(()));
        assert_eq!(read.wait(), Ok(()));
        assert!(b.others(true).is_some(), "it has its lock");
        shown_next.signal(Ok(()));
        assert!(b.others(true).is_none());
    }

    #[test]
    fn a_read_may_end_while_it_waits() {
        let [a, b] = two();
        let [drawn, given_up] = [Fence::new(), Fence::new()];
        b.add(&drawn, true);
        let read = a.others(false).expect("a write is pending");
        a.add(&given_up, false);
        given_up.signal(Ok(()));
        drawn.signal(Ok(()));
        assert_eq!(read.wait(), Ok(()));
        assert!(b.others(true).is_none(), "no lock is left");
    }
}
