//! Chromium, without a window: pages that are drawn through ANGLE on Vulkan.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::drivers::{self, Driver};
use crate::picture::Picture;
use crate::{clients, session};

/// The page of text, effects and WebGL.
pub const CHROMIUM: &str = "chromium";

/// A page of `tests/clients`.
pub struct Page {
    /// Name of its test.
    pub name: &'static str,
    /// The page.
    file: &'static str,
    /// Size of the window in pixels.
    size: [u32; 2],
    /// Further arguments.
    arguments: &'static [&'static str],
    /// Each of the words of each list must be in a line that it prints, with the device's name after those of the first.
    says: &'static [&'static [&'static str]],
    /// Its picture is compared with that of the CPU. Chromium has a software device of its own for WebGPU, and no canvas of it in
    /// pictures; such a page compares what it draws itself, on Tepui's driver.
    pub is_compared: bool,
    /// It must not print these.
    complaints: &'static [&'static str],
}

/// All pages.
pub const PAGES: &[Page] = &[
    // Text, effects, and a scene of three.js by WebGL.
    Page {
        name: CHROMIUM,
        file: "page.html",
        size: [800, 600],
        arguments: &[],
        says: &[&["renderer: ANGLE", "Vulkan"], &["drawn: "]],
        is_compared: true,
        complaints: &[],
    },
    // A WebGPU canvas: the browser exports its images, imports them more than once, and frees them frame by frame.
    Page {
        name: "chromium_webgpu",
        file: "canvas.html",
        size: [400, 300],
        arguments: &["--enable-unsafe-webgpu", "--enable-webgpu-developer-features"],
        says: &[&["adapter: "], &["drawn: 120 frames, 0 wrong"]],
        is_compared: false,
        complaints: &["device lost: ", "error: "],
    },
];

/// Limit on the attempts to draw the page.
const ATTEMPTS: usize = 3;

/// Lines of the console that say that the browser closed the page's channel to its GPU process, for WebGL and for WebGPU.
const CHANNEL_LOST: &[&str] =
    &["Context Lost", "A valid external Instance reference no longer exists"];

/// Lines of the log with which a lost channel is not the browser's own doing: a fault of the virtual GPU, or the end of the process that
/// the driver is in.
const DRIVER_FAILED: &[&str] = &["tepui: ", "GPU process exited unexpectedly"];

/// Draws the page; the picture is left as `picture.png` in the program's directory. On a busy machine
/// Chromium closes the page's channel to the GPU process when that takes long; then it draws once more, unless the virtual GPU
/// has reported something or the process has died.
pub fn draw(page: &Page, driver: &Driver) -> Result<Picture, String> {
    for _ in 0..ATTEMPTS {
        if let Some(picture) = attempt(page, driver)? {
            return Ok(picture);
        }
    }
    Err(format!("{}: the channel to the GPU process was lost {ATTEMPTS} times", driver.name))
}

/// Chromium without a window, which draws a page of a folder to `picture.png` there.
pub fn arguments(
    command: &mut Command,
    directory: &Path,
    page: &str,
    [width, height]: [u32; 2],
) -> Result<(), String> {
    command.args(["--", "chromium", "--headless=new"]);
    // The sandbox needs rights that containers lack; the shim's own files are outside of it as
    // well.
    command.args(["--no-sandbox", "--no-zygote", "--disable-dev-shm-usage", "--disable-breakpad"]);
    command.args(["--use-gl=angle", "--use-angle=vulkan", "--enable-features=Vulkan"]);
    command.args(["--disable-vulkan-surface", "--ignore-gpu-blocklist", "--disable-gpu-watchdog"]);
    command.args(["--allow-file-access-from-files", "--hide-scrollbars", "--timeout=250000"]);
    command.args(["--enable-logging=stderr", "--force-color-profile=srgb"]);
    // The picture is not taken before all tiles of the page are drawn.
    command.arg("--run-all-compositor-stages-before-draw");
    command.arg(format!("--window-size={width},{height}"));
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    command.arg(format!("--screenshot={}", directory.join("picture.png").display()));
    command.arg(format!("file://{}", directory.join(page).display()));
    // Chromium writes to its home, so that is here; the Mesa that the real home may contain is named
    // explicitly.
    let sysroot = drivers::sysroot(&drivers::mesa())?;
    let cache = sysroot.parent().ok_or("the sysroot is not inside Mesa's cache")?;
    command.env("HOME", directory).env("TEPUI_MESA_DIR", cache);
    Ok(())
}

/// Draws the page once; nothing if the channel to the GPU process was lost.
fn attempt(page: &Page, driver: &Driver) -> Result<Option<Picture>, String> {
    let directory = session::fresh_directory(page.name, driver)?;
    let say = |e: std::io::Error| format!("{}: {e}", directory.display());
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients");
    fs::copy(pages.join(page.file), directory.join(page.file)).map_err(say)?;
    let three = clients::installed()?.join("node/node_modules/three");
    symlink(&three, directory.join("three")).map_err(say)?;

    let mesa = drivers::mesa();
    let picture = directory.join("picture.png");
    let log = directory.join("log");
    let file = File::create(&log).map_err(say)?;
    // A hanging program ends with a distinct status.
    let mut command = Command::new("timeout");
    command.arg("300");
    driver.start(&mut command, &mesa)?;
    arguments(&mut command, &directory, page.file, page.size)?;
    command.args(page.arguments);
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(say)?).stderr(file);
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;

    let said = String::from_utf8_lossy(&fs::read(&log).map_err(say)?).into_owned();
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    let last: Vec<&str> = said.lines().rev().take(20).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    let fail = |what: String| {
        let [console, last] = [console.join("\n"), last.join("\n")];
        format!("{}: {what}\n{console}\nThe end of what it printed:\n{last}", driver.name)
    };
    if !status.success() {
        return Err(fail(format!("Chromium ended with {status}, see {}", log.display())));
    }
    let has = |words: &[&str]| console.iter().any(|line| words.iter().all(|w| line.contains(w)));
    if CHANNEL_LOST.iter().any(|what| has(&[what])) {
        return match DRIVER_FAILED.iter().find(|&&what| said.contains(what)) {
            Some(what) => {
                Err(fail(format!("the channel to the GPU process was lost after \"{what}\"")))
            }
            None => Ok(None),
        };
    }
    if let Some(what) = page.complaints.iter().find(|what| has(&[what])) {
        return Err(fail(format!("it says: {what}")));
    }
    let first = page.says.first().copied().unwrap_or_default();
    if !has(&[first, &[driver.device][..]].concat()) {
        return Err(fail(format!("not on {}", driver.device)));
    }
    if let Some(words) = page.says.iter().find(|words| !has(words)) {
        return Err(fail(format!("it does not say: {}", words.join(" "))));
    }
    Picture::from_png(&picture).map(Some)
}
