//! The command-stream front end: executes the instructions of a queue.
//!
//! What an instruction starts is done before the next one begins, so that scoreboard entries are
//! always idle. Queues of a group take turns, each until its stream ends, it waits for a sync object,
//! or its turn is over.
//!
// source: Mesa, cs_builder.h, decode_csf.c (`interpret_cs_instr`, registers that instructions read).

use arrayvec::ArrayVec;
use tepui_mali_packets::cs::{self, CsCondition, CsOpcode};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::{AddressSpace, UnitMemory};

use crate::dispatch::{self, Dispatch};
use crate::gpu::Gpu;
use crate::group::{Queue, QueueState};
use crate::job::{FaultKind, JobFault, Unit};
use crate::limits::CS_REGISTERS;
use crate::render::draw::{self, StateRegisters};
use crate::render::fragment;
use crate::render::scene::Scenes;

const UNIT: Unit = Unit::CommandStream;

/// Bytes of an instruction.
const BYTES: u64 = 8;

/// Instructions of a turn: a queue that polls memory gives way to the others.
const TURN: u64 = 4096;

/// Streams that call each other.
pub(crate) const CALL_DEPTH: usize = 8;

/// Addresses of the next instruction and one behind the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub next: u64,
    pub end: u64,
}

/// Streams that are executed: the innermost, and those that called it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub current: Range,
    pub callers: ArrayVec<Range, CALL_DEPTH>,
}

impl Streams {
    /// Goes back to the caller while the stream is at its end. Whether something is left.
    fn unwind(&mut self) -> bool {
        while self.current.next == self.current.end {
            match self.callers.pop() {
                Some(caller) => self.current = caller,
                None => return false,
            }
        }
        true
    }
}

