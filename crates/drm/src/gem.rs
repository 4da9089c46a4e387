//! GEM buffer objects: handles within an open file, fake offsets for mmap, PRIME file descriptors.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use rustix::io::Errno;

use crate::fence::Fence;
use crate::ids::Ids;
use crate::lock;
use crate::shared_use::SharedUse;
use crate::token::Registry;

/// Name of our memfds, as `/proc/self/fd` shows it.
const BUFFER_FILE_PREFIX: &[u8] = b"/memfd:tepui-bo";

/// The driver's backing of a GEM buffer.
pub trait Backing: Any + Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Base address of the memory: a shared mapping that lives as long as this object.
    fn base(&self) -> *mut u8;

    /// The memory's file, through which other processes map it, if it has one.
    fn file(&self) -> Option<BorrowedFd<'_>>;

    /// Whether the buffer may be exported as a descriptor.
    fn is_exportable(&self) -> bool {
        self.file().is_some()
    }

    /// Whether clients may only read it: registers.
    fn is_read_only(&self) -> bool {
        false
    }
}

/// A buffer object.
pub struct Gem {
    backing: Box<dyn Backing>,
    /// Its fake offset for mmap on the render node.
    map_offset: u64,
    users: Mutex<Vec<(Fence, bool)>>,
    /// Uses of other processes, once the buffer was exported or imported.
    shared: OnceLock<Option<Arc<SharedUse>>>,
}

impl Gem {
    /// The driver's object.
    pub fn backing<B: Backing>(&self) -> Option<&B> {
        (&*self.backing as &dyn Any).downcast_ref()
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.backing.size()
    }

    /// Base address of the memory: a shared mapping that lives as long as this object.
    pub fn base(&self) -> *mut u8 {
        self.backing.base()
    }

    /// The memory's file, through which other processes map it, if it has one.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.backing.file()
    }

    /// Whether clients may only read it.
    pub fn is_read_only(&self) -> bool {
        self.backing.is_read_only()
    }

    /// The fake offset at which a client maps the buffer through the render node.
    pub fn map_offset(&self) -> u64 {
        self.map_offset
    }

    /// Adds an implicit-synchronisation fence: a user reads or writes the buffer until it signals.
    pub fn add_user(&self, fence: Fence, writes: bool) {
        let mut users = lock(&self.users);
        users.retain(|(fence, _)| !fence.is_signaled());
        if let Some(shared) = self.shared() {
            shared.add(&fence, writes);
        }
        users.push((fence, writes));
    }

    /// The state shared with other processes, if the buffer is shared.
    fn shared(&self) -> Option<&Arc<SharedUse>> {
        self.shared.get()?.as_ref()
    }

    /// Marks the buffer as shared with another process.
    fn share(&self) {
        let users = lock(&self.users);
        self.shared.get_or_init(|| {
            let shared = SharedUse::of(self.file()?)?;
            users.iter().for_each(|(fence, writes)| shared.add(fence, *writes));
            Some(shared)
        });
    }

    /// The fence to wait for before the buffer may be read, or written.
    pub fn users(&self, to_write: bool) -> Fence {
        let mut fences: Vec<_> = lock(&self.users)
            .iter()
            .filter(|(fence, writes)| (to_write || *writes) && !fence.is_signaled())
            .map(|(fence, _)| fence.clone())
            .collect();
        fences.extend(self.shared().and_then(|shared| shared.others(to_write)));
        Fence::all(&fences)
    }
}

/// The buffers of a device: their mmap offsets and PRIME descriptors.
pub struct Buffers {
    registry: Arc<Registry>,
    next_offset: AtomicU64,
    mappable: Mutex<BTreeMap<u64, Weak<Gem>>>,
}

impl Buffers {
    /// An empty table. PRIME descriptors are entered into `registry`.
    pub fn new(registry: Arc<Registry>) -> Buffers {
        // The first 4 GiB are kept free, as in the kernel, so that an offset is never mistaken for
        // an offset into a file.
        Buffers { registry, next_offset: AtomicU64::new(1 << 32), mappable: Mutex::default() }
    }

    /// A new buffer.
    pub fn create(&self, backing: Box<dyn Backing>) -> Arc<Gem> {
        const GRANULE_BYTES: u64 = 1 << 16;
        let span = backing.size().next_multiple_of(GRANULE_BYTES) + GRANULE_BYTES;
        let map_offset = self.next_offset.fetch_add(span, Ordering::Relaxed);
        Arc::new(Gem { backing, map_offset, users: Mutex::default(), shared: OnceLock::new() })
    }

