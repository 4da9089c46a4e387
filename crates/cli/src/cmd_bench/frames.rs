//! Measures frames per second of vkcube and of scenes of vkmark, on Mesa's driver on the model and
//! on lavapipe.

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
const CUBE_FRAMES: [u32; 2] = [20, 120];

/// The result of a program on both drivers.
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

/// Runs every program on both drivers. `mesa` is the script that runs programs on Debian's Mesa.
pub fn measure(mesa: &Path, threads: usize) -> Result<Vec<Frames>, Box<dyn Error>> {
    let output = Command::new(mesa).arg("path").output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let runner = Runner {
        mesa,
        root: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()),
        exe: std::env::current_exe()?,
        threads: threads.to_string(),
    };
    let mut all = vec![frames("vkcube".to_owned(), |model| runner.vkcube(model))?];
    for scene in SCENES {
        all.push(frames(format!("vkmark {scene}"), |model| runner.vkmark(scene, model))?);
    }
    Ok(all)
}

/// Measures a program on both drivers with `fps`, whose argument selects the model.
fn frames(
    name: String,
    fps: impl Fn(bool) -> Result<f64, Box<dyn Error>>,
) -> Result<Frames, Box<dyn Error>> {
    let (model_fps, lavapipe_fps) = (fps(true)?, fps(false)?);
    Ok(Frames { name, model_fps, lavapipe_fps, ratio: model_fps / lavapipe_fps })
}

struct Runner<'a> {
    mesa: &'a Path,
    /// The directory of Debian's Mesa.
    root: PathBuf,
    /// The path of this program.
    exe: PathBuf,
    threads: String,
}

impl Runner<'_> {
    /// Runs a program in its own X server and returns its output.
    fn run<S: AsRef<OsStr>>(&self, model: bool, line: &[S]) -> Result<String, Box<dyn Error>> {
        let mut command = Command::new(self.mesa);
        command.args(["xvfb", "--screen", &format!("{}x{}", SIZE.0, SIZE.1), "--"]);
        if model {
            command.arg(&self.exe).args(["shim", "--gpu", "m1", "--threads", &self.threads, "--"]);
        }
        let icd = if model { "honeykrisp" } else { "lavapipe" };
        command.arg(self.mesa).args(["run", "--icd", icd, "--"]).args(line);
        let output = command.output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?} ended with {}\n{text}", output.status).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// vkcube does not print its speed, so it is computed from the times of a short and a long run.
    fn vkcube(&self, model: bool) -> Result<f64, Box<dyn Error>> {
        let mut seconds = [0.0; 2];
        for (seconds, frames) in seconds.iter_mut().zip(CUBE_FRAMES) {
            let frames = frames.to_string();
            let line = ["vkcube", "--c", &frames, "--width", SIZE.0, "--height", SIZE.1];
            let start = Instant::now();
            self.run(model, &[line.as_slice(), &["--present_mode", "0"]].concat())?;
            *seconds = start.elapsed().as_secs_f64();
        }
        Ok(f64::from(CUBE_FRAMES[1] - CUBE_FRAMES[0]) / (seconds[1] - seconds[0]))
    }

    fn vkmark(&self, scene: &str, model: bool) -> Result<f64, Box<dyn Error>> {
        let lib = format!("usr/lib/{}-linux-gnu/vkmark", std::env::consts::ARCH);
        let (plugins, data) = (self.root.join(lib), self.root.join("usr/share/vkmark"));
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
        let text = self.run(model, &line)?;
        // [cube] duration=3: FPS: 812 FrameTime: 1.232 ms
        let mut words = text.split_whitespace().skip_while(|word| *word != "FPS:").skip(1);
        let fps = words.next().and_then(|word| word.parse().ok());
        fps.ok_or_else(|| format!("vkmark printed no FPS:\n{text}").into())
    }
}
