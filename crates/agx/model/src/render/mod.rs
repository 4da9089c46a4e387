//! A render command, in two halves as the hardware has them: geometry (VDM, vertex programs, PPP)
//! fills a [`scene::Scene`], then pixels (ISP, fragment programs, tilebuffer, PBE) draw it tile by
//! tile.

pub mod coefficients;
pub mod scene;

use tepui_softgpu::AddressSpace;

use crate::Gpu;
use crate::job::{JobFault, JobStats, RenderJob, Unit};

/// Runs a render command to its end.
pub fn run(_gpu: &Gpu, _vm: &AddressSpace, _job: &RenderJob) -> Result<JobStats, JobFault> {
    Err(JobFault::unimplemented(Unit::Vdm, "render commands"))
}
