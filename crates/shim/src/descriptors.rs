//! Interposed functions that take a file descriptor: `ioctl`, `mmap`, `close`, `dup` and their
//! variants.

use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{off_t, size_t};
use rustix::io::Errno;
use tepui_drm::dma_buf;
use tepui_drm::gem::Gem;
use tepui_drm::sync_file::{self, SyncFile};
use tepui_drm::uapi::Request;
use tepui_drm::user::{ThisProcess, UserMemory};

use crate::hints::hint;
use crate::state::{State, Virtual, fail, hinted, state, virtual_node};
use crate::{interpose, real};

/// Handles an ioctl if its descriptor belongs to the virtual device: an open node, a dma-buf or a
/// sync file. Otherwise returns `None`.
fn device_ioctl(
    node: &Virtual,
    fd: c_int,
    request: Request,
    arg: *mut c_void,
) -> Option<Result<u32, Errno>> {
    if fd < 0 {
        return None;
    }
    // SAFETY: the program's own request, with the program's own pointers.
    let user = unsafe { ThisProcess::new() };
    // SAFETY: the number is only passed to system calls, which fail for a closed descriptor.
    let descriptor = unsafe { BorrowedFd::borrow_raw(fd) };
    let registry = node.device.registry();
    match request.family() {
        Request::DRM => {
            let file = node.file(fd)?;
            Some(with_argument(&user, request, arg, |arg| file.ioctl(&user, request, arg)))
        }
        dma_buf::FAMILY => {
            let gem = registry.find::<Gem>(descriptor)?;
            Some(with_argument(&user, request, arg, |arg| {
                dma_buf::ioctl(registry, &gem, request, arg).map(|()| 0)
            }))
        }
        sync_file::FAMILY => {
            let file = registry.find::<SyncFile>(descriptor)?;
            Some(with_argument(&user, request, arg, |arg| {
                file.ioctl(registry, &user, request, arg).map(|()| 0)
            }))
        }
        _ => None,
    }
}

/// Copies the argument in and, whatever the result, out again, as the kernel does.
fn with_argument(
    user: &ThisProcess,
    request: Request,
    arg: *mut c_void,
    body: impl FnOnce(&mut [u8]) -> Result<u32, Errno>,
) -> Result<u32, Errno> {
    // Known arguments have at most 64 bytes; a request number can encode up to 16 KiB.
    const USUAL_BYTES: usize = 128;
    let (mut small, mut large);
    let bytes: &mut [u8] = if request.size() <= USUAL_BYTES {
        small = [0; USUAL_BYTES];
        &mut small[..request.size()]
    } else {
        large = vec![0; request.size()];
        &mut large
    };
    if request.kernel_reads() {
        user.read(arg as u64, bytes)?;
    }
    let result = body(bytes);
    if request.kernel_writes() {
        user.write(arg as u64, bytes)?;
    }
    result
}

/// Maps a buffer object through the node. `None` if the descriptor is not an open node.
fn map(
    at: *mut c_void,
    length: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> Option<*mut c_void> {
    let file = virtual_node()?.file(fd)?;
    let gem = match file.mapping(offset as u64, length as u64) {
        Ok(gem) => gem,
        Err(errno) => return Some(fail(errno, libc::MAP_FAILED)),
    };
    // The kernel also refuses private writable mappings of device memory.
    if flags & libc::MAP_SHARED == 0 && prot & libc::PROT_WRITE != 0 {
        return Some(fail(Errno::INVAL, libc::MAP_FAILED));
    }
    // SAFETY: the program's own arguments; the new mapping itself keeps the memory alive.
    Some(unsafe {
        match gem.file() {
            Some(file) => real::mmap(at, length, prot, flags, file.as_raw_fd(), 0),
            None => duplicate_mapping(gem.base().cast(), at, length, prot, flags),
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
                State::Virtual(node) => match device_ioctl(node, fd, word, arg) {
                    Some(Ok(value)) => return value as c_int,
                    Some(Err(errno)) => return fail(errno, -1),
                    None => {}
                },
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
