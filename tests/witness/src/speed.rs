//! Times compute kernels on one device: the best of several submissions, after one that is not
//! counted, so that neither pipelines nor first touches of memory are in the figure.

use std::path::Path;
use std::time::Instant;

use crate::case::Shader;
use crate::compile::compile;
use crate::gpu::{Gpu, Kernel, Result};

/// One kernel's time.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Time {
    /// The kernel.
    pub kernel: &'static str,
    /// Wall time of the fastest submission, in milliseconds.
    pub ms: f64,
    /// Submissions, each of one dispatch.
    pub submissions: usize,
}

/// Submissions of each kernel that count.
const ROUNDS: usize = 5;

/// Times the three kernels, those whose name contains `only`.
pub fn run(gpu: &Gpu, spirv: &Path, only: &str) -> std::result::Result<Vec<Time>, String> {
    let shaders = [
        Shader::new("matmul.comp").define("T", "float").define("SIZE", 512),
        Shader::new("mandelbrot.comp"),
        Shader::new("path_tracer.comp"),
    ];
    let modules =
        shaders.iter().map(|s| compile(s, spirv)).collect::<std::result::Result<Vec<_>, _>>()?;
    times(gpu, &modules, only).map_err(|e| e.to_string())
}

fn times(gpu: &Gpu, modules: &[Vec<u32>], only: &str) -> Result<Vec<Time>> {
    let matrix: Vec<f32> = (0..512 * 512).map(|i| (i % 97) as f32 / 97.0).collect();
    let (a, b) = (gpu.buffer(&matrix)?, gpu.buffer(&matrix)?);
    let product = gpu.output::<f32>(512 * 512)?;
    let matmul = gpu.kernel(&modules[0]).storage(&[&a, &b, &product]).build()?;

    let counts = gpu.output::<u32>(1024 * 768)?;
    let mandelbrot = gpu.kernel(&modules[1]).storage(&[&counts]).push_bytes(24).build()?;
    let view: Vec<u32> = [-2.2f32, -1.3, 3.2 / 1024.0, 2.6 / 768.0]
        .into_iter()
        .map(f32::to_bits)
        .chain([1024, 256])
        .collect();

    let picture = gpu.output::<u32>(640 * 480)?;
    let tracer = gpu.kernel(&modules[2]).storage(&[&picture]).push_bytes(12).build()?;
    let runs: [(&'static str, &Kernel, &[u32], [u32; 3]); 3] = [
        ("matmul_512", &matmul, &[], [32, 32, 1]),
        ("mandelbrot_1024x768", &mandelbrot, &view, [128, 96, 1]),
        ("path_tracer_640x480", &tracer, &[640, 480, 4], [80, 60, 1]),
    ];
    runs.into_iter()
        .filter(|(kernel, ..)| kernel.contains(only))
        .map(|(kernel, program, push, groups)| {
            let ms = best(gpu, program, push, groups)?;
            Ok(Time { kernel, ms, submissions: ROUNDS + 1 })
        })
        .collect()
}

fn best(gpu: &Gpu, kernel: &Kernel, push: &[u32], groups: [u32; 3]) -> Result<f64> {
    let mut best = f64::INFINITY;
    for round in 0..=ROUNDS {
        let start = Instant::now();
        gpu.submit(|c| {
            if !push.is_empty() {
                c.push(kernel, push);
            }
            c.dispatch(kernel, groups);
        })?;
        if round > 0 {
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(best)
}
