//! The original functions: those of the next library (libc) that this library interposes.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{DIR, FILE, dirent, mode_t, off_t, size_t, ssize_t, stat as Stat, statx as Statx};

/// `scandir`'s choice of entries.
pub type Filter = Option<unsafe extern "C" fn(*const dirent) -> c_int>;
/// `scandir`'s order of entries.
pub type Compare = Option<unsafe extern "C" fn(*mut *const dirent, *mut *const dirent) -> c_int>;

/// Looks up the original of an interposed function. It exists: otherwise the program could not have
/// called it.
fn next(name: &CStr) -> *mut c_void {
    // SAFETY: a constant name; RTLD_NEXT searches the libraries after this one.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        eprintln!("tepui: libc has no {}", name.to_string_lossy());
        std::process::abort();
    }
    found
}

macro_rules! real {
    ($( fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty; )*) => {$(
        #[doc = concat!("The original `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As libc's.
        #[inline]
        pub unsafe fn $name($($arg: $ty),*) -> $ret {
            static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let mut found = FOUND.load(Ordering::Relaxed);
            if found.is_null() {
                const NAME: &CStr = match CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes(),
                ) { Ok(name) => name, Err(_) => panic!() };
                found = next(NAME);
                FOUND.store(found, Ordering::Relaxed);
            }
            // SAFETY: the symbol has this type; the caller vouches for the arguments.
            unsafe {
                let function: unsafe extern "C" fn($($ty),*) -> $ret =
                    std::mem::transmute(found);
                function($($arg),*)
            }
        }
    )*};
}

// `open`, `ioctl` and `fcntl` are variadic in C. On the 64-bit Linux ABIs variadic integer and
// pointer arguments are passed like fixed ones, so a fixed prototype works.
real! {
    fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn close(fd: c_int) -> c_int;
    fn dup(fd: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, arg: usize) -> c_int;
    fn ioctl(fd: c_int, request: c_ulong, arg: *mut c_void) -> c_int;
    fn mmap(at: *mut c_void, length: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void;
    fn faccessat(dir: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int;
    fn readlinkat(dir: c_int, path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t;
    fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char;
    fn fstat(fd: c_int, into: *mut Stat) -> c_int;
    fn fstatat(dir: c_int, path: *const c_char, into: *mut Stat, flags: c_int) -> c_int;
    fn statx(dir: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut Statx) -> c_int;
    fn opendir(path: *const c_char) -> *mut DIR;
    fn fdopendir(fd: c_int) -> *mut DIR;
    fn readdir(dir: *mut DIR) -> *mut dirent;
    fn closedir(dir: *mut DIR) -> c_int;
    fn rewinddir(dir: *mut DIR) -> ();
    fn telldir(dir: *mut DIR) -> c_long;
    fn seekdir(dir: *mut DIR, at: c_long) -> ();
    fn dirfd(dir: *mut DIR) -> c_int;
    fn scandir(path: *const c_char, list: *mut *mut *mut dirent, filter: Filter, compare: Compare) -> c_int;
}
