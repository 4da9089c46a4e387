//! Framebuffers: attachments, and the samples of their pixels.

use arrayvec::ArrayVec;
use tepui_mali_packets::framebuffer::{
    ColorBufferInternalFormat, FramebufferParameters, Msaa, RenderTarget, SFormat, ZInternalFormat,
    ZsFormat,
};
use tepui_raster::Samples;

use super::colour::TargetFormat;
use super::target::Surface;
use super::{MAX_SAMPLES, MAX_TARGETS};
use crate::job::{JobFault, Unit};

const UNIT: Unit = Unit::Fragment;

/// A colour attachment.
pub(crate) struct Target {
    pub format: TargetFormat,
    /// The format of pixels in the tile buffer.
    pub internal: ColorBufferInternalFormat,
    /// Bits of a cleared pixel.
    pub clear: u128,
    /// The image that it is written to.
    pub surface: Option<Surface>,
    /// Whether tiles in which nothing was drawn are written.
    pub clean: bool,
    /// Whether the mean of a pixel's samples is written, instead of the first or of all in layers.
    pub averages: bool,
}

impl Target {
    /// The attachment that a descriptor describes.
    pub fn new(target: &RenderTarget) -> Result<Target, JobFault> {
        let format = TargetFormat::new(target)?;
        let is_unknown = target.write_enable
            && match target.writeback_msaa {
                Msaa::Multiple => true,
                Msaa::Average => !format.has_mean(),
                Msaa::Single | Msaa::Layered => false,
            };
        if is_unknown {
            let what = format!(
                "samples of tiles of format {} in memory as {}",
                target.internal_format, target.writeback_msaa
            );
            return Err(JobFault::unimplemented(UNIT, what));
        }
        Ok(Target {
            format,
            internal: target.internal_format,
            clear: TargetFormat::clear(target),
            surface: target.write_enable.then(|| Surface::colour(target)).transpose()?,
            clean: target.clean_pixel_write_enable,
            averages: target.writeback_msaa == Msaa::Average,
        })
    }
}

/// The image to which depth or stencil is written.
pub(crate) struct DepthTarget<F> {
    pub format: F,
    pub surface: Surface,
}

/// The framebuffer.
pub(crate) struct Framebuffer {
    pub parameters: FramebufferParameters,
    pub samples: Samples<MAX_SAMPLES>,
    pub targets: ArrayVec<Target, MAX_TARGETS>,
    pub depth: Option<DepthTarget<ZsFormat>>,
    pub stencil: Option<DepthTarget<SFormat>>,
    /// Whether depth and stencil of tiles in which nothing was drawn are written.
    pub clean_depth: bool,
}

impl Framebuffer {
    /// Number of bits of fixed-point depth in tiles; 0 for floats.
    pub fn unorm_bits(&self) -> u32 {
        match self.parameters.z_internal_format {
            ZInternalFormat::D16 => 16,
            ZInternalFormat::D24 => 24,
            ZInternalFormat::D32 => 0,
        }
    }
}
