//! Virtual Intel device that implements the i915 kernel interface.
//!
//! A [`Device`] is one chip of the table in `tepui_intel_chips`; [`Device::open`] gives a [`File`], the
//! counterpart of an open render node with its own handles, address spaces and contexts; [`File::ioctl`]
//! answers a request of the upstream interface: the word and the argument's bytes, as a kernel sees them. The
//! core's requests go to `tepui_drm`. A submission (EXECBUFFER2) is checked in `exec`, waits in its context's
//! `queue` for the fences that it names, binds its buffers at the addresses that the client pinned, and is
//! run there by the model ([`tepui_intel_model::Gpu`]), which sees an address space and the address of a
//! batch, nothing else.
//!
//! ```
//! use tepui_intel_kernel::{Device, Options};
//!
//! let device = Device::new(tepui_intel_chips::chip("skl").unwrap(), Options::default());
//! let file = device.open();
//! assert_eq!(file.device().chip().device_id, 0x1912);
//! assert!(device.faults().is_empty());
//! ```
//!
//! Start reading at [`File::ioctl`].

pub mod chips;
mod context;
mod device;
mod exec;
#[doc(hidden)]
pub mod exercise;
mod extension;
mod file;
mod gem;
mod observer;
mod query;
mod queue;
mod relocation;
mod vm;

pub use device::{Device, Execute, FaultRecord, Options};
pub use file::File;
pub use observer::{Execution, Observer};

use tepui_drm::core::DriverInfo;

/// The answer to `DRM_IOCTL_VERSION`: the driver's name and version of the upstream kernel.
pub const DRIVER: DriverInfo = DriverInfo {
    name: "i915",
    description: "Intel Graphics (Tepui's virtual GPU)",
    version: [1, 6, 0],
};
