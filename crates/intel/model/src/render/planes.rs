//! Plane equations over the window.

use tepui_raster::WindowPlane;

/// The barycentric coordinates of a primitive as plane equations over the window.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barycentrics {
    /// 1/w.
    pub(super) one_over_w: WindowPlane,
    /// The coordinates of the second and third vertex, over w.
    pub(super) perspective: [WindowPlane; 2],
    /// The coordinates of the second and third vertex, linear on the screen.
    pub(super) linear: [WindowPlane; 2],
}

/// The value of a plane at a point of the window.
#[inline(always)]
pub(super) fn value(plane: &WindowPlane, [x, y]: [f64; 2]) -> f64 {
    plane[0] * x + plane[1] * y + plane[2]
}

impl Barycentrics {
    /// The barycentric coordinates at a point of the window.
    pub fn at(&self, linear: bool, point: [f64; 2]) -> [f32; 2] {
        if linear {
            return self.linear.map(|plane| value(&plane, point) as f32);
        }
        let w = self.w(point);
        self.perspective.map(|plane| (value(&plane, point) * w) as f32)
    }

    /// As [`Barycentrics::at`], for a row of points.
    #[inline(always)]
    pub fn rows<const N: usize>(
        &self,
        linear: bool,
        [x, y]: [&[f64; N]; 2],
        out: [&mut [f32; N]; 2],
    ) {
        let planes = if linear { &self.linear } else { &self.perspective };
        let mut w = [1.0; N];
        if !linear {
            self.w_rows([x, y], &mut w);
        }
        for (out, plane) in out.into_iter().zip(planes) {
            for i in 0..N {
                let value = value(plane, [x[i], y[i]]);
                out[i] = if linear { value as f32 } else { (value * w[i]) as f32 };
            }
        }
    }

    /// As [`Barycentrics::w`], for a row of points.
    #[inline(always)]
    pub fn w_rows<const N: usize>(&self, [x, y]: [&[f64; N]; 2], out: &mut [f64; N]) {
        for i in 0..N {
            out[i] = 1.0 / value(&self.one_over_w, [x[i], y[i]]);
        }
    }

    /// w at a point of the window.
    pub fn w(&self, point: [f64; 2]) -> f64 {
        1.0 / value(&self.one_over_w, point)
    }
}
