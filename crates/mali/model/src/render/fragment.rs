//! RUN_FRAGMENT: renders the primitives of a scene's layer, tile by tile.
//!
//! One worker renders a tile's primitives in their order, so that pictures are the same for any number of
//! threads.
//!
// source: Mesa, decode_csf.c (`pandecode_run_fragment`), pan_desc.c, panvk_vX_cmd_fb_preload.c (frame
// shaders).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tepui_mali_packets::draw::{Draw as DrawDescriptor, Scissor};
use tepui_mali_packets::framebuffer::PrePostFrameShaderMode as Mode;
use tepui_raster::Bins;
use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{Access, AddressSpace, UnitMemory};

use super::draw::{context, is_given_back, report_lists};
use super::frame::Frame;
use super::pipeline::Pipeline;
use super::quads::Worker;
use super::{copied, renderer_state};
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::pixels::draw::Draw;
use crate::pixels::framebuffer::Framebuffer;
use crate::pixels::scene::{Scene, Scenes};
use crate::pixels::{Pixels, SIDE};

const UNIT: Unit = Unit::Fragment;

/// Renders the framebuffer of a pointer with flags, within a scissor.
pub(crate) fn execute(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    pointer: u64,
    scissor: &Scissor,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let mut memory = UnitMemory::new(vm);
    let framebuffer = Arc::new(Framebuffer::read(gpu.chip().arch, &mut memory, pointer)?);
    let p = &framebuffer.parameters;
    let min = [
        scissor.scissor_minimum_x.max(p.bound_min_x),
        scissor.scissor_minimum_y.max(p.bound_min_y),
    ];
    let max = [
        (scissor.scissor_maximum_x.min(p.bound_max_x) + 1).min(p.width),
        (scissor.scissor_maximum_y.min(p.bound_max_y) + 1).min(p.height),
    ];
    let mut scene = Arc::<Scene>::default();
    if p.tiler != 0 {
        let context = context(gpu.chip().arch, &mut memory, p.tiler)?;
        let number = context.private_state.word0;
        if number != 0 && !is_given_back(gpu.chip().arch, &context) {
            scene = scenes.get(number).ok_or_else(|| {
                let what = format!("the tiler context names scene {number}, which there is not");
                JobFault::new(UNIT, what)
            })?;
            scenes.drawn(number);
            report_lists(vm, Access::Read, number);
        }
    }
    if min[0] >= max[0] || min[1] >= max[1] {
        return Ok(());
    }
    let layer = p.internal_layer_index;
    let members: Vec<u32> = (0u32..)
        .zip(&scene.shapes)
        .filter(|(_, s)| scene.primitives[s.primitive as usize].layer == layer)
        .map(|(index, _)| index)
        .collect();
    let mut pipelines = HashMap::new();
    for index in &members {
        let number = scene.primitives[scene.shapes[*index as usize].primitive as usize].draw;
        if let std::collections::hash_map::Entry::Vacant(entry) = pipelines.entry(number) {
            let draw = &scene.draws[number as usize];
            entry.insert(Arc::new(Pipeline::new(gpu, vm, &framebuffer, draw)?));
        }
    }
    let mut shaders = [None, None, None];
    for (index, mode) in [p.pre_frame_0, p.pre_frame_1, p.post_frame].into_iter().enumerate() {
        if mode != Mode::Never {
            let at = p.frame_shader_dcds + (index * DrawDescriptor::SIZE_BYTES) as u64;
            let draw = match gpu.chip().arch.0 {
                9.. => Draw::from_descriptor(&mut memory, at)?,
                _ => renderer_state::frame_draw(gpu.chip().arch, &mut memory, at)?,
            };
            let mut pipeline = Pipeline::new(gpu, vm, &framebuffer, &draw)?;
            pipeline.copies = copied::find(gpu, vm, &framebuffer, &pipeline);
            shaders[index] = Some((mode, Arc::new(pipeline)));
        }
    }
    let frame = Frame {
        gpu,
        number: gpu.frames.fetch_add(1, Ordering::Relaxed),
        framebuffer,
        scene,
        pipelines,
        shaders,
        budget: Budget::new(0, gpu.options.max_instructions),
        area: [min, max],
    };
    draw(&frame, vm, &members, stats)
}

/// Renders all tiles.
fn draw(
    frame: &Frame<'_>,
    vm: &AddressSpace,
    members: &[u32],
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let [min, max] = frame.area;
    let p = &frame.framebuffer.parameters;
    let tiles = [p.width.div_ceil(SIDE), p.height.div_ceil(SIDE)];
    let mut bins = Bins::default();
    bins.fill(&frame.scene.shapes, members, tiles, [SIDE, SIDE]);
    let items: Vec<[u32; 2]> = (min[1] / SIDE..max[1].div_ceil(SIDE))
        .flat_map(|y| (min[0] / SIDE..max[0].div_ceil(SIDE)).map(move |x| [x, y]))
        .collect();
    let begin = |number| {
        let pixels = Pixels::new(frame.framebuffer.clone(), frame.scene.clone());
        Worker::new(frame, vm, number, pixels)
    };
    let run = |worker: &mut Worker<'_, '_>, [x, y]: [u32; 2]| {
        worker.tile([x * SIDE, y * SIDE], &mut bins.tile(y * tiles[0] + x))
    };
    let shared = frame.gpu.pool.share(items.into_iter(), begin, run, Worker::finish);
    let (parts, outcome) = shared.map_err(|error| JobFault::new(UNIT, error.to_string()))?;
    let mut counted: HashMap<u64, (u64, bool)> = HashMap::new();
    for (part, counters) in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
        stats.copied += part.copied;
        for (address, (count, exact)) in counters {
            counted.entry(address).or_insert((0, exact)).0 += count;
        }
    }
    outcome?;
    let mut memory = UnitMemory::new(vm);
    for (address, (count, exact)) in counted {
        let add = |old: u64| if exact { old.wrapping_add(count) } else { old | 1 };
        memory.update_u64(address, add).map_err(|fault| JobFault::memory(UNIT, fault))?;
    }
    Ok(())
}
