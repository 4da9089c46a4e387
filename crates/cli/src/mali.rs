//! `tepui compile`, `tepui exec` and `tepui check` for Valhall.

use std::fmt::Write;

use tepui_check::Finding;
use tepui_explore as explore;
use tepui_explore::listing::SourceLines;
use tepui_explore::mali::instructions;
use tepui_explore::mali::run::{RunOptions, run as explore_run};
use tepui_explore::run::Inputs;
use tepui_gpus::mali::Chip;
use tepui_ir::{Shader, SrcLoc};
use tepui_mali_bare::{Bindings, Machine};
use tepui_mali_compiler::{
    Layout, Options, Program, Snapshot, StageInfo, compile, compile_with, dot::Dot,
};
use tepui_mali_isa::inst::BYTES;
use tepui_mali_model::{JobStats, Report};

/// Output of the passes that is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Results of passes on the IR.
    Ir,
    /// Results of passes on the machine IR.
    Mir,
    /// The graph of the machine IR.
    Graph,
    /// Nothing.
    Nothing,
}

/// The results of passes: the names of all, and the text of the one that is wanted.
pub struct Passes<'a> {
    /// The pass whose result is wanted; none for the last one.
    pub want: Option<&'a str>,
    /// The kind of result.
    pub of: Wanted,
    /// The file, for graphs.
    pub file: &'a str,
    /// Names of the passes that ran.
    pub names: Vec<&'static str>,
    /// The text.
    pub text: String,
}

/// Compiles a shader.
///
/// # Errors
/// Why it is not compiled.
pub fn program(
    shader: &mut Shader,
    options: &Options<'_>,
    passes: &mut Passes<'_>,
) -> Result<Program, String> {
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        passes.names.push(name);
        if passes.want.is_some_and(|want| want != name) {
            return;
        }
        match (made, passes.of) {
            (Snapshot::Ir(s), Wanted::Ir) => passes.text = s.to_string(),
            (Snapshot::Mir(f), Wanted::Mir) => passes.text = f.to_string(),
            (Snapshot::Mir(function), Wanted::Graph) => {
                passes.text = Dot { function, name: passes.file }.to_string();
            }
            _ => {}
        }
    };
    compile_with(shader, options, &mut after).map_err(|e| e.to_string())
}

/// The statistics of each program, a line each.
pub fn stats(program: &Program) -> String {
    let mut out = format!("{}\n", program.stats);
    if let StageInfo::Vertex(info) = &program.stage {
        let parts = [("without point size", info.without_point_size), ("varyings", info.varying)];
        for (name, entry) in parts {
            if let Some(entry) = entry {
                let _ = writeln!(out, "{name}: {}", entry.stats);
            }
        }
    }
    out
}

/// Assembly with the lines of the source, in the syntax of `tepui asm`; then what the driver places.
pub fn text(program: &Program, shader: &Shader, sources: &SourceLines) -> String {
    let mut out = String::new();
    let mut last = SrcLoc::default();
    let mut next = 0;
    for (offset, inst, loc) in instructions(program, shader) {
        if offset != next {
            let _ = writeln!(out, "// program at {offset:#x}");
            last = SrcLoc::default();
        }
        next = offset + BYTES;
        if loc.line != 0 && (loc.file, loc.line) != (last.file, last.line) {
            last = loc;
            let file = shader.files.get(loc.file as usize).map_or("", String::as_str);
            let line = sources.get(file).and_then(|s| s.get(loc.line as usize - 1));
            let _ = writeln!(out, "// {}: {}", loc.line, line.map_or("", String::as_str));
        }
        let _ = writeln!(out, "{inst}");
    }
    for (k, word) in program.fau.iter().enumerate() {
        let _ = writeln!(out, "// u{k}: {word:?}");
    }
    out
}

/// Compiles a compute shader and runs it; buffers then hold what it left. With `check`, also returns what the checker found.
///
/// # Errors
/// When it is not compiled, or does not run to its end.
pub fn exec(
    shader: &mut Shader,
    chip: &'static Chip,
    options: &Options<'_>,
    run: &mut Run,
) -> Result<(JobStats, Vec<Report>), String> {
    run.bindings.layout = Layout::of(shader);
    let program = compile(shader, options).map_err(|e| e.to_string())?;
    let model = tepui_mali_model::Options { check: run.check, ..Default::default() };
    let machine = Machine::new(chip, model);
    let stats = machine.run(&program, &mut run.bindings, run.groups).map_err(|e| e.to_string())?;
    Ok((stats, machine.take_reports()))
}

/// Runs a shader with the checker, and gives the findings with the lines of its source.
///
/// # Errors
/// When it is not compiled, or does not run to its end.
pub fn check(
    chip: &'static Chip,
    text: &explore::compile::Text,
    inputs: &Inputs,
) -> Result<Vec<Finding>, String> {
    let compiled = explore::mali::compile(text, chip, false).map_err(|e| e.to_string())?;
    let how = RunOptions { check: true, ..RunOptions::default() };
    let ran = explore_run(text, &compiled, inputs, how).map_err(|e| e.to_string())?;
    Ok(ran.outcome.map_err(|e| e.to_string())?.findings)
}

/// Inputs of a shader's run.
pub struct Run {
    /// Buffers, images, samplers and push constants.
    pub bindings: Bindings,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Whether the checker looks for what the program does not wait for.
    pub check: bool,
}
