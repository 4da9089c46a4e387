//! The AGX model: any program and any control stream ends as a finished job or as a fault. The first byte
//! selects the interpretation of the others: as a program with a buffer, or as memory that holds control
//! stream, USC words and programs. crates/agx/bare/tests/fuzz.rs does the same, briefly.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_model::{ComputeJob, ComputeRegisters, Gpu, Helper, Options};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const PAGE: u64 = 1 << 14;
const BASE: u64 = 0x11_0000_0000;

fuzz_target!(|data: &[u8]| {
    let Some((&flags, rest)) = data.split_first() else { return };
    let options = Options {
        threads: 1,
        check: flags & 2 != 0,
        translate_after: if flags & 0x80 != 0 { 0 } else { u32::MAX },
        instruction_budget: 2000,
        job_budget: 20_000,
        ..Options::default()
    };
    if flags & 1 == 0 { program(options, rest) } else { stream(options, flags, rest) }
});

fn program(options: Options, code: &[u8]) {
    let mut machine = Machine::new(options).expect("a machine");
    let buffer = machine.buffer(PAGE as usize).expect("memory");
    let (start, end) = (buffer.address(), buffer.address() + PAGE);
    let uniforms: Vec<u16> =
        (0..128).flat_map(|i| address_halves(if i % 2 == 0 { start } else { end - i })).collect();
    let dispatch = Dispatch {
        code,
        uniforms: &uniforms,
        global: [70, 1, 1],
        local: [32, 1, 1],
        local_bytes: 1024,
        ..Dispatch::default()
    };
    let job = machine.prepare(&dispatch).expect("the packets hold these values");
    let _ = machine.submit(&job);
}

fn stream(options: Options, flags: u8, bytes: &[u8]) {
    let size = 2 * PAGE;
    let vm = AddressSpace::new(PAGE.trailing_zeros(), 39);
    let memory = Arc::new(Memory::new(size as usize).expect("memory"));
    let access = Protection::READ | Protection::WRITE;
    vm.bind(BASE, memory, 0, size, access).expect("the range is free");
    let length = bytes.len().min(size as usize);
    vm.write(BASE, &bytes[..length]).expect("the range is bound");
    let job = ComputeJob {
        usc_exec_base: BASE,
        registers: ComputeRegisters {
            ctrl_stream_base: BASE,
            ctrl_stream_end: BASE + size,
            helper: Helper { binary: u32::from(flags >> 2) << 6 | 1, ..Helper::default() },
            ..ComputeRegisters::default()
        },
    };
    let _ = Gpu::new(options).compute(&vm, &job);
}
