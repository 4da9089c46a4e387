//! Interposed functions that take a path: `open`, `fopen`, `access`, `readlink`, `realpath` and
//! their variants.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::{IntoRawFd, OwnedFd};

use libc::{FILE, mode_t, size_t, ssize_t};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use crate::hints::hint;
use crate::state::{Target, fail, state, target, target_at, virtual_node};
use crate::tree::Entry;
use crate::{directories, interpose, real};

/// Opens an entry of the tree. `None` for directories: [`open_directory`].
fn open_entry(entry: &Entry, flags: c_int) -> Option<Result<OwnedFd, Errno>> {
    let wants_to_write = flags & libc::O_ACCMODE != libc::O_RDONLY;
    Some(match entry {
        Entry::Directory(_) => return None,
        _ if flags & libc::O_DIRECTORY != 0 => Err(Errno::NOTDIR),
        _ if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => Err(Errno::EXIST),
        Entry::RenderNode => virtual_node().map_or(Err(Errno::NODEV), |node| node.open(flags)),
        Entry::File(_) if wants_to_write => Err(Errno::ACCESS),
        Entry::File(text) => file(text),
        // The lookup returns a link only with O_NOFOLLOW.
        Entry::Link(_) => Err(Errno::LOOP),
    })
}

/// Creates a descriptor from which a text can be read.
fn file(text: &str) -> Result<OwnedFd, Errno> {
    let fd = rustix::fs::memfd_create("tepui-sysfs", MemfdFlags::CLOEXEC)?;
    rustix::io::write(&fd, text.as_bytes())?;
    rustix::fs::seek(&fd, rustix::fs::SeekFrom::Start(0))?;
    Ok(fd)
}

/// Opens a directory of the tree: the machine's, if it has it.
unsafe fn open_directory(path: &str, flags: c_int) -> c_int {
    let Ok(on_machine) = CString::new(path) else { return fail(Errno::INVAL, -1) };
    // SAFETY: a C string.
    let fd = unsafe { real::openat(libc::AT_FDCWD, on_machine.as_ptr(), flags, 0) };
    if fd >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT) {
        return fd;
    }
    if flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_CREAT != 0 {
        return fail(Errno::ISDIR, -1);
    }
    match directories::stand_in(path, flags & libc::O_CLOEXEC != 0) {
        Ok(fd) => {
            let fd = fd.into_raw_fd();
            hint(fd, false);
            fd
        }
        Err(errno) => fail(errno, -1),
    }
}

/// Opens a file as `openat` does.
unsafe fn open_at(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments, or a path of the tree.
    unsafe {
        match target_at(dir, path, flags & libc::O_NOFOLLOW == 0) {
            Target::Pass => {
                let fd = real::openat(dir, path, flags, mode);
                // Real nodes are observed; their paths need no further check than this.
                if !path.is_null()
                    && CStr::from_ptr(path).to_bytes().starts_with(b"/dev/dri/")
                    && let Some(state) = state()
                {
                    state.opened(fd);
                }
                fd
            }
            Target::Path(path) => real::openat(dir, path.as_ptr(), flags, mode),
            Target::Entry(entry, at) => match open_entry(entry, flags) {
                None => open_directory(&at, flags),
                Some(Err(errno)) => fail(errno, -1),
                Some(Ok(fd)) => {
                    let fd = fd.into_raw_fd();
                    hint(fd, *entry == Entry::RenderNode);
                    fd
                }
            },
        }
    }
}

unsafe fn open_file(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's arguments, or a path of the tree.
    unsafe {
        match target(path, true) {
            Target::Entry(Entry::File(text), _) => {
                if CStr::from_ptr(mode).to_bytes().first() != Some(&b'r') {
                    return fail(Errno::ACCESS, std::ptr::null_mut());
                }
                match file(text) {
                    Ok(fd) => libc::fdopen(fd.into_raw_fd(), c"r".as_ptr()),
                    Err(errno) => fail(errno, std::ptr::null_mut()),
                }
            }
            Target::Path(path) => real::fopen(path.as_ptr(), mode),
            _ => real::fopen(path, mode),
        }
    }
}

