//! Every packet of AGX out of arbitrary bytes: read, packed again, printed.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    for info in tepui_agx_packets::ALL.iter().flat_map(|list| list.iter()) {
        let Ok(decoded) = (info.decode)(input) else { continue };
        let _ = decoded.to_string();
        let packed = (info.repack)(input).expect("what was read can be packed");
        assert!(info.validate(&packed).is_empty(), "{}", info.name);
        assert_eq!((info.repack)(&packed).expect("packed once already"), packed, "{}", info.name);
    }
});
