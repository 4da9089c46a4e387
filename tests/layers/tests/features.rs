//! Dependencies have the same features in programs and in tests. A crate with another set is compiled once more, and so is each crate
//! that depends on it, which may be nearly all.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Packages that are built before the tests of the workspace: by the README's first command, and by `tools/test`.
const BUILT: &[&[&str]] = &[&["tepui-demo"], &["tepui", "tepui-shim", "tepui-programs"]];

/// Crates with another set in the tests, with few others that depend on them.
const OTHER: &[&str] = &[
    // The demo assembles programs and needs no compiler.
    "tepui-agx-bare",
    // Random numbers of tests, and names of temporary files.
    "getrandom",
];

/// The sets of features of each crate and version, as `cargo tree` prints them.
fn features(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}|"])
        .args(arguments)
        .output()
        .expect("cargo");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.split('|');
        if let (Some(name), Some(set)) = (parts.next(), parts.next()) {
            found.entry(name.to_owned()).or_default().insert(set.to_owned());
        }
    }
    found
}

#[test]
fn programs_and_tests_share_their_dependencies() {
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(tests.len() > 200, "{} crates", tests.len());
    let mut wrong = Vec::new();
    for packages in BUILT {
        let mut arguments = vec!["--edges", "normal,build"];
        packages.iter().for_each(|package| arguments.extend(["--package", package]));
        for (name, sets) in features(&arguments) {
            let listed = OTHER.iter().any(|other| name.split(' ').next() == Some(other));
            let shared = tests.get(&name).is_some_and(|known| sets.is_subset(known));
            if !shared && !listed {
                wrong.push(format!(
                    "{name} in {packages:?}: {sets:?}, in tests {:?}",
                    tests.get(&name)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "ask for the features in both:\n{}", wrong.join("\n"));
}
