//! Measures frames per second of vkcube and of scenes of vkmark and glmark2, on drivers on the model and on lavapipe, and what
//! a frame executes on the model.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The scenes of vkmark.
const SCENES: [&str; 3] = ["cube", "shading:shading=phong", "desktop"];

/// The scenes of glmark2, which draws with OpenGL through Mesa's zink.
const GL_SCENES: [&str; 6] =
    ["build:use-vbo=true", "texture", "shading:shading=phong", "bump", "shadow", "terrain"];

/// Environment that makes zink draw OpenGL on the Vulkan driver, with its own presentation, in the
/// program's thread.
const ZINK: [(&str, &str); 3] =
    [("MESA_LOADER_DRIVER_OVERRIDE", "zink"), ("LIBGL_KOPPER_DRI2", "1"), ("GALLIUM_THREAD", "0")];

/// Size of the windows.
const SIZE: (&str, &str) = ("800", "600");

/// Duration of a scene of vkmark or glmark2 in seconds; and of the run that measures the work before
/// its first frame.
const SECONDS: [u32; 2] = [3, 1];

/// Frames of vkcube's short and long run; the difference is measured.
const CUBE_FRAMES: [u32; 2] = [50, 850];

/// A virtual GPU that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Gpu {
    /// Apple M1.
    M1,
    /// Skylake.
    Skl,
    /// Tiger Lake.
    Tgl,
    /// Mali-G610.
    MaliG610,
}

impl Gpu {
    /// Its name for `tepui run`.
    fn id(self) -> &'static str {
        match self {
            Gpu::M1 => "m1",
            Gpu::Skl => "skl",
            Gpu::Tgl => "tgl",
            Gpu::MaliG610 => "mali-g610",
        }
    }

    /// Mesa's driver for it, as `tools/mesa` names it, and as people do.
    pub fn mesa(self) -> [&'static str; 2] {
        match self {
            Gpu::M1 => ["honeykrisp", "Honeykrisp"],
            Gpu::Skl | Gpu::Tgl => ["anv", "ANV"],
            Gpu::MaliG610 => ["panvk", "PanVK"],
        }
    }

    /// A part of the device's name, with any driver.
    fn device(self) -> &'static str {
        match self {
            Gpu::M1 => "Apple",
            Gpu::Skl | Gpu::Tgl => "Intel",
            Gpu::MaliG610 => "Mali-G610",
        }
    }
}

/// A Vulkan driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Tepui's own, on a virtual GPU.
    Tepui(Gpu),
    /// Mesa's on a virtual GPU; that of Mali GPUs is an arm64 program under qemu's user emulation.
    Mesa(Gpu),
    /// Mesa's for the CPU.
    Lavapipe,
}

impl Driver {
    /// The command that runs a program on the driver, up to the program. `exe` is this command, `mesa` the script
    /// that runs programs on Debian's Mesa. The model appends to `counts` what it executes.
    pub fn command(
        self,
        exe: &Path,
        mesa: &Path,
        threads: usize,
        counts: Option<&Path>,
    ) -> Command {
        let mut command = match self {
            Driver::Lavapipe => Command::new("env"),
            _ => Command::new(exe),
        };
        let (verb, gpu, icd) = match self {
            Driver::Tepui(gpu) => ("run", Some(gpu), "none"),
            Driver::Mesa(gpu) => ("shim", Some(gpu), gpu.mesa()[0]),
            Driver::Lavapipe => ("", None, "lavapipe"),
        };
        if let Some(gpu) = gpu {
            command.args([verb, "--gpu", gpu.id(), "--threads", &threads.to_string()]);
            if let Some(file) = counts {
                command.arg("--counts").arg(file);
            }
            command.arg("--");
        } else if threads > 0 {
            command.env("LP_NUM_THREADS", threads.to_string());
        }
        // Every pipeline is compiled.
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        command.arg(mesa).args(["run", "--icd", icd]);
        if self == Driver::Mesa(Gpu::MaliG610) {
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
            Driver::Tepui(gpu) | Driver::Mesa(gpu) => gpu.device(),
        }
    }
}

/// Speed of a program's frames on a driver.
#[derive(Clone, Copy)]
pub struct Speed {
    /// Frames per second.
    pub fps: f64,
    /// Work of a frame on the model.
    pub executed: Option<Executed>,
}

/// A program's name, and its speed on each driver.
pub type Speeds = (String, Vec<Speed>);

/// Work that the model executed, or a part of it.
#[derive(Clone, Copy, Default, Deserialize)]
pub struct Executed {
    /// Instructions, counted once a SIMD-group.
    pub instructions: f64,
    /// Cycles of the busier arithmetic unit.
    #[serde(default)]
    pub cycles: f64,
    /// Nanoseconds that the model took.
    #[serde(default)]
    pub nanoseconds: f64,
}

