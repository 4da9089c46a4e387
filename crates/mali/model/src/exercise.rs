//! Streams and shaders made of bytes, for fuzzers and property tests.
//!
//! Memory holds two command streams whose instructions are mostly valid, a dispatch's states, and a shader of
//! random instructions; registers hold addresses in memory. For [`draws()`] it holds a frame of draws, whose
//! states are those of a plain triangle except for some fields.

use std::sync::Arc;

use tepui_mali_isa::{Flow, Inst, Op, Operand, random};
use tepui_mali_packets::cs::{self, CsMove, CsMove32, CsRunCompute};
use tepui_mali_packets::shader::{Buffer, LocalStorage, Resource, ShaderProgram, ShaderStage};
use tepui_mali_packets::{Base, Packet};
use tepui_softgpu::{Memory, Protection};

use crate::{Completion, Gpu, Options, Stream, address_space};

mod bifrost;
mod chain;
mod draws;
mod midgard;

pub use bifrost::run as bifrost;
pub use chain::run as chain;
pub use draws::draws;
pub use midgard::run as midgard;

/// Address of the mapped memory.
const BASE: u64 = 0x1_0000;
/// Bytes of mapped memory.
const BYTES: usize = 1 << 16;
/// Address of the states.
const STATES: u64 = BASE + 0x2000;
/// Address of the shader.
const CODE: u64 = BASE + 0x3000;
/// Address of the data.
const DATA: u64 = BASE + 0x4000;
/// Limit on the instructions of a stream.
const MAX_COMMANDS: usize = 64;
/// Limit on the instructions of a shader.
const MAX_INSTRUCTIONS: u64 = 64;

/// Random bits from bytes; a fixed sequence once they are used up.
struct Bits<'a> {
    input: &'a [u8],
    state: u64,
}

impl Bits<'_> {
    fn next(&mut self) -> u64 {
        let mut word = [0; 8];
        let count = self.input.len().min(8);
        let (head, rest) = self.input.split_at(count);
        word[..count].copy_from_slice(head);
        self.input = rest;
        // Splitmix64, so that few bytes yield many bits.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15 ^ u64::from_le_bytes(word));
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

fn pack<P: Packet>(packet: &P) -> Option<Vec<u8>> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).ok()?;
    Some(bytes)
}

/// An instruction of a shader, mostly with addresses of mapped memory.
fn instruction(bits: &mut Bits<'_>) -> u64 {
    let mut inst = random::inst(&mut || bits.next());
    if bits.next().is_multiple_of(16) {
        return bits.next();
    }
    if inst.flow == Flow::End {
        inst.flow = Flow::None;
    }
    let row = inst.op.row();
    let executed = ["LOAD", "STORE", "ATOM", "LD_BUFFER", "LEA_BUFFER", "BARRIER"];
    if row.form.unit.is_message()
        && !executed.iter().any(|name| row.name.starts_with(name))
        && !bits.next().is_multiple_of(32)
    {
        return Inst::new(Op::BARRIER).encode().unwrap_or(0);
    }
    if row.form.unit.is_message() {
        // r0 and u0 hold the address of the data.
        for (field, source) in row.form.sources.iter().zip(&mut inst.sources) {
            if row.source_width(field) == 64 {
                source.operand = Operand::Uniform(0);
            }
        }
    }
    if inst.op == Op::BRANCHZ
        && let Some(offset) = inst.immediates.first_mut()
    {
        *offset = *offset % 16 - 4;
    }
    inst.encode().unwrap_or(0)
}

/// An instruction of a stream: random fields of a declaration, with addresses of mapped memory.
fn command(bits: &mut Bits<'_>) -> Option<u64> {
    let info = match bits.next() % 4 {
        0 => CsRunCompute::INFO,
        _ => cs::ALL[bits.next() as usize % cs::ALL.len()],
    };
    let draws = ["TILING", "IDVS", "FRAGMENT", "FULLSCREEN", "PROGRESS", "PROT", "WAIT"];
    if draws.iter().any(|name| info.name.contains(name)) && !bits.next().is_multiple_of(16) {
        return Some(0);
    }
    let default = info.default_bytes().ok()?;
    let mut word = u64::from_le_bytes(default.try_into().ok()?);
    for field in info.fields {
        let piece = field.pieces[0];
        let random = match field.kind.base {
            Base::Enum(info) => info.values[bits.next() as usize % info.values.len()].value,
            // Register pairs with the address of the data, and some that the dispatch reads.
            _ if piece.width == 8 && piece.start >= 32 => match bits.next() % 8 {
                0 => bits.next() % 128,
                _ => 40 + 2 * (bits.next() % 4),
            },
            _ if field.name == "Offset" => bits.next() % 4,
            _ if bits.next().is_multiple_of(4) => bits.next(),
            _ => 0,
        };
        word &= !(((1 << piece.width) - 1) << piece.start);
        word |= (random & ((1 << piece.width) - 1)) << piece.start;
    }
    Some(if bits.next().is_multiple_of(64) { bits.next() } else { word })
}

