//! An RGB image with functions to draw rectangles, lines and text.

use std::io::{self, Write};

use font8x8::legacy::BASIC_LEGACY;

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// An RGB image to draw on. Drawing is clipped to it.
pub struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// Width and height of a letter.
pub const LETTER_PX: u32 = 8;

impl Canvas {
    /// Creates an image of one colour.
    pub fn new(width: u32, height: u32, color: Rgb) -> Canvas {
        let pixels = color.repeat(width as usize * height as usize);
        Canvas { width, height, pixels }
    }

    fn set(&mut self, x: u32, y: u32, color: Rgb) {
        if x < self.width && y < self.height {
            let at = (y as usize * self.width as usize + x as usize) * 3;
            self.pixels[at..at + 3].copy_from_slice(&color);
        }
    }

    /// Draws a filled rectangle.
    pub fn rect(&mut self, x: u32, y: u32, w: u32, h: u32, color: Rgb) {
        for y in y..y + h {
            for x in x..x + w {
                self.set(x, y, color);
            }
        }
    }

    /// Draws a line, including both ends.
    pub fn line(&mut self, from: (u32, u32), to: (u32, u32), color: Rgb) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let at = |a: u32, b: u32, i: u32| {
            let (a, b) = (i64::from(a), i64::from(b));
            (a + (b - a) * i64::from(i) / i64::from(steps)) as u32
        };
        for i in 0..=steps {
            self.set(at(from.0, to.0, i), at(from.1, to.1, i), color);
        }
    }

    /// The width of a text in pixels.
    pub fn text_w(text: &str) -> u32 {
        text.chars().count() as u32 * LETTER_PX
    }

    /// Draws a line of text; characters outside ASCII are left out.
    pub fn text(&mut self, x: u32, y: u32, text: &str, color: Rgb) {
        for (i, letter) in (0..).zip(text.chars()) {
            let Some(rows) = BASIC_LEGACY.get(letter as usize) else { continue };
            for (dy, row) in (0..).zip(rows) {
                for dx in (0..LETTER_PX).filter(|dx| row >> dx & 1 != 0) {
                    self.set(x + i * LETTER_PX + dx, y + dy, color);
                }
            }
        }
    }

    /// Writes a PNG.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(to, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&self.pixels).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    }
}
