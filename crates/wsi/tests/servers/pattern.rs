//! Pictures with known pixels.

use tepui_wsi::{Extent, Format};

/// The colour of a pixel of a frame, 8 bits each of red, green and blue: neighbours, rows and frames
/// differ, and no channel is a function of another.
pub fn colour(frame: u64, x: u32, y: u32) -> [u8; 3] {
    let mixed = (frame as u32 * 0x9e37_79b9) ^ (x * 0x85eb_ca6b) ^ (y * 0xc2b2_ae35);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    [(x * 3) as u8 ^ (mixed >> 24) as u8, (y * 5) as u8 ^ (mixed >> 16) as u8, (mixed >> 8) as u8]
}

/// A colour after conversion to a format and back to 8 bits a channel: the upper bits, repeated below.
pub fn kept(format: Format, colour: [u8; 3]) -> [u8; 3] {
    match format {
        Format::R5G6B5 => {
            let [r, g, b] = colour;
            [r & 0xf8 | r >> 5, g & 0xfc | g >> 6, b & 0xf8 | b >> 5]
        }
        _ => colour,
    }
}

/// The bytes of a pixel.
fn pixel(format: Format, [r, g, b]: [u8; 3]) -> Vec<u8> {
    let wide = |c: u8| u32::from(c) << 2 | u32::from(c) >> 6;
    match format {
        Format::B8G8R8A8 => vec![b, g, r, 0xff],
        Format::R8G8B8A8 => vec![r, g, b, 0xff],
        Format::A2R10G10B10 => {
            (3 << 30 | wide(r) << 20 | wide(g) << 10 | wide(b)).to_le_bytes().to_vec()
        }
        Format::A2B10G10R10 => {
            (3 << 30 | wide(b) << 20 | wide(g) << 10 | wide(r)).to_le_bytes().to_vec()
        }
        Format::R5G6B5 => {
            let (r, g, b) = (u16::from(r >> 3), u16::from(g >> 2), u16::from(b >> 3));
            (r << 11 | g << 5 | b).to_le_bytes().to_vec()
        }
    }
}

/// The rows of a frame into memory, with bytes between them that must never be seen.
pub fn fill(frame: u64, extent: Extent, format: Format, bytes: &mut [u8], pitch: usize) {
    for (y, row) in bytes.chunks_mut(pitch).take(extent.height as usize).enumerate() {
        row.fill(0x5a);
        let size = format.bytes() as usize;
        for (x, to) in row.chunks_exact_mut(size).take(extent.width as usize).enumerate() {
            to.copy_from_slice(&pixel(format, colour(frame, x as u32, y as u32)));
        }
    }
}

/// The rows of a frame.
pub fn rows(frame: u64, extent: Extent, format: Format, pitch: usize) -> Vec<u8> {
    let mut bytes = vec![0; pitch * extent.height as usize];
    fill(frame, extent, format, &mut bytes, pitch);
    bytes
}

/// The colours of a frame, as the server is to show them.
pub fn shown(frame: u64, extent: Extent, format: Format) -> Vec<[u8; 3]> {
    let pixels = (0..extent.height).flat_map(|y| (0..extent.width).map(move |x| (x, y)));
    pixels.map(|(x, y)| kept(format, colour(frame, x, y))).collect()
}

/// Fails with the place of the first difference.
#[track_caller]
pub fn compare(width: u32, got: &[[u8; 3]], expected: &[[u8; 3]]) {
    assert_eq!(got.len(), expected.len(), "the sizes of the pictures");
    let wrong = got.iter().zip(expected).filter(|(got, expected)| got != expected).count();
    if let Some(at) = got.iter().zip(expected).position(|(got, expected)| got != expected) {
        let (x, y) = (at as u32 % width, at as u32 / width);
        panic!(
            "{wrong} pixels differ, the first at {x}, {y}: {:?}, not {:?}",
            got[at], expected[at]
        );
    }
}
