//! A sampler in double precision, one texel at a time, written from the Vulkan specification's
//! equations ("Image Operations" chapter) and independent of the unit's code.

use tepui_agx_packets::sampler::{Filter, MipFilter, Wrap};

/// The texels of an image.
pub trait Texels {
    /// Sides of a level.
    fn size(&self, level: u32) -> [i64; 3];
    /// Levels.
    fn levels(&self) -> u32;
    /// A texel inside a level.
    fn texel(&self, level: u32, layer: u32, at: [i64; 3]) -> [f64; 4];
}

/// Sampler state.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub axes: usize,
    pub magnify: Filter,
    pub minify: Filter,
    pub mip: MipFilter,
    pub wrap: [Wrap; 3],
    pub lod: [f64; 2],
    pub border: [f64; 4],
    pub pixel: bool,
    pub cube: bool,
}

fn mirror(n: i64) -> i64 {
    if n >= 0 { n } else { -(1 + n) }
}

/// "Wrapping Operation": the texel number, or `None` for the border.
pub fn wrap(mode: Wrap, i: i64, size: i64) -> Option<i64> {
    match mode {
        Wrap::Repeat => Some(i.rem_euclid(size)),
        Wrap::MirroredRepeat => Some((size - 1) - mirror(i.rem_euclid(2 * size) - size)),
        Wrap::ClampToEdge => Some(i.clamp(0, size - 1)),
        Wrap::ClampToBorder | Wrap::ClampGl => (0..size).contains(&i).then_some(i),
        Wrap::MirroredClampToEdge => Some(mirror(i).clamp(0, size - 1)),
    }
}

/// The four or fewer texels of a level around unnormalized coordinates, weighted.
pub fn level(
    image: &dyn Texels,
    state: &State,
    filter: Filter,
    number: u32,
    layer: u32,
    coordinates: [f64; 3],
) -> [f64; 4] {
    let size = image.size(number);
    let mut u = [0.5; 3];
    for a in 0..state.axes {
        let mut c = coordinates[a];
        if state.wrap[a] == Wrap::ClampGl {
            c = c.clamp(0.0, if state.pixel { size[a] as f64 } else { 1.0 });
        }
        u[a] = if state.pixel { c } else { c * size[a] as f64 };
    }
    let fetch = |at: [i64; 3]| -> [f64; 4] {
        let mut inside = [0; 3];
        if state.cube {
            return cube_texel(image, number, layer, [at[0], at[1]]);
        }
        for a in 0..state.axes {
            match wrap(state.wrap[a], at[a], size[a]) {
                Some(i) => inside[a] = i,
                None => return state.border,
            }
        }
        image.texel(number, layer, inside)
    };
    if filter == Filter::Nearest {
        let mut at = u.map(|c| c.floor() as i64);
        for a in 0..state.axes {
            if state.wrap[a] == Wrap::ClampGl {
                at[a] = at[a].min(size[a] - 1);
            }
            if state.cube {
                at[a] = at[a].clamp(0, size[a] - 1);
            }
        }
        at[state.axes..].fill(0);
        return fetch(at);
    }
    let mut sum = [0.0; 4];
    for corner in 0..1 << state.axes {
        let mut at = [0; 3];
        let mut weight = 1.0;
        for a in 0..state.axes {
            let first = (u[a] - 0.5).floor();
            let fraction = u[a] - 0.5 - first;
            let step = corner >> a & 1;
            at[a] = first as i64 + step;
            weight *= if step == 1 { fraction } else { 1.0 - fraction };
        }
        let texel = fetch(at);
        for c in 0..4 {
            sum[c] += weight * texel[c];
        }
    }
    sum
}

/// A texel of a cube's face or across one of its edges, found by geometry: the texel of the six
/// faces whose centre is nearest to the point.
fn cube_texel(image: &dyn Texels, number: u32, layer: u32, at: [i64; 2]) -> [f64; 4] {
    let size = image.size(number)[0];
    let outside = |v: i64| v < 0 || v >= size;
    let (cube, face) = (layer / 6 * 6, layer % 6);
    if outside(at[0]) && outside(at[1]) {
        // The mean of the three texels that are there.
        let near = at.map(|v| v.clamp(0, size - 1));
        let three = [near, [at[0], near[1]], [near[0], at[1]]];
        let texels = three.map(|t| cube_texel(image, number, layer, t));
        return std::array::from_fn(|c| texels.iter().map(|t| t[c]).sum::<f64>() / 3.0);
    }
    if !outside(at[0]) && !outside(at[1]) {
        return image.texel(number, layer, [at[0], at[1], 0]);
    }
    let here = centre(face, at, size);
    let mut best = (f64::MAX, 0, [0, 0]);
    for f in (0..6).filter(|&f| f != face) {
        for k in 0..size {
            for edge in [[0, k], [size - 1, k], [k, 0], [k, size - 1]] {
                let there = centre(f, edge, size);
                let d: f64 = (0..3).map(|a| (here[a] - there[a]).powi(2)).sum();
                if d < best.0 {
                    best = (d, f, edge);
                }
            }
        }
    }
    image.texel(number, cube + best.1, [best.2[0], best.2[1], 0])
}

/// The centre of a face's texel in space, faces at distance 1.
/// The table is "Cube map face and coordinate selection", solved for the direction.
fn centre(face: u32, at: [i64; 2], size: i64) -> [f64; 3] {
    let [s, t] = at.map(|v| (2.0 * v as f64 + 1.0) / size as f64 - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// Face and place of a direction.
pub fn face(r: [f64; 3]) -> (u32, [f64; 2]) {
    let a = r.map(f64::abs);
    let (face, s, t, m) = if a[2] >= a[0] && a[2] >= a[1] {
        if r[2] >= 0.0 { (4, r[0], -r[1], a[2]) } else { (5, -r[0], -r[1], a[2]) }
    } else if a[1] >= a[0] {
        if r[1] >= 0.0 { (2, r[0], r[2], a[1]) } else { (3, r[0], -r[2], a[1]) }
    } else if r[0] >= 0.0 {
        (0, -r[2], -r[1], a[0])
    } else {
        (1, r[2], -r[1], a[0])
    };
    (face, [0.5 * s / m + 0.5, 0.5 * t / m + 0.5])
}

/// A texel at an explicit level of detail.
pub fn sample(
    image: &dyn Texels,
    state: &State,
    layer: u32,
    coordinates: [f64; 3],
    lod: f64,
) -> [f64; 4] {
    let lod = lod.clamp(state.lod[0], state.lod[1]);
    let filter = if lod <= 0.0 { state.magnify } else { state.minify };
    let last = f64::from(image.levels() - 1);
    let d = lod.clamp(0.0, last);
    match state.mip {
        MipFilter::None => level(image, state, filter, 0, layer, coordinates),
        MipFilter::Nearest => {
            let d = ((d + 0.5).ceil() - 1.0) as u32;
            level(image, state, filter, d, layer, coordinates)
        }
        MipFilter::Linear => {
            let (low, fraction) = (d.floor(), d - d.floor());
            let high = (low + 1.0).min(last);
            let a = level(image, state, filter, low as u32, layer, coordinates);
            let b = level(image, state, filter, high as u32, layer, coordinates);
            std::array::from_fn(|c| a[c] * (1.0 - fraction) + b[c] * fraction)
        }
    }
}
