#![no_main]
//! Arbitrary bytes as SPIR-V: a module that the front end accepts is compiled for Skylake or Tiger Lake, or refused with
//! a reason; the compiler finds no error in its own output, and it never panics. The first byte chooses: a random valid
//! program from a seed, or the rest as SPIR-V; the channels of a thread, and the GPU.

use libfuzzer_sys::fuzz_target;
use tepui_intel_compiler::{Options, compile};
use tepui_intel_isa::Generation;
use tepui_ir_gen::{Config, program};

/// Limit on the instructions of a shader: the passes take long on larger ones.
const LARGEST: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let options = Options { width: [0, 8, 16, 32][usize::from(first >> 1 & 3)], ..Options::default() };
    let mut s = if first & 1 != 0 {
        let mut seed = [0; 8];
        for (a, b) in seed.iter_mut().zip(rest) {
            *a = *b;
        }
        program(u64::from_le_bytes(seed), &Config { images: first & 8 != 0, ..Config::all() })
    } else {
        match tepui_spirv::translate_bytes(rest, &tepui_spirv::Options::default()) {
            Ok(s) if s.inst_count() <= LARGEST => s,
            _ => return,
        }
    };
    let generation = if first & 16 != 0 { Generation::Gen12 } else { Generation::Gen9 };
    match compile(&mut s, generation, &options) {
        Err(e) if e.is_bug() => panic!("{e}"),
        _ => {}
    }
});
