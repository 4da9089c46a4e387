//! Errors of surfaces and swapchains, and the Vulkan result codes that they correspond to.

use rustix::io::Errno;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::ErrorKind;

/// Error of an operation on a surface or swapchain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The window was destroyed or the connection to the server ended: `VK_ERROR_SURFACE_LOST_KHR`.
    #[error("the window or the connection to its server is gone")]
    SurfaceLost,
    /// The swapchain was replaced by a newer one: `VK_ERROR_OUT_OF_DATE_KHR`.
    #[error("the swapchain was replaced by a newer one")]
    OutOfDate,
    /// No image became free in time: `VK_TIMEOUT`, or `VK_NOT_READY` if the timeout was zero.
    #[error("nothing became available in time")]
    Timeout,
    /// Another swapchain that was not given as the old one presents to this window:
    /// `VK_ERROR_NATIVE_WINDOW_IN_USE_KHR`.
    #[error("another swapchain presents to this window")]
    WindowInUse,
    /// Memory, here or in the server, ran out: `VK_ERROR_OUT_OF_HOST_MEMORY`.
    #[error("out of memory")]
    OutOfMemory,
    /// A library of the window system is not installed: `VK_ERROR_INITIALIZATION_FAILED`.
    #[error("{0} cannot be loaded, or lacks a function")]
    Library(&'static str),
    /// A pointer or window of the caller is no object of this kind.
    #[error("not a valid {0}")]
    InvalidHandle(&'static str),
    /// The image is not the caller's to present or release, or there is no such image.
    #[error("image {image} of {count} is not acquired")]
    NotAcquired {
        /// The index that was given.
        image: u32,
        /// The number of images of the swapchain.
        count: u32,
    },
    /// The requested configuration of a swapchain is not one that the surface supports.
    #[error("the surface does not offer this {0}")]
    Unsupported(Property),
    /// The memory of an image is too small for its size, pitch and offset.
    #[error("an image of {needed} bytes in memory of {given}")]
    ImageMemory {
        /// Bytes from the start of the memory to the end of the image.
        needed: u64,
        /// Bytes of the memory.
        given: u64,
    },
    /// The X server refused a request.
    #[error("the X server answers a request with {0:?}")]
    Request(ErrorKind),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] Errno),
}

/// A property of a swapchain that a surface may not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The pixel format.
    Format,
    /// Compositing of the alpha channel.
    Alpha,
    /// The presentation mode.
    Mode,
    /// The size of the images.
    Extent,
    /// The number of images.
    Count,
    /// The row pitch, or the offset of an image in its memory.
    Layout,
    /// Location of the pixels: those of a shared image are in its memory.
    Pixels,
}

impl std::fmt::Display for Property {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Property::Format => "format",
            Property::Alpha => "composite alpha",
            Property::Mode => "presentation mode",
            Property::Extent => "extent",
            Property::Count => "number of images",
            Property::Layout => "row pitch or offset",
            Property::Pixels => "source of pixels",
        })
    }
}

/// The result of an operation on a surface or swapchain.
pub type Result<T> = std::result::Result<T, Error>;

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Error {
        match error {
            ConnectError::InsufficientMemory => Error::OutOfMemory,
            _ => Error::InvalidHandle("X connection"),
        }
    }
}

impl From<ConnectionError> for Error {
    fn from(error: ConnectionError) -> Error {
        match error {
            ConnectionError::InsufficientMemory => Error::OutOfMemory,
            // A connection in an error state stays in it.
            _ => Error::SurfaceLost,
        }
    }
}

impl From<ReplyError> for Error {
    fn from(error: ReplyError) -> Error {
        match error {
            ReplyError::ConnectionError(error) => error.into(),
            ReplyError::X11Error(error) => match error.error_kind {
                ErrorKind::Window | ErrorKind::Drawable => Error::SurfaceLost,
                ErrorKind::Alloc => Error::OutOfMemory,
                kind => Error::Request(kind),
            },
        }
    }
}

impl From<ReplyOrIdError> for Error {
    fn from(error: ReplyOrIdError) -> Error {
        match error {
            ReplyOrIdError::IdsExhausted => Error::OutOfMemory,
            ReplyOrIdError::ConnectionError(error) => error.into(),
            ReplyOrIdError::X11Error(error) => ReplyError::X11Error(error).into(),
        }
    }
}
