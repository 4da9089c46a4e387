//! Properties of all declarations.

use proptest::prelude::*;
use tepui_mali_packets::cs::{self, CsOpcode};
use tepui_mali_packets::{ALL, Packet};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes that decode without a problem are repacked to the same bytes.
    #[test]
    fn valid_packets_come_back(bytes in prop::collection::vec(any::<u8>(), 128)) {
        for info in ALL.iter().flat_map(|list| list.iter()) {
            let Ok(first) = info.repack(&bytes) else { continue };
            let decoded = info.decode(&first).unwrap();
            prop_assert!(decoded.problems.is_empty(), "{}: {:?}", info.name, decoded.problems);
            prop_assert_eq!(&first, &info.repack(&first).unwrap());
        }
    }
}

#[test]
fn names_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for info in ALL.iter().flat_map(|list| list.iter()) {
        assert!(seen.insert(info.name), "{} twice", info.name);
        assert!(tepui_mali_packets::find(info.name).is_some());
        info.default_bytes().unwrap_or_else(|problem| panic!("{problem:?}"));
    }
    assert_eq!(seen.len(), 39 + 7 + 3 + 12 + 7 + 5 + 5 + 14 + 7 + 2);
}

#[test]
fn every_opcode_has_its_instruction() {
    for value in CsOpcode::INFO.values {
        let opcode = CsOpcode::from_raw(value.value).unwrap();
        let info = cs::instruction(opcode).unwrap_or_else(|| panic!("{}", value.name));
        assert_eq!(info.name, format!("CS {}", value.name));
        let bytes = info.default_bytes().unwrap();
        let word = u64::from_le_bytes(bytes.try_into().unwrap());
        assert_eq!(cs::opcode(word), Some(opcode));
    }
    assert_eq!(cs::opcode(u64::MAX), None);
}

/// Words that were worked out by hand from the table of fields.
#[test]
fn instructions_have_their_bits() {
    let wait = cs::CsWait::unpack(&0x0300_0000_0001_0000u64.to_le_bytes()).unwrap();
    assert_eq!(wait, cs::CsWait { wait_mask: 1, ..Default::default() });
    let branch = cs::CsBranch { offset: -3, condition: cs::CsCondition::Nequal, value: 66 };
    assert_eq!(branch.pack().unwrap(), 0x1600_4200_3000_fffdu64.to_le_bytes());
}
