//! The job manager (v4 to v9): executes a chain of jobs in memory.
//!
//! Jobs are linked, and a job begins when the jobs that it names by index have ended; here they are executed in the
//! order of the chain, in which a job follows its dependencies; relaxed execution takes another order
//! ([`crate::relaxed`]). The header of each job is updated when it has ended.
//!
// source: Mesa, v9.xml (jobs), decode_jm.c, pan_jm.c.

use std::collections::HashSet;

use tepui_mali_packets::bifrost::Invocation;
use tepui_mali_packets::draw::{
    Draw as DrawDescriptor, FifoFormat, PointSizeArrayFormat, Primitive, PrimitiveFlags, Scissor,
};
use tepui_mali_packets::framebuffer::FragmentJobPayload;
use tepui_mali_packets::job::{
    Allocation, ComputePayload, JobHeader, JobType, WriteValueJobPayload, WriteValueType, bifrost,
    valhall,
};
use tepui_mali_packets::midgard::WriteValueJobPayloadV5;
use tepui_mali_packets::sfbd::FragmentJobPayloadV4;
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_mali_packets::{Packet, Problem};
use tepui_order::relaxed::Choices;
use tepui_softgpu::{AddressSpace, Fault, UnitMemory, catch_panic};

use crate::dispatch::{self, Dispatch};
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::omit;
use crate::order::{OrderState, unit};
use crate::pixels::draw::Draw;
use crate::pixels::scene::Scenes;
use crate::relaxed::{HeldJobs, Job};
use crate::render::draw::{self, DrawCall};
use crate::render::vertex::{HIGHEST, Vertices};
use crate::render::{fragment, indexed, midgard, renderer_state};
use crate::warp::addresses::StageAddresses;

const UNIT: Unit = Unit::JobManager;

/// Limit on the jobs of a chain: their indices have 16 bits.
const MAX_JOBS: usize = 1 << 16;

/// Limit on the framebuffers that a chain records as rendered.
const MAX_FRAMES: usize = 1 << 10;

/// Bytes of a header.
const HEADER: u64 = 32;

/// Status that the hardware writes into the header of a job that has ended without a fault. source: Mesa,
/// decode_jm.c (`pandecode_abort_on_fault_jc`).
const DONE: u32 = 1;

/// State that jobs of one address space leave for later ones.
#[derive(Clone, Default)]
pub struct JobContext {
    scenes: Scenes,
    frames: Vec<u64>,
}

impl JobContext {
    /// The framebuffer pointers of the last chain's fragment jobs, in order: for tools.
    pub fn frames(&self) -> &[u64] {
        &self.frames
    }
}

fn memory_fault(fault: Fault) -> JobFault {
    JobFault::memory(UNIT, fault)
}

fn invalid(what: &str, problem: &Problem) -> JobFault {
    JobFault::new(UNIT, format!("{what}: {problem}"))
}

/// Reads a packet.
fn packet<P: Packet>(memory: &mut UnitMemory<'_>, at: u64) -> Result<P, JobFault> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    memory.read(at, &mut bytes).map_err(memory_fault)?;
    P::unpack(&bytes).map_err(|problem| invalid(P::INFO.name, &problem))
}

fn word(memory: &mut UnitMemory<'_>, at: u64) -> Result<u32, JobFault> {
    Ok(u32::from_le_bytes(memory.read_array(at).map_err(memory_fault)?))
}

fn address(memory: &mut UnitMemory<'_>, at: u64) -> Result<u64, JobFault> {
    Ok(u64::from_le_bytes(memory.read_array(at).map_err(memory_fault)?))
}

/// The inputs of a shader stage, from its environment.
fn stage(environment: &ShaderEnvironment) -> StageAddresses {
    StageAddresses {
        resources: environment.resources,
        uniforms: environment.fau | u64::from(environment.fau_count) << 56,
        program: environment.shader,
        storage: environment.thread_storage,
        attribute_offset: environment.attribute_offset,
        bifrost: None,
    }
}

impl Gpu {
    /// Executes the chain of jobs at an address, to its end or up to a fault.
    ///
    /// # Errors
    /// The fault of a job.
    pub fn chain(
        &self,
        vm: &AddressSpace,
        context: &mut JobContext,
        first: u64,
    ) -> Result<JobStats, JobFault> {
        let run = || catch_panic(|| chain(self, vm, context, first));
        // What a chain leaves running ends before the next one: the kernel waits for it.
        let result = self.ordered(vm, &mut OrderState::default(), run);
        result.unwrap_or_else(|what| Err(JobFault::new(UNIT, what).of(FaultKind::Panic)))
    }
}

