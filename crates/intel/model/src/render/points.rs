//! Positions of pixels, and values of a primitive there, for all channels of a message.

use tepui_raster::WindowPlane;
#[cfg(target_arch = "x86_64")]
use tepui_texel::Vectors;

use super::pixel::Subspan;
use super::planes::{Barycentrics, value};

/// The centres or sample positions of the pixels of up to four subspans.
pub(super) struct Points {
    /// The upper left corners of pixels; zeros after the last subspan.
    corner: [[f64; 16]; 2],
    sample: [f32; 2],
}

/// Compiles a function twice, the second time for hosts with wide vectors, and calls the variant for this
/// host.
macro_rules! wide {
    ($(#[$doc:meta])* fn $name:ident, $inner:ident (&$this:ident $(, $arg:ident : $ty:ty)*) -> $result:ty $body:block) => {
        $(#[$doc])*
        pub fn $name(&$this $(, $arg: $ty)*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                unsafe fn wide(points: &Points $(, $arg: $ty)*) -> $result {
                    points.$inner($($arg),*)
                }
                if Vectors::of_host() != Vectors::Any {
                    // SAFETY: the host has AVX2.
                    return unsafe { wide($this $(, $arg)*) };
                }
            }
            $this.$inner($($arg),*)
        }

        #[inline(always)]
        fn $inner(&$this $(, $arg: $ty)*) -> $result $body
    };
}

impl Points {
    pub fn of(subspans: &[Subspan], sample: [f32; 2]) -> Points {
        let mut corner = [[0.0; 16]; 2];
        let [x, y] = &mut corner;
        for (slot, subspan) in subspans.iter().enumerate().take(4) {
            let [left, top] = subspan.place.map(f64::from);
            x[4 * slot..4 * slot + 4].copy_from_slice(&[left, left + 1.0, left, left + 1.0]);
            y[4 * slot..4 * slot + 4].copy_from_slice(&[top, top, top + 1.0, top + 1.0]);
        }
        Points { corner, sample }
    }

    #[inline(always)]
    fn at(&self, of_sample: bool) -> [[f64; 16]; 2] {
        let offset = if of_sample { self.sample } else { [0.5; 2] };
        let mut at = self.corner;
        for (row, offset) in at.iter_mut().zip(offset) {
            row.iter_mut().for_each(|v| *v += f64::from(offset));
        }
        at
    }

    wide! {
        /// The barycentric coordinates, perspective or linear.
        fn barycentrics, barycentrics_any(&self, planes: &Barycentrics, linear: bool, of_sample: bool) -> [[f32; 16]; 2] {
            let [x, y] = self.at(of_sample);
            let mut out = [[0.0; 16]; 2];
            let [b, c] = &mut out;
            planes.rows(linear, [&x, &y], [b, c]);
            out
        }
    }

    wide! {
        /// The depths of a plane.
        fn depths, depths_any(&self, plane: &WindowPlane, of_sample: bool) -> [f32; 16] {
            let [x, y] = self.at(of_sample);
            let mut out = [0.0; 16];
            for i in 0..16 {
                out[i] = value(plane, [x[i], y[i]]) as f32;
            }
            out
        }
    }

    wide! {
        /// The values of w.
        fn w, w_any(&self, planes: &Barycentrics, of_sample: bool) -> [f32; 16] {
            let [x, y] = self.at(of_sample);
            let mut w = [0.0; 16];
            planes.w_rows([&x, &y], &mut w);
            w.map(|w| w as f32)
        }
    }
}
