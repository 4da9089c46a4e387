//! Interposed functions that list directories: directories of the tree show the machine's entries,
//! then the virtual ones.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use libc::{DIR, dirent};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::real::{Compare, Filter};
use crate::state::{Target, fail, target, virtual_node};
use crate::tree::Entry;
use crate::{interpose, real};

/// An open directory of the tree. Its address is the program's `DIR *`.
struct Listing {
    /// The machine's directory, for `dirfd`; null if it does not exist.
    machine: *mut DIR,
    entries: Vec<dirent>,
    next: usize,
}

/// Addresses of open listings. Any other `DIR *` is libc's.
static OPEN: RwLock<Option<HashSet<usize>>> = RwLock::new(None);
/// Number of open listings; while it is 0, no lock is taken.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The listing of a `DIR *`, or `None` if it is libc's.
///
/// # Safety
/// The program uses a `DIR *` from one thread at a time, as POSIX requires.
unsafe fn listing<'a>(dir: *mut DIR) -> Option<&'a mut Listing> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    let open = OPEN.read().unwrap_or_else(PoisonError::into_inner);
    let ours = open.as_ref()?.contains(&(dir as usize));
    // SAFETY: an address in the set is a live listing; the program does not share it.
    ours.then(|| unsafe { &mut *dir.cast::<Listing>() })
}

fn entry(name: &str, kind: u8, at: usize) -> dirent {
    // SAFETY: a plain structure of numbers.
    let mut entry: dirent = unsafe { std::mem::zeroed() };
    entry.d_ino = at as u64 + 1;
    entry.d_off = at as i64 + 1;
    entry.d_reclen = size_of::<dirent>() as u16;
    entry.d_type = kind;
    for (to, from) in entry.d_name.iter_mut().zip(name.bytes().take(255)) {
        *to = from as c_char;
    }
    entry
}

/// Name of the directories of [`stand_in`], before a number and the path that they stand for.
const STAND_IN: &str = "tepui-directory-";
/// Separates the parts of that path.
const SLASH: &str = "|";

/// Opens an empty directory in the place of one of the tree that the machine does not have. It is removed at once; its name stays as the
/// kernel's name of the descriptor, whoever duplicates or inherits it, and has the path ([`path_of`]).
pub fn stand_in(path: &str, close_on_exec: bool) -> Result<OwnedFd, Errno> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let process = rustix::process::getpid().as_raw_nonzero();
    let name = format!("{STAND_IN}{process}-{number}{}", path.replace('/', SLASH));
    let temporary = std::env::temp_dir().join(name);
    rustix::fs::mkdir(&temporary, Mode::RWXU)?;
    let mut flags = OFlags::RDONLY | OFlags::DIRECTORY;
    flags.set(OFlags::CLOEXEC, close_on_exec);
    let fd = rustix::fs::open(&temporary, flags, Mode::empty());
    rustix::fs::rmdir(&temporary)?;
    fd
}

/// The path of an open directory that may be one of the tree.
pub fn path_of(fd: c_int) -> Option<String> {
    let link = rustix::fs::readlink(format!("/proc/self/fd/{fd}"), Vec::new()).ok()?;
    let path = link.into_string().ok()?;
    match path.strip_suffix(" (deleted)") {
        None => Some(path),
        Some(removed) => {
            let name = removed.rsplit('/').next()?.strip_prefix(STAND_IN)?;
            Some(name[name.find(SLASH)?..].replace(SLASH, "/"))
        }
    }
}

/// Lists an open directory, which the listing takes over.
unsafe fn list_descriptor(fd: c_int) -> *mut DIR {
    // SAFETY: the caller's descriptor.
    unsafe {
        let machine = real::fdopendir(fd);
        if machine.is_null() || virtual_node().is_none() {
            return machine;
        }
        let Some(path) = path_of(fd).and_then(|path| CString::new(path).ok()) else {
            return machine;
        };
        match target(path.as_ptr(), true) {
            Target::Entry(Entry::Directory(children), _) => list(machine, children),
            _ => machine,
        }
    }
}

unsafe fn open_listing(path: *const c_char) -> *mut DIR {
    // SAFETY: the caller's arguments, or a path of our own.
    let (path, children) = unsafe {
        match target(path, true) {
            Target::Pass => return real::opendir(path),
            Target::Path(path) => return real::opendir(path.as_ptr()),
            Target::Entry(Entry::Directory(children), _) => (path, children),
            Target::Entry(..) => return fail(Errno::NOTDIR, std::ptr::null_mut()),
        }
    };
    // SAFETY: a C string.
    unsafe { list(real::opendir(path), children) }
}

/// The listing of a directory of the tree, which has taken over the machine's or null.
unsafe fn list(machine: *mut DIR, children: &BTreeMap<String, Entry>) -> *mut DIR {
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    // SAFETY: the directory is open until `machine` is closed, and an entry is valid until the
    // next.
    unsafe {
        while let Some(entry) = (!machine.is_null()).then(|| real::readdir(machine)) {
            let Some(entry) = entry.as_ref() else { break };
            names.insert(CStr::from_ptr(entry.d_name.as_ptr()).to_bytes().to_vec());
            entries.push(*entry);
        }
    }
    let dots = [(".", libc::DT_DIR), ("..", libc::DT_DIR)];
    let ours = children.iter().map(|(name, child)| {
        let kind = match child {
            Entry::Directory(_) => libc::DT_DIR,
            Entry::File(_) => libc::DT_REG,
            Entry::Link(_) => libc::DT_LNK,
            Entry::RenderNode => libc::DT_CHR,
        };
        (name.as_str(), kind)
    });
    for (name, kind) in dots.into_iter().chain(ours) {
        if !names.contains(name.as_bytes()) {
            entries.push(entry(name, kind, entries.len()));
        }
    }
    let listing = Box::into_raw(Box::new(Listing { machine, entries, next: 0 }));
    let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
    open.get_or_insert_default().insert(listing as usize);
    COUNT.fetch_add(1, Ordering::Release);
    listing.cast::<c_void>().cast()
}

