//! Properties of all declarations.

use proptest::prelude::*;
use tepui_intel_chips::Generation;
use tepui_intel_packets::{find, of_generation, revision};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes that decode without a problem are repacked to the same bytes.
    #[test]
    fn valid_packets_come_back(bytes in prop::collection::vec(any::<u8>(), 88)) {
        for generation in Generation::ALL {
            let revision = revision(generation);
            for info in of_generation(generation) {
                let Ok(first) = info.repack_as(&bytes, revision) else { continue };
                let decoded = info.decode_as(&first, revision).unwrap();
                prop_assert!(decoded.problems.is_empty(), "{}: {:?}", info.name, decoded.problems);
                prop_assert_eq!(&first, &info.repack_as(&first, revision).unwrap());
            }
        }
    }
}

#[test]
fn names_are_unique() {
    for generation in Generation::ALL {
        let mut seen = std::collections::HashSet::new();
        for info in of_generation(generation) {
            assert!(seen.insert(info.name), "{} twice", info.name);
            assert_eq!(find(generation, info.name).map(|found| found.ident), Some(info.ident));
        }
        assert!(seen.len() > 100, "{}", seen.len());
    }
}

#[test]
fn fields_of_other_generations_must_be_zero() {
    use tepui_intel_packets::{Packet, state::PipeControl};
    let flush = PipeControl { hdc_pipeline_flush_enable: true, ..Default::default() };
    let mut bytes = [0; PipeControl::SIZE_BYTES];
    assert!(flush.pack().is_err(), "Gen9 has no such bit");
    flush.pack_into_as(&mut bytes, revision(Generation::Gen12)).unwrap();
    assert_eq!(PipeControl::unpack_as(&bytes, revision(Generation::Gen12)), Ok(flush));
    let problem = PipeControl::unpack_as(&bytes, revision(Generation::Gen9)).unwrap_err();
    assert_eq!((problem.field, problem.bit), ("", 9));
}
