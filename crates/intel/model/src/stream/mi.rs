//! Commands of the memory interface: control of the stream, registers, memory, arithmetic.

use std::time::Duration;

use tepui_intel_packets::Packet;
use tepui_intel_packets::mi::{
    MiAtomic, MiBatchBufferStart, MiConditionalBatchBufferEnd, MiCopyMemMem, MiLoadRegisterImm,
    MiLoadRegisterMem, MiLoadRegisterReg, MiMathAluInstruction, MiPredicate, MiSemaphoreWait,
    MiSetPredicate, MiStoreRegisterMem, PredicateCombine, PredicateCompare, PredicateLoad,
    SemaphoreCompare,
};

use tepui_order::relaxed::Until;

use super::{Command, Continuation, Stream, UNIT};
use crate::job::{FaultKind, JobFault};
use crate::memory::address;
use crate::registers::{
    AUX_TABLE, CCS_AUX_INV, COMPUTE_CCS_AUX_INV, GENERAL, GT_MODE, NoRegister, PREDICATE_DATA,
    PREDICATE_RESULT, PREDICATE_SRC0, PREDICATE_SRC1, Registers, TIMESTAMP, TRTT_CR,
};

fn unbound(fault: tepui_softgpu::Fault) -> JobFault {
    JobFault::memory(UNIT, fault)
}

fn missing(error: NoRegister) -> JobFault {
    JobFault::new(UNIT, error.to_string())
}

/// Refuses commands that use the global address space, which contains no memory of clients.
fn own_space(global: bool) -> Result<(), JobFault> {
    match global {
        true => Err(JobFault::new(UNIT, "an address of the global address space")),
        false => Ok(()),
    }
}

/// The base of the render engine's registers, if an offset is relative to it (Gen12).
fn engine(from_start: u32) -> u32 {
    /// source: Mesa, genxml's registers of the render command streamer.
    const RENDER: u32 = 0x2000;
    from_start * RENDER
}

