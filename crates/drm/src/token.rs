//! File descriptors that name objects.
//!
//! An object that a client holds as a file descriptor — an open render node, a sync object, a sync
//! file — is one end of a socket pair; the other end, the keeper, stays in the device. The descriptor
//! can be duplicated, inherited, sent to another process and polled like any other; its inode
//! identifies the object; and the keeper sees a hang-up when the last copy is closed in any process.

use std::any::Any;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

use crate::lock;

/// Identity of an open file: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(u64, u64);

impl FileId {
    /// The identity with this device and inode.
    pub const fn new(device: u64, inode: u64) -> FileId {
        FileId(device, inode)
    }

    /// Device and inode.
    pub const fn parts(self) -> [u64; 2] {
        [self.0, self.1]
    }

    /// The identity of an open descriptor's file.
    pub fn of(fd: impl AsFd) -> Result<FileId, Errno> {
        let stat = rustix::fs::fstat(fd)?;
        Ok(FileId(stat.st_dev, stat.st_ino))
    }
}

/// The device's end of a token.
pub struct Keeper(OwnedFd);

impl Keeper {
    /// Whether every copy of the client's end is closed.
    pub fn is_abandoned(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    /// Makes the client's end readable.
    pub fn wake(&self) {
        // An error means that the client's end is closed: no one polls it.
        let _ = send(&self.0, &[1], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

/// Creates a token: the client's end (close-on-exec) and the keeper.
fn token() -> Result<(OwnedFd, Keeper), Errno> {
    let (client, keeper) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    Ok((client, Keeper(keeper)))
}

enum Held {
    /// The object lives as long as a descriptor of it is open.
    ByDescriptor(Arc<Keeper>, Arc<dyn Any + Send + Sync>),
    /// The object lives as long as others hold references.
    Elsewhere(Weak<dyn Any + Send + Sync>),
}

impl Held {
    fn object(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        match self {
            Held::ByDescriptor(_, object) => Some(object.clone()),
            Held::Elsewhere(object) => object.upgrade(),
        }
    }

    fn is_dead(&self) -> bool {
        match self {
            Held::ByDescriptor(keeper, _) => keeper.is_abandoned(),
            Held::Elsewhere(object) => object.strong_count() == 0,
        }
    }
}

#[derive(Default)]
struct Table {
    held: HashMap<FileId, Held>,
    /// Number of entries at which dead ones are collected.
    sweep_at: usize,
}

/// Objects by the file that represents them.
#[derive(Default)]
pub struct Registry {
    table: Mutex<Table>,
    /// Reports keepers of abandoned tokens, once somebody watches.
    watch: OnceLock<OwnedFd>,
}

impl Registry {
    /// Issues a descriptor that keeps `object` alive; returns it and the keeper.
    pub fn issue(
        &self,
        object: Arc<dyn Any + Send + Sync>,
    ) -> Result<(OwnedFd, Weak<Keeper>), Errno> {
        let (client, keeper) = token()?;
        let keeper = Arc::new(keeper);
        let weak = Arc::downgrade(&keeper);
        if let Some(watch) = self.watch.get() {
            // A hang-up is always reported. The kernel forgets a keeper that is closed.
            epoll::add(watch, &keeper.0, EventData::new_u64(0), EventFlags::ET)?;
        }
        self.insert(FileId::of(&client)?, Held::ByDescriptor(keeper, object));
        Ok((client, weak))
    }

    /// Enters `file` as representing `object`, without keeping it alive.
    pub fn note(
        &self,
        file: BorrowedFd<'_>,
        object: Weak<dyn Any + Send + Sync>,
    ) -> Result<(), Errno> {
        self.insert(FileId::of(file)?, Held::Elsewhere(object));
        Ok(())
    }

    fn insert(&self, id: FileId, held: Held) {
        let mut dead = Vec::new();
        let mut table = lock(&self.table);
        if table.held.len() >= table.sweep_at.max(32) {
            dead = table.held.extract_if(|_, held| held.is_dead()).collect();
            table.sweep_at = table.held.len() * 2;
        }
        let old = table.held.insert(id, held);
        drop(table);
        // Objects are dropped outside of the lock: their destructors may call back here.
        drop((old, dead));
    }

    /// The object of type `T` that a descriptor refers to.
    pub fn find<T: Send + Sync + 'static>(&self, fd: BorrowedFd<'_>) -> Option<Arc<T>> {
        self.find_id(FileId::of(fd).ok()?)
    }

    /// The object of type `T` that a file represents.
    pub fn find_id<T: Send + Sync + 'static>(&self, id: FileId) -> Option<Arc<T>> {
        let object = lock(&self.table).held.get(&id)?.object()?;
        object.downcast().ok()
    }

    /// Waits until the last descriptor of a token may have been closed since the last call, for an owner whose clients
    /// are other processes.
    ///
    /// # Errors
    /// `EINVAL` without a [watch](Registry::watch), and those of epoll.
    pub fn wait_for_abandoned(&self) -> Result<(), Errno> {
        let watch = self.watch.get().ok_or(Errno::INVAL)?;
        let mut events =
            [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 16];
        match epoll::wait(watch, &mut events[..], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Creates the watch of [`Registry::wait_for_abandoned`] before the first token is issued.
    ///
    /// # Errors
    /// Those of epoll.
    pub fn watch(&self) -> Result<(), Errno> {
        let fresh = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let _ = self.watch.set(fresh);
        Ok(())
    }

    /// Drops objects whose last descriptor is closed.
    pub fn sweep(&self) {
        let dead: Vec<_> = lock(&self.table).held.extract_if(|_, held| held.is_dead()).collect();
        drop(dead);
    }

    /// Number of entries, dead ones that were not swept yet included.
    pub fn len(&self) -> usize {
        lock(&self.table).held.len()
    }

    /// Whether nothing is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_lives_until_its_last_descriptor_closes() {
        let registry = Registry::default();
        let object = Arc::new(7u32);
        let (fd, keeper) = registry.issue(object.clone()).unwrap();
        let copy = fd.try_clone().unwrap();
        assert_eq!(registry.find::<u32>(copy.as_fd()).as_deref(), Some(&7));
        assert!(registry.find::<u64>(copy.as_fd()).is_none());
        drop(fd);
        registry.sweep();
        assert_eq!(Arc::strong_count(&object), 2);
        drop(copy);
        registry.sweep();
        assert_eq!(Arc::strong_count(&object), 1);
        assert!(keeper.upgrade().is_none());
        assert!(registry.is_empty());
    }

    #[test]
    fn waking_makes_the_descriptor_readable() {
        let (client, keeper) = token().unwrap();
        let readable = |fd: &OwnedFd| {
            let mut fds = [PollFd::new(fd, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut fds, Some(&now)).unwrap() == 1
        };
        assert!(!readable(&client));
        keeper.wake();
        assert!(readable(&client));
        assert!(!keeper.is_abandoned());
        drop(client);
        assert!(keeper.is_abandoned());
        keeper.wake();
    }
}
