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
//! that run the same program share a SIMD-group as long as no two of them are at the same place.
//!
//! Start reading in `frame.rs`, then `tile.rs`.

mod bins;
pub mod depth;
mod frame;
pub mod raster;
pub mod setup;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tile;
mod zls;

pub(crate) use zls::Zls;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_softgpu::AddressSpace;

use crate::Gpu;
use crate::job::{JobFault, JobStats, RenderJob, Unit};
use crate::recycle::{Buffers, bytes_of};
use crate::render::scene::Scene;
use crate::usc::fpmode::FlushSubnormals;
use crate::usc::program::Programs;
use bins::Bins;
use frame::{Frame, Setup};
use setup::Shape;
use tile::TileWorker;

/// Memory of frames.
#[derive(Default)]
pub struct FrameMemory {
    shapes: Vec<Shape>,
    setups: Vec<Setup>,
    /// Shapes by layer, each layer's in order.
    order: Vec<u32>,
    bins: Bins,
}

impl Buffers for FrameMemory {
    fn clear(&mut self) {
        self.shapes.clear();
        self.setups.clear();
        self.order.clear();
    }

    fn bytes(&self) -> usize {
        let lists = bytes_of(&self.shapes) + bytes_of(&self.setups) + bytes_of(&self.order);
        lists + self.bins.bytes()
    }
}

/// What a tile costs beside its programs, in instructions.
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
    let FrameMemory { shapes, setups, mut order, mut bins } = gpu.frames.take();
    let frame = Frame::new(gpu, vm, job, scene, &decoded, stats, (shapes, setups))?;
    let mut visible = vec![0; frame.states.len()];
    let result = layers(gpu, &frame, (&mut order, &mut bins), stats, &mut visible);
    write_visibility(vm, job, &frame, &visible)?;
    gpu.frames.put(FrameMemory { shapes: frame.shapes, setups: frame.setups, order, bins });
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
        let primitive = frame.shapes[shape as usize].primitive;
        u32::from(frame.scene.primitives[primitive as usize].layer)
    };
    order.extend((0..frame.shapes.len() as u32).filter(|&shape| layer_of(shape) < frame.layers));
    if frame.layers > 1 {
        order.sort_by_key(|&shape| layer_of(shape));
    }
    let spent = AtomicU64::new(stats.instructions);
    let mut rest = order.as_slice();
    for layer in 0..frame.layers {
        let (own, behind) = rest.split_at(rest.partition_point(|&shape| layer_of(shape) <= layer));
        rest = behind;
        if own.is_empty() && !frame.empty_tiles {
            continue;
        }
        bins.fill(&frame.shapes, own, frame.tiles, frame.tile_px);
        tiles(gpu, frame, (bins, layer), &spent, stats, visible)?;
    }
    Ok(())
}

/// Draws the tiles of a layer, all workers together.
fn tiles(
    gpu: &Gpu,
    frame: &Frame<'_>,
    (bins, layer): (&Bins, u32),
    spent: &AtomicU64,
    stats: &mut JobStats,
    visible: &mut [u64],
) -> Result<(), JobFault> {
    let count = u64::from(frame.tiles[0]) * u64::from(frame.tiles[1]);
    let next = AtomicU64::new(0);
    // The fault of the first tile wins, whoever met it first.
    let first_fault = AtomicU64::new(u64::MAX);
    let work = |core: u32| {
        let _mode = FlushSubnormals::enter();
        let mut worker = TileWorker::new(gpu, frame, core);
        let mut fault = None;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || index > first_fault.load(Ordering::Relaxed) {
                break;
            }
            let before = worker.executed();
            let place = [index as u32 % frame.tiles[0], index as u32 / frame.tiles[0]];
            let mut result = worker.tile(bins, layer, place);
            let cost = worker.executed() - before + TILE_COST;
            let budget = gpu.options.job_budget;
            if spent.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) > budget {
                result = result.and(Err(JobFault::endless(Unit::Isp)));
            }
            if let Err(e) = result {
                first_fault.fetch_min(index, Ordering::Relaxed);
                fault = Some((index, e));
                break;
            }
        }
        let mut stats = JobStats::default();
        let visible = worker.finish(&mut stats);
        (stats, visible, fault)
    };
    let results = if count == 1 || gpu.workers() == 1 {
        vec![work(0)]
    } else {
        gpu.pool()?.broadcast(|context| work(context.index() as u32))
    };
    let mut faults = Vec::new();
    for (part, counts, fault) in results {
        stats.merge(&part);
        for (sum, count) in visible.iter_mut().zip(counts) {
            *sum += count;
        }
        faults.extend(fault);
    }
    JobFault::lowest(faults)
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
        let old = u64::from_le_bytes(vm.read_array(address).map_err(fault)?);
        let new = if counting { old.wrapping_add(count) } else { 1 };
        vm.write(address, &new.to_le_bytes()).map_err(fault)?;
    }
    Ok(())
}
