#![no_main]
//! Arbitrary bytes: the front end returns a valid shader or an error, and never panics; neither do the
//! passes.

use libfuzzer_sys::fuzz_target;
use tepui_spirv::{Options, translate_bytes};

fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> =
        data.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let _ = (tepui_spirv::entry_points(&words), tepui_spirv::sources(&words));
    if let Ok(mut s) = translate_bytes(data, &Options::default()) {
        if let Err(e) = tepui_ir::validate(&s) {
            panic!("{e}");
        }
        tepui_passes::pipeline::optimise(&mut s);
        let target = tepui_passes::target::Target::default();
        let after = &mut |_: &'static str, _: &tepui_ir::Shader| {};
        let mut pipeline = tepui_passes::pipeline::Pipeline::new(target.lanes, after);
        let _ = tepui_passes::target::lower(&mut s, &target, &mut pipeline);
    }
});
