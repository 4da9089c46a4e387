//! glslang's test shaders: at least 95 in 100 of those that any Vulkan 1.3 GPU may be given compile, none is wrong, none crashes.

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use tepui_corpus::{Report, check, words};

/// The corpus' directory; brings it first when it is not there.
fn corpus() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/corpus");
    let run = |verb: &str| {
        let out = Command::new(&tool).arg(verb).output().expect("tools/corpus starts");
        let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        assert!(
            out.status.success(),
            "`tools/corpus {verb}` fails, and without the corpus there is nothing to test:\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
        text
    };
    run("fetch");
    PathBuf::from(run("path"))
}

fn modules(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).expect("the corpus can be read") {
        let path = e.expect("the corpus can be read").path();
        if path.is_dir() {
            modules(&path, out);
        } else if path.extension().is_some_and(|x| x == "spv") {
            out.push(path);
        }
    }
}

#[test]
fn glslang_shaders_compile_and_keep_their_meaning() {
    let mut files = Vec::new();
    modules(&corpus().join("spv/glslang"), &mut files);
    files.sort();
    assert!(files.len() > 400, "{} shaders are not the corpus", files.len());
    let entries: Vec<_> = files
        .par_iter()
        .flat_map_iter(|f| check(f, &words(&std::fs::read(f).expect("a module can be read"))))
        .collect();
    let mut report = Report::default();
    entries.iter().for_each(|e| report.add(e));
    println!("{report}");
    assert!(report.crashed.is_empty() && report.wrong.is_empty(), "{report}");
    assert!(report.share() >= 0.95, "{report}");
    assert!(report.same >= 300, "{report}");
}
