//! Random machine code, USC words and control streams: whatever a client submits ends as a finished
//! job or as a fault that says why. It never panics, hangs or leaves the memory that is bound.
//!
//! The `agx_model` target of the fuzzers outside of the workspace does the same for longer.

use proptest::prelude::*;
use proptest::test_runner::Config;
use tepui_agx_bare::{Buffer, Dispatch, Machine, address_halves};
use tepui_agx_isa::random::Source;
use tepui_agx_model::{ComputeJob, ComputeRegisters, Gpu, Helper, Options};
use tepui_agx_packets::{cdm, usc};
use tepui_softgpu::{AddressSpace, Memory, Protection};

/// The buffers' content: anything but zero everywhere.
fn fill(buffer: &Buffer, seed: u64) {
    let mut source = Source::new(seed);
    let words: Vec<u32> = (0..buffer.size() / 4).map(|_| source.bits() as u32).collect();
    buffer.write_words(&words).expect("the buffer is bound");
}

fn options(check: bool) -> Options {
    Options {
        threads: 1,
        check,
        instruction_budget: 2000,
        job_budget: 20_000,
        ..Options::default()
    }
}

/// `PROPTEST_CASES` asks for more cases.
fn config() -> Config {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 300 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// A part of a program.
#[derive(Clone, Debug)]
enum Part {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// Valid instructions.
    Instructions(u64, usize),
    /// A valid instruction with one bit flipped.
    Flipped(u64, usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..24).prop_map(Part::Bytes),
        6 => (any::<u64>(), 1usize..12).prop_map(|(seed, n)| Part::Instructions(seed, n)),
        2 => (any::<u64>(), 0usize..96).prop_map(|(seed, bit)| Part::Flipped(seed, bit)),
    ]
}

fn assemble(parts: &[Part]) -> Vec<u8> {
    let mut code = Vec::new();
    for part in parts {
        match part {
            Part::Bytes(bytes) => code.extend(bytes),
            Part::Instructions(seed, n) => {
                let mut source = Source::new(*seed);
                for _ in 0..*n {
                    if let Ok(bytes) = source.inst().encode() {
                        code.extend(bytes.iter());
                    }
                }
            }
            Part::Flipped(seed, bit) => {
                if let Ok(bytes) = Source::new(*seed).inst().encode() {
                    let mut bytes = bytes.to_vec();
                    let bit = bit % (8 * bytes.len());
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    code.extend(bytes);
                }
            }
        }
    }
    code.extend([0x88, 0, 0, 0]);
    code
}

fn programs() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(part(), 1..6).prop_map(|parts| assemble(&parts))
}

/// Uniform registers of which some pairs are addresses at and near the ends of a buffer.
fn uniforms(buffer: &Buffer, seed: u64) -> Vec<u16> {
    let mut source = Source::new(seed);
    let (start, end) = (buffer.address(), buffer.address() + buffer.size() as u64);
    let mut halves = Vec::new();
    while halves.len() < 512 {
        let value = match source.bits() % 6 {
            0 => start,
            1 => end - source.bits() % 32,
            2 => start.wrapping_sub(source.bits() % 32),
            3 => 0,
            4 => u64::MAX - source.bits() % 64,
            _ => source.bits(),
        };
        halves.extend(address_halves(value));
    }
    halves
}

