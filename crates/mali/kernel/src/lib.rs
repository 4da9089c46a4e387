//! Virtual Mali devices that implement the panthor kernel interface and, for chips with a job manager, panfrost's
//! ([`mod@panfrost`]).
//!
//! A [`Device`] is one chip of the table in `tepui_mali_chips` with a command-stream front end; [`Device::open`]
//! gives a [`File`], the counterpart of an open render node; [`File::ioctl`] answers a request. The core's requests go
//! to `tepui_drm`. Address spaces are in `vm`, groups of queues in `group`, each with a thread that lets the model
//! ([`tepui_mali_model::Gpu`]) execute the streams whose fences have signalled.
//!
//! ```
//! use tepui_mali_kernel::{Device, Options};
//!
//! let device = Device::new(tepui_mali_chips::chip("mali-g610").unwrap(), Options::default());
//! let file = device.open();
//! assert_eq!(file.device().chip().name, "Mali-G610");
//! assert!(device.faults().is_empty());
//! ```
//!
//! Start reading at [`File::ioctl`].

mod array;
mod bind;
pub mod chips;
mod device;
#[doc(hidden)]
pub mod exercise;
mod file;
mod gem;
mod group;
mod heap;
mod observer;
pub mod panfrost;
mod query;
mod submit;
mod vm;

pub use chips::node;
pub use device::{Device, Execute, FaultRecord, Options, Queues};
pub use file::File;
pub use observer::{Execution, Observer, StreamStart};

use tepui_drm::core::DriverInfo;

/// The answer to `DRM_IOCTL_VERSION`. The version is that of the header that this interface follows, as far as
/// Mesa distinguishes versions.
pub const DRIVER: DriverInfo = DriverInfo {
    name: "panthor",
    description: "Arm Mali (Tepui's virtual GPU)",
    version: [1, 8, 0],
};
