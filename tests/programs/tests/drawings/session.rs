//! One program on one driver, in an X server of its own, up to the frame that is compared.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::picture::Picture;
use crate::programs::{Api, Frame, Program, SIZE};

/// How long a program may take to reach its frame.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How long a screen must not change to be taken for the last picture.
const QUIET: Duration = Duration::from_millis(1000);

/// What draws.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// lavapipe or llvmpipe.
    Cpu,
    /// Honeykrisp, or zink over it, on the virtual M1.
    M1,
    /// The same, told not to compress images.
    M1Uncompressed,
}

impl Driver {
    /// The name in messages and of folders.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Cpu => "cpu",
            Driver::M1 => "m1",
            Driver::M1Uncompressed => "m1-uncompressed",
        }
    }

    /// What the program prints of the device if it really draws with this driver.
    pub fn device(self) -> &'static str {
        match self {
            Driver::Cpu => "llvmpipe",
            Driver::M1 | Driver::M1Uncompressed => "Apple M1",
        }
    }
}

/// Where the picture, framebuffer and output of a program on a driver are.
pub fn directory(program: &str, driver: Driver) -> PathBuf {
    let name = program.replace(['/', ' ', ':', '=', ',', ';'], "_");
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(name).join(driver.name())
}

/// A process that ends when it goes out of scope. `tools/mesa` and `tepui shim` are replaced by the
/// program that they start, so that this is the program, and its X server ends after it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Which pictures will do, where that is known.
pub type Wanted<'a> = Option<&'a dyn Fn(&Picture) -> bool>;

/// Draws the program's frame and returns it. It is also left as `picture.png` in [`directory`].
pub fn draw(program: &Program, driver: Driver, wanted: Wanted<'_>) -> Result<Picture, String> {
    let directory = directory(&program.name(), driver);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let log = directory.join("log");
    let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let mut command = command(program, driver, &directory)?;
    command.stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(|e| e.to_string())?).stderr(file);
    let said = || {
        let log = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    };

    let start = Instant::now();
    let mut child = Running(command.spawn().map_err(|e| format!("{command:?}: {e}"))?);
    let ready = match program.frame {
        Frame::Calls(_) => directory.join("mark"),
        Frame::Number(number) => directory.join(format!("{number}.png")),
    };
    while !ready.exists() {
        if let Some(status) = child.0.try_wait().map_err(|e| e.to_string())? {
            return Err(format!("{}: it ended with {status}\n{}", driver.name(), said()));
        }
        if start.elapsed() > TIMEOUT {
            return Err(format!("{}: no frame in {TIMEOUT:?}\n{}", driver.name(), said()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let picture = match program.frame {
        Frame::Calls(_) => settled(&directory.join("Xvfb_screen0"), wanted)?,
        Frame::Number(_) => Picture::from_png(&ready)?,
    };
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.0.id()));
    let maps = maps.map_err(|e| format!("the program's maps: {e}"))?;
    drop(child);
    picture.write_png(&directory.join("picture.png"))?;
    let all = fs::read(&log).unwrap_or_default();
    if program.says_device && !String::from_utf8_lossy(&all).contains(driver.device()) {
        return Err(format!("{}: not on {}\n{}", driver.name(), driver.device(), said()));
    }
    // Not all programs say what draws them, but Honeykrisp's library is loaded for the virtual M1 only.
    if maps.contains("libvulkan_asahi") == (driver == Driver::Cpu) {
        return Err(format!("{}: another driver is loaded\n{maps}", driver.name()));
    }
    Ok(picture)
}

/// The screen when it has stopped changing, or shows what is wanted: the program is held, but requests
/// may be on their way, on a busy machine for a while.
fn settled(framebuffer: &Path, wanted: Wanted<'_>) -> Result<Picture, String> {
    let read = || -> Result<Picture, String> {
        let bytes = fs::read(framebuffer).map_err(|e| format!("{}: {e}", framebuffer.display()))?;
        Picture::from_xwd(&bytes)
    };
    let mut last = read()?;
    let mut since = Instant::now();
    while since.elapsed() < QUIET && !wanted.is_some_and(|will_do| will_do(&last)) {
        std::thread::sleep(Duration::from_millis(50));
        let now = read()?;
        if now != last {
            last = now;
            since = Instant::now();
        }
    }
    Ok(last)
}

fn command(program: &Program, driver: Driver, directory: &Path) -> Result<Command, String> {
    let mesa = mesa();
    let root = sysroot(&mesa)?;
    let mut command = Command::new(&mesa);
    command.args(["xvfb", "--screen", SIZE, "--framebuffer"]).arg(directory).arg("--");
    on(driver, &mut command, &mesa)?;
    if driver != Driver::Cpu && program.api() == Api::OpenGl {
        // Without DRI3, zink needs the second variable to present by itself.
        command.env("MESA_LOADER_DRIVER_OVERRIDE", "zink").env("LIBGL_KOPPER_DRI2", "1");
    }
    match program.frame {
        Frame::Calls(calls) => {
            command.arg("--preload").arg(built("libtepui_still_clock.so")?);
            command.env("TEPUI_STILL_CALLS", calls.to_string());
            command.env("TEPUI_STILL_MARK", directory.join("mark"));
        }
        Frame::Number(number) => {
            let config = format!("output_dir={},frames={number}", directory.display());
            command.env("VK_LAYER_MESA_SCREENSHOT_CONFIG", config);
            command.env("VK_LAYER_PATH", root.join("usr/share/vulkan/explicit_layer.d"));
            command.env("VK_INSTANCE_LAYERS", "VK_LAYER_MESA_screenshot");
        }
    }
    command.arg("--").args(program.command(&root));
    Ok(command)
}

/// Continues a command by the words that make the driver the one that the next words see.
pub fn on(driver: Driver, command: &mut Command, mesa: &Path) -> Result<(), String> {
    let icd = match driver {
        Driver::Cpu => "lavapipe",
        Driver::M1 | Driver::M1Uncompressed => {
            command.arg(built("tepui")?).args(["shim", "--gpu", "m1", "--"]);
            "honeykrisp"
        }
    };
    if driver == Driver::M1Uncompressed {
        command.env("AGX_MESA_DEBUG", "nocompress");
    }
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    // Filters as the specification has them, where llvmpipe would approximate.
    command.env("GALLIVM_PERF", "no_brilinear,no_rho_approx,no_quad_lod,no_aos_sampling");
    command.arg(mesa).args(["run", "--icd", icd]);
    Ok(())
}

/// The script that starts programs in Debian's Mesa.
pub fn mesa() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa")
}

/// The directory of Debian's Mesa.
pub fn sysroot(mesa: &Path) -> Result<PathBuf, String> {
    let output = Command::new(mesa).arg("path").output();
    let output = output.map_err(|e| format!("{}: {e}", mesa.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// A program or library of this project, beside this test or one folder up.
fn built(name: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let places = this.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    places.into_iter().find(|path| path.exists()).ok_or_else(|| {
        format!("{name} is missing: cargo build --release -p tepui -p tepui-shim -p tepui-programs")
    })
}
