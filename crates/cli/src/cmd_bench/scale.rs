//! `tepui bench compile --scale`: how compile time grows with the size of a shader.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::cmd_compile::CompilerArgs;
use tepui_gpus::Gpu;
use tepui_ir::Shader;
use tepui_ir_gen::scale::Shape;

/// Sizes of the shapes whose size SPIR-V leaves open.
const SIZES: [u32; 4] = [1_000, 4_000, 7_000, 16_000];
/// Sizes of those that nest: SPIR-V allows 1,023 levels.
const DEPTHS: [u32; 4] = [125, 250, 500, 1_000];

/// A line of the report.
#[derive(serde::Serialize)]
struct Row {
    shape: &'static str,
    n: u32,
    ms_front: f64,
    ms_compile: f64,
    instructions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn one(shape: Shape, n: u32, times: usize, common: &CompilerArgs) -> Row {
    let mut row = Row {
        shape: shape.name(),
        n,
        ms_front: 0.0,
        ms_compile: 0.0,
        instructions: 0,
        error: None,
    };
    let words = shape.module(n);
    let mut all: Vec<(f64, f64)> = Vec::with_capacity(times);
    for _ in 0..times.max(1) {
        let start = Instant::now();
        let mut s = match tepui_spirv::translate(&words, &Default::default()) {
            Ok(s) => s,
            Err(e) => {
                row.error = Some(e.to_string());
                return row;
            }
        };
        let front = start.elapsed().as_secs_f64() * 1e3;
        match instructions(&mut s, common) {
            Ok(count) => row.instructions = count,
            Err(e) => {
                row.error = Some(e);
                return row;
            }
        }
        all.push((front, start.elapsed().as_secs_f64() * 1e3 - front));
    }
    all.sort_by(|a, b| (a.0 + a.1).total_cmp(&(b.0 + b.1)));
    (row.ms_front, row.ms_compile) = all[all.len() / 2];
    row
}

/// Compiles a shader for the GPU; returns its number of instructions.
fn instructions(s: &mut Shader, common: &CompilerArgs) -> Result<u32, String> {
    if let Gpu::Intel(chip) = common.gpu {
        let options = crate::intel::options(common.registers);
        let compiled = tepui_intel_compiler::compile(s, chip.generation, &options);
        return compiled.map(|p| p.stats.instructions).map_err(|e| e.to_string());
    }
    let compiled = tepui_agx_compiler::compile(s, &common.options()?);
    compiled.map(|p| p.stats.instructions).map_err(|e| e.to_string())
}

/// Runs the benchmark; with `save`, the modules go to that folder, for other compilers.
pub fn run(times: usize, json: bool, save: Option<&Path>, common: &CompilerArgs) -> ExitCode {
    let mut rows = Vec::new();
    if !json {
        println!("{:>10} {:>10} {:>8} {:>9}  shape", "ms front", "ms rest", "inst", "us/piece");
    }
    for shape in Shape::ALL {
        let nests = matches!(shape, Shape::NestedIfs | Shape::NestedLoops | Shape::Returns);
        for n in if nests { DEPTHS } else { SIZES } {
            if let Some(folder) = save {
                let bytes: Vec<u8> = shape.module(n).iter().flat_map(|w| w.to_le_bytes()).collect();
                let file = folder.join(format!("{}-{n}.spv", shape.name().replace(' ', "-")));
                if let Err(e) = std::fs::write(&file, bytes) {
                    eprintln!("tepui bench compile: {}: {e}", file.display());
                    return ExitCode::FAILURE;
                }
            }
            let row = one(shape, n, times, common);
            if !json {
                match &row.error {
                    Some(e) => println!(
                        "{:>10} {:>10} {:>8} {:>9}  {n} {}: {e}",
                        "-", "-", "-", "-", row.shape
                    ),
                    None => println!(
                        "{:>10.2} {:>10.2} {:>8} {:>9.2}  {n} {}",
                        row.ms_front,
                        row.ms_compile,
                        row.instructions,
                        (row.ms_front + row.ms_compile) * 1e3 / f64::from(n),
                        row.shape
                    ),
                }
            }
            rows.push(row);
        }
    }
    if json {
        match serde_json::to_string_pretty(&rows) {
            Ok(t) => println!("{t}"),
            Err(e) => eprintln!("tepui bench compile: {e}"),
        }
    }
    ExitCode::SUCCESS
}
