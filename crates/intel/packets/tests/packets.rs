//! Properties of all declarations.

use proptest::prelude::*;
use tepui_intel_packets::ALL;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What decodes without a problem packs to the bytes that it was decoded from.
    #[test]
    fn valid_packets_come_back(bytes in prop::collection::vec(any::<u8>(), 76)) {
        for info in ALL.iter().flat_map(|list| list.iter()) {
            let Ok(first) = (info.repack)(&bytes) else { continue };
            let decoded = (info.decode)(&first).unwrap();
            prop_assert!(decoded.problems.is_empty(), "{}: {:?}", info.name, decoded.problems);
            prop_assert_eq!(&first, &(info.repack)(&first).unwrap());
        }
    }
}

#[test]
fn names_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for info in ALL.iter().flat_map(|list| list.iter()) {
        assert!(seen.insert(info.name), "{} twice", info.name);
        assert!(tepui_intel_packets::find(info.name).is_some());
    }
    assert!(seen.len() > 100, "{}", seen.len());
}
