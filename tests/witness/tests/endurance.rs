//! Wears Tepui's driver out on the virtual M1: leaks, allocations that fail, damaged shaders, lost devices.
//!
//! Growth of memory and open files between a tenth of the repetitions and their end is a failure, and so is any result
//! but those that the specification names. A process that dies fails its test.

use std::path::Path;
use std::process::{Command, Output};

use tepui_witness::jobs::Driver;

fn command() -> Command {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    Driver::TEPUI.command(witness).unwrap_or_else(|e| panic!("{e}"))
}

fn said(output: &Output) -> String {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a task and returns its figures.
fn endure(what: &str, times: u64) -> serde_json::Value {
    let mut c = command();
    c.args(["endure", "--device", Driver::TEPUI.device(), what, &times.to_string()]);
    let output = c.output().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(output.status.success(), "{what}: {}", said(&output));
    assert!(!said(&output).contains("panicked"), "{what}: {}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{what}: {e}: {}", said(&output)));
    println!("{what}: {report}");
    assert_eq!(report["times"], times);
    report
}

#[test]
fn a_thousand_devices_leave_nothing() {
    endure("devices", 1000);
}

#[test]
fn ten_thousand_frames_leave_nothing() {
    endure("frames", 10_000);
}

/// Every allocation through the application's callbacks fails once; all others are freed.
#[test]
fn host_allocations_may_fail() {
    let report = endure("host", 5);
    let failed = report["results"]["ERROR_OUT_OF_HOST_MEMORY"].as_u64();
    assert!(failed >= Some(5 * 20), "{report}");
}

/// A kernel strays amid random work: every call returns what the specification lets it return, and a new device works.
#[test]
fn lost_devices_end_every_wait() {
    let report = endure("lost", 300);
    for call in ["vkQueueSubmit", "vkWaitSemaphores", "vkGetQueryPoolResults"] {
        let lost = report["results"][format!("{call} ERROR_DEVICE_LOST")].as_u64();
        assert!(lost > Some(100), "{call}: {report}");
    }
}

#[test]
fn damaged_shaders_are_refused_or_compile() {
    let report = endure("shaders", 4000);
    let refused = report["results"]["ERROR_INVALID_SHADER_NV"].as_u64();
    assert!(refused > Some(2000) && report["results"]["SUCCESS"].as_u64() > Some(20), "{report}");
}

/// Every buffer object that cases ask the kernel for fails once: calls say so, and nothing else happens.
#[test]
fn device_allocations_may_fail() {
    let allowed = ["OUT_OF_DEVICE_MEMORY", "OUT_OF_HOST_MEMORY"];
    for case in [
        "draws/indexed_u32_fan_restart",
        "commands/ids_33x1x1",
        "copy/host_D3_R32_UINT",
        "sequences/seed_1",
    ] {
        let mut failures = 0;
        for n in 1.. {
            let mut c = command();
            c.env("TEPUI_FAIL_ALLOCATION", n.to_string());
            c.args(["run", "--exact", "--device", Driver::TEPUI.device(), case]);
            let output = c.output().unwrap_or_else(|e| panic!("{case}: {e}"));
            let text = said(&output);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1)), "{case}, allocation {n}: {text}");
            assert!(!text.contains("panicked"), "{case}, allocation {n}: {text}");
            if !text.contains(&format!("allocation {n} fails, as it was asked to")) {
                assert_eq!(code, Some(0), "{case} without a failure: {text}");
                break;
            }
            failures += 1;
            let failed = text.lines().find(|l| l.starts_with("FAILED"));
            let named = failed.is_none_or(|l| allowed.iter().any(|a| l.contains(a)));
            assert!(
                named && failed.is_some() == (code == Some(1)),
                "{case}, allocation {n}: {text}"
            );
        }
        println!("{case}: {failures} allocations failed");
        assert!(failures > 3, "{case}: {failures} allocations");
    }
}
