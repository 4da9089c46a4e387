//! Wears Tepui's drivers out on virtual GPUs: leaks, allocations that fail, damaged shaders, lost devices.
//!
//! Growth of memory and open files between a tenth of the repetitions and their end is a failure, and so is any result
//! but those that the specification names. A process that dies fails its test.

use std::path::Path;
use std::process::{Command, Output};

use tepui_witness::jobs::{Driver, OwnGpu, Variant};

fn command(driver: Driver) -> Command {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    driver.command(witness).unwrap_or_else(|e| panic!("{e}"))
}

fn said(output: &Output) -> String {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs a task and returns its figures.
fn endure(driver: Driver, what: &str, times: u64) -> serde_json::Value {
    let mut c = command(driver);
    c.args(["endure", "--device", driver.device(), what, &times.to_string()]);
    let output = c.output().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(output.status.success(), "{what}: {}", said(&output));
    assert!(!said(&output).contains("panicked"), "{what}: {}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{what}: {e}: {}", said(&output)));
    println!("{what}: {report}");
    assert_eq!(report["times"], times);
    report
}

/// The tests of a driver, as a module.
macro_rules! tests_of {
    ($($name:ident: $driver:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn a_thousand_devices_leave_nothing() {
                endure($driver, "devices", 1000);
            }

            #[test]
            fn ten_thousand_frames_leave_nothing() {
                endure($driver, "frames", 10_000);
            }

            #[test]
            fn host_allocations_may_fail() {
                super::host_allocations_may_fail($driver);
            }

            #[test]
            fn damaged_shaders_are_refused_or_compile() {
                super::damaged_shaders_are_refused_or_compile($driver);
            }

            #[test]
            fn device_allocations_may_fail() {
                super::device_allocations_may_fail($driver);
            }

            #[test]
            fn lost_devices_end_every_wait() {
                super::lost_devices_end_every_wait($driver);
            }
        })*
    };
}

tests_of! {
    m1: Driver::TEPUI;
    tiger_lake: Driver::Tepui(OwnGpu::TigerLake, Variant::Whole);
    mali_g610: Driver::Tepui(OwnGpu::MaliG610, Variant::Whole);
    mali_g57: Driver::Tepui(OwnGpu::MaliG57, Variant::Whole);
}

/// Every allocation through the application's callbacks fails once; all others are freed.
fn host_allocations_may_fail(driver: Driver) {
    let report = endure(driver, "host", 5);
    let failed = report["results"]["ERROR_OUT_OF_HOST_MEMORY"].as_u64();
    assert!(failed >= Some(5 * 20), "{report}");
}

/// A kernel strays amid random work: every call returns what the specification lets it return, and a new device works.
fn lost_devices_end_every_wait(driver: Driver) {
    let report = endure(driver, "lost", 100);
    for call in ["vkQueueSubmit", "vkWaitSemaphores", "vkGetQueryPoolResults"] {
        let lost = report["results"][format!("{call} ERROR_DEVICE_LOST")].as_u64();
        assert!(lost > Some(30), "{call}: {report}");
    }
}

fn damaged_shaders_are_refused_or_compile(driver: Driver) {
    let report = endure(driver, "shaders", 4000);
    let refused = report["results"]["ERROR_INVALID_SHADER_NV"].as_u64();
    assert!(refused > Some(2000) && report["results"]["SUCCESS"].as_u64() > Some(20), "{report}");
}

/// Every buffer object that cases ask the kernel for fails once: calls say so, and nothing else happens.
fn device_allocations_may_fail(driver: Driver) {
    let allowed = ["OUT_OF_DEVICE_MEMORY", "OUT_OF_HOST_MEMORY"];
    for case in [
        "draws/indexed_u32_fan_restart",
        "commands/ids_33x1x1",
        "copy/host_D3_R32_UINT",
        "sequences/seed_1",
    ] {
        let mut failures = 0;
        for n in 1.. {
            let mut c = command(driver);
            c.env("TEPUI_FAIL_ALLOCATION", n.to_string());
            c.args(["run", "--exact", "--device", driver.device(), case]);
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
