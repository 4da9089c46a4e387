//! Images that a recorded program reads or writes, to be looked at.

use std::fmt::Write;

/// An image as it was when the program first accessed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Offset of the instruction that accesses it.
    pub offset: u32,
    /// Size, format and what part of it is shown.
    pub what: String,
    /// Width and height.
    pub size: [u32; 2],
    /// Red, green, blue, alpha, row by row.
    pub rgba: Vec<u8>,
}

impl Image {
    /// Maximum number of images of a recording.
    pub const MAX_COUNT: usize = 64;

    /// The picture in pairs of rows, a character each: the upper and the lower colour, at most `columns` in a row. Alpha is left out.
    #[must_use]
    pub fn blocks(&self, columns: usize) -> Vec<Vec<[[u8; 3]; 2]>> {
        let [width, height] = self.size.map(|side| side as usize);
        let across = width.min(columns.max(1));
        let down = (height * across).div_ceil(width.max(1)).max(1);
        let colour = |x: usize, y: usize| {
            let (x, y) =
                (x * width / across.max(1), (y * height / down).min(height.saturating_sub(1)));
            let at = 4 * (y * width + x);
            self.rgba.get(at..at + 3).map_or([0; 3], |c| [c[0], c[1], c[2]])
        };
        (0..down.div_ceil(2))
            .map(|row| {
                (0..across)
                    .map(|x| [colour(x, 2 * row), colour(x, (2 * row + 1).min(down - 1))])
                    .collect()
            })
            .collect()
    }

    /// The picture for a terminal with colours of 24 bits.
    #[must_use]
    pub fn ansi(&self, columns: usize) -> String {
        let mut out = String::new();
        for row in self.blocks(columns) {
            for [[r, g, b], [s, h, c]] in row {
                let _ = write!(out, "\x1b[38;2;{r};{g};{b}m\x1b[48;2;{s};{h};{c}m\u{2580}");
            }
            out.push_str("\x1b[0m\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_fits_its_columns() {
        let rgba = (0..8u8).flat_map(|k| [k, 10 * k, 0, 255]).collect();
        let image = Image { offset: 0, what: String::new(), size: [4, 2], rgba };
        let all = image.blocks(80);
        assert_eq!((all.len(), all[0].len()), (1, 4));
        assert_eq!(all[0][1], [[1, 10, 0], [5, 50, 0]]);
        assert_eq!(image.blocks(2), [[[[0, 0, 0], [0, 0, 0]], [[2, 20, 0], [2, 20, 0]]]]);
        assert!(image.ansi(4).starts_with("\x1b[38;2;0;0;0m\x1b[48;2;4;40;0m\u{2580}"));
        // An image without texels has none to show.
        assert_eq!(Image { size: [0, 0], rgba: Vec::new(), ..image }.blocks(5).concat().len(), 0);
    }
}
