//! `tepui exec`: runs a compute shader on the in-process GPU.

use std::path::PathBuf;
use std::process::ExitCode;

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::compile;
use tepui_agx_model::Options;
use tepui_ir::ResKind;

use crate::cmd_compile::Common;

/// Compiles a compute shader and runs it on the virtual GPU.
///
/// Buffers are named by binding (`0=in.bin`), or by set and binding (`1.0=in.bin`). A number instead of a file is a buffer of so many zero
/// bytes (`1=4096`). After the run `--out` saves buffers; without it the changed buffers are printed as words.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui exec double.comp --groups 4 --buffer 0=in.bin --out 0=out.bin
  tepui exec mandelbrot.comp --groups 8,8 --buffer 0=16384 --push view.bin --out 0=counts.bin")]
pub struct Args {
    /// Shader file.
    file: PathBuf,
    #[command(flatten)]
    common: Common,
    /// Workgroups in each direction.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    groups: String,
    /// Contents of a buffer: a file, or a size in bytes.
    #[arg(long, value_name = "BINDING=FILE")]
    buffer: Vec<String>,
    /// Saves a buffer after the run.
    #[arg(long, value_name = "BINDING=FILE")]
    out: Vec<String>,
    /// File with the push constants.
    #[arg(long, value_name = "FILE")]
    push: Option<PathBuf>,
    /// Reports missing waits and reads of what was never written.
    #[arg(long)]
    check: bool,
}

type Slot = (u32, u32, u32);

fn slot(text: &str) -> Result<(Slot, &str), String> {
    let bad = || format!("`{text}`: write BINDING=FILE or SET.BINDING=FILE");
    let (name, rest) = text.split_once('=').ok_or_else(bad)?;
    let numbers: Vec<u32> =
        name.split('.').map(|n| n.parse().map_err(|_| bad())).collect::<Result<_, _>>()?;
    match numbers[..] {
        [b] => Ok(((0, b, 0), rest)),
        [s, b] => Ok(((s, b, 0), rest)),
        [s, b, k] => Ok(((s, b, k), rest)),
        _ => Err(bad()),
    }
}

fn groups(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    for (k, n) in text.split(',').enumerate() {
        let place = out.get_mut(k).ok_or_else(|| format!("`{text}`: at most three numbers"))?;
        *place = n.trim().parse().map_err(|_| format!("`{n}` is no number of workgroups"))?;
    }
    Ok(out)
}

fn try_run(args: &Args) -> Result<(), String> {
    args.common.check_gpu()?;
    let mut s = args.common.translate(&args.file)?;
    let program = compile(&mut s, &args.common.options()).map_err(|e| e.to_string())?;
    let options = Options { check: args.check, ..Options::default() };
    let mut machine = Machine::new(options).map_err(|e| e.to_string())?;
    let mut bindings = shader::Bindings::default();
    let mut before = Vec::new();
    for b in &args.buffer {
        let (slot, what) = slot(b)?;
        let bytes = match what.parse::<usize>() {
            Ok(n) => vec![0; n],
            Err(_) => std::fs::read(what).map_err(|e| format!("{what}: {e}"))?,
        };
        let buffer = machine.buffer(bytes.len()).map_err(|e| e.to_string())?;
        buffer.write(&bytes).map_err(|e| e.to_string())?;
        before.push((slot, bytes));
        bindings.buffers.insert(slot, buffer);
    }
    for r in s.resources.values() {
        let wanted = matches!(r.kind, ResKind::UniformBuffer | ResKind::StorageBuffer);
        if wanted && !bindings.buffers.contains_key(&(r.set, r.binding, 0)) {
            eprintln!(
                "tepui exec: set {} binding {} ({}) has no --buffer; it is empty",
                r.set, r.binding, r.name
            );
        }
    }
    if let Some(p) = &args.push {
        bindings.push = std::fs::read(p).map_err(|e| format!("{}: {e}", p.display()))?;
    }
    let stats = shader::run(&mut machine, &program, &bindings, groups(&args.groups)?)
        .map_err(|e| e.to_string())?;
    for r in &stats.reports {
        eprintln!("tepui exec: {:#x}: {}: {}", r.at.offset, r.at.text, r.what);
    }
    for o in &args.out {
        let (slot, path) = slot(o)?;
        let b = bindings
            .buffers
            .get(&slot)
            .ok_or_else(|| format!("`{o}`: there is no such --buffer"))?;
        let bytes = b.read().map_err(|e| e.to_string())?;
        std::fs::write(path, bytes).map_err(|e| format!("{path}: {e}"))?;
    }
    if args.out.is_empty() {
        for (slot, old) in &before {
            let Some(b) = bindings.buffers.get(slot) else { continue };
            let new = b.read().map_err(|e| e.to_string())?;
            if new == *old {
                continue;
            }
            println!("set {} binding {}:", slot.0, slot.1);
            for (k, row) in new.chunks(32).enumerate().take(64) {
                let words: Vec<String> = row
                    .chunks(4)
                    .map(|c| c.iter().rev().map(|b| format!("{b:02x}")).collect())
                    .collect();
                println!("{:6x}: {}", k * 32, words.join(" "));
            }
        }
    }
    eprintln!("{} threads, {} instructions of SIMD-groups", stats.threads, stats.instructions);
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui exec: {}: {e}", args.file.display());
            ExitCode::FAILURE
        }
    }
}
