//! One program on one driver, up to the pictures that are compared.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::drivers::{self, Driver};
use crate::picture::Picture;
use crate::programs::{Api, Frame, Program};
use crate::rest::Rest;

/// Time limit for a program to reach its frame.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The folder with the picture, framebuffer and output of a program on a driver.
pub fn directory(program: &str, driver: &Driver) -> PathBuf {
    let name = program.replace(['/', ' ', ':', '=', ',', ';'], "_");
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(name).join(driver.name)
}

/// An empty [`directory`].
pub fn fresh_directory(program: &str, driver: &Driver) -> Result<PathBuf, String> {
    let directory = directory(program, driver);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory)
}

/// A process that is killed when it goes out of scope. `tools/mesa` and `tepui shim` are replaced by the
/// program that they start, so that this is the program, and its X server ends after it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Draws the program's pictures and returns them. They are also left as PNG in [`directory`].
pub fn draw(program: &Program, driver: &Driver) -> Result<Vec<Picture>, String> {
    let directory = fresh_directory(&program.name(), driver)?;
    let log = directory.join("log");
    let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let mut command = command(program, driver, &directory)?;
    command.stdin(Stdio::null());
    command.stdout(file.try_clone().map_err(|e| e.to_string())?).stderr(file);
    let said = || String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let fail = |what: &str| {
        let said = said();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        format!("{}: {what}\n{last}", driver.name)
    };

    let child = Running(command.spawn().map_err(|e| format!("{command:?}: {e}"))?);
    let pictures = watch(program, child, driver, &directory).map_err(|what| fail(&what))?;
    let said = said();
    if program.says_device && !said.contains(driver.device) {
        return Err(fail(&format!("not on {}", driver.device)));
    }
    // A program without a window prints its memory maps if it cannot print its device.
    if !program.says_device && matches!(program.frame, Frame::Written(_)) {
        driver.check_loaded(&said)?;
    }
    let shares = ["zwp_linux_buffer_params_v1", "images, 320x240: dma-bufs"];
    let must_say = program.dma_bufs && driver.is_virtual() && (program.wayland || driver.is_own());
    if must_say && !shares.iter().any(|words| said.contains(words)) {
        return Err(fail("no dma-bufs"));
    }
    match program.complaints.iter().find(|words| said.contains(**words)) {
        Some(words) => Err(fail(&format!("it says: {words}"))),
        None => Ok(pictures),
    }
}

