//! Runs every case on lavapipe, and on Honeykrisp and Tepui's own driver over the virtual M1, and
//! compares the buffers.
//!
//! Each case is three tests: `m1::CASE` (Honeykrisp), `tepui::CASE` (Tepui's own driver) and
//! `skl::CASE` (Mesa's ANV on the virtual Skylake). One in four is `tgl::CASE`, too (ANV on the virtual Tiger Lake). If the variable `TEPUI_WITNESS_MALI` is set, cases that
//! compute are a test `mali::CASE` more (Mesa's PanVK on the virtual Mali-G610, all of it arm64 programs); some only if it is `all`. Cases that draw run on Tepui's driver three times
//! more: with pipelines linked from libraries, with dynamic state, and with shader objects. Some
//! groups run once more without compressed images, some with draws in small pieces, and some on a render node, through ioctls. A driver on the virtual GPU must agree with
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
use tepui_witness::jobs::{Driver, ProcessEnd};

/// How long the cases of a group may take together on one driver.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// What Tepui's driver does not have yet: the beginning of a case's name, and what its error says.
/// A case that passes in spite of this, or fails in another way, fails its test.
const NOT_YET: &[(&str, &str)] = &[];

/// As [`NOT_YET`], of Honeykrisp on the virtual M1.
const NOT_YET_ON_M1: &[(&str, &str)] = &[
    // The driver does not offer other stages with several views.
    ("stages/views_geometry", "lacks multiviewGeometryShader"),
    ("stages/views_tessellation", "the driver lacks multiview"),
    // The driver leaves the row with the last texel out if the first one's address is no multiple of 16.
    ("texel_buffer/unaligned", "elements wrong"),
    // The driver writes to attachments that have no format in the pipeline, as lavapipe does.
    ("passes/absent_colors", "elements wrong"),
    // The driver binds a page where there is no memory, and atomics read from it what was written to it.
    // source: Mesa 26.1, hk_queue.c, `hk_flush_bind`
    ("sparse/atomics", "elements wrong"),
    // Not understood yet: tessellated draws of several instances, which Tepui's driver draws as lavapipe does.
    ("stages/tessellation_feedback", "elements wrong"),
    ("stages/tessellation_instances", "elements wrong"),
];

/// As [`NOT_YET`], of ANV on the virtual Skylake.
const NOT_YET_ON_SKYLAKE: &[(&str, &str)] = &[
    // The case asks for leastRepresentableValueForceUnormRepresentation, which the driver does not offer. source: Mesa 25.0.7,
    // anv_physical_device.c
    ("draws/depth_bias_units", "elements wrong"),
    // The driver writes to attachments that have no format in the pipeline, as lavapipe does.
    ("passes/absent_colors", "elements wrong"),
    // The driver does not smooth the edges of polygons.
    ("geometry/polygon_line_smooth", "elements wrong"),
    // `dFdy` is that of a quad's left column in this driver, that of each column in lavapipe.
    ("fragment/derivatives", "elements wrong"),
    // The driver's code leaves the sample out of stores on Gen9, whose hardware has none.
    ("image/samples_", "elements wrong"),
    // The driver takes what a pipeline cache holds without looking at it.
    ("compiled/cache_damaged", "elements wrong"),
    // The driver has no loads without a format on Gen9.
    ("image/format_B8G8R8A8_UNORM", "without a format"),
    ("image/format_A8B8G8R8_UNORM_PACK32", "without a format"),
    ("image/format_A8B8G8R8_SINT_PACK32", "without a format"),
    ("image/linear_B8G8R8A8_UNORM", "without a format"),
    ("image/linear_A8B8G8R8_UNORM_PACK32", "without a format"),
    ("image/linear_A8B8G8R8_SINT_PACK32", "without a format"),
    ("blend_advanced/", "lacks VK_EXT_blend_operation_advanced"),
    // The driver does not refuse an address that is taken.
    ("memory/capture_replay", "elements wrong"),
    // The driver offers no sparse resources on Gen9.
    ("sparse/", "lacks sparse resources"),
    // The layout is AGX'.
    ("compression/solid_", LACKS),
    // The driver lacks the formats.
    ("copy/format_A4B4G4R4_UNORM_PACK16", LACKS),
    ("copy/format_B8G8R8A8_SNORM", LACKS),
    ("copy/format_B8G8R8A8_UINT", LACKS),
    ("copy/format_B8G8R8A8_SINT", LACKS),
    ("copy/format_A2R10G10B10_UINT_PACK32", LACKS),
    ("copy/format_R12X4_UNORM_PACK16", LACKS),
    ("fetch/A4B4G4R4_UNORM_PACK16", LACKS),
    ("fetch/B8G8R8A8_SNORM", LACKS),
    ("fetch/B8G8R8A8_UINT", LACKS),
    ("fetch/B8G8R8A8_SINT", LACKS),
    ("fetch/A2R10G10B10_UINT_PACK32", LACKS),
    ("fetch/R12X4_UNORM_PACK16", LACKS),
    ("fetch_copied/A4B4G4R4_UNORM_PACK16", LACKS),
    ("fetch_copied/B8G8R8A8_SNORM", LACKS),
    ("fetch_copied/B8G8R8A8_UINT", LACKS),
    ("fetch_copied/B8G8R8A8_SINT", LACKS),
    ("fetch_copied/A2R10G10B10_UINT_PACK32", LACKS),
    ("fetch_copied/R12X4_UNORM_PACK16", LACKS),
    ("codecs/A2R10G10B10_SINT_PACK32", LACKS),
    ("codecs/A2B10G10R10_SINT_PACK32", LACKS),
    ("codecs/R8G8_SRGB", LACKS),
    ("codecs/R12X4G12X4_UNORM_2PACK16", LACKS),
    ("codecs/ASTC_", LACKS),
    ("ycbcr/format_420_3_12", LACKS),
];

