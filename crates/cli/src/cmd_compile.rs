//! `tepui compile`: compiles shaders to machine code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{self, Colours, Interface};
use tepui_agx_compiler::dot::Dot;
use tepui_agx_compiler::{Options, Snapshot, Table, compile_as};
use tepui_explore::listing::{self, Line, source_lines};
use tepui_gpus::intel::Chip;
use tepui_gpus::{Feature, Gpu};
use tepui_ir::{Shader, Stage};

use crate::{frontend, intel, mali};

/// Compiles shaders to machine code.
///
/// Takes SPIR-V (`.spv`), WGSL (`.wgsl`) and GLSL (`.comp`, `.vert`, `.frag`); of a folder, all
/// such files. For one file it prints assembly and statistics, for several one line each and a
/// total. `tepui compare` compares two runs with `--json`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui compile mandelbrot.comp --gpu m1
  tepui compile shader.spv --gpu m1 --emit ir --after lower_alu
  glslangValidator -V --stdin -S comp -o /dev/stdout < a.comp | tepui compile -
  tepui compile - --stage fragment < blur.glsl
  tepui compile shader.spv --gpu m1 --emit cfg | dot -Tsvg -o graph.svg
  tepui compile blur.frag --target R8G8B8A8_UNORM
  tepui compile blur.frag --watch
  tepui compile blur.frag --emit marked -o blur.s
  tepui compile shaders/ --gpu m1 --json -o new.json && tepui compare old.json new.json")]
pub struct Args {
    /// Shader files, or folders of them; `-` is standard input (GLSL then needs --stage).
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub common: CompilerArgs,
    /// Output to print.
    #[arg(long, value_enum, default_value = "asm")]
    emit: Emit,
    /// With `--emit ir`, `mir` or `cfg`: print the result of this pass instead of the last one.
    /// `list` lists the passes.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Writes to a file.
    #[arg(short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Compiles again whenever a file changes, until interrupted.
    #[arg(long)]
    watch: bool,
}

/// Options of every command that compiles.
#[derive(clap::Args, Clone)]
pub struct CompilerArgs {
    /// The GPU to compile for; `tepui gpus` shows those with a compiler.
    #[arg(long, default_value = "m1", value_parser = crate::gpu::with(Feature::Compiler))]
    pub gpu: Gpu,
    /// Stage (compute, vertex, fragment), if neither the file name nor the entry point determines
    /// it.
    #[arg(long)]
    pub stage: Option<String>,
    /// Entry point.
    #[arg(long)]
    pub entry: Option<String>,
    /// Specialisation constant: id and value (an integer, or a float with a point); for WGSL, the
    /// name or id of an override.
    #[arg(long, value_name = "ID=VALUE")]
    pub spec: Vec<String>,
    /// Macro for GLSL.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Checks buffer accesses against the buffers' sizes.
    #[arg(long)]
    pub robust: bool,
    /// Limits the half-registers of a thread; values that do not fit are spilled.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub registers: u16,
    /// Fragment shaders: format of a render target by Vulkan's name (`R8G8B8A8_UNORM`), for
    /// locations 0, 1, … in turn. The shader then writes the tilebuffer and runs the depth and
    /// stencil tests itself; without targets, that is left to an epilog.
    #[arg(long, value_name = "FORMAT")]
    pub target: Vec<String>,
    /// Samples of the render targets.
    #[arg(long, default_value_t = 1, hide_default_value = true)]
    pub samples: u8,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Emit {
    /// Assembly.
    Asm,
    /// Assembly with the line marks of GNU's assembler (`.file`, `.loc`), which Compiler Explorer reads.
    Marked,
    /// The IR.
    Ir,
    /// The machine IR.
    Mir,
    /// The control-flow graph of the machine IR, for Graphviz's `dot`.
    Cfg,
    /// Machine code, raw.
    Bin,
    /// Statistics only.
    Stats,
}

/// A compiled shader in JSON.
#[derive(Serialize, Deserialize, Clone)]
pub struct Report {
    /// GPU.
    pub gpu: String,
    /// File as given.
    pub file: String,
    /// Stage.
    pub stage: String,
    /// Statistics by name.
    #[serde(default)]
    pub stats: std::collections::BTreeMap<String, i64>,
    /// Instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asm: Vec<Line>,
    /// Vertex and fragment shaders: what links them to each other.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub interface: serde_json::Value,
    /// The error, if it was not compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The statistics by name.
pub fn stats_map(s: &impl Serialize) -> std::collections::BTreeMap<String, i64> {
    serde_json::to_value(s).ok().and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default()
}

impl CompilerArgs {
    fn stage(&self) -> Result<Option<Stage>, String> {
        self.stage
            .as_deref()
            .map(|s| match s {
                "compute" | "comp" => Ok(Stage::Compute),
                "vertex" | "vert" => Ok(Stage::Vertex),
                "fragment" | "frag" => Ok(Stage::Fragment),
                "tess_control" | "tesc" => Ok(Stage::TessControl),
                "tess_evaluation" | "tese" => Ok(Stage::TessEvaluation),
                "geometry" | "geom" => Ok(Stage::Geometry),
                s => Err(format!(
                    "`{s}` is not a stage; write compute, vertex, tess_control, tess_evaluation, geometry or \
                     fragment"
                )),
            })
            .transpose()
    }

