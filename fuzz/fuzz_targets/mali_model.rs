//! Command streams, chains of jobs, shaders and draws on the model of Mali: each ends or faults, without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_mali_model::{FaultKind, exercise};

fuzz_target!(|input: &[u8]| {
    for done in [exercise::chain(input), exercise::bifrost(input), exercise::midgard(input)].into_iter().flatten() {
        if let Err(fault) = done {
            assert_ne!(fault.kind, FaultKind::Panic, "{fault}");
        }
    }
    for done in [exercise::run(input), exercise::draws(input)].into_iter().flatten().flatten() {
        if let Err(fault) = done.outcome {
            assert_ne!(fault.kind, FaultKind::Panic, "{fault}");
        }
    }
});
