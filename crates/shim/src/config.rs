//! What the environment says.

use tepui_gpus::{Feature, UnknownGpu};

/// Which GPU the program gets.
pub enum Gpu {
    /// A virtual one.
    Virtual(tepui_gpus::Gpu),
    /// The machine's own; its requests are only watched.
    Real,
}

/// Settings, from `TEPUI_*` variables.
pub struct Config {
    /// `TEPUI_GPU`: which GPU, or `real`.
    pub gpu: Gpu,
    /// `TEPUI_CHECK=1`: the model reports what silicon would hide.
    pub check: bool,
    /// `TEPUI_THREADS`: the model's worker threads; 0 takes one for each core.
    pub threads: usize,
    /// `TEPUI_VERBOSE=1`: each refused request is reported with its reason.
    pub verbose: bool,
    /// `TEPUI_ABORT_ON_FAULT=1`: a fault ends the program.
    pub abort_on_fault: bool,
    /// `TEPUI_LOG_CALLS=1`: every request is written to standard error.
    pub log_calls: bool,
}

impl Config {
    /// `None` if the library is to do nothing.
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
            threads,
            verbose: is_on("TEPUI_VERBOSE"),
            abort_on_fault: is_on("TEPUI_ABORT_ON_FAULT"),
            log_calls: is_on("TEPUI_LOG_CALLS"),
        })
    }
}
