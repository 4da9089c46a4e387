//! Cube maps: from a direction to a face and coordinates on it, and filtering across the edges of
//! faces.

use crate::axis::{Axis, AxisRule, axis};
use crate::lod::Gradient;
use crate::{Floats, Ints, Row, TextureUnit, Wrap};

/// Faces and places of directions.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Faces<const N: usize> {
    /// Number of the face: +x, -x, +y, -y, +z, -z.
    pub face: Row<N>,
    /// Coordinates on the face, 0 to 1.
    pub place: [Floats<N>; 2],
}

impl<const N: usize> Faces<N> {
    /// All zeros.
    pub const ZERO: Faces<N> = Faces { face: [0; N], place: [[0.0; N]; 2] };
}

/// Major axis, then which axis s and t run along, with their signs, for each face.
/// source: Vulkan specification, "Cube Map Face Selection", table "Cube map face and coordinate
/// selection"
const FACES: [[(u8, f32); 3]; 6] = [
    [(0, 1.0), (2, -1.0), (1, -1.0)],
    [(0, -1.0), (2, 1.0), (1, -1.0)],
    [(1, 1.0), (0, 1.0), (2, 1.0)],
    [(1, -1.0), (0, 1.0), (2, -1.0)],
    [(2, 1.0), (0, 1.0), (1, -1.0)],
    [(2, -1.0), (0, -1.0), (1, -1.0)],
];

/// The components of a vector along the axes s and t of a face, and along its normal, with the signs of
/// [`FACES`], selected without a branch.
#[inline(always)]
fn along(face: u32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    let sign = if face & 1 == 0 { 1.0 } else { -1.0 };
    let s = match face >> 1 {
        0 => -sign * z,
        1 => x,
        _ => sign * x,
    };
    let t = if face >> 1 == 1 { sign * z } else { -y };
    let major = match face >> 1 {
        0 => x,
        1 => y,
        _ => z,
    };
    [s, t, sign * major]
}

/// Finds face and place of each lane's direction.
#[inline(always)]
pub fn faces<const N: usize>(direction: &[Floats<N>; 3], out: &mut Faces<N>) {
    for i in 0..N {
        let r = [direction[0][i], direction[1][i], direction[2][i]];
        let a = r.map(f32::abs);
        // z wins over y wins over x. source: the same section, rules of precedence
        let z_wins = a[2] >= a[0] && a[2] >= a[1];
        let axis = if z_wins { 2 } else { u32::from(a[1] >= a[0]) };
        let major = if z_wins {
            r[2]
        } else if a[1] >= a[0] {
            r[1]
        } else {
            r[0]
        };
        let face = 2 * axis + (major.to_bits() >> 31);
        let [s, t, _] = along(face, r);
        let length = major.abs();
        out.face[i] = face;
        out.place[0][i] = 0.5 * (s / length) + 0.5;
        out.place[1][i] = 0.5 * (t / length) + 0.5;
    }
}

/// Gradients on the faces from gradients of the directions.
/// source: Vulkan specification, "Cube Map Derivative Transformation"
#[inline(always)]
pub fn gradients<const N: usize>(
    faces: &Row<N>,
    direction: &[Floats<N>; 3],
    gradient: &Gradient<N>,
    out: &mut Gradient<N>,
) {
    for way in 0..2 {
        for i in 0..N {
            let r = [direction[0][i], direction[1][i], direction[2][i]];
            let rate = [gradient[0][way][i], gradient[1][way][i], gradient[2][way][i]];
            let [s, t, length] = along(faces[i], r);
            let [s_rate, t_rate, major_rate] = along(faces[i], rate);
            let length = length.abs();
            let scale = 0.5 / (length * length);
            out[0][way][i] = scale * (length * s_rate - s * major_rate);
            out[1][way][i] = scale * (length * t_rate - t * major_rate);
        }
    }
}

