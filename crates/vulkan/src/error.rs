//! Errors on their way to the API: a result code, and the reason for whoever reads the debug output.

use std::fmt;

use rustix::io::Errno;
use vulkanalia_sys as vk;

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Error {
    /// Result code for the application.
    pub code: vk::Result,
    /// Description of the error.
    pub why: String,
}

/// A result whose error is a Vulkan code.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with its reason.
    pub fn new(code: vk::Result, why: impl Into<String>) -> Error {
        Error { code, why: why.into() }
    }

    /// The host has no memory for an object.
    pub fn host_memory() -> Error {
        Error::new(vk::Result::ERROR_OUT_OF_HOST_MEMORY, "no host memory")
    }

    /// The device has no memory.
    pub fn device_memory(why: impl fmt::Display) -> Error {
        Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, why.to_string())
    }

    /// Something that the driver does not do.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("not supported: {what}"))
    }

    /// A failed request to the kernel.
    pub fn kernel(what: &str, errno: Errno) -> Error {
        let code = match errno {
            Errno::NOMEM | Errno::NOSPC => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
            Errno::MFILE | Errno::NFILE => vk::Result::ERROR_TOO_MANY_OBJECTS,
            Errno::IO | Errno::NODEV | Errno::CANCELED => vk::Result::ERROR_DEVICE_LOST,
            _ => vk::Result::ERROR_UNKNOWN,
        };
        Error::new(code, format!("{what}: {errno}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.why, self.code.as_raw())
    }
}

impl std::error::Error for Error {}
