//! The geometry shader stage: primitives in, strips of vertices out.
//!
//! A thread has eight channels: eight primitives, or eight invocations of one. Each channel has a URB entry
//! to which it writes the number of vertices, bits that end strips, and the vertices.

use tepui_intel_eu::Thread;
use tepui_softgpu::AddressSpace;

use super::Machine;
use super::assembly::{Assembled, Assembly, ProvokingVertices};
use super::input_assembly::InputPrimitive;
use super::shader::{Command, LANES, Shader, put};
use super::state::{Bindings, State};
use super::stream_output::STREAMS;
use super::unit::{UNIT, unimplemented};
use super::vertex::Vertices;
use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::Ports;
use tepui_intel_eu::REGISTER_BYTES;

/// Double words of an HWORD (32 bytes).
const HWORD: usize = 8;

/// The geometry shader of a draw.
pub(super) struct GeometryStage {
    shader: Shader,
    /// Number of vertices of a primitive.
    vertices_in: usize,
    invocations: u32,
    primitive_id: bool,
    handles: bool,
    /// Number of registers of each vertex that are pushed, and the first double word of them.
    pushed: usize,
    pushed_from: usize,
    /// Number of double words of a channel's entry.
    entry: usize,
    /// Number of double words before the vertices, and of a vertex.
    header: usize,
    vertex: usize,
    /// Number of vertices that each channel emits, if it is constant.
    fixed: Option<u32>,
    /// Whether control data bits in the header end strips; otherwise they are stream IDs of vertices.
    cuts: bool,
    /// Default Stream Id.
    stream: u8,
    topology: u32,
    provoking: ProvokingVertices,
}

/// The output of a channel.
struct ChannelOutput {
    /// Vertices with their entries, whether a strip ends after each, and their streams.
    vertices: Vec<u32>,
    ends: Vec<bool>,
    streams: Vec<u8>,
}

