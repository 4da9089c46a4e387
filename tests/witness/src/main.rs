//! `witness`: runs cases on one Vulkan device and records their outputs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
#[cfg(feature = "compiler")]
use tepui_ir::Stage;
use tepui_witness::case::{Bench, Case, Record};
use tepui_witness::endurance::{self, Endurance};
use tepui_witness::gpu::{Gpu, Layouts, Pipelines, Robustness};
#[cfg(feature = "compiler")]
use tepui_witness::pipelines;
use tepui_witness::{cases, compare, compile, dispatch, draw, driver_speed, jobs};

/// As in `tepui`, whose compiler is measured here.
#[cfg(target_arch = "x86_64")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs compute cases on one Vulkan device and records the buffers.
///
/// Examples:
///   tools/mesa run --icd lavapipe -- target/release/witness run --device llvmpipe algorithms/
///   tepui shim --gpu m1 -- tools/mesa run -- target/release/witness run --device Apple int32/div
///   witness compare lavapipe/int32.div.record m1/int32.div.record
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
enum Cli {
    /// Lists the cases.
    List {
        /// Only names that contain one of these.
        names: Vec<String>,
    },
    /// Compiles the shaders of cases.
    Compile {
        /// The folder for SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
        /// Only names that contain one of these.
        names: Vec<String>,
    },
    /// Runs cases, and judges them where the CPU has an answer.
    Run {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// The folder for compiled SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
        /// A directory for the records, one a case.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Prints nothing, so that the output is the driver's alone.
        #[arg(long)]
        quiet: bool,
        /// The way in which graphics pipelines are made.
        #[arg(long, default_value = "whole")]
        pipelines: Pipelines,
        /// The layouts of images while they are rendered to.
        #[arg(long, default_value = "general")]
        layouts: Layouts,
        /// The names given are whole names, not parts.
        #[arg(long)]
        exact: bool,
        /// Only names that contain one of these.
        names: Vec<String>,
    },
    /// Times kernels and prints milliseconds as JSON.
    Speed {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// The folder for compiled SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
        /// Only kernels whose name contains this.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Measures what the driver costs on the CPU, and prints JSON: draws, pipelines, memory of objects
    Driver {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// Measures draws alone.
        #[arg(long)]
        only_draws: bool,
        /// The folder for compiled SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
    },
    /// Measures frames of a scene with a geometry shader and of one with patches, and prints JSON
    Scenes {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// The folder for compiled SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
    },
    /// Wears the driver out: objects made and destroyed many times, allocations that fail, damaged shaders.
    Endure {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// The folder for compiled SPIR-V.
        #[arg(long, default_value = "/tmp/witness-spirv")]
        spirv: PathBuf,
        /// The task.
        what: Endurance,
        /// The number of repetitions.
        times: u64,
    },
    /// Compiles shaders with the driver and with Tepui, alternately, and prints the results of both.
    #[cfg(feature = "compiler")]
    Pipelines {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// The number of times that each compiles each shader.
        #[arg(short, default_value_t = 10)]
        n: usize,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
        /// The shaders of these stages.
        #[arg(long, value_delimiter = ',', default_value = "compute", value_parser = stage)]
        stages: Vec<Stage>,
        /// SPIR-V files, or folders of them.
        files: Vec<PathBuf>,
    },
    /// Runs dispatches with given memory, and keeps what they leave (see `tests/executors.rs`).
    Dispatch {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// File of the jobs.
        jobs: PathBuf,
        /// Directory for the answers.
        out: PathBuf,
    },
    /// Draws triangles with given memory, and keeps the pictures (see `tests/pictures`).
    Draw {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
        /// File of the jobs.
        jobs: PathBuf,
        /// Directory for the answers.
        out: PathBuf,
    },
    /// Prints what the driver offers as JSON: extensions, features, properties.
    Offers {
        /// Part of the device's name.
        #[arg(long)]
        device: String,
    },
    /// Compares the second record with the first.
    Compare {
        /// The record that is right.
        peer: PathBuf,
        /// The record to judge.
        record: PathBuf,
    },
}

/// The end of a process that ran jobs.
fn answered(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("witness: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(feature = "compiler")]
fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name).ok_or_else(|| "compute, vertex or fragment".to_owned())
}

fn main() -> ExitCode {
    match Cli::parse() {
        Cli::List { names } => {
            for case in select(&names, false) {
                println!("{:32} {}", case.name, case.about);
            }
            ExitCode::SUCCESS
        }
        Cli::Compile { spirv, names } => {
            let mut failed = false;
            for case in select(&names, false) {
                for shader in &case.shaders {
                    if let Err(error) = compile::compile(shader, &spirv) {
                        eprintln!("{}: {error}", case.name);
                        failed = true;
                    }
                }
            }
            ExitCode::from(u8::from(failed))
        }
        Cli::Run { device, spirv, out, quiet, pipelines, layouts, exact, names } => {
            let out = out.as_deref();
            run(&device, &spirv, out, quiet, (pipelines, layouts), &select(&names, exact))
        }
        Cli::Driver { device, only_draws: true, spirv } => {
            print("driver", driver_speed::only_draws(&device, &spirv))
        }
        Cli::Driver { device, spirv, .. } => print("driver", driver_speed::run(&device, &spirv)),
        Cli::Scenes { device, spirv } => print("scenes", driver_speed::scenes(&device, &spirv)),
        Cli::Endure { device, spirv, what, times } => {
            print("endure", endurance::run(what, &device, &spirv, times))
        }
        Cli::Speed { device, spirv, only } => {
            let times = Gpu::open(&device, Robustness::Off)
                .map_err(|e| e.to_string())
                .and_then(|gpu| tepui_witness::speed::run(&gpu, &spirv, &only));
            print("speed", times)
        }
        #[cfg(feature = "compiler")]
        Cli::Pipelines { device, n, json, stages, files } => {
            let rows = tepui_corpus::modules(&files).map_err(|e| e.to_string()).and_then(|files| {
                Gpu::open(&device, Robustness::Off)
                    .and_then(|gpu| pipelines::run(&gpu, &files, &stages, n))
                    .map_err(|e| e.to_string())
            });
            let text = rows.and_then(|rows| {
                if json {
                    serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())
                } else {
                    Ok(pipelines::Table(&rows).to_string())
                }
            });
            match text {
                Ok(text) => {
                    println!("{}", text.trim_end());
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("witness pipelines: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Cli::Offers { device } => {
            print("offers", tepui_witness::offers::of(&device).map_err(|e| e.to_string()))
        }
        Cli::Dispatch { device, jobs, out } => {
            answered(jobs::run(&device, &jobs, &out, dispatch::one))
        }
        Cli::Draw { device, jobs, out } => answered(jobs::run(&device, &jobs, &out, draw::one)),
        Cli::Compare { peer, record } => match (load(&peer), load(&record)) {
            (Ok(peer), Ok(record)) => report("", &compare::against(&peer, &record), Verbosity::All),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn select(names: &[String], exact: bool) -> Vec<Case> {
    let mut cases = cases::all();
    if !names.is_empty() {
        cases.retain(|case| {
            names.iter().any(|n| if exact { case.name == *n } else { case.name.contains(n) })
        });
    }
    cases
}

fn load(path: &Path) -> Result<Record, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    postcard::from_bytes(&bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Prints a benchmark's figures as JSON.
fn print(command: &str, figures: Result<impl serde::Serialize, String>) -> ExitCode {
    match figures.and_then(|f| serde_json::to_string(&f).map_err(|e| e.to_string())) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("witness {command}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs cases one after another; after a lost device, a new one is opened for the next.
fn run(
    device: &str,
    spirv: &Path,
    out: Option<&Path>,
    quiet: bool,
    (made, layouts): (Pipelines, Layouts),
    cases: &[Case],
) -> ExitCode {
    let mut worst = ExitCode::SUCCESS;
    let verbosity = if quiet { Verbosity::Nothing } else { Verbosity::Failures };
    if cases.is_empty() {
        eprintln!("no case of that name: see `witness list`");
        return ExitCode::FAILURE;
    }
    let mut open: Option<(Robustness, Gpu)> = None;
    for case in cases {
        if open.as_ref().is_some_and(|(robustness, _)| *robustness != case.robustness) {
            open = None;
        }
        // In a log, the driver's standard error follows this line.
        if !quiet {
            println!("{}{}", jobs::CASE_MARK, case.name);
        }
        let record = match compile_all(case, spirv) {
            Err(error) => failed(device, error),
            Ok(modules) => {
                let gpu = match open.take() {
                    Some((_, gpu)) => Ok(gpu),
                    None => Gpu::open(device, case.robustness),
                };
                match gpu {
                    Err(error) => failed(device, error.to_string()),
                    Ok(gpu) => {
                        gpu.pipelines.set(made);
                        gpu.layouts.set(layouts);
                        let outputs = (case.run)(&Bench { gpu: &gpu, spirv: &modules })
                            .and_then(|outputs| gpu.check_alive().map(|()| outputs));
                        let lost = outputs.is_err();
                        let record = Record {
                            device: gpu.name.clone(),
                            subgroup_size: gpu.subgroup_size,
                            outputs: outputs.map_err(|e| e.to_string()),
                        };
                        if !lost {
                            open = Some((case.robustness, gpu));
                        }
                        record
                    }
                }
            }
        };
        let findings = record
            .outputs
            .as_ref()
            .map(|outputs| compare::against_cpu(outputs))
            .map_err(|error| error.clone());
        if report(&case.name, &findings, verbosity) != ExitCode::SUCCESS {
            worst = ExitCode::FAILURE;
            // A fault need not show in a call's result: the next case starts afresh.
            open = None;
        }
        if let Some(out) = out
            && let Err(error) = save(&record, &out.join(case.name.replace('/', ".")))
        {
            eprintln!("{}: {error}", case.name);
            return ExitCode::FAILURE;
        }
    }
    worst
}

/// Writes `stem`.record, and a PNG for each picture.
fn save(record: &Record, stem: &Path) -> Result<(), String> {
    let bytes = postcard::to_stdvec(record).map_err(|e| e.to_string())?;
    std::fs::write(suffixed(stem, ".record"), bytes).map_err(|e| e.to_string())?;
    for output in record.outputs.iter().flatten() {
        let Some([width, height]) = output.picture else { continue };
        let path = suffixed(stem, &format!(".{}.png", output.name));
        let file = std::fs::File::create(&path).map_err(|e| e.to_string())?;
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&output.data))
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn suffixed(stem: &Path, suffix: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn failed(device: &str, error: String) -> Record {
    Record { device: device.to_owned(), subgroup_size: 0, outputs: Err(error) }
}

fn compile_all(case: &Case, spirv: &Path) -> Result<Vec<Vec<u32>>, String> {
    case.shaders.iter().map(|shader| compile::compile(shader, spirv)).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Verbosity {
    All,
    Failures,
    Nothing,
}

fn report(
    case: &str,
    findings: &Result<Vec<compare::Finding>, String>,
    verbosity: Verbosity,
) -> ExitCode {
    match findings {
        _ if verbosity == Verbosity::Nothing => {
            let passed = findings.as_ref().is_ok_and(|list| list.iter().all(|f| f.passed));
            ExitCode::from(u8::from(!passed))
        }
        Err(error) => {
            println!("FAILED {case}: {error}");
            ExitCode::FAILURE
        }
        Ok(findings) => {
            let passed = findings.iter().all(|f| f.passed);
            println!("{} {case}", if passed { "ok    " } else { "FAILED" });
            for f in findings {
                if verbosity == Verbosity::All || !f.passed {
                    println!(
                        "       {}: {} of {} elements wrong, {} not bit-equal, max ULP {:.3}{}{}",
                        f.output,
                        f.failures,
                        f.elements,
                        f.differing,
                        f.max_ulp,
                        if f.wrong.is_empty() {
                            String::new()
                        } else {
                            format!("; at {:?}", f.wrong)
                        },
                        f.first.as_ref().map(|t| format!("; first {t}")).unwrap_or_default()
                    );
                }
            }
            ExitCode::from(u8::from(!passed))
        }
    }
}
