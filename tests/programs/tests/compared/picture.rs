//! Pictures: read from Xvfb's framebuffer file or from a PNG, compared, and written as PNG.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// Rows of pixels of 3 bytes: red, green, blue.
#[derive(PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

/// Words of the header of an XWD file, which are big-endian independently of the pixels.
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
    /// Bytes of an entry of the colour table between header and pixels.
    pub const COLOUR_BYTES: usize = 12;
}

impl Picture {
    /// Channels whose difference is at most this are considered equal.
    pub const TOLERANCE: u8 = 8;

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Red, green, blue.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * self.width + x);
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }

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

    /// A framebuffer file of one grey, as [`Picture::from_xwd`] reads it.
    pub fn xwd(width: u32, height: u32, grey: u8) -> Vec<u8> {
        let mut words = [0; 25];
        words[xwd::HEADER_BYTES] = 100;
        words[xwd::VERSION] = 7;
        words[xwd::WIDTH] = width;
        words[xwd::HEIGHT] = height;
        words[xwd::BITS_PER_PIXEL] = 32;
        words[xwd::BYTES_PER_LINE] = 4 * width;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.resize(bytes.len() + (4 * width * height) as usize, grey);
        bytes
    }

    /// Red, green and blue of each pixel.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// Reads a PNG with 8 bits per channel; alpha is dropped.
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

    /// The difference to another picture; `None` if their sizes differ.
    pub fn difference(&self, other: &Picture) -> Option<Difference> {
        if (self.width, self.height) != (other.width, other.height) {
            return None;
        }
        let mut difference = Difference { pixels: 0, group: 0, of: self.pixels() };
        let pairs = self.rgb.chunks_exact(3).zip(other.rgb.chunks_exact(3));
        let mut differs: Vec<bool> = pairs
            .map(|(a, b)| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > Self::TOLERANCE))
            .collect();
        // Flood fill: each pixel is removed from the map when its group is counted.
        let mut group = Vec::new();
        for start in 0..differs.len() {
            if !std::mem::take(&mut differs[start]) {
                continue;
            }
            group.clear();
            group.push(start);
            let mut next = 0;
            while let Some(&at) = group.get(next) {
                next += 1;
                let (x, y) = (at % self.width, at / self.width);
                for y in y.saturating_sub(1)..(y + 2).min(self.height) {
                    for x in x.saturating_sub(1)..(x + 2).min(self.width) {
                        if std::mem::take(&mut differs[y * self.width + x]) {
                            group.push(y * self.width + x);
                        }
                    }
                }
            }
            difference.pixels += group.len();
            difference.group = difference.group.max(group.len());
        }
        Some(difference)
    }
}

/// The difference of two pictures of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Pixels that differ in a channel by more than [`Picture::TOLERANCE`].
    pub pixels: usize,
    /// The size of the largest group of adjacent differing pixels, including diagonally.
    pub group: usize,
    /// Number of pixels of the picture.
    of: usize,
}

/// The allowed difference of two pictures.
#[derive(Clone, Copy)]
pub struct AllowedDifference {
    /// Percentage of differing pixels.
    pub percent: f64,
    /// Size of a group of adjacent pixels. A percentage alone would accept a missing letter.
    pub group: usize,
}

impl Difference {
    /// Whether it is within the allowed difference.
    pub fn is_within(self, allowed: AllowedDifference) -> bool {
        self.pixels as f64 <= allowed.percent / 100.0 * self.of as f64
            && self.group <= allowed.group
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.pixels as f64 / self.of as f64;
        let Difference { pixels, group, of } = self;
        write!(f, "{pixels} of {of} pixels ({percent:.3} %), {group} of them in one group")
    }
}

/// Tests of the comparison itself.
pub fn check() -> Result<(), String> {
    let blank = || Picture { width: 20, height: 10, rgb: vec![0; 600] };
    let with = |places: &[(usize, usize)], by: u8| {
        let mut picture = blank();
        for (x, y) in places {
            picture.rgb[3 * (y * 20 + x) + 1] = by;
        }
        picture
    };
    let differ = |places: &[(usize, usize)], by| {
        let difference = blank().difference(&with(places, by)).ok_or("sizes differ")?;
        Ok::<_, String>((difference.pixels, difference.group))
    };
    // Pixels at the ends of neighbouring rows do not touch; those at a corner do.
    let cases = [
        (&[][..], (0, 0)),
        (&[(19, 3), (0, 4)], (2, 1)),
        (&[(3, 3), (4, 4), (5, 3), (5, 2), (9, 9)], (5, 4)),
        (&[(0, 0), (19, 9)], (2, 1)),
    ];
    for (places, expected) in cases {
        let got = differ(places, 9)?;
        if got != expected {
            return Err(format!("{places:?}: {got:?}, not {expected:?}"));
        }
    }
    if differ(&[(3, 3)], Picture::TOLERANCE)? != (0, 0) {
        return Err("a difference within the tolerance counts".to_owned());
    }
    // A letter of 12 pixels in a large picture is a small share, but one group.
    let letter = Difference { pixels: 12, group: 12, of: 76_800 };
    let dust = Difference { pixels: 70, group: 2, of: 76_800 };
    let allowed = AllowedDifference { percent: 0.1, group: 8 };
    if letter.is_within(allowed) || !dust.is_within(allowed) {
        return Err("a missing letter must not pass, single pixels must".to_owned());
    }
    Ok(())
}
