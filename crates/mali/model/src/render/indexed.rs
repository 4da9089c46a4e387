//! Draws of Bifrost: vertices are shaded into buffers of the driver, and the tiler reads their positions there.
//!
//! An indexed vertex job shades the vertices that its indices name, first with the position and then with the varying
//! shader; a vertex job shades a range, and the tiler job that follows it draws.
//!
// source: Mesa, v7.xml ("Indexed Vertex Job", "Tiler Job", "Compute Job"), pan_jm.c, pan_cmdstream.c, bifrost_compile.c
// (position shaders store at the address in r58 and r59).

use half::f16;
use tepui_mali_packets::bifrost::{DrawV7, Invocation, PrimitiveRestart, PrimitiveV7, Viewport};
use tepui_mali_packets::draw::{
    DrawMode, IndexType, PointSizeArrayFormat, PrimitiveFlags, Scissor,
};
use tepui_mali_packets::job;
use tepui_mali_packets::job::bifrost::{
    COMPUTE_DRAW, FRAGMENT_DRAW, INVOCATION, PRIMITIVE, SIZE, TILER, VERTEX_DRAW,
};
use tepui_mali_packets::shader::ShaderStage;
use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::descriptor::packet;
use super::geometry::{self, ShadedVertex};
use super::renderer_state::{self, addresses, state};
use super::stage::{Core, Stage};
use super::vertex::{HIGHEST, Vertices};
use super::{draw, midgard};
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::order::unit;
use crate::pixels::scene::Scenes;
use crate::shader::midgard::rows;
use crate::warp::addresses::padded;
use crate::warp::row::{LANES, Row};

const UNIT: Unit = Unit::Tiler;

/// Bytes of a position.
const POSITION_BYTES: u64 = 16;

/// Limit on the vertices of a job, over all instances.
const MAX_VERTICES: u64 = 1 << 24;

/// Vertices to shade, per instance, and the indices of their results in buffers.
struct VertexWork<'a> {
    vertices: &'a [u32],
    instances: u32,
    /// Vertices of an instance in the buffers.
    instance_size: u32,
}

impl VertexWork<'_> {
    fn total(&self) -> Result<usize, JobFault> {
        let total = self.vertices.len() as u64 * u64::from(self.instances);
        if total > MAX_VERTICES {
            let what = format!("a draw of {total} vertices");
            return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
        }
        Ok(total as usize)
    }

    /// The vertex and the instance of a work item.
    fn vertex(&self, n: usize) -> (u32, u32) {
        let count = self.vertices.len();
        (self.vertices[n % count], (n / count) as u32)
    }

    /// The index of a vertex's results in the buffers.
    fn linear(&self, (vertex, instance): (u32, u32)) -> u32 {
        vertex.wrapping_add(instance.wrapping_mul(self.instance_size))
    }
}

/// Shades vertices.
fn shade(
    gpu: &Gpu,
    vm: &AddressSpace,
    stage: &Stage,
    work: &VertexWork<'_>,
    position: u64,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let total = work.total()?;
    const WARPS: usize = 16;
    let items = total.div_ceil(WARPS * LANES);
    let budget = Budget::new(0, gpu.options.max_instructions);
    let run = |core: &mut Core<'_>, item: usize| {
        core.begin(stage);
        let from = item * WARPS * LANES;
        for first in (from..(from + WARPS * LANES).min(total)).step_by(LANES) {
            let count = (total - first).min(LANES);
            start(core, stage, work, first, count, position);
            core.run(gpu, stage, &budget)?;
        }
        Ok(())
    };
    let begin = |number| Core::new(gpu, vm, number);
    let shared = gpu.pool.share(0..items, begin, run, |core| core.stats);
    let (parts, outcome) = shared.map_err(|error| JobFault::new(UNIT, error.to_string()))?;
    for part in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
    }
    outcome
}

/// Initialises the warp for a range of vertices.
fn start(
    core: &mut Core<'_>,
    stage: &Stage,
    work: &VertexWork<'_>,
    first: usize,
    count: usize,
    position: u64,
) {
    let warp = &mut core.warp;
    warp.start((u32::from(u16::MAX) >> (LANES - count)) as u16);
    stage.fill(warp);
    let pairs: [(u32, u32); LANES] =
        std::array::from_fn(|lane| if lane < count { work.vertex(first + lane) } else { (0, 0) });
    let addresses = pairs.map(|pair| {
        position.wrapping_add(u64::from(work.linear(pair)).wrapping_mul(POSITION_BYTES))
    });
    if stage.registers.is_some() {
        warp.registers[usize::from(rows::VERTEX)] = Row(pairs.map(|(vertex, _)| vertex));
        warp.registers[usize::from(rows::INSTANCE)] = Row(pairs.map(|(_, instance)| instance));
    }
    let mut set = |register: usize, row: Row| {
        if stage.preloads(register) {
            warp.registers[register] = row;
        }
    };
    set(58, Row(addresses.map(|a| a as u32)));
    set(59, Row(addresses.map(|a| (a >> 32) as u32)));
    set(61, Row(pairs.map(|(vertex, _)| vertex)));
    set(62, Row(pairs.map(|(_, instance)| instance)));
    core.stats.threads += count as u64;
}

