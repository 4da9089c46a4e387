//! Transport of a program's calls to a virtual device.
//!
//! A [`Host`] holds a device and its open files, and answers calls of a client: open, ioctl, mmap. The client is a
//! [`UserMemory`](tepui_drm::user::UserMemory): memory and descriptors. There are two ways to a host:
//!
//! - in the client's own process: [`Host`]'s functions are called with
//!   [`ThisProcess`](tepui_drm::user::ThisProcess);
//! - in another process: a [`Remote`] sends each call as a [message] over a socket to a [`Server`], which makes the
//!   same call with a client whose memory it reads and writes at the client's own addresses
//!   (`process_vm_readv`), and whose descriptors travel over the socket. Several processes can use one device, and
//!   buffers, sync objects and sync files pass between them as descriptors.
//!
//! The program may be of another architecture than the server: one that runs in a user-mode emulator sees its memory
//! at the host's addresses, which the server verifies when the program connects.
//!
//! Start reading at [`Host`], then [`message`].

mod client;
mod host;
pub mod message;
mod pages;
mod remote;
mod server;
mod socket;

pub use host::{Answer, Host};
pub use remote::{ConnectError, Remote};
pub use server::{ServeError, Server};

/// Environment variable with the path of the server's socket.
pub const SERVER_VARIABLE: &str = "TEPUI_SERVER";

/// The lowest minor number that no render node of the machine has.
pub fn free_minor() -> u32 {
    (128..192)
        .find(|minor| {
            let path = format!("/dev/dri/renderD{minor}");
            matches!(rustix::fs::stat(path), Err(rustix::io::Errno::NOENT))
        })
        .unwrap_or(191)
}
