//! Interpreter against translation on any program and memory map that the bytes choose.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_bare::differential::{Case, Source, compare};

fuzz_target!(|data: &[u8]| {
    if let Err(why) = compare(&Case::new(&mut Source::of(data))) {
        panic!("{why}");
    }
});
