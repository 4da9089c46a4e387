//! Runs every case on lavapipe and on Honeykrisp over the virtual M1, and compares the buffers.
//!
//! Two tests a case: `lavapipe::CASE` (the reference driver meets the CPU's answers) and `m1::CASE`
//! (the driver for Apple GPUs on the virtual one meets the CPU's answers, and lavapipe's where the
//! CPU has none). A component that is missing fails the tests. The cases of a group run in one
//! process; if it dies, each case that it left without a record runs again alone.
//!
//! `cargo test --release -p tepui-witness --test drivers -- m1::control` runs a part.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use tepui_witness::case::Record;
use tepui_witness::cases;
use tepui_witness::compare::{self, Finding};
use tepui_witness::jobs::Driver;

/// How long the cases of a group may take together on one driver.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How a process ended, and what it and the driver printed.
#[derive(Default)]
struct Ran {
    trouble: Option<String>,
    log: String,
}

impl Ran {
    /// What was printed while `case` ran, between its mark and the next.
    fn said_of(&self, case: &str) -> String {
        let of_case = self
            .log
            .lines()
            .skip_while(|line| *line != format!("case   {case}"))
            .skip(1)
            .take_while(|line| !line.starts_with("case   "))
            .filter(|line| !line.starts_with("FAILED") && !line.starts_with("       "));
        of_case.take(12).map(|line| format!("\n{line}")).collect()
    }
}

/// A group's run, as soon as one of its tests asked for it.
type Slot = Arc<OnceLock<Ran>>;

/// What the tests share.
struct Bench {
    /// Names of the cases that this run needs, by driver and group.
    groups: HashMap<(Driver, String), Vec<String>>,
    /// Cases that lavapipe cannot run.
    alone: HashSet<String>,
    /// Where SPIR-V and records go.
    directory: PathBuf,
    /// Groups that ran on a driver.
    runs: Mutex<HashMap<(Driver, String), Slot>>,
    /// Findings on the virtual GPU, for the table.
    findings: Mutex<HashMap<String, Result<Vec<Finding>, String>>>,
}

impl Bench {
    fn record_path(&self, driver: Driver, case: &str) -> PathBuf {
        self.directory.join(driver.name()).join(format!("{}.record", file_stem(case)))
    }

    /// Runs cases in one process.
    fn process(&self, driver: Driver, cases: &[String]) -> Ran {
        let log = self.directory.join(driver.name()).join(format!("{}.log", file_stem(&cases[0])));
        let trouble = self.start(driver, cases, &log).err();
        let log = std::fs::read(&log).unwrap_or_default();
        Ran { trouble, log: String::from_utf8_lossy(&log).into_owned() }
    }

    fn start(&self, driver: Driver, cases: &[String], log: &Path) -> Result<(), String> {
        let out = self.directory.join(driver.name());
        std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        let file = std::fs::File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut child = driver
            .command(Path::new(env!("CARGO_BIN_EXE_witness")))?
            .args(["run", "--exact", "--device", driver.device()])
            .arg("--out")
            .arg(&out)
            .arg("--spirv")
            .arg(self.directory.join("spirv"))
            .args(cases)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(|e| e.to_string())?)
            .stderr(file)
            .spawn()
            .map_err(|e| format!("cannot start the witness on {}: {e}", driver.name()))?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break status;
            }
            if start.elapsed() > TIMEOUT {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("the witness did not end within {TIMEOUT:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        // 1: a case failed, and its record says how.
        match status.code() {
            Some(0 | 1) => Ok(()),
            _ => Err(format!("the witness ended with {status}")),
        }
    }

    /// Runs the case's whole group on a driver when first asked.
    fn group(&self, driver: Driver, case: &str) -> Slot {
        let key = (driver, group_of(case));
        let run = {
            let mut runs = self.runs.lock().unwrap_or_else(|e| e.into_inner());
            Arc::clone(runs.entry(key.clone()).or_default())
        };
        run.get_or_init(|| {
            let cases = &self.groups[&key];
            for case in cases {
                let _ = std::fs::remove_file(self.record_path(driver, case));
            }
            self.process(driver, cases)
        });
        run
    }

    /// The record of a case on a driver.
    fn record(&self, driver: Driver, case: &str) -> Result<Record, String> {
        let group = self.group(driver, case);
        let path = self.record_path(driver, case);
        if !path.exists() {
            // An earlier case ended the process, or this one did: alone it can tell.
            let alone = self.process(driver, &[case.to_owned()]);
            if !path.exists() {
                let with_group = group.get().and_then(|ran| ran.trouble.clone());
                let trouble = alone.trouble.or(with_group).unwrap_or_default();
                return Err(format!("no record on {}: {trouble}\n{}", driver.name(), alone.log));
            }
        }
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        postcard::from_bytes(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn lavapipe(&self, case: &str) -> Result<(), Failed> {
        let record = self.record(Driver::Lavapipe, case)?;
        verdict(&record.outputs.map(|outputs| compare::against_cpu(&outputs)))
    }

    fn m1(&self, case: &str) -> Result<(), Failed> {
        let findings = self.record(Driver::M1, case).and_then(|record| {
            if self.alone.contains(case) {
                return record.outputs.map(|outputs| compare::against_cpu(&outputs));
            }
            compare::against(&self.record(Driver::Lavapipe, case)?, &record)
        });
        let verdict = verdict(&findings).map_err(|failed| {
            let said = self.group(Driver::M1, case).get().map(|ran| ran.said_of(case));
            let text = failed.message().unwrap_or_default();
            Failed::from(format!("{text}{}", said.unwrap_or_default()))
        });
        let mut all = self.findings.lock().unwrap_or_else(|e| e.into_inner());
        all.insert(case.to_owned(), findings);
        verdict
    }
}

fn file_stem(case: &str) -> String {
    case.replace('/', ".")
}

fn group_of(case: &str) -> String {
    case.split('/').next().unwrap_or(case).to_owned()
}

fn verdict(findings: &Result<Vec<Finding>, String>) -> Result<(), Failed> {
    let findings = findings.as_ref().map_err(Failed::from)?;
    let mut text = String::new();
    for f in findings.iter().filter(|f| !f.passed) {
        let first = f.first.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}: {} of {} elements wrong; first {first}",
            f.output, f.failures, f.elements
        );
    }
    if text.is_empty() { Ok(()) } else { Err(text.into()) }
}

