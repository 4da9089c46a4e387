//! Translates SPIR-V files and reports: `translate [--print] [--opt] FILE…`; `--opt` runs the optimisations as well.
//!
//! Every entry point of every file is translated and validated; refusals are counted by their reason.

use std::collections::BTreeMap;
use std::process::ExitCode;
use tepui_spirv::{Options, entry_points, translate};

fn main() -> ExitCode {
    let print = std::env::args().any(|a| a == "--print");
    let opt = std::env::args().any(|a| a == "--opt");
    let (mut ok, mut refused, mut invalid, mut crashed) = (0, 0, 0, 0);
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let Ok(bytes) = std::fs::read(&file) else {
            eprintln!("{file}: cannot be read");
            return ExitCode::FAILURE;
        };
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        let entries = match entry_points(&words) {
            Ok(e) => e,
            Err(e) => {
                refused += 1;
                reasons.entry(format!("{}: {}", e.inst, e.kind)).or_default().push(file.clone());
                continue;
            }
        };
        for (name, stage) in entries {
            let options = Options { entry: Some(name), stage, ..Options::default() };
            let r = std::panic::catch_unwind(|| {
                translate(&words, &options).map(|mut s| {
                    let mut v = tepui_ir::validate(&s).map_err(|e| e.to_string());
                    if opt && v.is_ok() {
                        tepui_passes::pipeline::optimise(&mut s);
                        v = tepui_ir::validate(&s).map_err(|e| format!("after passes: {e}"));
                    }
                    (s, v)
                })
            });
            match r {
                Err(_) => {
                    crashed += 1;
                    println!("CRASHED {file}");
                }
                Ok(Err(e)) => {
                    refused += 1;
                    reasons
                        .entry(format!("{}: {}", e.inst, e.kind))
                        .or_default()
                        .push(file.clone());
                    if print {
                        println!("{file}: {e}");
                    }
                }
                Ok(Ok((s, v))) => {
                    if print {
                        println!("{s}");
                    }
                    match v {
                        Ok(()) => ok += 1,
                        Err(e) => {
                            invalid += 1;
                            println!("INVALID {file}: {e}");
                        }
                    }
                }
            }
        }
    }
    for (r, files) in &reasons {
        println!("{:5}  {r}  ({} …)", files.len(), files[0]);
    }
    println!("translated {ok}, refused {refused}, invalid IR {invalid}, crashed {crashed}");
    if crashed + invalid == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
