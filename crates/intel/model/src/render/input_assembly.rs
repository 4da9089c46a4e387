//! Primitives as inputs of geometry shaders: with adjacent vertices, if the topology has them.

use std::collections::VecDeque;

use super::assembly::{Assembled, Assembly, ProvokingVertices};
use crate::job::JobFault;

/// Maximum number of vertices of a primitive.
pub(super) const MAX_VERTICES: usize = 6;

/// A primitive: its vertices, and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InputPrimitive {
    pub vertices: [u32; MAX_VERTICES],
    pub number: u32,
}

/// The assembly rule of primitives with adjacency.
enum AdjacencyRule {
    /// Number of vertices of a primitive, and the distance between the first vertices of consecutive
    /// primitives.
    Every(usize, usize),
    /// Triangle strips, in which the last triangle has a different adjacent vertex.
    Strip,
}

/// Assembles primitives.
pub(super) enum InputAssembly {
    /// Primitives without adjacency.
    Plain(Assembly, Vec<Assembled>),
    Adjacent {
        kind: AdjacentKind,
        /// Whether odd triangles of strips keep their last vertex in place instead of their first.
        trailing: bool,
        /// Vertices that are still needed.
        sequence: VecDeque<u32>,
        /// Number of vertices and of primitives since the start or the last restart.
        seen: usize,
        made: u32,
        number: u32,
    },
}

/// The topologies with adjacency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdjacentKind {
    Lines,
    LineStrip,
    Triangles,
    TriangleStrip,
}

impl AdjacentKind {
    fn kind(self) -> AdjacencyRule {
        match self {
            AdjacentKind::Lines => AdjacencyRule::Every(4, 4),
            AdjacentKind::LineStrip => AdjacencyRule::Every(4, 1),
            AdjacentKind::Triangles => AdjacencyRule::Every(6, 6),
            AdjacentKind::TriangleStrip => AdjacencyRule::Strip,
        }
    }
}

impl InputAssembly {
    /// The assembler of a topology (3D_Prim_Topo_Type).
    ///
    /// # Errors
    /// The topology is not drawn.
    pub fn new(topology: u32, trailing: bool) -> Result<InputAssembly, JobFault> {
        let kind = match topology {
            9 => AdjacentKind::Lines,
            10 => AdjacentKind::LineStrip,
            11 => AdjacentKind::Triangles,
            12 => AdjacentKind::TriangleStrip,
            _ => {
                // Strip triangles are rotated so that the last or the first vertex stays in place.
                let strips = if trailing { 2 } else { 0 };
                let order = ProvokingVertices { lines: 0, strips, fans: 0 };
                return Ok(InputAssembly::Plain(Assembly::new(topology, order)?, Vec::new()));
            }
        };
        let sequence = VecDeque::new();
        Ok(InputAssembly::Adjacent { kind, trailing, sequence, seen: 0, made: 0, number: 0 })
    }

    /// The vertices that later primitives need.
    pub fn held(&mut self) -> Vec<&mut u32> {
        match self {
            InputAssembly::Plain(assembly, _) => assembly.held().collect(),
            InputAssembly::Adjacent { sequence, .. } => sequence.iter_mut().collect(),
        }
    }

    /// Takes a vertex; adds the primitives that it completes.
    pub fn push(&mut self, vertex: u32, out: &mut Vec<InputPrimitive>) {
        match self {
            InputAssembly::Plain(assembly, list) => {
                assembly.push(vertex, list);
                drain(list, out);
            }
            InputAssembly::Adjacent { kind, trailing, sequence, seen, made, number } => {
                sequence.push_back(vertex);
                *seen += 1;
                match kind.kind() {
                    AdjacencyRule::Every(size, step) => {
                        if sequence.len() == size {
                            let mut vertices = [0; MAX_VERTICES];
                            vertices.iter_mut().zip(&*sequence).for_each(|(to, v)| *to = *v);
                            sequence.drain(..step);
                            add(vertices, number, out);
                        }
                    }
                    // A triangle is known not to be the last when another one follows.
                    AdjacencyRule::Strip if *seen >= 8 && seen.is_multiple_of(2) => {
                        let before = sequence.len() - 8;
                        let at = |k: usize| sequence[before + k];
                        let neighbour = at(6);
                        let vertices = strip(*made, *trailing, &at, before, sequence, neighbour);
                        *made += 1;
                        add(vertices, number, out);
                        // The next triangle begins two vertices later and has an adjacent vertex two before.
                        while sequence.len() > 8 {
                            sequence.pop_front();
                        }
                    }
                    AdjacencyRule::Strip => {}
                }
            }
        }
    }