    /// Reads a file as SPIR-V.
    pub fn load(&self, path: &Path) -> Result<frontend::Module, String> {
        frontend::load(path, self.stage()?, &self.define, &self.spec)
    }

    /// Reads a file and translates its entry point.
    pub fn translate(&self, path: &Path) -> Result<Shader, String> {
        let module = self.load(path)?;
        self.translate_module(&module)
    }

    /// Translates the SPIR-V of a file to IR.
    pub fn translate_module(&self, module: &frontend::Module) -> Result<Shader, String> {
        let (words, stage) = (&module.words, module.stage);
        let mut spec = Vec::new();
        for s in self.spec.iter().filter(|_| !module.specialised) {
            let (id, value) = s.split_once('=').ok_or_else(|| format!("`{s}`: write ID=VALUE"))?;
            let id = id.parse().map_err(|_| format!("`{id}` is not a number"))?;
            let bits = if value.contains('.') {
                u64::from(
                    value
                        .parse::<f32>()
                        .map_err(|_| format!("`{value}` is not a number"))?
                        .to_bits(),
                )
            } else {
                value.parse::<i64>().map_err(|_| format!("`{value}` is not a number"))? as u64
            };
            spec.push((id, bits));
        }
        if let Some(want) = &self.entry
            && let Ok(all) = tepui_spirv::entry_points(words)
            && !all.iter().any(|(name, _)| name == want)
        {
            let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!(
                "there is no entry point `{want}`; there are: {}",
                names.join(", ")
            ));
        }
        let options = tepui_spirv::Options { entry: self.entry.clone(), stage, spec };
        tepui_spirv::translate(words, &options).map_err(|e| e.to_string())
    }

    /// The stage interface to compile for.
    pub fn interface(&self, stage: Stage) -> Result<Interface, String> {
        if stage != Stage::Fragment || self.target.is_empty() {
            return Ok(Interface::main(stage));
        }
        let mut tile = Tile { samples: self.samples, ..Tile::default() };
        if self.target.len() > tile.formats.len() {
            return Err(format!("there are at most {} render targets", tile.formats.len()));
        }
        for (to, name) in tile.formats.iter_mut().zip(&self.target) {
            let unknown = || format!("`{name}` is not a format; `tepui formats` lists them");
            *to = Some(name.parse().map_err(|_| unknown())?);
        }
        let colours = Colours::Tile(Box::new(tile));
        Ok(Interface::Fragment(abi::Fragment { colours, ..abi::Fragment::default() }))
    }

