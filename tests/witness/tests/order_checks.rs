//! Order of memory accesses in captures of each family: other orders that the hardware may take leave the same memory, and
//! removed barriers, waits and dependencies that change memory are noticed (docs/checker.md).

#[path = "intel/run.rs"]
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tepui_witness::compile::mesa_tool;

/// Seeds of relaxed execution.
const SEEDS: std::ops::Range<u32> = 1..9;

/// A driver on a virtual GPU, and cases whose commands depend on each other.
struct Row {
    name: &'static str,
    gpu: &'static str,
    device: &'static str,
    /// Mesa's driver; none for Tepui's.
    icd: Option<&'static str>,
    cases: &'static [&'static str],
}

const ROWS: [Row; 5] = [
    Row {
        name: "honeykrisp",
        gpu: "m1",
        device: "Apple M1",
        icd: Some("honeykrisp"),
        cases: &["commands/chain_barriers", "draws/indirect_one_u16", "queries/timestamps"],
    },
    Row {
        name: "tepui-m1",
        gpu: "m1",
        device: "Apple M1",
        icd: None,
        cases: &["commands/chain_barriers", "occlusion/discard_count", "passes/subpasses"],
    },
    Row {
        name: "tepui-skl",
        gpu: "skl",
        device: "Intel",
        icd: None,
        cases: &["commands/chain_barriers", "commands/copy"],
    },
    Row {
        name: "tepui-tgl",
        gpu: "tgl",
        device: "Intel",
        icd: None,
        cases: &["commands/chain_barriers", "commands/chain_events"],
    },
    Row {
        name: "tepui-mali",
        gpu: "mali-g610",
        device: "Mali-G610",
        icd: None,
        cases: &["commands/chain_barriers", "commands/chain_events", "algorithms/scan"],
    },
];

fn tepui() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui")
}

/// A folder with a capture of the cases of a row.
fn capture(row: &Row, test: &str) -> PathBuf {
    let folder = run::fresh_folder(&format!("{test}-{}", row.name));
    let mut command = Command::new(tepui());
    match row.icd {
        Some(_) => command.args(["trace", "--gpu", row.gpu, "--quiet", "--save"]),
        None => command.args(["run", "--gpu", row.gpu, "--capture"]),
    };
    command.arg(&folder).arg("--").arg(mesa_tool());
    command.args(["run", "--icd", row.icd.unwrap_or("none"), "--"]);
    command.arg(env!("CARGO_BIN_EXE_witness")).args(["run", "--device", row.device, "--exact"]);
    command.args(row.cases).env("MESA_SHADER_CACHE_DISABLE", "true");
    let output = command.output().expect("tepui starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// The lines of JSON that a command prints.
fn lines(arguments: &[&str], folder: &Path) -> Vec<Value> {
    let (verb, rest) = arguments.split_first().expect("a command");
    let output = Command::new(tepui()).arg(verb).args(rest).arg(folder).output();
    let output = output.expect("tepui starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(!lines.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    lines
}

#[test]
fn other_orders_leave_the_same_memory() {
    for row in &ROWS {
        let folder = capture(row, "orders");
        for seed in SEEDS {
            let replayed = lines(&["replay", "--json", "--relaxed", &seed.to_string()], &folder);
            let of = |kind: &str| replayed.iter().filter(|line| line["type"] == kind).count();
            for line in &replayed {
                let failed = line.get("fault").is_some_and(|fault| !fault.is_null());
                assert!(!failed && line.get("error").is_none(), "{}: {line}", row.name);
                assert_ne!(line["agrees"], false, "{}, seed {seed}: {line}", row.name);
            }
            // Memory can be compared where all queues are idle, which they are after most commands.
            let [compared, unsettled] = [of("compared"), of("unsettled")];
            assert!(compared >= 3 && unsettled < compared, "{}: {compared}, {unsettled}", row.name);
        }
    }
}

#[test]
fn removed_events_that_matter_are_noticed() {
    for row in &ROWS {
        let folder = capture(row, "removals");
        let judged = lines(&["check", "--json", "--removals", "4", "--mutate"], &folder);
        let sum = |field: &str| {
            let numbers = judged.iter().filter_map(|line| line.get(field)?.as_u64());
            numbers.sum::<u64>()
        };
        let [removed, matter, missed] = ["removed", "matter", "missed"].map(sum);
        assert!(removed > 3 && matter > 0, "{}: {judged:#?}", row.name);
        assert!(10 * missed <= matter, "{}: {missed} of {matter}: {judged:#?}", row.name);
        assert!(2 * sum("left_out") < sum("commands"), "{}: {judged:#?}", row.name);
    }
}
