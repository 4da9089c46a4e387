//! A render command, in two halves as the hardware has them: geometry fills a [`scene::Scene`],
//! then pixels (ISP, fragment programs, tilebuffer, PBE) draw it tile by tile.
//!
//! Geometry begins with the control stream (`vdm`) and the state records that it points to
//! ([`crate::ppp`]). [`geometry`] passes each draw through assembly ([`batch`]), the vertex programs (`shade`) and
//! [`setup`], which culls, clips and snaps primitives (with `tepui_raster`, which all GPU families share). Pixels are [`crate::isp`]'s, with the registers that fragment programs interpolate in
//! [`coefficients`].

pub mod attachments;
pub mod batch;
pub mod coefficients;
pub mod draw;
pub mod geometry;
pub mod scene;
pub mod setup;
mod shade;
#[cfg(test)]
mod tests;

use tepui_softgpu::AddressSpace;

use crate::job::{JobFault, JobStats, RenderJob};
use crate::usc::cache::Programs;
use crate::{Gpu, isp, vdm};

/// Runs a render command to its end.
pub fn run(gpu: &Gpu, vm: &AddressSpace, job: &RenderJob) -> Result<JobStats, JobFault> {
    let programs = Programs::new(vm, job.usc_exec_base, &gpu.programs);
    let stream = job.vdm_ctrl_stream_base;
    let vertices = gpu.order.as_ref().map(|order| order.vertices(stream));
    let mut pixels = |scene: &scene::Scene, stats: &mut JobStats| {
        gpu.order.iter().for_each(|order| order.fragments(stream));
        let result = isp::draw(gpu, vm, job, scene, stats);
        gpu.order.iter().zip(vertices).for_each(|(order, item)| order.resume(item));
        result
    };
    let mut geometry = geometry::Geometry::new(gpu, vm, job, &programs, &mut pixels)?;
    vdm::run(&mut geometry, stream)?;
    let mut stats = geometry.finish()?;
    stats.report(&programs.unread());
    Ok(stats)
}
