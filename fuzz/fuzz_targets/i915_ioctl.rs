//! Sequences of kernel requests on a virtual Intel device.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    tepui_intel_kernel::exercise::run(input);
});
