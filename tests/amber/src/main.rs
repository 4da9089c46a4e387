//! `tepui-amber PATH…`: runs Amber scripts and prints how many passed, failed and were refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rayon::prelude::*;
use tepui_agx_bare::pair::Linking;
use tepui_amber::{Engine, Error, Interpreter, Model, Report, Runner, assemble, parse_in, scripts};

/// Runs Amber scripts without a driver.
#[derive(Parser)]
#[command(after_help = "Example:
  tepui-amber --on linked FOLDER")]
struct Args {
    /// Scripts, or folders of `.amber` files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The engine.
    #[arg(long, value_enum, default_value = "model")]
    on: EngineKind,
    /// Folder for assembled shaders.
    #[arg(long, value_name = "DIR", default_value_os_t = assemble::default_cache())]
    cache: PathBuf,
    /// Print a line for each script.
    #[arg(long)]
    each: bool,
    /// Print the counts as JSON.
    #[arg(long, conflicts_with = "each")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineKind {
    /// Tepui's compiler and the AGX model; each stage of a draw is compiled as one program.
    Model,
    /// Version of `model`: prolog, main and epilog are compiled separately and linked.
    Linked,
    /// The IR interpreter, which runs compute shaders only.
    Interpreter,
}

fn one(file: &Path, args: &Args) -> Result<(), Error> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|e| Error::Invalid { line: 0, what: e.to_string() })?;
    let script = parse_in(&text, file.parent())?;
    let mut engine: Box<dyn Engine> = match args.on {
        EngineKind::Model => Box::new(Model { making: Linking::Monolithic }),
        EngineKind::Linked => Box::new(Model { making: Linking::Separate }),
        EngineKind::Interpreter => Box::new(Interpreter),
    };
    Runner::new(&script, &args.cache)?.run(engine.as_mut())
}

fn guarded(file: &Path, args: &Args) -> Result<(), Error> {
    catch_unwind(AssertUnwindSafe(|| one(file, args))).unwrap_or_else(|p| {
        let text = p.downcast_ref::<String>().map(String::as_str);
        let text = text.or(p.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let what = format!("crashed: {}", text.lines().next().unwrap_or_default());
        Err(Error::Failed { line: 0, what })
    })
}

fn main() -> ExitCode {
    let args = Args::parse();
    let files = match scripts(&args.files) {
        Ok(f) => f,
        Err(e) => {
            eprintln!("tepui-amber: {e}");
            return ExitCode::FAILURE;
        }
    };
    let done: Vec<_> = files.par_iter().map(|f| (f, guarded(f, &args))).collect();
    let mut report = Report::default();
    for (file, result) in &done {
        let name = file.display().to_string();
        if args.each {
            let what = result.as_ref().err().map_or("passed".to_owned(), Error::to_string);
            println!("{name}: {what}");
        }
        report.add(name, result);
    }
    if args.json {
        match serde_json::to_string_pretty(&report) {
            Ok(text) => println!("{text}"),
            Err(e) => eprintln!("tepui-amber: {e}"),
        }
    } else {
        print!("{report}");
    }
    if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
