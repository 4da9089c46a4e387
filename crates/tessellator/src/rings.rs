//! Triangles between the rings of a domain, from the edges to the middle.

use crate::edge::{Edge, clamp};
use crate::{ONE, Spacing, Tessellated};

/// A ring: the numbers of the points of each side from corner to corner.
type Ring = Vec<Vec<u32>>;

/// Adds a ring whose sides have these points; the last of a side is the first of the next.
fn ring(sides: &[Vec<[u32; 2]>], made: &mut Tessellated) -> Ring {
    let first = made.points.len() as u32;
    let all: usize = sides.iter().map(|side| side.len() - 1).sum();
    let mut numbers = Vec::new();
    for side in sides {
        let from = made.points.len() as u32;
        made.points.extend(&side[..side.len() - 1]);
        let number = |k: u32| first + (from - first + k) % (all as u32).max(1);
        numbers.push((0..side.len() as u32).map(number).collect());
    }
    numbers
}

/// Fills a domain of three or four edges.
pub(crate) fn fill(outer: &[f32], inner: [f32; 2], spacing: Spacing, made: &mut Tessellated) {
    let triangle = outer.len() == 3;
    let mut largest = outer.iter().map(|&f| clamp(f, spacing, None)).fold(0.0, f32::max);
    if !triangle {
        largest = largest.max(inner[0].max(inner[1]));
    }
    let outer: Vec<Edge> = outer.iter().map(|&f| Edge::outer(f, spacing)).collect();
    let u = Edge::inner(inner[0], spacing, largest);
    let v = Edge::inner(if triangle { inner[0] } else { inner[1] }, spacing, largest);
    if outer.iter().chain([&u, &v]).all(|edge| edge.factor == ONE) {
        if triangle {
            made.points = vec![[0, ONE], [0, 0], [ONE, 0]];
            made.indices = vec![0, 1, 2];
        } else {
            made.points = vec![[0, 0], [ONE, 0], [ONE, ONE], [0, ONE]];
            made.indices = vec![0, 1, 3, 1, 2, 3];
        }
        return;
    }
    let mut before = ring(&sides_of_edges(&outer), made);
    // Rings up to the middle.
    let few = if u.points > v.points { &v } else { &u };
    let count = few.points.div_ceil(2);
    for number in 1..count {
        let now = if triangle {
            ring_of_triangle(&u, number, made)
        } else if !few.odd && number == count - 1 {
            row(&u, &v, number, made)
        } else {
            ring_of_quad(&u, &v, number, made)
        };
        for (side, numbers) in now.iter().enumerate() {
            let along = if triangle || side % 2 == 1 { &u } else { &v };
            match number {
                1 => transition(numbers, along, &before[side], &outer[side], made),
                _ => regular(numbers, &before[side], made),
            }
        }
        before = now;
    }
    if few.odd && triangle {
        made.indices.extend([before[0][0], before[1][0], before[2][0]]);
    } else if few.odd {
        squares(&before, u.points > v.points, v.odd, made);
    }
}

/// The points of the sides of the outermost ring.
fn sides_of_edges(outer: &[Edge]) -> Vec<Vec<[u32; 2]>> {
    let line = |edge: &Edge, back: bool, point: &dyn Fn(u32) -> [u32; 2]| -> Vec<[u32; 2]> {
        let side = edge.at[..edge.points].iter().map(|&at| point(at));
        if back { side.rev().collect() } else { side.collect() }
    };
    match outer {
        [a, b, c] => vec![
            line(a, true, &|p| [0, p]),
            line(b, false, &|p| [p, 0]),
            line(c, true, &|p| [p, ONE - p]),
        ],
        [a, b, c, d] => vec![
            line(a, true, &|p| [0, p]),
            line(b, false, &|p| [p, 0]),
            line(c, false, &|p| [ONE, p]),
            line(d, true, &|p| [p, ONE]),
        ],
        _ => Vec::new(),
    }
}

/// The ring of a triangle that is `number` steps from its edges; the last may be a single point.
fn ring_of_triangle(u: &Edge, number: usize, made: &mut Tessellated) -> Ring {
    if u.points - 2 * number == 1 {
        made.points.push([0x5555; 2]);
        let only = vec![made.points.len() as u32 - 1];
        return vec![only.clone(), only.clone(), only];
    }
    // The distance from the edges at which perpendiculars of the outermost points meet.
    let away = (u.at[number] * 0xaaaa + ONE / 2) / ONE;
    let along = |p: usize| u.at[p] - away.div_ceil(2);
    let forth = number..u.points - number;
    let back = forth.clone().rev();
    let sides = [
        back.clone().map(|p| [away, along(p)]).collect(),
        forth.map(|p| [along(p), away]).collect(),
        back.map(|p| [along(p), ONE.saturating_sub(along(p) + away)]).collect(),
    ];
    ring(&sides, made)
}

