//! Runs every case on lavapipe, and on Honeykrisp and Tepui's own driver over the virtual M1, and
//! compares the buffers.
//!
//! Each case is a test on each driver: `m1::CASE` (Honeykrisp on the virtual M1), `skl::CASE` (Mesa's ANV on the virtual Skylake),
//! `tepui::CASE`, `tepui-skl::CASE`, `tepui-tgl::CASE`, `tepui-mali-g610::CASE` and `tepui-mali-g57::CASE` (Tepui's own driver on the
//! virtual M1, Skylake, Tiger Lake, Mali-G610 and Mali-G57). One in four is `tgl::CASE`, too (ANV on the virtual Tiger Lake), or all if
//! the variable `TEPUI_WITNESS_TIGER_LAKE` is `all`. If
//! `TEPUI_WITNESS_MALI` is set, cases are a test `mali::CASE` more (Mesa's PanVK on the virtual Mali-G610, all of it arm64 programs):
//! one in eight if it is `slice`, the long ones only if it is `all`.
//!
//! Tepui's driver runs some groups in other ways, too, such as `tepui-skl-libraries::CASE`: cases that draw with pipelines linked from
//! libraries, with dynamic state, and with shader objects; on the M1 and Intel's GPUs some groups on a render node, through ioctls; on
//! Intel's GPUs some with
//! images in the layouts of attachments, in which they are compressed; on all some without compressed images; on the M1 and the Mali GPUs
//! some with draws in small pieces; and on the Mali-G610 some with a small heap of the tiler.
//!
//! A driver on a virtual GPU must agree with
//! the CPU's result, or with lavapipe's where there is none; and lavapipe must agree with the CPU's. A
//! missing component fails the tests, and so does a case that compares nothing. The cases of a group
//! run in one process. If it dies, the case that ran last fails, and each case without a record runs
//! again alone.
//!
//! A further test, `isa::rows_have_a_witness`, checks that the rows of the instruction table that
//! occur neither in these cases' shaders nor in applegpu's vectors are those that
//! `docs/unknowns.md` lists.
//!
//! `cargo test --release -p tepui-witness --test drivers -- m1::control` runs a subset.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use tepui_agx_isa::{Inst, ROWS};
use tepui_witness::case::Record;
use tepui_witness::cases;
use tepui_witness::compare::{self, Finding};
use tepui_witness::expected::Expected;
use tepui_witness::jobs::{Driver, OwnGpu, ProcessEnd, Variant};

/// Time limit of all cases of a group on one driver.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Of each group every fourth case runs with ANV on the virtual Tiger Lake, unless [`TIGER_LAKE`] is `all`: all run on the virtual Skylake,
/// many of whose units are the same.
const STEP_ON_TIGER_LAKE: usize = 4;

/// Of each group every eighth case runs on the virtual Mali if [`MALI`] is `slice`.
const SLICE_ON_MALI: usize = 8;

/// The variable that adds the rest of the row of ANV on the virtual Tiger Lake, if it is `all`.
const TIGER_LAKE: &str = "TEPUI_WITNESS_TIGER_LAKE";

/// Groups that draw: their pipelines are made of libraries, with dynamic state and as shader objects, too.
const DRAWN: &[&str] = &[
    "blend",
    "blend_advanced",
    "depth",
    "draws",
    "fragment",
    "geometry",
    "logic",
    "mask",
    "offset",
    "passes",
    "samples",
    "stencil",
    "target",
];

/// Groups that Tepui's driver does not run on the virtual Mali GPUs: it has no sparse resources there.
const NOT_ON_OWN_MALI: &[&str] = &["sparse"];

/// Groups that Tepui's driver runs on a render node, too.
const ON_A_NODE: &[&str] = &["algorithms", "blend", "commands", "draws", "passes", "ycbcr"];

/// Groups with images that Tepui's driver compresses: they run without compression, too.
const COMPRESSED: &[&str] =
    &["compression", "depth", "format", "passes", "samples", "sequences", "stencil", "target"];

/// Groups with renderings, which Tepui's driver runs on Intel's GPUs in the layouts of attachments, too: images are compressed in them.
const COMPRESSED_ON_INTEL: &[&str] = &[
    "compression",
    "depth",
    "layouts",
    "occlusion",
    "passes",
    "samples",
    "sequences",
    "shadow",
    "stencil",
    "target",
];

