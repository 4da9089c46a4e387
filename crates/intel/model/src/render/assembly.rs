//! Primitive assembly: from a sequence of vertices to points, lines, triangles and rectangles.

use tepui_raster::{Assembler, PrimitiveKind, Provoking, Topology};

use super::unit::unimplemented;
use crate::job::JobFault;

/// Topologies.
///
/// source: genxml, 3D_Prim_Topo_Type.
mod topology {
    pub const POINTLIST: u32 = 1;
    pub const LINELIST: u32 = 2;
    pub const LINESTRIP: u32 = 3;
    pub const TRILIST: u32 = 4;
    pub const TRISTRIP: u32 = 5;
    pub const TRIFAN: u32 = 6;
    pub const QUADLIST: u32 = 7;
    pub const QUADSTRIP: u32 = 8;
    pub const LINELIST_ADJ: u32 = 9;
    pub const LINESTRIP_ADJ: u32 = 10;
    pub const TRILIST_ADJ: u32 = 11;
    pub const TRISTRIP_ADJ: u32 = 12;
    pub const TRISTRIP_REVERSE: u32 = 13;
    pub const POLYGON: u32 = 14;
    pub const RECTLIST: u32 = 15;
    pub const LINELOOP: u32 = 16;
    pub const TRIFAN_NOSTIPPLE: u32 = 22;
}

/// The provoking vertices of 3DSTATE_SF, which give constant attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProvokingVertices {
    pub lines: u32,
    pub strips: u32,
    pub fans: u32,
}

/// Positions of adjacent vertices, which only geometry shaders see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adjacency {
    None,
    /// The first and fourth of four vertices; the second and third are the line.
    Lines,
    /// The first and the last vertex of a strip.
    LineStrip,
    /// Every second vertex.
    Alternate,
}

/// Assembles the primitives of a draw.
pub(super) struct Assembly {
    assembler: Assembler,
    adjacency: Adjacency,
    /// Whether primitives are rectangles.
    pub rectangles: bool,
    /// The index of the provoking vertex.
    pub provoking: usize,
    /// Number of vertices since the start or the last restart.
    seen: u64,
    /// With adjacency, a vertex that is used when another follows: primitives without their last adjacent vertex are
    /// incomplete.
    before: Option<u32>,
    /// Number of primitives of the instance so far.
    number: u32,
}

/// An assembled primitive: three vertices (points and lines repeat theirs) and its index.
pub(super) type Assembled = ([u32; 3], u32);

impl Assembly {
    /// The assembler of a topology.
    ///
    /// # Errors
    /// The topology is not drawn.
    pub fn new(number: u32, provoking: ProvokingVertices) -> Result<Assembly, JobFault> {
        use topology as t;
        let (kind, adjacency) = match number {
            t::POINTLIST => (Topology::Points, Adjacency::None),
            t::LINELIST => (Topology::Lines, Adjacency::None),
            t::LINESTRIP => (Topology::LineStrip, Adjacency::None),
            t::LINELOOP => (Topology::LineLoop, Adjacency::None),
            t::TRILIST | t::RECTLIST => (Topology::Triangles, Adjacency::None),
            t::TRISTRIP => (Topology::TriangleStrip, Adjacency::None),
            t::TRIFAN | t::TRIFAN_NOSTIPPLE | t::POLYGON => {
                (Topology::TriangleFan, Adjacency::None)
            }
            t::QUADLIST => (Topology::Quads, Adjacency::None),
            t::QUADSTRIP => (Topology::QuadStrip, Adjacency::None),
            t::LINELIST_ADJ => (Topology::Lines, Adjacency::Lines),
            t::LINESTRIP_ADJ => (Topology::LineStrip, Adjacency::LineStrip),
            t::TRILIST_ADJ => (Topology::Triangles, Adjacency::Alternate),
            t::TRISTRIP_ADJ => (Topology::TriangleStrip, Adjacency::Alternate),
            t::TRISTRIP_REVERSE => {
                return Err(unimplemented("the topology TRISTRIP_REVERSE"));
            }
            other => return Err(unimplemented(&format!("the topology {other}"))),
        };
        let select = match kind {
            Topology::Points => 0,
            Topology::Lines | Topology::LineStrip | Topology::LineLoop => provoking.lines.min(1),
            Topology::TriangleFan => provoking.fans.min(2),
            _ => provoking.strips.min(2),
        };
        // A fan's second vertex is the assembler's second, whichever one is requested.
        let last = select == 2 && kind != Topology::TriangleFan;
        let order = if last { Provoking::Last } else { Provoking::First };
        Ok(Assembly {
            assembler: Assembler::new(kind, order),
            adjacency,
            rectangles: number == t::RECTLIST,
            provoking: select as usize,
            seen: 0,
            before: None,
            number: 0,
        })
    }

