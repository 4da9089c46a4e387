//! Draws as the vertex control stream describes them.

use tepui_agx_packets::vdm::{
    IndexSize, Primitive, StateVertexOutputs, StateVertexShaderWord0, StateVertexShaderWord1,
    StateVertexUnknown,
};

/// The state of the vertex control stream at a draw.
#[derive(Clone, Debug, Default)]
pub struct VertexState {
    /// The primitive restart index. Its value after reset is unknown; Mesa assumes zero.
    pub restart_index: u32,
    /// Registers that the pipeline loads.
    pub word0: StateVertexShaderWord0,
    /// The pipeline.
    pub word1: StateVertexShaderWord1,
    /// Words of a vertex.
    pub outputs: StateVertexOutputs,
    /// Provoking vertex.
    pub further: StateVertexUnknown,
}

/// Indices in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indices {
    /// GPU address of the first.
    pub address: u64,
    /// Size of one.
    pub size: IndexSize,
    /// Number of indices in the buffer; `None` if unbounded.
    pub bound: Option<u64>,
    /// The primitive restart index.
    pub restart: Option<u32>,
}

/// A draw with its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Primitive type.
    pub primitive: Primitive,
    /// Indices, if the draw has any.
    pub indices: Option<Indices>,
    /// Vertices or indices of an instance.
    pub count: u32,
    /// Instances.
    pub instances: u32,
    /// Base vertex of indexed draws, else the first vertex.
    pub start: u32,
}