/// Executes a vertex job.
pub(crate) fn vertices(
    gpu: &Gpu,
    vm: &AddressSpace,
    at: u64,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let mut memory = UnitMemory::new(vm);
    let place = |offset: u64| at.wrapping_add(offset);
    let invocation: Invocation = packet(&mut memory, place(INVOCATION), "invocation")?;
    let d = midgard::descriptor(gpu.chip().arch, &mut memory, place(COMPUTE_DRAW))?;
    let Some(stage) = Stage::read(gpu, vm, &addresses(&d, false), &[ShaderStage::Vertex])? else {
        return Ok(());
    };
    let (_, [_, count, instances]) = invocation.counts();
    if u64::from(count) * u64::from(instances) > MAX_VERTICES {
        let what = format!("a job of {count} vertices");
        return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
    }
    let list: Vec<u32> = (0..count).collect();
    let instance_size = padded(d.instance_size_shift, d.instance_size_odd);
    let work = VertexWork { vertices: &list, instances, instance_size };
    shade(gpu, vm, &stage, &work, 0, stats)
}

/// Whether flat varyings come from a primitive's first vertex. For lines the draw descriptor decides: on Midgard 0
/// means the first, later 1 does.
// source: Mesa, pan_jm.c (`flat_shading_vertex`)
fn first_provokes(primitive: &PrimitiveV7, flat_shading_vertex: u32, is_midgard: bool) -> bool {
    match primitive.draw_mode {
        DrawMode::Lines | DrawMode::LineStrip | DrawMode::LineLoop => {
            (flat_shading_vertex == 0) == is_midgard
        }
        _ => primitive.first_provoking_vertex,
    }
}