/// Finds the texels of a linear filter on a face, those one step beyond its edges included, and whether there are any such: the face is
/// taken with a border of one texel.
#[inline(always)]
pub fn face_axes<const N: usize, U: TextureUnit>(
    place: &[Floats<N>; 2],
    size: u32,
    offset: [&Ints<N>; 2],
    axes: &mut [Axis<N>; 3],
    inside: &mut bool,
) {
    let wrap = Wrap::ClampToEdge;
    let rule = AxisRule { size: size + 2, wrap, pixel: true, linear: true, moved: true };
    let mut beyond = 0;
    for a in 0..2 {
        let mut moved = place[a];
        for c in &mut moved {
            *c = *c * size as f32 + 1.0;
        }
        axis::<N, U>(&rule, &moved, offset[a], &mut axes[a]);
        for texel in &mut axes[a].texel {
            for t in texel {
                *t -= 1;
                // -1 is a large unsigned number.
                beyond |= u32::from(*t as u32 >= size);
            }
        }
    }
    *inside = beyond == 0;
}

/// A texel of a face, or beyond its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceTexel {
    /// Number of the face.
    pub face: u32,
    /// Column.
    pub x: i32,
    /// Row.
    pub y: i32,
}

/// The texel next to a face's edge, on the face on the other side. `None` at corners, where three
/// faces meet and there is no fourth texel. Texels are at most one step outside.
pub fn across(at: FaceTexel, size: i32) -> Option<FaceTexel> {
    let outside = |v: i32| v < 0 || v >= size;
    match (outside(at.x), outside(at.y)) {
        (false, false) => return Some(at),
        (true, true) => return None,
        _ => {}
    }
    // The centre of the texel as a direction with the major axis at `size`: exact in integers. A
    // texel outside lies one step beyond the neighbouring face, so that face is found by the larger
    // axis.
    let [major, s, t] = FACES[at.face as usize];
    let mut direction = [0i32; 3];
    direction[major.0 as usize] = major.1 as i32 * size;
    direction[s.0 as usize] = s.1 as i32 * (2 * at.x + 1 - size);
    direction[t.0 as usize] = t.1 as i32 * (2 * at.y + 1 - size);
    let axis = (0..3).max_by_key(|&a| direction[a].abs())?;
    let face = 2 * axis + usize::from(direction[axis] < 0);
    let [_, s, t] = FACES[face];
    // On the other face, the old major axis is at its edge: the texel is the outermost.
    let place = |(axis, sign): (u8, f32)| {
        let value = sign as i32 * direction[axis as usize];
        ((value + size - 1).div_euclid(2)).clamp(0, size - 1)
    };
    Some(FaceTexel { face: face as u32, x: place(s), y: place(t) })
}

