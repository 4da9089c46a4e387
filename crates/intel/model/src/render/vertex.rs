//! The vertex stage: vertices are fetched and, eight per thread, processed by the vertex shader.
//!
//! The output is a URB entry per vertex, all of one size, consecutive in one arena. Without a vertex shader
//! the fetched elements are the entry.

use tepui_intel_eu::Thread;
use tepui_softgpu::AddressSpace;

use super::fetch::{Fetcher, Input};
use super::shader::{Command, LANES, Shader, put};
use super::state::{Bindings, State};
use super::unit::UNIT;
use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::Ports;
use tepui_intel_eu::REGISTER_BYTES;

/// Minimum number of double words of an entry, which fixed functions read: header, position, distances.
const MIN_DWORDS: usize = 16;

/// URB entries of vertices.
pub(super) struct Vertices {
    /// Number of double words of an entry.
    pub stride: usize,
    /// The entries.
    pub data: Vec<u32>,
}

impl Vertices {
    /// An entry.
    pub fn entry(&self, vertex: u32) -> &[u32] {
        &self.data[vertex as usize * self.stride..][..self.stride]
    }
}

/// The vertex stage of a draw.
pub(super) struct VertexStage {
    pub fetcher: Fetcher,
    shader: Option<Shader>,
    /// Number of registers of pushed vertex data.
    registers: usize,
    /// Number of double words of a vertex's entry.
    pub stride: usize,
}

impl VertexStage {
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        context: &HardwareContext,
        state: &State,
        fetcher: Fetcher,
    ) -> Result<VertexStage, JobFault> {
        let vs = &state.vs;
        if !vs.enable {
            let stride = fetcher.dwords().max(MIN_DWORDS);
            return Ok(VertexStage { fetcher, shader: None, registers: 0, stride });
        }
        let mut memory = Memory::new(vm, MemoryUnit::State);
        let bindings = Bindings::of_vertices(context, &mut memory)?;
        let command = Command {
            kernel: vs.kernel_start_pointer,
            scratch: vs.scratch_space_base_pointer,
            scratch_size: vs.per_thread_scratch_space,
            first: vs.dispatch_grf_start_register_for_urb_data,
            alternative: vs.floating_point_mode,
        };
        let shader = Shader::new(gpu, vm, context, &command, bindings)?;
        // Entries are pushed in units of two elements.
        let registers = 8 * vs.vertex_urb_entry_read_length as usize;
        // The allocation size is in units of 64 bytes, minus one.
        let stride = 16 * (state.vs_urb.vs_urb_entry_allocation_size as usize + 1);
        let stride = stride.max(MIN_DWORDS);
        Ok(VertexStage { fetcher, shader: Some(shader), registers, stride })
    }

    /// Processes vertices; their entries are added in order.
    pub fn run(
        &self,
        gpu: &Gpu,
        vm: &AddressSpace,
        inputs: &[Input],
        vertices: &mut Vertices,
        stats: &mut JobStats,
    ) -> Result<(), JobFault> {
        let from = vertices.data.len();
        vertices.data.resize(from + inputs.len() * self.stride, 0);
        let out = &mut vertices.data[from..];
        let Some(shader) = &self.shader else {
            let mut memory = Memory::new(vm, MemoryUnit::VertexFetch);
            for (input, entry) in inputs.iter().zip(out.chunks_exact_mut(self.stride)) {
                self.fetcher.fetch(&mut memory, *input, entry)?;
            }
            return Ok(());
        };
        let begin = |core| Worker {
            stage: self,
            shader,
            core,
            memory: Memory::new(vm, MemoryUnit::VertexFetch),
            thread: shader.shared.thread(),
            ports: Ports::new(vm, &shader.shared, 0),
            vertex: vec![0; self.fetcher.dwords()],
            budget: gpu.options.max_instructions,
            stats: JobStats::default(),
        };
        let items: Vec<_> = inputs.chunks(LANES).zip(out.chunks_mut(LANES * self.stride)).collect();
        let (parts, outcome) = gpu
            .pool
            .share(
                items.into_iter(),
                begin,
                |worker: &mut Worker<'_>, (inputs, out): (&[Input], &mut [u32])| {
                    worker.shade(inputs, out)
                },
                |worker| worker.stats,
            )
            .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
        for part in parts {
            stats.threads += part.threads;
            stats.instructions += part.instructions;
        }
        outcome
    }
}

/// The state of a worker.
struct Worker<'a> {
    stage: &'a VertexStage,
    shader: &'a Shader,
    core: u32,
    memory: Memory<'a>,
    thread: Thread,
    ports: Ports<'a>,
    vertex: Vec<u32>,
    budget: u64,
    stats: JobStats,
}

impl Worker<'_> {
    /// Runs the shader for at most eight vertices.
    fn shade(&mut self, inputs: &[Input], out: &mut [u32]) -> Result<(), JobFault> {
        let shader = self.shader;
        let thread = &mut self.thread;
        let mask = (1u32 << inputs.len()) - 1;
        let start = shader.start(thread, mask, self.core);
        // The handles of the entries are in units of 16 bytes, relative to the first vertex's.
        let handle = |lane: usize| (lane * self.stage.stride / 4) as u32;
        thread.write_payload(1, &std::array::from_fn::<u32, LANES, _>(handle));
        let grf = thread.grf_mut();
        let fetcher = &self.stage.fetcher;
        for (lane, input) in inputs.iter().enumerate() {
            fetcher.fetch(&mut self.memory, *input, &mut self.vertex)?;
            let registers = fetcher.pushed().iter().take(self.stage.registers);
            for (register, &place) in registers.enumerate() {
                let at = start + register * REGISTER_BYTES;
                put(grf, at, lane, self.vertex[usize::from(place)]);
            }
        }
        self.ports.urb_mut().clear();
        self.ports.urb_mut().resize(LANES * self.stage.stride, 0);
        self.stats.threads += 1;
        self.stats.instructions += shader.run(thread, &mut self.ports, &mut self.budget)?;
        out.copy_from_slice(&self.ports.urb_mut()[..out.len()]);
        Ok(())
    }
}
