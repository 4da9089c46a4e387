//! The virtual node of this process, and the two ways to its device.

use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::token::FileId;
use tepui_drm::uapi::Request;
use tepui_drm::user::ThisProcess;
use tepui_transport::{Answer, Host, Remote};

use crate::hints;
use crate::tree::Tree;

/// The virtual node.
pub struct Virtual {
    /// The way to the device.
    pub device: Device,
    /// Its paths.
    pub tree: Tree,
}

/// The way to the device.
pub enum Device {
    /// In this process.
    #[cfg_attr(
        not(feature = "device"),
        expect(dead_code, reason = "made where this library has devices")
    )]
    Here(Host),
    /// In another process, which serves it.
    Elsewhere(Remote),
}

/// The memory for an mmap through the node.
pub enum Mapping {
    /// A buffer of this process.
    Here(Arc<Gem>),
    /// A file, to be mapped at offset 0.
    File(OwnedFd),
}

/// Access to this process for requests of the program.
fn this_process() -> ThisProcess {
    // SAFETY: the requests that are answered with it are the program's own, with the program's own pointers.
    unsafe { ThisProcess::new() }
}

/// The file of a descriptor. `None` for one that is closed.
fn file_of(fd: c_int) -> Option<FileId> {
    if fd < 0 {
        return None;
    }
    // SAFETY: the number is only passed to `fstat`, which fails for a closed descriptor.
    FileId::of(unsafe { BorrowedFd::borrow_raw(fd) }).ok()
}

impl Virtual {
    /// Opens the node and returns a descriptor of the open file.
    pub fn open(&self, flags: c_int) -> Result<OwnedFd, Errno> {
        match &self.device {
            Device::Here(host) => {
                let fd = host.open(&this_process(), flags)?;
                // SAFETY: the host has installed it in this process, for this call.
                Ok(unsafe { OwnedFd::from_raw_fd(fd) })
            }
            Device::Elsewhere(remote) => remote.open(flags),
        }
    }

    /// Handles an ioctl if its descriptor belongs to the device.
    pub fn ioctl(&self, fd: c_int, request: Request, arg: *mut c_void) -> Answer<u32> {
        let arg = arg as u64;
        let answer = match &self.device {
            Device::Here(host) => host.ioctl(&this_process(), file_of(fd)?, request, arg),
            Device::Elsewhere(remote) => remote.ioctl(fd, request, arg),
        };
        if request.family() == Request::DRM {
            hints::hint(fd, answer.is_some());
        }
        answer
    }

    /// Finds the memory for an mmap if its descriptor is an open node.
    pub fn mapping(
        &self,
        fd: c_int,
        offset: u64,
        length: u64,
        protection: c_int,
        flags: c_int,
    ) -> Answer<Mapping> {
        let answer = match &self.device {
            Device::Here(host) => host
                .mapping(file_of(fd)?, offset, length, protection, flags)
                .map(|gem| gem.map(Mapping::Here)),
            Device::Elsewhere(remote) => remote
                .mapping(fd, offset, length, protection, flags)
                .map(|fd| fd.map(Mapping::File)),
        };
        hints::hint(fd, answer.is_some());
        answer
    }

    /// Whether a descriptor is an open node.
    pub fn is_node(&self, fd: c_int) -> bool {
        let is_node = match &self.device {
            Device::Here(host) => file_of(fd).is_some_and(|file| host.is_node(file)),
            Device::Elsewhere(remote) => remote.is_node(fd),
        };
        if fd >= 0 {
            hints::hint(fd, is_node);
        }
        is_node
    }

    /// Called after descriptors of the device may have been closed.
    pub fn closed(&self) {
        match &self.device {
            Device::Here(host) => host.sweep(),
            // The server sees it.
            Device::Elsewhere(_) => {}
        }
    }
}
