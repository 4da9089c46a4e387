//! The command streamer: reads a batch command by command and executes it.
//!
//! Commands run in order and each is complete before the next begins, so that waits and cache flushes have no
//! effect, but for relaxed execution ([`late`]). [`mi`] has the commands of the memory interface, [`state`] those that set state, [`walker`]
//! compute. Commands that set 3D pipeline state are kept by name
//! ([`crate::context::HardwareContext::latched`]).

mod gen12;
mod late;
mod mi;
mod restrict;
mod state;
mod walker;

use tepui_intel_packets::stages::State3dSoBuffer;
use tepui_intel_packets::vertex::{Primitive3d, State3dVfInstancing};
use tepui_intel_packets::{Packet, PacketInfo, Revision, command};
use tepui_order::relaxed::{Schedule, Until};
use tepui_softgpu::AddressSpace;

use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{Batch, FaultKind, JobFault, JobStats, Unit};
use crate::memory::{Memory, address};
use crate::order::MemoryUnit;
use crate::registers::SO_WRITE_OFFSET;
use crate::relaxed::Work;
use crate::{render, tiled_resources};

const UNIT: Unit = Unit::CommandStreamer;

/// Maximum nesting of batches: the first level and the second.
///
/// source: SKL PRM volume 6: a second level batch cannot start a third.
const MAX_LEVELS: usize = 2;

/// Limit on the double words of a command: ten bits of length (MI_STORE_DATA_IMM of Gen12), plus the two that the
/// length excludes.
const MAX_DWORDS: usize = 1025;

/// The continuation of a batch after a command.
enum Continuation {
    /// The next command.
    Continue,
    /// The command at an address; the end of a second-level batch returns to the next command.
    Jump {
        /// GPU address.
        to: u64,
        /// Whether the end of that batch returns.
        returns: bool,
    },
    /// The end of this batch.
    End,
}

/// A batch that is being executed.
pub(crate) struct Stream<'a> {
    gpu: &'a Gpu,
    vm: &'a AddressSpace,
    memory: Memory<'a>,
    context: &'a mut HardwareContext,
    stats: JobStats,
    /// Work that is performed later, with relaxed execution.
    schedule: Option<Schedule<Work>>,
}

/// A command in memory.
struct Command<'c> {
    info: &'static PacketInfo,
    bytes: &'c [u8],
    revision: Revision,
}

impl Command<'_> {
    /// The command as a packet.
    fn unpack<P: Packet>(&self) -> Result<P, JobFault> {
        P::unpack_as(self.bytes, self.revision)
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))
    }

    /// A double word of the command; 0 past its end.
    fn dword(&self, index: usize) -> u32 {
        let bytes = self.bytes.get(4 * index..4 * index + 4);
        bytes.map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
}

impl<'a> Stream<'a> {
    pub fn new(gpu: &'a Gpu, vm: &'a AddressSpace, context: &'a mut HardwareContext) -> Self {
        let memory = Memory::new(vm, MemoryUnit::CommandStreamer);
        Stream { gpu, vm, memory, context, stats: JobStats::default(), schedule: None }
    }

    /// Performs draws, dispatches and writes later, as a schedule says.
    pub fn with_schedule(self, schedule: Schedule<Work>) -> Self {
        Stream { schedule: Some(schedule), ..self }
    }

    /// Runs a batch to its end.
    pub fn run(mut self, batch: &Batch) -> Result<JobStats, JobFault> {
        let mut at = address(batch.address);
        let mut returns: Vec<u64> = Vec::with_capacity(MAX_LEVELS);
        let mut buffer = [0; 4 * MAX_DWORDS];
        self.map_tiled_resources()?;
        loop {
            if self.stats.commands >= self.gpu.options.max_commands {
                return Err(JobFault::new(UNIT, "the batch is taken for endless")
                    .of(FaultKind::Endless)
                    .at_packet(at));
            }
            self.stats.commands += 1;
            if let Some(order) = &self.gpu.order {
                order.command(at);
            }
            self.age().map_err(|fault| fault.at_packet(at))?;
            let bytes = self.fetch(at, &mut buffer).map_err(|fault| fault.at_packet(at))?;
            let next = self.execute(bytes).map_err(|fault| fault.at_packet(at))?;
            let behind = address(at + bytes.len() as u64);
            match next {
                Continuation::Continue => at = behind,
                Continuation::Jump { to, returns: false } => at = address(to),
                Continuation::Jump { to, returns: true } => {
                    if returns.len() + 1 >= MAX_LEVELS {
                        let what = "a second level batch starts another one";
                        return Err(JobFault::new(UNIT, what).at_packet(at));
                    }
                    returns.push(behind);
                    at = address(to);
                }
                Continuation::End => match returns.pop() {
                    Some(back) => at = back,
                    None => {
                        self.settle(Until::Empty)?;
                        return Ok(self.stats);
                    }
                },
            }
        }
    }

