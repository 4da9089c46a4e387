//! The command-stream front end: executes the instructions of a queue.
//!
//! The work that an instruction starts is done before the next one begins, so that scoreboard entries are
//! always idle. Queues of a group take turns, each until its stream ends, it waits for a sync object, or its
//! turn is over.
//!
// source: Mesa, cs_builder.h, decode_csf.c (`interpret_cs_instr`, registers that instructions read).

use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::{self, CsOpcode, CsState};
use tepui_mali_packets::draw::Scissor;
use tepui_mali_streams::{Error, Memory, Step};
use tepui_softgpu::{AddressSpace, Fault, UnitMemory};

use crate::dispatch::{self, Dispatch};
use crate::gpu::Gpu;
use crate::group::{Queue, QueueState};
use crate::job::{FaultKind, JobFault, Unit};
use crate::render::draw::{self, StateRegisters};
use crate::render::fragment;
use crate::render::scene::Scenes;

const UNIT: Unit = Unit::CommandStream;

/// Instructions per turn: a queue that polls memory yields to the others.
const TURN: u64 = 4096;

/// The front end's path to memory.
struct Bus<'a>(UnitMemory<'a>);

impl Memory for Bus<'_> {
    type Fault = Fault;

    fn load(&mut self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.0.read(at, into)
    }

    fn store(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.0.write(at, bytes)
    }

    fn update_u32(&mut self, at: u64, new: impl Fn(u32) -> u32) -> Result<u32, Fault> {
        self.0.update_u32(at, new)
    }

    fn update_u64(&mut self, at: u64, new: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        self.0.update_u64(at, new)
    }
}

fn fault(error: Error<Fault>) -> JobFault {
    match error {
        Error::Memory(fault) => JobFault::memory(UNIT, fault),
        Error::Opcode(_) => JobFault::new(UNIT, error.to_string()).of(FaultKind::Undecodable),
        other => JobFault::new(UNIT, other.to_string()),
    }
}

/// Executes a queue for a turn.
pub(crate) fn run(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    frames: &mut Vec<u64>,
    queue: &mut Queue,
) -> Result<(), JobFault> {
    let mut front = FrontEnd { gpu, vm, memory: Bus(UnitMemory::new(vm)), scenes, frames, queue };
    for _ in 0..TURN {
        if !front.queue.front.unwind() {
            front.queue.state = QueueState::Idle;
            return Ok(());
        }
        let at = front.queue.front.current.next;
        if let Some(address) = front.step().map_err(|fault| fault.at_packet(at))? {
            front.queue.state = QueueState::Waiting { address };
            return Ok(());
        }
    }
    Ok(())
}

/// Whether a queue could continue: it has a stream, and does not wait for a sync object.
pub(crate) fn can_run(vm: &AddressSpace, queue: &Queue) -> bool {
    match queue.state {
        QueueState::Ready => true,
        QueueState::Waiting { .. } => {
            let memory = &mut Bus(UnitMemory::new(vm));
            let waits = || {
                let bytes = queue.front.fetch(memory)?;
                let opcode = cs::opcode(u64::from_le_bytes(bytes));
                opcode.map_or(Ok(None), |opcode| queue.front.waits(memory, opcode, &bytes))
            };
            // An instruction that cannot be executed faults when the queue runs.
            !matches!({ waits }(), Ok(Some(_)))
        }
        QueueState::Idle | QueueState::Faulted => false,
    }
}

/// Limit on the framebuffers of one run that are recorded.
const MAX_FRAMES: usize = 4096;

struct FrontEnd<'a> {
    gpu: &'a Gpu,
    vm: &'a AddressSpace,
    memory: Bus<'a>,
    scenes: &'a mut Scenes,
    frames: &'a mut Vec<u64>,
    queue: &'a mut Queue,
}

fn problem(problem: tepui_mali_packets::Problem) -> JobFault {
    JobFault::new(UNIT, problem.to_string())
}

