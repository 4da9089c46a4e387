//! Swapchains on real servers: Xvfb, with and without its extensions, and weston.
//!
//! Each test runs in its own process under `tools/mesa`, which starts the server and gives the process
//! Debian's libxcb, libX11 and libwayland-client. There the test is the application: it opens the
//! connection and the window, presents pictures with known pixels, and compares what the server shows
//! pixel by pixel. A missing server fails the tests.

mod cases;
mod pattern;
mod proxy;
mod wayland;
mod window;
mod x11;
mod xlib;

use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// Names the test that this process is to run, inside.
const INSIDE: &str = "TEPUI_WSI_TEST";

/// Environment of tests.
struct Server {
    name: &'static str,
    /// The arguments of `tools/mesa`.
    start: &'static [&'static str],
    tests: &'static [Test],
}

/// A test of a server: its name, and the function that runs inside.
type Test = (&'static str, fn());

/// The screen has windows of 24 and 32 bits.
const XVFB: &[&str] = &["xvfb", "--screen", "400x300"];
const NO_SHM: &[&str] = &["xvfb", "--screen", "400x300", "--without", "MIT-SHM"];
const NO_XFIXES: &[&str] = &["xvfb", "--screen", "400x300", "--without", "XFIXES"];

const SERVERS: &[Server] = &[
    Server { name: "x11", start: XVFB, tests: x11::PRESENT_SHM },
    Server { name: "x11_without_shm", start: NO_SHM, tests: x11::PRESENT },
    Server { name: "x11_without_xfixes", start: NO_XFIXES, tests: x11::NO_REGIONS },
    Server { name: "x11_without_present", start: XVFB, tests: x11::SHM },
    Server { name: "x11_without_either", start: NO_SHM, tests: x11::NEITHER },
    Server { name: "x11_with_short_requests", start: NO_SHM, tests: x11::SHORT_REQUESTS },
    Server { name: "x11_remote", start: XVFB, tests: x11::REMOTE },
    Server {
        name: "x11_16_bits",
        start: &["xvfb", "--screen", "400x300", "--depth", "16"],
        tests: x11::HALF_WORDS,
    },
    Server {
        name: "x11_30_bits",
        start: &["xvfb", "--screen", "400x300", "--depth", "30"],
        tests: x11::DEEP,
    },
    Server { name: "xlib", start: XVFB, tests: xlib::TESTS },
    Server { name: "wayland", start: &["weston", "--screen", "320x240"], tests: wayland::TESTS },
];

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(INSIDE) {
        let mut all = SERVERS.iter().flat_map(|s| s.tests.iter().map(move |t| (path(s, t), t.1)));
        let (_, test) = all.find(|(path, _)| *path == name).expect("a test of this name");
        test();
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    // Tests of pacing measure time: run few of them in parallel.
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let mut trials = Vec::new();
    for server in SERVERS {
        for test in server.tests {
            let path = path(server, test);
            trials.push(Trial::test(path.clone(), move || run(server, &path)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn path(server: &Server, test: &Test) -> String {
    format!("{}::{}", server.name, test.0)
}

/// Runs a test inside its server.
fn run(server: &Server, path: &str) -> Result<(), Failed> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(mesa())
        .args(server.start)
        .arg("--")
        .arg("timeout")
        .arg("120")
        .arg(mesa())
        .args(["run", "--icd", "none", "--"])
        .arg(this)
        .env(INSIDE, path)
        .output()
        .map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)).into())
}

/// The script that starts servers and programs of Debian's.
fn mesa() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa")
}
