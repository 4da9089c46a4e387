//! A sample of piglit's OpenGL tests, without a window: tests that pass on llvmpipe must pass on Mesa's
//! OpenGL driver for each virtual GPU.
//!
//! `quick_shader` consists of shaders, many of which one process of `shader_runner` executes; `quick_gl` has
//! a program per test. A hash of their names selects the tests; `TEPUI_PIGLIT_SHARE=1` runs all of them, `=N`
//! one in N.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use libtest_mimic::Trial;

use crate::drivers::{self, Driver, REFERENCE, TESTED};
use crate::session;

/// A list of piglit's tests.
struct List {
    name: &'static str,
    /// One test in this number is run, so that the whole takes a few minutes.
    share: u64,
    /// The number of our tests that it is split into.
    parts: usize,
    /// Percentage of the selected tests that must pass on llvmpipe and on each driver; others are skipped
    /// because of a missing extension, or need a window.
    passes: usize,
}

const LISTS: &[List] = &[
    List { name: "quick_shader", share: 30, parts: 4, passes: 95 },
    List { name: "quick_gl", share: 100, parts: 2, passes: 60 },
];

/// Folders and tests that are left out, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("generated_tests/spec/arb_vertex_attrib_64bit/", "not unpacked: too large"),
    ("generated_tests/spec/glsl-4.20/", "not unpacked: too large"),
    ("arb_shader_image_size-builtin", "takes minutes: hundreds of images of the greatest sizes"),
];

/// Tests that pass on llvmpipe and not on a driver, by the virtual GPU's name: the reason why that is no defect of
/// the virtual GPU, or the missing feature.
const EXPECTED: &[(&str, &str, &str)] = &[
    (
        "m1",
        "spec@glsl-1.50@execution@interface-vs-unnamed-to-fs-unnamed",
        "compares interpolated values up to 37 within 1e-5 in four channels at once, where a unit of \
         the last place is 3.8e-6; how silicon rounds them is unknown",
    ),
    (
        "m1",
        "spec@arb_tessellation_shader@execution@variable-indexing@tcs-input-array-float-index-rd",
        "needs 124 vertex output components and does not ask; Mesa's driver offers 96, llvmpipe 128",
    ),
    (
        "skl",
        "spec@glsl-1.10@execution@fs-dfdx-accuracy",
        "it warns that dFdx is coarse, which is the driver's choice",
    ),
    (
        "tgl",
        "spec@arb_gpu_shader_fp64@execution@built-in-functions@fs-op-div-dmat4-dmat4",
        "the GPU has no floats of 64 bits: what iris makes of the divisions is a program of more than 1 MiB, which the \
         model does not take, and takes minutes to compile on a busy machine",
    ),
];

/// Disabling GL_MULTISAMPLE has no effect on coverage in Mesa's driver: of the rasterizer state it uses
/// `multisample` only for the sample mask and alpha to coverage (agx_state.c), and never sets "Primitive
/// MSAA", the bit with which Vulkan's driver draws lines as if single-sampled (hk_cmd_draw.c). These tests
/// compare such a draw with one to a single-sampled target.
const WITHOUT_MULTISAMPLE: &[&str] = &[
    "spec@ext_framebuffer_multisample@interpolation 2 centroid-deriv-disabled",
    "spec@ext_framebuffer_multisample@interpolation 2 non-centroid-deriv-disabled",
    "spec@ext_framebuffer_multisample@interpolation 4 centroid-deriv-disabled",
    "spec@ext_framebuffer_multisample@interpolation 4 non-centroid-deriv-disabled",
];

/// Number of shaders per process.
const SHADERS: usize = 20;
/// Time limit of a process in seconds.
const SECONDS: &str = "600";

/// A piglit test.
struct Case {
    name: String,
    /// The program in piglit's folder `bin`, and its arguments.
    command: Vec<String>,
    /// Whether it runs in a framebuffer object.
    in_fbo: bool,
}

/// Outcomes of cases by name, and of their subtests: name, newline, subtest.
type Outcomes = BTreeMap<String, String>;

/// The tests of this module.
pub fn trials() -> Vec<Trial> {
    let parts = LISTS.iter().flat_map(|list| (0..list.parts).map(move |part| (list, part)));
    parts
        .map(|(list, part)| {
            let name = format!("piglit/{}/{}-of-{}", list.name, part + 1, list.parts);
            let run = move || run(list, part, &name).map_err(Into::into);
            Trial::test(format!("piglit/{}/{}-of-{}", list.name, part + 1, list.parts), run)
        })
        .collect()
}

