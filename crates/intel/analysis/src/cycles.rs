//! Cycles of a program: a thread alone on an execution unit, its instructions issued in order.
//!
//! An instruction waits until the registers, flags and accumulators that it reads and writes are there, and on Gen12 for the
//! tokens that it names; then until its unit is free. Each block is walked once; instructions of a loop count ten times
//! for each loop around them, and on Gen12 those after the first HALT count half, as channels may have left. source:
//! Mesa 25.0, `brw_ir_performance.cpp` (`issue_inst`, `calculate_performance`).

use serde::Serialize;
use tepui_intel_isa::{Form, Generation, Opcode, Token};

use crate::access::Access;
use crate::code::Code;
use crate::sequence::{self, Group};
use crate::timing::{self, Class, Timing, Unit};

/// The weight of a loop's instructions.
const LOOP_WEIGHT: f32 = 10.0;

/// The weight of instructions after a HALT in programs of up to 16 channels on Gen12.
const DISCARD_WEIGHT: f32 = 0.5;

/// A thing that an instruction can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// A general register.
    Register(u8),
    /// The address register.
    Address,
    /// An accumulator.
    Accumulator(u8),
    /// Eight bits of a flag register.
    Flag(u8),
    /// The results of the messages with a token (Gen12).
    TokenWritten(u8),
    /// The payloads of the messages with a token (Gen12).
    TokenRead(u8),
    /// A unit that is busy.
    Unit(Unit),
}

const ADDRESS: usize = 128;
const ACCUMULATOR: usize = ADDRESS + 1;
const FLAG: usize = ACCUMULATOR + 16;
const WRITTEN: usize = FLAG + 8;
const READ: usize = WRITTEN + 16;
const RESOURCES: usize = READ + 16;

impl Resource {
    fn of_index(index: usize) -> Resource {
        let n = index as u8;
        match index {
            0..ADDRESS => Resource::Register(n),
            ADDRESS => Resource::Address,
            ACCUMULATOR..FLAG => Resource::Accumulator(n - ACCUMULATOR as u8),
            FLAG..WRITTEN => Resource::Flag(n - FLAG as u8),
            WRITTEN..READ => Resource::TokenWritten(n - WRITTEN as u8),
            _ => Resource::TokenRead(n - READ as u8),
        }
    }
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Resource::Register(n) => write!(f, "g{n}"),
            Resource::Address => f.write_str("a0"),
            Resource::Accumulator(n) => write!(f, "acc{n}"),
            Resource::Flag(n) => write!(f, "f{}.{}", n / 4, n / 2 % 2),
            Resource::TokenWritten(n) => write!(f, "${n}.dst"),
            Resource::TokenRead(n) => write!(f, "${n}.src"),
            Resource::Unit(unit) => f.write_str(unit.name()),
        }
    }
}

/// A wait of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// Cycles without the weight.
    pub cycles: u32,
    /// The last thing that it waited for.
    pub resource: Resource,
    /// Index of the instruction that is to provide it.
    pub producer: Option<usize>,
}

/// The estimate of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Instruction {
    /// Offset in bytes.
    pub offset: usize,
    /// Cycles until the next instruction can be issued, without the weight; 0 within a sequence whose first instruction
    /// has them all.
    pub cycles: u32,
    /// Weight of the instruction.
    pub weight: f32,
    /// Its wait, if it had one.
    pub stall: Option<Stall>,
}

/// The estimate of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Channels of the program.
    pub width: u8,
    /// Weighted cycles from the first instruction to the last.
    pub cycles: u32,
    /// Channels that finish in a cycle when the busiest unit is never idle.
    pub throughput: f32,
    /// Weighted cycles in which each unit is busy.
    pub busy: Vec<(Unit, f32)>,
    /// Number of instructions.
    pub instructions: usize,
    /// Number of messages.
    pub sends: usize,
    /// Number of loops.
    pub loops: usize,
    /// Weighted cycles that bank conflicts add.
    pub conflict_cycles: f32,
    /// The instructions.
    pub listing: Vec<Instruction>,
}