    /// The options of the compiler for AGX.
    ///
    /// # Errors
    /// For GPUs of other families: not every command that compiles takes them.
    pub fn options(&self) -> Result<Options, String> {
        match self.gpu {
            Gpu::Agx(_) => {}
            gpu => {
                return Err(format!(
                    "shaders for {} are taken by `tepui compile`, `exec`, `check` and `debug` so far; choose m1",
                    gpu.id()
                ));
            }
        }
        Ok(Options { robust: self.robust, registers: self.registers, ..Options::default() })
    }
}

/// Expands folders to the shader files in them.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
        let mut entries: Vec<_> = std::fs::read_dir(dir)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(|e| e.path());
        for e in entries {
            let p = e.path();
            if p.is_dir() {
                walk(&p, out)?;
            } else if p
                .extension()
                .and_then(|e| e.to_str())
                .is_some_and(|e| matches!(e, "spv" | "wgsl" | "comp" | "vert" | "frag"))
            {
                out.push(p);
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    for p in paths {
        if p.is_dir() {
            walk(p, &mut out).map_err(|e| format!("{}: {e}", p.display()))?;
        } else {
            out.push(p.clone());
        }
    }
    Ok(out)
}

/// Compiles a file. Returns its report, the text that `--emit` selects, and the machine code.
/// Results of single passes are formatted only if `snapshots` is set.
fn compile_file(args: &Args, path: &Path, snapshots: bool) -> (Report, String, Vec<u8>) {
    let mut report = Report {
        gpu: args.common.gpu.id().to_owned(),
        file: path.display().to_string(),
        stage: String::new(),
        stats: Default::default(),
        asm: Vec::new(),
        interface: serde_json::Value::Null,
        error: None,
    };
    let module = args.common.load(path);
    let translated = module.and_then(|m| {
        let shader = args.common.translate_module(&m)?;
        Ok((shader, m.words))
    });
    let (mut shader, words) = match translated {
        Ok(s) => s,
        Err(e) => {
            report.error = Some(e);
            return (report, String::new(), Vec::new());
        }
    };
    report.stage = shader.info.stage.to_string();
    if let Gpu::Intel(chip) = args.common.gpu {
        return compile_intel(args, chip, (shader, &words), report);
    }
    if let Gpu::Mali(_) = args.common.gpu {
        return compile_mali(args, (shader, &words), report);
    }
    let mut text = String::new();
    let mut names: Vec<&'static str> = Vec::new();
    let (want, emit) = (args.after.as_deref(), args.emit);
    if snapshots && emit == Emit::Ir && want == Some("spirv") {
        text = shader.to_string();
    }
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        names.push(name);
        if !snapshots || want.is_some_and(|w| w != name) {
            return;
        }
        match made {
            Snapshot::Ir(s) if emit == Emit::Ir => text = s.to_string(),
            Snapshot::Mir(m) if emit == Emit::Mir => text = m.to_string(),
            Snapshot::Mir(m) if emit == Emit::Cfg => {
                text = Dot { function: m, name: &report.file }.to_string();
            }
            _ => {}
        }
    };
    let interface = match args.common.interface(shader.info.stage) {
        Ok(i) => i,
        Err(e) => {
            report.error = Some(e);
            return (report, String::new(), Vec::new());
        }
    };
    let feedback = (emit == Emit::Asm && !shader.captures.is_empty()).then(|| shader.clone());
    let options = match args.common.options() {
        Ok(options) => options,
        Err(e) => {
            report.error = Some(e);
            return (report, String::new(), Vec::new());
        }
    };
    let program = compile_as(&mut shader, &options, &interface, &mut after);
    if snapshots && want == Some("list") {
        names.dedup();
        return (report, format!("spirv\n{}\n", names.join("\n")), Vec::new());
    }
    match program {
        Err(e) => report.error = Some(e.to_string()),
        Ok(p) => {
            report.stats = stats_map(&p.stats);
            report.asm = listing::lines(&p.code, &shader, &p.locs);
            if p.table != Table::None {
                report.interface = serde_json::to_value(&p.table).unwrap_or_default();
            }
            if emit == Emit::Asm {
                text = listing::text(&p, &shader, &source_lines(&words));
            }
            if emit == Emit::Marked {
                text = listing::marked(&p, &shader);
            }
            if emit == Emit::Asm {
                text.push_str(&p.table.to_string());
            }
            if matches!(emit, Emit::Asm | Emit::Stats) {
                text.push_str(&p.stats.line(&report.stage.to_uppercase()));
                text.push('\n');
            }
            match feedback.map(|shader| capture(args, shader, &words)) {
                Some(Ok(code)) => text.push_str(&code),
                Some(Err(e)) => report.error = Some(e),
                None => {}
            }
            return (report, text, p.code);
        }
    }
    (report, text, Vec::new())
}

/// Compiles a translated shader for an Intel GPU.
fn compile_intel(
    args: &Args,
    chip: &Chip,
    (mut shader, words): (Shader, &[u32]),
    mut report: Report,
) -> (Report, String, Vec<u8>) {
    let mut passes = intel::Passes {
        want: args.after.as_deref(),
        ir: args.emit == Emit::Ir,
        names: Vec::new(),
        text: if args.after.as_deref() == Some("spirv") {
            shader.to_string()
        } else {
            String::new()
        },
    };
    let options = intel::options(args.common.registers);
    let program = intel::program(&mut shader, chip, &options, &mut passes);
    if args.after.as_deref() == Some("list") {
        passes.names.dedup();
        return (report, format!("spirv\n{}\n", passes.names.join("\n")), Vec::new());
    }
    let p = match program {
        Ok(p) => p,
        Err(e) => {
            report.error = Some(e);
            return (report, passes.text, Vec::new());
        }
    };
    report.stats = stats_map(&p.stats);
    report.asm = tepui_explore::intel::lines(&p, chip, &shader);
    let text = match args.emit {
        Emit::Ir | Emit::Mir => passes.text,
        Emit::Asm => intel::text(&p, chip, &shader, &source_lines(words)) + &intel::stats(&p),
        Emit::Stats => intel::stats(&p),
        Emit::Bin => String::new(),
        Emit::Marked | Emit::Cfg => {
            report.error = Some(format!("--emit of this kind is not there for {} yet", chip.id));
            String::new()
        }
    };
    (report, text, p.code)
}

/// Compiles a translated shader for Valhall.
fn compile_mali(
    args: &Args,
    (mut shader, words): (Shader, &[u32]),
    mut report: Report,
) -> (Report, String, Vec<u8>) {
    let file = report.file.clone();
    let mut passes = mali::Passes {
        want: args.after.as_deref(),
        of: match args.emit {
            Emit::Ir => mali::Wanted::Ir,
            Emit::Mir => mali::Wanted::Mir,
            Emit::Cfg => mali::Wanted::Graph,
            _ => mali::Wanted::Nothing,
        },
        file: &file,
        names: Vec::new(),
        text: String::new(),
    };
    if args.after.as_deref() == Some("spirv") {
        passes.text = shader.to_string();
    }
    let options = tepui_explore::mali::options(args.common.registers, args.common.robust);
    let program = mali::program(&mut shader, &options, &mut passes);
    if args.after.as_deref() == Some("list") {
        passes.names.dedup();
        return (report, format!("spirv\n{}\n", passes.names.join("\n")), Vec::new());
    }
    let p = match program {
        Ok(p) => p,
        Err(e) => {
            report.error = Some(e);
            return (report, passes.text, Vec::new());
        }
    };
    report.stats = stats_map(&p.stats);
    report.asm = tepui_explore::mali::lines(&p, &shader);
    let text = match args.emit {
        Emit::Ir | Emit::Mir | Emit::Cfg => passes.text,
        Emit::Asm => mali::text(&p, &shader, &source_lines(words)) + &mali::stats(&p),
        Emit::Stats => mali::stats(&p),
        Emit::Bin => String::new(),
        Emit::Marked => {
            report.error = Some("--emit marked is not there for Mali yet".to_owned());
            String::new()
        }
    };
    (report, text, p.code)
}

/// Compiles the compute program that writes the outputs captured by transform feedback.
fn capture(args: &Args, mut shader: Shader, words: &[u32]) -> Result<String, String> {
    let results = abi::VertexResults::Memory;
    let interface = Interface::Vertex(abi::Vertex { results, ..abi::Vertex::default() });
    let p = compile_as(&mut shader, &args.common.options()?, &interface, &mut |_, _| {})
        .map_err(|e| format!("transform feedback: {e}"))?;
    let code = listing::text(&p, &shader, &source_lines(words));
    Ok(format!("# transform feedback, as a compute program\n{code}{}\n", p.stats.line("CAPTURE")))
}

fn write(output: &Option<PathBuf>, bytes: &[u8]) -> Result<(), String> {
    use std::io::Write;
    match output {
        Some(p) => std::fs::write(p, bytes).map_err(|e| format!("{}: {e}", p.display())),
        None => match std::io::stdout().write_all(bytes) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.to_string()),
            _ => Ok(()),
        },
    }
}