impl Executed {
    /// The sum of all commands of a file of counts.
    pub fn sum(file: &Path) -> Result<Executed, Box<dyn Error>> {
        let mut sum = Executed::default();
        for line in std::fs::read_to_string(file)?.lines() {
            let command: Executed = serde_json::from_str(line)?;
            sum.instructions += command.instructions;
            sum.cycles += command.cycles;
            sum.nanoseconds += command.nanoseconds;
        }
        Ok(sum)
    }

    /// The work that exceeds `without`, divided by a number of repetitions.
    pub fn each(self, without: Executed, turns: f64) -> Executed {
        Executed {
            instructions: (self.instructions - without.instructions) / turns,
            cycles: (self.cycles - without.cycles) / turns,
            nanoseconds: (self.nanoseconds - without.nanoseconds) / turns,
        }
    }
}

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
    /// Frames per second if nothing but the model took time: without the program, the driver, an emulator and the X server.
    pub alone_fps: Option<f64>,
    /// The frame rate divided by lavapipe's.
    pub alone_ratio: Option<f64>,
}

/// Runs every program on a driver on the model and on lavapipe.
pub fn measure(driver: Driver, mesa: &Path, threads: usize) -> Result<Vec<Frames>, Box<dyn Error>> {
    let runner = Runner::new(mesa, threads)?;
    let mut all = Vec::new();
    runner.vulkan(&[driver, Driver::Lavapipe], &mut |speeds| all.push(speeds))?;
    let frames = |(name, speeds): Speeds| {
        let [model_fps, lavapipe_fps] = [speeds[0].fps, speeds[1].fps];
        let took = speeds[0].executed.map(|frame| frame.nanoseconds).filter(|&ns| ns > 0.0);
        let alone_fps = took.map(|ns| 1e9 / ns);
        Frames {
            name,
            model_fps,
            lavapipe_fps,
            ratio: model_fps / lavapipe_fps,
            alone_fps,
            alone_ratio: alone_fps.map(|fps| fps / lavapipe_fps),
        }
    };
    Ok(all.into_iter().map(frames).collect())
}