/// Limits of an exercise. The last bits of the input select whether programs are translated immediately or
/// never, whether the checker runs, and whether execution is relaxed.
fn options(input: &[u8], max_commands: u64, max_instructions: u64) -> Options {
    let selected = |bit: u8| input.last().is_some_and(|byte| byte >> bit & 1 != 0);
    let runs_before_translation = if selected(0) { 0 } else { u32::MAX };
    Options {
        threads: 1,
        max_commands,
        max_instructions,
        runs_before_translation,
        check: selected(1),
        relaxed: selected(3).then_some(input.len() as u64),
        ..Options::default()
    }
}

/// Executes the streams that `input` describes; returns the completions of those that ended.
pub fn run(input: &[u8]) -> Option<Vec<Completion>> {
    let chip = tepui_mali_chips::chip("mali-g610")?;
    let options = options(input, 2000, 1 << 20);
    let gpu = Gpu::new(chip, options);
    let vm = address_space();
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let mut bits = Bits { input, state: 0 };

    let program = ShaderProgram {
        stage: ShaderStage::Compute,
        preload: bits.next() as u32 & 0xffff,
        binary: CODE,
        ..Default::default()
    };
    vm.write(STATES, &pack(&program)?).ok()?;
    let storage = LocalStorage {
        wls_instances: 1,
        wls_size_scale: 8,
        wls_base_pointer: DATA,
        ..Default::default()
    };
    vm.write(STATES + 0x40, &pack(&storage)?).ok()?;
    vm.write(STATES + 0x80, &DATA.to_le_bytes()).ok()?;
    let buffer = Buffer { size: 0x100, address: DATA, ..Default::default() };
    vm.write(STATES + 0x100, &pack(&buffer)?).ok()?;
    let table = Resource { address: STATES + 0x100, size: 32, ..Default::default() };
    vm.write(STATES + 0x140, &pack(&table)?).ok()?;
    let count = bits.next() % MAX_INSTRUCTIONS;
    for index in 0..count {
        let word = instruction(&mut bits);
        vm.write(CODE + 8 * index, &word.to_le_bytes()).ok()?;
    }
    let end = Inst { flow: Flow::End, ..Inst::new(Op::NOP) }.encode().ok()?;
    vm.write(CODE + 8 * count, &end.to_le_bytes()).ok()?;

    let mut group = gpu.group(2);
    for queue in 0..2u64 {
        let mut stream = Vec::new();
        let pointers = [(0, STATES + 0x141), (8, STATES + 0x80), (16, STATES), (24, STATES + 0x40)];
        for (destination, immediate) in pointers {
            stream.extend(pack(&CsMove { immediate, destination })?);
        }
        stream.extend(pack(&CsMove32 { immediate: 1 << 24, destination: 9 })?);
        stream.extend(pack(&CsMove32 { immediate: bits.next() as u32 & 0x1c07, destination: 33 })?);
        for destination in 37..40 {
            let immediate = bits.next() as u32 & 3;
            stream.extend(pack(&CsMove32 { immediate, destination })?);
        }
        for destination in [40, 42, 44, 46] {
            stream.extend(pack(&CsMove { immediate: DATA, destination })?);
        }
        for _ in 0..bits.next() as usize % MAX_COMMANDS {
            stream.extend(command(&mut bits)?.to_le_bytes());
        }
        let address = BASE + 0x1000 * queue;
        vm.write(address, &stream).ok()?;
        group.start(queue as usize, Stream { address, size: stream.len() as u64 }).ok()?;
    }
    let mut done = Vec::new();
    loop {
        match gpu.run(&vm, &mut group) {
            ended if ended.is_empty() => return Some(done),
            ended => done.extend(ended),
        }
    }
}
