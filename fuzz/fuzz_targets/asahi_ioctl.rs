//! Sequences of kernel requests on a virtual AGX device.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    tepui_agx_kernel::exercise::run(input);
});
