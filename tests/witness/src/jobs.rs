//! Jobs for a driver in another process: a file of jobs, and a file of answers.
//!
//! Drivers run in processes of their own, some with a virtual render node preloaded, and a job may
//! crash its process. [`ask`] is the test's side, [`run`] the client's: `witness dispatch` and
//! `witness draw`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::compile::mesa_tool;
use crate::gpu::{Gpu, Result as GpuResult, Robustness};

/// The driver that executes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// The reference, on the CPU.
    Lavapipe,
    /// Honeykrisp on the virtual M1.
    M1,
    /// ANV on the virtual Skylake.
    Skylake,
    /// ANV on the virtual Tiger Lake.
    TigerLake,
    /// PanVK on the virtual Mali-G610: an arm64 driver, so the witness is an arm64 program, too.
    Mali,
    /// Tepui's own driver on a virtual GPU.
    Tepui(OwnGpu, Variant),
}

/// A virtual GPU that Tepui's own driver runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnGpu {
    /// Apple M1.
    M1,
    /// Skylake.
    Skylake,
    /// Tiger Lake.
    TigerLake,
    /// Mali-G610.
    MaliG610,
    /// Mali-G57.
    MaliG57,
}

impl OwnGpu {
    /// All of them.
    pub const ALL: [OwnGpu; 5] =
        [OwnGpu::M1, OwnGpu::Skylake, OwnGpu::TigerLake, OwnGpu::MaliG610, OwnGpu::MaliG57];

    /// Its name as an argument of `tepui run --gpu`.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            OwnGpu::M1 => "m1",
            OwnGpu::Skylake => "skl",
            OwnGpu::TigerLake => "tgl",
            OwnGpu::MaliG610 => "mali-g610",
            OwnGpu::MaliG57 => "mali-g57",
        }
    }

    /// The GPU of the render node of [`Variant::Node`]. In the driver's process is the virtual M1 as well, which has another name.
    fn node(self) -> &'static str {
        match self {
            OwnGpu::M1 => "m1-pro",
            OwnGpu::Skylake => "skl",
            OwnGpu::TigerLake => "tgl",
            OwnGpu::MaliG610 => "mali-g610",
            OwnGpu::MaliG57 => "mali-g57",
        }
    }
}

/// A way to use Tepui's own driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Each pipeline is made as one.
    Whole,
    /// Pipelines are linked from libraries.
    Libraries,
    /// State is dynamic.
    Dynamic,
    /// Shader objects.
    Objects,
    /// Images are not compressed.
    Uncompressed,
    /// Draws are made in small pieces.
    Pieces,
    /// The tiler's heap is small: renderings are divided where it is full.
    SmallHeap,
    /// Images are in the layouts of attachments while they are rendered to.
    Layouts,
    /// On the render node that `tepui shim` gives, through ioctls as to a kernel's.
    Node,
}

impl Variant {
    /// The end of the name of a driver.
    fn suffix(self) -> &'static str {
        match self {
            Variant::Whole => "",
            Variant::Libraries => "-libraries",
            Variant::Dynamic => "-dynamic",
            Variant::Objects => "-objects",
            Variant::Uncompressed => "-uncompressed",
            Variant::Pieces => "-pieces",
            Variant::SmallHeap => "-small-heap",
            Variant::Layouts => "-layouts",
            Variant::Node => "-node",
        }
    }
}

impl Driver {
    /// Tepui's own driver on the virtual M1.
    pub const TEPUI: Driver = Driver::Tepui(OwnGpu::M1, Variant::Whole);