impl Stream<'_> {
    pub(super) fn mi(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        match command.info.name {
            "MI_NOOP" | "MI_ARB_CHECK" | "MI_ARB_ON_OFF" | "MI_USER_INTERRUPT" => {}
            "MI_BATCH_BUFFER_END" => return Ok(Continuation::End),
            "MI_BATCH_BUFFER_START" => return self.batch_buffer_start(command),
            "MI_CONDITIONAL_BATCH_BUFFER_END" => return self.conditional_end(command),
            "MI_STORE_DATA_IMM" => self.store_data(command)?,
            "MI_LOAD_REGISTER_IMM" => self.load_immediates(command)?,
            "MI_LOAD_REGISTER_MEM" => {
                let load: MiLoadRegisterMem = command.unpack()?;
                own_space(load.use_global_gtt)?;
                let value = self.memory.read_u32(load.memory_address).map_err(unbound)?;
                let offset = load.register_address as u32 + engine(load.add_cs_mmio_start_offset);
                self.set_register(offset, value)?;
            }
            "MI_LOAD_REGISTER_REG" => {
                let copy: MiLoadRegisterReg = command.unpack()?;
                let source = engine(copy.add_cs_mmio_start_offset_source);
                let destination = engine(copy.add_cs_mmio_start_offset_destination);
                let value = self.register(copy.source_register_address as u32 + source);
                let to = copy.destination_register_address as u32 + destination;
                self.set_register(to, value)?;
            }
            "MI_STORE_REGISTER_MEM" => {
                let store: MiStoreRegisterMem = command.unpack()?;
                own_space(store.use_global_gtt)?;
                if !store.predicate_enable || self.context.registers.predicate() {
                    let base = engine(store.add_cs_mmio_start_offset);
                    let value = self.register(store.register_address as u32 + base);
                    self.memory
                        .write(store.memory_address, &value.to_le_bytes())
                        .map_err(unbound)?;
                }
            }
            "MI_COPY_MEM_MEM" => {
                let copy: MiCopyMemMem = command.unpack()?;
                own_space(copy.use_global_gtt_source || copy.use_global_gtt_destination)?;
                let value = self.memory.read_u32(copy.source_memory_address).map_err(unbound)?;
                self.memory
                    .write(copy.destination_memory_address, &value.to_le_bytes())
                    .map_err(unbound)?;
            }
            "MI_MATH" => self.math(command)?,
            "MI_PREDICATE" => self.predicate(command)?,
            "MI_SET_PREDICATE" => {
                let set: MiSetPredicate = command.unpack()?;
                if set.predicate_enable != 0 {
                    return Err(JobFault::unimplemented(UNIT, "predication of all commands"));
                }
            }
            "MI_SEMAPHORE_WAIT" => self.semaphore_wait(command)?,
            "MI_ATOMIC" => self.atomic(command)?,
            name => return Err(JobFault::unimplemented(UNIT, name)),
        }
        Ok(Continuation::Continue)
    }

    /// The value of a register; the clock is read at this moment.
    pub(super) fn register(&self, offset: u32) -> u32 {
        match offset {
            TIMESTAMP => self.gpu.timestamp() as u32,
            o if o == TIMESTAMP + 4 => (self.gpu.timestamp() >> 32) as u32,
            _ => self.context.registers.get(offset),
        }
    }

    pub(super) fn set_register(&mut self, offset: u32, value: u32) -> Result<(), JobFault> {
        // Caches of the auxiliary table: there are none, so invalidation completes immediately.
        let is_done = matches!(offset, CCS_AUX_INV | COMPUTE_CCS_AUX_INV);
        let value = if is_done { 0 } else { value };
        if Registers::is_counter(offset) || offset == TRTT_CR {
            self.settle_shaders()?;
        }
        self.context.registers.set(offset, value).map_err(missing)?;
        if matches!(offset.wrapping_sub(AUX_TABLE), 0 | 4) {
            self.context.bases.auxiliary_table = address(self.context.registers.get64(AUX_TABLE));
        }
        if offset == GT_MODE && value >> 26 & 1 != 0 {
            self.context.bases.wide_tables = value >> 10 & 1 != 0;
        }
        if offset == TRTT_CR { self.map_tiled_resources() } else { Ok(()) }
    }

    fn batch_buffer_start(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let start: MiBatchBufferStart = command.unpack()?;
        // source: i915 clients run in the per-process address space.
        own_space(!start.address_space_indicator)?;
        if start.add_offset_enable {
            return Err(JobFault::unimplemented(UNIT, "MI_BATCH_BUFFER_START with an offset"));
        }
        if start.predication_enable && !self.context.registers.predicate() {
            return Ok(Continuation::Continue);
        }
        let returns = start.second_level_batch_buffer;
        Ok(Continuation::Jump { to: start.batch_buffer_start_address, returns })
    }

    fn conditional_end(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let end: MiConditionalBatchBufferEnd = command.unpack()?;
        own_space(end.use_global_gtt)?;
        let found = self.memory.read_u32(end.compare_address).map_err(unbound)?;
        // source: SKL PRM volume 2a: ends if the value in memory is not greater.
        Ok(if found > end.compare_data_dword { Continuation::Continue } else { Continuation::End })
    }

    fn store_data(&mut self, command: &Command) -> Result<(), JobFault> {
        let header = command.dword(0);
        own_space(header >> 22 & 1 != 0)?;
        let at = u64::from(command.dword(1) & !3) | u64::from(command.dword(2)) << 32;
        // The number of double words follows from the length of the command. The bit "Store Qword" is not
        // used: Mesa leaves it clear when it stores addresses of 64 bits (mi_builder.h, genX_cmd_buffer.c).
        let data = match command.bytes.len() {
            16.. => &command.bytes[12..],
            _ => return Err(JobFault::new(UNIT, "MI_STORE_DATA_IMM of an unknown length")),
        };
        self.memory.write(at, data).map_err(unbound)
    }

    fn load_immediates(&mut self, command: &Command) -> Result<(), JobFault> {
        let load: MiLoadRegisterImm = command.unpack()?;
        let base = engine(load.add_cs_mmio_start_offset);
        for pair in command.bytes[4..].chunks_exact(8) {
            let word = |at: usize| {
                u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]])
            };
            self.set_register((word(0) & 0x7f_fffc) + base, word(4))?;
        }
        Ok(())
    }

    fn math(&mut self, command: &Command) -> Result<(), JobFault> {
        let mut alu = Alu::default();
        for bytes in command.bytes[4..].chunks_exact(4) {
            let instruction = MiMathAluInstruction::unpack(bytes)
                .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
            alu.step(&instruction, &mut self.context.registers)
                .map_err(|what| JobFault::new(UNIT, what))?;
        }
        Ok(())
    }

    fn predicate(&mut self, command: &Command) -> Result<(), JobFault> {
        let set: MiPredicate = command.unpack()?;
        let registers = &mut self.context.registers;
        let (first, second) = (registers.get64(PREDICATE_SRC0), registers.get64(PREDICATE_SRC1));
        let delta = first.wrapping_sub(second);
        let compared = match set.compare_operation {
            PredicateCompare::True => true,
            PredicateCompare::False => false,
            PredicateCompare::SrcsEqual => first == second,
            PredicateCompare::DeltasEqual => delta == registers.get64(PREDICATE_DATA),
        };
        let value = match set.load_operation {
            PredicateLoad::Keep => return Ok(()),
            PredicateLoad::Load => compared,
            PredicateLoad::Loadinv => !compared,
        };
        let old = registers.predicate();
        let result = match set.combine_operation {
            PredicateCombine::Set => value,
            PredicateCombine::And => old & value,
            PredicateCombine::Or => old | value,
            PredicateCombine::Xor => old ^ value,
        };
        registers.set64(PREDICATE_DATA, delta).map_err(missing)?;
        registers.set(PREDICATE_RESULT, result.into()).map_err(missing)
    }

    fn semaphore_wait(&mut self, command: &Command) -> Result<(), JobFault> {
        let wait: MiSemaphoreWait = command.unpack()?;
        let end = (self.gpu.options.clock)().saturating_add(self.gpu.options.max_wait_ns);
        let mut looks = 0u32;
        if let Some(order) = self.gpu.order.as_ref().filter(|_| !wait.register_poll_mode) {
            order.poll(address(wait.semaphore_address));
        }
        if !wait.register_poll_mode {
            self.settle(Until::Written(address(wait.semaphore_address)))?;
        }
        loop {
            let found = match wait.register_poll_mode {
                true => self.register(wait.semaphore_address as u32),
                false => self.memory.read_u32(wait.semaphore_address).map_err(unbound)?,
            };
            let expected = wait.semaphore_data_dword;
            let holds = match wait.compare_operation {
                SemaphoreCompare::SadGreaterThanSdd => found > expected,
                SemaphoreCompare::SadGreaterThanOrEqualSdd => found >= expected,
                SemaphoreCompare::SadLessThanSdd => found < expected,
                SemaphoreCompare::SadLessThanOrEqualSdd => found <= expected,
                SemaphoreCompare::SadEqualSdd => found == expected,
                SemaphoreCompare::SadNotEqualSdd => found != expected,
            };
            if holds {
                return Ok(());
            }
            // Whatever sets it is performed at some time.
            self.settle(Until::Empty)?;
            looks = looks.saturating_add(1);
            // A clock that does not advance must not make the wait endless.
            if (self.gpu.options.clock)() >= end || looks > 1_000_000 {
                let what = "MI_SEMAPHORE_WAIT waits for what does not come";
                return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn atomic(&mut self, command: &Command) -> Result<(), JobFault> {
        let atomic: MiAtomic = command.unpack()?;
        own_space(atomic.memory_type)?;
        let (op, wide) = (atomic.atomic_opcode, atomic.data_size);
        if atomic.post_sync_operation || wide > 1 {
            return Err(JobFault::unimplemented(UNIT, "MI_ATOMIC of this form"));
        }
        let general = |index: u32| GENERAL + 8 * index;
        let operand = |which: usize| match atomic.inline_data {
            // Two interleaved rows of four: operand 1, operand 2.
            true => u64::from(command.dword(3 + which)) | u64::from(command.dword(5 + which)) << 32,
            false => self.context.registers.get64(general(which as u32)),
        };
        let (first, second) = (operand(0), operand(1));
        let at = atomic.memory_address;
        let old = match wide {
            0 => {
                let change = |old: u32| mi_atomic(op & 0x1f, old.into(), first, second, 32) as u32;
                u64::from(self.memory.update_u32(at, change).map_err(unbound)?)
            }
            _ => {
                let change = |old: u64| mi_atomic(op & 0x1f, old, first, second, 64);
                self.memory.update_u64(at, change).map_err(unbound)?
            }
        };
        if atomic.return_data_control {
            self.context.registers.set64(general(0), old).map_err(missing)?;
        }
        Ok(())
    }
}

/// The new value of an MI_ATOMIC operation; the operations repeat with 0x20 for 64 bits.
///
/// source: genxml, Atomic_OPCODE.
fn mi_atomic(op: u32, old: u64, first: u64, second: u64, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let signed = |v: u64| (v << (64 - bits)) as i64 >> (64 - bits);
    let (old, first, second) = (old & mask, first & mask, second & mask);
    let new = match op {
        0x01 => old & first,
        0x02 => old | first,
        0x03 => old ^ first,
        0x04 => first,
        0x05 => old.wrapping_add(1),
        0x06 => old.wrapping_sub(1),
        0x07 => old.wrapping_add(first),
        0x08 => old.wrapping_sub(first),
        0x09 => first.wrapping_sub(old),
        0x0a => signed(old).max(signed(first)) as u64,
        0x0b => signed(old).min(signed(first)) as u64,
        0x0c => old.max(first),
        0x0d => old.min(first),
        0x0e => {
            if old == first {
                second
            } else {
                old
            }
        }
        _ => old,
    };
    new & mask
}

/// The state of MI_MATH's ALU.
#[derive(Default)]
struct Alu {
    a: u64,
    b: u64,
    accumulator: u64,
    zero: bool,
    carry: bool,
}

impl Alu {
    /// Executes an instruction.
    ///
    /// source: genxml, MI_MATH_ALU_INSTRUCTION; flags are stored as all ones or 0 (Mesa,
    /// mi_builder.h).
    fn step(
        &mut self,
        instruction: &MiMathAluInstruction,
        registers: &mut crate::registers::Registers,
    ) -> Result<(), String> {
        const SOURCE_A: u32 = 0x20;
        const SOURCE_B: u32 = 0x21;
        let (to, from) = (instruction.operand_1, instruction.operand_2);
        let general = |index: u32| match index {
            0..16 => Ok(GENERAL + 8 * index),
            _ => Err(format!("MI_MATH has no register {index:#x}")),
        };
        let flag = |set: bool| if set { u64::MAX } else { 0 };
        let load = match instruction.alu_opcode {
            0x000 => return Ok(()),
            0x080 => Some(registers.get64(general(from)?)),
            0x480 => Some(!registers.get64(general(from)?)),
            0x081 => Some(0),
            0x481 => Some(u64::MAX),
            _ => None,
        };
        if let Some(value) = load {
            match to {
                SOURCE_A => self.a = value,
                SOURCE_B => self.b = value,
                _ => return Err(format!("MI_MATH loads to operand {to:#x}")),
            }
            return Ok(());
        }
        (self.accumulator, self.carry) = match instruction.alu_opcode {
            0x100 => self.a.overflowing_add(self.b),
            0x101 => self.a.overflowing_sub(self.b),
            0x102 => (self.a & self.b, false),
            0x103 => (self.a | self.b, false),
            0x104 => (self.a ^ self.b, false),
            op @ (0x180 | 0x580) => {
                let value = match from {
                    0x31 => self.accumulator,
                    0x32 => flag(self.zero),
                    0x33 => flag(self.carry),
                    _ => return Err(format!("MI_MATH stores operand {from:#x}")),
                };
                let value = if op == 0x580 { !value } else { value };
                return registers.set64(general(to)?, value).map_err(|e| e.to_string());
            }
            op => return Err(format!("MI_MATH has no opcode {op:#x}")),
        };
        self.zero = self.accumulator == 0;
        Ok(())
    }
}
