//! `tepui-corpus PATH…`: checks each shader and prints a report.

use clap::Parser;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tepui_corpus::{Entry, Outcome, Report, check, modules, read};

/// Takes SPIR-V files through the front end, the passes, the interpreter and the AGX back end, and
/// reports.
#[derive(Parser)]
#[command(after_help = "Example:
  tepui-corpus FOLDER --json")]
struct Args {
    /// SPIR-V modules, or folders of them; every entry point of a supported stage is taken.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print the IR after translation, or after this pass of the optimisations.
    #[arg(long, value_name = "PASS", num_args = 0..=1, default_missing_value = "")]
    print: Option<String>,
    /// Print a line for each entry point.
    #[arg(long)]
    each: bool,
    /// Print the report as JSON.
    #[arg(long, conflicts_with_all = ["each", "print", "time"])]
    json: bool,
    /// Translate and optimise each file this many times and print the median times.
    #[arg(long, value_name = "N")]
    time: Option<usize>,
    /// With --time: how often each pass runs, and for how long.
    #[arg(long, requires = "time")]
    passes: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("tepui-corpus: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, String> {
    let load = |f: &Path| read(f).map_err(|e| format!("{}: {e}", f.display()));
    let files = modules(&args.files).map_err(|e| e.to_string())?;
    if args.time.is_some() || args.print.is_some() {
        for f in &files {
            let words = load(f)?;
            if let Some(n) = args.time {
                time(f, &words, n, args.passes);
            }
            if let Some(pass) = &args.print {
                print(&words, pass);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let entries: Vec<Vec<Entry>> =
        files.par_iter().map(|f| Ok(check(f, &load(f)?))).collect::<Result<_, String>>()?;
    let mut report = Report::default();
    for e in entries.iter().flatten() {
        if args.each {
            println!("{} {}: {:?}", e.file.display(), e.name, e.outcome);
        } else if let (Outcome::Refused(why), false) = (&e.outcome, args.json) {
            println!("{} {}: {why}", e.file.display(), e.name);
        }
        report.add(e);
    }
    match args.json {
        true => {
            println!("{}", serde_json::to_string_pretty(&report).map_err(|e| e.to_string())?);
        }
        false => print!("{report}"),
    }
    let sound = report.wrong.is_empty() && report.crashed.is_empty();
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn time(file: &Path, words: &[u32], n: usize, passes: bool) {
    let mut times = Vec::new();
    for _ in 0..n.max(1) {
        let start = std::time::Instant::now();
        let Ok(mut s) = tepui_spirv::translate(words, &Default::default()) else { return };
        let middle = std::time::Instant::now();
        tepui_passes::pipeline::optimise(&mut s);
        times.push(((middle - start).as_secs_f64(), middle.elapsed().as_secs_f64()));
    }
    if passes {
        let mut each: std::collections::BTreeMap<&str, (u32, f64)> = Default::default();
        let Ok(mut s) = tepui_spirv::translate(words, &Default::default()) else { return };
        let mut last = std::time::Instant::now();
        tepui_passes::pipeline::optimise_with(&mut s, &mut |name, _| {
            let e = each.entry(name).or_default();
            *e = (e.0 + 1, e.1 + last.elapsed().as_secs_f64() * 1e3);
            last = std::time::Instant::now();
        });
        for (name, (runs, ms)) in each {
            println!("  {name:12} {runs:3} runs {ms:7.3} ms");
        }
    }
    let median = |pick: fn(&(f64, f64)) -> f64| {
        let mut t: Vec<f64> = times.iter().map(pick).collect();
        t.sort_by(f64::total_cmp);
        t[t.len() / 2] * 1e3
    };
    println!(
        "{}: translate {:.3} ms, optimise {:.3} ms",
        file.display(),
        median(|t| t.0),
        median(|t| t.1)
    );
}

fn print(words: &[u32], pass: &str) {
    let Ok(mut s) = tepui_spirv::translate(words, &Default::default()) else { return };
    if pass.is_empty() {
        println!("{s}");
        return;
    }
    let mut last = None;
    tepui_passes::pipeline::optimise_with(&mut s, &mut |name, s| {
        if name == pass {
            last = Some(s.to_string());
        }
    });
    match last {
        Some(text) => println!("{text}"),
        None => eprintln!("no pass `{pass}` ran"),
    }
}
