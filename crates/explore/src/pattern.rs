//! Built-in pictures for the images that a shader reads.

use crate::picture::Rgba;

/// A built-in picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Eight squares in the longer direction, light and dark in turn.
    Checkerboard,
    /// Red grows with the column, green with the row; blue depends on the layer.
    Gradient,
    /// Each pixel has a colour of its own.
    Noise,
}

impl Pattern {
    /// The words for them.
    pub const NAMES: [(&str, Pattern); 3] = [
        ("checkerboard", Pattern::Checkerboard),
        ("gradient", Pattern::Gradient),
        ("noise", Pattern::Noise),
    ];

    /// The pattern that a word names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Pattern> {
        Pattern::NAMES.iter().find(|n| n.0 == name).map(|n| n.1)
    }

    /// The colour of a pixel of an image of a width and a height.
    #[must_use]
    pub fn colour(self, [width, height]: [u32; 2], [x, y]: [u32; 2], layer: u32) -> Rgba {
        match self {
            Pattern::Checkerboard => {
                let side = width.max(height).div_ceil(8).max(1);
                match (x / side + y / side + layer).is_multiple_of(2) {
                    true => [240, 240, 230, 255],
                    false => [40, 70, 120, 255],
                }
            }
            Pattern::Gradient => {
                let ramp =
                    |at: u32, size: u32| (u64::from(at) * 255 / u64::from((size - 1).max(1))) as u8;
                let blue = 128u32.wrapping_add(layer.wrapping_mul(64)) as u8;
                [ramp(x, width), ramp(y, height), blue, 255]
            }
            Pattern::Noise => {
                let place = [x, y, layer];
                let [r, g, b, _] = place.into_iter().fold(0x9e37_79b9, hash).to_le_bytes();
                [r, g, b, 255]
            }
        }
    }
}

/// Mixes a number into a hash: the finaliser of MurmurHash3.
fn hash(state: u32, n: u32) -> u32 {
    let mut h = state ^ n;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_differ_where_they_should() {
        let at = |p: Pattern, x, y, layer| p.colour([64, 32], [x, y], layer);
        let board = Pattern::Checkerboard;
        assert_eq!(at(board, 0, 0, 0), at(board, 7, 7, 0));
        assert_ne!(at(board, 7, 0, 0), at(board, 8, 0, 0));
        assert_eq!(at(board, 8, 0, 0), at(board, 0, 0, 1));
        assert_eq!(at(Pattern::Gradient, 63, 31, 0), [255, 255, 128, 255]);
        assert_ne!(at(Pattern::Noise, 1, 2, 0), at(Pattern::Noise, 2, 1, 0));
        assert_eq!(Pattern::Gradient.colour([1, 1], [0, 0], 7), [0, 0, 64, 255]);
    }
}
