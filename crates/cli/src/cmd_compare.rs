//! `tepui compare`: compares the statistics of two runs of `tepui compile --json` or `tepui run --stats`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cmd_compile::Report;

/// Compares the statistics of two runs of `tepui compile … --json` or `tepui run --stats FILE`.
///
/// Prints for each statistic the totals, the number of shaders helped and hurt, the mean ratio, and
/// the shaders that changed most.
#[derive(clap::Args)]
#[command(after_help = "Example:
  tepui compile shaders/ --json -o new.json && tepui compare old.json new.json
  tepui run --stats new.json -- vkcube --c 100 && tepui compare old.json new.json")]
pub struct Args {
    /// The run before.
    old: PathBuf,
    /// The run after.
    new: PathBuf,
    /// Number of changed shaders to list for each statistic.
    #[arg(long, default_value_t = 5)]
    top: usize,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// The change of one statistic.
#[derive(serde::Serialize, Default)]
struct Change {
    before: i64,
    after: i64,
    helped: usize,
    hurt: usize,
    /// Geometric mean of after over before, where neither is zero.
    ratio: f64,
    /// Shaders that changed: file, before, after.
    changed: Vec<(String, i64, i64)>,
}

fn read(path: &Path) -> Result<BTreeMap<String, Report>, String> {
    let text = crate::input::open(path)
        .and_then(std::io::read_to_string)
        .map_err(|e| format!("{}: {e}", path.display()))?;
    // An array, or concatenated reports as `tepui run --stats` writes them.
    let list: Vec<Report> = serde_json::from_str(&text)
        .or_else(|_| serde_json::Deserializer::from_str(&text).into_iter().collect())
        .map_err(|e| {
            let path = path.display();
            format!("{path}: {e}; it should come from tepui compile --json or tepui run --stats")
        })?;
    Ok(list.into_iter().map(|r| (format!("{} {}", r.file, r.stage), r)).collect())
}

fn try_run(args: &Args) -> Result<(), String> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let mut all: BTreeMap<String, Change> = BTreeMap::new();
    let (mut lost, mut won) = (Vec::new(), Vec::new());
    let mut logs: BTreeMap<String, (f64, usize)> = BTreeMap::new();
    for (key, b) in &new {
        let Some(a) = old.get(key) else { continue };
        match (&a.error, &b.error) {
            (None, Some(e)) => lost.push(format!("{}: {}", b.file, e.lines().next().unwrap_or(""))),
            (Some(_), None) => won.push(b.file.clone()),
            _ => {}
        }
        for (name, &after) in &b.stats {
            let Some(&before) = a.stats.get(name) else { continue };
            let c = all.entry(name.clone()).or_default();
            c.before += before;
            c.after += after;
            // More threads are better; more of any other statistic is worse.
            let better = if name == "threads" { after > before } else { after < before };
            if after != before {
                c.changed.push((b.file.clone(), before, after));
                if better { c.helped += 1 } else { c.hurt += 1 }
            }
            if before > 0 && after > 0 {
                let l = logs.entry(name.clone()).or_default();
                l.0 += (after as f64 / before as f64).ln();
                l.1 += 1;
            }
        }
    }
    for (name, (sum, n)) in logs {
        if let Some(c) = all.get_mut(&name) {
            c.ratio = (sum / n.max(1) as f64).exp();
        }
    }
    for c in all.values_mut() {
        c.changed.sort_by(|x, y| {
            let r = |v: &(String, i64, i64)| ((v.2 as f64 + 1.0) / (v.1 as f64 + 1.0)).ln().abs();
            r(y).total_cmp(&r(x))
        });
        c.changed.truncate(args.top);
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?);
        return Ok(());
    }
    println!(
        "{:>22} {:>10} {:>10} {:>8} {:>7} {:>6}",
        "", "before", "after", "ratio", "helped", "hurt"
    );
    for (name, c) in &all {
        println!(
            "{name:>22} {:>10} {:>10} {:>8.4} {:>7} {:>6}",
            c.before, c.after, c.ratio, c.helped, c.hurt
        );
    }
    for (name, c) in all.iter().filter(|(_, c)| !c.changed.is_empty()) {
        println!("\n{name}:");
        for (file, before, after) in &c.changed {
            println!("  {before:>7} -> {after:<7} {file}");
        }
    }
    for f in &won {
        println!("compiles now: {f}");
    }
    for f in &lost {
        println!("no longer compiles: {f}");
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui compare: {e}");
            ExitCode::FAILURE
        }
    }
}