impl GeometryStage {
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        context: &HardwareContext,
        state: &State,
        provoking: ProvokingVertices,
    ) -> Result<GeometryStage, JobFault> {
        /// Dispatch Mode of eight channels.
        const SIMD8: u32 = 3;
        let gs = &state.gs;
        if gs.dispatch_mode != SIMD8 {
            return Err(unimplemented("3DSTATE_GS without SIMD8 dispatch"));
        }
        let mut memory = Memory::new(vm, MemoryUnit::State);
        let bindings = Bindings::of_geometry(context, &mut memory)?;
        let command = Command {
            kernel: gs.kernel_start_pointer,
            scratch: gs.scratch_space_base_pointer,
            scratch_size: gs.per_thread_scratch_space,
            first: gs.dispatch_grf_start_register_for_urb_data
                | gs.dispatch_grf_start_register_for_urb_data_5_4 << 4,
            alternative: gs.floating_point_mode,
        };
        let fixed = gs.static_output.then_some(gs.static_output_vertex_count);
        // The number of vertices takes 32 bytes.
        let count = if fixed.is_some() { 0 } else { HWORD };
        Ok(GeometryStage {
            shader: Shader::new(gpu, vm, context, &command, bindings)?,
            vertices_in: gs.expected_vertex_count.clamp(1, 6) as usize,
            invocations: gs.instance_control + 1,
            primitive_id: gs.include_primitive_id,
            handles: gs.include_vertex_handles,
            pushed: 8 * gs.vertex_urb_entry_read_length as usize,
            pushed_from: 8 * gs.vertex_urb_entry_read_offset as usize,
            // The allocation size is in units of 64 bytes, minus one.
            entry: 16 * (state.gs_urb.gs_urb_entry_allocation_size as usize + 1),
            header: count + HWORD * gs.control_data_header_size as usize,
            // The size of a vertex is in units of 16 bytes, minus one.
            vertex: 4 * (gs.output_vertex_size as usize + 1),
            fixed,
            cuts: !gs.control_data_format,
            stream: gs.default_stream_id as u8 % STREAMS as u8,
            topology: gs.output_topology,
            provoking,
        })
    }

    /// Number of double words of an output vertex.
    pub fn stride(&self) -> usize {
        // At least the part that fixed functions read.
        self.vertex.max(16)
    }

    /// Invocations for each primitive.
    pub fn invocations(&self) -> u64 {
        u64::from(self.invocations)
    }

    /// The assembler of its output primitives.
    pub fn assembly(&self) -> Result<Assembly, JobFault> {
        Assembly::new(self.topology, self.provoking)
    }

    /// Runs the shader for primitives; adds the output vertices, and the primitives that they form in each
    /// stream.
    pub fn run(
        &self,
        Machine { gpu, vm }: Machine<'_>,
        input: &Vertices,
        input_primitives: &[InputPrimitive],
        output: &mut Vertices,
        assembled: &mut [Vec<Assembled>; STREAMS],
        stats: &mut JobStats,
    ) -> Result<u64, JobFault> {
        // The channels of each thread.
        let mut threads: Vec<Vec<(u32, u32)>> = Vec::new();
        let all = |n: u32| (0..self.invocations).map(move |instance| (n, instance));
        if self.invocations == 1 {
            let list: Vec<_> = (0..input_primitives.len() as u32).map(|n| (n, 0)).collect();
            threads.extend(list.chunks(LANES).map(<[_]>::to_vec));
        } else {
            for n in 0..input_primitives.len() as u32 {
                let list: Vec<_> = all(n).collect();
                threads.extend(list.chunks(LANES).map(<[_]>::to_vec));
            }
        }
        let mut results: Vec<Vec<ChannelOutput>> = Vec::new();
        results.resize_with(threads.len(), Vec::new);
        let begin = |core| Worker {
            stage: self,
            input,
            input_primitives,
            core,
            thread: self.shader.shared.thread(),
            ports: Ports::new(vm, &self.shader.shared, 0),
            budget: gpu.options.max_instructions,
            stats: JobStats::default(),
        };
        let items: Vec<_> = threads.iter().zip(&mut results).collect();
        let (parts, outcome) = gpu
            .pool
            .share(
                items.into_iter(),
                begin,
                |worker: &mut Worker<'_>,
                 (lanes, result): (&Vec<(u32, u32)>, &mut Vec<ChannelOutput>)| {
                    *result = worker.shade(lanes)?;
                    Ok(())
                },
                |worker| worker.stats,
            )
            .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
        for part in parts {
            stats.threads += part.threads;
            stats.instructions += part.instructions;
        }
        outcome?;
        let count = |list: &[Vec<Assembled>; STREAMS]| list.iter().map(Vec::len).sum::<usize>();
        let before = count(assembled);
        let mut assembly = self.assembly()?;
        let stride = self.stride();
        let stream_of_strips = usize::from(self.stream);
        for made in results.iter().flatten() {
            let vertices = made.vertices.chunks_exact(self.vertex).zip(&made.ends);
            for ((entry, ends), stream) in vertices.zip(&made.streams) {
                let number = (output.data.len() / stride) as u32;
                output.data.extend_from_slice(entry);
                output.data.resize((number as usize + 1) * stride, 0);
                if *stream != self.stream {
                    // Several streams can only have points, not strips.
                    let list = &mut assembled[usize::from(*stream) % STREAMS];
                    list.push(([number; 3], list.len() as u32));
                    continue;
                }
                assembly.push(number, &mut assembled[stream_of_strips]);
                if *ends {
                    assembly.restart(&mut assembled[stream_of_strips]);
                }
            }
            assembly.restart(&mut assembled[stream_of_strips]);
        }
        Ok((count(assembled) - before) as u64)
    }
}

/// The state of a worker.
struct Worker<'a> {
    stage: &'a GeometryStage,
    input: &'a Vertices,
    input_primitives: &'a [InputPrimitive],
    core: u32,
    thread: Thread,
    ports: Ports<'a>,
    budget: u64,
    stats: JobStats,
}

