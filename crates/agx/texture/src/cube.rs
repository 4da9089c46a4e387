//! Cubes: from a direction to a face and a place on it, and across the faces' edges.

use crate::lod::Gradient;
use crate::{Floats, Ints, LANES, Row};

/// Faces and places of directions.
#[derive(Clone, Copy, Debug)]
pub struct Faces {
    /// Number of the face: +x, -x, +y, -y, +z, -z.
    pub face: Row,
    /// Coordinates on the face, 0 to 1.
    pub place: [Floats; 2],
    /// The axis that the face is on, and the two others: numbers in the direction, and signs.
    axes: [Axes; LANES],
}

#[derive(Clone, Copy, Debug, Default)]
struct Axes {
    major: (u8, f32),
    s: (u8, f32),
    t: (u8, f32),
    major_value: f32,
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

/// Finds face and place of each lane's direction.
pub fn faces(direction: &[Floats; 3]) -> Faces {
    let mut out =
        Faces { face: [0; LANES], place: [[0.0; LANES]; 2], axes: [Axes::default(); LANES] };
    for i in 0..LANES {
        let r = [direction[0][i], direction[1][i], direction[2][i]];
        let a = r.map(f32::abs);
        // z wins over y wins over x. source: the same section, rules of precedence
        let axis = if a[2] >= a[0] && a[2] >= a[1] {
            2
        } else if a[1] >= a[0] {
            1
        } else {
            0
        };
        let face = 2 * axis + usize::from(r[axis].is_sign_negative());
        let [major, s, t] = FACES[face];
        let length = a[axis];
        let place = |(axis, sign): (u8, f32)| 0.5 * (sign * r[axis as usize] / length) + 0.5;
        out.face[i] = face as u32;
        out.place[0][i] = place(s);
        out.place[1][i] = place(t);
        out.axes[i] = Axes { major, s, t, major_value: r[axis] };
    }
    out
}

/// Gradients on the faces from gradients of the directions.
/// source: Vulkan specification, "Cube Map Derivative Transformation"
pub fn gradients(faces: &Faces, direction: &[Floats; 3], gradient: &Gradient) -> Gradient {
    let mut out = [[[0.0; LANES]; 2]; 3];
    for i in 0..LANES {
        let Axes { major, s, t, major_value } = faces.axes[i];
        let scale = 0.5 / (major_value * major_value);
        for way in 0..2 {
            let rate = |(axis, sign): (u8, f32)| sign * gradient[axis as usize][way][i];
            let length = major_value.abs();
            let major_rate = gradient[major.0 as usize][way][i] * major.1;
            for (k, axis) in [s, t].into_iter().enumerate() {
                let value = axis.1 * direction[axis.0 as usize][i];
                out[k][way][i] = scale * (length * rate(axis) - value * major_rate);
            }
        }
    }
    out
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
    // The centre of the texel as a direction with the major axis at `size`: exact in integers. A texel
    // outside lies one step beyond the neighbouring face, so that face is found by the larger axis.
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
pub fn cross(size: u32, face: &mut Row, x: &mut Ints, y: &mut Ints) -> u32 {
    let size = size as i32;
    let mut corners = 0;
    for i in 0..LANES {
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
