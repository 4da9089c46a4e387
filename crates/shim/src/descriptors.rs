//! Interposed functions that take a file descriptor: `ioctl`, `mmap`, `close`, `dup` and their
//! variants.

use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::AsRawFd;

use libc::{off_t, size_t};
use tepui_drm::uapi::Request;
use tepui_drm::{dma_buf, sync_file};

use crate::hints::hint;
use crate::node::Mapping;
use crate::state::{State, fail, hinted, state, virtual_node};
use crate::{interpose, real};

/// Maps a buffer object through the node. `None` if the descriptor is not an open node.
fn map(
    at: *mut c_void,
    length: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> Option<*mut c_void> {
    let found = virtual_node()?.mapping(fd, offset as u64, length as u64, prot, flags)?;
    // SAFETY: the program's own arguments; the new mapping itself keeps the memory alive.
    Some(unsafe {
        match found {
            Err(errno) => fail(errno, libc::MAP_FAILED),
            Ok(Mapping::File(file)) => real::mmap(at, length, prot, flags, file.as_raw_fd(), 0),
            Ok(Mapping::Here(gem)) => match gem.file() {
                Some(file) => real::mmap(at, length, prot, flags, file.as_raw_fd(), 0),
                None => duplicate_mapping(gem.base().cast(), at, length, prot, flags),
            },
        }
    })
}

/// Maps shared memory a second time, without a descriptor.
///
/// # Safety
/// `from` is a shared mapping of at least `length` bytes; else as `mmap`.
unsafe fn duplicate_mapping(
    from: *mut c_void,
    at: *mut c_void,
    length: size_t,
    prot: c_int,
    flags: c_int,
) -> *mut c_void {
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    // SAFETY: an old length of 0 keeps the old mapping and creates a new one of the same pages.
    unsafe {
        let copy = if fixed {
            // Reserving the range first implements MAP_FIXED_NOREPLACE.
            let claim = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE);
            let claimed = real::mmap(at, length, libc::PROT_NONE, claim | fixed, -1, 0);
            if claimed == libc::MAP_FAILED {
                return libc::MAP_FAILED;
            }
            libc::mremap(from, 0, length, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, claimed)
        } else {
            libc::mremap(from, 0, length, libc::MREMAP_MAYMOVE)
        };
        if copy != libc::MAP_FAILED
            && prot != libc::PROT_READ | libc::PROT_WRITE
            && libc::mprotect(copy, length, prot) != 0
        {
            libc::munmap(copy, length);
            return libc::MAP_FAILED;
        }
        copy
    }
}

/// Records that `to` now refers to the same file as `from`.
fn duplicated(from: c_int, to: c_int) -> c_int {
    if to >= 0
        && from != to
        && (hinted(from) || hinted(to))
        && let Some(state) = state()
    {
        state.duplicated(from, to);
    }
    to
}

interpose! {
    fn ioctl(fd: c_int, request: c_ulong, arg: *mut c_void) -> c_int {
        let word = Request(request as u32);
        if matches!(word.family(), Request::DRM | dma_buf::FAMILY | sync_file::FAMILY)
            && let Some(state) = state()
        {
            match state {
                State::Virtual(node) => match node.ioctl(fd, word, arg) {
                    Some(Ok(value)) => return value as c_int,
                    Some(Err(errno)) => return fail(errno, -1),
                    None => {}
                },
                #[cfg(feature = "device")]
                // SAFETY: the caller's contract.
                State::Real(nodes) => unsafe {
                    if let Some(result) = nodes.ioctl(fd, request, arg) {
                        return result;
                    }
                },
            }
        }
        // SAFETY: the caller's contract.
        unsafe { real::ioctl(fd, request, arg) }
    }
    fn mmap(at: *mut c_void, length: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
        if hinted(fd) && flags & libc::MAP_ANONYMOUS == 0
            && let Some(address) = map(at, length, prot, flags, fd, offset)
        {
            return address;
        }
        // SAFETY: the caller's contract.
        unsafe { real::mmap(at, length, prot, flags, fd, offset) }
    }
    fn mmap64(at: *mut c_void, length: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
        // SAFETY: the caller's contract.
        unsafe { mmap(at, length, prot, flags, fd, offset) }
    }
    fn close(fd: c_int) -> c_int {
        // Not in a child of `vfork`, which has its own descriptors but shares the parent's memory.
        let owner = if hinted(fd) { state() } else { None };
        if owner.is_some() {
            hint(fd, false);
        }
        // SAFETY: the caller's contract.
        let result = unsafe { real::close(fd) };
        if let Some(state) = owner {
            state.closed(fd);
        }
        result
    }
    fn dup(fd: c_int) -> c_int {
        // SAFETY: the caller's contract.
        duplicated(fd, unsafe { real::dup(fd) })
    }
    fn dup2(from: c_int, to: c_int) -> c_int {
        // SAFETY: the caller's contract.
        duplicated(from, unsafe { real::dup2(from, to) })
    }
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        duplicated(from, unsafe { real::dup3(from, to, flags) })
    }
    fn fcntl(fd: c_int, command: c_int, arg: usize) -> c_int {
        // SAFETY: the caller's contract.
        let result = unsafe { real::fcntl(fd, command, arg) };
        match command {
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicated(fd, result),
            _ => result,
        }
    }
    fn fcntl64(fd: c_int, command: c_int, arg: usize) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { fcntl(fd, command, arg) }
    }
}
