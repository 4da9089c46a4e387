//! Traits of virtual devices: the render node that a driver presents, and its open files. The preloaded
//! library and in-process clients use every family's device through them.

use std::borrow::Cow;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::gem::Gem;
use crate::token::Registry;
use crate::uapi::{IoctlInfo, Request};
use crate::user::UserMemory;

/// The bus that a device is on, as sysfs shows it.
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
        /// Its address.
        address: PciAddress,
        /// Its identification.
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
    /// Subsystem vendor.
    pub subsystem_vendor: u16,
    /// Subsystem device.
    pub subsystem_device: u16,
    /// Revision of the device.
    pub revision: u8,
    /// Class: base class, subclass and programming interface, 0x030000 for a VGA controller.
    pub class: u32,
}

/// A device as its node and sysfs directory describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the kernel's driver.
    pub driver: Cow<'static, str>,
    /// The bus that the device is on.
    pub bus: Bus,
}

/// A device with a render node.
pub trait VirtualDevice: Send + Sync {
    /// Describes the device.
    fn node(&self) -> Node;

    /// Opens the render node.
    fn open(self: Arc<Self>) -> Arc<dyn VirtualFile>;

    /// The registry of the objects that the device's file descriptors refer to.
    fn registry(&self) -> &Registry;
}

/// An open file of a render node. Dropping the last reference closes it.
pub trait VirtualFile: Send + Sync {
    /// Executes an ioctl. `arg` holds the argument's bytes, as many as the request word encodes, and is
    /// updated in place; pointers in it are followed through `user`.
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno>;

    /// Finds the buffer for an mmap of `length` bytes at `offset`.
    ///
    /// # Errors
    /// `EINVAL` if no buffer of that size is at the offset, `EACCES` if this file has no handle of it.
    fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno>;
}

/// An ioctl as an observer sees it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The open file, numbered from 1 within the process.
    pub file: u64,
    /// The request word.
    pub request: Request,
    /// Name and fields of the request; `None` for an unknown number.
    pub info: Option<&'static IoctlInfo>,
    /// The argument's bytes before the call.
    pub before: &'a [u8],
    /// The client's memory, to follow pointers in the argument.
    pub user: &'a dyn UserMemory,
    /// The real render node's descriptor, if the request goes on to one.
    pub real_node: Option<BorrowedFd<'a>>,
}

/// Observes ioctls of a virtual node, or of a real one that they are passed on to. Callbacks run on
/// the client's thread. A submission may begin to execute before its ioctl returns.
pub trait CallObserver: Send + Sync {
    /// A node was opened.
    fn opened(&self, _file: u64) {}

    /// An ioctl begins.
    fn entered(&self, _call: &Call<'_>) {}

    /// An ioctl returned: the argument's bytes after it, and the result.
    fn answered(&self, _call: &Call<'_>, _after: &[u8], _result: Result<u32, Errno>) {}

    /// An open file was closed.
    fn closed(&self, _file: u64) {}
}
