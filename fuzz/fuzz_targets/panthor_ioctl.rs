//! Sequences of kernel requests on a virtual Mali device with a command-stream front end.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    tepui_mali_kernel::exercise::run(input);
});
