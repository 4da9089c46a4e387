//! `libtepui_drm_shim.so`: a virtual DRM render node for programs that Tepui did not write.
//!
//! Preloaded (`LD_PRELOAD`, best through `tepui shim`), the library stands in for the few functions
//! of libc through which libdrm, Mesa and the Vulkan loader find and use a render node. Paths of the
//! node and of its sysfs directory are answered from a small tree in memory (`tree`); an open of
//! the node is a socket that the program can duplicate, poll and pass on like any descriptor; its
//! `ioctl` and `mmap` go to a [`VirtualDevice`](tepui_drm::device::VirtualDevice) (`state`). All
//! else goes straight to the next `libc` (`real`), after a comparison or two.
//!
//! Without `TEPUI_GPU` in the environment the library does nothing. With `TEPUI_GPU=real` it shows
//! no node, but lets an observer watch the requests to the machine's own (`passthrough`).
//!
//! - Which descriptors are ours is told by their inode, so `dup`, `fork` and descriptors that travel
//!   through sockets need no bookkeeping. A descriptor that was inherited over `fork` or `exec`
//!   stays open but has no device behind it: a child opens the node itself.
//! - Buffers can be shared with other processes through their descriptors; sync objects and sync
//!   files only within this one.
//! - Paths must be absolute. Directories of the tree that do not exist on the machine can be listed
//!   with `opendir` and `scandir`, but not opened with `open`.
//! - Programs that make system calls without libc are not reached.
//! - The library exports the interposed functions and nothing else, writes nothing to standard
//!   output, and aborts with a message rather than let a panic into the program.
//!
//! Start reading at `state`; each of the other modules is one group of interposed functions.

#![cfg_attr(test, allow(dead_code, reason = "the interposed functions are not exported to tests"))]

mod config;
mod descriptors;
mod directories;
mod files;
mod observer;
mod passthrough;
mod real;
mod state;
mod stats;
mod tree;

/// Interposed functions come in groups of the same shape; this spares each its boilerplate. A body
/// runs with the C arguments; a panic in it cannot unwind into the program, but ends it, with the
/// panic's message.
macro_rules! interpose {
    ($( fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block )*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[doc = concat!("Stands in for libc's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As libc's.
        #[allow(clippy::missing_safety_doc, reason = "the line above")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret $body
    )*};
}
use interpose;
