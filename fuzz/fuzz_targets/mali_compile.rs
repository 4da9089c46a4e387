#![no_main]
//! Arbitrary bytes as SPIR-V: a module that the front end accepts is compiled for Valhall, or refused with a reason; the compiler finds
//! no error in its own output, the code waits for what it reads, and nothing panics. The first byte chooses: a random valid program
//! from a seed, or the rest as SPIR-V; bounds checks, and few registers.

use libfuzzer_sys::fuzz_target;
use tepui_ir_gen::{Config, program};
use tepui_mali_analysis::{Code, check};
use tepui_mali_compiler::{Options, StageInfo, compile};

/// Limit on the instructions of a shader: the passes take long on larger ones.
const LARGEST: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let options = Options {
        robust: first & 2 != 0,
        registers: if first & 4 != 0 { 18 } else { 0 },
        pushed_words: if first & 16 != 0 { 32 } else { 0 },
        pushes_addresses: first & 32 != 0,
        ..Options::default()
    };
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
    match compile(&mut s, &options) {
        Err(e) if e.is_bug() => panic!("{e}"),
        Err(_) => {}
        // Of a vertex shader the first program.
        Ok(p) => {
            let end = match &p.stage {
                StageInfo::Vertex(v) => v.without_point_size.or(v.varying).map(|e| e.offset),
                _ => None,
            };
            let code = &p.code[..end.map_or(p.code.len(), |end| end as usize)];
            let code = Code::decode(code).expect("code that decodes");
            assert_eq!(check(&code, false), Ok(Vec::new()));
        }
    }
});
