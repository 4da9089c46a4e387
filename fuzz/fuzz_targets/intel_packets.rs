//! Bytes as each of Intel's packets: decoding never panics, and what is valid packs to the same bytes.

#![no_main]

use tepui_intel_packets::ALL;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    for info in ALL.iter().flat_map(|list| list.iter()) {
        let Ok(decoded) = (info.decode)(input) else { continue };
        let _ = decoded.to_string();
        if decoded.problems.is_empty() {
            let packed = (info.repack)(input).expect("a valid packet packs");
            assert_eq!(packed, input[..info.size_bytes], "{}", info.name);
        }
    }
});