/// A ring of a quad.
fn ring_of_quad(u: &Edge, v: &Edge, number: usize, made: &mut Tessellated) -> Ring {
    let (across, up) = (number..u.points - number, number..v.points - number);
    let (first_u, last_u) = (u.at[number], u.at[u.points - 1 - number]);
    let (first_v, last_v) = (v.at[number], v.at[v.points - 1 - number]);
    let sides = [
        up.clone().rev().map(|p| [first_u, v.at[p]]).collect(),
        across.clone().map(|p| [u.at[p], first_v]).collect(),
        up.map(|p| [last_u, v.at[p]]).collect(),
        across.rev().map(|p| [u.at[p], last_v]).collect(),
    ];
    ring(&sides, made)
}

/// The row in the middle of a quad: a ring that goes there and back.
fn row(u: &Edge, v: &Edge, number: usize, made: &mut Tessellated) -> Ring {
    let first = made.points.len() as u32;
    let wide = u.points > v.points;
    let count = (if wide { u.points } else { v.points }) - 2 * number;
    for k in 0..count {
        made.points.push(if wide {
            [u.at[number + k], ONE / 2]
        } else {
            [ONE / 2, v.at[v.points - 1 - number - k]]
        });
    }
    let there: Vec<u32> = (0..count as u32).map(|k| first + k).collect();
    let back: Vec<u32> = there.iter().rev().copied().collect();
    let (start, end) = (vec![first], vec![first + count as u32 - 1]);
    if wide { vec![start, there, end, back] } else { vec![there, end, back, start] }
}

/// The row of squares in the middle of a quad.
fn squares(around: &Ring, wide: bool, v_odd: bool, made: &mut Tessellated) {
    let there = if wide { &around[1] } else { &around[0] };
    let back: Vec<u32> = around[if wide { 3 } else { 2 }].iter().rev().copied().collect();
    let count = there.len();
    let other = !wide && v_odd;
    for p in 0..count - 1 {
        let (o, o1, i, i1) = (there[p], there[p + 1], back[p], back[p + 1]);
        made.indices.extend(match (other, p == count / 2 - 1) {
            (false, _) => [i, o, o1, i, o1, i1],
            (true, false) => [o, o1, i, i, o1, i1],
            (true, true) => [o, i1, i, o, o1, i1],
        });
    }
}

/// Number of the step in which the point at a place of a half with 32 segments appears, if segments are halved in turn.
fn appears(place: u32) -> u32 {
    match place {
        0 => 0,
        1 => 32,
        p => {
            let m = p - 1;
            (32 + m) >> (m.trailing_zeros() + 1)
        }
    }
}

/// Fills the strip between an edge of the patch and the side of the outermost ring inside.
fn transition(inner: &[u32], along: &Edge, outer: &[u32], edge: &Edge, made: &mut Tessellated) {
    let [has_in, has_out] = [along, edge].map(|edge| edge.half - u32::from(edge.odd));
    let (mut i, mut o) = (0, 0);
    let mut step = |inside: bool, made: &mut Tessellated| {
        if inside {
            made.indices.extend([inner[i], outer[o], inner[i + 1]]);
            i += 1;
        } else {
            made.indices.extend([outer[o], outer[o + 1], inner[i]]);
            o += 1;
        }
    };
    for place in 0..=32 {
        if place > 0 && appears(place) < has_in {
            step(true, made);
        }
        if appears(place) < has_out {
            step(false, made);
        }
    }
    if along.odd {
        step(true, made);
    }
    if edge.odd {
        step(false, made);
        // In the middle, triangles of the edge begin with the inner point.
        let last = made.indices.len() - 3;
        made.indices[last..].rotate_right(1);
    }
    for place in (0..=32).rev() {
        if appears(place) < has_out {
            step(false, made);
        }
        if place > 0 && appears(place) < has_in {
            step(true, made);
        }
    }
    debug_assert_eq!((i, o), (inner.len() - 1, outer.len() - 1), "both sides are walked along");
}

/// Fills the strip between the sides of two rings inside.
fn regular(inner: &[u32], outer: &[u32], made: &mut Tessellated) {
    let count = inner.len();
    made.indices.extend([outer[0], outer[1], inner[0]]);
    for p in 0..count - 1 {
        let (o, o1, i, i1) = (outer[p + 1], outer[p + 2], inner[p], inner[p + 1]);
        if p < count / 2 {
            made.indices.extend([o, i1, i, o, o1, i1]);
        } else {
            made.indices.extend([i, o, o1, i, o1, i1]);
        }
    }
    made.indices.extend([outer[count], outer[count + 1], inner[count - 1]]);
}