unsafe fn access_at(dir: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, or a path of the tree.
    unsafe {
        match target_at(dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) {
            Target::Pass => real::faccessat(dir, path, mode, flags),
            Target::Path(path) => real::faccessat(dir, path.as_ptr(), mode, flags),
            Target::Entry(Entry::RenderNode, _) if mode & libc::X_OK == 0 => 0,
            Target::Entry(Entry::File(_), _) if mode & (libc::W_OK | libc::X_OK) == 0 => 0,
            Target::Entry(Entry::Directory(_), _) if mode & libc::W_OK == 0 => 0,
            Target::Entry(..) => fail(Errno::ACCESS, -1),
        }
    }
}

unsafe fn read_link_at(
    dir: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's arguments, or a path of the tree; `buffer` has `size` bytes.
    unsafe {
        match target_at(dir, path, false) {
            Target::Path(path) => real::readlinkat(dir, path.as_ptr(), buffer, size),
            Target::Entry(Entry::Link(text), _) => {
                let length = text.len().min(size);
                buffer.copy_from_nonoverlapping(text.as_ptr().cast(), length);
                length as ssize_t
            }
            Target::Entry(Entry::File(_) | Entry::RenderNode, _) => fail(Errno::INVAL, -1),
            _ => real::readlinkat(dir, path, buffer, size),
        }
    }
}

unsafe fn real_path(path: *const c_char, into: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's arguments, or a path of the tree; `into` has PATH_MAX bytes.
    unsafe {
        match target(path, true) {
            Target::Pass => real::realpath(path, into),
            Target::Path(path) => real::realpath(path.as_ptr(), into),
            Target::Entry(_, path) => {
                let Ok(path) = CString::new(path) else {
                    return fail(Errno::INVAL, std::ptr::null_mut());
                };
                if into.is_null() {
                    return libc::strdup(path.as_ptr());
                }
                libc::strcpy(into, path.as_ptr())
            }
        }
    }
}

interpose! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
    }
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
    }
    fn __open_2(path: *const c_char, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(libc::AT_FDCWD, path, flags, 0) }
    }
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(libc::AT_FDCWD, path, flags, 0) }
    }
    fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(dir, path, flags, mode) }
    }
    fn openat64(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(dir, path, flags, mode) }
    }
    fn __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(dir, path, flags, 0) }
    }
    fn __openat64_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { open_at(dir, path, flags, 0) }
    }
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
        // SAFETY: the caller's contract.
        unsafe { open_file(path, mode) }
    }
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
        // SAFETY: the caller's contract.
        unsafe { open_file(path, mode) }
    }
    fn access(path: *const c_char, mode: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { access_at(libc::AT_FDCWD, path, mode, 0) }
    }
    fn faccessat(dir: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { access_at(dir, path, mode, flags) }
    }
    fn readlink(path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t {
        // SAFETY: the caller's contract.
        unsafe { read_link_at(libc::AT_FDCWD, path, buffer, size) }
    }
    fn readlinkat(dir: c_int, path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t {
        // SAFETY: the caller's contract.
        unsafe { read_link_at(dir, path, buffer, size) }
    }
    fn __readlink_chk(path: *const c_char, buffer: *mut c_char, size: size_t, room: size_t) -> ssize_t {
        // SAFETY: the caller's contract; the compiler that emitted this call knows `room`.
        unsafe { read_link_at(libc::AT_FDCWD, path, buffer, size.min(room)) }
    }
    fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char {
        // SAFETY: the caller's contract.
        unsafe { real_path(path, into) }
    }
    fn __realpath_chk(path: *const c_char, into: *mut c_char, _room: size_t) -> *mut c_char {
        // SAFETY: the caller's contract; no path of ours is longer than PATH_MAX.
        unsafe { real_path(path, into) }
    }
    fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
        // SAFETY: the caller's contract.
        unsafe { real_path(path, std::ptr::null_mut()) }
    }
}