/// Runs every program on each driver in turn, also those that draw with OpenGL, and tells names, and speeds in the order of the
/// drivers.
pub fn measure_on(
    drivers: &[Driver],
    mesa: &Path,
    threads: usize,
    tell: &mut dyn FnMut(Speeds),
) -> Result<(), Box<dyn Error>> {
    let runner = Runner::new(mesa, threads)?;
    runner.vulkan(drivers, tell)?;
    for scene in GL_SCENES {
        let speeds = drivers.iter().map(|&d| runner.glmark2(scene, d)).collect::<Result<_, _>>()?;
        tell((format!("glmark2 {scene}"), speeds));
    }
    Ok(())
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

impl<'a> Runner<'a> {
    fn new(mesa: &'a Path, threads: usize) -> Result<Runner<'a>, Box<dyn Error>> {
        Ok(Runner { mesa, root: sysroot(mesa, &[])?, exe: std::env::current_exe()?, threads })
    }

    /// Tells the speeds of the programs that draw with Vulkan.
    fn vulkan(
        &self,
        drivers: &[Driver],
        tell: &mut dyn FnMut(Speeds),
    ) -> Result<(), Box<dyn Error>> {
        let cube = drivers.iter().map(|&d| self.vkcube(d)).collect::<Result<_, _>>()?;
        tell(("vkcube".to_owned(), cube));
        for scene in SCENES {
            let speeds =
                drivers.iter().map(|&d| self.vkmark(scene, d)).collect::<Result<_, _>>()?;
            tell((format!("vkmark {scene}"), speeds));
        }
        Ok(())
    }

    /// Runs a program in its own X server: its output, and what it executed on the model. A program may lose a race with the
    /// X server when it ends (`BadDrawable`), so that it gets a second attempt.
    fn run<S: AsRef<OsStr>>(
        &self,
        driver: Driver,
        environment: &[(&str, &str)],
        line: &[S],
    ) -> Result<(String, Option<Executed>), Box<dyn Error>> {
        self.attempt(driver, environment, line).or_else(|why| {
            eprintln!("{why}\nonce more");
            self.attempt(driver, environment, line)
        })
    }

    fn attempt<S: AsRef<OsStr>>(
        &self,
        driver: Driver,
        environment: &[(&str, &str)],
        line: &[S],
    ) -> Result<(String, Option<Executed>), Box<dyn Error>> {
        let counts = tempfile::NamedTempFile::new()?;
        let has_counts = driver != Driver::Lavapipe;
        let file = has_counts.then_some(counts.path());
        let inner = driver.command(&self.exe, self.mesa, self.threads, file);
        let mut command = Command::new(self.mesa);
        command.args(["xvfb", "--screen", &format!("{}x{}", SIZE.0, SIZE.1), "--"]);
        command.arg(inner.get_program()).args(inner.get_args()).args(line);
        for (name, value) in inner.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let output = command.envs(environment.iter().copied()).output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?} ended with {}\n{text}", output.status).into());
        }
        let executed = file.map(Executed::sum).transpose()?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), executed))
    }

    /// vkcube does not print its speed, so it is computed from the times of a short and a long run.
    fn vkcube(&self, driver: Driver) -> Result<Speed, Box<dyn Error>> {
        let run = |frames: u32| -> Result<(f64, Option<Executed>), Box<dyn Error>> {
            let frames = frames.to_string();
            let line = ["vkcube", "--c", &frames, "--width", SIZE.0, "--height", SIZE.1];
            let start = Instant::now();
            let (_, executed) =
                self.run(driver, &[], &[&line[..], &["--present_mode", "0"]].concat())?;
            Ok((start.elapsed().as_secs_f64(), executed))
        };
        let [(short, less), (long, more)] = [run(CUBE_FRAMES[0])?, run(CUBE_FRAMES[1])?];
        if long <= short {
            return Err(
                "vkcube's long run was as fast as its short one: the machine is busy".into()
            );
        }
        let frames = f64::from(CUBE_FRAMES[1] - CUBE_FRAMES[0]);
        let executed = more.zip(less).map(|(more, less)| more.each(less, frames));
        Ok(Speed { fps: frames / (long - short), executed })
    }

    fn vkmark(&self, scene: &str, driver: Driver) -> Result<Speed, Box<dyn Error>> {
        let (root, arch) = match driver {
            Driver::Mesa(Gpu::MaliG610) => (sysroot(self.mesa, &["--arch", "arm64"])?, "aarch64"),
            _ => (self.root.clone(), std::env::consts::ARCH),
        };
        let lib = format!("usr/lib/{arch}-linux-gnu/vkmark");
        let (plugins, data) = (root.join(lib), root.join("usr/share/vkmark"));
        let size = format!("{}x{}", SIZE.0, SIZE.1);
        let line: [&OsStr; 12] = [
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
        ];
        self.mark(driver, &[], &line, scene)
    }

    fn glmark2(&self, scene: &str, driver: Driver) -> Result<Speed, Box<dyn Error>> {
        let data = self.root.join("usr/share/glmark2");
        let size = format!("{}x{}", SIZE.0, SIZE.1);
        let line: [&OsStr; 8] = [
            "glmark2".as_ref(),
            "--data-path".as_ref(),
            data.as_ref(),
            "--swap-mode".as_ref(),
            "immediate".as_ref(),
            "--size".as_ref(),
            size.as_ref(),
            "--benchmark".as_ref(),
        ];
        let environment: &[_] =
            if driver == Driver::Lavapipe { &[("LIBGL_ALWAYS_SOFTWARE", "1")] } else { &ZINK };
        self.mark(driver, environment, &line, scene)
    }

    /// Runs a scene of vkmark or glmark2, named after the line's words.
    fn mark(
        &self,
        driver: Driver,
        environment: &[(&str, &str)],
        line: &[&OsStr],
        scene: &str,
    ) -> Result<Speed, Box<dyn Error>> {
        let run = |seconds: u32| -> Result<(f64, f64, Option<Executed>), Box<dyn Error>> {
            let scene = format!("{scene}:duration={seconds}");
            let line = [line, &[scene.as_ref()]].concat();
            let (text, executed) = self.run(driver, environment, &line)?;
            // [cube] duration=3: FPS: 812 FrameTime: 1.232 ms
            let after = |name: &str| {
                let mut words = text.split_whitespace().skip_while(|&word| word != name).skip(1);
                words.next().and_then(|word| word.parse::<f64>().ok()).filter(|&n| n > 0.0)
            };
            let why = || format!("{} printed no FPS and FrameTime:\n{text}", line[0].display());
            let (fps, frame_ms) = after("FPS:").zip(after("FrameTime:")).ok_or_else(why)?;
            // A scene ends with the frame in which its time is over.
            Ok((fps, (f64::from(seconds) * 1e3 / frame_ms).ceil(), executed))
        };
        let (fps, frames, more) = run(SECONDS[0])?;
        let Some(more) = more else { return Ok(Speed { fps, executed: None }) };
        let (_, fewer, less) = run(SECONDS[1])?;
        let executed = less.map(|less| more.each(less, (frames - fewer).max(1.0)));
        Ok(Speed { fps, executed })
    }
}
