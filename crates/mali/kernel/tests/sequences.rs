//! Random sequences of requests neither panic nor leak objects.

use proptest::prelude::*;
use tepui_drm::exercise::{survey, untamed};
use tepui_mali_kernel::exercise::run;
use tepui_mali_kernel::panfrost::exercise as panfrost;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sequences_leave_nothing(input in prop::collection::vec(any::<u8>(), 0..4096)) {
        run(&input);
    }

    #[test]
    fn sequences_of_panfrost_leave_nothing(input in prop::collection::vec(any::<u8>(), 0..4096)) {
        panfrost::run(&input);
    }

    #[test]
    fn no_request_panics_whatever_its_bytes(
        requests in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..96)), 1..40),
    ) {
        let device = tepui_mali_kernel::Device::new(
            tepui_mali_chips::chip("mali-g610").unwrap(),
            tepui_mali_kernel::Options { report_faults: false, ..Default::default() },
        );
        untamed(&device.open(), requests);
    }
}

#[test]
fn the_sequences_get_somewhere() {
    for sum in [survey(run), survey(panfrost::run)] {
        assert!(sum.done > sum.refused && sum.submitted > 10, "{sum:?}");
    }
}