/// Fills r0 to r127 from u0_u1: without it, all programs start with zeros.
fn load_registers() -> Vec<u8> {
    let quad = |q: usize| {
        let r = [0, 1, 2, 3].map(|i| format!("r{}", 4 * q + i)).join("_");
        format!("device_load 0, i32, xyzw, {r}, u0_u1, {}, signed\n", 4 * q)
    };
    let source: String = (0..32).map(quad).collect();
    tepui_agx_isa::asm::assemble(&format!("{source}wait 0")).expect("valid assembly")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_program_ends(
        code in programs(),
        preshader in prop::option::weighted(0.3, programs()),
        seed in any::<u64>(),
        check in any::<bool>(),
        loaded in any::<bool>(),
        local in prop::sample::select(vec![[32, 1, 1], [1, 1, 1], [5, 3, 2], [64, 2, 1]]),
        groups in 1u32..3,
        local_bytes in prop::sample::select(vec![0u32, 256, 65536]),
    ) {
        let mut machine = Machine::new(options(check)).expect("a machine");
        let buffer = machine.buffer(1 << 14).expect("memory");
        fill(&buffer, seed);
        let uniforms = uniforms(&buffer, seed);
        let values: Vec<u8> = uniforms.iter().flat_map(|half| half.to_le_bytes()).collect();
        buffer.write(&values).expect("the buffer is larger");
        let mut uniforms = uniforms;
        uniforms[0..4].copy_from_slice(&address_halves(buffer.address()));
        let code = if loaded { [load_registers(), code].concat() } else { code };
        let mut source = Source::new(seed);
        let textures: Vec<[u8; 24]> =
            (0..4).map(|_| std::array::from_fn(|_| source.bits() as u8)).collect();
        let samplers: Vec<[u8; 8]> = (0..4).map(|_| source.bits().to_le_bytes()).collect();
        let dispatch = Dispatch {
            code: &code,
            preshader: preshader.as_deref(),
            uniforms: &uniforms,
            global: [local[0] * groups + 1, local[1], local[2]],
            local,
            local_bytes,
            textures: &textures,
            samplers: &samplers,
            heap: &[],
        };
        let job = machine.prepare(&dispatch).expect("the packets hold these values");
        // Both success and failure are valid.
        let _ = machine.submit(&job);
    }
}

const BASE: u64 = 0x11_0000_0000;
const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;
/// Bytes of the region: streams, words, programs and data share it, so that random addresses meet
/// something.
const REGION: u64 = 2 * PAGE;

/// A region of memory, as a client may fill it: pieces of streams, USC words and programs at
/// multiples of 64 bytes.
fn region(seed: u64) -> Vec<u8> {
    let mut source = Source::new(seed);
    let mut bytes = vec![0u8; REGION as usize];
    let mut at = 0;
    while at + 256 <= bytes.len() {
        let piece = piece(&mut source);
        let length = piece.len().min(256);
        bytes[at..at + length].copy_from_slice(&piece[..length]);
        at += 256;
    }
    bytes
}

fn near(source: &mut Source) -> u64 {
    BASE + source.bits() % (REGION / 64) * 64
}

fn piece(source: &mut Source) -> Vec<u8> {
    let mut out = Vec::new();
    match source.bits() % 4 {
        0 => out.extend((0..16).flat_map(|_| source.bits().to_le_bytes())),
        1 => {
            for _ in 0..source.bits() % 16 {
                if let Ok(code) = source.inst().encode() {
                    out.extend(code.iter());
                }
            }
            out.extend([0x88, 0]);
        }
        2 => words(source, &mut out),
        _ => {
            for _ in 0..source.bits() % 4 {
                stream(source, &mut out);
            }
            out.extend(cdm::StreamTerminate {}.pack().unwrap_or_default());
        }
    }
    // Now and then a bit is wrong.
    if !out.is_empty() && source.bits().is_multiple_of(4) {
        let bit = source.bits() as usize % (8 * out.len());
        out[bit / 8] ^= 1 << (bit % 8);
    }
    out
}

/// USC words.
fn words(source: &mut Source, out: &mut Vec<u8>) {
    for _ in 0..source.bits() % 4 {
        let (start, count) = (source.bits() as u32 % 256, source.bits() as u32 % 65);
        let buffer = near(source) + source.bits() % 16 * 4;
        let word = match source.bits() % 4 {
            0 => usc::Uniform { start_halfs: start, size_halfs: count, buffer }.pack(),
            1 => usc::UniformHigh { start_halfs: start, size_halfs: count, buffer }.pack(),
            2 => usc::Texture { start, count: count % 32, buffer }.pack(),
            _ => usc::Sampler { start: start % 64, count: count % 32, buffer }.pack(),
        };
        out.extend(word.unwrap_or_default());
    }
    let code = near(source) - BASE;
    out.extend(usc::Shader { code, ..usc::Shader::default() }.pack().unwrap_or_default());
    let end = if source.bits().is_multiple_of(3) {
        usc::Preshader { code: near(source) - BASE }.pack().map(|word| word.to_vec())
    } else {
        usc::NoPreshader {}.pack().map(|word| word.to_vec())
    };
    out.extend(end.unwrap_or_default());
}

