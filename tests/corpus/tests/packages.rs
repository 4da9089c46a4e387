//! Shaders of published packages: those that npm packages pass to WebGL, as SPIR-V for Vulkan, and those that
//! crates pass to WebGPU. At least 95 % become machine code, none is wrong, none crashes.

use rayon::prelude::*;
use std::path::PathBuf;
use tepui_corpus::{Report, check, corpus, read, wgsl};

fn report(package: &str, files: &[PathBuf], least: usize) {
    // Files that naga does not accept are skipped.
    let modules: Vec<_> = files
        .iter()
        .filter_map(|f| read(f).inspect_err(|e| println!("{e}")).ok().map(|words| (f, words)))
        .collect();
    assert!(modules.len() >= least, "{} shaders are not {package}", modules.len());
    let entries: Vec<_> = modules.par_iter().flat_map_iter(|(f, words)| check(f, words)).collect();
    let mut report = Report::default();
    entries.iter().for_each(|e| report.add(e));
    println!("{package}: {report}");
    assert!(report.crashed.is_empty() && report.wrong.is_empty(), "{report}");
    assert!(report.share() >= 0.95 && report.agx_share() >= 0.95, "{report}");
}

#[test]
fn shaders_of_three() {
    report("three", &corpus("three"), 80);
}

#[test]
fn shaders_of_babylon() {
    report("babylon", &corpus("babylon"), 180);
}

#[test]
fn shaders_of_vello() {
    report("vello", &wgsl("vello"), 23);
}

#[test]
fn shaders_of_crates() {
    report("crates", &wgsl(""), 60);
}
