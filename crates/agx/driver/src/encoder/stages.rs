//! Shaders of expanded draws.

use std::sync::Arc;

use tepui_expand::Expansion;
use tepui_expand::capture::Destination;
use tepui_ir::Shader as Ir;
use tepui_vulkan::Result;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan_expand::{Derivation, Derived, ExpandShader};

use super::variants::vertex_key;
use crate::shader::{Linking, Results, Shader, Variant};

impl ExpandShader for Shader {
    type Program = Arc<Variant>;

    fn ir(&self) -> &Ir {
        &self.ir
    }

    fn derived(&self) -> &Derived<Shader> {
        &self.derived
    }

    fn derive(&self, ir: Ir, how: &Derivation) -> Result<Shader> {
        self.derive_as(ir, how)
    }

    fn compute_program(&self) -> Result<Arc<Variant>> {
        self.compute()
    }

    fn expanded_program(&self, expansion: &Expansion) -> Result<Arc<Variant>> {
        self.expanded(expansion)
    }

    fn vertex_program(&self, state: &GraphicsState, to: Destination) -> Result<Arc<Variant>> {
        let mut key = vertex_key(self.inputs, state);
        match to {
            Destination::Captures => key.results = Results::Feedback,
            Destination::Records => {
                key.results = Results::Record;
                // Later stages convert the depth, and write the view's layer.
                (key.negative_one_to_one, key.multiview) = (false, false);
            }
        }
        self.vertex(&key, Linking::Whole)
    }

    fn threads(program: &Arc<Variant>) -> u32 {
        program.workgroup[0]
    }

    fn reads_primitive(&self) -> bool {
        self.reads_primitive
    }
}
