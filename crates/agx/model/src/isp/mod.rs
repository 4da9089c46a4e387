//! Image synthesis processor: draws a scene tile by tile.

use tepui_softgpu::AddressSpace;

use crate::Gpu;
use crate::job::{JobFault, JobStats, RenderJob, Unit};
use crate::render::scene::Scene;

/// Which part of a render command a scene is. A scene that outgrows its memory is drawn in parts;
/// between them, tiles are kept in memory by the programs of partial renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Tiles go on from what an earlier part left in memory.
    pub resumes: bool,
    /// A later part goes on from what this one leaves in memory.
    pub pauses: bool,
}

impl Part {
    /// The whole render command at once.
    pub const WHOLE: Part = Part { resumes: false, pauses: false };
}

/// Draws the whole scene of a render command.
pub fn draw(
    gpu: &Gpu,
    vm: &AddressSpace,
    job: &RenderJob,
    scene: &Scene,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    draw_part(gpu, vm, job, scene, Part::WHOLE, stats)
}

/// Draws one part of a render command.
pub fn draw_part(
    _gpu: &Gpu,
    _vm: &AddressSpace,
    _job: &RenderJob,
    _scene: &Scene,
    _part: Part,
    _stats: &mut JobStats,
) -> Result<(), JobFault> {
    Err(JobFault::unimplemented(Unit::Isp, "pixels of render commands"))
}
