//! The command-stream front end: executes the instructions of a queue.
//!
//! The work that an instruction starts is done before the next one begins, so that scoreboard entries are
//! always idle; relaxed execution holds it back ([`crate::relaxed`]). Queues of a group take turns, each until its stream ends, it waits for a sync object, or its
//! turn is over.
//!
// source: Mesa, cs_builder.h, decode_csf.c (`interpret_cs_instr`, registers that instructions read).

use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::{self, CsOpcode, CsState};
use tepui_mali_packets::draw::Scissor;
use tepui_mali_streams::{Error, Memory, REGISTERS, Step};
use tepui_order::relaxed::Choices;
use tepui_softgpu::{AddressSpace, Fault, UnitMemory};

use crate::dispatch::{self, Dispatch};
use crate::gpu::Gpu;
use crate::group::{Queue, QueueState};
use crate::job::{FaultKind, JobFault, Unit};
use crate::omit;
use crate::order::unit;
use crate::pixels::scene::Scenes;
use crate::relaxed::{self, Work};
use crate::render::draw::{self, StateRegisters};
use crate::render::fragment;
use crate::warp::addresses::StageAddresses;

const UNIT: Unit = Unit::CommandStream;

/// Instructions per turn: a queue that polls memory yields to the others.
const TURN: u64 = 4096;

/// Limit on the instructions of a turn in relaxed execution.
const RELAXED_TURN: usize = 64;

/// The front end's path to memory. Sync objects are events: their accesses are not compared with others.
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
        let before = self.0.set_unit(unit::FRONT);
        let old = self.0.update_u32(at, new);
        self.0.set_unit(before);
        old
    }

    fn update_u64(&mut self, at: u64, new: impl Fn(u64) -> u64) -> Result<u64, Fault> {
        let before = self.0.set_unit(unit::FRONT);
        let old = self.0.update_u64(at, new);
        self.0.set_unit(before);
        old
    }
}

fn fault(error: Error<Fault>) -> JobFault {
    match error {
        Error::Memory(fault) => JobFault::memory(UNIT, fault),
        Error::Opcode(_) => JobFault::new(UNIT, error.to_string()).of(FaultKind::Undecodable),
        other => JobFault::new(UNIT, other.to_string()),
    }
}

/// Executes the queue with a number for a turn; `heap` is the maximum bytes of its tiler heap.
pub(crate) fn run(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    frames: &mut Vec<u64>,
    queue: &mut Queue,
    (number, heap): (usize, Option<u64>),
    choices: Option<&mut Choices>,
) -> Result<(), JobFault> {
    let memory = Bus(UnitMemory::new(vm));
    let mut front = FrontEnd { gpu, vm, memory, scenes, frames, number, queue, choices };
    let turn = match &mut front.choices {
        Some(choices) => 1 + choices.below(RELAXED_TURN) as u64,
        None => TURN,
    };
    for _ in 0..turn {
        if !front.queue.front.unwind() {
            front.perform(u32::MAX)?;
            front.queue.state = QueueState::Idle;
            return Ok(());
        }
        let at = front.queue.front.current.next;
        let draws = front.queue.stats.draws;
        if let Some(address) = front.step().map_err(|fault| fault.at_packet(at))? {
            // Others that wait for memory look at it once all queues wait.
            front.perform(u32::MAX)?;
            front.queue.state = QueueState::Waiting { address };
            return Ok(());
        }
        front.perform_some()?;
        // Where in a draw the heap is full is not known; the whole draw is taken.
        if front.queue.stats.draws != draws && heap.is_some_and(|h| front.scenes.bytes() > h) {
            front.queue.is_out_of_heap = true;
            return Ok(());
        }
    }
    Ok(())
}

/// Executes the handler of an exhausted heap on a queue, which then continues where it was.
pub(crate) fn handle(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    frames: &mut Vec<u64>,
    number: usize,
    queue: &mut Queue,
) -> Result<(), JobFault> {
    let memory = Bus(UnitMemory::new(vm));
    let mut front = FrontEnd { gpu, vm, memory, scenes, frames, number, queue, choices: None };
    let state = front.queue.state;
    let (depth, handler) = (front.queue.front.callers.len(), front.queue.front.exception_handler);
    let current = std::mem::replace(&mut front.queue.front.current, handler);
    let pushed = front.queue.front.callers.try_push(current);
    pushed.map_err(|_| fault(Error::Nested))?;
    while front.queue.front.unwind() && front.queue.front.callers.len() > depth {
        let at = front.queue.front.current.next;
        if front.step().map_err(|fault| fault.at_packet(at))?.is_some() {
            let what = "the handler of an exhausted heap waits for a sync object";
            return Err(JobFault::new(UNIT, what.to_owned()).at_packet(at));
        }
    }
    front.queue.state = state;
    Ok(())
}

