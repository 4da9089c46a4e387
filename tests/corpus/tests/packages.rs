//! Shaders of published packages: what engines of npm give to WebGL, as SPIR-V for Vulkan. At least 95 in 100 compile, none is wrong, none crashes.

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use tepui_corpus::{Report, check, words};

/// The corpus' directory; brings it first when it is not there.
fn corpus() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/corpus");
    let run = |verb: &str| {
        let out = Command::new(&tool).arg(verb).output().expect("tools/corpus starts");
        assert!(
            out.status.success(),
            "`tools/corpus {verb}` fails, and without the corpus there is nothing to test:\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    run("fetch");
    PathBuf::from(run("path"))
}

fn report(package: &str, least: usize) {
    let dir = corpus().join("spv").join(package);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
        .expect("the corpus can be read")
        .map(|e| e.expect("the corpus can be read").path())
        .filter(|p| p.extension().is_some_and(|x| x == "spv"))
        .collect();
    files.sort();
    assert!(files.len() >= least, "{} shaders are not {package}", files.len());
    let entries: Vec<_> = files
        .par_iter()
        .flat_map_iter(|f| check(f, &words(&std::fs::read(f).expect("a module can be read"))))
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
