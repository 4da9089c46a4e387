//! `libtepui_drm_shim.so`: a virtual DRM render node for programs that Tepui did not write.
//!
//! Preloaded (`LD_PRELOAD`, set by `tepui shim`), the library interposes the libc functions through
//! which libdrm, Mesa and the Vulkan loader find and use a render node. Paths of the node and of
//! its sysfs directory are looked up in a small tree in memory (`tree`). Opening the node returns a
//! socket, which the program can duplicate, poll and pass on like any descriptor; its `ioctl` and
//! `mmap` are handled by a [`VirtualDevice`](tepui_drm::device::VirtualDevice), in this process or in
//! another (`node`). All other calls go to the next `libc` (`real`) after one or two comparisons.
//!
//! Without `TEPUI_GPU` in the environment the library does nothing. With `TEPUI_SERVER` the device is
//! in the process that serves at that path. With `TEPUI_GPU=real` the library adds
//! no node, but passes the ioctls of the machine's own nodes to an observer (`passthrough`).
//!
//! Built without the feature `device`, as for programs of another architecture, the library has no device of its
//! own and only forwards.
//!
//! - Descriptors of the virtual device are recognised by their inode, so `dup`, `fork` and
//!   descriptors passed through sockets need no tracking.
//! - If the device is in this process, a descriptor inherited over `fork` or
//!   `exec` stays open but is no longer connected to it: a child must open the node itself. Buffers can be
//!   shared with other processes through their descriptors, sync objects and sync files cannot.
//! - If another process serves the device, all descriptors work in all of its clients.
//! - Paths are absolute, or relative to an open directory. A directory of the tree that the machine does not have is opened as an empty
//!   one, whose name for the kernel has the path.
//! - Programs that make system calls without libc are not supported.
//! - The library exports only the interposed functions, writes nothing to standard output, and
//!   aborts with a message instead of unwinding a panic into the program.
//!
//! Start reading at `state`; `descriptors`, `directories`, `files` and `stats` are groups of
//! interposed functions.

#![cfg_attr(test, allow(dead_code, reason = "the interposed functions are not exported to tests"))]

#[cfg(feature = "device")]
mod config;
mod descriptors;
mod directories;
mod files;
#[cfg(feature = "device")]
mod here;
mod hints;
mod node;
#[cfg(feature = "device")]
mod passthrough;
mod real;
mod state;
mod stats;
mod tree;

/// Defines exported C functions that replace libc's. A panic in a body cannot unwind into the
/// program: it aborts the process with the panic's message.
macro_rules! interpose {
    ($( fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block )*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[doc = concat!("Interposes libc's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As libc's.
        #[allow(clippy::missing_safety_doc, reason = "the line above")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret $body
    )*};
}
use interpose;
