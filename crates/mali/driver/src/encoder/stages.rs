//! Shaders of expanded draws.

use std::hash::Hash;
use std::sync::Arc;

use tepui_expand::Expansion;
use tepui_expand::capture::{self, Destination};
use tepui_ir::{Shader as Ir, Stage};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_expand::{Derivation, Derived, ExpandShader};

use crate::limits::SUBGROUP_SIZE;
use crate::shader::{Shader, Variant};

impl ExpandShader for Shader {
    type Program = Arc<Variant>;

    fn ir(&self) -> &Ir {
        self.source()
    }

    fn derived(&self) -> &Derived<Shader> {
        &self.derived
    }

    fn derive(&self, ir: Ir, how: &Derivation) -> Result<Shader> {
        self.derive_from(ir, how, how.has_descriptors())
    }

    fn compute_program(&self) -> Result<Arc<Variant>> {
        self.only().cloned()
    }

    fn expanded_program(&self, expansion: &Expansion) -> Result<Arc<Variant>> {
        self.expanded.get_or(expansion, || {
            let mut ir = self.source().clone();
            tepui_expand::lower(&mut ir, expansion, SUBGROUP_SIZE).map_err(|e| {
                Error::new(vk::Result::ERROR_FEATURE_NOT_PRESENT, format!("the compiler: {e}"))
            })?;
            self.as_compute(ir, expansion)
        })
    }

    fn vertex_program(&self, _state: &GraphicsState, to: Destination) -> Result<Arc<Variant>> {
        self.vertices.get_or(&(to == Destination::Captures), || {
            let mut ir = self.source().clone();
            capture::run(&mut ir, to, SUBGROUP_SIZE);
            self.as_compute(ir, &(to == Destination::Captures))
        })
    }

    fn threads(program: &Arc<Variant>) -> u32 {
        program.workgroup[0]
    }

    fn reads_primitive(&self) -> bool {
        self.reads_primitive
    }
}

impl Shader {
    /// A shader of another stage as a compute program.
    fn as_compute(&self, mut ir: Ir, how: &impl Hash) -> Result<Arc<Variant>> {
        ir.info.stage = Stage::Compute;
        self.compile_ir(ir, how)
    }
}