impl Worker<'_> {
    /// Runs a thread for pairs of a primitive and an invocation.
    fn shade(&mut self, lanes: &[(u32, u32)]) -> Result<Vec<ChannelOutput>, JobFault> {
        let stage = self.stage;
        let thread = &mut self.thread;
        let mask = (1u32 << lanes.len()) - 1;
        let start = stage.shader.start(thread, mask, self.core);
        // The channels' own entries are first in the URB, followed by those of the vertices.
        let urb = self.ports.urb_mut();
        urb.clear();
        urb.resize(LANES * stage.entry, 0);
        let grf = thread.grf_mut();
        // source: Mesa, brw_fs_thread_payload.cpp (`gs_thread_payload`): r1 has handles and, in bits 31:27,
        // the invocation; followed by the primitive's index, and a handle per vertex.
        let mut register = 2;
        let single = stage.invocations == 1;
        for (lane, (number, instance)) in lanes.iter().enumerate() {
            let handle = (lane * stage.entry / 4) as u32;
            put(grf, REGISTER_BYTES, lane, handle | instance << 27);
            if stage.primitive_id {
                let id = self.input_primitives[*number as usize].number;
                put(grf, 2 * REGISTER_BYTES, lane, id);
            }
        }
        register += usize::from(stage.primitive_id);
        // Invocations of one primitive share its vertices, whose handles are adjacent.
        let primitives = if single { lanes } else { &lanes[..1] };
        for (lane, (number, _)) in primitives.iter().enumerate() {
            let primitive = &self.input_primitives[*number as usize];
            for (k, vertex) in primitive.vertices.iter().take(stage.vertices_in).enumerate() {
                let handle = (urb.len() / 4) as u32;
                let entry = self.input.entry(*vertex);
                urb.extend_from_slice(entry);
                if stage.handles && single {
                    put(grf, (register + k) * REGISTER_BYTES, lane, handle);
                } else if stage.handles {
                    put(grf, register * REGISTER_BYTES, k, handle);
                }
                if single {
                    for n in 0..stage.pushed {
                        let value = entry.get(stage.pushed_from + n).copied().unwrap_or(0);
                        let at = start + (k * stage.pushed + n) * REGISTER_BYTES;
                        put(grf, at, lane, value);
                    }
                }
            }
        }
        self.stats.threads += 1;
        self.stats.instructions += stage.shader.run(thread, &mut self.ports, &mut self.budget)?;
        let urb = self.ports.urb_mut();
        Ok((0..lanes.len())
            .map(|lane| stage.made(&urb[lane * stage.entry..][..stage.entry]))
            .collect())
    }
}

impl GeometryStage {
    /// Reads the output of a channel from its entry.
    fn made(&self, entry: &[u32]) -> ChannelOutput {
        let room = entry.len().saturating_sub(self.header) / self.vertex;
        let count = self.fixed.unwrap_or(entry[0]).min(room as u32) as usize;
        let bits = if self.fixed.is_some() { 0 } else { HWORD };
        let mut made =
            ChannelOutput { vertices: Vec::new(), ends: Vec::new(), streams: Vec::new() };
        for vertex in 0..count {
            // Stream IDs take two bits per vertex.
            let stream = entry.get(bits + vertex / 16).copied().unwrap_or(0) >> (2 * (vertex % 16));
            let has_streams = !self.cuts && bits < self.header;
            made.streams.push(if has_streams { stream as u8 & 3 } else { self.stream });
            let from = self.header + vertex * self.vertex;
            made.vertices.extend_from_slice(&entry[from..from + self.vertex]);
            let word = entry.get(bits + vertex / 32).copied().unwrap_or(0);
            made.ends.push(self.cuts && bits < self.header && word >> (vertex % 32) & 1 != 0);
        }
        made
    }
}
