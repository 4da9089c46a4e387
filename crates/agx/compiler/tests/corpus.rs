//! Third-party compute shaders: machine code leaves the same memory as the interpreter.
//!
//! Runs over `.spv` files below the directories in `TEPUI_SHADERS` (separated by colons), or else
//! the corpus of `tools/corpus`, SPIR-V and WGSL, which it brings.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Error, Options, compile};
use tepui_corpus::{Equality, WordDistribution, compare, memory};
use tepui_ir::interp::{Fault, dispatch};
use tepui_ir::{InstFlags, Shader, Stage};

/// Steps of the interpreter, each for all lanes of a workgroup.
const LIMIT: u64 = 60_000;
const GROUPS: [u32; 3] = [2, 1, 1];

fn files() -> Vec<PathBuf> {
    match std::env::var("TEPUI_SHADERS") {
        Ok(list) => {
            let dirs: Vec<PathBuf> = list.split(':').map(PathBuf::from).collect();
            tepui_corpus::modules(&dirs).expect("the directories can be read")
        }
        Err(_) => [tepui_corpus::corpus(""), tepui_corpus::wgsl("")].concat(),
    }
}

/// Shaders that divide by what is denormal among any bits. The GPU divides by zero there, so that a
/// quotient, and whether it becomes a NaN, is another.
const ROUNDING_DEPENDENT: &[&str] = &["spv.debuginfo.glsl.comp.spv"];

#[derive(Debug, Default)]
struct Tally {
    compiled: usize,
    /// Bit for bit.
    same: usize,
    /// Floats that differ by what special functions may.
    near: usize,
    not_run: BTreeMap<String, usize>,
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

fn one(s: &Shader, seed: u64, tally: &mut Tally, name: &str) {
    let mut s = s.clone();
    // Roundings must stay where they are, to compare bits.
    for d in s.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let words = if ROUNDING_DEPENDENT.contains(&name) {
        WordDistribution::Moderate
    } else {
        WordDistribution::Any
    };
    let start = memory(&s, seed, words);
    let first = s.clone();
    let mut want = start.clone();
    want.floats = Some(Default::default());
    let ran = dispatch(&s, GROUPS, &mut want, LIMIT);
    let program =
        match compile(&mut s, &Options { robust: true, check: true, ..Options::default() }) {
            Ok(p) => p,
            Err(e @ (Error::Internal(_) | Error::Encode(_))) => {
                tally.wrong.push(format!("{name}: {e}"));
                return;
            }
            Err(e) => {
                let e = e.to_string();
                let why = e.split_once(": ").map_or(e.as_str(), |w| w.1);
                tally.refused.entry(why.to_owned()).or_default().push(name.to_owned());
                return;
            }
        };
    tally.compiled += 1;
    let mut not_run = |why: String| *tally.not_run.entry(why).or_default() += 1;
    match ran {
        Err(Fault::Unsupported { what, .. }) => return not_run(what),
        Err(e) => {
            return not_run(e.to_string().split_once(": ").map_or("steps", |x| x.1).to_owned());
        }
        Ok(_) if start.buffers.is_empty() && start.images.is_empty() => {
            return not_run("no buffers or images".to_owned());
        }
        Ok(_) => {}
    }
    let options = tepui_agx_model::Options {
        threads: 1,
        instruction_budget: 1 << 24,
        uninitialised: tepui_agx_model::POISON,
        ..Default::default()
    };
    let mut machine = Machine::new(options).expect("a machine");
    let bound = match Bound::new(&mut machine, &first, &start) {
        Ok(b) => b,
        Err(e @ tepui_agx_bare::Error::Texels(_)) => return not_run(e.to_string()),
        Err(e) => panic!("{e}"),
    };
    if let Err(e) = shader::run(&mut machine, &program, &bound.bindings, GROUPS) {
        // Past the end of workgroup memory there is nothing that catches an index.
        if want.out_of_bounds > 0 {
            return not_run("goes out of bounds with these inputs".to_owned());
        }
        tally.wrong.push(format!("{name}: {e}"));
        return;
    }
    let now = bound.memory(&start).expect("bound");
    match compare(&first, &want, &now) {
        Ok(Equality::Bits) => tally.same += 1,
        Ok(Equality::Near) => tally.near += 1,
        Err(_) if want.conflicts > 0 => {
            not_run("lanes store several values to one place".to_owned())
        }
        Err(e) => tally.wrong.push(format!("{name}: {e}")),
    }
}

#[test]
fn compute_shaders_of_the_corpus_leave_what_the_interpreter_leaves() {
    let mut t = Tally::default();
    for f in files() {
        let words = match tepui_corpus::read(&f) {
            Ok(words) => words,
            // naga does not take all WGSL that there is.
            Err(e) if f.extension().is_some_and(|x| x == "wgsl") => {
                println!("{e}");
                continue;
            }
            Err(e) => panic!("{e}"),
        };
        let Ok(entries) = tepui_spirv::entry_points(&words) else { continue };
        for (entry, stage) in entries {
            if stage != Some(Stage::Compute) {
                continue;
            }
            let options = tepui_spirv::Options { entry: Some(entry), stage, ..Default::default() };
            let name = f.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            // Reads lanes past the ends of the sub-group, which hold anything.
            if name.contains("ShuffleRelative") {
                continue;
            }
            let Ok(s) = tepui_spirv::translate(&words, &options) else { continue };
            let r = catch_unwind(AssertUnwindSafe(|| one(&s, name.len() as u64, &mut t, &name)));
            if let Err(p) = r {
                let text = p.downcast_ref::<String>().cloned().unwrap_or_default();
                t.wrong.push(format!("{name}: crashed: {}", text.lines().next().unwrap_or("")));
            }
        }
    }
    println!(
        "compiled {}, the same bits {}, near {}, wrong {}",
        t.compiled,
        t.same,
        t.near,
        t.wrong.len()
    );
    for (why, n) in &t.not_run {
        println!("{n:5} not run: {why}");
    }
    for (why, names) in &t.refused {
        println!("{:5} refused: {why} ({})", names.len(), names[0]);
    }
    for w in &t.wrong {
        println!("wrong: {w}");
    }
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    if std::env::var_os("TEPUI_SHADERS").is_none() {
        assert!(t.compiled >= 103, "{} shaders compile", t.compiled);
        assert!(t.same >= 66, "{} shaders leave the same bits", t.same);
        assert!(t.same + t.near >= 72, "{} shaders leave the same", t.same + t.near);
    }
}
