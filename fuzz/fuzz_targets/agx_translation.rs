//! Interpreter against translation on an arbitrary program and memory map. The first byte selects a compute or a
//! fragment program.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_bare::differential::{Case, Source, compare};

fuzz_target!(|data: &[u8]| {
    let Some((stage, data)) = data.split_first() else { return };
    let draw = if stage & 1 == 0 { Case::compute } else { Case::fragment };
    if let Err(why) = compare(&draw(&mut Source::of(data))) {
        panic!("{why}");
    }
});
