//! Measures frames per second of vkcube and of scenes of vkmark, on drivers on the model and on lavapipe.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::Serialize;

/// The scenes of vkmark.
const SCENES: [&str; 3] = ["cube", "shading:shading=phong", "desktop"];

/// Size of the windows.
const SIZE: (&str, &str) = ("800", "600");

/// How long a scene of vkmark runs, in seconds.
const SECONDS: &str = "3";

/// Frames of vkcube's short and long run; the difference is measured.
const CUBE_FRAMES: [u32; 2] = [50, 850];

/// A Vulkan driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Tepui's own, on the virtual M1.
    Tepui,
    /// Mesa's for Apple GPUs, on the virtual M1.
    Honeykrisp,
    /// Mesa's for Intel GPUs, on the virtual Skylake.
    Anv,
    /// Mesa's for Mali GPUs, on the virtual G610: an arm64 program under qemu's user emulation.
    Panvk,
    /// Mesa's for the CPU.
    Lavapipe,
}

impl Driver {
    /// The command that runs a program on the driver, up to the program. `exe` is this command, `mesa` the script
    /// that runs programs on Debian's Mesa.
    pub fn command(self, exe: &Path, mesa: &Path, threads: usize) -> Command {
        let mut command = match self {
            Driver::Lavapipe => Command::new("env"),
            _ => Command::new(exe),
        };
        let icd = match self {
            Driver::Tepui => "none",
            Driver::Honeykrisp => "honeykrisp",
            Driver::Anv => "anv",
            Driver::Panvk => "panvk",
            Driver::Lavapipe => "lavapipe",
        };
        let gpu = match self {
            Driver::Anv => "skl",
            Driver::Panvk => "mali-g610",
            _ => "m1",
        };
        if self != Driver::Lavapipe {
            let verb = if self == Driver::Tepui { "run" } else { "shim" };
            command.args([verb, "--gpu", gpu, "--threads", &threads.to_string(), "--"]);
        }
        // Every pipeline is compiled.
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        command.arg(mesa).args(["run", "--icd", icd]);
        if self == Driver::Panvk {
            // There is no memory that it could share with an X server of another architecture.
            command.env("MESA_VK_WSI_DEBUG", "sw").args(["--arch", "arm64"]);
        }
        command.arg("--");
        command
    }

    /// A part of the device's name.
    pub fn device(self) -> &'static str {
        match self {
            Driver::Lavapipe => "llvmpipe",
            Driver::Anv => "Intel",
            Driver::Panvk => "Mali-G610",
            Driver::Tepui | Driver::Honeykrisp => "Apple",
        }
    }
}

/// A program's name, and its frames per second on each driver.
pub type Speeds = (String, Vec<f64>);

/// Frames per second of a program on Mesa's driver on the model and on lavapipe.
#[derive(Serialize)]
pub struct Frames {
    /// The program and its scene.
    pub name: String,
    /// Frames per second on the model.
    pub model_fps: f64,
    /// Frames per second on lavapipe.
    pub lavapipe_fps: f64,
    /// Speed of the model divided by lavapipe's.
    pub ratio: f64,
}

/// Runs every program on a driver on the model and on lavapipe.
pub fn measure(driver: Driver, mesa: &Path, threads: usize) -> Result<Vec<Frames>, Box<dyn Error>> {
    let all = measure_on(&[driver, Driver::Lavapipe], mesa, threads)?;
    let frames = |(name, fps): Speeds| Frames {
        name,
        model_fps: fps[0],
        lavapipe_fps: fps[1],
        ratio: fps[0] / fps[1],
    };
    Ok(all.into_iter().map(frames).collect())
}

