//! The DRM core, on the kernel's side of a render node: uAPI structures ([`uapi`]), GEM handles and
//! PRIME ([`gem`], [`dma_buf`]), fences and sync objects ([`fence`], [`syncobj`], [`sync_file`]), and
//! the core's ioctls of an open file ([`core`]), and the state of devices and open files that all drivers have
//! ([`interface`], [`threads`]). The kernel interfaces of all families use it.
//!
//! An ioctl arrives as a request word and the bytes of its argument. Numbers 0x40 to 0x9f are the
//! driver's own; everything else goes to [`core::CoreFile::ioctl`]. Pointers inside an argument are
//! followed through [`user::UserMemory`], so that a wrong one is `EFAULT` and a test can provide its
//! own memory.
//!
//! [`client`] is the other side: what a user-space driver calls on a render node, or on a virtual device of its process.
//! [`device`] has the traits through which the preloaded library uses any driver.
//! Start reading at [`core`].
//!
//! ```
//! use tepui_drm::uapi::core::Ioctl;
//!
//! let info = Ioctl::GemClose.info();
//! assert_eq!((info.name, info.request.size()), ("DRM_IOCTL_GEM_CLOSE", 8));
//! ```

pub mod call_log;
pub mod client;
pub mod core;
pub mod device;
pub mod dma_buf;
#[doc(hidden)]
pub mod exercise;
pub mod fence;
pub mod gem;
pub mod ids;
pub mod interface;
pub mod refusal;
mod shared_use;
pub mod sync_file;
pub mod syncobj;
pub mod threads;
pub mod token;
pub mod uapi;
pub mod user;

pub use rustix::io::Errno;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks and ignores poisoning: every critical section here leaves its data consistent, even if it
/// panics.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Now, on CLOCK_MONOTONIC, in nanoseconds: the clock of every deadline and of the GPU's time.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Starts a thread in the client's process with all signals blocked, so that it handles none of the
/// client's.
pub fn spawn(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    // SAFETY: both sets are plain data that the calls fill and read; a new thread inherits the
    // mask.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started = thread.spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        started
    }
}
