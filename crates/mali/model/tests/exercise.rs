//! Random streams and shaders neither panic nor run forever.

use proptest::prelude::*;
use tepui_mali_model::{FaultKind, exercise};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..512)) {
        for done in exercise::run(&input).unwrap_or_default() {
            if let Err(fault) = done.outcome {
                prop_assert_ne!(fault.kind, FaultKind::Panic, "{}", fault);
            }
        }
    }
}

#[test]
fn the_streams_get_somewhere() {
    let (mut ended, mut dispatches, mut instructions) = (0, 0, 0);
    for seed in 0..2000u32 {
        for done in exercise::run(&seed.to_le_bytes()).expect("streams") {
            if let Ok(stats) = done.outcome {
                ended += 1;
                dispatches += stats.dispatches;
                instructions += stats.instructions;
            }
        }
    }
    assert!(
        ended > 200 && dispatches > 20 && instructions > 100,
        "{ended} {dispatches} {instructions}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..512)) {
        for done in exercise::draws(&input).expect("a frame") {
            if let Err(fault) = done.outcome {
                prop_assert_ne!(fault.kind, FaultKind::Panic, "{}", fault);
            }
        }
    }
}

#[test]
fn the_frames_are_drawn() {
    let (mut ended, mut threads) = (0, 0);
    let mut faults = std::collections::BTreeMap::new();
    for seed in 0..500u32 {
        for done in exercise::draws(&seed.to_le_bytes()).expect("a frame") {
            match done.outcome {
                Ok(stats) => {
                    ended += 1;
                    threads += stats.threads;
                }
                Err(fault) => *faults.entry(fault.to_string()).or_insert(0) += 1,
            }
        }
    }
    assert!(ended > 100 && threads > 10_000, "{ended} {threads} {faults:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..256)) {
        if let Err(fault) = exercise::chain(&input).expect("a chain") {
            prop_assert_ne!(fault.kind, FaultKind::Panic, "{}", fault);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_bifrost_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..512)) {
        if let Err(fault) = exercise::bifrost(&input).expect("a chain") {
            prop_assert_ne!(fault.kind, FaultKind::Panic, "{}", fault);
        }
    }
}

#[test]
fn the_chains_of_bifrost_get_somewhere() {
    let (mut ended, mut threads) = (0, 0);
    let mut faults = std::collections::BTreeMap::new();
    for seed in 0..2000u32 {
        match exercise::bifrost(&seed.to_le_bytes()).expect("a chain") {
            Ok(stats) => {
                ended += 1;
                threads += stats.threads;
            }
            Err(fault) => *faults.entry(fault.what).or_insert(0) += 1,
        }
    }
    assert!(ended > 100 && threads > 500, "{ended} {threads} {faults:#?}");
}

#[test]
fn the_chains_get_somewhere() {
    let (mut ended, mut jobs, mut threads) = (0, 0, 0);
    for seed in 0..2000u32 {
        if let Ok(stats) = exercise::chain(&seed.to_le_bytes()).expect("a chain") {
            ended += 1;
            jobs += stats.commands;
            threads += stats.threads;
        }
    }
    assert!(ended > 100 && jobs > 200 && threads > 1000, "{ended} {jobs} {threads}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bundles_end_without_a_panic(input in prop::collection::vec(any::<u8>(), 0..512)) {
        if let Err(fault) = exercise::midgard(&input).expect("a chain") {
            prop_assert_ne!(fault.kind, FaultKind::Panic, "{}", fault);
        }
    }
}

#[test]
fn bundles_are_executed() {
    let (mut ended, mut instructions) = (0, 0);
    let mut faults = std::collections::BTreeMap::new();
    for seed in 0..500u32 {
        match exercise::midgard(&seed.to_le_bytes()).expect("a chain") {
            Ok(stats) => {
                ended += 1;
                instructions += stats.instructions;
            }
            Err(fault) => *faults.entry(fault.to_string()).or_insert(0) += 1,
        }
    }
    assert!(ended > 20 && instructions > 100, "{ended} {instructions} {faults:?}");
}
