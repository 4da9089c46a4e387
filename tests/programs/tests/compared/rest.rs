//! The final picture of a program: its screen when neither the program nor its X server has work left.
//!
//! A picture that looks right may be followed by a wrong one, so the expected picture is not used here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::picture::Picture;

/// Duration for which everything must be at rest.
const QUIET: Duration = Duration::from_millis(1000);
/// Interval between two checks.
const STEP: Duration = Duration::from_millis(25);
/// Clock ticks (of 10 ms) of CPU time that idle threads may use in [`QUIET`].
const IDLE_TICKS: u64 = 2;

/// A process and its screen.
pub struct Rest {
    process: u32,
    framebuffer: PathBuf,
}

impl Rest {
    /// A watcher of the process and the framebuffer file of its X server.
    pub fn of(process: u32, framebuffer: &Path) -> Rest {
        Rest { process, framebuffer: framebuffer.to_owned() }
    }

    fn screen(&self) -> Result<Picture, String> {
        let bytes = fs::read(&self.framebuffer);
        Picture::from_xwd(&bytes.map_err(|e| format!("{}: {e}", self.framebuffer.display()))?)
    }

    /// The screen after it has shown the same picture for [`QUIET`], while all threads of the program and of
    /// its children, including the X server, slept. `begun` distinguishes a picture from the empty screen
    /// before it.
    pub fn picture(
        &mut self,
        end: Instant,
        begun: impl Fn(&Picture) -> bool,
    ) -> Result<Picture, String> {
        let mut last = self.screen()?;
        let mut since = Instant::now();
        let mut ticks = self.activity()?.ticks;
        while since.elapsed() < QUIET || !begun(&last) {
            if Instant::now() > end {
                return Err("it does not come to rest".to_owned());
            }
            std::thread::sleep(STEP);
            let now = self.screen()?;
            let activity = self.activity()?;
            if now != last || activity.is_running || activity.ticks > ticks + IDLE_TICKS {
                last = now;
                since = Instant::now();
                ticks = activity.ticks;
            }
        }
        Ok(last)
    }

    /// The activity of the process and its children.
    fn activity(&self) -> Result<Activity, String> {
        let mut all = Activity { is_running: false, ticks: 0 };
        let own = stat(&format!("/proc/{}/stat", self.process));
        let own = own.ok_or("the program has ended")?;
        if own.state == 'Z' {
            return Err("the program has ended".to_owned());
        }
        let processes = fs::read_dir("/proc").map_err(|e| format!("/proc: {e}"))?;
        for process in processes.flatten() {
            let name = process.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let Some(whole) = stat(&format!("/proc/{id}/stat")) else { continue };
            if id != self.process && whole.parent != self.process {
                continue;
            }
            all.ticks += whole.ticks;
            let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
            all.is_running |= threads
                .filter_map(|thread| stat(&thread.path().join("stat").display().to_string()))
                .any(|thread| matches!(thread.state, 'R' | 'D'));
        }
        Ok(all)
    }
}

struct Activity {
    is_running: bool,
    /// CPU time since the start.
    ticks: u64,
}

struct Stat {
    state: char,
    parent: u32,
    ticks: u64,
}

/// Reads a `stat` file of a process or thread; `None` if it has ended.
// source: proc_pid_stat(5): the fields after the name, which is in parentheses
fn stat(path: &str) -> Option<Stat> {
    let text = fs::read_to_string(path).ok()?;
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)?,
    })
}

/// A test of the waiting itself: a program that shows one picture, sleeps, and shows another.
pub fn check(directory: &Path) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{}: {e}", directory.display());
    fs::create_dir_all(directory).map_err(say)?;
    let write =
        |name: &str, colour: u8| fs::write(directory.join(name), Picture::xwd(4, 3, colour));
    write("first", 10).and_then(|()| write("second", 20)).map_err(say)?;
    write("screen", 0).map_err(say)?;
    let mut child = std::process::Command::new("sh")
        .args(["-c", "sleep 0.3; mv first screen; sleep 0.3; mv second screen; exec sleep 60"])
        .current_dir(directory)
        .spawn()
        .map_err(say)?;
    let mut rest = Rest::of(child.id(), &directory.join("screen"));
    let end = Instant::now() + Duration::from_secs(30);
    let shown = rest.picture(end, |picture| picture.rgb()[0] != 0);
    let ended = child.kill().and_then(|()| child.wait());
    ended.map_err(say)?;
    match shown?.rgb()[0] {
        20 => Ok(()),
        colour => Err(format!("the picture of colour {colour} counts, not the last one")),
    }
}
