//! Primitive assembly: from a sequence of vertices to points, lines and triangles.
//!
//! Strips turn every second triangle around the provoking vertex, so that it keeps its number among
//! the three: fragment programs may name the vertex of a flat varying by number.

use crate::PrimitiveKind;

/// Primitive topology: the primitives that a sequence of vertices forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Points.
    Points,
    /// Separate lines.
    Lines,
    /// Connected lines.
    LineStrip,
    /// Connected lines, the last vertex with the first.
    LineLoop,
    /// Separate triangles.
    Triangles,
    /// Triangles that share an edge with the one before.
    TriangleStrip,
    /// Triangles that share the first vertex.
    TriangleFan,
    /// Separate quadrilaterals.
    Quads,
    /// Quadrilaterals that share an edge with the one before.
    QuadStrip,
}

/// The vertex from which flat varyings are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provoking {
    /// The first of a primitive (the second of a fan's triangle).
    First,
    /// The last.
    Last,
}

/// Turns vertices into primitives, one at a time.
#[derive(Clone, Debug)]
pub struct Assembler {
    topology: Topology,
    provoking: Provoking,
    /// Vertices that later primitives need.
    held: [u32; 3],
    /// Vertices since the start or restart.
    seen: u64,
}

impl Assembler {
    /// An assembler for a draw's instance.
    pub fn new(topology: Topology, provoking: Provoking) -> Assembler {
        Assembler { topology, provoking, held: [0; 3], seen: 0 }
    }

    /// PrimitiveKind of the primitives.
    pub fn kind(&self) -> PrimitiveKind {
        match self.topology {
            Topology::Points => PrimitiveKind::Point,
            Topology::Lines | Topology::LineStrip | Topology::LineLoop => PrimitiveKind::Line,
            _ => PrimitiveKind::Triangle,
        }
    }

    /// Whether no separate triangle has begun: three vertices would make one.
    #[inline]
    pub fn is_between(&self) -> bool {
        self.seen.is_multiple_of(3)
    }

    /// The vertices of unfinished primitives, for callers that renumber vertices.
    pub fn held(&mut self) -> &mut [u32] {
        let held = (self.seen.min(3)) as usize;
        &mut self.held[..held]
    }

    /// Takes a vertex; emits the primitives that it completes.
    #[inline]
    pub fn push(&mut self, vertex: u32, mut emit: impl FnMut([u32; 3])) {
        let seen = self.seen;
        self.seen += 1;
        let [a, b, c] = self.held;
        let last = self.provoking == Provoking::Last;
        match self.topology {
            Topology::Points => emit([vertex; 3]),
            Topology::Lines => match seen % 2 {
                0 => self.held[0] = vertex,
                _ => emit([a, vertex, vertex]),
            },
            Topology::LineStrip => {
                if seen > 0 {
                    emit([a, vertex, vertex]);
                }
                self.held[0] = vertex;
            }
            // The first vertex is kept for the line that closes the loop.
            Topology::LineLoop => {
                if seen > 0 {
                    emit([a, vertex, vertex]);
                } else {
                    self.held[1] = vertex;
                }
                self.held[0] = vertex;
            }
            Topology::Triangles => match seen % 3 {
                2 => emit([a, b, vertex]),
                n => self.held[n as usize] = vertex,
            },
            Topology::TriangleStrip => {
                if seen >= 2 {
                    emit(match (seen % 2, last) {
                        (0, _) => [a, b, vertex],
                        (_, false) => [a, vertex, b],
                        (_, true) => [b, a, vertex],
                    });
                    self.held = [b, vertex, c];
                } else {
                    self.held[seen as usize] = vertex;
                }
            }
            Topology::TriangleFan => {
                if seen >= 2 {
                    emit([a, b, vertex]);
                }
                self.held[seen.min(1) as usize] = vertex;
            }
            // Both triangles of a quadrilateral have its provoking vertex at the same number.
            Topology::Quads => match seen % 4 {
                3 => quad([a, b, c, vertex], last, emit),
                n => self.held[n as usize] = vertex,
            },
            Topology::QuadStrip => {
                if seen >= 3 && seen % 2 == 1 {
                    quad([a, b, vertex, c], last, emit);
                    self.held = [c, vertex, c];
                } else {
                    self.held[seen.min(2) as usize] = vertex;
                }
            }
        }
    }

    /// Ends the sequence: an incomplete primitive is dropped, a loop is closed.
    pub fn restart(&mut self, mut emit: impl FnMut([u32; 3])) {
        if self.topology == Topology::LineLoop && self.seen > 1 {
            let [last, first, _] = self.held;
            emit([last, first, first]);
        }
        self.seen = 0;
    }
}