/// One line a case: buffers, elements, elements with other bits, largest difference, verdict.
fn table(findings: &HashMap<String, Result<Vec<Finding>, String>>) -> String {
    let mut text = format!(
        "{:<36} {:>7} {:>9} {:>9} {:>10}  verdict\n",
        "case", "buffers", "elements", "differing", "max ULP"
    );
    let mut names: Vec<_> = findings.keys().collect();
    names.sort();
    for name in names {
        let row = match &findings[name] {
            Err(error) => {
                format!("{name:<36} {:>38}  {}", "", error.lines().next().unwrap_or("failed"))
            }
            Ok(list) => {
                let passed = list.iter().all(|f| f.passed);
                format!(
                    "{name:<36} {:>7} {:>9} {:>9} {:>10.2}  {}",
                    list.len(),
                    list.iter().map(|f| f.elements).sum::<usize>(),
                    list.iter().map(|f| f.differing).sum::<usize>(),
                    list.iter().map(|f| f.max_ulp).fold(0.0, f64::max),
                    if passed { "equal" } else { "DIFFERENT" }
                )
            }
        };
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

/// Whether libtest's arguments select a test.
fn selected(arguments: &Arguments, name: &str) -> bool {
    let matches =
        |filter: &String| if arguments.exact { name == filter } else { name.contains(filter) };
    arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut groups: HashMap<(Driver, String), Vec<String>> = HashMap::new();
    let (mut trials, mut alone) = (Vec::new(), HashSet::new());
    for case in cases::all() {
        let name = case.name;
        if !case.on_lavapipe {
            alone.insert(name.clone());
        }
        for driver in [Driver::Lavapipe, Driver::M1] {
            let test = format!("{}::{name}", driver.name());
            if driver == Driver::Lavapipe && !case.on_lavapipe {
                continue;
            }
            // A case on the M1 needs lavapipe's record too.
            for needed in [driver, Driver::Lavapipe] {
                let list = groups.entry((needed, group_of(&name))).or_default();
                let wanted = needed == driver || case.on_lavapipe;
                if wanted && selected(&arguments, &test) && !list.contains(&name) {
                    list.push(name.clone());
                }
            }
            trials.push((test, driver, name.clone()));
        }
    }
    let bench = Arc::new(Bench {
        groups,
        alone,
        directory: Path::new(env!("CARGO_TARGET_TMPDIR")).join("witness"),
        runs: Mutex::default(),
        findings: Mutex::default(),
    });
    let trials = trials
        .into_iter()
        .map(|(test, driver, case)| {
            let bench = Arc::clone(&bench);
            Trial::test(test, move || match driver {
                Driver::Lavapipe => bench.lavapipe(&case),
                Driver::M1 => bench.m1(&case),
            })
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let findings = bench.findings.lock().unwrap_or_else(|e| e.into_inner());
    if !findings.is_empty() {
        let text = table(&findings);
        println!("Honeykrisp on the virtual M1 against the CPU, or lavapipe:\n\n{text}");
        let _ = std::fs::write(bench.directory.join("table.txt"), text);
    }
    conclusion.exit_code()
}
