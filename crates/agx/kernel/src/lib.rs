//! The virtual AGX device with the asahi kernel interface.
//!
//! A [`Device`] is one chip of the table in `tepui_agx_chips`; [`Device::open`] returns a [`File`], the
//! counterpart of an open render node with its own handles, address spaces and queues; [`File::ioctl`]
//! answers a request of the upstream interface: the word and the argument's bytes, as a kernel sees
//! them. The core's requests go to `tepui_drm`. A submission is validated and parsed in [`submit`],
//! waits in its [`queue`] for its fences, and is executed there by the model
//! ([`tepui_agx_model::Gpu`]), which sees only an address space and the control registers.
//!
//! The same code serves programs in other processes, through the preloaded library, and a driver in
//! this one. An [`Observer`] watches requests and what the GPU executes.
//!
//! ```
//! use tepui_agx_kernel::{Device, Options};
//!
//! let device = Device::new(tepui_agx_chips::chip("m1").unwrap(), Options::default());
//! let file = device.open();
//! assert_eq!(file.device().chip().name, "Apple M1");
//! assert!(device.faults().is_empty());
//! ```
//!
//! Start reading at [`File::ioctl`].

pub mod chips;
mod device;
#[doc(hidden)]
pub mod exercise;
mod file;
mod observer;
pub mod queue;
pub mod submit;
mod vm;

pub use chips::{node, params};
pub use device::{Device, Execute, FaultRecord, Options};
pub use file::File;
pub use observer::{Execution, Observer, Work};

use tepui_drm::core::DriverInfo;

/// Answer to `DRM_IOCTL_VERSION`. The version is the first of the upstream interface.
pub const DRIVER: DriverInfo = DriverInfo {
    name: "asahi",
    description: "Apple AGX (Tepui's virtual GPU)",
    version: [1, 0, 0],
};