    /// Its name in paths and messages.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Driver::Tepui(_, variant) => format!("{}{}", self.expected(), variant.suffix()),
            _ => self.expected().to_owned(),
        }
    }

    /// The name of its file of expected failures, which all variants of a driver share.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Driver::Lavapipe => "lavapipe",
            Driver::M1 => "m1",
            Driver::Skylake => "skl",
            Driver::TigerLake => "tgl",
            Driver::Mali => "mali",
            Driver::Tepui(OwnGpu::M1, _) => "tepui",
            Driver::Tepui(OwnGpu::Skylake, _) => "tepui-skl",
            Driver::Tepui(OwnGpu::TigerLake, _) => "tepui-tgl",
            Driver::Tepui(OwnGpu::MaliG610, _) => "tepui-mali-g610",
            Driver::Tepui(OwnGpu::MaliG57, _) => "tepui-mali-g57",
        }
    }

    /// The way in which graphics pipelines are made on it: an argument of `witness run --pipelines`.
    #[must_use]
    pub fn pipelines(self) -> &'static str {
        match self {
            Driver::Tepui(_, Variant::Libraries) => "libraries",
            Driver::Tepui(_, Variant::Dynamic) => "dynamic",
            Driver::Tepui(_, Variant::Objects) => "objects",
            _ => "whole",
        }
    }

    /// The layouts of images that are rendered to: an argument of `witness run --layouts`.
    #[must_use]
    pub fn layouts(self) -> &'static str {
        match self {
            Driver::Tepui(_, Variant::Layouts) => "optimal",
            _ => "general",
        }
    }

    /// A part of its device's name.
    #[must_use]
    pub fn device(self) -> &'static str {
        match self {
            Driver::Lavapipe => "llvmpipe",
            Driver::Skylake
            | Driver::TigerLake
            | Driver::Tepui(OwnGpu::Skylake | OwnGpu::TigerLake, _) => "Intel",
            Driver::Mali | Driver::Tepui(OwnGpu::MaliG610, _) => "Mali-G610",
            Driver::Tepui(OwnGpu::MaliG57, _) => "Mali-G57",
            Driver::Tepui(OwnGpu::M1, Variant::Node) => "Apple M1 Pro",
            Driver::M1 | Driver::Tepui(OwnGpu::M1, _) => "Apple M1",
        }
    }

    /// The command that runs the witness on this driver, up to the witness's own arguments.
    ///
    /// # Errors
    /// When the virtual GPU has not been built, or the arm64 witness that [`Driver::Mali`] needs.
    pub fn command(self, witness: &Path) -> Result<Command, String> {
        let (mut command, icd) = match self {
            Driver::Lavapipe => (Command::new(mesa_tool()), "lavapipe"),
            _ => {
                let tepui = witness.with_file_name("tepui");
                if !tepui.exists() {
                    return Err(format!(
                        "{}: missing; build it first: cargo build --release -p tepui -p tepui-shim",
                        tepui.display()
                    ));
                }
                let mut command = Command::new(&tepui);
                if let Driver::Tepui(gpu, Variant::Node) = self {
                    command.args(["shim", "--gpu", gpu.node(), "--"]).arg(&tepui);
                }
                let (verb, gpu, icd) = match self {
                    Driver::Lavapipe | Driver::M1 => ("shim", "m1", "honeykrisp"),
                    Driver::Skylake => ("shim", "skl", "anv"),
                    Driver::TigerLake => ("shim", "tgl", "anv"),
                    Driver::Mali => ("shim", "mali-g610", "panvk"),
                    Driver::Tepui(gpu, _) => ("run", gpu.id(), "none"),
                };
                command.args([verb, "--gpu", gpu, "--"]);
                if matches!(self, Driver::Tepui(_, Variant::Node)) {
                    command.args(["env", "-u", "TEPUI_VULKAN_GPU"]);
                }
                command.arg(mesa_tool());
                (command, icd)
            }
        };
        command.args(["run", "--icd", icd]);
        if self == Driver::Mali {
            command.args(["--arch", "arm64", "--"]).arg(for_arm64(witness)?);
        } else {
            command.arg("--").arg(witness);
        }
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        match self {
            Driver::Tepui(_, Variant::Uncompressed) => _ = command.env("TEPUI_DEBUG", "nocompress"),
            Driver::Tepui(_, Variant::Pieces) => _ = command.env("TEPUI_DEBUG", "pieces"),
            Driver::Tepui(_, Variant::SmallHeap) => _ = command.env("TEPUI_DEBUG", "smallheap"),
            _ => {}
        }
        Ok(command)
    }
}

/// The witness as an arm64 program, which `tools/cross` builds next to this machine's. A program that is older than one
/// of its sources is refused: its cases would be others.
fn for_arm64(witness: &Path) -> Result<PathBuf, String> {
    if cfg!(target_arch = "aarch64") {
        return Ok(witness.to_owned());
    }
    let target = witness.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    let path = target.join("aarch64-unknown-linux-gnu/release/witness");
    let build = "build it first: tools/cross -p tepui-witness --no-default-features";
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified());
    let built = modified(&path).map_err(|e| format!("{}: {e}; {build}", path.display()))?;
    let list = path.with_extension("d");
    let list =
        std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}; {build}", list.display()))?;
    // The format is that of makefiles: the program, a colon, its sources.
    for source in list.split_whitespace().skip(1) {
        if modified(Path::new(source)).is_ok_and(|at| at > built) {
            return Err(format!("{} is older than {source}; {build}", path.display()));
        }
    }
    Ok(path)
}

/// Prefix of the line that marks the start of a case in the log of a process that runs cases.
pub const CASE_MARK: &str = "case   ";

/// The end of a process that ran cases, and the output of the process and of the driver.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnd {
    /// The reason why its end was abnormal: a signal, an exit code other than the witness's own, a timeout.
    pub trouble: Option<String>,
    /// Its standard output and error.
    pub log: String,
}

impl ProcessEnd {
    /// The reason why a case failed although it may have left a record: the process ended abnormally while it
    /// ran, or after it, before the next began. A process that ended before its first case fails all.
    #[must_use]
    pub fn blame(&self, case: &str) -> Option<String> {
        let trouble = self.trouble.as_ref()?;
        let last = self.log.lines().rev().find_map(|line| line.strip_prefix(CASE_MARK));
        match last {
            Some(last) if last != case => None,
            _ => Some(format!("{trouble}{}", self.said_of(case))),
        }
    }