/// Cuts a quadrilateral so that both triangles have its provoking vertex at the same number. Along
/// which diagonal is an assumption; no API that has quadrilaterals says it.
fn quad([a, b, c, d]: [u32; 4], last: bool, mut emit: impl FnMut([u32; 3])) {
    if last {
        emit([a, b, d]);
        emit([b, c, d]);
    } else {
        emit([a, b, c]);
        emit([a, c, d]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(topology: Topology, provoking: Provoking, vertices: &[i64]) -> Vec<[u32; 3]> {
        let mut out = Vec::new();
        let mut assembler = Assembler::new(topology, provoking);
        for &v in vertices {
            match v {
                -1 => assembler.restart(|t| out.push(t)),
                v => assembler.push(v as u32, |t| out.push(t)),
            }
        }
        assembler.restart(|t| out.push(t));
        out
    }

    #[test]
    fn strips_turn_around_the_provoking_vertex() {
        let strip = |p| assemble(Topology::TriangleStrip, p, &[0, 1, 2, 3, 4]);
        assert_eq!(strip(Provoking::First), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        assert_eq!(strip(Provoking::Last), [[0, 1, 2], [2, 1, 3], [2, 3, 4]]);
    }

    #[test]
    fn fans_share_their_first_vertex() {
        let fan = assemble(Topology::TriangleFan, Provoking::First, &[0, 1, 2, 3, -1, 4, 5, 6]);
        assert_eq!(fan, [[0, 1, 2], [0, 2, 3], [4, 5, 6]]);
    }

    #[test]
    fn incomplete_primitives_are_dropped_at_a_restart() {
        let list = assemble(Topology::Triangles, Provoking::First, &[0, 1, -1, 2, 3, 4, 5]);
        assert_eq!(list, [[2, 3, 4]]);
        let lines = assemble(Topology::Lines, Provoking::First, &[0, -1, 1, 2]);
        assert_eq!(lines, [[1, 2, 2]]);
    }

    #[test]
    fn loops_are_closed() {
        let closed = assemble(Topology::LineLoop, Provoking::First, &[0, 1, 2, -1, 3, 4]);
        assert_eq!(closed, [[0, 1, 1], [1, 2, 2], [2, 0, 0], [3, 4, 4], [4, 3, 3]]);
        assert_eq!(assemble(Topology::LineStrip, Provoking::First, &[0, 1, 2]).len(), 2);
    }

    #[test]
    fn quadrilaterals_keep_their_provoking_vertex() {
        let first = assemble(Topology::Quads, Provoking::First, &[0, 1, 2, 3]);
        assert_eq!(first, [[0, 1, 2], [0, 2, 3]]);
        let last = assemble(Topology::Quads, Provoking::Last, &[0, 1, 2, 3]);
        assert_eq!(last, [[0, 1, 3], [1, 2, 3]]);
        let strip = assemble(Topology::QuadStrip, Provoking::First, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(strip, [[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]]);
    }

    /// A caller that renumbers the vertices of unfinished primitives finds them all in `held`.
    #[test]
    fn held_vertices_can_be_renumbered() {
        for (topology, seen, want) in [
            (Topology::Lines, 1, vec![[100, 9, 9]]),
            (Topology::LineStrip, 2, vec![[101, 9, 9]]),
            (Topology::Triangles, 2, vec![[100, 101, 9]]),
            (Topology::TriangleStrip, 4, vec![[102, 103, 9]]),
            (Topology::TriangleFan, 4, vec![[100, 103, 9]]),
            (Topology::Quads, 3, vec![[100, 101, 102], [100, 102, 9]]),
        ] {
            let mut assembler = Assembler::new(topology, Provoking::First);
            for vertex in 0..seen {
                assembler.push(vertex, |_| {});
            }
            for vertex in assembler.held() {
                *vertex += 100;
            }
            let mut out = Vec::new();
            assembler.push(9, |t| out.push(t));
            assert_eq!(out, want, "{topology:?}");
        }
    }

    #[test]
    fn quadrilaterals_follow_one_another() {
        let two = assemble(Topology::Quads, Provoking::First, &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(two, [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]);
        let lines = assemble(Topology::Lines, Provoking::First, &[0, 1, 2, 3]);
        assert_eq!(lines, [[0, 1, 1], [2, 3, 3]]);
        let triangles = assemble(Topology::Triangles, Provoking::First, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(triangles, [[0, 1, 2], [3, 4, 5]]);
    }
}
