//! The sub-pixel grid to which vertices are snapped.

/// Rasterisation parameters of a GPU: sub-pixel precision, guard band and fill rule. Vulkan leaves the
/// number of sub-pixel bits and the guard band to the implementation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    subpixel_bits: u32,
    guard_band_px: f32,
    fill: FillRule,
}

/// Rule for samples that lie on an edge, which makes shapes that share an edge cover each sample once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillRule {
    /// Samples on left edges, and on horizontal edges at the top, are inside. Vulkan's and Direct3D's
    /// rule.
    TopLeft,
    /// Samples on left edges, and on horizontal edges at the bottom, are inside: OpenGL's rule with y
    /// upwards.
    BottomLeft,
}

impl Grid {
    /// A grid with `1 << subpixel_bits` positions along each side of a pixel. Primitives are
    /// clipped where a window coordinate exceeds ±`guard_band_px`.
    ///
    /// # Panics
    /// If an edge across the guard band would be longer than 2^24 sub-pixels, beyond which edge
    /// functions overflow.
    pub const fn new(subpixel_bits: u32, guard_band_px: u32, fill: FillRule) -> Grid {
        assert!(subpixel_bits >= 1 && subpixel_bits <= 16);
        assert!((guard_band_px as u64 * 2) << subpixel_bits <= 1 << 24);
        Grid { subpixel_bits, guard_band_px: guard_band_px as f32, fill }
    }

    /// Fraction bits of a window position.
    #[inline]
    pub const fn subpixel_bits(&self) -> u32 {
        self.subpixel_bits
    }

    /// One pixel in sub-pixels.
    #[inline]
    pub const fn pixel(&self) -> i64 {
        1 << self.subpixel_bits
    }

    /// The largest magnitude of a window coordinate, in pixels.
    #[inline]
    pub const fn guard_band_px(&self) -> f32 {
        self.guard_band_px
    }

    /// The nearest position of the grid, ties to even. Casts saturate.
    #[inline]
    pub fn snap(&self, pixels: f32) -> i32 {
        (pixels * self.pixel() as f32).round_ties_even() as i32
    }

    /// The rule for samples on an edge.
    #[inline]
    pub const fn fill_rule(&self) -> FillRule {
        self.fill
    }
}

impl FillRule {
    /// Whether a point on the edge from `p` to `q`, where `d = q - p`, is inside of the shape to its
    /// right (y downwards).
    #[inline]
    pub(crate) const fn includes(self, [dx, dy]: [i32; 2]) -> bool {
        let horizontal = match self {
            FillRule::TopLeft => dx > 0,
            FillRule::BottomLeft => dx < 0,
        };
        dy < 0 || (dy == 0 && horizontal)
    }
}
