//! State of the frame that is being rendered.

use std::collections::HashMap;
use std::sync::Arc;

use tepui_mali_packets::framebuffer::PrePostFrameShaderMode as Mode;
use tepui_softgpu::worker_pool::Budget;

use super::pipeline::Pipeline;
use crate::gpu::Gpu;
use crate::pixels::framebuffer::Framebuffer;
use crate::pixels::scene::Scene;

/// State of the frame that is being rendered.
pub(crate) struct Frame<'a> {
    pub gpu: &'a Gpu,
    /// Its number, of all that the GPU has rendered.
    pub number: u64,
    pub framebuffer: Arc<Framebuffer>,
    pub scene: Arc<Scene>,
    /// Pipelines of the scene's draws that have primitives here.
    pub pipelines: HashMap<u32, Arc<Pipeline>>,
    /// Frame shaders: two before a tile's primitives, one after them.
    pub shaders: [Option<(Mode, Arc<Pipeline>)>; 3],
    pub budget: Budget,
    /// The rendered area, from the first pixel to one past the last.
    pub area: [[u32; 2]; 2],
}
