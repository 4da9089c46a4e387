//! Image synthesis processor: draws a scene tile by tile.
//!
//! ```text
//!  scene ──frame──▶ programs, states, planes, shapes ──bins──▶ shapes of each tile
//!  each tile: zls load, background program
//!             ──raster──▶ covered samples ──depth──▶ samples left ──▶ quads ──▶ fragment programs
//!             end-of-tile program, zls store
//! ```
//!
//! Tiles are independent, so that the workers take them one by one and the picture is the same
//! whatever their number. Within a tile, primitives are drawn in order. Quads of several primitives
//! that run the same program share a SIMD-group; two at the same place only if they have no sample in common.
//!
//! Hidden surfaces are removed: opaque primitives, whose programs do no more with pixels than to overwrite them, only leave their
//! tags when they are tested. What is left of them is shaded when something else is drawn on the tile, or at its end.
//!
//! Start reading in `frame.rs`, then `tile.rs`.

mod frame;
mod history;
pub(crate) mod memory;
pub mod setup;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tile;
mod zls;

pub(crate) use zls::Zls;

use std::collections::BTreeMap;

use tepui_raster::Bins;
use tepui_softgpu::{Access, AddressSpace};

use crate::Gpu;
use crate::job::{JobFault, JobStats, RenderJob, Unit};
use crate::render::scene::Scene;
use crate::usc::cache::Programs;
use crate::workers::{Budget, share};
use frame::Frame;
use memory::FrameMemory;
use tile::TileWorker;

/// The fixed cost of a tile, in instructions.
const TILE_COST: u64 = 256;

/// Draws the scene of a render command, or a part of it.
pub fn draw(
    gpu: &Gpu,
    vm: &AddressSpace,
    job: &RenderJob,
    scene: &Scene,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let decoded = Programs::new(vm, job.usc_exec_base, &gpu.programs);
    let FrameMemory { mut order, mut bins } = gpu.frames.take();
    let frame = Frame::new(gpu, vm, job, scene, &decoded, stats)?;
    let mut visible = vec![0; frame.states.len()];
    let result = layers(gpu, &frame, (&mut order, &mut bins), stats, &mut visible);
    write_visibility(vm, job, &frame, &visible)?;
    gpu.frames.put(FrameMemory { order, bins });
    result
}

/// Draws layer by layer.
fn layers(
    gpu: &Gpu,
    frame: &Frame<'_>,
    (order, bins): (&mut Vec<u32>, &mut Bins),
    stats: &mut JobStats,
    visible: &mut [u64],
) -> Result<(), JobFault> {
    let layer_of = |shape: u32| {
        let primitive = frame.scene.shapes[shape as usize].primitive;
        u32::from(frame.scene.primitives[primitive as usize].layer)
    };
    order.extend(0..frame.scene.shapes.len() as u32);
    if frame.layers > 1 {
        order.sort_by_key(|&shape| layer_of(shape));
    }
    let budget = Budget::new(stats.instructions, gpu.options.job_budget, Unit::Isp);
    let mut rest = order.as_slice();
    for layer in 0..frame.layers {
        // Setup clamps layers to the last one.
        let count = match frame.layers {
            1 => rest.len(),
            _ => rest.partition_point(|&shape| layer_of(shape) <= layer),
        };
        let (own, behind) = rest.split_at(count);
        rest = behind;
        if own.is_empty() && !frame.empty_tiles {
            continue;
        }
        bins.fill(&frame.scene.shapes, own, frame.tiles, frame.tile_px);
        tiles(gpu, frame, (bins, layer), &budget, stats, visible)?;
    }
    Ok(())
}

/// Draws the tiles of a layer, all workers together.
fn tiles(
    gpu: &Gpu,
    frame: &Frame<'_>,
    (bins, layer): (&Bins, u32),
    budget: &Budget,
    stats: &mut JobStats,
    visible: &mut [u64],
) -> Result<(), JobFault> {
    let [across, down] = frame.tiles;
    let (parts, outcome) = share(
        gpu,
        0..across as usize * down as usize,
        |core| TileWorker::new(gpu, frame, core),
        |worker, index| {
            let before = worker.executed();
            let index = index as u32;
            worker.tile(bins, layer, [index % across, index / across])?;
            budget.spend(worker.executed() - before + TILE_COST)
        },
        TileWorker::finish,
    )?;
    for (part, counts) in parts {
        stats.merge(&part);
        for (sum, count) in visible.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    outcome
}

/// Adds to the occlusion results: a word of 64 bits each.
fn write_visibility(
    vm: &AddressSpace,
    job: &RenderJob,
    frame: &Frame<'_>,
    visible: &[u64],
) -> Result<(), JobFault> {
    let mut results: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    for (state, &count) in frame.states.iter().zip(visible) {
        if let Some((index, counting)) = state.visibility {
            let result = results.entry(index).or_default();
            result.0 += count;
            result.1 |= counting;
        }
    }
    for (index, (count, counting)) in results.into_iter().filter(|(_, (count, _))| *count > 0) {
        let address = job.isp_oclqry_base + 8 * u64::from(index);
        let fault = |f: tepui_softgpu::Fault| {
            JobFault::new(Unit::Isp, format!("occlusion result {index}: {f}"))
        };
        // Counts of several renders add up; flags are the same in each order.
        vm.report_access(0, Access::Atomic, address, 8);
        let old = u64::from_le_bytes(vm.read_array(address).map_err(fault)?);
        let new = if counting { old.wrapping_add(count) } else { 1 };
        vm.write(address, &new.to_le_bytes()).map_err(fault)?;
    }
    Ok(())
}