/// As [`NOT_YET`], of ANV on the virtual Tiger Lake.
const NOT_YET_ON_TIGER_LAKE: &[(&str, &str)] = &[
    // `dFdy` is that of a quad's left column in this driver, that of each column in lavapipe.
    ("fragment/derivatives", "elements wrong"),
    // The driver does not smooth the edges of polygons.
    ("geometry/polygon_line_smooth", "elements wrong"),
    // The driver's code leaves the sample out of stores, as on Gen9.
    ("image/samples_", "elements wrong"),
    // The driver takes what a pipeline cache holds without looking at it: damaged code is executed.
    ("compiled/cache_damaged", "ERROR_DEVICE_LOST"),
    // The driver has no loads without a format.
    ("image/format_B8G8R8A8_UNORM", "without a format"),
    ("image/format_A8B8G8R8_UNORM_PACK32", "without a format"),
    ("image/format_A8B8G8R8_SINT_PACK32", "without a format"),
    ("image/linear_B8G8R8A8_UNORM", "without a format"),
    ("image/linear_A8B8G8R8_UNORM_PACK32", "without a format"),
    ("image/linear_A8B8G8R8_SINT_PACK32", "without a format"),
    ("blend_advanced/", "lacks VK_EXT_blend_operation_advanced"),
    // The driver writes the hardware's table of tiled resources by a long MI_STORE_DATA_IMM, and the model has no such table.
    ("sparse/", "ERROR_DEVICE_LOST"),
    // The layout is AGX'.
    ("compression/solid_", LACKS),
    // The driver lacks the formats.
    ("codecs/A2R10G10B10_SINT_PACK32", LACKS),
    ("codecs/A2B10G10R10_SINT_PACK32", LACKS),
    ("codecs/R8G8_SRGB", LACKS),
    ("codecs/R12X4G12X4_UNORM_2PACK16", LACKS),
    ("codecs/ASTC_", LACKS),
    ("copy/format_A4B4G4R4_UNORM_PACK16", LACKS),
    ("copy/format_B8G8R8A8_SNORM", LACKS),
    ("copy/format_B8G8R8A8_UINT", LACKS),
    ("copy/format_B8G8R8A8_SINT", LACKS),
    ("copy/format_A2R10G10B10_UINT_PACK32", LACKS),
    ("copy/format_R12X4_UNORM_PACK16", LACKS),
    ("fetch/A4B4G4R4_UNORM_PACK16", LACKS),
    ("fetch/B8G8R8A8_SNORM", LACKS),
    ("fetch/B8G8R8A8_UINT", LACKS),
    ("fetch/B8G8R8A8_SINT", LACKS),
    ("fetch/A2R10G10B10_UINT_PACK32", LACKS),
    ("fetch/R12X4_UNORM_PACK16", LACKS),
    ("fetch_copied/A4B4G4R4_UNORM_PACK16", LACKS),
    ("fetch_copied/B8G8R8A8_SNORM", LACKS),
    ("fetch_copied/B8G8R8A8_UINT", LACKS),
    ("fetch_copied/B8G8R8A8_SINT", LACKS),
    ("fetch_copied/A2R10G10B10_UINT_PACK32", LACKS),
    ("fetch_copied/R12X4_UNORM_PACK16", LACKS),
    ("ycbcr/format_420_3_12", LACKS),
];

