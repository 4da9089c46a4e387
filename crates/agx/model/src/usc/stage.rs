//! What surrounds a SIMD-group besides registers and memory: the fixed-function units that a vertex
//! or fragment program talks to.

use super::lanes::LANES;

/// The stage that a SIMD-group runs in.
#[derive(Default)]
pub enum Stage<'a> {
    /// Compute, preshaders and helper programs: no fixed function beside.
    #[default]
    Compute,
    /// A vertex program: its outputs.
    Vertex(VertexStage<'a>),
}

/// Where a vertex program's outputs go.
pub struct VertexStage<'a> {
    /// Outputs of the group's vertices: `stride` words for each lane, lane after lane.
    pub outputs: &'a mut [u32],
    /// Words of a vertex.
    pub stride: usize,
}

impl VertexStage<'_> {
    /// Writes one output word of a lane; words that the vertex does not have are dropped.
    #[inline(always)]
    pub fn store(&mut self, lane: usize, word: usize, value: u32) {
        debug_assert!(lane < LANES);
        if word < self.stride {
            if let Some(slot) = self.outputs.get_mut(lane * self.stride + word) {
                *slot = value;
            }
        }
    }
}
