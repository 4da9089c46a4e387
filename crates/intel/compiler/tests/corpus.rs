//! Third-party shaders of all stages: each is compiled or refused with a reason; the compiler finds no error in its own
//! output, and the code of every number of channels decodes. Compute shaders leave the same memory as the interpreter.

mod rig;

use rig::{Eu, GENERATIONS, Model, options};
use std::collections::BTreeMap;
use tepui_compiler_test::corpus;
use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{Rules, check as check_scoreboard};
use tepui_intel_compiler::{Options, Program, compile};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::Stage;

#[derive(Debug, Default)]
struct Tally {
    /// By stage: compiled shaders, and fragment shaders of two widths among them.
    compiled: BTreeMap<&'static str, [usize; 2]>,
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

fn decodes(p: &Program, generation: Generation) -> Result<(), String> {
    for v in &p.variants {
        let (mut at, end) = (v.offset as usize, (v.offset + v.stats.bytes) as usize);
        while at < end {
            let inst = Inst::decode(generation, &p.code, at).map_err(|e| e.to_string())?;
            at += inst.bytes();
        }
        if at != end {
            return Err(format!("SIMD{}: the code ends within an instruction", v.width));
        }
    }
    Ok(())
}

/// Checks that the scoreboard of Gen12 orders all accesses of registers.
fn is_ordered(p: &Program) -> Result<(), String> {
    for v in &p.variants {
        let code = &p.code[v.offset as usize..][..v.stats.bytes as usize];
        let code = Code::decode(Generation::Gen12, code).map_err(|e| e.to_string())?;
        let rules = Rules { in_order_writes: false, ..Rules::STRICT };
        let found = check_scoreboard(&code, rules).map_err(|e| e.to_string())?;
        if let Some(first) = found.first() {
            return Err(format!("SIMD{}: {}", v.width, first.text(&code)));
        }
    }
    Ok(())
}

fn one(mut s: tepui_ir::Shader, generation: Generation, name: &str, stage: Stage, t: &mut Tally) {
    let options = Options { check: true, ..Options::default() };
    match compile(&mut s, generation, &options) {
        Ok(p) => {
            let counts = t.compiled.entry(stage.name()).or_default();
            counts[0] += 1;
            counts[1] += usize::from(p.variants.len() > 1);
            let ordered = match generation {
                Generation::Gen9 => Ok(()),
                Generation::Gen12 => is_ordered(&p),
            };
            if let Err(e) = decodes(&p, generation).and(ordered) {
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
fn shaders_of_the_corpus_on_skylake() {
    compile_all(Generation::Gen9);
}

#[test]
fn shaders_of_the_corpus_on_tiger_lake() {
    compile_all(Generation::Gen12);
}

fn compile_all(generation: Generation) {
    let mut t = Tally::default();
    let crashed = corpus::each(&mut |entry| {
        one(entry.shader.clone(), generation, entry.name, entry.stage, &mut t);
    });
    t.wrong.extend(crashed);
    for (stage, [all, both]) in &t.compiled {
        println!("{stage}: {all} compiled, {both} of them for 8 and 16 channels");
    }
    for (why, names) in &t.refused {
        println!("{:5} refused: {why} ({})", names.len(), names[0]);
    }
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
}

#[test]
fn compute_shaders_of_the_corpus_leave_what_the_interpreter_leaves() {
    for generation in GENERATIONS {
        let eu = Eu(generation, options(16));
        corpus::run(&eu, || Model::new(generation)).has(101, 66, 70);
    }
}
