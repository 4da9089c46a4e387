//! `tepui shim --check` on Mesa's driver over the virtual Skylake: programs that use nothing undefined
//! give no report, and those that store what Vulkan leaves undefined are found.

#[path = "intel/run.rs"]
mod run;

use tepui_witness::cases;

/// Runs cases; returns the reports.
fn reports(cases: &[&str]) -> Vec<String> {
    let verb = ["shim", "--gpu", "skl", "--check"];
    let output = run::witness(&verb, cases).output().expect("tepui starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let ran = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
    assert!(cases.iter().all(|case| ran.contains(&format!("ok     {case}"))), "{ran}");
    said.lines().filter(|line| line.starts_with("tepui: check: ")).map(str::to_owned).collect()
}

#[test]
fn defined_programs_are_silent() {
    let groups =
        ["algorithms/", "control/", "memory/", "atomics/", "fragment/", "stages/geometry_"];
    let all: Vec<String> = cases::all().iter().map(|case| case.name.clone()).collect();
    let chosen: Vec<&str> = all
        .iter()
        .map(String::as_str)
        // The driver does not refuse an address that is taken, so that the case fails.
        .filter(|&name| name != "memory/capture_replay")
        .filter(|name| groups.iter().any(|group| name.starts_with(group)))
        .step_by(7)
        .collect();
    assert!(chosen.len() > 15, "{chosen:?}");
    assert_eq!(reports(&chosen), Vec::<String>::new());
}

/// The value shuffled from an inactive invocation is undefined.
#[test]
fn a_shuffle_from_inactive_invocations_is_found() {
    let found = reports(&["subgroup/shuffle_down_uint_divergent"]);
    assert!(!found.is_empty());
    for report in found {
        let written = "is read, but was never written";
        assert!(report.contains(written) && report.contains("sends(16)"), "{report}");
    }
    assert_eq!(reports(&["subgroup/ballot_"]), Vec::<String>::new());
}
