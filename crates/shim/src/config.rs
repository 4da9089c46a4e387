//! Settings from `TEPUI_*` environment variables.

use std::path::PathBuf;

use tepui_gpus::{Feature, UnknownGpu};

/// The GPU that the program sees.
pub enum Gpu {
    /// A virtual GPU.
    Virtual(tepui_gpus::Gpu),
    /// The machine's own GPU, whose ioctls are only observed.
    Real,
}

/// The settings.
pub struct Config {
    /// `TEPUI_GPU`: the name of a GPU, or `real`.
    pub gpu: Gpu,
    /// `TEPUI_CHECK=1`: the model reports errors that silicon does not, such as missing waits.
    pub check: bool,
    /// `TEPUI_RELAXED`: the seed of relaxed execution, which takes another order that the hardware may take.
    pub relaxed: Option<u64>,
    /// `TEPUI_THREADS`: the model's worker threads; 0 means one per core.
    pub threads: usize,
    /// `TEPUI_VERBOSE=1`: each refused request is reported with its reason.
    pub verbose: bool,
    /// `TEPUI_ABORT_ON_FAULT=1`: a fault ends the program.
    pub abort_on_fault: bool,
    /// `TEPUI_COVERAGE`: the file to which rows of the instruction table are appended as programs
    /// use them.
    pub coverage: Option<PathBuf>,
    /// `TEPUI_COUNTS`: the file to which the counts of each command are appended.
    pub counts: Option<PathBuf>,
    /// `TEPUI_LOG_CALLS=1`: every request is written to standard error.
    pub log_calls: bool,
}

impl Config {
    /// Reads the settings. `None` means that the library does nothing.
    pub fn from_environment() -> Option<Config> {
        let get = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let name = get("TEPUI_GPU")?;
        let gpu = if name == "real" {
            Gpu::Real
        } else {
            let known = name.parse::<tepui_gpus::Gpu>().map_err(|e: UnknownGpu| e.to_string());
            match known.and_then(|gpu| gpu.require(Feature::Model).map_err(|e| e.to_string())) {
                Ok(gpu) => Gpu::Virtual(gpu),
                Err(why) => {
                    eprintln!("tepui: TEPUI_GPU={name}: {why}");
                    return None;
                }
            }
        };
        let threads = get("TEPUI_THREADS").map_or(0, |text| {
            text.parse().unwrap_or_else(|_| {
                eprintln!("tepui: TEPUI_THREADS={text}: not a number; using every core");
                0
            })
        });
        let is_on = |name| get(name).is_some_and(|value| value != "0");
        Some(Config {
            gpu,
            check: is_on("TEPUI_CHECK"),
            relaxed: tepui_gpus::device::relaxed_of_environment(),
            threads,
            verbose: is_on("TEPUI_VERBOSE"),
            abort_on_fault: is_on("TEPUI_ABORT_ON_FAULT"),
            coverage: get("TEPUI_COVERAGE").map(PathBuf::from),
            counts: tepui_gpus::counts::file_of_environment(),
            log_calls: is_on("TEPUI_LOG_CALLS"),
        })
    }
}