/// The folder of piglit.
fn folder() -> Result<PathBuf, String> {
    let lib = format!("usr/lib/{}-linux-gnu/piglit", std::env::consts::ARCH);
    Ok(drivers::sysroot(&drivers::mesa())?.join(lib))
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The cases of a part of a list.
fn cases(list: &List, part: usize, piglit: &Path) -> Result<Vec<Case>, String> {
    let file = piglit.join("tests").join(format!("{}.xml.gz", list.name));
    let say = |e: std::io::Error| format!("{}: {e}", file.display());
    let mut text = String::new();
    GzDecoder::new(File::open(&file).map_err(say)?).read_to_string(&mut text).map_err(say)?;
    let share = match std::env::var("TEPUI_PIGLIT_SHARE") {
        Ok(share) => share.parse().map_err(|e| format!("TEPUI_PIGLIT_SHARE={share}: {e}"))?,
        Err(_) => list.share,
    };
    let all: Vec<Case> = text.split("<Test ").skip(1).map(case).collect::<Result<_, _>>()?;
    let count = text.split_once("count=\"").and_then(|(_, rest)| rest.split_once('"'));
    if count.is_none_or(|(count, _)| count.parse() != Ok(all.len())) {
        return Err(format!("{}: {} cases, not as many as it says", file.display(), all.len()));
    }
    let left_out = |case: &Case| {
        LEFT_OUT.iter().any(|(path, _)| case.command.iter().any(|w| w.contains(path)))
    };
    let taken =
        all.into_iter().filter(|case| !left_out(case) && hash(&case.name).is_multiple_of(share));
    Ok(taken.enumerate().filter(|(i, _)| i % list.parts == part).map(|(_, case)| case).collect())
}

/// Parses an entry of a list: `name="…"`, and options, of which the command is a Python list.
fn case(entry: &str) -> Result<Case, String> {
    let between = |text: &str, start: &str| -> Option<String> {
        let text = &text[text.find(start)? + start.len()..];
        let text = &text[..text.find('"')?];
        Some(text.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&"))
    };
    let option = |name: &str| between(entry, &format!("<option name=\"{name}\" value=\""));
    let read = || {
        let command = option("command")?;
        let words = command.trim_start_matches('[').trim_end_matches(']').split(", ");
        let command = words.map(|word| word.trim_matches(['\'', '"']).to_owned()).collect();
        let in_fbo = option("run_concurrent")? == "True";
        Some(Case { name: between(entry, "name=\"")?, command, in_fbo })
    };
    read().ok_or_else(|| format!("an entry that cannot be read: {entry}"))
}

/// Runs a part of a list on the reference and on each driver.
fn run(list: &List, part: usize, name: &str) -> Result<(), String> {
    let piglit = folder()?;
    let cases = cases(list, part, &piglit)?;
    let all: Vec<&Case> = cases.iter().collect();
    let expected = run_all(&piglit, &all, &REFERENCE, name)?;
    let passes = cases.iter().filter(|case| is(&expected, &case.name, "pass")).count();
    require(list, passes, &cases, &REFERENCE)?;
    for driver in TESTED.iter().filter(|driver| driver.has_opengl && driver.runs(name)) {
        compare(list, name, &cases, &expected, driver)?;
    }
    Ok(())
}

/// Runs the cases on a driver: those that pass on the reference must pass there.
fn compare(
    list: &List,
    name: &str,
    cases: &[Case],
    expected: &Outcomes,
    driver: &Driver,
) -> Result<(), String> {
    let piglit = folder()?;
    let all: Vec<&Case> = cases.iter().collect();
    let passes = cases.iter().filter(|case| is(expected, &case.name, "pass")).count();
    let got = run_all(&piglit, &all, driver, name)?;
    require(list, cases.iter().filter(|c| is(&got, &c.name, "pass")).count(), cases, driver)?;
    // A driver may skip a test because it lacks an extension that llvmpipe has.
    let is_finding = |name: &String| {
        let case = name.split_once("\n").map_or(name.as_str(), |(case, _)| case);
        is(expected, name, "pass")
            && !is(&got, name, "pass")
            && !is(&got, case, "skip")
            && !is(&got, name, "skip")
            && EXPECTED.iter().all(|(of, known, _)| Some(*of) != driver.gpu || *known != case)
            && !WITHOUT_MULTISAMPLE.contains(&case)
    };
    let mut findings: Vec<String> = expected
        .iter()
        .filter(|(name, _)| is_finding(name))
        .map(|(name, _)| {
            let outcome = got.get(name).map_or("missing", String::as_str);
            format!("{}: {outcome}", name.replace('\n', ", part "))
        })
        .collect();
    // After a fault every later test of the same process fails, so the one that fails alone is reported
    // first.
    for case in cases {
        if is_finding(&case.name) {
            let alone = run_all(&piglit, &[case], driver, &format!("{name}-alone"))?;
            let outcome = alone.get(&case.name).map_or("missing", String::as_str);
            let outcome = if outcome == "pass" { "passes" } else { outcome };
            findings.insert(0, format!("alone: {}: {outcome}", case.name));
        }
    }
    let ours = got.values().filter(|outcome| *outcome == "pass").count();
    let theirs = expected.values().filter(|outcome| *outcome == "pass").count();
    eprintln!(
        "{name}: of {} cases {passes} pass; with their parts {theirs}, on {} {ours}",
        cases.len(),
        driver.name
    );
    if findings.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} pass on {} and not on {}:\n{}\nsee {}",
        findings.len(),
        REFERENCE.name,
        driver.name,
        findings.join("\n"),
        session::directory(name, driver).display(),
    ))
}

