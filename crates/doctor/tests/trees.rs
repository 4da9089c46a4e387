//! Examination of made-up machines.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tepui_doctor::{Machine, Report, Severity, examine};

/// A tree in the making.
struct MachineTree(TempDir);

impl MachineTree {
    fn new() -> MachineTree {
        MachineTree(tempfile::tempdir().expect("a folder"))
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("written");
        path
    }

    /// A PCI device with a card and a render node, as sysfs has it.
    fn pci(&self, address: &str, driver: Option<&str>, ids: [u32; 2], card: u32) {
        let device = format!("sys/devices/pci0000:00/{address}");
        self.file(&format!("{device}/vendor"), format!("{:#06x}\n", ids[0]));
        self.file(&format!("{device}/device"), format!("{:#06x}\n", ids[1]));
        if let Some(driver) = driver {
            let target = format!("../../../bus/pci/drivers/{driver}");
            symlink(target, self.root().join(&device).join("driver")).expect("a link");
        }
        for name in [format!("card{card}"), format!("renderD{}", 128 + card)] {
            let node = format!("{device}/drm/{name}");
            self.file(&format!("{node}/dev"), "226:0\n");
            symlink("../..", self.root().join(&node).join("device")).expect("a link");
            fs::create_dir_all(self.root().join("sys/class/drm")).expect("a folder");
            let link = self.root().join("sys/class/drm").join(&name);
            symlink(format!("../../devices/pci0000:00/{address}/drm/{name}"), link)
                .expect("a link");
            let path = self.file(&format!("dev/dri/{name}"), "");
            fs::set_permissions(path, fs::Permissions::from_mode(0o660)).expect("permissions");
        }
        // A connector, which is no node.
        fs::create_dir_all(self.root().join("sys/class/drm/card0-eDP-1")).expect("a folder");
    }

    /// The file's owner is this process's; the user who asks is another one, in these groups.
    fn examine(&self, groups: &[u32]) -> Report {
        examine(&Machine {
            root: self.root().into(),
            user: 54321,
            groups: groups.to_vec(),
            home: Some("/home/user".into()),
        })
    }

    fn group(&self) -> u32 {
        fs::metadata(self.root()).expect("the folder").gid()
    }
}

fn problems(report: &Report) -> Vec<&str> {
    let problems = report.advice.iter().filter(|advice| advice.severity == Severity::Problem);
    problems.map(|advice| advice.text.as_str()).collect()
}

#[test]
fn a_machine_without_gpus_has_virtual_ones() {
    let made = MachineTree::new();
    let report = made.examine(&[]);
    assert!(report.devices.is_empty() && !report.has_problems());
    assert!(report.virtual_gpus.iter().any(|gpu| gpu.id == "skl"));
    let text = report.to_string();
    assert!(text.contains("there is no DRM device") && text.contains("no Vulkan driver"), "{text}");
}

#[test]
fn nodes_are_grouped_and_permissions_explained() {
    let made = MachineTree::new();
    made.pci("0000:00:02.0", Some("i915"), [0x8086, 0x1912], 0);
    made.pci("0000:01:00.0", Some("amdgpu"), [0x1002, 0x731f], 1);
    made.pci("0000:02:00.0", None, [0x10de, 0x2204], 2);
    let group = made.group();
    made.file("etc/group", format!("video:x:44:\nrender:x:{group}:user\n"));
    let report = made.examine(&[44]);
    let devices: Vec<_> = report.devices.iter().map(|d| (d.bus.as_str(), d.nodes.len())).collect();
    assert_eq!(devices, [("0000:00:02.0", 2), ("0000:01:00.0", 2), ("0000:02:00.0", 2)]);
    let [intel, amd, _] = &report.devices[..] else { panic!("three devices") };
    assert_eq!(intel.family.as_deref(), Some("Intel"));
    assert_eq!((amd.driver.as_deref(), amd.family.as_deref()), (Some("amdgpu"), None));
    assert!(intel.guc.is_none(), "Skylake needs none");
    assert_eq!(intel.nodes[1].group.as_deref(), Some("render"));
    let found = problems(&report);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].contains("you may not open /dev/dri/renderD128; join the group render"));
    assert!(found[2].contains("no kernel driver"), "{found:?}");
    // In the group the nodes can be used.
    let report = made.examine(&[group]);
    assert!(report.devices[0].nodes.iter().all(|node| node.usable));
    assert_eq!(problems(&report).len(), 1);
}

const ADLP: [u32; 2] = [0x8086, 0x46a6];

/// A firmware file with a version in its header.
fn firmware(version: [u8; 3]) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    let [major, minor, patch] = version;
    bytes[64..68].copy_from_slice(&[patch, minor, major, 0]);
    bytes
}

