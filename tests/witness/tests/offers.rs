//! Compares what Tepui's driver offers on a virtual GPU with what Mesa's driver offers there: Honeykrisp on the M1, ANV on Skylake and
//! Tiger Lake.
//!
//! Both are asked for their extensions, limits and queues and for every structure of features and properties. A value that differs
//! must have a row in `docs/honeykrisp.md` or `docs/anv.md` with both values and a reason; a row whose values are no longer so fails,
//! too. `BLESS=1` writes the values; a new row has no reason and fails until it gets one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_witness::jobs::{Driver, OwnGpu, Variant};
use tepui_witness::offers::{self, Item};

/// A page with a table of differences.
struct Page {
    /// Its path in the project's folder.
    path: &'static str,
    /// Mesa's driver.
    mesa: &'static str,
    /// Mesa's driver and Tepui's on each GPU, and the name of the GPU in rows that not all have.
    drivers: &'static [(&'static str, Driver, Driver)],
}

const HONEYKRISP: Page = Page {
    path: "docs/honeykrisp.md",
    mesa: "Honeykrisp",
    drivers: &[("m1", Driver::M1, Driver::TEPUI)],
};

const ANV: Page = Page {
    path: "docs/anv.md",
    mesa: "ANV",
    drivers: &[
        ("skl", Driver::Skylake, Driver::Tepui(OwnGpu::Skylake, Variant::Whole)),
        ("tgl", Driver::TigerLake, Driver::Tepui(OwnGpu::TigerLake, Variant::Whole)),
    ],
};

/// Cell of an item that a driver does not have.
const NONE: &str = "–";

/// Numbers that name a build of a driver or a machine: they change with each.
const CHANGING: [&str; 5] =
    ["pipeline_cache_uuid", "shader_binary_uuid", "device_uuid", "driver_uuid", "driver_version"];

/// A difference: the value of Mesa's driver and that of Tepui's.
type Pair = [String; 2];

fn ask(driver: Driver) -> Vec<Item> {
    let mut command = driver.command(Path::new(env!("CARGO_BIN_EXE_witness"))).unwrap();
    let out = command.args(["offers", "--device", driver.device()]).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {error}", driver.name());
    let items: Vec<Item> = serde_json::from_slice(&out.stdout).unwrap();
    assert!(items.len() > 1000, "{}: {} items", driver.name(), items.len());
    items
}

/// The values of a field, by structure.
type ByStructure = BTreeMap<String, String>;

fn by_name(items: Vec<Item>) -> HashMap<String, ByStructure> {
    let mut all: HashMap<String, ByStructure> = HashMap::new();
    for i in items {
        if CHANGING.contains(&i.name.as_str()) {
            continue;
        }
        let value = i.value.replace('|', "+");
        all.entry(i.name).or_default().insert(i.of, value);
    }
    all
}

/// All differences. A field that says the same in every structure that has it stands alone; else its structures are named.
fn differences(mesa: Vec<Item>, tepui: Vec<Item>) -> BTreeMap<String, Pair> {
    let (a, b) = (by_name(mesa), by_name(tepui));
    let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let mut out = BTreeMap::new();
    let none = ByStructure::new();
    for name in names {
        let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
        if a == b {
            continue;
        }
        let one = |m: &ByStructure| {
            let values: BTreeSet<_> = m.values().cloned().collect();
            match values.len() {
                0 => Some(NONE.to_owned()),
                1 => values.into_iter().next(),
                _ => None,
            }
        };
        if let (Some(a), Some(b)) = (one(a), one(b)) {
            out.insert(name.clone(), [a, b]);
            continue;
        }
        for of in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
            let value = |m: &ByStructure| m.get(of).cloned().unwrap_or_else(|| NONE.to_owned());
            let pair = [value(a), value(b)];
            if pair[0] != pair[1] {
                out.insert(format!("{of}.{name}"), pair);
            }
        }
    }
    out
}

impl Page {
    fn file(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(self.path)
    }

    /// Heading of the table.
    fn heading(&self) -> String {
        format!("| what | {} | Tepui | why |\n| --- | --- | --- | --- |\n", self.mesa)
    }