/// Moves the texels of lanes that lie beyond an edge to the neighbouring face; gives the lanes that
/// have a corner and no texel.
pub fn cross<const N: usize>(
    size: u32,
    face: &mut Row<N>,
    x: &mut Ints<N>,
    y: &mut Ints<N>,
) -> u32 {
    let size = size as i32;
    let mut corners = 0;
    for i in 0..N {
        // -1 is a large number without sign.
        if (x[i] as u32) < size as u32 && (y[i] as u32) < size as u32 {
            continue;
        }
        let at = FaceTexel { face: face[i], x: x[i].clamp(-1, size), y: y[i].clamp(-1, size) };
        match across(at, size) {
            Some(to) => (face[i], x[i], y[i]) = (to.face, to.x, to.y),
            None => {
                corners |= 1 << i;
                x[i] = at.x.clamp(0, size - 1);
                y[i] = at.y.clamp(0, size - 1);
            }
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_those_of_the_table() {
        let r = [3.0, -5.0, 7.0f32];
        for (face, [major, s, t]) in FACES.into_iter().enumerate() {
            let want = [s, t, major].map(|(axis, sign)| sign * r[axis as usize]);
            assert_eq!(along(face as u32, r), want, "face {face}");
        }
    }

    /// The centre of a texel on a cube with sides of twice `size`.
    fn centre(at: FaceTexel, size: i32) -> [i32; 3] {
        let mut out = [0; 3];
        let [major, s, t] = FACES[at.face as usize];
        for ((axis, sign), value) in
            [(major, size), (s, 2 * at.x + 1 - size), (t, 2 * at.y + 1 - size)]
        {
            out[axis as usize] = sign as i32 * value;
        }
        out
    }

    /// The texel across an edge is the one whose centre is nearest: one step to the edge and one
    /// from it.
    #[test]
    fn texels_across_an_edge_are_neighbours() {
        for size in [1, 2, 5, 8] {
            for face in 0..6 {
                for k in 0..size {
                    for (x, y, [dx, dy]) in [
                        (0, k, [-1, 0]),
                        (size - 1, k, [1, 0]),
                        (k, 0, [0, -1]),
                        (k, size - 1, [0, 1]),
                    ] {
                        let here = FaceTexel { face, x, y };
                        assert_eq!(across(here, size), Some(here));
                        let there = across(FaceTexel { face, x: x + dx, y: y + dy }, size).unwrap();
                        assert_ne!(there.face, face);
                        let apart = centre(here, size).into_iter().zip(centre(there, size));
                        let mut steps: Vec<i32> = apart.map(|(a, b)| (a - b).abs()).collect();
                        steps.sort();
                        assert_eq!(steps, [0, 1, 1], "{size} {here:?} {there:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn corners_are_told_lane_by_lane() {
        let (mut face, mut x, mut y) = ([4; 8], [3; 8], [1; 8]);
        for lane in [1, 6] {
            (x[lane], y[lane]) = (8, -1);
        }
        (x[3], y[3]) = (-1, 2);
        assert_eq!(cross(8, &mut face, &mut x, &mut y), 0b0100_0010);
        assert_eq!((face[1], x[1], y[1]), (4, 7, 0));
        assert_eq!((face[6], x[6], y[6]), (4, 7, 0));
        // Left of +z is the right column of -x.
        assert_eq!((face[3], x[3], y[3]), (1, 7, 2));
        assert_eq!((face[0], x[0], y[0]), (4, 3, 1));
    }

    /// Against differences between the places of near directions.
    #[test]
    fn gradients_are_those_of_the_places() {
        let rates: Gradient<8> = [
            [[0.25, -0.5, 0.125, 1.0, -0.25, 0.5, 0.75, -1.0], [0.5; 8]],
            [[-0.75; 8], [0.25, 0.5, -0.125, -1.0, 0.25, 0.5, -0.75, 1.0]],
            [[0.375; 8], [-0.625; 8]],
        ];
        let direction: [Floats<8>; 3] = [
            [3.0, -3.0, 1.0, -1.0, 0.5, 1.0, 2.0, -0.25],
            [1.0, 0.5, 4.0, -2.0, 1.5, -1.0, -0.5, 0.5],
            [-2.0, 1.25, 1.5, 0.5, 3.0, -4.0, 0.75, -1.0],
        ];
        let mut at = Faces::ZERO;
        faces(&direction, &mut at);
        let mut got: Gradient<8> = [[[0.0; 8]; 2]; 3];
        gradients(&at.face, &direction, &rates, &mut got);
        let place = |face: u32, r: [f64; 3]| {
            let [major, s, t] =
                FACES[face as usize].map(|(axis, sign)| f64::from(sign) * r[axis as usize]);
            [0.5 * s / major + 0.5, 0.5 * t / major + 0.5]
        };
        for i in 0..8 {
            let r = direction.map(|d| f64::from(d[i]));
            let here = place(at.face[i], r);
            for k in 0..2 {
                assert!((here[k] - f64::from(at.place[k][i])).abs() < 1e-6, "place {i} {k}");
            }
            for way in 0..2 {
                let step = |e: f64| std::array::from_fn(|a| r[a] + e * f64::from(rates[a][way][i]));
                let (after, before) =
                    (place(at.face[i], step(1e-5)), place(at.face[i], step(-1e-5)));
                for k in 0..2 {
                    let want = (after[k] - before[k]) / 2e-5;
                    let got = f64::from(got[k][way][i]);
                    assert!((got - want).abs() < 1e-4, "{i} {way} {k}: {got}, not {want}");
                }
            }
        }
    }
}
