#![no_main]
//! Arbitrary bytes as SPIR-V: a module that the front end accepts is compiled for Skylake or Tiger Lake, or refused with
//! a reason; the compiler finds no error in its own output, and it never panics. The first byte chooses the channels of
//! a thread and the GPU; the rest is the module. Random valid programs are compiled by the compiler's differential test.

use libfuzzer_sys::fuzz_target;
use tepui_intel_compiler::{Options, compile};
use tepui_intel_isa::Generation;

/// Limit on the instructions of a shader: the passes take long on larger ones.
const LARGEST: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let mut s = match tepui_spirv::translate_bytes(rest, &tepui_spirv::Options::default()) {
        Ok(s) if s.inst_count() <= LARGEST => s,
        _ => return,
    };
    let width = [0, 8, 16, 32][usize::from(first & 3)];
    let options = Options { width, ..Options::default() };
    let generation = if first & 4 != 0 { Generation::Gen12 } else { Generation::Gen9 };
    match compile(&mut s, generation, &options) {
        Err(e) if e.is_bug() => panic!("{e}"),
        _ => {}
    }
});
