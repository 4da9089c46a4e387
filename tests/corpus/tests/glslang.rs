//! glslang's test shaders: at least 95 in 100 of those that any Vulkan 1.3 GPU may be given compile, none is wrong, none crashes.

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use tepui_corpus::{Report, check, words};
use tepui_ir_gen::Rng;

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

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    modules(&corpus().join("spv/glslang"), &mut files);
    files.sort();
    assert!(files.len() > 400, "{} shaders are not the corpus", files.len());
    files
}

/// Changes a few words.
fn mutate(words: &mut [u32], rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        // The header stays: what is not SPIR-V at all is no work.
        let at = 5 + rng.below(words.len() - 5);
        words[at] = match rng.below(4) {
            0 => rng.bits() as u32,
            1 => words[at] ^ (1 << rng.below(32)),
            2 => words[5 + rng.below(words.len() - 5)],
            _ => rng.below(64) as u32,
        };
    }
}

#[test]
fn mutated_shaders_give_errors_or_valid_shaders() {
    let translated: usize = files()
        .par_iter()
        .enumerate()
        .map(|(n, file)| {
            let first = words(&std::fs::read(file).expect("a module can be read"));
            let mut rng = Rng::new(n as u64);
            let mut ok = 0;
            for turn in 0..40 {
                let mut words = first.clone();
                mutate(&mut words, &mut rng);
                let Ok(mut s) = tepui_spirv::translate(&words, &Default::default()) else {
                    continue;
                };
                ok += 1;
                let check = |s: &tepui_ir::Shader, when| {
                    if let Err(e) = tepui_ir::validate(s) {
                        panic!("{}, mutation {turn}, {when}: {e}", file.display());
                    }
                };
                check(&s, "translated");
                tepui_passes::pipeline::optimise(&mut s);
                check(&s, "optimised");
                let target = tepui_passes::target::Target::default();
                if tepui_passes::target::lower(&mut s, &target, &mut |_, _| {}).is_ok() {
                    check(&s, "lowered");
                }
            }
            ok
        })
        .sum();
    assert!(translated > 1000, "{translated} mutated shaders are still shaders");
}

#[test]
fn glslang_shaders_compile_and_keep_their_meaning() {
    let entries: Vec<_> = files()
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