struct State {
    front_end: u32,
    unit_ready: [u32; Unit::ALL.len()],
    unit_user: [Option<usize>; Unit::ALL.len()],
    busy: [f32; Unit::ALL.len()],
    ready: [u32; RESOURCES],
    producer: [Option<usize>; RESOURCES],
}

impl State {
    fn new() -> State {
        State {
            front_end: 0,
            unit_ready: [0; Unit::ALL.len()],
            unit_user: [None; Unit::ALL.len()],
            busy: [0.0; Unit::ALL.len()],
            ready: [0; RESOURCES],
            producer: [None; RESOURCES],
        }
    }

    fn wait(&mut self, resource: usize, stall: &mut Option<Stall>) {
        let ready = self.ready[resource];
        if ready > self.front_end {
            let so_far = stall.map_or(0, |stall| stall.cycles);
            *stall = Some(Stall {
                cycles: so_far + ready - self.front_end,
                resource: Resource::of_index(resource),
                producer: self.producer[resource],
            });
            self.front_end = ready;
        }
    }

    fn provide(&mut self, resource: usize, latency: u32, producer: usize) {
        self.ready[resource] = self.front_end + latency;
        self.producer[resource] = Some(producer);
    }
}

/// The channels of a program: the most that a masked instruction has, 8 at least.
pub fn width(code: &Code) -> u8 {
    let masked = code.insts().iter().filter(|inst| !inst.no_mask && inst.form() != Form::None);
    masked.map(|inst| (inst.channel_offset + inst.exec_size).min(32)).max().unwrap_or(8).max(8)
}

/// Estimates a program for a number of channels; [`width`] finds it in the code.
pub fn estimate(code: &Code, width: u8) -> Estimate {
    let insts = code.insts();
    let mut state = State::new();
    let mut listing = Vec::with_capacity(insts.len());
    let mut starts = vec![0u8; insts.len() + 1];
    for (first, _) in code.loops() {
        starts[first] = starts[first].saturating_add(1);
    }
    let gen12 = insts.first().is_some_and(|inst| inst.generation >= Generation::Gen12);
    let discard_weight = if width > 16 || !gen12 { 1.0 } else { DISCARD_WEIGHT };
    let (mut weight, mut halts, mut elapsed) = (1f32, 0, 0u32);
    let mut conflict_cycles = 0f32;
    let mut n = 0;
    while n < insts.len() {
        for _ in 0..starts[n] {
            weight *= LOOP_WEIGHT;
        }
        let group = sequence::group(code, n, width);
        let timing = timing::timing(group.class, insts[n].generation, group.sizes);
        let before = state.front_end;
        let stall = issue(&mut state, code, n, &group, timing, weight);
        let label = group.class == Class::Label && insts[n].opcode == Opcode::Halt;
        if label && halts > 0 {
            weight /= discard_weight;
        }
        let cycles = state.front_end - before;
        // As brw adds, in 32-bit floats.
        elapsed = (elapsed as f32 + cycles as f32 * weight) as u32;
        conflict_cycles += group.sizes.conflict as f32 * weight;
        for (k, member) in (n..n + group.len).enumerate() {
            let (cycles, stall) = if k == 0 { (cycles, stall) } else { (0, None) };
            listing.push(Instruction { offset: code.offset(member), cycles, weight, stall });
        }
        match insts[n].opcode {
            Opcode::While if code.targets(n)[0].is_some_and(|first| first <= n) => {
                weight /= LOOP_WEIGHT;
            }
            Opcode::Halt if !label => {
                if halts == 0 {
                    weight *= discard_weight;
                }
                halts += 1;
            }
            _ => {}
        }
        n += group.len;
    }
    let busiest = state.busy.iter().fold(elapsed as f32, |most, &busy| most.max(busy));
    let busy = Unit::ALL.iter().zip(state.busy).filter(|(_, busy)| *busy > 0.0);
    Estimate {
        width,
        cycles: elapsed,
        throughput: f32::from(width) / busiest,
        busy: busy.map(|(unit, busy)| (*unit, busy)).collect(),
        instructions: insts.len(),
        sends: insts.iter().filter(|inst| inst.opcode.is_send()).count(),
        loops: code.loops().count(),
        conflict_cycles,
        listing,
    }
}