    /// Makes the buffer mappable; returns the offset.
    pub fn make_mappable(&self, gem: &Arc<Gem>) -> u64 {
        let mut mappable = lock(&self.mappable);
        if mappable.len().is_power_of_two() {
            mappable.retain(|_, gem| gem.strong_count() != 0);
        }
        mappable.insert(gem.map_offset, Arc::downgrade(gem));
        gem.map_offset
    }

    /// The buffer at an mmap offset.
    pub fn at_offset(&self, offset: u64) -> Option<Arc<Gem>> {
        lock(&self.mappable).get(&offset)?.upgrade()
    }

    /// Exports the buffer as a PRIME descriptor, which is closed on exec.
    ///
    /// # Errors
    /// `EINVAL` for a buffer that is private to one address space.
    pub fn export(&self, gem: &Arc<Gem>) -> Result<OwnedFd, Errno> {
        let exportable = gem.backing.is_exportable();
        let file = gem.backing.file().filter(|_| exportable).ok_or(Errno::INVAL)?;
        let weak: Weak<dyn Any + Send + Sync> = Arc::<Gem>::downgrade(gem);
        self.registry.note(file, weak)?;
        gem.share();
        rustix::io::fcntl_dupfd_cloexec(file, 0)
    }

    /// Imports a PRIME descriptor. A descriptor of a live buffer of this device gives that buffer; for
    /// any other, `import` makes one from the descriptor and its file's size in bytes.
    ///
    /// # Errors
    /// `EBADF` for a closed descriptor, `EINVAL` for one that is no buffer.
    pub fn import(
        &self,
        fd: OwnedFd,
        import: impl FnOnce(OwnedFd, u64) -> Result<Box<dyn Backing>, Errno>,
    ) -> Result<Arc<Gem>, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        if let Some(gem) = self.registry.find::<Gem>(fd.as_fd()) {
            return Ok(gem);
        }
        // Either another process's buffer or a different kind of file: the memfd's name distinguishes
        // them.
        let name = link_of(fd.as_raw_fd())?;
        if !name.as_bytes().starts_with(BUFFER_FILE_PREFIX) {
            return Err(Errno::INVAL);
        }
        let size = u64::try_from(stat.st_size).ok().filter(|&size| size > 0).ok_or(Errno::INVAL)?;
        let gem = self.create(import(fd, size)?);
        let weak: Weak<dyn Any + Send + Sync> = Arc::<Gem>::downgrade(&gem);
        self.registry.note(gem.file().ok_or(Errno::INVAL)?, weak)?;
        gem.share();
        Ok(gem)
    }
}

/// The GEM handles of an open file.
#[derive(Default)]
pub struct Handles {
    ids: Ids<Arc<Gem>>,
    of: HashMap<*const Gem, u32>,
}

// SAFETY: the pointers are only compared; each is kept alive by its entry in `ids`.
unsafe impl Send for Handles {}

impl Handles {
    /// Returns the handle of a buffer, creating one if it has none.
    pub fn handle(&mut self, gem: Arc<Gem>) -> u32 {
        let key = Arc::as_ptr(&gem);
        *self.of.entry(key).or_insert_with(|| self.ids.insert(gem))
    }

    /// The buffer of a handle.
    pub fn get(&self, handle: u32) -> Option<&Arc<Gem>> {
        self.ids.get(handle)
    }

    /// Closes a handle.
    pub fn remove(&mut self, handle: u32) -> Option<Arc<Gem>> {
        let gem = self.ids.remove(handle)?;
        self.of.remove(&Arc::as_ptr(&gem));
        Some(gem)
    }

    /// Moves a buffer to an unused handle.
    pub fn change(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        let gem = self.ids.get(from).ok_or(Errno::NOENT)?.clone();
        if to == 0 || to > i32::MAX as u32 {
            return Err(Errno::INVAL);
        }
        if from == to {
            return Ok(());
        }
        let key = Arc::as_ptr(&gem);
        self.ids.insert_at(to, gem).map_err(|_| Errno::NOSPC)?;
        self.ids.remove(from);
        self.of.insert(key, to);
        Ok(())
    }

    /// Whether there is a handle of this buffer.
    pub fn contains(&self, gem: &Arc<Gem>) -> bool {
        self.of.contains_key(&Arc::as_ptr(gem))
    }

    /// Number of handles.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no handles.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Borrows the descriptor that a client's number names.
pub(crate) fn borrow(fd: i32) -> Result<BorrowedFd<'static>, Errno> {
    if fd < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the number is only handed to system calls, which refuse a closed one.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The target of a descriptor's link in `/proc/self/fd`.
pub(crate) fn link_of(fd: i32) -> Result<CString, Errno> {
    rustix::fs::readlink(format!("/proc/self/fd/{fd}"), Vec::new())
}
