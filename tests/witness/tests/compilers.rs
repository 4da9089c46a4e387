//! Tepui's compiler beside Honeykrisp's, on the same SPIR-V in the same process: over the shaders of each stage of the corpus and
//! of the cases, Tepui takes no more instructions and spills, and hardly more registers. Times are printed and judge nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_witness::cases;
use tepui_witness::compile::{compile, mesa_tool};
use tepui_witness::pipelines::{Row, Table};

/// What both compilers make of the shaders of a stage in some paths.
fn rows(stage: &str, paths: &[PathBuf]) -> Vec<Row> {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let tepui = witness.with_file_name("tepui");
    assert!(
        tepui.exists(),
        "{}: missing; build it first: cargo build --release -p tepui -p tepui-shim",
        tepui.display()
    );
    let mut command = Command::new(tepui);
    command.args(["shim", "--gpu", "m1", "--"]).arg(mesa_tool());
    command.args(["run", "--icd", "honeykrisp", "--"]).arg(witness);
    command
        .args(["pipelines", "--device", "Apple M1", "-n", "3", "--json", "--stages", stage])
        .args(paths);
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    let out = command.output().expect("tepui starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {said}", out.status);
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}\n{said}"))
}

fn judge(rows: &[Row], least: usize) {
    let table = Table(rows);
    println!("{table}");
    assert!(table.len() >= least, "both compile {} shaders\n{table}", table.len());
    assert!(table.mean("instructions") <= 1.0, "{table}");
    assert!(table.mean("registers") <= 1.05, "{table}");
    let (tepui, driver) = table.sum("spills");
    assert!(tepui <= driver, "spills: {tepui} instead of {driver}\n{table}");
}

fn compare(stage: &str, package: &str, least: usize) {
    judge(&rows(stage, &tepui_corpus::corpus(package)), least);
}

#[test]
fn compute_shaders_of_glslang() {
    compare("compute", "glslang", 70);
}

#[test]
fn vertex_shaders_of_the_corpus() {
    compare("vertex", "", 190);
}

#[test]
fn fragment_shaders_of_glslang() {
    compare("fragment", "glslang", 170);
}

#[test]
fn fragment_shaders_of_three() {
    compare("fragment", "three", 35);
}

#[test]
fn fragment_shaders_of_babylon() {
    compare("fragment", "babylon", 170);
}

#[test]
fn shaders_of_the_cases() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compilers");
    let _ = std::fs::remove_dir_all(&cache);
    // Each file once, in the variant that is named first.
    let mut seen: Vec<&str> = Vec::new();
    for case in cases::all() {
        for shader in &case.shaders {
            if !seen.contains(&shader.file) {
                seen.push(shader.file);
                compile(shader, &cache).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            }
        }
    }
    for (stage, least) in [("compute", 20), ("vertex", 4), ("fragment", 5)] {
        judge(&rows(stage, &[cache.clone()]), least);
    }
}