/// Issues a group of instructions: waits, then occupies its unit and promises its results.
fn issue(
    state: &mut State,
    code: &Code,
    n: usize,
    group: &Group,
    timing: Timing,
    weight: f32,
) -> Option<Stall> {
    let mut stall = None;
    let members = &code.insts()[n..n + group.len];
    let access = |k| {
        let mut access = code.access(k);
        // brw does not model the wait of a message for its descriptor.
        if group.owns_address || code.insts()[k].opcode.is_send() {
            access.reads_address = false;
            access.writes_address = false;
        }
        access
    };
    let accesses: Vec<Access> = (n..n + group.len).map(access).collect();
    for register in group.indirect.registers() {
        state.wait(register, &mut stall);
    }
    for (inst, access) in members.iter().zip(&accesses) {
        for resource in reads(access) {
            state.wait(resource, &mut stall);
        }
        for resource in writes(access) {
            state.wait(resource, &mut stall);
        }
        match inst.swsb.token {
            Some((id, Token::Set | Token::Dst)) => {
                state.wait(WRITTEN + usize::from(id & 15), &mut stall);
            }
            Some((id, Token::Src)) => state.wait(READ + usize::from(id & 15), &mut stall),
            None => {}
        }
    }
    state.front_end += timing.issue;
    if let Some(unit) = timing.unit {
        let unit_index = unit as usize;
        let ready = state.unit_ready[unit_index];
        if ready > state.front_end {
            // Only the part that the issue does not hide is a wait.
            let so_far = stall.map_or(0, |stall| stall.cycles);
            stall = Some(Stall {
                cycles: so_far + ready - state.front_end,
                resource: Resource::Unit(unit),
                producer: state.unit_user[unit_index],
            });
            state.front_end = ready;
        }
        state.unit_ready[unit_index] = state.front_end + timing.occupancy;
        state.unit_user[unit_index] = Some(n);
        state.busy[unit_index] += timing.occupancy as f32 * weight;
    }
    for (inst, access) in members.iter().zip(&accesses) {
        if inst.opcode.is_send() {
            for register in access.reads.iter().flat_map(|span| span.registers()) {
                state.provide(register, timing.sources_read, n);
            }
        }
        for resource in writes(access) {
            let latency = match resource {
                ACCUMULATOR..FLAG => timing.accumulator,
                FLAG..WRITTEN => timing.flag,
                _ => timing.result,
            };
            state.provide(resource, latency, n);
        }
        if let Some((id, Token::Set)) = inst.swsb.token {
            state.provide(READ + usize::from(id & 15), timing.sources_read, n);
            state.provide(WRITTEN + usize::from(id & 15), timing.result, n);
        }
    }
    stall
}

fn bits(mask: u16, base: usize) -> impl Iterator<Item = usize> {
    (0..16).filter(move |n| mask >> n & 1 != 0).map(move |n| base + n)
}

fn reads(access: &Access) -> impl Iterator<Item = usize> {
    let registers = access.reads.into_iter().flat_map(|span| span.registers());
    let address = access.reads_address.then_some(ADDRESS);
    registers
        .chain(address)
        .chain(bits(access.accumulator_reads.all(), ACCUMULATOR))
        .chain(bits(u16::from(access.flag_reads), FLAG))
}

fn writes(access: &Access) -> impl Iterator<Item = usize> {
    let address = access.writes_address.then_some(ADDRESS);
    let registers = access.writes.registers();
    registers
        .chain(address)
        .chain(bits(access.accumulator_writes.all(), ACCUMULATOR))
        .chain(bits(u16::from(access.flag_writes), FLAG))
}
