//! Bytes as each of Intel's packets: decoding never panics, and valid packets are repacked to the same bytes.

#![no_main]

use tepui_intel_chips::Generation;
use tepui_intel_packets::{of_generation, revision};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    for generation in Generation::ALL {
        let revision = revision(generation);
        for info in of_generation(generation) {
            let Ok(decoded) = info.decode_as(input, revision) else { continue };
            let _ = decoded.to_string();
            if decoded.problems.is_empty() {
                let packed = info.repack_as(input, revision).expect("a valid packet packs");
                assert_eq!(packed, input[..info.size_bytes], "{}", info.name);
            }
        }
    }
});