fn chain(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &mut JobContext,
    first: u64,
) -> Result<JobStats, JobFault> {
    let mut stats = JobStats::default();
    context.frames.clear();
    let mut ended = HashSet::from([0]);
    let mut choices = gpu.options.relaxed.map(Choices::new);
    let mut held = HeldJobs::default();
    let mut at = first;
    for _ in 0..MAX_JOBS {
        if at == 0 {
            while let Some(job) = held.next(&mut choices, true) {
                perform(gpu, vm, context, &job, &mut stats).map_err(placed(job.at))?;
            }
            return Ok(stats);
        }
        if stats.commands >= gpu.options.max_commands {
            break;
        }
        let place = at;
        let header = header(vm, place).map_err(placed(place))?;
        gpu.omission.work(0);
        let header = omit::job(header, |kind| gpu.omission.omits(0, kind));
        stats.commands += 1;
        for dependency in [header.dependency_1, header.dependency_2] {
            if !ended.contains(&dependency) {
                let what = format!("job {} waits for job {dependency} after it", header.index);
                return Err(JobFault::new(UNIT, what).at_packet(at));
            }
        }
        ended.insert(header.index);
        at = header.next;
        held.begin(Job { at: place, header });
        while let Some(job) = held.next(&mut choices, false) {
            perform(gpu, vm, context, &job, &mut stats).map_err(placed(job.at))?;
        }
    }
    Err(JobFault::endless(UNIT))
}

/// The fault of a job at an address.
fn placed(at: u64) -> impl Fn(JobFault) -> JobFault {
    move |fault| fault.at_packet(at)
}

/// Reads a job's header.
fn header(vm: &AddressSpace, at: u64) -> Result<JobHeader, JobFault> {
    let mut memory = UnitMemory::new(vm);
    memory.set_unit(unit::FRONT);
    packet(&mut memory, at)
}

/// Executes a job, and updates its header.
fn perform(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &mut JobContext,
    &Job { at, header }: &Job,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    if let Some(order) = &gpu.order {
        let report = order.job(at, &header);
        if let (Some(report), Some(reports)) = (report, &gpu.reports) {
            reports.add(report);
        }
    }
    job(gpu, vm, context, at, &header, stats)?;
    let mut memory = UnitMemory::new(vm);
    memory.set_unit(unit::FRONT);
    memory.write(at, &DONE.to_le_bytes()).map_err(memory_fault)
}

/// Executes a job.
fn job(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &mut JobContext,
    at: u64,
    header: &JobHeader,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let mut memory = UnitMemory::new(vm);
    let payload = at.wrapping_add(HEADER);
    let is_bifrost = gpu.chip().arch.0 < 9;
    match header.job_type {
        // Caches are coherent.
        JobType::Null | JobType::CacheFlush => {}
        JobType::WriteValue => write_value(gpu, &mut memory, payload)?,
        JobType::Compute if is_bifrost => {
            let invocation: Invocation = packet(&mut memory, payload)?;
            let place = at.wrapping_add(bifrost::COMPUTE_DRAW);
            let d = midgard::descriptor(gpu.chip().arch, &mut memory, place)?;
            let (size, groups) = invocation.counts();
            let stage = renderer_state::addresses(&d, false);
            let dispatch = Dispatch { stage, size, offset: [0; 3], groups };
            dispatch::execute(gpu, vm, &dispatch, stats)?;
        }
        JobType::Vertex if is_bifrost => indexed::vertices(gpu, vm, at, stats)?,
        JobType::Tiler | JobType::IndexedVertex if is_bifrost => {
            stats.draws += 1;
            if stats.draws <= gpu.options.max_draws {
                let shades = header.job_type == JobType::IndexedVertex;
                indexed::primitives(gpu, vm, &mut context.scenes, at, shades, stats)?;
            }
        }
        JobType::Compute => {
            let bytes = memory.read_array::<{ ComputePayload::SIZE_BYTES }>(payload);
            let bytes = bytes.map_err(memory_fault)?;
            let p = ComputePayload::unpack(&bytes)
                .map_err(|problem| invalid("compute job", &problem))?;
            let size = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let dispatch = Dispatch {
                stage: stage(&p.compute),
                size: dispatch::workgroup_size(size)?,
                offset: [p.offset_x, p.offset_y, p.offset_z],
                groups: [p.workgroup_count_x, p.workgroup_count_y, p.workgroup_count_z],
            };
            dispatch::execute(gpu, vm, &dispatch, stats)?;
        }
        JobType::MallocVertex => {
            let call = draw_call(&mut memory, at)?;
            stats.draws += 1;
            if stats.draws <= gpu.options.max_draws {
                draw::run(gpu, vm, &mut context.scenes, call, stats)?;
            }
        }
        JobType::Fragment => {
            let p = fragment_payload(gpu, &mut memory, payload)?;
            if context.frames.len() < MAX_FRAMES {
                context.frames.push(p.framebuffer);
            }
            // Bounds are tiles.
            let scissor = Scissor {
                scissor_minimum_x: p.bound_min_x * TILE,
                scissor_minimum_y: p.bound_min_y * TILE,
                scissor_maximum_x: p.bound_max_x * TILE + TILE - 1,
                scissor_maximum_y: p.bound_max_y * TILE + TILE - 1,
            };
            fragment::execute(gpu, vm, &mut context.scenes, p.framebuffer, &scissor, stats)?;
        }
        other @ (JobType::NotStarted
        | JobType::Vertex
        | JobType::Tiler
        | JobType::IndexedVertex) => {
            return Err(JobFault::unimplemented(UNIT, format!("jobs of type {other}")));
        }
    }
    Ok(())
}

