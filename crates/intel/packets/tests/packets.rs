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

#[test]
fn what_intels_opencl_driver_submits_to_tiger_lake_has_its_names() {
    use tepui_intel_packets::command::find;
    use tepui_intel_packets::{Packet, gen12::StateComputeMode, mi::MiLoadRegisterImm};
    assert!(find(Generation::Gen9, 0x6105_0000).is_none());
    let found = find(Generation::Gen12, 0x6105_0000).map(|info| info.name);
    assert_eq!(found, Some("STATE_COMPUTE_MODE"));
    // Bytes of a captured batch: GPU accesses are not coherent, and the register is the engine's own.
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let gen12 = revision(Generation::Gen12);
    let mode = words(&[0x6105_0000, 0x0018_0010]);
    let mode = StateComputeMode::unpack_as(&mode, gen12).unwrap();
    assert_eq!((mode.force_non_coherent, mode.mask), (2, 0x18));
    let load = words(&[0x1102_0001, 0x2580, 0x0006_0004]);
    let remapped = MiLoadRegisterImm::unpack_as(&load, gen12).unwrap();
    assert!(remapped.mmio_remap_enable && remapped.register_offset == 0x2580);
    assert!(MiLoadRegisterImm::unpack_as(&load, revision(Generation::Gen9)).is_err());
}
