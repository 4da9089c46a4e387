//! A canvas with rectangles, lines and small capitals.

use std::io::{self, Write};

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// An RGB image to draw on. What lies outside is not drawn.
pub struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// Pixels of a dot of a letter.
const DOT_PX: u32 = 2;

impl Canvas {
    /// An image of one colour.
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

    /// A filled rectangle.
    pub fn rect(&mut self, x: u32, y: u32, w: u32, h: u32, color: Rgb) {
        for y in y..y + h {
            for x in x..x + w {
                self.set(x, y, color);
            }
        }
    }

    /// A line, both ends included.
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

    /// How wide a text is.
    pub fn text_w(text: &str) -> u32 {
        text.chars().count() as u32 * 4 * DOT_PX
    }

    /// Letters of 3×5 dots.
    pub fn text(&mut self, x: u32, y: u32, text: &str, color: Rgb) {
        for (i, letter) in (0..).zip(text.chars()) {
            let dots = glyph(letter);
            for bit in 0..15 {
                if dots >> (14 - bit) & 1 != 0 {
                    let (dx, dy) = (i * 4 + bit % 3, bit / 3);
                    self.rect(x + dx * DOT_PX, y + dy * DOT_PX, DOT_PX, DOT_PX, color);
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

/// The dots of a letter, an octal digit a row.
fn glyph(letter: char) -> u32 {
    match letter.to_ascii_uppercase() {
        '0' => 0o75557,
        '1' => 0o26227,
        '2' => 0o71747,
        '3' => 0o71717,
        '4' => 0o55711,
        '5' => 0o74717,
        '6' => 0o74757,
        '7' => 0o71222,
        '8' => 0o75757,
        '9' => 0o75717,
        'A' => 0o25755,
        'B' => 0o65656,
        'C' => 0o34443,
        'D' => 0o65556,
        'E' => 0o74647,
        'F' => 0o74644,
        'G' => 0o34553,
        'H' => 0o55755,
        'I' => 0o72227,
        'J' => 0o11152,
        'K' => 0o55655,
        'L' => 0o44447,
        'M' => 0o57755,
        'N' => 0o65555,
        'O' => 0o25552,
        'P' => 0o65644,
        'Q' => 0o25563,
        'R' => 0o65655,
        'S' => 0o34216,
        'T' => 0o72222,
        'U' => 0o55557,
        'V' => 0o55552,
        'W' => 0o55775,
        'X' => 0o55255,
        'Y' => 0o55222,
        'Z' => 0o71247,
        '-' => 0o00700,
        '_' => 0o00007,
        '.' => 0o00002,
        ',' => 0o00024,
        '(' => 0o12221,
        ')' => 0o42224,
        _ => 0,
    }
}
