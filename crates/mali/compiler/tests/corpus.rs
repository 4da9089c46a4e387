//! Third-party shaders of all stages: each is compiled or refused with a reason; the checkers find no error in the code. Compute
//! shaders leave the same memory as the interpreter.

mod rig;

use rig::{CHIPS, Model, Valhall, options, verify_part};
use std::collections::BTreeMap;
use tepui_compiler_test::corpus;
use tepui_ir::Stage;
use tepui_mali_compiler::{Program, StageInfo, compile};

#[derive(Debug, Default)]
struct Tally {
    compiled: BTreeMap<&'static str, usize>,
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

/// Checks each program of a shader.
fn verify(p: &Program) -> Result<(), String> {
    let mut starts = vec![0];
    if let StageInfo::Vertex(info) = &p.stage {
        let entries = [info.without_point_size, info.varying];
        starts.extend(entries.into_iter().flatten().map(|e| e.offset as usize));
    }
    for (n, &start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(p.code.len());
        verify_part(&p.code[start..end])?;
    }
    Ok(())
}

fn one(mut s: tepui_ir::Shader, name: &str, stage: Stage, t: &mut Tally) {
    match compile(&mut s, &options()) {
        Ok(p) => {
            *t.compiled.entry(stage.name()).or_default() += 1;
            if let Err(e) = verify(&p) {
                t.wrong.push(format!("{name} {stage}: {e}"));
            }
        }
        Err(e) if e.is_bug() => t.wrong.push(format!("{name} {stage}: {e}")),
        Err(e) => {
            let e = e.to_string();
            let why = e.split_once(": ").map_or(e.as_str(), |w| w.1);
            t.refused.entry(why.to_owned()).or_default().push(name.to_owned());
        }
    }
}

#[test]
fn shaders_of_the_corpus() {
    let mut t = Tally::default();
    let crashed = corpus::each(&mut |entry| {
        one(entry.shader.clone(), entry.name, entry.stage, &mut t);
    });
    t.wrong.extend(crashed);
    for (stage, all) in &t.compiled {
        println!("{stage}: {all} compiled");
    }
    for (why, names) in &t.refused {
        println!("{:5} refused: {why} ({})", names.len(), names[0]);
    }
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
}

#[test]
fn compute_shaders_of_the_corpus_leave_what_the_interpreter_leaves() {
    for chip in CHIPS {
        corpus::run(&Valhall::new(options()), || Model::new(chip)).has(106, 67, 70);
    }
}