/// Whether a queue could continue: it has a stream, and does not wait for a sync object.
pub(crate) fn can_run(vm: &AddressSpace, queue: &Queue) -> bool {
    match queue.state {
        _ if queue.is_out_of_heap => false,
        QueueState::Ready => true,
        QueueState::Waiting { .. } => {
            let memory = &mut Bus(UnitMemory::new(vm));
            memory.0.set_unit(unit::FRONT);
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
    /// The queue's number in its group.
    number: usize,
    queue: &'a mut Queue,
    choices: Option<&'a mut Choices>,
}

fn problem(problem: tepui_mali_packets::Problem) -> JobFault {
    JobFault::new(UNIT, problem.to_string())
}

fn register(registers: &[u32; REGISTERS], index: u32) -> Result<u32, JobFault> {
    let missing = || fault(Error::NoRegister(index));
    registers.get(index as usize).copied().ok_or_else(missing)
}

fn pair(registers: &[u32; REGISTERS], index: u32) -> Result<u64, JobFault> {
    let [low, high] = [index, index + 1].map(|index| register(registers, index));
    Ok(u64::from(low?) | u64::from(high?) << 32)
}

impl FrontEnd<'_> {
    /// Executes an instruction, or returns the address of the sync object that it waits for.
    fn step(&mut self) -> Result<Option<u64>, JobFault> {
        let front = &mut self.queue.front;
        let at = front.current.next;
        let before = self.memory.0.set_unit(unit::FRONT);
        let bytes = front.fetch(&mut self.memory).map_err(fault)?;
        self.memory.0.set_unit(before);
        let bytes = self.without_omitted(bytes);
        let opcode = cs::opcode(u64::from_le_bytes(bytes));
        let is_wait = matches!(opcode, Some(CsOpcode::SyncWait32 | CsOpcode::SyncWait64));
        if !is_wait {
            self.observe(at, opcode, &bytes)?;
        }
        if opcode.is_some_and(relaxed::is_held) {
            self.gpu.omission.work(self.number as u32);
        }
        let step = match opcode.filter(|&op| self.choices.is_some() && relaxed::is_held(op)) {
            Some(opcode) => {
                let registers = self.queue.front.registers;
                self.queue.held.begin(Work { at, opcode, bytes, registers });
                self.queue.front.skip();
                Step::Done(opcode)
            }
            None => self.queue.front.execute(&mut self.memory, &bytes).map_err(fault)?,
        };
        if let Step::Wait(address) = step {
            return Ok(Some(address));
        }
        if is_wait {
            self.observe(at, opcode, &bytes)?;
        }
        self.queue.state = QueueState::Ready;
        self.queue.stats.commands += 1;
        if self.queue.stats.commands > self.gpu.options.max_commands {
            return Err(JobFault::endless(UNIT));
        }
        if let Step::Work(opcode) = step {
            let registers = self.queue.front.registers;
            self.execute(opcode, &bytes, &registers)?;
        }
        Ok(None)
    }

    /// The instruction without an event that a run leaves out. A SYNC_WAIT that is looked at again is the same event.
    fn without_omitted(&self, bytes: [u8; 8]) -> [u8; 8] {
        let again = matches!(self.queue.state, QueueState::Waiting { .. });
        let omits = |kind| !again && self.gpu.omission.omits(self.number as u32, kind);
        omit::instruction(bytes, omits)
    }

    /// Tells the checker and relaxed execution of an instruction, before its effects.
    fn observe(
        &mut self,
        at: u64,
        opcode: Option<CsOpcode>,
        bytes: &[u8; 8],
    ) -> Result<(), JobFault> {
        let Some(opcode) = opcode else { return Ok(()) };
        if let Some(order) = &self.gpu.order {
            let front = &self.queue.front;
            let report = order.instruction(self.number, at, opcode, bytes, front, self.vm);
            if let (Some(report), Some(reports)) = (report, &self.gpu.reports) {
                reports.add(report);
            }
        }
        if self.choices.is_some() {
            // Fields that violate their declaration are a fault of the instruction.
            let mask = self.queue.held.instruction(opcode, bytes).unwrap_or(0);
            if mask != 0 {
                self.perform(mask)?;
            }
        }
        Ok(())
    }

    /// Performs the work that is held back with entries of a mask.
    fn perform(&mut self, mask: u32) -> Result<(), JobFault> {
        while let Some(choices) = &mut self.choices
            && let Some(work) = self.queue.held.next(mask, choices)
        {
            self.execute_held(&work)?;
        }
        Ok(())
    }

    /// Performs something that is held back, once in a while.
    fn perform_some(&mut self) -> Result<(), JobFault> {
        /// Instructions between two, on average.
        const INTERVAL: usize = 8;
        if let Some(choices) = &mut self.choices
            && choices.one_in(INTERVAL)
            && let Some(work) = self.queue.held.next(u32::MAX, choices)
        {
            self.execute_held(&work)?;
        }
        Ok(())
    }

    fn execute_held(&mut self, work: &Work) -> Result<(), JobFault> {
        let done = match work.opcode {
            CsOpcode::LoadMultiple | CsOpcode::StoreMultiple => self.transfer(work),
            _ => self.execute(work.opcode, &work.bytes, &work.registers),
        };
        done.map_err(|fault| fault.at_packet(work.at))
    }

    /// Performs a load or store of the front end that was held back: it has taken its operands when it was issued, and
    /// its results replace what was written to the registers since.
    fn transfer(&mut self, work: &Work) -> Result<(), JobFault> {
        let mut front = self.queue.front.clone();
        front.registers = work.registers;
        front.execute(&mut self.memory, &work.bytes).map_err(fault)?;
        let writes = tepui_mali_streams::registers(work.opcode, &work.bytes);
        let writes = writes.map_err(problem)?.writes;
        for index in (0..REGISTERS).filter(|index| writes >> index & 1 != 0) {
            self.queue.front.registers[index] = front.registers[index];
        }
        Ok(())
    }

    fn execute(
        &mut self,
        opcode: CsOpcode,
        bytes: &[u8; 8],
        registers: &[u32; REGISTERS],
    ) -> Result<(), JobFault> {
        let pair = |index: u32| pair(registers, index);
        macro_rules! unpack {
            ($name:ident) => {
                cs::$name::unpack(bytes).map_err(problem)?
            };
        }
        match opcode {
            CsOpcode::StoreState => {
                let i = unpack!(CsStoreState);
                let address = pair(i.address)?.wrapping_add_signed(i.offset.into());
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
                self.compute([i.srt_select, i.fau_select, i.spd_select, i.tsd_select], registers)?;
            }
            CsOpcode::RunComputeIndirect => {
                let i = unpack!(CsRunComputeIndirect);
                self.compute([i.srt_select, i.fau_select, i.spd_select, i.tsd_select], registers)?;
            }
            CsOpcode::RunIdvs => {
                let i = unpack!(CsRunIdvs);
                let registers = StateRegisters(registers);
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                draw::execute(gpu, vm, self.scenes, &registers, &i, stats)?;
            }
            CsOpcode::RunFragment => {
                let frame = pair(40)?;
                if self.frames.len() < MAX_FRAMES {
                    self.frames.push(frame);
                }
                let scissor: Scissor =
                    draw::packet("scissor", &[register(registers, 42)?, register(registers, 43)?])?;
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                fragment::execute(gpu, vm, self.scenes, frame, &scissor, stats)?;
            }
            CsOpcode::FinishFragment => {
                let i = unpack!(CsFinishFragment);
                let chunks = pair(i.first_heap_chunk)?;
                draw::finish(self.vm, self.scenes, chunks);
            }
            CsOpcode::RunFullscreen => {
                let i = unpack!(CsRunFullscreen);
                let registers = StateRegisters(registers);
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
    fn compute(&mut self, selects: [u32; 4], registers: &[u32; REGISTERS]) -> Result<(), JobFault> {
        let pair = |index: u32| pair(registers, index);
        let register = |index: u32| register(registers, index);
        // Four pairs of registers each for resource tables, uniforms, program and storage.
        let at = |kind: u32| 8 * kind + 2 * selects[kind as usize];
        let three = |first: u32| -> Result<[u32; 3], JobFault> {
            Ok([register(first)?, register(first + 1)?, register(first + 2)?])
        };
        let stage = StageAddresses {
            resources: pair(at(0))?,
            uniforms: pair(at(1))?,
            program: pair(at(2))?,
            storage: pair(at(3))?,
            attribute_offset: register(32)?,
            bifrost: None,
        };
        let size = dispatch::workgroup_size(register(33)?)?;
        let dispatch = Dispatch { stage, size, offset: three(34)?, groups: three(37)? };
        dispatch::execute(self.gpu, self.vm, &dispatch, &mut self.queue.stats)
    }
}