    /// Ends a sequence.
    pub fn restart(&mut self, out: &mut Vec<InputPrimitive>) {
        match self {
            InputAssembly::Plain(assembly, list) => {
                assembly.restart(list);
                drain(list, out);
            }
            InputAssembly::Adjacent { kind, trailing, sequence, seen, made, number } => {
                if *kind == AdjacentKind::TriangleStrip && *seen >= 6 {
                    let even = *seen & !1;
                    // The last triangle begins six vertices before the end.
                    let before = sequence.len() - 6 - (*seen - even);
                    let at = |k: usize| sequence[before + k];
                    let neighbour = at(5);
                    let vertices = strip(*made, *trailing, &at, before, sequence, neighbour);
                    add(vertices, number, out);
                }
                sequence.clear();
                (*seen, *made) = (0, 0);
            }
        }
    }

    /// Ends an instance: primitives are counted from 0 again.
    pub fn end_instance(&mut self, out: &mut Vec<InputPrimitive>) {
        self.restart(out);
        match self {
            InputAssembly::Plain(assembly, list) => assembly.end_instance(list),
            InputAssembly::Adjacent { number, .. } => *number = 0,
        }
    }
}

/// A triangle of a strip with adjacency: corners and adjacent vertices alternate. `at` is relative to its
/// first corner; the vertex across its edge to the previous triangle is two vertices earlier.
///
/// source: Vulkan specification, "Triangle Strips With Adjacency".
fn strip(
    number: u32,
    trailing: bool,
    at: &impl Fn(usize) -> u32,
    before: usize,
    sequence: &VecDeque<u32>,
    next: u32,
) -> [u32; MAX_VERTICES] {
    let earlier = match number {
        0 => at(1),
        _ => before.checked_sub(2).and_then(|k| sequence.get(k)).copied().unwrap_or(at(1)),
    };
    match (number % 2, trailing) {
        (0, _) => [at(0), earlier, at(2), next, at(4), at(3)],
        (_, true) => [at(2), earlier, at(0), at(3), at(4), next],
        (_, false) => [at(0), at(3), at(4), next, at(2), earlier],
    }
}

fn add(vertices: [u32; MAX_VERTICES], number: &mut u32, out: &mut Vec<InputPrimitive>) {
    out.push(InputPrimitive { vertices, number: *number });
    *number = number.wrapping_add(1);
}

fn drain(list: &mut Vec<Assembled>, out: &mut Vec<InputPrimitive>) {
    out.extend(
        list.drain(..)
            .map(|([a, b, c], number)| InputPrimitive { vertices: [a, b, c, c, c, c], number }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(topology: u32, trailing: bool, vertices: u32) -> Vec<[u32; MAX_VERTICES]> {
        let mut assembly = InputAssembly::new(topology, trailing).unwrap();
        let mut out = Vec::new();
        (0..vertices).for_each(|v| assembly.push(v, &mut out));
        assembly.end_instance(&mut out);
        out.into_iter().map(|w| w.vertices).collect()
    }

    #[test]
    fn strips_have_the_neighbours_of_the_specification() {
        // OpenGL, table "Triangles generated by triangle strips with adjacency", counted from 0; Vulkan
        // rotates odd triangles so that they begin with their first vertex.
        assert_eq!(assemble(12, true, 6), [[0, 1, 2, 5, 4, 3]]);
        assert_eq!(assemble(12, true, 8), [[0, 1, 2, 6, 4, 3], [4, 0, 2, 5, 6, 7]]);
        assert_eq!(assemble(12, false, 8), [[0, 1, 2, 6, 4, 3], [2, 5, 6, 7, 4, 0]]);
        assert_eq!(
            assemble(12, true, 10),
            [[0, 1, 2, 6, 4, 3], [4, 0, 2, 5, 6, 8], [4, 2, 6, 9, 8, 7]]
        );
    }

    #[test]
    fn lists_and_line_strips_go_on() {
        assert_eq!(assemble(9, false, 9)[1][..4], [4, 5, 6, 7]);
        assert_eq!(assemble(10, false, 5)[1][..4], [1, 2, 3, 4]);
        assert_eq!(assemble(11, false, 12)[1], [6, 7, 8, 9, 10, 11]);
    }
}
