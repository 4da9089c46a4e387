//! Batches for Intel's command streamer: for any memory contents, execution ends without a panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    tepui_intel_model::exercise::run(input);
});
