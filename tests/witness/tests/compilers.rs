//! Compares Tepui's compiler with Honeykrisp's on the same SPIR-V in the same process: over the
//! shaders of each stage of the corpus and of the cases, Tepui needs no more instructions and
//! spills, and hardly more registers. Times are printed, but not checked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tepui_witness::cases;
use tepui_witness::compile::{compile, mesa_tool};
use tepui_witness::pipelines::{ShaderFigures, Table};

/// Figures of both compilers for the shaders of a stage in some paths.
fn rows(stage: &str, paths: &[PathBuf]) -> Vec<ShaderFigures> {
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

fn judge(rows: &[ShaderFigures], least: usize) {
    let table = Table(rows);
    println!("{table}");
    assert!(table.len() >= least, "both compile {} shaders\n{table}", table.len());
    assert!(table.mean("instructions") <= 1.0, "{table}");
    assert!(table.mean("registers") <= 1.05, "{table}");
    let (tepui, driver) = table.sum("spills");
    assert!(tepui <= driver, "spills: {tepui} instead of {driver}\n{table}");
}

fn compare(stage: &str, paths: &[PathBuf], least: usize) {
    judge(&rows(stage, paths), least);
}

/// A folder with the shaders of the cases, each file once, in the variant that is named first.
fn of_the_cases() -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compilers");
        let _ = std::fs::remove_dir_all(&cache);
        let mut seen: Vec<&str> = Vec::new();
        for case in cases::all() {
            for shader in &case.shaders {
                if !seen.contains(&shader.file) {
                    seen.push(shader.file);
                    compile(shader, &cache).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                }
            }
        }
        cache
    });
    FOLDER.clone()
}

#[test]
fn compute_shaders_of_glslang() {
    compare("compute", &tepui_corpus::corpus("glslang"), 70);
}

#[test]
fn compute_shaders_of_the_cases() {
    compare("compute", &[of_the_cases()], 20);
}

#[test]
fn vertex_shaders() {
    let mut all = tepui_corpus::corpus("");
    all.push(of_the_cases());
    compare("vertex", &all, 190);
}

#[test]
fn fragment_shaders_of_glslang_and_the_cases() {
    let mut all = tepui_corpus::corpus("glslang");
    all.push(of_the_cases());
    compare("fragment", &all, 150);
}

#[test]
fn fragment_shaders_of_three() {
    compare("fragment", &tepui_corpus::corpus("three"), 35);
}

#[test]
fn fragment_shaders_of_babylon() {
    compare("fragment", &tepui_corpus::corpus("babylon"), 160);
}
