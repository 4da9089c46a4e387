//! Interpreter and translation on random programs and memory maps; [`tepui_agx_bare::differential`]
//! says how.
//!
//! The `agx_translation` target of the fuzzers outside of the workspace does the same for longer.

use tepui_agx_bare::differential::{Case, Seen, Source, compare};
use tepui_agx_model::Target;

/// `TEPUI_CASES` asks for more.
const CASES: u64 = 1000;

#[test]
fn translations_do_what_the_interpreter_does() {
    let cases = std::env::var("TEPUI_CASES").map_or(CASES, |n| n.parse().expect("a number"));
    let mut seen = Seen::default();
    for seed in 0..cases {
        let case = Case::new(&mut Source::seeded(seed));
        let of_case = compare(&case).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        seen.translations += of_case.translations;
        seen.finished += of_case.finished;
        seen.soft_faults += of_case.soft_faults;
    }
    let targets = Target::ALL.iter().filter(|target| target.is_available()).count() as u64;
    assert_eq!(u64::from(seen.translations), cases * targets);
    // Not all programs end in a fault, and maps have holes.
    assert!(u64::from(seen.finished) > cases, "{seen:?}");
    assert!(seen.soft_faults > 100 * cases, "{seen:?}");
}
