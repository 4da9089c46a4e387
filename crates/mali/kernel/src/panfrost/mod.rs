//! Virtual Mali device that implements the panfrost kernel interface, for chips with a job manager.
//!
//! [`Device::open`] gives a [`File`], which has one address space. The kernel chooses the addresses of buffers in it
//! ([`mod@space`]). A submission is a chain of jobs and waits for the fences of the sync objects that it names and of
//! shared buffers; the file's thread ([`mod@queue`]) lets the model execute chains in the order of their submission.
//! The hardware has two slots that run in parallel and wait for each other through buffers; executing one after the
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

/// The answer to `DRM_IOCTL_VERSION`. The version is that of the header that this interface follows, as far as
/// Mesa distinguishes versions.
pub const DRIVER: DriverInfo = DriverInfo {
    name: "panfrost",
    description: "Arm Mali (Tepui's virtual GPU)",
    version: [1, 6, 0],
};
