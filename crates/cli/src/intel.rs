//! `tepui compile`, `tepui exec` and `tepui check` for Intel's GPUs.

use std::fmt::Write;

use tepui_check::Finding;
use tepui_explore as explore;
use tepui_explore::intel::instructions;
use tepui_explore::intel::run::{RunOptions, run as explore_run};
use tepui_explore::listing::SourceLines;
use tepui_explore::run::Inputs;
use tepui_gpus::intel::Chip;
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_compiler::print::Text;
use tepui_intel_compiler::{Options, Program, Snapshot, compile, compile_with};
use tepui_intel_model::JobStats;
use tepui_ir::{Shader, SrcLoc};

/// Options of the compiler from those of the command line.
pub fn options(registers: u16) -> Options<'static> {
    Options { registers, ..Options::default() }
}

/// The results of passes: the names of all, and the text of the one that is wanted.
pub struct Passes<'a> {
    /// The pass whose result is wanted; none for the last one.
    pub want: Option<&'a str>,
    /// The result of passes on the IR, else of those on the machine IR.
    pub ir: bool,
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
    chip: &Chip,
    options: &Options,
    passes: &mut Passes<'_>,
) -> Result<Program, String> {
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        passes.names.push(name);
        if passes.want.is_some_and(|want| want != name) {
            return;
        }
        match made {
            Snapshot::Ir(s) if passes.ir => passes.text = s.to_string(),
            Snapshot::Mir(f) if !passes.ir => passes.text = Text(f).to_string(),
            _ => {}
        }
    };
    compile_with(shader, chip.generation, options, &mut after).map_err(|e| e.to_string())
}

/// The statistics of each number of channels, a line each.
pub fn stats(program: &Program) -> String {
    program.variants.iter().map(|v| format!("{}\n", v.stats)).collect()
}

/// Assembly with the lines of the source, in the syntax of `tepui asm`; then what the driver places. The program for
/// another number of channels begins with a line of its own.
pub fn text(program: &Program, chip: &Chip, shader: &Shader, sources: &SourceLines) -> String {
    let mut out = String::new();
    let mut last = SrcLoc::default();
    for (offset, inst, loc) in instructions(program, chip, shader) {
        let begins = program.variants.iter().find(|v| v.offset as usize == offset);
        if let Some(v) = begins.filter(|_| program.variants.len() > 1) {
            let _ = writeln!(out, "// SIMD{}", v.width);
            last = SrcLoc::default();
        }
        if loc.line != 0 && (loc.file, loc.line) != (last.file, last.line) {
            last = loc;
            let file = shader.files.get(loc.file as usize).map_or("", String::as_str);
            let line = sources.get(file).and_then(|s| s.get(loc.line as usize - 1));
            let _ = writeln!(out, "// {}: {}", loc.line, line.map_or("", String::as_str));
        }
        let _ = writeln!(out, "{inst}");
    }
    for (k, c) in program.map.constants.iter().enumerate() {
        let _ = writeln!(out, "// constant {k}: {c:?}");
    }
    for (k, s) in program.map.surfaces.iter().enumerate() {
        let _ = writeln!(out, "// surface {k}: {s:?}");
    }
    out
}

/// Compiles a compute shader and runs it; buffers then hold what it left.
///
/// # Errors
/// When it is not compiled, or does not run to its end.
pub fn exec(
    shader: &mut Shader,
    chip: &'static Chip,
    options: &Options,
    run: &mut Run,
) -> Result<(Program, JobStats), String> {
    let program = compile(shader, chip.generation, options).map_err(|e| e.to_string())?;
    let model = tepui_intel_model::Options { check: run.check, ..Default::default() };
    let machine = Machine::new(chip, model);
    run.bindings.sets = tepui_intel_compiler::set_memory::placement(shader);
    let stats = machine.run(&program, &mut run.bindings, run.groups).map_err(|e| e.to_string())?;
    Ok((program, stats))
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
    let compiled = explore::intel::compile(text, chip, false).map_err(|e| e.to_string())?;
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
    /// Whether the checker looks for reads of what was never written.
    pub check: bool,
}
