//! What a front needs to know of any driver: the node it shows, and what an open of it answers.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::gem::Gem;
use crate::token::Registry;
use crate::uapi::{IoctlInfo, Request};
use crate::user::UserMemory;

/// Where a device sits, as sysfs tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bus {
    /// A platform device out of a device tree.
    Platform {
        /// Path of the node in the device tree, `/soc/gpu@206400000`.
        full_name: String,
        /// The `compatible` strings, the most special first.
        compatible: Vec<String>,
    },
}

/// The node of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the kernel's driver.
    pub driver: &'static str,
    /// Where the device sits.
    pub bus: Bus,
}

/// A device behind a render node.
pub trait VirtualDevice: Send + Sync {
    /// The node that it shows.
    fn node(&self) -> Node;

    /// Opens the node.
    fn open(self: Arc<Self>) -> Arc<dyn VirtualFile>;

    /// The objects behind the descriptors that it has handed out.
    fn registry(&self) -> &Registry;
}

/// One open of a render node. The last reference closes it.
pub trait VirtualFile: Send + Sync {
    /// Answers a request. `arg` is the argument as the client passed it, as many bytes as the
    /// request word says, and is updated in place; pointers in it are followed through `user`.
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno>;

    /// The buffer that a mapping of `length` bytes at `offset` shows.
    ///
    /// # Errors
    /// `EINVAL` if no buffer of that size stands there, `EACCES` if this file has no handle of it.
    fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno>;
}

/// A request on its way in.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Which open file, counted in the process from 1.
    pub file: u64,
    /// The request word.
    pub request: Request,
    /// What is known of it; `None` for an unknown number.
    pub info: Option<&'static IoctlInfo>,
    /// The argument before the call.
    pub before: &'a [u8],
    /// The client's memory, for what pointers in the argument lead to.
    pub user: &'a dyn UserMemory,
    /// The node itself, if the request goes on to a real one.
    pub real_node: Option<BorrowedFd<'a>>,
}

/// Watches requests, of a virtual node or on their way to a real one. The callbacks run in the
/// client's thread. A submission may begin to execute before its request is answered.
pub trait CallObserver: Send + Sync {
    /// A node was opened.
    fn opened(&self, _file: u64) {}

    /// A request comes in.
    fn entered(&self, _call: &Call<'_>) {}

    /// A request was answered: the argument after it, and the result.
    fn answered(&self, _call: &Call<'_>, _after: &[u8], _result: Result<u32, Errno>) {}

    /// An open file was closed.
    fn closed(&self, _file: u64) {}
}