/// An error unless as many cases passed as the list requires.
fn require(list: &List, passes: usize, cases: &[Case], driver: &Driver) -> Result<(), String> {
    if passes > 0 && passes * 100 >= cases.len() * list.passes {
        return Ok(());
    }
    Err(format!("only {passes} of {} pass on {}", cases.len(), driver.name))
}

fn is(outcomes: &Outcomes, name: &str, outcome: &str) -> bool {
    outcomes.get(name).is_some_and(|got| got == outcome)
}

/// Runs cases on a driver; prints progress.
fn run_all(
    piglit: &Path,
    cases: &[&Case],
    driver: &Driver,
    name: &str,
) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::new();
    let directory = session::fresh_directory(name, driver)?;
    let mut shaders: BTreeMap<&str, VecDeque<&Case>> = BTreeMap::new();
    let mut done = 0;
    let mut said = std::time::Instant::now();
    let mut progress = |done: usize| {
        if said.elapsed().as_secs() >= 10 {
            said = std::time::Instant::now();
            eprintln!("{name}: {done} of {} on {}", cases.len(), driver.name);
        }
    };
    for case in cases {
        if case.command[0].starts_with("shader_runner") {
            shaders.entry(&case.command[0]).or_default().push_back(case);
            continue;
        }
        let mut arguments = case.command[1..].to_vec();
        if case.command[0] == "built-in-constants" {
            arguments[0] = piglit.join("tests").join(&arguments[0]).display().to_string();
        }
        arguments.push("-auto".to_owned());
        if case.in_fbo {
            arguments.push("-fbo".to_owned());
        }
        let log = directory.join(format!("{done}.log"));
        let run = process(piglit, &case.command[0], &arguments, driver, &log)?;
        for (part, outcome) in &run.parts {
            outcomes.insert(format!("{}\n{part}", case.name), outcome.clone());
        }
        let outcome = run.outcome.unwrap_or_else(|| run.end.clone());
        outcomes.insert(case.name.clone(), outcome);
        done += 1;
        progress(done);
    }
    for (program, mut waiting) in shaders {
        while !waiting.is_empty() {
            let batch: Vec<&Case> = waiting.iter().take(SHADERS).copied().collect();
            let files = batch.iter().map(|c| piglit.join(&c.command[1]).display().to_string());
            let mut arguments: Vec<String> = files.collect();
            arguments.extend(["-auto", "-fbo", "-report-subtests"].map(str::to_owned));
            let log = directory.join(format!("{done}.log"));
            let run = process(piglit, program, &arguments, driver, &log)?;
            // Each file gives one result, in order.
            for (case, (_, outcome)) in batch.iter().zip(&run.parts) {
                outcomes.insert(case.name.clone(), outcome.clone());
            }
            let mut finished = run.parts.len().min(batch.len());
            if finished == batch.len() && run.died {
                outcomes.insert(batch[finished - 1].name.clone(), run.end);
            } else if finished < batch.len() {
                // The process ended during this case, normally or not; the next process continues after it.
                let outcome = run.outcome.unwrap_or(run.end);
                outcomes.insert(batch[finished].name.clone(), outcome);
                finished += 1;
            }
            waiting.drain(..finished);
            done += finished;
            progress(done);
        }
    }
    Ok(outcomes)
}

/// The output of a process.
struct Run {
    /// Results of its subtests, in order.
    parts: Vec<(String, String)>,
    /// Its own result.
    outcome: Option<String>,
    /// Description of its end.
    end: String,
    /// Whether a signal or the timeout ended it.
    died: bool,
}

fn process(
    piglit: &Path,
    program: &str,
    arguments: &[String],
    driver: &Driver,
    log: &Path,
) -> Result<Run, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", SECONDS]);
    driver.start(&mut command, &drivers::mesa())?;
    driver.surfaceless(&mut command);
    command.arg("--").arg(piglit.join("bin").join(program)).args(arguments);
    command.env("PIGLIT_PLATFORM", "surfaceless_egl").env("PIGLIT_SOURCE_DIR", piglit);
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let say = |e: std::io::Error| format!("{}: {e}", log.display());
    fs::write(log, [&output.stdout[..], &output.stderr].concat()).map_err(say)?;
    // `timeout` itself exits with 124, and with 128 plus the signal for its child.
    let died = output.status.code().is_none_or(|code| code >= 124);
    let mut run = Run { parts: Vec::new(), outcome: None, end: output.status.to_string(), died };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some(record) = line.strip_prefix("PIGLIT: ") else { continue };
        let record: serde_json::Value =
            serde_json::from_str(record).map_err(|e| format!("{}: {line}: {e}", log.display()))?;
        if let Some(outcome) = record["result"].as_str() {
            run.outcome = Some(outcome.to_owned());
        }
        let parts = record["subtest"].as_object().into_iter().flatten();
        let parts =
            parts.filter_map(|(name, outcome)| Some((name.clone(), outcome.as_str()?.to_owned())));
        run.parts.extend(parts);
    }
    // A process that ended abnormally did not pass, whatever it printed before.
    if !output.status.success() && run.outcome.as_deref() == Some("pass") {
        run.outcome = None;
    }
    Ok(run)
}