/// Groups with stages between vertices and the rasteriser: they run in small pieces, too, on the M1 and the Mali GPUs, whose rasteriser they
/// come before as compute programs.
const IN_PIECES: &[&str] = &["queries", "stages"];

/// Groups that run with a small heap of the tiler, which their draws fill.
const FILLING_THE_HEAP: &[&str] = &["geometry", "many", "passes", "samples"];

/// Groups that do not run on PanVK: nearly all of their cases need stages, statistics and captures that it lacks.
const NOT_ON_MALI: &[&str] = &["queries", "stages"];

/// Cases that run there only if [`MALI`] is `all`, by the beginning of their names: they take the longest.
const LONG_ON_MALI: &[&str] = &[
    // The driver's compiler spills registers for minutes, under qemu.
    "memory/spills",
    // All tiles of a hundred of the largest renderings are processed.
    "fragment/count_alone",
];

/// The variable that adds the row of the virtual Mali: every eighth case of a group if it is `slice`, [`LONG_ON_MALI`] too if it is
/// `all`. The row needs a Rust target that not every machine has.
const MALI: &str = "TEPUI_WITNESS_MALI";

/// A group's run, as soon as one of its tests asked for it.
type Slot = Arc<OnceLock<ProcessEnd>>;

/// The test of the instruction table.
const ROWS_TEST: &str = "isa::rows_have_a_witness";

/// The test of the files of expected failures.
const EXPECTED_TEST: &str = "expected::lines_name_cases";

/// State that the tests share.
struct Bench {
    /// Names of the cases that this run needs, by driver and group.
    groups: HashMap<(Driver, String), Vec<String>>,
    /// Cases that lavapipe cannot run.
    alone: HashSet<String>,
    /// Failures that are known, by driver.
    expected: HashMap<Driver, Expected>,
    /// Folder for SPIR-V and records.
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

    /// File for the rows of the instruction table that a group's shaders have.
    fn coverage_path(&self, group: &str) -> PathBuf {
        self.directory.join(format!("{group}.rows"))
    }

    /// Runs cases in one process.
    fn process(&self, driver: Driver, cases: &[String]) -> ProcessEnd {
        let log = self.directory.join(driver.name()).join(format!("{}.log", file_stem(&cases[0])));
        let trouble = self.start(driver, cases, &log).err();
        let log = std::fs::read(&log).unwrap_or_default();
        ProcessEnd { trouble, log: String::from_utf8_lossy(&log).into_owned() }
    }

