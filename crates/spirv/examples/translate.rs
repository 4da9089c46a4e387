//! Translates SPIR-V files and reports: `translate [--print] [--opt] FILE…`; `--opt` runs the optimisations as well,
//! `--run` runs compute shaders before and after them in the interpreter, on buffers of small numbers, and compares memory.
//!
//! Every entry point of every file is translated and validated; refusals are counted by their reason.

use std::collections::BTreeMap;
use std::process::ExitCode;
use tepui_ir::interp::{Fault, ImageData, Memory, dispatch};
use tepui_ir::{InstFlags, ResKind, Shader, Stage};
use tepui_spirv::{Options, entry_points, translate};

/// Memory for every resource of a shader.
fn memory(s: &Shader) -> Memory {
    let mut m = Memory { push: (0..256).map(|i| i as u8 % 3).collect(), ..Memory::default() };
    for r in s.resources.values() {
        for k in 0..r.count.clamp(1, 8) {
            let slot = (r.set, r.binding, k);
            match r.kind {
                ResKind::UniformBuffer | ResKind::StorageBuffer => {
                    let words = (0..4096u32).flat_map(|i| (i.wrapping_mul(7) % 5).to_le_bytes());
                    m.buffers.insert(slot, words.collect());
                }
                _ => {
                    m.images.insert(slot, ImageData::new([8, 8, 1], 4, 1));
                }
            }
        }
    }
    m
}

/// Whether two runs, before and after the optimisations, end in the same memory; `None` when the interpreter cannot run it.
fn same(s: &Shader) -> Option<bool> {
    let mut before = s.clone();
    // Roundings must stay where they are, to compare bits.
    for d in before.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let mut after = before.clone();
    tepui_passes::pipeline::optimise(&mut after);
    let run = |s: &Shader| -> Result<Memory, Fault> {
        let mut m = memory(s);
        dispatch(s, [2, 1, 1], &mut m, 2_000_000).map(|_| m)
    };
    match (run(&before), run(&after)) {
        (Ok(a), Ok(b)) => Some(a.buffers == b.buffers && a.images == b.images),
        (Ok(_), Err(e)) => {
            println!("{e}");
            Some(false)
        }
        (Err(e), _) => {
            println!("not run: {e}");
            None
        }
    }
}

fn main() -> ExitCode {
    let run = std::env::args().any(|a| a == "--run");
    let (mut agree, mut differ) = (0, 0);
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
                    if run && s.info.stage == Stage::Compute && v.is_ok() {
                        match same(&s) {
                            Some(true) => agree += 1,
                            Some(false) => {
                                differ += 1;
                                println!("DIFFERENT {file}");
                            }
                            None => {}
                        }
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
    if run {
        println!("compute shaders run: the same memory {agree}, different {differ}");
    }
    if crashed + invalid + differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
