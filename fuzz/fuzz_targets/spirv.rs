#![no_main]
//! Any bytes: the front end answers with a shader that validates or with an error, and never panics.

use libfuzzer_sys::fuzz_target;
use tepui_spirv::{Options, translate_bytes};

fuzz_target!(|data: &[u8]| {
    if let Ok(s) = translate_bytes(data, &Options::default()) {
        if let Err(e) = tepui_ir::validate(&s) {
            panic!("{e}");
        }
    }
});
