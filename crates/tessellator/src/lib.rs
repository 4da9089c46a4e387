//! The tessellator: points of a domain and the primitives between them, from tessellation factors.
//!
//! It works in fixed point and in the order of Direct3D 11, which GPUs and Mesa's software drivers follow; Vulkan leaves
//! both open. It walks around the rings of a domain one point after the other.
//!
//! source: Direct3D 11.3 functional specification, "Tessellator"; Mesa, tessellator.cpp.
//!
//! Start reading at [`tessellate`], then `rings.rs`.

mod edge;
mod rings;

use edge::Edge;

/// 1 in fixed point with 16 fraction bits.
pub const ONE: u32 = 1 << 16;

/// The shape that is subdivided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Four edges: u = 0, v = 0, u = 1, v = 1.
    Quads,
    /// Three edges: u = 0, v = 0, w = 0.
    Triangles,
    /// Lines along u: the first factor is how many, the second how many segments each has.
    Isolines,
}

/// Spacing of the points on edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal segments.
    Equal,
    /// An odd number, two of them shorter.
    FractionalOdd,
    /// An even number, two of them shorter.
    FractionalEven,
}

/// Topology of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The points alone.
    Points,
    /// Lines of isolines; nothing of other domains.
    Lines,
    /// Triangles whose area in (u, v) is positive; nothing of isolines.
    Positive,
    /// Triangles of negative area.
    Negative,
}

impl Output {
    /// Points of a primitive.
    #[must_use]
    pub fn corners(self) -> usize {
        match self {
            Output::Points => 1,
            Output::Lines => 2,
            Output::Positive | Output::Negative => 3,
        }
    }
}

/// A subdivided patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tessellated {
    /// u and v of each point in fixed point.
    pub points: Vec<[u32; 2]>,
    /// The points of each primitive: one, two or three.
    pub indices: Vec<u32>,
}

/// Subdivides a patch; nothing if a factor of its edges is not positive.
#[must_use]
pub fn tessellate(
    domain: Domain,
    spacing: Spacing,
    output: Output,
    outer: [f32; 4],
    inner: [f32; 2],
) -> Tessellated {
    let mut made = Tessellated::default();
    let edges = match domain {
        Domain::Isolines => 2,
        Domain::Triangles => 3,
        Domain::Quads => 4,
    };
    if outer[..edges].iter().any(|&factor| factor.is_nan() || factor <= 0.0) {
        return made;
    }
    match domain {
        Domain::Isolines => isolines(outer, spacing, &mut made),
        _ => rings::fill(&outer[..edges], inner, spacing, &mut made),
    }
    match (output, domain) {
        (Output::Points, _) => made.indices = (0..made.points.len() as u32).collect(),
        (Output::Negative, Domain::Quads | Domain::Triangles) => {
            made.indices.chunks_mut(3).for_each(|three| three.swap(1, 2));
        }
        (Output::Lines, Domain::Isolines)
        | (Output::Positive, Domain::Quads | Domain::Triangles) => {}
        _ => made.indices.clear(),
    }
    made
}

fn isolines(outer: [f32; 4], spacing: Spacing, made: &mut Tessellated) {
    let (lines, line) = (Edge::outer(outer[0], Spacing::Equal), Edge::outer(outer[1], spacing));
    for &v in &lines.at[..lines.points - 1] {
        for (k, &u) in line.at[..line.points].iter().enumerate() {
            if k > 0 {
                let point = made.points.len() as u32;
                made.indices.extend([point - 1, point]);
            }
            made.points.push([u, v]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPACINGS: [Spacing; 3] =
        [Spacing::Equal, Spacing::FractionalOdd, Spacing::FractionalEven];

    /// Twice the area of all triangles in units of the domain, which must turn the same way.
    fn area(made: &Tessellated) -> f64 {
        let one = f64::from(ONE);
        let triangles = made.indices.chunks_exact(3);
        triangles
            .map(|three| {
                let [p, q, r] =
                    [0, 1, 2].map(|k| made.points[three[k] as usize].map(|at| f64::from(at) / one));
                let area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
                assert!(area >= 0.0);
                area
            })
            .sum()
    }

    #[test]
    fn triangles_cover_their_domain_once() {
        for spacing in SPACINGS {
            for outer in [[1.0; 4], [1.0, 2.0, 3.0, 4.0], [7.3, 1.0, 5.5, 64.0], [9.0; 4]] {
                for inner in [[1.0, 1.0], [2.0, 3.0], [4.4, 1.0], [7.0, 6.2], [64.0, 2.5]] {
                    let of = |domain| tessellate(domain, spacing, Output::Positive, outer, inner);
                    let (quads, three) = (area(&of(Domain::Quads)), area(&of(Domain::Triangles)));
                    assert!((quads - 2.0).abs() < 1e-4, "{spacing:?} {outer:?} {inner:?} {quads}");
                    assert!((three - 1.0).abs() < 1e-4, "{spacing:?} {outer:?} {inner:?} {three}");
                }
            }
        }
    }

    #[test]
    fn fractional_edges_have_two_shorter_segments() {
        for (spacing, factor, count) in [
            (Spacing::FractionalOdd, 4.2, 5),
            (Spacing::FractionalEven, 4.2, 6),
            (Spacing::FractionalOdd, 1.5, 3),
            (Spacing::FractionalEven, 17.1, 18),
        ] {
            let edge = Edge::outer(factor, spacing);
            assert_eq!(edge.points, count + 1);
            let lengths: Vec<u32> = edge.at.windows(2).map(|p| p[1] - p[0]).collect();
            let longest = *lengths.iter().max().unwrap();
            let full = lengths.iter().filter(|&&l| l + 4 >= longest).count();
            assert_eq!(full, count - 2, "{:?}", edge.at);
            for (k, place) in edge.at.iter().enumerate() {
                assert_eq!(place + edge.at[count - k], ONE, "{:?}", edge.at);
            }
        }
    }

    #[test]
    fn factors_that_are_not_positive_leave_nothing() {
        for bad in [0.0, -1.0, f32::NAN] {
            let outer = [1.0, bad, 1.0, 1.0];
            let made = tessellate(Domain::Quads, Spacing::Equal, Output::Positive, outer, [1.0; 2]);
            assert_eq!(made, Tessellated::default());
        }
    }

    proptest! {
        #[test]
        fn any_bits_are_factors(bits in prop::array::uniform6(any::<u32>()), near in any::<bool>()) {
            let factor = |k: usize| match near {
                true => bits[k] as f32 / (1u32 << 26) as f32,
                false => f32::from_bits(bits[k]),
            };
            let outer = [0, 1, 2, 3].map(factor);
            for domain in [Domain::Quads, Domain::Triangles, Domain::Isolines] {
                for spacing in SPACINGS {
                    let inner = [4, 5].map(factor);
                    let made = tessellate(domain, spacing, Output::Positive, outer, inner);
                    let points = made.points.len() as u32;
                    prop_assert!(made.indices.iter().all(|&k| k < points));
                    prop_assert!(made.points.iter().flatten().all(|&at| at <= ONE));
                }
            }
        }
    }
}
