//! Pipelines and their layouts.

use std::sync::{Arc, Mutex, PoisonError};

use vulkanalia_sys as vk;

use super::captured::Captured;
use crate::backend::{Between, Stages, Types};
use crate::descriptor::SetLayout;
use crate::state::{GraphicsState, Groups};

/// A pipeline layout.
pub struct PipelineLayout<B: Types> {
    /// Set layouts by number; those of unused sets may be absent.
    pub sets: Vec<Option<Arc<SetLayout<B>>>>,
}

/// A pipeline.
pub struct Pipeline<B: Types> {
    /// Its shaders and state.
    pub kind: Kind<B>,
    /// Sources and programs for a binary, until the application releases them.
    pub(super) captured: Mutex<Option<Arc<Captured>>>,
}

impl<B: Types> Pipeline<B> {
    /// Contents of the pipeline's binary.
    pub(crate) fn captured(&self) -> Option<Arc<Captured>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Releases the data for binaries of the pipeline.
    pub(crate) fn release_captured(&self) {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Shaders and state by the kind of pipeline.
pub enum Kind<B: Types> {
    /// A compute pipeline.
    Compute(Arc<B::Shader>),
    /// A graphics pipeline, or a part of one.
    Graphics(Box<GraphicsPipeline<B>>),
}

/// A graphics pipeline, or a library that is a part of one.
pub struct GraphicsPipeline<B: Types> {
    /// A number that no other pipeline of the process has, greater than 0.
    pub id: u64,
    /// Vertex shader.
    pub vertex: Option<Arc<B::Shader>>,
    /// Shaders between vertices and the rasteriser.
    pub between: Between<B>,
    /// Fragment shader.
    pub fragment: Option<Arc<B::Shader>>,
    /// State that the pipeline fixes. Pipelines with the same state share it.
    pub state: Arc<GraphicsState>,
    /// Groups of `state` that count.
    pub fixed: Groups,
    /// Groups that commands set.
    pub dynamic: Groups,
    /// Parts that the pipeline has.
    pub(super) parts: vk::GraphicsPipelineLibraryFlagsEXT,
    /// A hash of what the shaders of a library are made from, for the keys of pipelines that have it.
    pub(super) sources: u128,
}

impl<B: Types> GraphicsPipeline<B> {
    /// Its shaders by stage. The family expands stages that are not among those of the hardware.
    pub(super) fn stages(&self, hardware: vk::ShaderStageFlags) -> Stages<'_, B> {
        let Between { control, evaluation, geometry } = &self.between;
        let all = [&self.vertex, control, evaluation, geometry, &self.fragment];
        Stages::new(all.map(|s| s.as_deref()), hardware)
    }
}
