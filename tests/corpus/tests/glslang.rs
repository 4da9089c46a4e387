//! glslang's test shaders: at least 95 % of those without vendor extensions become machine code, none is
//! wrong, none crashes.

use rayon::prelude::*;
use std::path::PathBuf;
use tepui_corpus::{Report, check, corpus, read};
use tepui_ir_gen::Rng;

fn files() -> Vec<PathBuf> {
    let files = corpus("glslang");
    assert!(files.len() > 400, "{} shaders are not the corpus", files.len());
    files
}

/// Changes a few words.
fn mutate(words: &mut [u32], rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        // The header is kept, because data that is not SPIR-V at all is rejected immediately.
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
            let first = read(file).expect("a module can be read");
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
                let after = &mut |_: &'static str, _: &tepui_ir::Shader| {};
                let mut pipeline = tepui_passes::pipeline::Pipeline::new(target.lanes, after);
                tepui_passes::target::lower_textures(&mut s, &target, &mut pipeline);
                if tepui_passes::target::lower(&mut s, &target, &mut pipeline).is_ok() {
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
        .flat_map_iter(|f| check(f, &read(f).expect("a module can be read")))
        .collect();
    let mut report = Report::default();
    entries.iter().for_each(|e| report.add(e));
    println!("{report}");
    assert!(report.crashed.is_empty() && report.wrong.is_empty(), "{report}");
    assert!(report.share() >= 0.95 && report.agx_share() >= 0.95, "{report}");
    assert!(report.same >= 300, "{report}");
}