    fn start(&self, driver: Driver, cases: &[String], log: &Path) -> Result<(), String> {
        let out = self.directory.join(driver.name());
        std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        let file = std::fs::File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let mut command = driver.command(Path::new(env!("CARGO_BIN_EXE_witness")))?;
        if driver == Driver::M1 {
            // Mesa's compiler is the witness of the instruction table's rows.
            command.env("TEPUI_COVERAGE", self.coverage_path(&group_of(&cases[0])));
        }
        let mut child = command
            .args(["run", "--exact", "--device", driver.device()])
            .args(["--pipelines", driver.pipelines()])
            .args(["--layouts", driver.layouts()])
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
            if driver == Driver::M1 {
                let _ = std::fs::remove_file(self.coverage_path(&group_of(case)));
            }
            self.process(driver, cases)
        });
        run
    }

    /// The record of a case on a driver.
    fn record(&self, driver: Driver, case: &str) -> Result<Record, String> {
        let on = driver.name();
        let group = self.group(driver, case);
        if let Some(why) = group.get().and_then(|ran| ran.blame(case)) {
            return Err(format!("the process of the group died on {on}: {why}"));
        }
        let path = self.record_path(driver, case);
        if !path.exists() {
            // An earlier case ended the process.
            let alone = self.process(driver, &[case.to_owned()]);
            if let Some(why) = alone.trouble {
                return Err(format!("the process died on {on}: {why}\n{}", alone.log));
            }
            if !path.exists() {
                return Err(format!("no record on {on}\n{}", alone.log));
            }
        }
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        postcard::from_bytes(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Compares a case's outputs on the virtual GPU; an error if lavapipe fails it.
    fn judge(&self, driver: Driver, case: &str) -> Result<Vec<Finding>, String> {
        let record = self.record(driver, case)?;
        if self.alone.contains(case) {
            return record.outputs.map(|outputs| compare::against_cpu(&outputs));
        }
        let reference = self.record(Driver::Lavapipe, case)?;
        let outputs = reference.outputs.as_ref().map_err(|e| format!("on lavapipe: {e}"))?;
        wrong(&compare::against_cpu(outputs)).map_err(|e| format!("on lavapipe: {e}"))?;
        compare::against(&reference, &record)
    }

    /// Rows of the instruction table that no group's shaders have on the virtual GPU, and no vector
    /// of applegpu's.
    fn rows_without_witness(&self) -> Result<BTreeSet<String>, String> {
        let mut rows: BTreeSet<String> = ROWS.iter().map(|row| row.name.to_owned()).collect();
        for (driver, group) in self.groups.keys().filter(|key| key.0 == Driver::M1) {
            let case = &self.groups[&(*driver, group.clone())][0];
            self.group(*driver, case);
            let path = self.coverage_path(group);
            let names = read(&path)?;
            names.lines().for_each(|name| _ = rows.remove(name));
        }
        let vectors = project().join("crates/agx/bare/tests/semantics/applegpu.txt");
        for line in read(&vectors)?.lines().filter(|line| !line.starts_with('#')) {
            let Some(code) = line.split_whitespace().nth(1) else { continue };
            let code = tepui_agx_isa::asm::hex_bytes(code).ok_or("not hexadecimal")?;
            let (inst, _) = Inst::decode(&code).map_err(|e| format!("{line}: {e}"))?;
            rows.remove(inst.desc().name);
        }
        Ok(rows)
    }

    fn rows(&self) -> Result<(), Failed> {
        let found = self.rows_without_witness()?;
        let text = read(&project().join("docs/unknowns.md"))?;
        let (_, section) = text.split_once(ROWS_HEADING).ok_or("no section of rows")?;
        let section = section.split("\n## ").next().unwrap_or_default();
        let listed: BTreeSet<String> = section
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| ROWS.iter().any(|row| row.name == *word))
            .map(str::to_owned)
            .collect();
        if found == listed {
            return Ok(());
        }
        let not_listed: Vec<_> = found.difference(&listed).collect();
        let witnessed: Vec<_> = listed.difference(&found).collect();
        Err(format!("without a witness, but not listed: {not_listed:?}; listed, but with a witness: {witnessed:?}").into())
    }

    /// Every line of expected failures names a case.
    fn expected_lines(&self, names: &[String]) -> Result<(), Failed> {
        let unused: Vec<_> = self.expected.values().flat_map(|list| list.unused(names)).collect();
        if unused.is_empty() { Ok(()) } else { Err(unused.join("\n").into()) }
    }

    fn test(&self, driver: Driver, case: &str) -> Result<(), Failed> {
        let findings = self.judge(driver, case);
        if let Some(result) = self.expected[&driver].check(case, &findings) {
            return result.map_err(Failed::from);
        }
        let verdict = verdict(&findings).map_err(|failed| {
            let said = self.group(driver, case).get().map(|ran| ran.said_of(case));
            let text = failed.message().unwrap_or_default();
            Failed::from(format!("{text}{}", said.unwrap_or_default()))
        });
        if driver != Driver::M1 {
            return verdict;
        }
        let mut all = self.findings.lock().unwrap_or_else(|e| e.into_inner());
        all.insert(case.to_owned(), findings);
        verdict
    }
}

/// The section of docs/unknowns.md that lists rows.
const ROWS_HEADING: &str = "\n## AGX: instructions without a second witness\n";

/// The project's folder.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn file_stem(case: &str) -> String {
    case.replace('/', ".")
}

fn group_of(case: &str) -> String {
    case.split('/').next().unwrap_or(case).to_owned()
}

/// The outputs that break their rules, in words.
fn wrong(findings: &[Finding]) -> Result<(), String> {
    let mut text = String::new();
    for f in findings.iter().filter(|f| !f.passed) {
        let first = f.first.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}: {} of {} elements wrong; first {first}",
            f.output, f.failures, f.elements
        );
    }
    if text.is_empty() { Ok(()) } else { Err(text) }
}

