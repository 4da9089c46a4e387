//! Sequences of kernel requests on a virtual Mali device with a job manager.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    tepui_mali_kernel::panfrost::exercise::run(input);
});
