//! Interposed functions of the `stat` family. On the 64-bit ABIs `stat` and `stat64` are the same
//! structure.

use std::ffi::{c_char, c_int, c_uint};

use libc::{stat as Stat, statx as Statx};
use rustix::io::Errno;

use crate::state::{Target, fail, hinted, target_at, virtual_node};
use crate::tree::{DRM_MAJOR, Entry};
use crate::{interpose, real};

/// Type and permissions of an entry, and its size.
fn mode_and_size(entry: &Entry) -> (u32, i64) {
    match entry {
        Entry::Directory(_) => (libc::S_IFDIR | 0o755, 0),
        // sysfs reports a page as the size of each file.
        Entry::File(_) => (libc::S_IFREG | 0o444, 4096),
        Entry::Link(target) => (libc::S_IFLNK | 0o777, target.len() as i64),
        Entry::RenderNode => (libc::S_IFCHR | 0o666, 0),
    }
}

/// Minor number of the node, for `st_rdev`.
fn node_number() -> Option<u32> {
    virtual_node().map(|node| node.tree.minor)
}

/// Whether a descriptor is an open node.
fn is_node(fd: c_int) -> bool {
    virtual_node().is_some_and(|node| node.is_node(fd))
}

fn fill(entry: &Entry, into: &mut Stat) {
    // SAFETY: a plain structure of numbers.
    *into = unsafe { std::mem::zeroed() };
    (into.st_mode, into.st_size) = mode_and_size(entry);
    into.st_nlink = 1;
    into.st_blksize = 4096;
    into.st_ino = std::ptr::from_ref(entry) as u64;
    if *entry == Entry::RenderNode {
        into.st_rdev = libc::makedev(DRM_MAJOR, node_number().unwrap_or(0));
    }
}

unsafe fn stat_at(dir: c_int, path: *const c_char, into: *mut Stat, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments, or a path of the tree.
    unsafe {
        if flags & libc::AT_EMPTY_PATH != 0 && !path.is_null() && *path == 0 && hinted(dir) {
            return stat_fd(dir, into);
        }
        match target_at(dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) {
            Target::Pass => real::fstatat(dir, path, into, flags),
            Target::Path(path) => real::fstatat(dir, path.as_ptr(), into, flags),
            Target::Entry(entry, _) => {
                let on_machine = matches!(entry, Entry::Directory(_))
                    && real::fstatat(dir, path, into, flags) == 0;
                if !on_machine {
                    fill(entry, &mut *into);
                }
                0
            }
        }
    }
}

unsafe fn stat_fd(fd: c_int, into: *mut Stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe {
        let result = real::fstat(fd, into);
        if result == 0 && hinted(fd) && is_node(fd) {
            let inode = (*into).st_ino;
            fill(&Entry::RenderNode, &mut *into);
            (*into).st_ino = inode;
        }
        result
    }
}

fn fill_statx(entry: &Entry, into: &mut Statx) {
    // SAFETY: a plain structure of numbers.
    *into = unsafe { std::mem::zeroed() };
    let (mode, size) = mode_and_size(entry);
    into.stx_mask = libc::STATX_BASIC_STATS;
    into.stx_mode = mode as u16;
    into.stx_size = size as u64;
    into.stx_nlink = 1;
    into.stx_blksize = 4096;
    into.stx_ino = std::ptr::from_ref(entry) as u64;
    if *entry == Entry::RenderNode {
        into.stx_rdev_major = DRM_MAJOR;
        into.stx_rdev_minor = node_number().unwrap_or(0);
    }
}

interpose! {
    fn stat(path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, 0) }
    }
    fn stat64(path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, 0) }
    }
    fn lstat(path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, libc::AT_SYMLINK_NOFOLLOW) }
    }
    fn lstat64(path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, libc::AT_SYMLINK_NOFOLLOW) }
    }
    fn fstat(fd: c_int, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_fd(fd, into) }
    }
    fn fstat64(fd: c_int, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_fd(fd, into) }
    }
    fn fstatat(dir: c_int, path: *const c_char, into: *mut Stat, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(dir, path, into, flags) }
    }
    fn fstatat64(dir: c_int, path: *const c_char, into: *mut Stat, flags: c_int) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(dir, path, into, flags) }
    }
    fn statx(dir: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut Statx) -> c_int {
        // SAFETY: the caller's arguments, or a path of the tree.
        unsafe {
            let own_fd = || {
                // `path` may be null from kernel 6.11 on.
                let empty = path.is_null() || *path == 0;
                let asks = flags & libc::AT_EMPTY_PATH != 0 && empty && hinted(dir);
                asks && is_node(dir)
            };
            if own_fd() {
                if into.is_null() {
                    return fail(Errno::FAULT, -1);
                }
                fill_statx(&Entry::RenderNode, &mut *into);
                return 0;
            }
            match target_at(dir, path, flags & libc::AT_SYMLINK_NOFOLLOW == 0) {
                Target::Pass => real::statx(dir, path, flags, mask, into),
                Target::Path(path) => real::statx(dir, path.as_ptr(), flags, mask, into),
                Target::Entry(entry, _) => {
                    let on_machine = matches!(entry, Entry::Directory(_))
                        && real::statx(dir, path, flags, mask, into) == 0;
                    if !on_machine {
                        fill_statx(entry, &mut *into);
                    }
                    0
                }
            }
        }
    }
    // Called by programs built against glibc before 2.33.
    fn __xstat(_version: c_int, path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, 0) }
    }
    fn __xstat64(_version: c_int, path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, 0) }
    }
    fn __lxstat(_version: c_int, path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, libc::AT_SYMLINK_NOFOLLOW) }
    }
    fn __lxstat64(_version: c_int, path: *const c_char, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_at(libc::AT_FDCWD, path, into, libc::AT_SYMLINK_NOFOLLOW) }
    }
    fn __fxstat(_version: c_int, fd: c_int, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_fd(fd, into) }
    }
    fn __fxstat64(_version: c_int, fd: c_int, into: *mut Stat) -> c_int {
        // SAFETY: the caller's contract.
        unsafe { stat_fd(fd, into) }
    }
}