    /// The differences on all GPUs. A row that is not the same on all of them names its GPU.
    fn now(&self) -> BTreeMap<String, Pair> {
        let all: Vec<_> = self
            .drivers
            .iter()
            .map(|&(gpu, mesa, tepui)| (gpu, differences(ask(mesa), ask(tepui))))
            .collect();
        let mut rows = BTreeMap::new();
        for (gpu, own) in &all {
            for (name, pair) in own {
                let is_same = all.iter().all(|(_, other)| other.get(name) == Some(pair));
                let row = if is_same { name.clone() } else { format!("{name} ({gpu})") };
                rows.insert(row, pair.clone());
            }
        }
        rows
    }

    /// The page's text before the table, and its rows with their reasons.
    fn read(&self, text: &str) -> (String, BTreeMap<String, (Pair, String)>) {
        let path = self.path;
        let table = text.split_once(&self.heading());
        let (head, table) = table.unwrap_or_else(|| panic!("{path} has no such table"));
        let rows = table.lines().map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, a, b, why] = cells[..] else { panic!("{path}: {line}") };
            let plain = |s: &str| s.trim_matches('`').to_owned();
            (plain(name), ([plain(a), plain(b)], why.to_owned()))
        });
        (head.to_owned(), rows.collect())
    }

    /// Fails on a difference without a reason, and on a row that is no longer true.
    fn check(&self) {
        let now = self.now();
        let text = std::fs::read_to_string(self.file()).unwrap();
        let (head, rows) = self.read(&text);
        if std::env::var_os("BLESS").is_some() {
            let mut out = head + &self.heading();
            for (name, [a, b]) in &now {
                let why = rows.get(name).map_or("", |r| r.1.as_str());
                out += &format!("| `{name}` | `{a}` | `{b}` | {why} |\n");
            }
            std::fs::write(self.file(), out).unwrap();
        }
        let mut wrong = Vec::new();
        for (name, pair) in &now {
            match rows.get(name) {
                Some((have, why)) if have == pair && !why.is_empty() => {}
                Some((have, _)) if have == pair => {
                    wrong.push(format!("{name}: no reason: {pair:?}"));
                }
                Some((have, _)) => wrong.push(format!("{name}: {pair:?}, not {have:?}")),
                None => wrong.push(format!("{name}: not in the table: {pair:?}")),
            }
        }
        let old = rows.keys().filter(|n| !now.contains_key(*n));
        wrong.extend(old.map(|n| format!("{n}: no longer differs")));
        assert!(wrong.is_empty(), "{}:\n{}", self.path, wrong.join("\n"));
    }
}

#[test]
fn differences_from_honeykrisp_are_explained() {
    HONEYKRISP.check();
}

#[test]
fn differences_from_anv_are_explained() {
    ANV.check();
}

#[test]
fn a_render_node_has_its_numbers() {
    let items = ask(Driver::Tepui(OwnGpu::M1, Variant::Node));
    let of = |name: &str| items.iter().find(|i| i.name == name).map(|i| i.value.as_str());
    assert_eq!(of("VK_EXT_physical_device_drm"), Some("1"));
    assert_eq!(
        [of("has_render"), of("render_major"), of("render_minor")],
        [Some("1"), Some("226"), Some("128")]
    );
}

/// Structures of the registry that no chain of a device's features or properties has.
const ELSEWHERE: [&str; 8] = [
    "PhysicalDeviceFeatures2",
    "PhysicalDeviceProperties2",
    "PhysicalDeviceMemoryProperties2",
    "PhysicalDeviceGroupProperties",
    "PhysicalDeviceToolProperties",
    "PhysicalDeviceLayeredApiPropertiesKHR",
    "PhysicalDeviceMemoryBudgetPropertiesEXT",
    "PhysicalDeviceTileMemoryHeapPropertiesQCOM",
];

#[test]
fn every_structure_of_the_registry_is_asked_for() {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--offline",
            "--filter-platform",
            &platform,
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == "vulkanalia-sys").unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let source = std::fs::read_to_string(manifest.with_file_name("src/structs.rs")).unwrap();
    let lines: Vec<_> = source.lines().collect();
    let have: BTreeSet<_> = lines
        .windows(3)
        .filter(|w| w[1].trim() == "pub s_type: StructureType," && w[2].contains("pub next:"))
        .filter_map(|w| w[0].strip_prefix("pub struct ")?.strip_suffix(" {"))
        .filter(|n| n.starts_with("PhysicalDevice"))
        .filter(|n| n.contains("Features") || n.contains("Properties"))
        .filter(|n| !ELSEWHERE.contains(n))
        .collect();
    assert_eq!(have, offers::names().collect());
    assert!(have.len() > 300, "{} structures", have.len());
}
