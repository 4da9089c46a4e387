//! Primitive assembly: from a sequence of vertices to points, lines and triangles.
//!
//! Strips turn every second triangle. They do so around the vertex that flat shading takes, so that
//! it keeps its number: fragment programs bind flat varyings to a vertex by number.
//! source: hk_cmd_draw.c, `provoking` in hk_flush_dynamic_state; agx_nir_lower_uvs.c,
//! translate_flat_shade_model

use tepui_agx_packets::vdm::{Primitive, VdmVertex};

use super::scene::Kind;

/// Turns vertices into primitives, one at a time.
#[derive(Clone, Debug)]
pub struct Assembler {
    primitive: Primitive,
    provoking: VdmVertex,
    /// Vertices that later primitives need.
    held: [u32; 3],
    /// Vertices since the start or restart.
    seen: u64,
}

impl Assembler {
    /// An assembler for a draw's instance.
    pub fn new(primitive: Primitive, provoking: VdmVertex) -> Assembler {
        Assembler { primitive, provoking, held: [0; 3], seen: 0 }
    }

    /// What the primitives are.
    pub fn kind(&self) -> Kind {
        match self.primitive {
            Primitive::Points => Kind::Point,
            Primitive::Lines | Primitive::LineStrip | Primitive::LineLoop => Kind::Line,
            _ => Kind::Triangle,
        }
    }

    /// The vertices that are still needed, for whoever moves them.
    pub fn held(&mut self) -> &mut [u32] {
        let held = (self.seen.min(3)) as usize;
        &mut self.held[..held]
    }

    /// Takes a vertex; hands on the primitives that it completes.
    #[inline]
    pub fn push(&mut self, vertex: u32, mut emit: impl FnMut([u32; 3])) {
        let seen = self.seen;
        self.seen += 1;
        let [a, b, c] = self.held;
        let last = self.provoking == VdmVertex::Vertex2;
        match self.primitive {
            Primitive::Points => emit([vertex; 3]),
            Primitive::Lines => match seen % 2 {
                0 => self.held[0] = vertex,
                _ => emit([a, vertex, vertex]),
            },
            Primitive::LineStrip => {
                if seen > 0 {
                    emit([a, vertex, vertex]);
                }
                self.held[0] = vertex;
            }
            // The first vertex is kept for the line that closes the loop.
            Primitive::LineLoop => {
                if seen > 0 {
                    emit([a, vertex, vertex]);
                } else {
                    self.held[1] = vertex;
                }
                self.held[0] = vertex;
            }
            Primitive::Triangles => match seen % 3 {
                2 => emit([a, b, vertex]),
                n => self.held[n as usize] = vertex,
            },
            Primitive::TriangleStrip => {
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
            Primitive::TriangleFan => {
                if seen >= 2 {
                    emit([a, b, vertex]);
                }
                self.held[seen.min(1) as usize] = vertex;
            }
            // Both triangles of a quadrilateral have its provoking vertex at the same number.
            Primitive::Quads => match seen % 4 {
                3 => quad([a, b, c, vertex], last, emit),
                n => self.held[n as usize] = vertex,
            },
            Primitive::QuadStrip => {
                if seen >= 3 && seen % 2 == 1 {
                    quad([a, b, vertex, c], last, emit);
                    self.held = [c, vertex, c];
                } else {
                    self.held[seen.min(2) as usize] = vertex;
                }
            }
        }
    }

    /// Ends the sequence: what is incomplete is dropped, a loop is closed.
    pub fn restart(&mut self, mut emit: impl FnMut([u32; 3])) {
        if self.primitive == Primitive::LineLoop && self.seen > 1 {
            let [last, first, _] = self.held;
            emit([last, first, first]);
        }
        self.seen = 0;
    }
}

/// Along which diagonal the hardware cuts is unknown, and so is whether polygons drawn as lines show it;
/// that the provoking vertex is the quadrilateral's first or last is what Mesa relies on.
/// source: agx_pipe.c, quads_follow_provoking_vertex_convention
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

    fn assemble(primitive: Primitive, provoking: VdmVertex, vertices: &[i64]) -> Vec<[u32; 3]> {
        let mut out = Vec::new();
        let mut assembler = Assembler::new(primitive, provoking);
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
        let strip = |p| assemble(Primitive::TriangleStrip, p, &[0, 1, 2, 3, 4]);
        assert_eq!(strip(VdmVertex::Vertex0), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        assert_eq!(strip(VdmVertex::Vertex2), [[0, 1, 2], [2, 1, 3], [2, 3, 4]]);
    }

    #[test]
    fn fans_share_their_first_vertex() {
        let fan = assemble(Primitive::TriangleFan, VdmVertex::Vertex1, &[0, 1, 2, 3, -1, 4, 5, 6]);
        assert_eq!(fan, [[0, 1, 2], [0, 2, 3], [4, 5, 6]]);
    }

    #[test]
    fn incomplete_primitives_are_dropped_at_a_restart() {
        let list = assemble(Primitive::Triangles, VdmVertex::Vertex0, &[0, 1, -1, 2, 3, 4, 5]);
        assert_eq!(list, [[2, 3, 4]]);
        let lines = assemble(Primitive::Lines, VdmVertex::Vertex0, &[0, -1, 1, 2]);
        assert_eq!(lines, [[1, 2, 2]]);
    }

    #[test]
    fn loops_are_closed() {
        let closed = assemble(Primitive::LineLoop, VdmVertex::Vertex0, &[0, 1, 2, -1, 3, 4]);
        assert_eq!(closed, [[0, 1, 1], [1, 2, 2], [2, 0, 0], [3, 4, 4], [4, 3, 3]]);
        assert_eq!(assemble(Primitive::LineStrip, VdmVertex::Vertex0, &[0, 1, 2]).len(), 2);
    }

    #[test]
    fn quadrilaterals_keep_their_provoking_vertex() {
        let first = assemble(Primitive::Quads, VdmVertex::Vertex0, &[0, 1, 2, 3]);
        assert_eq!(first, [[0, 1, 2], [0, 2, 3]]);
        let last = assemble(Primitive::Quads, VdmVertex::Vertex2, &[0, 1, 2, 3]);
        assert_eq!(last, [[0, 1, 3], [1, 2, 3]]);
        let strip = assemble(Primitive::QuadStrip, VdmVertex::Vertex0, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(strip, [[0, 1, 3], [0, 3, 2], [2, 3, 5], [2, 5, 4]]);
    }
}
