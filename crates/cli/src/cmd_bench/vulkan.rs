//! `tepui bench vulkan`: compares Tepui's Vulkan driver with Mesa's on the same model and with
//! lavapipe, in turns.
//!
//! Draws are timed on the thread that records and submits them, so that execution on other threads does
//! not count. The first process after a pause can be slower by half, so each driver's figures are
//! measured in [`TURNS`] processes and the best counts. Frames are of whole programs, including the
//! model's execution. Instructions and cycles are those that the model counts: of a frame, and of a
//! compute kernel.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::frames::{self, Driver, Executed, Gpu};

/// Compares Tepui's Vulkan driver with Mesa's for the same GPU and lavapipe: draws, pipelines, memory of objects,
/// frames of programs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui bench vulkan
  tepui bench vulkan --gpu skl
  tepui bench vulkan --json --only-driver
  tepui bench vulkan --only-frames
  tepui bench vulkan --only-kernels

Draws, pipelines and memory are measured twice on each driver, in turns, and the better figure
counts: the first process after a pause can be slower by half.

The programs need Debian's Mesa (`tools/mesa fetch`), the driver's figures also the program
`witness` of this project.")]
pub struct Args {
    /// The virtual GPU: `m1` with Honeykrisp, `skl` or `tgl` with ANV.
    #[arg(long, default_value = "m1")]
    gpu: Gpu,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Measure draws, pipelines and memory only.
    #[arg(long)]
    only_driver: bool,
    /// Measure frames of programs only.
    #[arg(long, conflicts_with = "only_driver")]
    only_frames: bool,
    /// Count what compute kernels execute only.
    #[arg(long, conflicts_with_all = ["only_driver", "only_frames"])]
    only_kernels: bool,
    /// Worker threads of the model; 0 means one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// The script that runs programs on Debian's Mesa.
    #[arg(long, default_value = "tools/mesa")]
    mesa: PathBuf,
    /// The Vulkan client; by default next to this program.
    #[arg(long)]
    witness: Option<PathBuf>,
}

/// Number of times that the drivers' figures are measured, one driver after the other in each turn.
const TURNS: usize = 2;

/// The drivers that are compared.
fn drivers(gpu: Gpu) -> [Driver; 3] {
    [Driver::Tepui(gpu), Driver::Mesa(gpu), Driver::Lavapipe]
}

/// The compute kernels of `witness speed`.
const KERNELS: [&str; 3] = ["matmul_512", "mandelbrot_1024x768", "path_tracer_640x480"];

/// Output of `witness speed` for a kernel.
#[derive(Deserialize)]
struct Time {
    submissions: u32,
}

/// Output of `witness driver`.
#[derive(Deserialize)]
struct Figures {
    draws_per_s: f64,
    draws_with_state_per_s: f64,
    plain_draws_of_one_thread_per_cpu_s: f64,
    draws_of_one_thread_per_s: f64,
    draws_of_one_thread_per_cpu_s: f64,
    draws_of_two_threads_per_s: f64,
    draws_of_two_threads_per_cpu_s: f64,
    pipelines_per_s: f64,
    cached_per_s: f64,
    links_per_s: Option<f64>,
    links_with_draw_per_s: Option<f64>,
    new_states_per_s: Option<f64>,
    geometry_frames_per_s: f64,
    tessellation_frames_per_s: f64,
    bytes_of_10000_buffers: u64,
    bytes_of_1000_images: u64,
    bytes_of_1000_pipelines: u64,
}

/// A figure on each driver.
#[derive(Serialize)]
struct Row {
    name: String,
    unit: &'static str,
    tepui: Option<f64>,
    mesa: Option<f64>,
    lavapipe: Option<f64>,
    /// Ratio by which Tepui is better than Mesa's driver: faster, or smaller.
    better_than_mesa: Option<f64>,
}

impl Row {
    fn new(name: &str, unit: &'static str, smaller: bool, figures: [Option<f64>; 3]) -> Row {
        let [tepui, mesa, lavapipe] = figures;
        let ratio = tepui.zip(mesa).map(|(t, m)| if smaller { m / t } else { t / m });
        Row { name: name.into(), unit, tepui, mesa, lavapipe, better_than_mesa: ratio }
    }
}

/// Runs the command. Rows of text are printed as they are measured.
pub fn run(args: &Args) -> ExitCode {
    let mut rows = Vec::new();
    if !args.json {
        let mesa = args.gpu.mesa()[1];
        println!("{:32} {:>10} {mesa:>10} {:>10}  vs. {mesa}", "", "Tepui", "lavapipe");
    }
    let measured = measure(args, &mut |row| {
        if !args.json {
            print(&row);
        }
        rows.push(row);
    });
    if let Err(why) = measured {
        eprintln!("tepui bench vulkan: {why}");
        return ExitCode::FAILURE;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
    }
    ExitCode::SUCCESS
}

fn print(row: &Row) {
    let text = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{v:.1}"));
    let name = format!("{} ({})", row.name, row.unit);
    let [t, h, l] = [row.tepui, row.mesa, row.lavapipe].map(text);
    let ratio = row.better_than_mesa.map_or("-".to_owned(), |r| format!("{r:.2} x"));
    println!("{name:32} {t:>10} {h:>10} {l:>10}  {ratio:>8}");
}

