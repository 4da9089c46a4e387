//! The texels of one lane's linear filter with their weights, for texels that are read one by one.

use crate::axis::{Axis, AxisRule, axis};
use crate::cube::{FaceTexel, across};
use crate::{TextureUnit, Wrap};

/// The channels of texels and their weights: columns, then rows, then slices.
pub type Taps = [([u32; 4], f32); 8];

/// The weight of the first or the second texel along an axis.
fn weight(second: f32, k: usize) -> f32 {
    if k == 0 { 1.0 - second } else { second }
}

/// The texels of a filter along three axes, of which those that the image does not have are [`Axis::ZERO`].
///
/// # Errors
/// The errors of `texel`, which reads the channels at a column, row and slice.
pub fn along_axes<E>(
    axes: [&Axis<1>; 3],
    border: [u32; 4],
    mut texel: impl FnMut([i32; 3]) -> Result<[u32; 4], E>,
) -> Result<Taps, E> {
    let mut taps = [([0; 4], 0.0); 8];
    for (k, tap) in taps.iter_mut().enumerate() {
        let which = [k & 1, k >> 1 & 1, k >> 2];
        let [x, y, z] = [0, 1, 2].map(|a| weight(axes[a].weight[0], which[a]));
        tap.1 = x * y * z;
        // Gathers need the texels of all four taps.
        if tap.1 == 0.0 && which[2] > 0 {
            continue;
        }
        let outside = [0, 1, 2].map(|a| axes[a].outside[which[a]][0]);
        tap.0 = match outside {
            [0, 0, 0] => texel([0, 1, 2].map(|a| axes[a].texel[which[a]][0]))?,
            _ => border,
        };
    }
    Ok(taps)
}

/// The texels of a filter at a place on a cube's face of `size` texels a side, across its edges if necessary.
///
/// # Errors
/// The errors of `texel`, which reads the channels of a texel of a face.
pub fn on_cube<U: TextureUnit, E>(
    place: [f32; 2],
    face: u32,
    size: u32,
    mut texel: impl FnMut(FaceTexel) -> Result<[u32; 4], E>,
) -> Result<Taps, E> {
    let mut taps = [([0; 4], 0.0); 8];
    // A face with a border of one texel, so that coordinates are not clamped.
    let along = |a: usize| {
        let mut out: Axis<1> = Axis::ZERO;
        let (size, wrap) = (size + 2, Wrap::ClampToEdge);
        let rule = AxisRule { size, wrap, pixel: true, linear: true, moved: false };
        axis::<1, U>(&rule, &[place[a] * (size - 2) as f32 + 1.0], &[0], &mut out);
        ([out.texel[0][0] - 1, out.texel[1][0] - 1], out.weight[0])
    };
    let ((x, right), (y, down)) = (along(0), along(1));
    let mut missing = None;
    let mut sum = [0.0; 4];
    for (k, tap) in taps.iter_mut().enumerate().take(4) {
        let [i, j] = [k & 1, k >> 1];
        tap.1 = weight(right, i) * weight(down, j);
        match across(FaceTexel { face, x: x[i], y: y[j] }, size as i32) {
            Some(found) => {
                tap.0 = texel(found)?;
                let channels = tap.0.map(f32::from_bits);
                (0..4).for_each(|c| sum[c] += channels[c] / 3.0);
            }
            None => missing = Some(k),
        }
    }
    // Three texels meet at a corner: the fourth tap is their mean.
    if let Some(k) = missing {
        taps[k].0 = sum.map(f32::to_bits);
    }
    Ok(taps)
}