/// Runs every program on each driver in turn: names, and frames per second in the order of the drivers.
pub fn measure_on(
    drivers: &[Driver],
    mesa: &Path,
    threads: usize,
) -> Result<Vec<Speeds>, Box<dyn Error>> {
    let runner = Runner { mesa, root: sysroot(mesa, &[])?, exe: std::env::current_exe()?, threads };
    let cube = drivers.iter().map(|&d| runner.vkcube(d)).collect::<Result<_, _>>()?;
    let mut all = vec![("vkcube".to_owned(), cube)];
    for scene in SCENES {
        let fps = drivers.iter().map(|&d| runner.vkmark(scene, d)).collect::<Result<_, _>>()?;
        all.push((format!("vkmark {scene}"), fps));
    }
    Ok(all)
}

/// The directory of Debian's Mesa, of an architecture.
fn sysroot(mesa: &Path, arch: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let output = Command::new(mesa).arg("path").args(arch).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

struct Runner<'a> {
    mesa: &'a Path,
    /// The directory of Debian's Mesa.
    root: PathBuf,
    /// The path of this program.
    exe: PathBuf,
    threads: usize,
}

impl Runner<'_> {
    /// Runs a program in its own X server and returns its output.
    fn run<S: AsRef<OsStr>>(&self, driver: Driver, line: &[S]) -> Result<String, Box<dyn Error>> {
        let inner = driver.command(&self.exe, self.mesa, self.threads);
        let mut command = Command::new(self.mesa);
        command.args(["xvfb", "--screen", &format!("{}x{}", SIZE.0, SIZE.1), "--"]);
        command.arg(inner.get_program()).args(inner.get_args()).args(line);
        for (name, value) in inner.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let output = command.output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?} ended with {}\n{text}", output.status).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// vkcube does not print its speed, so it is computed from the times of a short and a long run.
    fn vkcube(&self, driver: Driver) -> Result<f64, Box<dyn Error>> {
        let mut seconds = [0.0; 2];
        for (seconds, frames) in seconds.iter_mut().zip(CUBE_FRAMES) {
            let frames = frames.to_string();
            let line = ["vkcube", "--c", &frames, "--width", SIZE.0, "--height", SIZE.1];
            let start = Instant::now();
            self.run(driver, &[line.as_slice(), &["--present_mode", "0"]].concat())?;
            *seconds = start.elapsed().as_secs_f64();
        }
        let took = seconds[1] - seconds[0];
        if took <= 0.0 {
            return Err(
                "vkcube's long run was as fast as its short one: the machine is busy".into()
            );
        }
        Ok(f64::from(CUBE_FRAMES[1] - CUBE_FRAMES[0]) / took)
    }

    fn vkmark(&self, scene: &str, driver: Driver) -> Result<f64, Box<dyn Error>> {
        let (root, arch) = match driver {
            Driver::Panvk => (sysroot(self.mesa, &["--arch", "arm64"])?, "aarch64"),
            _ => (self.root.clone(), std::env::consts::ARCH),
        };
        let lib = format!("usr/lib/{arch}-linux-gnu/vkmark");
        let (plugins, data) = (root.join(lib), root.join("usr/share/vkmark"));
        let (size, scene) =
            (format!("{}x{}", SIZE.0, SIZE.1), format!("{scene}:duration={SECONDS}"));
        let line: [&OsStr; 13] = [
            "vkmark".as_ref(),
            "--data-dir".as_ref(),
            data.as_ref(),
            "--winsys-dir".as_ref(),
            plugins.as_ref(),
            "--winsys".as_ref(),
            "xcb".as_ref(),
            "--present-mode".as_ref(),
            "immediate".as_ref(),
            "--size".as_ref(),
            size.as_ref(),
            "--benchmark".as_ref(),
            scene.as_ref(),
        ];
        let text = self.run(driver, &line)?;
        // [cube] duration=3: FPS: 812 FrameTime: 1.232 ms
        let mut words = text.split_whitespace().skip_while(|word| *word != "FPS:").skip(1);
        let fps = words.next().and_then(|word| word.parse().ok());
        fps.ok_or_else(|| format!("vkmark printed no FPS:\n{text}").into())
    }
}