fn compile_files(args: &Args, files: &[PathBuf]) -> Result<ExitCode, String> {
    let bar = indicatif::ProgressBar::new(files.len() as u64).with_style(
        indicatif::ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}")
            .map_err(|e| e.to_string())?,
    );
    let all: Vec<Report> = files
        .par_iter()
        .map(|f| {
            let got = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                compile_file(args, f, false).0
            }));
            bar.inc(1);
            let mut r = got.unwrap_or_else(|_| Report {
                gpu: args.common.gpu.id().to_owned(),
                file: f.display().to_string(),
                stage: String::new(),
                stats: Default::default(),
                asm: Vec::new(),
                interface: serde_json::Value::Null,
                error: Some("crashed".to_owned()),
            });
            if !args.json {
                r.asm.clear();
            }
            r
        })
        .collect();
    bar.finish_and_clear();
    if args.json {
        let text = serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?;
        write(&args.output, format!("{text}\n").as_bytes())?;
    } else {
        let mut text = format!(
            "{:>7} {:>7} {:>5} {:>6} {:>6}  file\n",
            "inst", "alu", "regs", "spills", "loops"
        );
        let mut total = 0;
        for r in &all {
            let get = |n: &str| r.stats.get(n).copied().unwrap_or(0);
            match &r.error {
                Some(e) => text.push_str(&format!(
                    "{:>7}  {}: {}\n",
                    "-",
                    r.file,
                    e.lines().next().unwrap_or("")
                )),
                None => {
                    total += get("instructions");
                    text.push_str(&format!(
                        "{:>7} {:>7} {:>5} {:>6} {:>6}  {}\n",
                        get("instructions"),
                        get("alu"),
                        get("registers"),
                        get("spills"),
                        get("loops"),
                        r.file
                    ));
                }
            }
        }
        let good = all.iter().filter(|r| r.error.is_none()).count();
        text.push_str(&format!(
            "{total:>7} instructions, {good} of {} shaders compiled\n",
            all.len()
        ));
        write(&args.output, text.as_bytes())?;
    }
    let failed = all.iter().any(|r| r.error.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn try_run(args: &Args) -> Result<ExitCode, String> {
    let files = expand(&args.files)?;
    if files.len() != 1 {
        if files.is_empty() {
            return Err("there are no shader files (.spv .wgsl .comp .vert .frag)".to_owned());
        }
        return compile_files(args, &files);
    }
    let (report, text, code) = compile_file(args, &files[0], true);
    if let Some(e) = &report.error {
        if !text.is_empty() {
            write(&args.output, text.as_bytes())?;
        }
        return Err(format!("{}: {e}", report.file));
    }
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(|e| e.to_string())?;
        write(&args.output, format!("{text}\n").as_bytes())?;
    } else if args.emit == Emit::Bin {
        write(&args.output, &code)?;
    } else {
        write(&args.output, text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Interval at which `--watch` checks the files.
const GLANCE: std::time::Duration = std::time::Duration::from_millis(100);

/// Compiles whenever a file changes, for ever.
fn watch(args: &Args) -> ! {
    let stamps = || -> Vec<_> {
        let files = expand(&args.files).unwrap_or_default();
        let stamp = |f: PathBuf| {
            let about = std::fs::metadata(&f).ok();
            (f, about.as_ref().map(std::fs::Metadata::len), about.and_then(|m| m.modified().ok()))
        };
        files.into_iter().map(stamp).collect()
    };
    let mut before = None;
    loop {
        let now = stamps();
        if before.as_ref() != Some(&now) {
            if before.is_some() {
                println!();
            }
            once(args);
            before = Some(now);
        }
        std::thread::sleep(GLANCE);
    }
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    if args.watch {
        if args.files.iter().any(|f| crate::input::is_stdin(f)) {
            eprintln!("tepui compile: standard input cannot be watched");
            return ExitCode::FAILURE;
        }
        watch(args)
    }
    once(args)
}

fn once(args: &Args) -> ExitCode {
    try_run(args).unwrap_or_else(|e| {
        eprintln!("tepui compile: {e}");
        ExitCode::FAILURE
    })
}
