//! The virtual Mali device behind the panfrost kernel interface: chips with a job manager.
//!
//! [`Device::open`] gives a [`File`], which has one address space. The kernel chooses where buffers are in it
//! ([`mod@space`]). A submission is a chain of jobs and waits for the fences of the sync objects that it names and of the
//! buffers that others use; the file's thread ([`mod@queue`]) lets the model execute chains in the order of their
//! submission. The header has two slots that run side by side, of which one waits for the other through buffers; one after the
//! other is an order that both allow.

mod device;
#[doc(hidden)]
pub mod exercise;
mod file;
mod params;
mod queue;
mod space;

pub use device::{Device, FaultRecord};
pub use file::File;

use tepui_drm::core::DriverInfo;

/// What `DRM_IOCTL_VERSION` says. The version is that of the header that this interface follows, as far as Mesa
/// tells them apart.
pub const DRIVER: DriverInfo = DriverInfo {
    name: "panfrost",
    description: "Arm Mali (Tepui's virtual GPU)",
    version: [1, 6, 0],
};
