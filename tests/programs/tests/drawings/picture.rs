//! Pictures: read from Xvfb's framebuffer file or from a PNG, compared, and written as PNG.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// Rows of 3 bytes a pixel: red, green, blue.
#[derive(PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

/// Words of the header of an XWD file, which are big-endian whatever the pixels are.
// source: X11/XWDFile.h, XWDFileHeader
mod xwd {
    pub const HEADER_BYTES: usize = 0;
    pub const VERSION: usize = 1;
    pub const WIDTH: usize = 4;
    pub const HEIGHT: usize = 5;
    pub const BYTE_ORDER: usize = 7;
    pub const BITS_PER_PIXEL: usize = 11;
    pub const BYTES_PER_LINE: usize = 12;
    pub const COLOURS: usize = 19;
    /// Bytes of an entry of the colour table that stands between header and pixels.
    pub const COLOUR_BYTES: usize = 12;
}

impl Picture {
    /// Channels that differ by this much or less count as equal.
    pub const TOLERANCE: u8 = 8;

    /// Reads the framebuffer file of an X server with 24 bits of colour in 32-bit pixels.
    pub fn from_xwd(bytes: &[u8]) -> Result<Picture, String> {
        let word = |index: usize| -> Result<usize, String> {
            let word = bytes.get(4 * index..4 * index + 4).ok_or("an XWD file without header")?;
            Ok(u32::from_be_bytes([word[0], word[1], word[2], word[3]]) as usize)
        };
        if (word(xwd::VERSION)?, word(xwd::BITS_PER_PIXEL)?, word(xwd::BYTE_ORDER)?) != (7, 32, 0) {
            return Err("not an XWD file of version 7 with little-endian 32-bit pixels".to_owned());
        }
        let (width, height) = (word(xwd::WIDTH)?, word(xwd::HEIGHT)?);
        let pixels = word(xwd::HEADER_BYTES)? + word(xwd::COLOURS)? * xwd::COLOUR_BYTES;
        let pitch = word(xwd::BYTES_PER_LINE)?;
        let mut rgb = Vec::new();
        for y in 0..height {
            let start = pixels + y * pitch;
            let row = bytes.get(start..start + 4 * width).ok_or("an XWD file that ends early")?;
            rgb.extend(row.chunks_exact(4).flat_map(|p| [p[2], p[1], p[0]]));
        }
        Ok(Picture { width, height, rgb })
    }

    /// Reads a PNG with 8 bits a channel; alpha is dropped.
    pub fn from_png(path: &Path) -> Result<Picture, String> {
        let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let file = File::open(path).map_err(|e| say(&e))?;
        let mut reader =
            png::Decoder::new(BufReader::new(file)).read_info().map_err(|e| say(&e))?;
        let size = reader.output_buffer_size().ok_or_else(|| say(&"too large"))?;
        let mut bytes = vec![0; size];
        let info = reader.next_frame(&mut bytes).map_err(|e| say(&e))?;
        let samples = match (info.color_type, info.bit_depth) {
            (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
            (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
            other => return Err(say(&format!("unexpected pixels {other:?}"))),
        };
        let pixels = bytes[..info.buffer_size()].chunks_exact(samples);
        let rgb = pixels.flat_map(|p| [p[0], p[1], p[2]]).collect();
        Ok(Picture { width: info.width as usize, height: info.height as usize, rgb })
    }

    /// Writes a PNG.
    pub fn write_png(&self, path: &Path) -> Result<(), String> {
        let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let file = BufWriter::new(File::create(path).map_err(|e| say(&e))?);
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|e| say(&e))?;
        writer.write_image_data(&self.rgb).map_err(|e| say(&e))?;
        writer.finish().map_err(|e| say(&e))
    }

    /// The number of pixels.
    pub fn pixels(&self) -> usize {
        self.width * self.height
    }

    /// Width and height, for messages.
    pub fn size(&self) -> String {
        format!("{}x{}", self.width, self.height)
    }

    /// Whether every pixel is the same.
    pub fn is_plain(&self) -> bool {
        self.rgb.chunks_exact(3).all(|p| p == &self.rgb[..3])
    }

    /// How many pixels differ in a channel by more than [`Self::TOLERANCE`]; nothing if the sizes do.
    pub fn differing(&self, other: &Picture) -> Option<usize> {
        if (self.width, self.height) != (other.width, other.height) {
            return None;
        }
        let pairs = self.rgb.chunks_exact(3).zip(other.rgb.chunks_exact(3));
        let differs = |(a, b): &(&[u8], &[u8])| {
            a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > Self::TOLERANCE)
        };
        Some(pairs.filter(differs).count())
    }
}
