//! Chromium, without a window: a page with text, effects and a scene of three.js, drawn through ANGLE
//! on Vulkan.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::picture::Picture;
use crate::session::{self, Driver};

/// Where the page, the picture and the output on a driver are.
pub fn directory(driver: Driver) -> PathBuf {
    session::directory("chromium", driver)
}

/// Draws the page; the picture is left as `picture.png` in [`directory`].
pub fn draw(driver: Driver) -> Result<Picture, String> {
    let directory = directory(driver);
    let say = |e: std::io::Error| format!("{}: {e}", directory.display());
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(say)?;
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients");
    fs::copy(clients.join("page.html"), directory.join("page.html")).map_err(say)?;
    let three = installed(&clients)?.join("node/node_modules/three");
    symlink(&three, directory.join("three")).map_err(say)?;

    let mesa = session::mesa();
    let picture = directory.join("picture.png");
    let log = directory.join("log");
    let file = File::create(&log).map_err(say)?;
    // A program that hangs ends with a status of its own.
    let mut command = Command::new("timeout");
    command.arg("300");
    session::on(driver, &mut command, &mesa)?;
    command.args(["--", "chromium", "--headless=new"]);
    // The sandbox needs rights that containers lack; the shim's own files are outside of it as well.
    command.args(["--no-sandbox", "--no-zygote", "--disable-dev-shm-usage", "--disable-breakpad"]);
    command.args(["--use-gl=angle", "--use-angle=vulkan", "--enable-features=Vulkan"]);
    command.args(["--disable-vulkan-surface", "--ignore-gpu-blocklist", "--disable-gpu-watchdog"]);
    command.args(["--allow-file-access-from-files", "--hide-scrollbars", "--window-size=800,600"]);
    command.args(["--enable-logging=stderr", "--force-color-profile=srgb", "--timeout=250000"]);
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    command.arg(format!("--screenshot={}", picture.display()));
    command.arg(format!("file://{}", directory.join("page.html").display()));
    // What Chromium leaves in its home stays here; the Mesa that the real home may hold is named.
    let sysroot = session::sysroot(&mesa)?;
    let cache = sysroot.parent().ok_or("the sysroot is not inside Mesa's cache")?;
    command.env("HOME", &directory).env("TEPUI_MESA_DIR", cache);
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(say)?).stderr(file);
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;

    let said = String::from_utf8_lossy(&fs::read(&log).map_err(say)?).into_owned();
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    let last: Vec<&str> = said.lines().rev().take(20).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    let fail = |what: String| {
        let [console, last] = [console.join("\n"), last.join("\n")];
        format!("{}: {what}\n{console}\nThe end of what it printed:\n{last}", driver.name())
    };
    if !status.success() {
        return Err(fail(format!("Chromium ended with {status}, see {}", log.display())));
    }
    let has = |words: &[&str]| console.iter().any(|line| words.iter().all(|w| line.contains(w)));
    if !has(&["renderer: ANGLE", "Vulkan", driver.device()]) {
        return Err(fail(format!("WebGL is not on {}", driver.device())));
    }
    if !has(&["drawn: "]) || has(&["Context Lost"]) {
        return Err(fail("the scene was not drawn".to_owned()));
    }
    Picture::from_png(&picture)
}

/// Where `tests/clients/fetch` installs what comes from registries.
fn installed(clients: &Path) -> Result<PathBuf, String> {
    let fetch = clients.join("fetch");
    let output = Command::new(&fetch).output().map_err(|e| format!("{}: {e}", fetch.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}
