//! `tepui bench compile`: measures compile time.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::beside::{self, Comparison, Peer};
use crate::cmd_compile::{CompilerArgs, expand, stats_map};
use crate::frontend;
use tepui_gpus::Gpu;

/// Measures compile time: compiles each shader several times on one thread, from SPIR-V to machine
/// code.
///
/// The time includes everything from the SPIR-V words on, but not reading files and translating
/// GLSL or WGSL to SPIR-V.
#[derive(clap::Args)]
#[command(after_help = "Example:
  tepui bench compile shader.spv other.spv --gpu m1 -n 40 --json
  tepui bench compile matmul.comp fft.comp --gpu tgl --beside mesa
  tepui bench compile --scale -n 3
  tepui bench compile --scale --save FOLDER   # the same shaders as files, for `witness pipelines`")]
pub struct Args {
    /// Shader files, or folders of them.
    #[arg(required_unless_present = "scale")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    common: CompilerArgs,
    /// Number of compilations of each shader.
    #[arg(short, default_value_t = 40)]
    n: usize,
    /// Generated shaders of growing size instead of files: how time grows with size.
    #[arg(long, conflicts_with = "files")]
    scale: bool,
    /// With `--scale`: writes the shaders to this folder.
    #[arg(long, requires = "scale")]
    save: Option<PathBuf>,
    /// Compiles with this peer too, in turns, and prints the statistics of both. Needs Debian's Mesa (`tools/mesa fetch`)
    /// and the program `witness` of this project; of options, `--gpu` and `-n` count.
    #[arg(long, value_enum, conflicts_with = "scale")]
    beside: Option<Peer>,
    /// The script that runs programs on Debian's Mesa.
    #[arg(long, default_value = "tools/mesa", requires = "beside")]
    mesa: PathBuf,
    /// The Vulkan client; by default next to this program.
    #[arg(long, requires = "beside")]
    witness: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// A line of the report.
#[derive(serde::Serialize)]
struct Row {
    file: String,
    stage: String,
    ms_median: f64,
    ms_min: f64,
    stats: std::collections::BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Compiles a shader for the GPU that the options name; its statistics.
fn stats(
    s: &mut tepui_ir::Shader,
    common: &CompilerArgs,
) -> Result<std::collections::BTreeMap<String, i64>, String> {
    if let Gpu::Intel(chip) = common.gpu {
        let options = crate::intel::options(common.registers);
        let p = tepui_intel_compiler::compile(s, chip.generation, &options);
        return p.map(|p| stats_map(&p.stats)).map_err(|e| e.to_string());
    }
    if let Gpu::Mali(_) = common.gpu {
        let options = tepui_explore::mali::options(common.registers, common.robust);
        let p = tepui_mali_compiler::compile(s, &options);
        return p.map(|p| stats_map(&p.stats)).map_err(|e| e.to_string());
    }
    let p = tepui_agx_compiler::compile(s, &common.options()?);
    p.map(|p| stats_map(&p.stats)).map_err(|e| e.to_string())
}

fn one(args: &Args, path: &std::path::Path) -> Row {
    let mut row = Row {
        file: path.display().to_string(),
        stage: String::new(),
        ms_median: 0.0,
        ms_min: 0.0,
        stats: Default::default(),
        error: None,
    };
    let stage = None;
    let module = match frontend::load(path, stage, &args.common.define, &args.common.spec) {
        Ok(m) => m,
        Err(e) => {
            row.error = Some(e);
            return row;
        }
    };
    let mut times = Vec::with_capacity(args.n);
    for _ in 0..args.n.max(1) {
        let start = Instant::now();
        let compiled = args.common.translate_module(&module).and_then(|mut s| {
            let stats = stats(&mut s, &args.common)?;
            Ok((s.info.stage, stats))
        });
        times.push(start.elapsed().as_secs_f64() * 1e3);
        match compiled {
            Ok((stage, stats)) => {
                row.stage = stage.to_string();
                row.stats = stats;
            }
            Err(e) => {
                row.error = Some(e);
                return row;
            }
        }
    }
    times.sort_by(f64::total_cmp);
    row.ms_median = times[times.len() / 2];
    row.ms_min = times[0];
    row
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    if args.scale {
        return super::scale::run(args.n, args.json, args.save.as_deref(), &args.common);
    }
    let files = match expand(&args.files) {
        Ok(f) => f,
        Err(e) => {
            eprintln!("tepui bench compile: {e}");
            return ExitCode::FAILURE;
        }
    };
    if args.beside == Some(Peer::Mesa) {
        let comparison = Comparison {
            gpu: args.common.gpu,
            files: &files,
            n: args.n,
            json: args.json,
            mesa: &args.mesa,
            witness: args.witness.as_deref(),
        };
        return beside::run(&comparison).unwrap_or_else(|why| {
            eprintln!("tepui bench compile: {why}");
            ExitCode::FAILURE
        });
    }
    let rows: Vec<Row> = files.iter().map(|f| one(args, f)).collect();
    if args.json {
        match serde_json::to_string_pretty(&rows) {
            Ok(t) => println!("{t}"),
            Err(e) => eprintln!("tepui bench compile: {e}"),
        }
    } else {
        println!("{:>10} {:>10} {:>7}  file", "ms median", "ms min", "inst");
        for r in &rows {
            match &r.error {
                Some(e) => println!(
                    "{:>10} {:>10} {:>7}  {}: {}",
                    "-",
                    "-",
                    "-",
                    r.file,
                    e.lines().next().unwrap_or("")
                ),
                None => println!(
                    "{:>10.3} {:>10.3} {:>7}  {}",
                    r.ms_median,
                    r.ms_min,
                    r.stats.get("instructions").copied().unwrap_or(0),
                    r.file
                ),
            }
        }
    }
    if rows.iter().any(|r| r.error.is_some()) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