/// As [`NOT_YET`], of PanVK on the virtual Mali-G610.
const NOT_YET_ON_MALI: &[(&str, &str)] = &[
    // The driver's scheduler moves loads of workgroup memory over barriers: with BIFROST_MESA_DEBUG=nopsched they pass.
    ("algorithms/matmul_i32", "elements wrong"),
    ("algorithms/scan", "elements wrong"),
    ("algorithms/quicksort", "ERROR_DEVICE_LOST"),
    // The driver does not offer lines and points of polygons, clip and cull distances, layers that vertex shaders choose.
    ("geometry/polygon_line", "elements wrong"),
    ("geometry/polygon_point", "elements wrong"),
    ("geometry/clip_distances_1_points", "elements wrong"),
    ("geometry/clip_distances_2_points", "elements wrong"),
    ("geometry/clip_distances_2_triangles", "elements wrong"),
    ("geometry/clip_distances_5_points", "elements wrong"),
    ("geometry/clip_distances_5_triangles", "elements wrong"),
    ("geometry/clip_distances_8", "elements wrong"),
    ("geometry/cull_distances_1", "elements wrong"),
    ("geometry/cull_distances_3", "elements wrong"),
    ("geometry/clip_and_cull", "elements wrong"),
    ("passes/layers_", "vkCreateGraphicsPipelines"),
    // The driver does not promise that places without memory read zeros (residencyNonResidentStrict): the kernel has a
    // dummy object there, which keeps what is written.
    ("sparse/", "elements wrong"),
    // The driver's places of two samples are the first of four.
    ("samples/resolve_2", "elements wrong"),
    ("samples/depth_2", "elements wrong"),
    ("samples/depth_discard_2", "elements wrong"),
    ("samples/shading_2", "elements wrong"),
    ("samples/per_sample_2", "elements wrong"),
    ("samples/blend_2", "elements wrong"),
    ("samples/blend_shading_2", "elements wrong"),
    ("samples/own_places", "lacks VK_EXT_sample_locations"),
    ("blend_advanced/", "lacks VK_EXT_blend_operation_advanced"),
    ("passes/absent_colors", "lacks VK_EXT_dynamic_rendering_unused_attachments"),
    // The driver does not refuse an address that is taken.
    ("memory/capture_replay", "elements wrong"),
    // Steps of fixed point, as on Skylake; whether this driver offers them was not looked up. Not understood yet: draws that sample
    // their own attachment behind a barrier.
    ("draws/depth_bias_units", "elements wrong"),
    ("passes/feedback_loop", "elements wrong"),
    // The driver lacks the formats.
    ("compression/solid_", LACKS),
    ("copy/format_R10X6_UNORM_PACK16", LACKS),
    ("copy/format_R12X4_UNORM_PACK16", LACKS),
    ("fetch/R10X6_UNORM_PACK16", LACKS),
    ("fetch/R12X4_UNORM_PACK16", LACKS),
    ("fetch_copied/R10X6_UNORM_PACK16", LACKS),
    ("fetch_copied/R12X4_UNORM_PACK16", LACKS),
    ("codecs/R10X6G10X6_UNORM_2PACK16", LACKS),
    ("codecs/R12X4G12X4_UNORM_2PACK16", LACKS),
    ("ycbcr/format_420_2_10", LACKS),
    ("ycbcr/format_420_3_12", LACKS),
];

/// Of each group one case in so many runs on the virtual Tiger Lake: all run on the virtual Skylake, whose units are the same.
const SHARE_ON_TIGER_LAKE: usize = 4;

/// What a case says when a driver does not have its images.
const LACKS: &str = "the driver lacks images like";

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

/// Groups that Tepui's driver runs on a render node, too.
const ON_A_NODE: &[&str] = &["algorithms", "blend", "commands", "draws", "passes", "ycbcr"];

