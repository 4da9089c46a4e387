//! Vertex shading: indices, warps of the position and the varying shader, and their outputs.
//!
//! A vertex that a draw's instance names several times is shaded once. Both shaders store through an
//! address that LEA_BUF_IMM gives for table 61, by the linear id in r59: positions as elements of 16
//! bytes, varyings as packets. In the extended format four positions are followed by four elements
//! with point size and layer.
//!
// source: Mesa, bifrost_compile.c (`bi_emit_store_vary`), panvk_vX_shader.c. That vertices are shaded
// in groups of four is how the offsets of the extended format come about.

use std::collections::HashMap;

use half::f16;
use tepui_mali_packets::draw::{FifoFormat, IndexType, PointSizeArrayFormat, PrimitiveFlags};
use tepui_softgpu::worker_pool::Budget;
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::geometry::{PrimitiveSetup, ShadedVertex};
use super::stage::{Core, Stage};
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::pixels::draw::Draw;
use crate::pixels::scene::Scene;
use crate::warp::row::{LANES, Row};

const UNIT: Unit = Unit::Tiler;

/// Limit on the vertices that are shaded before their primitives are assembled.
const CHUNK: usize = 1 << 16;

/// Limit on the indices of a draw.
const MAX_INDICES: usize = 1 << 26;

/// Bytes of an element of positions.
const POSITION_BYTES: usize = 16;

/// Selects the highest index of the type as the one that ends a strip.
pub(crate) const HIGHEST: u32 = u32::MAX;

/// The vertices of a draw.
pub(crate) struct Vertices {
    pub count: u32,
    pub instances: u32,
    /// Base vertex, added to indices.
    pub base: u32,
    pub first_instance: u32,
    pub index_type: IndexType,
    pub first_index: u32,
    /// Address of the indices.
    pub indices: u64,
    /// Bytes of them.
    pub index_bytes: u32,
    /// The restart index; [`HIGHEST`] means the highest of the type.
    pub restart: Option<u32>,
    pub draw_id: u32,
}

/// The order of an instance's vertices: indices of its unique vertices, none at the end of a strip.
pub(crate) struct VertexOrder {
    pub unique: Vec<u32>,
    pub sequence: Option<Vec<Option<u32>>>,
}

impl Vertices {
    /// Reads the order of an instance's vertices.
    pub(crate) fn order(&self, memory: &mut UnitMemory<'_>) -> Result<VertexOrder, JobFault> {
        let bytes = match self.index_type {
            IndexType::None => {
                let unique = (0..self.count).map(|i| i.wrapping_add(self.base));
                if self.count as usize > MAX_INDICES {
                    return Err(too_many(self.count));
                }
                return Ok(VertexOrder { unique: unique.collect(), sequence: None });
            }
            IndexType::Uint8 => 1,
            IndexType::Uint16 => 2,
            IndexType::Uint32 => 4u32,
        };
        if self.count as usize > MAX_INDICES {
            return Err(too_many(self.count));
        }
        let start = u64::from(self.first_index) * u64::from(bytes);
        let there = u64::from(self.index_bytes).saturating_sub(start);
        let length = (u64::from(self.count) * u64::from(bytes)).min(there) as usize;
        // Indices past the end of the buffer are 0.
        let mut data = vec![0; self.count as usize * bytes as usize];
        memory
            .read(self.indices.wrapping_add(start), &mut data[..length])
            .map_err(|fault| JobFault::memory(UNIT, fault))?;
        let highest = u32::MAX >> (32 - 8 * bytes);
        let end = self.restart.map(|index| if index == HIGHEST { highest } else { index });
        let mut unique = Vec::new();
        let mut numbers = HashMap::new();
        let mut sequence = Vec::with_capacity(self.count as usize);
        for index in data.chunks_exact(bytes as usize) {
            let mut word = [0; 4];
            word[..index.len()].copy_from_slice(index);
            let index = u32::from_le_bytes(word);
            if end == Some(index) {
                sequence.push(None);
                continue;
            }
            let number = *numbers.entry(index).or_insert_with(|| {
                unique.push(index.wrapping_add(self.base));
                unique.len() as u32 - 1
            });
            sequence.push(Some(number));
        }
        Ok(VertexOrder { unique, sequence: Some(sequence) })
    }
}

fn too_many(count: u32) -> JobFault {
    JobFault::new(UNIT, format!("a draw of {count} indices")).of(FaultKind::Endless)
}

/// The shaders of a draw's vertices.
struct Shading<'a> {
    gpu: &'a Gpu,
    vm: &'a AddressSpace,
    position: &'a Stage,
    varying: Option<&'a Stage>,
    extended: bool,
    sized: bool,
    layered: bool,
    size: f32,
    varying_stride: usize,
    draw_id: u32,
    /// Views that vertices are shaded for; empty if the vertex writes its layer.
    views: Vec<u8>,
}