/// Executes a tiler job, or an indexed vertex job, which shades its vertices first.
pub(crate) fn primitives(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    at: u64,
    shades: bool,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let mut memory = UnitMemory::new(vm);
    let place = |offset: u64| at.wrapping_add(offset);
    let invocation: Invocation = packet(&mut memory, place(INVOCATION), "invocation")?;
    let primitive: PrimitiveV7 = packet(&mut memory, place(PRIMITIVE), "primitive")?;
    let arch = gpu.chip().arch;
    let is_midgard = arch.0 < 6;
    let (fragment_draw, size) = match is_midgard {
        true => (job::midgard::FRAGMENT_DRAW, job::midgard::SIZE),
        false => (FRAGMENT_DRAW, SIZE),
    };
    let d = midgard::descriptor(arch, &mut memory, place(fragment_draw))?;
    let address = |memory: &mut UnitMemory<'_>, offset: u64| {
        let bytes = memory.read_array(place(offset));
        bytes.map(u64::from_le_bytes).map_err(|fault| JobFault::memory(UNIT, fault))
    };
    let sizes = address(&mut memory, size)?;
    let tiler = match is_midgard {
        // On Midgard the storage address is that of the framebuffer, which contains the tiler context.
        true => d.thread_storage,
        false => address(&mut memory, TILER)?,
    };
    let before = memory.set_unit(unit::TILER);
    let mut context = draw::context(arch, &mut memory, tiler)?;
    let number = draw::scene(arch, &mut memory, scenes, tiler, &context)?;
    memory.set_unit(before);
    let (_, [.., instances]) = invocation.counts();
    let indices = Vertices {
        count: primitive.index_count,
        instances,
        base: match primitive.index_type {
            IndexType::None => 0,
            _ => primitive.base_vertex_offset as u32,
        },
        first_instance: 0,
        index_type: primitive.index_type,
        first_index: 0,
        indices: primitive.indices,
        index_bytes: u32::MAX,
        restart: match primitive.primitive_restart {
            PrimitiveRestart::None => None,
            PrimitiveRestart::Implicit => Some(HIGHEST),
            PrimitiveRestart::Explicit => Some(primitive.primitive_restart_index),
        },
        draw_id: 0,
    };
    let order = indices.order(&mut memory)?;
    let instance_size = padded(d.instance_size_shift, d.instance_size_odd);
    let work = VertexWork { vertices: &order.unique, instances, instance_size };
    let total = work.total()?;
    if total == 0 {
        return Ok(());
    }
    if shades {
        let v: DrawV7 = packet(&mut memory, place(VERTEX_DRAW), "vertex draw")?;
        let read =
            |secondary| Stage::read(gpu, vm, &addresses(&v, secondary), &[ShaderStage::Vertex]);
        if let Some(stage) = read(false)? {
            shade(gpu, vm, &stage, &work, d.position, stats)?;
        }
        if primitive.secondary_shader
            && let Some(stage) = read(true)?
        {
            shade(gpu, vm, &stage, &work, d.position, stats)?;
        }
    }
    let viewport: Viewport = match d.viewport {
        0 => Viewport::default(),
        at => packet(&mut memory, at, "viewport")?,
    };
    let own = renderer_state::draw(arch, &d, &state(arch, &mut memory, d.state)?, &viewport);
    let flags = PrimitiveFlags {
        draw_mode: primitive.draw_mode,
        low_depth_cull: primitive.low_depth_cull,
        high_depth_cull: primitive.high_depth_cull,
        ..PrimitiveFlags::default()
    };
    context.first_provoking_vertex = first_provokes(&primitive, d.flat_shading_vertex, is_midgard);
    let scissor = Scissor {
        scissor_minimum_x: viewport.scissor_minimum_x,
        scissor_minimum_y: viewport.scissor_minimum_y,
        scissor_maximum_x: viewport.scissor_maximum_x,
        scissor_maximum_y: viewport.scissor_maximum_y,
    };
    let sized = match primitive.point_size_array_format {
        PointSizeArrayFormat::None => None,
        PointSizeArrayFormat::Fp16 => Some(sizes),
        format @ PointSizeArrayFormat::Fp32 => {
            let what = format!("point sizes of format {format}");
            return Err(JobFault::unimplemented(UNIT, what));
        }
    };
    let size_px = f32::from_bits(sizes as u32);
    let setup =
        geometry::PrimitiveSetup::new(&mut memory, &flags, &own, &context, scissor, size_px)?;
    let shaded = positions(&mut memory, &work, d.position, sized, size_px)?;
    scenes.change(number, |scene| {
        scene.draws.push(own);
        let mut assembly = setup.assembly(scene.draws.len() as u32 - 1);
        for of_instance in shaded.chunks(order.unique.len()) {
            assembly.instance();
            match &order.sequence {
                None => {
                    let all = 0..order.unique.len() as u32;
                    all.for_each(|v| assembly.vertex(v, of_instance, scene));
                }
                Some(sequence) => {
                    for vertex in sequence {
                        match vertex {
                            Some(v) => assembly.vertex(*v, of_instance, scene),
                            None => assembly.restart(of_instance, scene),
                        }
                    }
                }
            }
            assembly.restart(of_instance, scene);
        }
        Ok(())
    })
}

/// Reads the positions that shaders have stored. Varyings are found by the vertex's index.
fn positions(
    memory: &mut UnitMemory<'_>,
    work: &VertexWork<'_>,
    position: u64,
    sizes: Option<u64>,
    size_px: f32,
) -> Result<Vec<ShadedVertex>, JobFault> {
    let fault = |fault| JobFault::memory(UNIT, fault);
    let total = work.total()?;
    let mut shaded = Vec::with_capacity(total);
    for n in 0..total {
        let linear = work.linear(work.vertex(n));
        let at = position.wrapping_add(u64::from(linear) * POSITION_BYTES);
        let bytes = memory.read_array::<{ POSITION_BYTES as usize }>(at).map_err(fault)?;
        let (words, _) = bytes.as_chunks::<4>();
        let mut size = size_px;
        if let Some(sizes) = sizes {
            let at = sizes.wrapping_add(u64::from(linear) * 2);
            size = f16::from_le_bytes(memory.read_array(at).map_err(fault)?).to_f32();
        }
        let position = [0, 1, 2, 3].map(|k| f32::from_le_bytes(words[k]));
        shaded.push(ShadedVertex { position, size, layer: 0, varyings: linear });
    }
    Ok(shaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_their_provoking_vertex_themselves() {
        let of = |draw_mode, first_provoking_vertex| PrimitiveV7 {
            draw_mode,
            first_provoking_vertex,
            ..PrimitiveV7::default()
        };
        for mode in [DrawMode::Lines, DrawMode::LineStrip, DrawMode::LineLoop] {
            assert!(!first_provokes(&of(mode, true), 0, false), "{mode:?}");
            assert!(first_provokes(&of(mode, true), 1, false), "{mode:?}");
            assert!(first_provokes(&of(mode, true), 0, true), "{mode:?}");
            assert!(!first_provokes(&of(mode, true), 1, true), "{mode:?}");
        }
        for first in [false, true] {
            assert_eq!(first_provokes(&of(DrawMode::TriangleStrip, first), 0, false), first);
        }
    }
}
