//! Sizes, modes and other capabilities of surfaces.

use bitflags::bitflags;

/// A size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

bitflags! {
    /// Compositing modes of the alpha channel (`VkCompositeAlphaFlagBitsKHR`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Alpha: u32 {
        /// Alpha is ignored.
        const OPAQUE = 1;
        /// Alpha blends the window with the windows below; colours are premultiplied.
        const PRE_MULTIPLIED = 2;
        /// The mode that the application set in the window system.
        const INHERIT = 4;
    }
}

/// Time at which a presented image replaces the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// At once, even in the middle of a refresh.
    Immediate,
    /// At the next vertical blank, unless a newer image is there by then.
    Mailbox,
    /// Each at a vertical blank of its own, in order.
    Fifo,
    /// Version of [`Mode::Fifo`]: a frame that missed its vertical blank is shown at once.
    FifoRelaxed,
}

impl Mode {
    /// The smallest number of images with which this mode can work: one on the screen or waiting for
    /// it and one to draw into, and for the mailbox one more so that a waiting image can be replaced
    /// while a third is drawn.
    pub fn min_images(self) -> u32 {
        match self {
            Mode::Mailbox => 3,
            _ => MIN_IMAGES,
        }
    }
}

/// The smallest number of images of any swapchain.
pub(crate) const MIN_IMAGES: u32 = 2;

/// The largest number of images, far beyond what is of use.
pub const MAX_IMAGES: u32 = 64;

/// Capabilities of a surface for swapchains at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The size of the window, or none if the swapchain decides it.
    pub current_extent: Option<Extent>,
    /// The smallest size of images.
    pub min_extent: Extent,
    /// The largest size of images.
    pub max_extent: Extent,
    /// The smallest number of images in any mode; [`Mode::min_images`] has each mode's.
    pub min_images: u32,
    /// The largest number of images.
    pub max_images: u32,
    /// The supported compositing modes.
    pub alpha: Alpha,
}