/// Shades a draw's vertices and adds its primitives to a scene.
#[allow(clippy::too_many_arguments, reason = "all that a draw consists of")]
pub(crate) fn draw(
    gpu: &Gpu,
    vm: &AddressSpace,
    vertices: &Vertices,
    position: &Stage,
    varying: Option<&Stage>,
    flags: &PrimitiveFlags,
    draw: Draw,
    setup: &PrimitiveSetup,
    scene: &mut Scene,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let order = vertices.order(&mut UnitMemory::new(vm))?;
    let per_instance = order.unique.len();
    let shading = Shading {
        gpu,
        vm,
        position,
        varying,
        extended: flags.position_fifo_format == FifoFormat::Extended,
        sized: match flags.point_size_array_format {
            PointSizeArrayFormat::None => false,
            PointSizeArrayFormat::Fp16 => true,
            format @ PointSizeArrayFormat::Fp32 => {
                let what = format!("point sizes of format {format}");
                return Err(JobFault::unimplemented(UNIT, what));
            }
        },
        layered: flags.layer_index_enable,
        size: setup.size_px,
        varying_stride: if varying.is_some() { draw.varying_stride as usize } else { 0 },
        draw_id: vertices.draw_id,
        views: (0..8).filter(|view| flags.view_mask >> view & 1 != 0).collect(),
    };
    scene.draws.push(draw);
    let number = scene.draws.len() as u32 - 1;
    let budget = Budget::new(0, gpu.options.max_instructions);
    let mut assembly = setup.assembly(number);
    // Processes whole instances, unless one has more vertices than a chunk.
    let at_once = (CHUNK / per_instance.max(1)).max(1) as u32;
    let mut instance = 0;
    while instance < vertices.instances && per_instance > 0 {
        let count = at_once.min(vertices.instances - instance);
        let first = vertices.first_instance.wrapping_add(instance);
        let shaded = shading.shade(&order.unique, first, count, scene, &budget, stats)?;
        for of_instance in shaded.iter().flat_map(|view| view.chunks(per_instance)) {
            assembly.instance();
            match &order.sequence {
                None => {
                    (0..per_instance as u32).for_each(|v| assembly.vertex(v, of_instance, scene));
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
        instance += count;
    }
    Ok(())
}

impl Shading<'_> {
    /// Number of views that are drawn per vertex.
    fn views(&self) -> usize {
        self.views.len().max(1)
    }

    /// The output slots of the views: slots are reserved in the order of view indices, including views that are not
    /// drawn.
    ///
    // source: Mesa, bifrost_compile.c (`bi_emit_store_vary`: `view_index`), which counts views so
    fn slots(&self) -> impl Iterator<Item = usize> {
        let one = self.views.is_empty().then_some(0);
        self.views.iter().map(|view| usize::from(*view)).chain(one)
    }

    /// Number of output slots per vertex.
    fn room(&self) -> usize {
        self.views.last().map_or(1, |last| usize::from(*last) + 1)
    }

    /// Bytes of a vertex's varyings in all views.
    fn varying_bytes(&self) -> usize {
        self.varying_stride * self.views()
    }

    /// Shades the vertices of a range of instances, in order; returns a list per view.
    fn shade(
        &self,
        unique: &[u32],
        first: u32,
        instances: u32,
        scene: &mut Scene,
        budget: &Budget,
        stats: &mut JobStats,
    ) -> Result<Vec<Vec<ShadedVertex>>, JobFault> {
        let total = unique.len() * instances as usize;
        let start = scene.varyings.len();
        let bytes = total * self.varying_bytes();
        if start + bytes > u32::MAX as usize {
            let what = "the varyings need more than 4 GiB";
            return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
        }
        let warps = total.div_ceil(LANES);
        // Several warps per work item, so that workers do not wait for each other.
        const WARPS: usize = 16;
        let items = warps.div_ceil(WARPS);
        let run = |worker: &mut Worker<'_>, item: usize| {
            let from = item * WARPS * LANES;
            let to = (from + WARPS * LANES).min(total);
            let mut part = ShadedRange { from, shaded: Vec::new(), varyings: Vec::new() };
            part.shaded.reserve((to - from) * self.views());
            part.varyings.reserve((to - from) * self.varying_bytes());
            let vertex = |n: usize| {
                (unique[n % unique.len()], first.wrapping_add((n / unique.len()) as u32))
            };
            self.positions(&mut worker.core, from..to, &vertex, budget, &mut part)?;
            if let Some(stage) = self.varying {
                self.varyings(&mut worker.core, stage, from..to, &vertex, budget, &mut part)?;
            }
            worker.parts.push(part);
            Ok(())
        };
        let begin =
            |number| Worker { core: Core::new(self.gpu, self.vm, number), parts: Vec::new() };
        let finish = |worker: Worker<'_>| (worker.parts, worker.core.stats);
        let shared = self.gpu.pool.share(0..items, begin, run, finish);
        let (workers, outcome) = shared.map_err(|error| JobFault::new(UNIT, error.to_string()))?;
        let mut shaded = vec![vec![ShadedVertex::default(); total]; self.views()];
        scene.varyings.resize(start + bytes, 0);
        for (parts, counted) in workers {
            stats.threads += counted.threads;
            stats.instructions += counted.instructions;
            for part in parts {
                for (n, vertex) in part.shaded.chunks(self.views()).enumerate() {
                    for (list, shaded) in shaded.iter_mut().zip(vertex) {
                        list[part.from + n] = *shaded;
                    }
                }
                let at = start + part.from * self.varying_bytes();
                scene.varyings[at..][..part.varyings.len()].copy_from_slice(&part.varyings);
            }
        }
        outcome?;
        for (view, list) in shaded.iter_mut().enumerate() {
            for (n, vertex) in list.iter_mut().enumerate() {
                let at = start + n * self.varying_bytes() + view * self.varying_stride;
                vertex.varyings = at as u32;
            }
        }
        Ok(shaded)
    }

    fn positions(
        &self,
        core: &mut Core<'_>,
        range: std::ops::Range<usize>,
        vertex: &dyn Fn(usize) -> (u32, u32),
        budget: &Budget,
        part: &mut ShadedRange,
    ) -> Result<(), JobFault> {
        core.begin(self.position);
        // Four vertices of each view are followed by their sizes and layers.
        let group = if self.extended { 8 } else { 4 };
        let place = |lane: usize| lane / 4 * group * self.room() + lane % 4;
        let elements = LANES / 4 * group * self.room();
        core.port.vertices.begin(POSITION_BYTES as u32, elements * POSITION_BYTES);
        for first in range.clone().step_by(LANES) {
            let count = (range.end - first).min(LANES);
            core.port.vertices.clear();
            let id = |lane: usize| place(lane) as u32;
            self.start(core, self.position, first, count, vertex, &id);
            core.run(self.gpu, self.position, budget)?;
            for lane in 0..count {
                for (n, slot) in self.slots().enumerate() {
                    let element = place(lane) + slot * group;
                    let bytes = &core.port.vertices.bytes()[element * POSITION_BYTES..];
                    part.shaded.push(self.shaded(bytes, self.views.get(n)));
                }
            }
        }
        Ok(())
    }

    /// Decodes a vertex from its stored position.
    fn shaded(&self, bytes: &[u8], view: Option<&u8>) -> ShadedVertex {
        let (words, _) = bytes.as_chunks::<4>();
        let position = [0, 1, 2, 3].map(|k| f32::from_le_bytes(words[k]));
        let (mut size, mut layer) = (self.size, 0);
        let further = &bytes[(4 * POSITION_BYTES).min(bytes.len())..];
        if self.extended && self.sized {
            size = f16::from_le_bytes([further[0], further[1]]).to_f32();
        }
        if self.extended && self.layered {
            layer = further[2];
        }
        ShadedVertex { position, size, layer: view.copied().unwrap_or(layer), varyings: 0 }
    }

    fn varyings(
        &self,
        core: &mut Core<'_>,
        stage: &Stage,
        range: std::ops::Range<usize>,
        vertex: &dyn Fn(usize) -> (u32, u32),
        budget: &Budget,
        part: &mut ShadedRange,
    ) -> Result<(), JobFault> {
        if self.varying_stride == 0 {
            return Ok(());
        }
        core.begin(stage);
        // Packets of four vertices in one view are contiguous.
        let room = self.room();
        let place = |lane: usize, slot: usize| (lane / 4 * room + slot) * 4 + lane % 4;
        let bytes = LANES * self.varying_stride * room;
        core.port.vertices.begin(self.varying_stride as u32, bytes);
        for first in range.clone().step_by(LANES) {
            let count = (range.end - first).min(LANES);
            core.port.vertices.clear();
            self.start(core, stage, first, count, vertex, &|lane| place(lane, 0) as u32);
            core.run(self.gpu, stage, budget)?;
            for lane in 0..count {
                for slot in self.slots() {
                    let at = place(lane, slot) * self.varying_stride;
                    let bytes = &core.port.vertices.bytes()[at..][..self.varying_stride];
                    part.varyings.extend_from_slice(bytes);
                }
            }
        }
        Ok(())
    }

    /// Initialises the warp for a range of vertices.
    fn start(
        &self,
        core: &mut Core<'_>,
        stage: &Stage,
        first: usize,
        count: usize,
        vertex: &dyn Fn(usize) -> (u32, u32),
        id: &dyn Fn(usize) -> u32,
    ) {
        let warp = &mut core.warp;
        warp.start((u32::from(u16::MAX) >> (LANES - count)) as u16);
        stage.fill(warp);
        let pairs: [(u32, u32); LANES] =
            std::array::from_fn(|lane| if lane < count { vertex(first + lane) } else { (0, 0) });
        let mut set = |register: usize, row: Row| {
            if stage.preloads(register) {
                warp.registers[register] = row;
            }
        };
        set(59, Row(std::array::from_fn(id)));
        set(60, Row(pairs.map(|(vertex, _)| vertex)));
        set(61, Row(pairs.map(|(_, instance)| instance)));
        set(62, Row::splat(self.draw_id));
        core.stats.threads += count as u64;
    }
}

/// A worker.
struct Worker<'vm> {
    core: Core<'vm>,
    parts: Vec<ShadedRange>,
}

/// A range of shaded vertices.
struct ShadedRange {
    from: usize,
    shaded: Vec<ShadedVertex>,
    varyings: Vec<u8>,
}