/// A block of a control stream.
fn stream(source: &mut Source, out: &mut Vec<u8>) {
    if source.bits().is_multiple_of(4) {
        let with_return = source.bits().is_multiple_of(2);
        let link = cdm::StreamLink { target: near(source), with_return };
        out.extend(link.pack().unwrap_or_default());
        return;
    }
    let mode = match source.bits() % 4 {
        0 => cdm::Mode::IndirectGlobal,
        1 => cdm::Mode::IndirectLocal,
        _ => cdm::Mode::Direct,
    };
    let word = cdm::LaunchWord0 { uniform_register_count: 64, mode, ..Default::default() };
    out.extend(word.pack().unwrap_or_default());
    let pipeline = near(source) - BASE;
    out.extend(cdm::LaunchWord1 { pipeline }.pack().unwrap_or_default());
    let mut size = || match source.bits() % 8 {
        0 => source.bits() as u32,
        1 => 0,
        _ => source.bits() as u32 % 5,
    };
    let [x, y, z] = std::array::from_fn(|_| size());
    let [lx, ly, lz] = std::array::from_fn(|_| size());
    if mode == cdm::Mode::Direct {
        out.extend(cdm::GlobalSize { x, y, z }.pack().unwrap_or_default());
    } else {
        out.extend(cdm::Indirect { address: near(source) }.pack().unwrap_or_default());
    }
    if mode != cdm::Mode::IndirectLocal {
        out.extend(cdm::LocalSize { x: lx, y: ly, z: lz }.pack().unwrap_or_default());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_stream_ends(
        seed in any::<u64>(),
        start in 0..REGION / 256,
        check in any::<bool>(),
        wide_launch in prop::bool::weighted(0.1),
        helper in prop::option::weighted(0.5, 0..REGION / 256),
    ) {
        let vm = AddressSpace::new(PAGE.trailing_zeros(), 39);
        let memory = std::sync::Arc::new(Memory::new(REGION as usize).expect("memory"));
        let access = Protection::READ | Protection::WRITE;
        vm.bind(BASE, memory, 0, REGION, access).expect("the range is free");
        vm.write(BASE, &region(seed)).expect("the range is bound");
        let gpu = Gpu::new(Options { wide_launch, ..options(check) });
        let job = ComputeJob {
            usc_exec_base: BASE,
            registers: ComputeRegisters {
                ctrl_stream_base: BASE + 256 * start,
                ctrl_stream_end: BASE + REGION,
                helper: Helper {
                    binary: helper.map_or(0, |page| (256 * page) as u32 | 1),
                    ..Helper::default()
                },
                ..ComputeRegisters::default()
            },
        };
        let _ = gpu.compute(&vm, &job);
    }
}

/// A packed format writes four registers whatever its mask says: they must exist.
#[test]
fn packed_loads_have_their_registers() {
    let mut machine = Machine::new(options(false)).expect("a machine");
    for source in [
        "device_load 0, rgb10a2, x, r9, u0_u1, 0, signed\nwait 0\nstop",
        "device_load 0, rgb10a2, x, r127, u0_u1, 0, signed\nwait 0\nstop",
        "device_load 0, rgb9e5, x, r127h, u0_u1, 0, signed\nwait 0\nstop",
    ] {
        let code = tepui_agx_isa::asm::assemble(source).expect("valid assembly");
        let dispatch =
            Dispatch { code: &code, global: [32, 1, 1], local: [32, 1, 1], ..Dispatch::default() };
        machine.dispatch(&dispatch).expect("the model has more registers than the hardware");
    }
}
