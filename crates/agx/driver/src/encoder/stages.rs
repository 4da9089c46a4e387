//! The stages of a draw before the rasteriser, and the topologies between them.

use std::sync::Arc;

use tepui_expand::tessellate::Tessellation;
use tepui_expand::{Emission, Record};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_expand::Order;
use tepui_vulkan_expand::topology::{assembled, tessellation};

use super::variants::vertex_key;
use crate::family::Agx;
use crate::shader::{Results, Shader, VertexKey};

/// The stages of a draw with a geometry shader whose counts the CPU knows, and what they read and write.
pub(super) struct GeometryStages {
    pub(super) vertex: Arc<Shader>,
    pub(super) geometry: Arc<Shader>,
    pub(super) order: Order,
    /// Vertices that are read.
    pub(super) input: Record,
    /// Vertices that are emitted.
    pub(super) output: Record,
    pub(super) emission: Emission,
    /// Index lists.
    pub(super) lists: u32,
}

/// The stages of a draw before the rasteriser.
pub(super) struct Stages {
    pub(super) vertex: Arc<Shader>,
    pub(super) tessellation: Option<Tessellated>,
    pub(super) geometry: Option<Arc<Shader>>,
}

/// The stages around the tessellator.
pub(super) struct Tessellated {
    pub control: Arc<Shader>,
    pub evaluation: Arc<Shader>,
    pub how: Tessellation,
}

/// The key of a vertex shader that leaves its outputs to the next stage.
pub(super) fn record_key(vertex: &Shader, s: &GraphicsState) -> VertexKey {
    let mut key = vertex_key(vertex.inputs, s);
    key.results = Results::Record;
    // Later stages convert the depth, and write the view's layer.
    key.negative_one_to_one = false;
    key.multiview = false;
    key
}

/// The index buffer of a list that the stages wrote.
pub(super) fn list_buffer(address: u64, size: u64) -> IndexBuffer {
    IndexBuffer { address, size, index_bytes: 4, is_sparse: false }
}

impl Stages {
    /// `emissions` says that something asks for the primitives that reach the rasteriser.
    pub(super) fn new(state: &CommandState<Agx>, emissions: bool) -> Result<Stages> {
        let between = &state.bound.between;
        let missing = |what| move || Error::unsupported(format!("draws without {what} shader"));
        let vertex = state.bound.vertex.clone().ok_or_else(missing("a vertex"))?;
        let tessellation = match (&between.control, &between.evaluation) {
            (None, None) => None,
            (control, evaluation) => {
                let control = control.clone().ok_or_else(missing("a control"))?;
                let evaluation = evaluation.clone().ok_or_else(missing("an evaluation"))?;
                let how =
                    tessellation(&control.ir, &evaluation.ir, state.graphics.patch_lower_left);
                Some(Tessellated { control, evaluation, how })
            }
        };
        let geometry = match (&between.geometry, &tessellation) {
            (Some(geometry), _) => Some(geometry.clone()),
            // Something has to count and capture what the tessellator makes.
            (None, Some(t)) if emissions => Some(t.evaluation.passed_on(t.how.output())?),
            (None, Some(_)) => None,
            (None, None) => Some(vertex.passed_on(assembled(state.graphics.topology)?)?),
        };
        Ok(Stages { vertex, tessellation, geometry })
    }
}
