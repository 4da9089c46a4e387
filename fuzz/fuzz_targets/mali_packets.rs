//! Descriptors and command-stream instructions of Mali: bytes that decode without a problem are repacked to
//! the same bytes, and printing never panics or hangs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_mali_packets::ALL;

fuzz_target!(|bytes: &[u8]| {
    for info in ALL.iter().flat_map(|list| list.iter()) {
        if let Ok(decoded) = info.decode(bytes) {
            let _ = decoded.to_string();
        }
        let Ok(first) = info.repack(bytes) else { continue };
        let decoded = info.decode(&first).expect("as many bytes");
        assert!(decoded.problems.is_empty(), "{}: {:?}", info.name, decoded.problems);
        assert_eq!(info.repack(&first).as_ref(), Ok(&first), "{}", info.name);
    }
});
