//! `tepui-corpus FILE…`: what becomes of each shader, and the report.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use tepui_corpus::{Outcome, Report, check, words};

/// Takes SPIR-V files through the front end, the passes and the interpreter, and reports.
#[derive(Parser)]
struct Args {
    /// SPIR-V modules; every entry point of a supported stage is taken.
    files: Vec<PathBuf>,
    /// Print the IR after translation, or after this pass of the optimisations.
    #[arg(long, value_name = "PASS", num_args = 0..=1, default_missing_value = "")]
    print: Option<String>,
    /// Print a line for each entry point.
    #[arg(long)]
    each: bool,
    /// Translate and optimise each file this many times and print the median times.
    #[arg(long, value_name = "N")]
    time: Option<usize>,
    /// With --time: how often each pass runs, and for how long.
    #[arg(long, requires = "time")]
    passes: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut report = Report::default();
    for file in &args.files {
        let bytes = match std::fs::read(file) {
            Ok(b) => b,
            Err(e) => {
                eprintln!("{}: {e}", file.display());
                return ExitCode::FAILURE;
            }
        };
        let words = words(&bytes);
        if let Some(n) = args.time {
            time(file, &words, n, args.passes);
            continue;
        }
        if let Some(pass) = &args.print {
            print(&words, pass);
        }
        for e in check(file, &words) {
            if args.each {
                println!("{} {}: {:?}", file.display(), e.name, e.outcome);
            } else if let Outcome::Refused(why) = &e.outcome {
                println!("{} {}: {why}", file.display(), e.name);
            }
            report.add(&e);
        }
    }
    if args.time.is_some() {
        return ExitCode::SUCCESS;
    }
    print!("{report}");
    if report.wrong.is_empty() && report.crashed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn time(file: &std::path::Path, words: &[u32], n: usize, passes: bool) {
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
