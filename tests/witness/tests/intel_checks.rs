//! `tepui shim --check` on Mesa's driver over the virtual Skylake and Tiger Lake: programs that use nothing undefined
//! give no report, and those that store what Vulkan leaves undefined are found.

#[path = "intel/run.rs"]
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_witness::cases;

/// Runs cases on the virtual Skylake; returns the reports.
fn reports(cases: &[&str]) -> Vec<String> {
    reports_on("skl", cases)
}

/// Restrictions on commands that ANV of Mesa 26.1 breaks on Gen9 (docs/checker.md, "Mistakes of Mesa").
const BROKEN_BY_ANV: [&str; 4] = [
    "texture invalidation in GPGPU",
    "tags of the vertex cache",
    "vertex cache invalidation",
    "3DSTATE_CONSTANT",
];

/// Whether a report is one of ANV's mistakes.
fn is_of_anv(gpu: &str, report: &str) -> bool {
    let is_broken = |name: &&str| report.contains(&format!(" breaks a restriction, {name}:"));
    gpu == "skl" && BROKEN_BY_ANV.iter().any(is_broken)
}

/// Runs cases on a virtual GPU; returns the reports but for ANV's mistakes.
fn reports_on(gpu: &str, cases: &[&str]) -> Vec<String> {
    let verb = ["shim", "--gpu", gpu, "--check"];
    let mut command = run::witness(&verb, cases);
    let output = command.output().expect("tepui starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let ran = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
    assert!(cases.iter().all(|case| ran.contains(&format!("ok     {case}"))), "{ran}");
    let reports = said.lines().filter(|line| line.starts_with("tepui: check: "));
    reports.filter(|line| !is_of_anv(gpu, line)).map(str::to_owned).collect()
}

#[test]
fn defined_programs_are_silent() {
    let groups =
        ["algorithms/", "control/", "memory/", "atomics/", "fragment/", "stages/geometry_"];
    let all: Vec<String> = cases::all().iter().map(|case| case.name.clone()).collect();
    let chosen: Vec<&str> = all
        .iter()
        .map(String::as_str)
        // The driver does not refuse an address that is taken, and reads null buffers, so that these cases fail.
        .filter(|name| !["memory/capture_replay", "memory/descriptor_buffer_null"].contains(name))
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

/// Cases whose commands depend on each other: copies, indirect draws, queries, images that are drawn and sampled, fast
/// clears, stream output.
const DEPENDENT: [&str; 20] = [
    "commands/conditional",
    "compression/format_B8G8R8A8_SRGB",
    "compression/format_D32_SFLOAT",
    "compression/region_depth",
    "copy/format_BC7_SRGB_BLOCK",
    "copy/image_whole",
    "draws/indirect_one_u16",
    "format/r16g16b16a16_uint_compressed",
    "many/draws_direct_100",
    "many/tables",
    "occlusion/discard_count",
    "passes/layers_stencil",
    "queries/statistics_lines",
    "queries/timestamps",
    "sequences/seed_3",
    "sequences/seed_17",
    "shadow/less_linear",
    "target/blit_turn_nearest",
    "target/copied_compressed",
    "target/several_compressed",
];

/// Mesa's driver orders the commands of these cases.
#[test]
fn commands_of_mesa_s_driver_are_in_order() {
    for gpu in ["skl", "tgl"] {
        assert_eq!(reports_on(gpu, &DEPENDENT), Vec::<String>::new(), "{gpu}");
    }
}

/// A mistake of ANV on Gen9: one PIPE_CONTROL invalidates the vertex cache, which takes effect when it is read, and
/// flushes the draw parameters that a shader has written, which comes later (docs/checker.md).
#[test]
fn an_invalidation_before_its_flush_is_found() {
    let found = reports_on("skl", &["draws/indirect_six_u16"]);
    let [report] = &found[..] else { panic!("{found:?}") };
    assert!(report.contains("an invalidation of the VF cache is missing"), "{report}");
}

/// Captures of cases on a virtual GPU, in a folder of a test.
fn capture(gpu: &str, name: &str, cases: &[&str]) -> PathBuf {
    let folder = run::fresh_folder(name);
    let verb = ["trace", "--gpu", gpu, "--quiet", "--save", folder.to_str().expect("a path")];
    let output = run::witness(&verb, cases).arg("--exact").output().expect("tepui starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Batches of a capture, and how many of them leave other memory in relaxed execution with a seed.
fn relaxed(folder: &Path, seed: u32) -> [usize; 2] {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    let mut command = Command::new(tepui);
    command.arg("replay").arg(folder).args(["--relaxed", &seed.to_string(), "--json"]);
    let output = command.output().expect("tepui starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("\"error\"") && !text.contains("\"fault\":\""), "{text}");
    let compared = text.lines().filter(|line| line.contains("\"type\":\"compared\""));
    let differ = compared.clone().filter(|line| line.contains("\"agrees\":false"));
    [compared.count(), differ.count()]
}

/// Seeds of relaxed execution.
const SEEDS: std::ops::Range<u32> = 1..9;

/// Mesa's driver leaves the same memory in each order that the hardware may take.
#[test]
fn other_orders_give_the_same_memory() {
    let cases = [
        "commands/copy",
        "compression/region_depth",
        "copy/image_whole",
        "draws/indirect_one_u16",
        "occlusion/discard_count",
        "target/several_compressed",
    ];
    for gpu in ["skl", "tgl"] {
        let folder = capture(gpu, &format!("relaxed-{gpu}"), &cases);
        for seed in SEEDS {
            let [batches, differ] = relaxed(&folder, seed);
            assert!(batches > 12 && differ == 0, "{gpu}, seed {seed}: {differ} of {batches}");
        }
    }
}

/// Another order shows ANV's mistake of [`an_invalidation_before_its_flush_is_found`]: draws read old parameters.
#[test]
fn another_order_shows_the_early_invalidation() {
    let folder = capture("skl", "relaxed-invalidation", &["many/draws_direct_4"]);
    let differ: Vec<usize> = SEEDS.map(|seed| relaxed(&folder, seed)[1]).collect();
    assert!(differ.contains(&0) && differ.iter().any(|&n| n > 0), "{differ:?}");
}
