//! Pictures: PNG files and 8-bit colours as texels of a format, and back.

use std::io::Cursor;

use tepui_format::texel::{NoTexelCodec, TexelCodec, load, srgb};
use tepui_format::{Format, Numeric};

/// The first bytes of every PNG.
pub const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Pixels of the largest PNG that is read.
const MAX_PIXELS: u64 = 1 << 28;

/// Red, green, blue, alpha, as PNG has them.
pub type Rgba = [u8; 4];

/// Reason why a picture cannot be converted from or to a format.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// Pixels of the format cannot be converted from or to a PNG's.
    #[error("{0}; use raw files")]
    Format(#[from] NoTexelCodec),
    /// The PNG has too many pixels.
    #[error("the PNG is {0}x{1} pixels; at most {MAX_PIXELS} are read")]
    TooLarge(u32, u32),
    /// The PNG cannot be read.
    #[error("{0}")]
    Decode(#[from] png::DecodingError),
    /// The PNG cannot be written.
    #[error("{0}")]
    Encode(#[from] png::EncodingError),
}

/// Packs colours into consecutive texels of `format`. Integer formats take the components as they are,
/// sRGB formats take them as encoded, all others divide them by 255.
///
/// # Errors
/// If the format is block-compressed.
pub fn texels(
    format: Format,
    colours: impl IntoIterator<Item = Rgba>,
) -> Result<Vec<u8>, PictureError> {
    let codec = TexelCodec::new(format)?;
    let mut raw = Vec::new();
    for rgba in colours {
        let packed = if codec.is_float() {
            codec.pack_f32(to_float(format, rgba))
        } else {
            codec.pack_u32(rgba.map(u32::from))
        };
        raw.extend_from_slice(&packed.to_le_bytes()[..codec.bytes()]);
    }
    Ok(raw)
}

/// Colours of texels. Integers are clamped to 0…255, floats to 0…1.
///
/// # Errors
/// When the format is one of blocks.
pub fn colours(format: Format, raw: &[u8]) -> Result<Vec<Rgba>, PictureError> {
    let codec = TexelCodec::new(format)?;
    let colour = |texel: &[u8]| {
        let bits = load(texel);
        if codec.is_float() {
            to_bytes(format, codec.unpack_f32(bits))
        } else if format.info().numeric() == Numeric::Sint {
            codec.unpack_i32(bits).map(|v| v.clamp(0, 255) as u8)
        } else {
            codec.unpack_u32(bits).map(|v| v.min(255) as u8)
        }
    };
    Ok(raw.chunks_exact(codec.bytes()).map(colour).collect())
}

/// The size of a PNG in pixels, and its pixels as texels of `format`.
///
/// # Errors
/// When the file or the format cannot be read.
pub fn texels_of_png(
    format: Format,
    content: &[u8],
) -> Result<((u32, u32), Vec<u8>), PictureError> {
    let mut decoder = png::Decoder::new(Cursor::new(content));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let (w, h) = reader.info().size();
    if u64::from(w) * u64::from(h) > MAX_PIXELS {
        return Err(PictureError::TooLarge(w, h));
    }
    let samples = reader.output_color_type().0.samples();
    let mut raw = Vec::new();
    while let Some(row) = reader.next_row()? {
        let colours = row.data().chunks_exact(samples).map(|pixel| match *pixel {
            [v] => [v, v, v, 255],
            [v, a] => [v, v, v, a],
            [r, g, b] => [r, g, b, 255],
            [r, g, b, a] => [r, g, b, a],
            _ => [0; 4],
        });
        raw.extend(texels(format, colours)?);
    }
    Ok(((w, h), raw))
}

/// Texels as a PNG of 8 bits per component.
///
/// # Errors
/// When the format is one of blocks, or the sizes do not fit.
pub fn png_of_texels(
    format: Format,
    (width_px, height_px): (u32, u32),
    raw: &[u8],
) -> Result<Vec<u8>, PictureError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width_px, height_px);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(colours(format, raw)?.as_flattened())?;
    writer.finish()?;
    Ok(out)
}

/// Converts components to floats; for sRGB formats, to linear.
fn to_float(format: Format, rgba: Rgba) -> [f32; 4] {
    let mut floats = rgba.map(|v| f32::from(v) / 255.0);
    if format.info().numeric() == Numeric::Srgb {
        for (float, stored) in floats.iter_mut().zip(rgba).take(3) {
            *float = srgb::decode_table()[usize::from(stored)];
        }
    }
    floats
}

fn to_bytes(format: Format, rgba: [f32; 4]) -> Rgba {
    let mut bytes = rgba.map(|v| (v.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8);
    if format.info().numeric() == Numeric::Srgb {
        for (byte, linear) in bytes.iter_mut().zip(rgba).take(3) {
            *byte = srgb::encode(linear);
        }
    }
    bytes
}
