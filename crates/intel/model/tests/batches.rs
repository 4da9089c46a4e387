//! Random batches neither panic nor run forever.

use proptest::prelude::*;
use tepui_intel_model::exercise;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..4096)) {
        exercise::run(&input);
    }
}

#[test]
fn the_batches_get_somewhere() {
    // A generator without randomness of its own, so that the counts are the same in every run.
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    let (mut ended, mut commands) = (0, 0);
    for _ in 0..2000 {
        let input: Vec<u8> = (0..60).map(|_| byte()).collect();
        if let Some(stats) = exercise::run(&input) {
            ended += 1;
            commands += stats.commands;
        }
    }
    assert!(ended > 100 && commands > 3 * ended, "{ended} batches, {commands} commands");
}