/// Side of a tile in pixels, the unit of a fragment job's bounds. source: Mesa, pan_desc.h
/// (`MALI_TILE_SHIFT`).
const TILE: u32 = 16;

/// Executes a fragment job.
fn fragment_payload(
    gpu: &Gpu,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<FragmentJobPayload, JobFault> {
    if gpu.chip().arch.0 >= 5 {
        return packet(memory, at);
    }
    let p: FragmentJobPayloadV4 = packet(memory, at)?;
    Ok(FragmentJobPayload {
        bound_min_x: p.bound_min_x,
        bound_min_y: p.bound_min_y,
        bound_max_x: p.bound_max_x,
        bound_max_y: p.bound_max_y,
        framebuffer: p.framebuffer,
        ..FragmentJobPayload::default()
    })
}

fn write_value(gpu: &Gpu, memory: &mut UnitMemory<'_>, at: u64) -> Result<(), JobFault> {
    let p: WriteValueJobPayload = match gpu.chip().arch.0 {
        // Write-value jobs of Midgard have no immediates.
        ..6 => {
            let p: WriteValueJobPayloadV5 = packet(memory, at)?;
            WriteValueJobPayload { address: p.address, kind: p.kind, ..Default::default() }
        }
        _ => packet(memory, at)?,
    };
    let (value, bytes) = match p.kind {
        WriteValueType::CycleCounter | WriteValueType::SystemTimestamp => (gpu.timestamp(), 8),
        WriteValueType::Zero => (0, 8),
        WriteValueType::Immediate8 => (p.immediate_value, 1),
        WriteValueType::Immediate16 => (p.immediate_value, 2),
        WriteValueType::Immediate32 => (p.immediate_value, 4),
        WriteValueType::Immediate64 => (p.immediate_value, 8),
    };
    memory.write(p.address, &value.to_le_bytes()[..bytes]).map_err(memory_fault)
}

/// The draw call of a job that allocates its vertices.
fn draw_call(memory: &mut UnitMemory<'_>, at: u64) -> Result<DrawCall, JobFault> {
    let place = |offset: u64| at.wrapping_add(offset);
    let primitive: Primitive = packet(memory, place(valhall::PRIMITIVE))?;
    let allocation: Allocation = packet(memory, place(valhall::ALLOCATION))?;
    let instances = word(memory, place(valhall::INSTANCES))?;
    let bytes = memory.read_array::<{ DrawDescriptor::SIZE_BYTES }>(place(valhall::DRAW));
    let mut draw = Draw::from_bytes(&bytes.map_err(memory_fault)?)?;
    let position: ShaderEnvironment = packet(memory, place(valhall::POSITION))?;
    let mut varying = ShaderEnvironment::default();
    if primitive.secondary_shader {
        varying = packet(memory, place(valhall::VARYING))?;
        draw.varying_stride = allocation.vertex_attribute_stride;
    }
    // Shaders that write point sizes or layers store positions in the extended format.
    let extended = primitive.layer_index_enable
        || primitive.point_size_array_format != PointSizeArrayFormat::None;
    let flags = PrimitiveFlags {
        draw_mode: primitive.draw_mode,
        index_type: primitive.index_type,
        point_size_array_format: primitive.point_size_array_format,
        primitive_index_enable: primitive.primitive_index_enable,
        primitive_index_writeback: primitive.primitive_index_writeback,
        allow_rotating_primitives: primitive.allow_rotating_primitives,
        low_depth_cull: primitive.low_depth_cull,
        high_depth_cull: primitive.high_depth_cull,
        secondary_shader: primitive.secondary_shader,
        primitive_restart: primitive.primitive_restart,
        layer_index_enable: primitive.layer_index_enable,
        scissor_array_enable: primitive.scissor_array_enable,
        position_fifo_format: if extended { FifoFormat::Extended } else { FifoFormat::Basic },
        view_mask: 0,
    };
    let vertices = Vertices {
        count: primitive.index_count,
        instances,
        base: primitive.base_vertex_offset as u32,
        first_instance: primitive.instance_offset,
        index_type: primitive.index_type,
        first_index: 0,
        indices: address(memory, place(valhall::INDICES))?,
        // The job does not contain the size of the index buffer.
        index_bytes: u32::MAX,
        restart: primitive.primitive_restart.then_some(HIGHEST),
        draw_id: 0,
    };
    Ok(DrawCall {
        flags,
        tiler: address(memory, place(valhall::TILER))?,
        position: stage(&position),
        varying: stage(&varying),
        draw,
        vertices,
        scissor: packet(memory, place(valhall::SCISSOR))?,
        size_px: f32::from_bits(word(memory, place(valhall::SIZE))?),
    })
}
