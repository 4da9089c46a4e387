//! Third-party compute shaders: machine code leaves the same memory as the interpreter.
//!
//! [`run`] takes the `.spv` files below the directories in `TEPUI_SHADERS` (separated by colons), or else
//! the corpus of `tools/corpus`, SPIR-V and WGSL, which it brings.

mod files;
mod inputs;
mod near;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tepui_ir::interp::{Fault, dispatch_of};
use tepui_ir::{InstFlags, Shader, Stage};

use crate::{Compiler, Executor, Failure, Refusal};

pub use files::{corpus, modules, primitives, read, wgsl, words};
pub use inputs::{WordDistribution, memory};
pub use near::{Equality, compare};

/// Steps of the interpreter, each for all lanes of a workgroup.
const LIMIT: u64 = 60_000;
/// Workgroups.
const GROUPS: [u32; 3] = [2, 1, 1];

/// Words of shaders whose result depends on denormals among any bits. GPUs that flush them divide by zero, so that a quotient, and
/// whether it becomes a NaN, is another, and do not tell two of them apart.
const DENORMAL_DEPENDENT: &[(&str, WordDistribution)] = &[
    ("spv.debuginfo.glsl.comp.spv", WordDistribution::Moderate),
    ("tile_alloc.wgsl", WordDistribution::Floats),
];

/// Outcomes of the shaders.
#[derive(Debug, Default)]
pub struct Tally {
    /// Shaders that compile.
    pub compiled: usize,
    /// Shaders that leave the same memory, bit for bit.
    pub same: usize,
    /// Shaders whose floats differ by what special functions may.
    pub near: usize,
    /// Shaders that were not run or compared, by reason.
    pub not_run: BTreeMap<String, usize>,
    /// Shaders that the compiler refused, by reason.
    pub refused: BTreeMap<String, Vec<String>>,
    /// Shaders that leave something else.
    pub wrong: Vec<String>,
}

impl Tally {
    /// Prints the counts, then the reasons.
    pub fn print(&self) {
        let Tally { compiled, same, near, wrong, .. } = self;
        println!("compiled {compiled}, the same bits {same}, near {near}, wrong {}", wrong.len());
        for (why, n) in &self.not_run {
            println!("{n:5} not run: {why}");
        }
        for (why, names) in &self.refused {
            println!("{:5} refused: {why} ({})", names.len(), names[0]);
        }
        for w in wrong {
            println!("wrong: {w}");
        }
    }

    /// Asserts that no shader leaves something else, and that at least these numbers compile, leave the same bits, and leave the same
    /// or nearly; for other shaders than the corpus only the former.
    ///
    /// # Panics
    /// When that is not so.
    pub fn has(&self, compiled: usize, same: usize, near: usize) {
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        if std::env::var_os("TEPUI_SHADERS").is_none() {
            assert!(self.compiled >= compiled, "{} shaders compile", self.compiled);
            assert!(self.same >= same, "{} shaders leave the same bits", self.same);
            let all = self.same + self.near;
            assert!(all >= near, "{all} shaders leave the same");
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    match std::env::var("TEPUI_SHADERS") {
        Ok(list) => {
            let dirs: Vec<PathBuf> = list.split(':').map(PathBuf::from).collect();
            modules(&dirs).expect("the directories can be read")
        }
        Err(_) => [corpus(""), primitives(), wgsl("")].concat(),
    }
}

/// Compiles and runs one shader.
fn one<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    executor: &mut impl FnMut() -> E,
    s: &Shader,
    tally: &mut Tally,
    name: &str,
) {
    let mut s = s.clone();
    // Roundings must stay where they are, to compare bits.
    for d in s.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let words = DENORMAL_DEPENDENT.iter().find(|(other, _)| *other == name);
    let words = words.map_or(WordDistribution::Any, |(_, words)| *words);
    let start = memory(&s, name.len() as u64, words);
    let first = s.clone();
    let mut want = start.clone();
    want.floats = Some(Default::default());
    let ran = dispatch_of(&s, GROUPS, compiler.subgroup(), &mut want, LIMIT);
    compiler.prepare(&mut s);
    let program = match compiler.compile(&s) {
        Ok(p) => p,
        Err(Refusal::Bug(e)) => return tally.wrong.push(format!("{name}: {e}")),
        Err(Refusal::Unsupported(why)) => {
            return tally.refused.entry(why).or_default().push(name.to_owned());
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
    let mut now = start.clone();
    match executor().execute(&program, &first, &mut now, GROUPS) {
        Ok(()) => {}
        Err(Failure::Unsupported(why)) => return not_run(why),
        // Past the end of workgroup memory there is nothing that catches an index.
        Err(Failure::Wrong(_)) if want.out_of_bounds > 0 => {
            return not_run("goes out of bounds with these inputs".to_owned());
        }
        Err(Failure::Wrong(e)) => return tally.wrong.push(format!("{name}: {e}")),
    }
    match compare(&first, &want, &now) {
        Ok(Equality::Bits) => tally.same += 1,
        Ok(Equality::Near) => tally.near += 1,
        Err(_) if want.conflicts > 0 => {
            not_run("lanes store several values to one place".to_owned())
        }
        Err(e) => tally.wrong.push(format!("{name}: {e}")),
    }
}

/// Entry point of a module: the name of its file, its stage, and its shader.
pub struct Entry<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Stage.
    pub stage: Stage,
    /// Shader.
    pub shader: Shader,
}

/// Calls `f` for all entry points that the front end takes, of all stages; returns the text of each panic in it, with the name.
///
/// # Panics
/// When a file cannot be read.
pub fn each(f: &mut dyn FnMut(&Entry<'_>)) -> Vec<String> {
    let mut crashed = Vec::new();
    for file in all_files() {
        let words = match read(&file) {
            Ok(words) => words,
            // naga does not take all WGSL that there is.
            Err(e) if file.extension().is_some_and(|x| x == "wgsl") => {
                println!("{e}");
                continue;
            }
            Err(e) => panic!("{e}"),
        };
        let Ok(entries) = tepui_spirv::entry_points(&words) else { continue };
        let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        for (entry, stage) in entries {
            let Some(stage) = stage else { continue };
            let options = tepui_spirv::Options {
                entry: Some(entry),
                stage: Some(stage),
                ..Default::default()
            };
            let Ok(shader) = tepui_spirv::translate(&words, &options) else { continue };
            let entry = Entry { name: &name, stage, shader };
            if let Err(p) = catch_unwind(AssertUnwindSafe(|| f(&entry))) {
                crashed.push(format!("{name}: crashed: {}", crate::panic_text(&*p)));
            }
        }
    }
    crashed
}

/// Compiles and runs the compute shaders of the corpus.
///
/// # Panics
/// When a file cannot be read.
pub fn run<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    mut executor: impl FnMut() -> E,
) -> Tally {
    let mut t = Tally::default();
    let crashed = each(&mut |entry| {
        // `ShuffleRelative` reads lanes past the ends of the subgroup, which hold anything.
        if entry.stage == Stage::Compute && !entry.name.contains("ShuffleRelative") {
            one(compiler, &mut executor, &entry.shader, &mut t, entry.name);
        }
    });
    t.wrong.extend(crashed);
    t.print();
    t
}