/// Groups with images that Tepui's driver compresses: they run without compression, too.
const COMPRESSED: &[&str] =
    &["compression", "depth", "format", "passes", "samples", "sequences", "stencil", "target"];

/// Groups with stages between vertices and the rasteriser: they run in small pieces, too.
const IN_PIECES: &[&str] = &["queries", "stages"];

/// Groups that do not run on the virtual Mali-G610: PanVK itself crashes in them.
const NOT_ON_MALI: &[&str] = &["queries", "stages"];

/// What runs there only if [`MALI`] is `all`, the beginning of a case's name: it takes the longest.
const LONG_ON_MALI: &[&str] = &[
    // The driver's compiler spills registers for minutes, under qemu.
    "memory/spills",
    // All tiles of a hundred of the largest renderings are processed.
    "fragment/count_alone",
];

/// The variable that adds the row of the virtual Mali, with [`LONG_ON_MALI`] if it is `all`. The row needs a Rust target that not every
/// machine has.
const MALI: &str = "TEPUI_WITNESS_MALI";

/// What a case says that does not run on a driver yet.
fn not_yet(driver: Driver, case: &str) -> Option<&'static str> {
    let list = match driver {
        Driver::Skylake => NOT_YET_ON_SKYLAKE,
        Driver::TigerLake => NOT_YET_ON_TIGER_LAKE,
        Driver::Mali => NOT_YET_ON_MALI,
        Driver::M1 => NOT_YET_ON_M1,
        _ if driver.is_tepui() => NOT_YET,
        _ => return None,
    };
    list.iter().find(|n| case.starts_with(n.0)).map(|n| n.1)
}

/// A group's run, as soon as one of its tests asked for it.
type Slot = Arc<OnceLock<ProcessEnd>>;

/// The test of the instruction table.
const ROWS_TEST: &str = "isa::rows_have_a_witness";

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

    /// Where the rows of the instruction table go that a group's shaders have.
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

    /// What a case's outputs on the virtual GPU are worth; an error if lavapipe fails it.
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

    fn test(&self, driver: Driver, case: &str) -> Result<(), Failed> {
        let findings = self.judge(driver, case);
        if let Some(why) = not_yet(driver, case) {
            return match findings {
                Err(error) if error.contains(why) => Ok(()),
                Ok(list) if wrong(&list).is_err_and(|w| w.contains(why)) => Ok(()),
                Err(error) => Err(format!("expected '{why}', but: {error}").into()),
                Ok(_) => Err("it runs now: take it out of NOT_YET".into()),
            };
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
    let on_mali = std::env::var_os(MALI).is_some();
    let all_on_mali = std::env::var_os(MALI).is_some_and(|value| value == "all");
    let mut in_group: HashMap<String, usize> = HashMap::new();
    for case in cases::all() {
        let name = case.name;
        if !case.on_lavapipe {
            alone.insert(name.clone());
        }
        let mut reference = false;
        let mut drivers = vec![Driver::Tepui, Driver::Skylake];
        if case.on_honeykrisp {
            drivers.push(Driver::M1);
        }
        let nth = in_group.entry(group_of(&name)).or_insert(0usize);
        if nth.is_multiple_of(SHARE_ON_TIGER_LAKE) {
            drivers.push(Driver::TigerLake);
        }
        *nth += 1;
        let is_long = LONG_ON_MALI.iter().any(|long| name.starts_with(long));
        let runs = !NOT_ON_MALI.contains(&group_of(&name).as_str());
        if on_mali && runs && (all_on_mali || !is_long) {
            drivers.push(Driver::Mali);
        }
        if DRAWN.contains(&group_of(&name).as_str()) {
            drivers.extend([Driver::TepuiLibraries, Driver::TepuiDynamic, Driver::TepuiObjects]);
        }
        if COMPRESSED.contains(&group_of(&name).as_str()) {
            drivers.push(Driver::TepuiUncompressed);
        }
        if IN_PIECES.contains(&group_of(&name).as_str()) {
            drivers.push(Driver::TepuiPieces);
        }
        if ON_A_NODE.contains(&group_of(&name).as_str()) {
            drivers.push(Driver::TepuiNode);
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
    let bench = Arc::new(Bench {
        groups,
        alone,
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
