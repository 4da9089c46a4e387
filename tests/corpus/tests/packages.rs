//! Shaders of published packages: what engines of npm give to WebGL, as SPIR-V for Vulkan. At least 95 in 100 compile, none is wrong, none crashes.

use rayon::prelude::*;
use tepui_corpus::{Report, check, corpus, read};

fn report(package: &str, least: usize) {
    let files = corpus(package);
    assert!(files.len() >= least, "{} shaders are not {package}", files.len());
    let entries: Vec<_> = files
        .par_iter()
        .flat_map_iter(|f| check(f, &read(f).expect("a module can be read")))
        .collect();
    let mut report = Report::default();
    entries.iter().for_each(|e| report.add(e));
    println!("{package}: {report}");
    assert!(report.crashed.is_empty() && report.wrong.is_empty(), "{report}");
    assert!(report.share() >= 0.95, "{report}");
}

#[test]
fn shaders_of_three() {
    report("three", 80);
}

#[test]
fn shaders_of_babylon() {
    report("babylon", 180);
}
