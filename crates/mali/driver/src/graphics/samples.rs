//! Sample patterns: numbers of samples, and the positions that programs and the rasteriser read.
//!
//! source: Mesa, pan_samples.c, pan_encoder.h (`pan_sample_pattern`)

use tepui_mali_packets::framebuffer::SamplePattern;

/// Bytes of a pattern: positions of 64 samples, of four bytes.
const PATTERN_B: usize = 256;
/// Index of the position of the pixel's centre in a pattern.
const ORIGIN: usize = 32;
/// Units of a position in a sixteenth of a pixel.
const SIXTEENTH: u16 = 16;

/// Positions in sixteenths of a pixel from its corner. The patterns of 4, 8 and 16 samples are those that the Vulkan specification
/// calls standard.
const PATTERNS: [&[[u16; 2]]; 5] = [
    &[[8, 8]],
    &[[4, 4], [12, 4], [4, 12], [12, 12]],
    &[[6, 2], [14, 6], [2, 10], [10, 14]],
    &[[9, 5], [7, 11], [13, 9], [5, 3], [3, 13], [1, 7], [11, 15], [15, 1]],
    &[
        [9, 9],
        [7, 5],
        [5, 10],
        [12, 7],
        [3, 6],
        [10, 13],
        [13, 11],
        [11, 3],
        [6, 14],
        [8, 1],
        [4, 2],
        [2, 12],
        [0, 8],
        [15, 4],
        [14, 15],
        [1, 0],
    ],
];

/// The pattern of a number of samples.
pub fn pattern(samples: u32) -> SamplePattern {
    match samples {
        0 | 1 => SamplePattern::SingleSampled,
        2..=4 => SamplePattern::Rotated4xGrid,
        5..=8 => SamplePattern::D3d8xGrid,
        _ => SamplePattern::D3d16xGrid,
    }
}

/// Offset of the pattern of a number of samples in [`positions`].
pub fn offset(samples: u32) -> u64 {
    (pattern(samples) as usize * PATTERN_B) as u64
}

/// The positions of all patterns, with eight fractional bits.
pub fn positions() -> Vec<u8> {
    let mut out = vec![0; PATTERN_B * PATTERNS.len()];
    for (pattern, all) in out.chunks_exact_mut(PATTERN_B).zip(PATTERNS) {
        let (places, _) = pattern.as_chunks_mut::<4>();
        let packed = |&[x, y]: &[u16; 2]| {
            let [x, y] = [x, y].map(|v| (v * SIXTEENTH).to_le_bytes());
            [x[0], x[1], y[0], y[1]]
        };
        places.iter_mut().zip(all).for_each(|(to, place)| *to = packed(place));
        places[ORIGIN] = packed(&[8, 8]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: Vulkan specification, table of standard sample locations: sample 2 of 4 is at (0.125, 0.625), sample 7 of 8 at
    /// (0.9375, 0.0625)
    #[test]
    fn patterns_are_the_standard_ones() {
        let all = positions();
        let at = |samples: u32, n: usize| {
            let at = offset(samples) as usize + 4 * n;
            [0, 2].map(|k| f32::from(u16::from_le_bytes([all[at + k], all[at + k + 1]])) / 256.0)
        };
        assert_eq!(at(1, 0), [0.5, 0.5]);
        assert_eq!(at(4, 2), [0.125, 0.625]);
        assert_eq!(at(8, 7), [0.9375, 0.0625]);
        assert_eq!(at(16, ORIGIN), [0.5, 0.5]);
        assert_eq!(all.len(), 5 * 256);
    }
}