unsafe fn read_listing(dir: *mut DIR) -> *mut dirent {
    // SAFETY: the caller's contract.
    unsafe {
        let Some(listing) = listing(dir) else { return real::readdir(dir) };
        match listing.entries.get_mut(listing.next) {
            Some(entry) => {
                listing.next += 1;
                entry
            }
            None => std::ptr::null_mut(),
        }
    }
}

/// Scans a directory of the tree: libc's `scandir` calls its own `opendir`, not the interposed one.
unsafe fn scan(
    path: *const c_char,
    list: *mut *mut *mut dirent,
    filter: Filter,
    compare: Compare,
) -> c_int {
    // SAFETY: the caller's arguments; every block is allocated as the caller will free it.
    unsafe {
        if !matches!(target(path, true), Target::Entry(Entry::Directory(_), _)) {
            return real::scandir(path, list, filter, compare);
        }
        let dir = open_listing(path);
        let Some(listing) = listing(dir) else { return -1 };
        let kept = |entry: &&dirent| filter.is_none_or(|filter| filter(*entry) != 0);
        let entries: Vec<&dirent> = listing.entries.iter().filter(kept).collect();
        let size = size_of::<*mut dirent>();
        let array = libc::calloc(entries.len().max(1), size).cast::<*mut dirent>();
        for (index, entry) in entries.iter().enumerate() {
            let copy = libc::malloc(size_of::<dirent>()).cast::<dirent>();
            if array.is_null() || copy.is_null() {
                // Out of memory; what was allocated so far leaks.
                closedir(dir);
                return fail(Errno::NOMEM, -1);
            }
            copy.write(**entry);
            array.add(index).write(copy);
        }
        let count = entries.len();
        closedir(dir);
        if let Some(compare) = compare {
            let compare: unsafe extern "C" fn(*const c_void, *const c_void) -> c_int =
                std::mem::transmute(compare);
            libc::qsort(array.cast(), count, size, Some(compare));
        }
        list.write(array);
        count as c_int
    }
}

interpose! {
    fn scandir(path: *const c_char, list: *mut *mut *mut dirent, filter: Filter, compare: Compare) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { scan(path, list, filter, compare) }
    }
    fn scandir64(path: *const c_char, list: *mut *mut *mut dirent, filter: Filter, compare: Compare) -> c_int {
        // SAFETY: the caller's contract; the structures are the same on the 64-bit ABIs.
        unsafe { scan(path, list, filter, compare) }
    }
    fn opendir(path: *const c_char) -> *mut DIR {
        // SAFETY: the caller's contract.
        unsafe { open_listing(path) }
    }
    fn fdopendir(fd: c_int) -> *mut DIR {
        // SAFETY: the caller's contract.
        unsafe { list_descriptor(fd) }
    }
    fn readdir(dir: *mut DIR) -> *mut dirent {
        // SAFETY: the caller's contract.
        unsafe { read_listing(dir) }
    }
    fn readdir64(dir: *mut DIR) -> *mut dirent {
        // SAFETY: the caller's contract; the structures are the same on the 64-bit ABIs.
        unsafe { read_listing(dir) }
    }
    fn closedir(dir: *mut DIR) -> c_int {
        // SAFETY: the caller's contract; the listing is not used after it leaves the set.
        unsafe {
            let Some(listing) = listing(dir) else { return real::closedir(dir) };
            let listing = std::ptr::from_mut(listing);
            if let Some(open) = OPEN.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
                open.remove(&(listing as usize));
            }
            COUNT.fetch_sub(1, Ordering::Release);
            let listing = Box::from_raw(listing);
            if listing.machine.is_null() { 0 } else { real::closedir(listing.machine) }
        }
    }
    fn rewinddir(dir: *mut DIR) -> () {
        // SAFETY: the caller's contract.
        unsafe {
            match listing(dir) {
                Some(listing) => listing.next = 0,
                None => real::rewinddir(dir),
            }
        }
    }
    fn telldir(dir: *mut DIR) -> c_long {
        // SAFETY: the caller's contract.
        unsafe { listing(dir).map_or_else(|| real::telldir(dir), |listing| listing.next as c_long) }
    }
    fn seekdir(dir: *mut DIR, at: c_long) -> () {
        // SAFETY: the caller's contract.
        unsafe {
            match listing(dir) {
                Some(listing) => listing.next = usize::try_from(at).unwrap_or(0),
                None => real::seekdir(dir, at),
            }
        }
    }
    fn dirfd(dir: *mut DIR) -> c_int {
        // SAFETY: the caller's contract.
        unsafe {
            match listing(dir) {
                Some(listing) if listing.machine.is_null() => fail(Errno::NOTSUP, -1),
                Some(listing) => real::dirfd(listing.machine),
                None => real::dirfd(dir),
            }
        }
    }
}