/// Waits for the program's frame, reads it, and ends the program.
fn watch(
    program: &Program,
    mut child: Running,
    driver: &Driver,
    directory: &Path,
) -> Result<Vec<Picture>, String> {
    let framebuffer = directory.join(FRAMEBUFFER);
    let end = Instant::now() + TIMEOUT;
    let waits_for = match program.frame {
        Frame::Calls(_) => Some(directory.join("mark")),
        Frame::Number(number) => Some(directory.join(format!("{number}.png"))),
        Frame::Rest => Some(framebuffer.clone()),
        Frame::Written(_) => None,
    };
    let status = loop {
        if waits_for.as_ref().is_some_and(|file| is_there(file)) {
            break None;
        }
        if let Some(status) = child.0.try_wait().map_err(|e| e.to_string())? {
            break Some(status);
        }
        if Instant::now() > end {
            return Err(format!("no frame in {TIMEOUT:?}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    if let Some(status) = status
        && !(waits_for.is_none() && status.success())
    {
        return Err(format!("it ended with {status}"));
    }
    let mut rest = Rest::of(child.0.id(), &framebuffer);
    let pictures = match program.frame {
        Frame::Calls(_) if program.wayland || program.dma_bufs && driver.is_virtual() => {
            vec![weston_screen(directory)?]
        }
        Frame::Calls(_) => vec![rest.picture(end, |_| true)?],
        Frame::Rest => vec![rest.picture(end, |picture| !picture.is_plain())?],
        Frame::Number(number) => vec![Picture::from_png(&directory.join(format!("{number}.png")))?],
        Frame::Written(names) => names
            .iter()
            .map(|name| Picture::from_png(&directory.join(format!("{name}.png"))))
            .collect::<Result<_, _>>()?,
    };
    if status.is_none() {
        let maps = driver.maps(child.0.id());
        driver.check_loaded(&maps.map_err(|e| format!("the program's maps: {e}"))?)?;
        pictures[0].write_png(&directory.join("picture.png"))?;
    }
    Ok(pictures)
}

/// Whether a file exists; a PNG or a framebuffer file must also be complete, because it may still be being
/// written.
fn is_there(file: &Path) -> bool {
    if file.extension().is_some_and(|e| e == "png") {
        return fs::read(file).is_ok_and(|bytes| bytes.ends_with(PNG_END));
    }
    if file.ends_with(FRAMEBUFFER) {
        return fs::read(file).is_ok_and(|bytes| Picture::from_xwd(&bytes).is_ok());
    }
    file.exists()
}

/// The name of Xvfb's framebuffer file.
const FRAMEBUFFER: &str = "Xvfb_screen0";

/// The chunk that ends a PNG: no bytes, its name, its checksum.
/// source: Portable Network Graphics (third edition), 11.2.5
const PNG_END: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";

/// The screen of weston once it shows the same picture twice, for a program that is stopped.
fn weston_screen(directory: &Path) -> Result<Picture, String> {
    let folder = directory.join("screen");
    let say = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut last = None;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(500));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(say)?;
        let mut shooter = Command::new(drivers::mesa());
        shooter.args(["run", "--icd", "none", "--", "weston-screenshooter"]);
        shooter.env("XDG_RUNTIME_DIR", runtime(directory)?).env("WAYLAND_DISPLAY", "wayland-0");
        let output = shooter.current_dir(&folder).output().map_err(say)?;
        if !output.status.success() {
            return Err(format!(
                "weston-screenshooter: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        let file = fs::read_dir(&folder).map_err(say)?.flatten().next();
        let picture = Picture::from_png(&file.ok_or("no picture of the screen")?.path())?;
        if last.as_ref() == Some(&picture) {
            return Ok(picture);
        }
        last = Some(picture);
    }
    Err("the screen does not come to rest".to_owned())
}

/// A directory for weston's socket, whose path must be short: sun_path has 108 bytes.
fn runtime(directory: &Path) -> Result<PathBuf, String> {
    let link = fs::read_link(directory.join("runtime"));
    link.map_err(|e| format!("{}: {e}", directory.display()))
}

fn command(program: &Program, driver: &Driver, directory: &Path) -> Result<Command, String> {
    let mesa = drivers::mesa();
    let root = driver.sysroot(&mesa)?;
    let own = drivers::sysroot(&mesa)?;
    let mut command = Command::new("env");
    let link = directory.join("runtime");
    let on_gpu = program.dma_bufs && driver.is_virtual();
    match program.screen() {
        Some(screen) if on_gpu => {
            let weston = ["--screen", screen, "--link"].map(OsStr::new);
            let weston = [&weston[..], &[link.as_os_str()]].concat();
            let x = ["xwayland", "--screen", screen, "--"].map(OsStr::new);
            let x = [&[mesa.as_os_str()], &x[..]].concat();
            let wrapper = if program.wayland { &[][..] } else { &x };
            driver.start_with_compositor(&mut command, &mesa, directory, &weston, wrapper)?;
            // Mesa's drivers log their requests to the compositor, ours how images are shared.
            command.env("WAYLAND_DEBUG", "1").env("TEPUI_DEBUG", "errors,windows");
        }
        Some(screen) if program.wayland => {
            command.arg(&mesa).args(["weston", "--screen", screen, "--link"]);
            command.arg(&link).arg("--");
        }
        Some(screen) => {
            command.arg(&mesa).args(["xvfb", "--screen", screen, "--framebuffer"]);
            command.arg(directory).arg("--");
            driver.window(program.api(), &mut command);
        }
        None if program.api() == Api::OpenGl => driver.surfaceless(&mut command),
        None => {}
    }
    if !on_gpu && program.takes_node() {
        driver.start_with_node(&mut command, &mesa)?;
    } else if !on_gpu {
        driver.start(&mut command, &mesa)?;
    }
    if program.screen().is_some() {
        command.arg("--preload").arg(driver.preload()?);
    }
    match program.frame {
        Frame::Calls(calls) => {
            command.env("TEPUI_STILL_CALLS", calls.to_string());
            command.env("TEPUI_STILL_MARK", directory.join("mark"));
        }
        Frame::Number(number) => {
            let config = format!("output_dir={},frames={number}", directory.display());
            command.env("VK_LAYER_MESA_SCREENSHOT_CONFIG", config);
            command.env("VK_LAYER_PATH", root.join("usr/share/vulkan/explicit_layer.d"));
            command.env("VK_INSTANCE_LAYERS", "VK_LAYER_MESA_screenshot");
        }
        Frame::Rest | Frame::Written(_) => {}
    }
    // The program writes to its home, so that is here; the Mesa that the real home may contain is named
    // explicitly.
    let cache = own.parent().ok_or("the sysroot is not inside Mesa's cache")?;
    command.env("HOME", directory).env("XDG_CONFIG_HOME", directory).env("TEPUI_MESA_DIR", cache);
    program.start(&mut command, driver, directory, &root)?;
    Ok(command)
}
