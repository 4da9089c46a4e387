//! What a front needs to know of any driver: the node it shows, and what an open of it answers.

use std::fmt;
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
    /// A PCI device.
    Pci {
        /// Where it is plugged in.
        address: PciAddress,
        /// What its configuration space says it is.
        ids: PciIds,
    },
}

/// The address of a PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciAddress {
    /// Domain.
    pub domain: u16,
    /// Bus.
    pub bus: u8,
    /// Device on the bus, below 32.
    pub device: u8,
    /// Function of the device, below 8.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PciAddress { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

/// Identification of a PCI function, as its configuration space has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciIds {
    /// Vendor: 0x8086 is Intel.
    pub vendor: u16,
    /// Device.
    pub device: u16,
    /// Vendor of the board.
    pub subsystem_vendor: u16,
    /// Board.
    pub subsystem_device: u16,
    /// Revision of the device.
    pub revision: u8,
    /// Class: base class, subclass and programming interface, 0x030000 for a VGA controller.
    pub class: u32,
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