    /// The kind of the primitives.
    pub fn kind(&self) -> PrimitiveKind {
        self.assembler.kind()
    }

    /// The vertices that later primitives need.
    pub fn held(&mut self) -> impl Iterator<Item = &mut u32> {
        self.assembler.held().iter_mut().chain(&mut self.before)
    }

    /// Takes a vertex; adds the primitives that it completes.
    pub fn push(&mut self, vertex: u32, out: &mut Vec<Assembled>) {
        let seen = self.seen;
        self.seen += 1;
        let vertex = match self.adjacency {
            Adjacency::None => vertex,
            Adjacency::Lines if seen % 4 == 1 => vertex,
            Adjacency::Lines if seen.is_multiple_of(4) => return,
            Adjacency::Lines | Adjacency::Alternate => match self.before.take() {
                Some(before) => before,
                None => {
                    self.before = Some(vertex);
                    return;
                }
            },
            Adjacency::LineStrip => match self.before.replace(vertex) {
                Some(before) if seen >= 2 => before,
                _ => return,
            },
        };
        let number = &mut self.number;
        self.assembler.push(vertex, |three| {
            out.push((three, *number));
            *number = number.wrapping_add(1);
        });
    }

    /// Ends a sequence: incomplete primitives are dropped, a loop is closed.
    pub fn restart(&mut self, out: &mut Vec<Assembled>) {
        self.seen = 0;
        self.before = None;
        let number = &mut self.number;
        self.assembler.restart(|three| {
            out.push((three, *number));
            *number = number.wrapping_add(1);
        });
    }

    /// Ends an instance: primitives are counted from 0 again.
    pub fn end_instance(&mut self, out: &mut Vec<Assembled>) {
        self.restart(out);
        self.number = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ProvokingVertices = ProvokingVertices { lines: 0, strips: 0, fans: 1 };

    fn assemble(number: u32, vertices: u32) -> Vec<[u32; 3]> {
        let mut assembly = Assembly::new(number, FIRST).unwrap();
        let mut out = Vec::new();
        (0..vertices).for_each(|v| assembly.push(v, &mut out));
        assembly.end_instance(&mut out);
        out.into_iter().map(|(three, _)| three).collect()
    }

    #[test]
    fn neighbours_are_left_out() {
        assert_eq!(assemble(topology::LINELIST_ADJ, 8), [[1, 2, 2], [5, 6, 6]]);
        assert_eq!(assemble(topology::LINESTRIP_ADJ, 5), [[1, 2, 2], [2, 3, 3]]);
        assert_eq!(assemble(topology::TRILIST_ADJ, 6), [[0, 2, 4]]);
        assert_eq!(assemble(topology::TRISTRIP_ADJ, 8), [[0, 2, 4], [2, 6, 4]]);
    }

    #[test]
    fn primitives_without_their_last_neighbour_are_dropped() {
        assert_eq!(assemble(topology::LINELIST_ADJ, 7), [[1, 2, 2]]);
        assert_eq!(assemble(topology::LINESTRIP_ADJ, 4), [[1, 2, 2]]);
        assert_eq!(assemble(topology::TRILIST_ADJ, 11), [[0, 2, 4]]);
        assert_eq!(assemble(topology::TRISTRIP_ADJ, 7), [[0, 2, 4]]);
        let mut assembly = Assembly::new(topology::LINELIST_ADJ, FIRST).unwrap();
        let mut out = Vec::new();
        (0..3).for_each(|v| assembly.push(v, &mut out));
        assembly.restart(&mut out);
        (3..7).for_each(|v| assembly.push(v, &mut out));
        assert_eq!(out, [([4, 5, 5], 0)]);
    }

    #[test]
    fn primitives_are_numbered_through_restarts() {
        let mut assembly = Assembly::new(topology::LINESTRIP, FIRST).unwrap();
        let mut out = Vec::new();
        (0..3).for_each(|v| assembly.push(v, &mut out));
        assembly.restart(&mut out);
        (3..5).for_each(|v| assembly.push(v, &mut out));
        assembly.end_instance(&mut out);
        (5..7).for_each(|v| assembly.push(v, &mut out));
        assert_eq!(out, [([0, 1, 1], 0), ([1, 2, 2], 1), ([3, 4, 4], 2), ([5, 6, 6], 0)]);
    }
}
