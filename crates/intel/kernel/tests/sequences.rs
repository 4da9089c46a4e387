//! Random sequences of requests: no panic, nothing left behind.

use proptest::prelude::*;
use tepui_drm::uapi::{Direction, Request};
use tepui_drm::user::Block;
use tepui_intel_kernel::exercise;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sequences_leave_nothing(input in prop::collection::vec(any::<u8>(), 0..4096)) {
        exercise::run(&input);
    }

    #[test]
    fn no_request_panics_whatever_its_bytes(
        requests in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..96)), 1..40),
    ) {
        let device = tepui_intel_kernel::Device::new(
            tepui_intel_chips::chip("skl").unwrap(),
            tepui_intel_kernel::Options { report_faults: false, ..Default::default() },
        );
        let file = device.open();
        let user = Block::new(0, vec![0; 4096]);
        for (nr, mut arg) in requests {
            // Waits of random length, and a transfer's own wait, are not for here.
            if matches!(nr, 0xc3 | 0xca | 0xcc) {
                continue;
            }
            let request = Request::new(Direction::ReadWrite, nr, arg.len());
            let _ = file.ioctl(&user, request, &mut arg);
        }
    }
}

#[test]
fn the_sequences_get_somewhere() {
    // A generator without randomness of its own: the share of answered requests is the same in
    // every run, and says whether taming works.
    let mut state = 1u64;
    let input: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    })
    .take(1 << 16)
    .collect();
    let mut sum = exercise::Outcome::default();
    for chunk in input.chunks(4096) {
        let outcome = exercise::run(chunk);
        sum.done += outcome.done;
        sum.refused += outcome.refused;
        sum.submitted += outcome.submitted;
    }
    assert!(sum.done > sum.refused && sum.submitted > 10, "{sum:?}");
}