/// Measures what is asked for, and gives each row to `tell`.
fn measure(args: &Args, tell: &mut dyn FnMut(Row)) -> Result<(), Box<dyn std::error::Error>> {
    let drivers = drivers(args.gpu);
    if !args.only_frames && !args.only_kernels {
        let exe = std::env::current_exe()?;
        let witness = super::witness(args.witness.as_deref(), "--only-frames")?;
        let mut all: [Vec<Figures>; 3] = Default::default();
        for _ in 0..TURNS {
            for (driver, turns) in drivers.into_iter().zip(&mut all) {
                let mut command = driver.command(&exe, &args.mesa, args.threads, None);
                command.arg(&witness).args(["driver", "--device", driver.device()]);
                turns.push(super::json(command)?);
            }
        }
        let mut row = |name, unit, smaller, get: &dyn Fn(&Figures) -> Option<f64>| {
            let better = if smaller { f64::min } else { f64::max };
            let best = |turns: &Vec<Figures>| turns.iter().filter_map(get).reduce(better);
            tell(Row::new(name, unit, smaller, std::array::from_fn(|k| best(&all[k]))));
        };
        row("draws", "thousands/s", false, &|f| Some(f.draws_per_s / 1e3));
        row("draws with state", "thousands/s", false, &|f| Some(f.draws_with_state_per_s / 1e3));
        row("draws, not submitted", "thousands/s", false, &|f| {
            Some(f.plain_draws_of_one_thread_per_cpu_s / 1e3)
        });
        row("draws of one thread", "thousands/s", false, &|f| {
            Some(f.draws_of_one_thread_per_s / 1e3)
        });
        row("draws of one thread", "thousands/s of CPU time", false, &|f| {
            Some(f.draws_of_one_thread_per_cpu_s / 1e3)
        });
        row("draws of two threads", "thousands/s", false, &|f| {
            Some(f.draws_of_two_threads_per_s / 1e3)
        });
        row("draws of two threads", "thousands/s of CPU time", false, &|f| {
            Some(f.draws_of_two_threads_per_cpu_s / 1e3)
        });
        row("pipelines", "per s", false, &|f| Some(f.pipelines_per_s));
        row("pipelines from the cache", "per s", false, &|f| Some(f.cached_per_s));
        row("links of libraries", "per s", false, &|f| f.links_per_s);
        row("links and first draws", "per s", false, &|f| f.links_with_draw_per_s);
        row("draws with new dynamic state", "per s", false, &|f| f.new_states_per_s);
        row("a geometry shader's scene", "frames/s", false, &|f| Some(f.geometry_frames_per_s));
        row("a tessellated scene", "frames/s", false, &|f| Some(f.tessellation_frames_per_s));
        row("10,000 small buffers", "MB", true, &|f| Some(f.bytes_of_10000_buffers as f64 / 1e6));
        row("1,000 images", "MB", true, &|f| Some(f.bytes_of_1000_images as f64 / 1e6));
        row("1,000 pipelines", "MB", true, &|f| Some(f.bytes_of_1000_pipelines as f64 / 1e6));
    }
    if !args.only_frames && !args.only_driver {
        for kernel in KERNELS {
            let executed = |driver| kernel_executed(args, kernel, driver);
            let figures = [executed(drivers[0])?, executed(drivers[1])?];
            executed_rows(kernel, &figures.map(Some)).into_iter().for_each(&mut *tell);
        }
    }
    if !args.only_driver && !args.only_kernels {
        frames::measure_on(&drivers, &args.mesa, args.threads, &mut |(name, speeds)| {
            let fps = std::array::from_fn(|k| speeds.get(k).map(|speed| speed.fps));
            tell(Row::new(&name, "frames/s", false, fps));
            let executed: Vec<_> = speeds.iter().map(|speed| speed.executed).collect();
            executed_rows(&name, &executed).into_iter().for_each(&mut *tell);
        })?;
    }
    Ok(())
}

/// Rows of what each driver executes on the model.
fn executed_rows(name: &str, executed: &[Option<Executed>]) -> [Row; 2] {
    let of = |get: &dyn Fn(&Executed) -> f64| {
        std::array::from_fn(|k| executed.get(k).and_then(Option::as_ref).map(get))
    };
    [
        Row::new(name, "thousand instructions", true, of(&|e| e.instructions / 1e3)),
        Row::new(name, "thousand cycles", true, of(&|e| e.cycles / 1e3)),
    ]
}

/// Work of a submission of a compute kernel.
fn kernel_executed(
    args: &Args,
    kernel: &str,
    driver: Driver,
) -> Result<Executed, Box<dyn std::error::Error>> {
    let exe = std::env::current_exe()?;
    let witness = super::witness(args.witness.as_deref(), "--only-frames")?;
    let counts = tempfile::NamedTempFile::new()?;
    let mut command = driver.command(&exe, &args.mesa, args.threads, Some(counts.path()));
    command.arg(&witness).args(["speed", "--device", driver.device(), "--only", kernel]);
    let times = super::json::<Vec<Time>>(command)?;
    let submissions: u32 = times.iter().map(|time| time.submissions).sum();
    Ok(Executed::sum(counts.path())?.each(Executed::default(), f64::from(submissions)))
}
