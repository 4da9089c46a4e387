//! Random sequences of requests do not panic or leak.

use proptest::prelude::*;
use tepui_agx_kernel::exercise::run;
use tepui_drm::exercise::{survey, untamed};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sequences_leave_nothing(input in prop::collection::vec(any::<u8>(), 0..4096)) {
        run(&input);
    }

    #[test]
    fn no_request_panics_whatever_its_bytes(
        requests in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..96)), 1..40),
    ) {
        let device = tepui_agx_kernel::Device::new(
            tepui_agx_chips::chip("m1").unwrap(),
            tepui_agx_kernel::Options { report_faults: false, ..Default::default() },
        );
        untamed(&device.open(), requests);
    }
}

#[test]
fn the_sequences_get_somewhere() {
    let sum = survey(run);
    assert!(sum.done > sum.refused && sum.submitted > 10, "{sum:?}");
}
