//! What the environment says.

use tepui_agx_kernel::{CHIPS, Chip};

/// Settings, from `TEPUI_*` variables.
pub struct Config {
    /// `TEPUI_GPU`: which GPU.
    pub chip: &'static Chip,
    /// `TEPUI_CHECK=1`: the model reports what silicon would hide.
    pub check: bool,
    /// `TEPUI_THREADS`: the model's worker threads; 0 takes one for each core.
    pub threads: usize,
    /// `TEPUI_VERBOSE=1`: each refused request is reported with its reason.
    pub verbose: bool,
}

impl Config {
    /// `None` if the library is to do nothing.
    pub fn from_environment() -> Option<Config> {
        let get = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let gpu = get("TEPUI_GPU")?;
        let Some(chip) = Chip::by_id(&gpu) else {
            let known: Vec<_> = CHIPS.iter().map(|chip| chip.id).collect();
            eprintln!("tepui: TEPUI_GPU={gpu}: no such GPU; there are {}", known.join(", "));
            return None;
        };
        let threads = get("TEPUI_THREADS").map_or(0, |text| {
            text.parse().unwrap_or_else(|_| {
                eprintln!("tepui: TEPUI_THREADS={text}: not a number; using every core");
                0
            })
        });
        let is_on = |name| get(name).is_some_and(|value| value != "0");
        Some(Config { chip, check: is_on("TEPUI_CHECK"), threads, verbose: is_on("TEPUI_VERBOSE") })
    }
}
