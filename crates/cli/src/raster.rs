//! Linear images in files: raw rows, or PNG.

use std::io::Cursor;

use tepui_format::texel::{TexelCodec, load, srgb};
use tepui_format::{Format, Numeric};

use crate::image::Image;

/// The first bytes of every PNG.
pub const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Why a file cannot be converted from or to a format.
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
    /// Pixels of the format cannot be converted from or to a PNG's.
    #[error("{0}; use raw files")]
    Format(#[from] tepui_format::texel::NoTexelCodec),
    /// The image is multisampled; a PNG has one sample per pixel.
    #[error("the image is multisampled, which a PNG cannot be; use raw files")]
    Multisampled,
    /// The PNG cannot be read.
    #[error("{0}")]
    Decode(#[from] png::DecodingError),
    /// The PNG cannot be written.
    #[error("{0}")]
    Encode(#[from] png::EncodingError),
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

/// Returns the size of a PNG in pixels, and its pixels packed into rows of texels of `format`.
pub fn texels_of_png(format: Format, content: &[u8]) -> Result<((u32, u32), Vec<u8>), RasterError> {
    let codec = TexelCodec::new(format)?;
    let mut decoder = png::Decoder::new(Cursor::new(content));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.info().size();
    let samples = reader.output_color_type().0.samples();
    let mut raw = Vec::new();
    while let Some(row) = reader.next_row()? {
        for pixel in row.data().chunks_exact(samples) {
            let rgba = match *pixel {
                [v] => [v, v, v, 255],
                [v, a] => [v, v, v, a],
                [r, g, b] => [r, g, b, 255],
                [r, g, b, a] => [r, g, b, a],
                _ => [0; 4],
            };
            let packed = if codec.is_float() {
                codec.pack_f32(to_float(format, rgba))
            } else {
                codec.pack_u32(rgba.map(u32::from))
            };
            raw.extend_from_slice(&packed.to_le_bytes()[..codec.bytes()]);
        }
    }
    Ok((size, raw))
}

/// Encodes raw rows as a PNG: [`png_of_texels`] for images of one sample per pixel.
pub fn to_png(image: &Image, size_px: (u32, u32), raw: &[u8]) -> Result<Vec<u8>, RasterError> {
    single_sampled(image)?;
    png_of_texels(image.format(), size_px, raw)
}

/// Encodes rows of texels as a PNG of 8 bits per component. Integers above 255 become 255; floats
/// are clamped to 0…1.
pub fn png_of_texels(
    format: Format,
    (width_px, height_px): (u32, u32),
    raw: &[u8],
) -> Result<Vec<u8>, RasterError> {
    let codec = TexelCodec::new(format)?;
    let mut pixels = Vec::with_capacity(width_px as usize * height_px as usize * 4);
    for texel in raw.chunks_exact(codec.bytes()) {
        let bits = load(texel);
        pixels.extend_from_slice(&if codec.is_float() {
            to_bytes(format, codec.unpack_f32(bits))
        } else if format.info().numeric() == Numeric::Sint {
            codec.unpack_i32(bits).map(|v| v.clamp(0, 255) as u8)
        } else {
            codec.unpack_u32(bits).map(|v| v.min(255) as u8)
        });
    }
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width_px, height_px);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(out)
}

fn single_sampled(image: &Image) -> Result<(), RasterError> {
    if image.format().info().block.bytes != image.element_B() {
        return Err(RasterError::Multisampled);
    }
    Ok(())
}

/// Converts a PNG's components to floats; for sRGB formats, to linear.
fn to_float(format: Format, rgba: [u8; 4]) -> [f32; 4] {
    let mut floats = rgba.map(|v| f32::from(v) / 255.0);
    if format.info().numeric() == Numeric::Srgb {
        for (float, stored) in floats.iter_mut().zip(rgba).take(3) {
            *float = srgb::decode_table()[usize::from(stored)];
        }
    }
    floats
}

fn to_bytes(format: Format, rgba: [f32; 4]) -> [u8; 4] {
    let mut bytes = rgba.map(|v| (v.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8);
    if format.info().numeric() == Numeric::Srgb {
        for (byte, linear) in bytes.iter_mut().zip(rgba).take(3) {
            *byte = srgb::encode(linear);
        }
    }
    bytes
}