fn verdict(findings: &Result<Vec<Finding>, String>) -> Result<(), Failed> {
    let findings = findings.as_ref().map_err(Failed::from)?;
    if findings.is_empty() {
        return Err("nothing was compared".into());
    }
    wrong(findings).map_err(Failed::from)
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

/// Tepui's own driver on each virtual GPU, in the ways in which it runs a group.
fn own_drivers(group: &str) -> Vec<Driver> {
    let mut drivers = Vec::new();
    for gpu in OwnGpu::ALL {
        let mut push = |variant| drivers.push(Driver::Tepui(gpu, variant));
        let is_mali = matches!(gpu, OwnGpu::MaliG610 | OwnGpu::MaliG57);
        if is_mali && NOT_ON_OWN_MALI.contains(&group) {
            continue;
        }
        push(Variant::Whole);
        if DRAWN.contains(&group) {
            [Variant::Libraries, Variant::Dynamic, Variant::Objects]
                .into_iter()
                .for_each(&mut push);
        }
        if ON_A_NODE.contains(&group) && !is_mali {
            push(Variant::Node);
        }
        if COMPRESSED_ON_INTEL.contains(&group) && gpu != OwnGpu::M1 && !is_mali {
            push(Variant::Layouts);
        }
        if COMPRESSED.contains(&group) {
            push(Variant::Uncompressed);
        }
        if (gpu == OwnGpu::M1 || is_mali) && IN_PIECES.contains(&group) {
            push(Variant::Pieces);
        }
        // Job managers have no handler of a full heap.
        if gpu == OwnGpu::MaliG610 && FILLING_THE_HEAP.contains(&group) {
            push(Variant::SmallHeap);
        }
    }
    drivers
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
    let rows = selected(&arguments, ROWS_TEST);
    let is = |variable, wanted: &str| std::env::var_os(variable).is_some_and(|v| v == wanted);
    let on_mali = std::env::var_os(MALI).is_some();
    let step_on_mali = if is(MALI, "slice") { SLICE_ON_MALI } else { 1 };
    let step_on_tiger_lake = if is(TIGER_LAKE, "all") { 1 } else { STEP_ON_TIGER_LAKE };
    let mut in_group: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for case in cases::all() {
        let name = case.name;
        names.push(name.clone());
        if !case.on_lavapipe {
            alone.insert(name.clone());
        }
        let mut reference = false;
        let mut drivers = own_drivers(&group_of(&name));
        drivers.push(Driver::Skylake);
        if case.on_honeykrisp {
            drivers.push(Driver::M1);
        }
        let nth = in_group.entry(group_of(&name)).or_insert(0usize);
        if nth.is_multiple_of(step_on_tiger_lake) {
            drivers.push(Driver::TigerLake);
        }
        let in_slice = nth.is_multiple_of(step_on_mali);
        *nth += 1;
        let is_long = LONG_ON_MALI.iter().any(|long| name.starts_with(long));
        let runs = !NOT_ON_MALI.contains(&group_of(&name).as_str());
        if on_mali && in_slice && runs && (is(MALI, "all") || !is_long) {
            drivers.push(Driver::Mali);
        }
        for driver in drivers {
            let test = format!("{}::{name}", driver.name());
            let wanted = selected(&arguments, &test);
            if wanted || rows && driver == Driver::M1 {
                groups.entry((driver, group_of(&name))).or_default().push(name.clone());
            }
            reference |= wanted && case.on_lavapipe;
            trials.push((test, driver, name.clone()));
        }
        if reference {
            groups.entry((Driver::Lavapipe, group_of(&name))).or_default().push(name.clone());
        }
    }
    let mut expected = HashMap::new();
    for (_, driver, _) in &trials {
        if expected.contains_key(driver) {
            continue;
        }
        match Expected::read(driver.expected()) {
            Ok(list) => _ = expected.insert(*driver, list),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let bench = Arc::new(Bench {
        groups,
        alone,
        expected,
        directory: Path::new(env!("CARGO_TARGET_TMPDIR")).join("witness"),
        runs: Mutex::default(),
        findings: Mutex::default(),
    });
    let mut trials: Vec<Trial> = trials
        .into_iter()
        .map(|(test, driver, case)| {
            let bench = Arc::clone(&bench);
            Trial::test(test, move || bench.test(driver, &case))
        })
        .collect();
    let all = Arc::clone(&bench);
    trials.push(Trial::test(EXPECTED_TEST, move || all.expected_lines(&names)));
    // Last: it waits for every group.
    let all = Arc::clone(&bench);
    trials.push(Trial::test(ROWS_TEST, move || all.rows()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    let findings = bench.findings.lock().unwrap_or_else(|e| e.into_inner());
    if !findings.is_empty() {
        let text = table(&findings);
        println!("Honeykrisp on the virtual M1 against the CPU, or lavapipe:\n\n{text}");
        let _ = std::fs::write(bench.directory.join("table.txt"), text);
    }
    conclusion.exit_code()
}
