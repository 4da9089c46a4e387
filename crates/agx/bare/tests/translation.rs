//! Interpreter and translation on random programs and memory maps; [`tepui_agx_bare::differential`]
//! says how.
//!
//! The `agx_translation` target of the fuzzers outside of the workspace does the same for longer.

use tepui_agx_bare::differential::{Case, Seen, Source, compare};
use tepui_agx_model::Target;

/// Runs cases that are drawn by seeds; `TEPUI_CASES` says how many instead.
fn run(usual: u64, draw: impl Fn(&mut Source<'_>) -> Case) -> (u64, Seen) {
    let cases = std::env::var("TEPUI_CASES").map_or(usual, |n| n.parse().expect("a number"));
    let mut seen = Seen::default();
    for seed in 0..cases {
        let case = draw(&mut Source::seeded(seed));
        let of_case = compare(&case).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        seen.translations += of_case.translations;
        seen.finished += of_case.finished;
        seen.soft_faults += of_case.soft_faults;
    }
    let targets = Target::ALL.iter().filter(|target| target.is_available()).count() as u64;
    assert_eq!(u64::from(seen.translations), cases * targets);
    (cases, seen)
}

#[test]
fn translations_do_what_the_interpreter_does() {
    let (cases, seen) = run(1000, Case::compute);
    // Not all programs end in a fault, and maps have holes.
    assert!(u64::from(seen.finished) > cases, "{seen:?}");
    assert!(seen.soft_faults > 100 * cases, "{seen:?}");
}

#[test]
fn translated_fragments_are_what_the_interpreter_makes() {
    let (cases, seen) = run(500, Case::fragment);
    assert!(u64::from(seen.finished) > cases, "{seen:?}");
    assert!(seen.soft_faults > 100 * cases, "{seen:?}");
}