/// Executes a queue for a turn.
pub(crate) fn run(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    queue: &mut Queue,
) -> Result<(), JobFault> {
    let mut front = FrontEnd { gpu, vm, memory: UnitMemory::new(vm), scenes, queue };
    for _ in 0..TURN {
        if !front.queue.streams.unwind() {
            front.queue.state = QueueState::Idle;
            return Ok(());
        }
        let at = front.queue.streams.current.next;
        match front.step(at).map_err(|fault| fault.at_packet(at))? {
            Step::Done => {}
            Step::Wait(address) => {
                front.queue.state = QueueState::Waiting { address };
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What became of an instruction.
enum Step {
    /// It was executed.
    Done,
    /// Its condition does not hold yet.
    Wait(u64),
}

struct FrontEnd<'a> {
    gpu: &'a Gpu,
    vm: &'a AddressSpace,
    memory: UnitMemory<'a>,
    scenes: &'a mut Scenes,
    queue: &'a mut Queue,
}

fn problem(problem: Problem) -> JobFault {
    JobFault::new(UNIT, problem.to_string())
}

impl FrontEnd<'_> {
    fn register(&self, index: u32) -> Result<u32, JobFault> {
        self.queue.registers.get(index as usize).copied().ok_or_else(|| no_register(index))
    }

    fn pair(&self, index: u32) -> Result<u64, JobFault> {
        Ok(u64::from(self.register(index)?) | u64::from(self.register(index + 1)?) << 32)
    }

    fn set(&mut self, index: u32, value: u32) -> Result<(), JobFault> {
        match self.queue.registers.get_mut(index as usize) {
            Some(register) => *register = value,
            None => return Err(no_register(index)),
        }
        Ok(())
    }

    fn set_pair(&mut self, index: u32, value: u64) -> Result<(), JobFault> {
        self.set(index, value as u32)?;
        self.set(index + 1, (value >> 32) as u32)
    }

    fn step(&mut self, at: u64) -> Result<Step, JobFault> {
        let bytes = self.memory.read_array::<8>(at).map_err(memory_fault)?;
        let word = u64::from_le_bytes(bytes);
        let opcode = cs::opcode(word).ok_or_else(|| {
            let what = format!("no instruction has opcode {}", word >> 56);
            JobFault::new(UNIT, what).of(FaultKind::Undecodable)
        })?;
        if let Some(address) = self.wait(opcode, &bytes)? {
            return Ok(Step::Wait(address));
        }
        self.queue.state = QueueState::Ready;
        self.queue.stats.commands += 1;
        if self.queue.stats.commands > self.gpu.options.most_commands {
            return Err(JobFault::endless(UNIT));
        }
        self.queue.streams.current.next = at.wrapping_add(BYTES);
        self.execute(opcode, &bytes)?;
        Ok(Step::Done)
    }

    /// The address of the sync object for which the instruction has to wait.
    fn wait(&mut self, opcode: CsOpcode, bytes: &[u8; 8]) -> Result<Option<u64>, JobFault> {
        let (address, found, wanted, condition) = match opcode {
            CsOpcode::SyncWait32 => {
                let i = cs::CsSyncWait32::unpack(bytes).map_err(problem)?;
                let address = self.pair(i.address)?;
                let found = self.memory.update_u32(address, |v| v).map_err(memory_fault)?;
                (address, found.into(), self.register(i.data)?.into(), i.condition)
            }
            CsOpcode::SyncWait64 => {
                let i = cs::CsSyncWait64::unpack(bytes).map_err(problem)?;
                let address = self.pair(i.address)?;
                let found = self.memory.update_u64(address, |v| v).map_err(memory_fault)?;
                (address, found, self.pair(i.data)?, i.condition)
            }
            _ => return Ok(None),
        };
        let holds = match condition {
            CsCondition::Lequal => found <= wanted,
            CsCondition::Greater => found > wanted,
            CsCondition::Equal => found == wanted,
            CsCondition::Nequal => found != wanted,
            CsCondition::Less => found < wanted,
            CsCondition::Gequal => found >= wanted,
            CsCondition::Always => true,
        };
        Ok((!holds).then_some(address))
    }

    fn execute(&mut self, opcode: CsOpcode, bytes: &[u8; 8]) -> Result<(), JobFault> {
        macro_rules! unpack {
            ($name:ident) => {
                cs::$name::unpack(bytes).map_err(problem)?
            };
        }
        match opcode {
            // What these order or announce has happened.
            CsOpcode::Nop
            | CsOpcode::Wait
            | CsOpcode::ReqResource
            | CsOpcode::FlushCache2
            | CsOpcode::ErrorBarrier
            | CsOpcode::TracePoint
            | CsOpcode::HeapOperation
            | CsOpcode::FinishTiling
            | CsOpcode::SetSbEntry
            | CsOpcode::SyncWait32
            | CsOpcode::SyncWait64 => {}
            CsOpcode::Move => {
                let i = unpack!(CsMove);
                self.set_pair(i.destination, i.immediate)?;
            }
            CsOpcode::Move32 => {
                let i = unpack!(CsMove32);
                self.set(i.destination, i.immediate)?;
            }
            CsOpcode::AddImmediate32 => {
                let i = unpack!(CsAddImmediate32);
                let value = self.register(i.source)?.wrapping_add_signed(i.immediate);
                self.set(i.destination, value)?;
            }
            CsOpcode::AddImmediate64 => {
                let i = unpack!(CsAddImmediate64);
                let value = self.pair(i.source)?.wrapping_add_signed(i.immediate.into());
                self.set_pair(i.destination, value)?;
            }
            CsOpcode::Umin32 => {
                let i = unpack!(CsUmin32);
                let value = self.register(i.source_1)?.min(self.register(i.source_2)?);
                self.set(i.destination, value)?;
            }
            // Words in memory stand side by side, whichever registers they are of.
            CsOpcode::LoadMultiple => {
                let i = unpack!(CsLoadMultiple);
                let base = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                for (word, n) in (0..).zip((0..16).filter(|n| i.mask >> n & 1 != 0)) {
                    let at = base.wrapping_add(4 * word);
                    let word = self.memory.read_array(at).map_err(memory_fault)?;
                    self.set(i.base_register + n, u32::from_le_bytes(word))?;
                }
            }
            CsOpcode::StoreMultiple => {
                let i = unpack!(CsStoreMultiple);
                let base = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                for (word, n) in (0..).zip((0..16).filter(|n| i.mask >> n & 1 != 0)) {
                    let at = base.wrapping_add(4 * word);
                    let word = self.register(i.base_register + n)?.to_le_bytes();
                    self.memory.write(at, &word).map_err(memory_fault)?;
                }
            }
            CsOpcode::Branch => {
                let i = unpack!(CsBranch);
                if holds(i.condition, self.register(i.value)? as i32) {
                    let next = &mut self.queue.streams.current.next;
                    *next = next.wrapping_add_signed(i64::from(i.offset) * BYTES as i64);
                }
            }
            CsOpcode::Call => {
                let i = unpack!(CsCall);
                let range = self.stream(i.address, i.length)?;
                let streams = &mut self.queue.streams;
                streams.callers.try_push(streams.current).map_err(|_| {
                    JobFault::new(UNIT, format!("more than {CALL_DEPTH} streams are nested"))
                })?;
                streams.current = range;
            }
            CsOpcode::Jump => {
                let i = unpack!(CsJump);
                self.queue.streams.current = self.stream(i.address, i.length)?;
            }
            CsOpcode::SyncAdd32 => {
                let i = unpack!(CsSyncAdd32);
                let (address, data) = (self.pair(i.address)?, self.register(i.data)?);
                let add = |v: u32| v.wrapping_add(data);
                self.memory.update_u32(address, add).map_err(memory_fault)?;
            }
            CsOpcode::SyncSet32 => {
                let i = unpack!(CsSyncSet32);
                let (address, data) = (self.pair(i.address)?, self.register(i.data)?);
                self.memory.update_u32(address, |_| data).map_err(memory_fault)?;
            }
            CsOpcode::SyncAdd64 => {
                let i = unpack!(CsSyncAdd64);
                let (address, data) = (self.pair(i.address)?, self.pair(i.data)?);
                let add = |v: u64| v.wrapping_add(data);
                self.memory.update_u64(address, add).map_err(memory_fault)?;
            }
            CsOpcode::SyncSet64 => {
                let i = unpack!(CsSyncSet64);
                let (address, data) = (self.pair(i.address)?, self.pair(i.data)?);
                self.memory.update_u64(address, |_| data).map_err(memory_fault)?;
            }
            CsOpcode::StoreState => {
                let i = unpack!(CsStoreState);
                let address = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                let value = match i.state {
                    cs::CsState::Timestamp | cs::CsState::CycleCount => self.gpu.timestamp(),
                    // The clock never stops, and a queue with an error does not go on.
                    cs::CsState::DisjointCount | cs::CsState::ErrorStatus => 0,
                };
                self.memory.write(address, &value.to_le_bytes()).map_err(memory_fault)?;
            }
            CsOpcode::HeapSet => {
                let i = unpack!(CsHeapSet);
                self.queue.heap = self.pair(i.address)?;
            }
            CsOpcode::SetExceptionHandler => {
                let i = unpack!(CsSetExceptionHandler);
                self.queue.exception_handler = self.stream(i.address, i.length)?;
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
                let registers = StateRegisters(&self.queue.registers);
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                draw::execute(gpu, vm, self.scenes, &registers, &i, stats)?;
            }
            CsOpcode::RunFragment => {
                let registers = StateRegisters(&self.queue.registers);
                let (gpu, vm, stats) = (self.gpu, self.vm, &mut self.queue.stats);
                fragment::execute(gpu, vm, self.scenes, &registers, stats)?;
            }
            CsOpcode::FinishFragment => {
                let i = unpack!(CsFinishFragment);
                let chunks = self.pair(i.first_heap_chunk)?;
                draw::finish(self.scenes, chunks);
            }
            CsOpcode::RunFullscreen => {
                let i = unpack!(CsRunFullscreen);
                let registers = StateRegisters(&self.queue.registers);
                let stats = &mut self.queue.stats;
                draw::fullscreen(self.vm, self.scenes, &registers, &i, stats)?;
            }
            CsOpcode::RunTiling
            | CsOpcode::ProgressWait
            | CsOpcode::ProgressStore
            | CsOpcode::ProgressLoad
            | CsOpcode::ProtRegion => {
                return Err(JobFault::unimplemented(UNIT, opcode));
            }
        }
        Ok(())
    }

    /// The stream whose address and size in bytes are in registers.
    fn stream(&self, address: u32, length: u32) -> Result<Range, JobFault> {
        let (address, length) = (self.pair(address)?, self.register(length)?);
        if !(address | u64::from(length)).is_multiple_of(BYTES) {
            let what = format!("a stream of {length} bytes at {address:#x} is not aligned");
            return Err(JobFault::new(UNIT, what));
        }
        Ok(Range { next: address, end: address.wrapping_add(length.into()) })
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
            size: self.register(33)?,
            offset: three(34)?,
            groups: three(37)?,
        };
        dispatch::execute(self.gpu, self.vm, &dispatch, &mut self.queue.stats)
    }
}

/// Whether a value compares with zero as a condition says.
fn holds(condition: CsCondition, value: i32) -> bool {
    match condition {
        CsCondition::Lequal => value <= 0,
        CsCondition::Greater => value > 0,
        CsCondition::Equal => value == 0,
        CsCondition::Nequal => value != 0,
        CsCondition::Less => value < 0,
        CsCondition::Gequal => value >= 0,
        CsCondition::Always => true,
    }
}

fn no_register(index: u32) -> JobFault {
    JobFault::new(UNIT, format!("there are {CS_REGISTERS} registers, none is r{index}"))
}

fn memory_fault(fault: tepui_softgpu::Fault) -> JobFault {
    JobFault::memory(UNIT, fault)
}