    /// Reads the command at an address.
    fn fetch<'b>(&mut self, at: u64, buffer: &'b mut [u8]) -> Result<&'b [u8], JobFault> {
        let unbound = |fault| JobFault::memory(UNIT, fault);
        let header = self.memory.read_u32(at).map_err(unbound)?;
        let length = command::length_dwords(self.gpu.chip.generation, header);
        let bytes = 4 * length.unwrap_or(1) as usize;
        let Some(command) = length.and(buffer.get_mut(..bytes)) else {
            return Err(JobFault::new(UNIT, format!("{header:#010x} is no command")));
        };
        self.memory.read(at, command).map_err(unbound)?;
        Ok(command)
    }

    fn execute(&mut self, bytes: &[u8]) -> Result<Continuation, JobFault> {
        let header = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let Some(info) = command::find(self.gpu.chip.generation, header) else {
            return Err(JobFault::unimplemented(UNIT, format!("the command {header:#010x}")));
        };
        if let Some(order) = &self.gpu.order {
            order.name(info.name);
        }
        let command = Command { info, bytes, revision: self.context.revision() };
        if let Some(order) = &self.gpu.order {
            order.restrict(|restrictions| self.restrict(restrictions, &command))?;
        }
        match info.name {
            name if name.starts_with("MI_") => self.mi(&command),
            "PIPE_CONTROL" => self.pipe_control(&command),
            "STATE_BASE_ADDRESS" => self.state_base_address(&command),
            "PIPELINE_SELECT" => self.pipeline_select(&command),
            // The model has no exceptions, no preemption and no caches that could be incoherent.
            "STATE_SIP" | "GPGPU_CSR_BASE_ADDRESS" | "STATE_COMPUTE_MODE" => self.latch(&command),
            "MEDIA_VFE_STATE" => self.vfe_state(&command),
            "MEDIA_CURBE_LOAD" => self.curbe_load(&command),
            "MEDIA_INTERFACE_DESCRIPTOR_LOAD" => self.interface_descriptor_load(&command),
            // Walkers are complete before the next command begins.
            "MEDIA_STATE_FLUSH" => Ok(Continuation::Continue),
            "GPGPU_WALKER" => self.walker(&command),
            "3DPRIMITIVE" | "3DPRIMITIVE_EXTENDED"
                if self.stats.draws >= self.gpu.options.max_draws =>
            {
                Ok(Continuation::Continue)
            }
            "3DPRIMITIVE" => {
                let primitive = command.unpack()?;
                self.draw(&primitive)
            }
            "3DPRIMITIVE_EXTENDED" => self.extended_draw(&command),
            "3DSTATE_BINDING_TABLE_POOL_ALLOC" => self.table_pool(&command),
            "3DSTATE_CONSTANT_ALL" => self.constants_of_stages(&command),
            "3DSTATE_SO_BUFFER_INDEX_0" => self.stream_buffer_index(&command, 0),
            "3DSTATE_SO_BUFFER_INDEX_1" => self.stream_buffer_index(&command, 1),
            "3DSTATE_SO_BUFFER_INDEX_2" => self.stream_buffer_index(&command, 2),
            "3DSTATE_SO_BUFFER_INDEX_3" => self.stream_buffer_index(&command, 3),
            "3DSTATE_WM_HZ_OP" => self.depth_operation(&command),
            "3DSTATE_DEPTH_BOUNDS" => self.depth_bounds(&command),
            "3DSTATE_WM_DEPTH_STENCIL" => self.depth_stencil(&command),
            "3DSTATE_VERTEX_BUFFERS" => {
                for state in command.bytes[4..].as_chunks::<16>().0 {
                    // The upper six bits of the first double word are the index.
                    self.context.vertex_buffers.insert(u32::from(state[3] >> 2), *state);
                }
                Ok(Continuation::Continue)
            }
            "3DSTATE_VF_INSTANCING" => self.instancing(&command),
            "3DSTATE_SO_BUFFER" => self.stream_buffer(&command),
            name if name.starts_with("3DSTATE_") => self.latch(&command),
            name => Err(JobFault::unimplemented(UNIT, name)),
        }
    }

    /// Updates the translation of tiled resources.
    fn map_tiled_resources(&mut self) -> Result<(), JobFault> {
        if tiled_resources::map(self.vm, &self.context.registers)? {
            self.memory = Memory::new(self.vm, MemoryUnit::CommandStreamer);
        }
        Ok(())
    }

    fn draw(&mut self, primitive: &Primitive3d) -> Result<Continuation, JobFault> {
        self.begin_draw(primitive)?;
        Ok(Continuation::Continue)
    }

    fn run_draw(&mut self, primitive: &Primitive3d) -> Result<(), JobFault> {
        render::draw(self.gpu, self.vm, self.context, primitive, &mut self.stats)
    }

    /// Stores a command that sets state.
    fn latch(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        self.context.latched.insert(command.info.name, command.bytes.to_vec());
        Ok(Continuation::Continue)
    }

    /// Operations on depth without a draw.
    fn depth_operation(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        self.settle_shaders()?;
        render::hiz::operate(self.vm, self.context, &command.unpack()?)?;
        self.latch(command)
    }

    /// A stream output buffer, and its write offset.
    fn stream_buffer(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        self.set_stream_buffer(&command.unpack()?, command.bytes.to_vec())
    }

    fn set_stream_buffer(
        &mut self,
        set: &State3dSoBuffer,
        bytes: Vec<u8>,
    ) -> Result<Continuation, JobFault> {
        /// Value that means the offset is in memory.
        const FROM_MEMORY: u32 = u32::MAX;
        if set.stream_offset_write_enable {
            self.settle_shaders()?;
            let offset = match set.stream_offset {
                FROM_MEMORY => self
                    .memory
                    .read_u32(set.stream_output_buffer_offset_address)
                    .map_err(|fault| JobFault::memory(UNIT, fault))?,
                offset => offset,
            };
            self.set_register(SO_WRITE_OFFSET + 4 * set.so_buffer_index, offset)?;
        }
        self.context.stream_buffers.insert(set.so_buffer_index, bytes);
        Ok(Continuation::Continue)
    }

    /// The instance step rate of a vertex element.
    fn instancing(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let set: State3dVfInstancing = command.unpack()?;
        match set.instancing_enable {
            true => {
                let rate = set.instance_data_step_rate;
                self.context.instancing.insert(set.vertex_element_index, rate);
            }
            false => {
                self.context.instancing.remove(&set.vertex_element_index);
            }
        }
        Ok(Continuation::Continue)
    }
}
