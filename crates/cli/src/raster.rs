//! Linear images in files: raw rows, or PNG.

use tepui_explore::picture::{PNG_SIGNATURE, PictureError, png_of_texels, texels_of_png};

use crate::image::Image;

/// Reason why a file cannot be converted from or to a format.
#[derive(Debug, thiserror::Error)]
pub enum RasterError {
    /// The raw file has the wrong size.
    #[error("the file has {have_B} bytes; a linear image of {width_px}x{height_px} has {need_B}")]
    Length {
        /// Bytes of the file.
        have_B: usize,
        /// Bytes needed.
        need_B: usize,
        /// Its width.
        width_px: u32,
        /// Its height.
        height_px: u32,
    },
    /// The PNG has the wrong size.
    #[error("the PNG is {0}x{1} pixels; the rectangle is {2}x{3}")]
    PngSize(u32, u32, u32, u32),
    /// The image is multisampled; a PNG has one sample per pixel.
    #[error("the image is multisampled, which a PNG cannot be; use raw files")]
    Multisampled,
    /// The PNG cannot be read or written, or its pixels not converted.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

/// Bytes of a row of `width_px` pixels.
pub fn row_B(image: &Image, width_px: u32) -> usize {
    let block = image.format().info().block;
    width_px.div_ceil(block.width_px) as usize * image.element_B() as usize
}

/// Number of rows of elements in `height_px` pixels.
pub fn rows(image: &Image, height_px: u32) -> usize {
    height_px.div_ceil(image.format().info().block.height_px) as usize
}

/// Converts a file's content to raw rows: packs a PNG's pixels into the image's format, or takes
/// the bytes as they are.
pub fn from_file(
    image: &Image,
    (width_px, height_px): (u32, u32),
    content: Vec<u8>,
) -> Result<Vec<u8>, RasterError> {
    if content.starts_with(PNG_SIGNATURE) {
        return from_png(image, (width_px, height_px), &content);
    }
    let need_B = row_B(image, width_px).saturating_mul(rows(image, height_px));
    if content.len() != need_B {
        return Err(RasterError::Length { have_B: content.len(), need_B, width_px, height_px });
    }
    Ok(content)
}

fn from_png(
    image: &Image,
    (width_px, height_px): (u32, u32),
    content: &[u8],
) -> Result<Vec<u8>, RasterError> {
    single_sampled(image)?;
    let ((w, h), raw) = texels_of_png(image.format(), content)?;
    if (w, h) != (width_px, height_px) {
        return Err(RasterError::PngSize(w, h, width_px, height_px));
    }
    Ok(raw)
}

/// Encodes raw rows as a PNG: [`png_of_texels`] for images of one sample per pixel.
pub fn to_png(image: &Image, size_px: (u32, u32), raw: &[u8]) -> Result<Vec<u8>, RasterError> {
    single_sampled(image)?;
    Ok(png_of_texels(image.format(), size_px, raw)?)
}

fn single_sampled(image: &Image) -> Result<(), RasterError> {
    if image.format().info().block.bytes != image.element_B() {
        return Err(RasterError::Multisampled);
    }
    Ok(())
}
