//! Every AGX packet from arbitrary bytes: unpacked, packed again, printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_packets::{Problem, ProblemKind};

fuzz_target!(|input: &[u8]| {
    for info in tepui_agx_packets::ALL.iter().flat_map(|list| list.iter()) {
        let Ok(decoded) = info.decode(input) else { continue };
        let _ = decoded.to_string();
        let refused = |p: &Problem| matches!(p.kind, ProblemKind::OutOfRange { .. });
        let packed = match info.repack(input) {
            Ok(packed) => packed,
            // An invalid number is kept, and so cannot be packed.
            Err(problem) if refused(&problem) => continue,
            Err(problem) => panic!("{problem}"),
        };
        assert!(info.validate(&packed).is_empty(), "{}", info.name);
        assert_eq!(info.repack(&packed).expect("packed once already"), packed, "{}", info.name);
    }
});