#[test]
fn guc_firmware_is_required_found_and_recommended() {
    let made = MachineTree::new();
    made.pci("0000:00:02.0", Some("i915"), ADLP, 0);
    let groups = [made.group()];
    // Missing.
    let report = made.examine(&groups);
    let found = problems(&report);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(
        "0000:00:02.0 (Alder Lake-P): the GuC firmware i915/adlp_guc_70.bin is missing"
    ));
    assert!(found[0].contains("firmware-intel-graphics"), "{found:?}");
    // Old: the version is in the name.
    made.file("lib/firmware/i915/adlp_guc_70.1.1.bin", firmware([70, 1, 1]));
    made.file("lib/firmware/i915/adlp_guc_69.0.3.bin", firmware([69, 0, 3]));
    made.file("lib/firmware/i915/tgl_guc_70.bin", firmware([70, 36, 0]));
    let report = made.examine(&groups);
    assert!(!report.has_problems());
    let text = report.to_string();
    assert!(text.contains("GuC firmware 70.1.1; at least 70.6.3 is recommended"), "{text}");
    // A compressed file next to the old one: its version is unknown.
    made.file("lib/firmware/i915/adlp_guc_70.bin.zst", "compressed");
    assert_eq!(made.examine(&groups).devices[0].guc.as_ref().unwrap().files.len(), 2);
    // New: the version is in the header.
    made.file("lib/firmware/i915/adlp_guc_70.bin", firmware([70, 36, 0]));
    let report = made.examine(&groups);
    let guc = report.devices[0].guc.as_ref().expect("it is needed");
    assert_eq!(guc.files[0].path, "/lib/firmware/i915/adlp_guc_70.bin");
    assert_eq!(guc.version().map(|v| v.to_string()).as_deref(), Some("70.36.0"));
    assert!(!report.to_string().contains("is recommended"), "{report}");
    // The version that the kernel reports takes precedence over installed files.
    let info = "GuC firmware: i915/adlp_guc_70.bin\n\tstatus: RUNNING\n\tversion: wanted 70.5, found 70.5.1\n";
    made.file("sys/kernel/debug/dri/0/gt0/uc/guc_info", info);
    let report = made.examine(&groups);
    assert!(report.to_string().contains("at least 70.6.3: 70.5.1 runs"), "{report}");
    assert!(report.to_string().contains("GuC firmware 70.5.1; at least 70.6.3"), "{report}");
    made.file("sys/kernel/debug/dri/0/gt0/uc/guc_info", info.replace("RUNNING", "LOAD FAIL"));
    assert!(problems(&made.examine(&groups))[0].contains("the GuC does not run"));
}

#[test]
fn firmware_of_xe_is_in_its_own_folder() {
    let made = MachineTree::new();
    made.pci("0000:03:00.0", Some("xe"), [0x8086, 0xe20b], 1);
    let groups = [made.group()];
    assert!(problems(&made.examine(&groups))[0].contains("xe/bmg_guc_70.bin is missing"));
    made.file("usr/lib/firmware/xe/bmg_guc_70.bin", firmware([70, 45, 2]));
    let report = made.examine(&groups);
    assert!(!report.has_problems(), "{report}");
    assert_eq!(report.devices[0].platform, Some("Arc Battlemage"));
}

#[test]
fn manifests_are_checked() {
    let made = MachineTree::new();
    let manifest = |library: &str| {
        format!(r#"{{"ICD": {{"api_version": "1.4.0", "library_path": "{library}"}}}}"#)
    };
    let folder = "usr/share/vulkan/icd.d";
    made.file(&format!("{folder}/a.json"), manifest("libvulkan_a.so"));
    made.file(&format!("{folder}/b.json"), manifest("/opt/b/libvulkan_b.so"));
    made.file(&format!("{folder}/c.json"), manifest("../../../lib/c/libvulkan_c.so"));
    made.file(&format!("{folder}/d.json"), "{ICD");
    made.file(&format!("{folder}/e.json"), "{}");
    made.file(&format!("{folder}/readme.txt"), "");
    made.file("home/user/.local/share/vulkan/icd.d/own.json", manifest("libvulkan_missing.so"));
    made.file("usr/lib/x86_64-linux-gnu/libvulkan_a.so", "");
    made.file("usr/lib/c/libvulkan_c.so", "");
    let report = made.examine(&[]);
    let states: Vec<_> = report
        .manifests
        .iter()
        .map(|m| (m.path.rsplit('/').next().unwrap(), m.problem.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(states[0], ("own.json", "its library libvulkan_missing.so is missing"));
    assert_eq!(states[1], ("a.json", ""));
    assert_eq!(states[2], ("b.json", "its library /opt/b/libvulkan_b.so is missing"));
    assert_eq!(states[3], ("c.json", ""));
    assert!(states[4].1.starts_with("it is no JSON"), "{states:?}");
    assert_eq!(states[5], ("e.json", "it names no library"));
    assert_eq!(states.len(), 6);
    assert!(!report.has_problems());
}