    /// The output while `case` ran, between its mark and the next.
    #[must_use]
    pub fn said_of(&self, case: &str) -> String {
        let of_case = self
            .log
            .lines()
            .skip_while(|line| line.strip_prefix(CASE_MARK) != Some(case))
            .skip(1)
            .take_while(|line| !line.starts_with(CASE_MARK))
            .filter(|line| !line.starts_with("FAILED") && !line.starts_with("       "));
        of_case.take(12).map(|line| format!("\n{line}")).collect()
    }
}

/// The result of a job, or the driver's error.
pub type Done<T> = Result<T, String>;

/// Runs the jobs of a file one after the other; the answer to job `n` is written to `n.done` in a
/// directory before the next begins.
///
/// # Errors
/// When files cannot be written or the device cannot be opened.
pub fn run<J: DeserializeOwned, T: Serialize>(
    device: &str,
    jobs: &Path,
    out: &Path,
    one: impl Fn(&Gpu, &J) -> GpuResult<T>,
) -> Result<(), String> {
    let bytes = std::fs::read(jobs).map_err(|e| format!("{}: {e}", jobs.display()))?;
    let jobs: Vec<J> = postcard::from_bytes(&bytes).map_err(|e| e.to_string())?;
    let mut open: Option<Gpu> = None;
    for (n, job) in jobs.iter().enumerate() {
        let path = out.join(format!("{n}.done"));
        if path.exists() {
            continue;
        }
        // Objects live as long as the device: a new one now and then.
        if n % 64 == 0 {
            open = None;
        }
        let gpu = match open.take() {
            Some(gpu) => gpu,
            None => Gpu::open(device, Robustness::On).map_err(|e| e.to_string())?,
        };
        let save = |done: &Done<T>| -> Result<(), String> {
            let bytes = postcard::to_stdvec(done).map_err(|e| e.to_string())?;
            std::fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
        };
        // If a job ends the process, this file names it.
        save(&Err("the driver's process ended".to_owned()))?;
        let done = one(&gpu, job).map_err(|e| e.to_string());
        save(&done)?;
        if done.is_ok() {
            open = Some(gpu);
        }
    }
    Ok(())
}

/// Has a driver run jobs through a command of `witness`; a job that ends the process is skipped and the
/// others continue.
///
/// Lavapipe's answers to the same jobs are cached in `dir`: most of the time is LLVM's.
///
/// # Panics
/// When the driver does not run.
pub fn ask<J: Serialize, T: DeserializeOwned>(
    driver: Driver,
    witness: &Path,
    command: &str,
    dir: &Path,
    jobs: &[J],
) -> Vec<Done<T>> {
    let file = dir.join("jobs");
    let bytes = postcard::to_stdvec(jobs).expect("jobs are plain");
    let version = Command::new(mesa_tool()).arg("version").output().expect("tools/mesa starts");
    let same = driver == Driver::Lavapipe
        && std::fs::read(&file).is_ok_and(|old| old == bytes)
        && std::fs::read(dir.join("driver")).is_ok_and(|old| old == version.stdout);
    if !same {
        let _ = std::fs::remove_dir_all(dir);
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::write(&file, bytes).expect("a file");
        std::fs::write(dir.join("driver"), version.stdout).expect("a file");
    }
    let done = |n: usize| dir.join(format!("{n}.done"));
    let count = || (0..jobs.len()).filter(|&n| done(n).exists()).count();
    let mut log = String::new();
    while count() < jobs.len() {
        let before = count();
        let out = driver
            .command(witness)
            .unwrap_or_else(|e| panic!("{e}"))
            // Without threads lavapipe executes workgroups in their order, as the interpreter does:
            // some shaders read what other workgroups write.
            .env("LP_NUM_THREADS", "0")
            .args([command, "--device", driver.device()])
            .arg(&file)
            .arg(dir)
            .output()
            .expect("tools/mesa starts");
        log = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(count() > before, "{} does not run: {log}", driver.name());
    }
    (0..jobs.len())
        .map(|n| {
            let bytes = std::fs::read(done(n)).unwrap_or_else(|e| panic!("job {n}: {e}\n{log}"));
            postcard::from_bytes(&bytes).expect("an answer")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_dies_fails_the_case_that_ran_last() {
        let log = "case   a/one\nok     a/one\ncase   a/two\nSegmentation fault\n".to_owned();
        let died = ProcessEnd { trouble: Some("signal 11".to_owned()), log: log.clone() };
        assert_eq!(died.blame("a/one"), None);
        assert_eq!(died.blame("a/two").as_deref(), Some("signal 11\nSegmentation fault"));
        assert_eq!(ProcessEnd { trouble: None, log }.blame("a/two"), None);
        let early =
            ProcessEnd { trouble: Some("signal 6".to_owned()), log: "no driver\n".to_owned() };
        assert_eq!(early.blame("a/one").as_deref(), Some("signal 6"));
    }
}