impl FrontEnd<'_> {
    fn register(&self, index: u32) -> Result<u32, JobFault> {
        self.queue.front.register(index).map_err(fault)
    }

    fn pair(&self, index: u32) -> Result<u64, JobFault> {
        self.queue.front.pair(index).map_err(fault)
    }

    /// Executes an instruction, or returns the address of the sync object that it waits for.
    fn step(&mut self) -> Result<Option<u64>, JobFault> {
        let front = &mut self.queue.front;
        let bytes = front.fetch(&mut self.memory).map_err(fault)?;
        let step = front.execute(&mut self.memory, &bytes).map_err(fault)?;
        if let Step::Wait(address) = step {
            return Ok(Some(address));
        }
        self.queue.state = QueueState::Ready;
        self.queue.stats.commands += 1;
        if self.queue.stats.commands > self.gpu.options.max_commands {
            return Err(JobFault::endless(UNIT));
        }
        if let Step::Work(opcode) = step {
            self.execute(opcode, &bytes)?;
        }
        Ok(None)
    }

    fn execute(&mut self, opcode: CsOpcode, bytes: &[u8; 8]) -> Result<(), JobFault> {
        macro_rules! unpack {
            ($name:ident) => {
                cs::$name::unpack(bytes).map_err(problem)?
            };
        }
        match opcode {
            CsOpcode::StoreState => {
                let i = unpack!(CsStoreState);
                let address = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                let value = match i.state {
                    CsState::Timestamp | CsState::CycleCount => self.gpu.timestamp(),
                    // The clock never stops, and a queue with an error does not continue.
                    CsState::DisjointCount | CsState::ErrorStatus => 0,
                };
                self.memory
                    .0
                    .write(address, &value.to_le_bytes())
                    .map_err(|f| JobFault::memory(UNIT, f))?;
            }
            CsOpcode::RunCompute => {
                let i = unpack!(CsRunCompute);
                self.compute([i.srt_select, i.fau_select, i.spd_select, i.tsd_select])?;
            }
            CsOpcode::RunComputeIndirect => {
                let i = unpack!(CsRunComputeIndirect);
                self.compute([i.srt_select, i.fau_select, i.spd_select, i.tsd_select])?;
            }
            CsOpcode::RunIdvs => {
                let i = unpack!(CsRunIdvs);
                let registers = StateRegisters(&self.queue.front.registers);
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                draw::execute(gpu, vm, self.scenes, &registers, &i, stats)?;
            }
            CsOpcode::RunFragment => {
                let frame = self.pair(40)?;
                if self.frames.len() < MAX_FRAMES {
                    self.frames.push(frame);
                }
                let scissor: Scissor =
                    draw::packet("scissor", &[self.register(42)?, self.register(43)?])?;
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                fragment::execute(gpu, vm, self.scenes, frame, &scissor, stats)?;
            }
            CsOpcode::FinishFragment => {
                let i = unpack!(CsFinishFragment);
                let chunks = self.pair(i.first_heap_chunk)?;
                draw::finish(self.scenes, chunks);
            }
            CsOpcode::RunFullscreen => {
                let i = unpack!(CsRunFullscreen);
                let registers = StateRegisters(&self.queue.front.registers);
                let stats = &mut self.queue.stats;
                draw::fullscreen(self.gpu, self.vm, self.scenes, &registers, &i, stats)?;
            }
            CsOpcode::RunTiling
            | CsOpcode::ProgressWait
            | CsOpcode::ProgressStore
            | CsOpcode::ProgressLoad
            | CsOpcode::ProtRegion => {
                return Err(JobFault::unimplemented(UNIT, opcode));
            }
            // The front end executes all others itself.
            _ => {}
        }
        Ok(())
    }

    /// Runs a dispatch whose state is in registers.
    fn compute(&mut self, selects: [u32; 4]) -> Result<(), JobFault> {
        // Four pairs of registers each for resource tables, uniforms, program and storage.
        let at = |kind: u32| 8 * kind + 2 * selects[kind as usize];
        let three = |first: u32| -> Result<[u32; 3], JobFault> {
            Ok([self.register(first)?, self.register(first + 1)?, self.register(first + 2)?])
        };
        let dispatch = Dispatch {
            resources: self.pair(at(0))?,
            uniforms: self.pair(at(1))?,
            program: self.pair(at(2))?,
            storage: self.pair(at(3))?,
            attribute_offset: self.register(32)?,
            size: self.register(33)?,
            offset: three(34)?,
            groups: three(37)?,
            bifrost: None,
        };
        dispatch::execute(self.gpu, self.vm, &dispatch, &mut self.queue.stats)
    }
}
