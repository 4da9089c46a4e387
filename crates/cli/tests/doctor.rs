//! Runs `tepui doctor` on made-up trees.

use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn a_machine_without_a_gpu() {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(root.path().join("usr/share/vulkan/icd.d")).expect("made");
    let run = |json: bool| {
        Command::new(env!("CARGO_BIN_EXE_tepui"))
            .args(["doctor", "--root"])
            .arg(root.path())
            .args(json.then_some("--json"))
            .output()
            .expect("tepui starts")
    };
    let said = String::from_utf8(run(false).stdout).expect("text");
    assert!(said.contains("there is no DRM device"), "{said}");
    assert!(said.contains("no Vulkan driver is installed"), "{said}");
    let answer: Value = serde_json::from_slice(&run(true).stdout).expect("JSON");
    assert_eq!(answer["devices"], Value::Array(Vec::new()));
    let ids = answer["virtual_gpus"].as_array().expect("a list").iter().map(|g| &g["id"]);
    assert!(ids.clone().any(|id| id == "skl") && ids.clone().any(|id| id == "m1"), "{answer}");
}
