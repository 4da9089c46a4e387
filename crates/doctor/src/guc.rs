//! The GuC: a microcontroller of Intel's GPUs that schedules their work from Alder Lake-P and Arc on,
//! and its firmware, which the kernel's driver loads from a file.
//!
//! source: Mesa, docs/drivers/anv.rst (who needs it, the recommended version),
//! include/pci_ids/iris_pci_ids.h (ids); Linux, i915's intel_uc_fw.c and xe's xe_uc_fw.c (names of
//! files), intel_uc_fw_abi.h (the file's header).

use serde::Serialize;

use crate::tree::Tree;
use crate::{Advice, Severity};

/// The recommended version.
pub const RECOMMENDED: Version = Version([70, 6, 3]);

/// Folders of firmware, in the order in which the kernel searches them.
const FOLDERS: [&str; 4] =
    ["/lib/firmware/updates", "/lib/firmware", "/usr/lib/firmware/updates", "/usr/lib/firmware"];

/// A version of the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Version([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Version {
    /// The version at the beginning of a text: `70.6.3`; the last number may be missing.
    fn parse(text: &str) -> Option<Version> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut parts = text[..end].split('.').filter(|part| !part.is_empty());
        let mut next = || parts.next()?.parse::<u32>().ok();
        let (major, minor) = (next()?, next()?);
        Some(Version([major, minor, next().unwrap_or(0)]))
    }
}

/// A platform whose GPUs need the firmware.
#[derive(Debug)]
pub struct Platform {
    /// The name.
    pub name: &'static str,
    /// The file without version and ending, in the folder of firmware.
    file: &'static str,
    /// PCI device ids.
    ids: &'static [u16],
}

const PLATFORMS: &[Platform] = &[
    Platform {
        name: "Alder Lake-P",
        file: "i915/adlp_guc_70",
        ids: &[
            0x4626, 0x4628, 0x462a, 0x46a0, 0x46a1, 0x46a2, 0x46a3, 0x46a6, 0x46a8, 0x46aa, 0x46b0,
            0x46b1, 0x46b2, 0x46b3, 0x46c0, 0x46c1, 0x46c2, 0x46c3,
        ],
    },
    Platform {
        name: "Alder Lake-N",
        file: "i915/adlp_guc_70",
        ids: &[0x46d0, 0x46d1, 0x46d2, 0x46d3, 0x46d4],
    },
    Platform {
        name: "Raptor Lake-P",
        file: "i915/adlp_guc_70",
        ids: &[0xa720, 0xa721, 0xa7a0, 0xa7a1, 0xa7a8, 0xa7a9, 0xa7aa, 0xa7ab, 0xa7ac, 0xa7ad],
    },
    Platform {
        name: "Arc Alchemist",
        file: "i915/dg2_guc_70",
        ids: &[
            0x5690, 0x5691, 0x5692, 0x5693, 0x5694, 0x5695, 0x5696, 0x5697, 0x56a0, 0x56a1, 0x56a2,
            0x56a3, 0x56a4, 0x56a5, 0x56a6, 0x56b0, 0x56b1, 0x56b2, 0x56b3, 0x56ba, 0x56bb, 0x56bc,
            0x56bd, 0x56be, 0x56bf, 0x56c0, 0x56c1, 0x56c2,
        ],
    },
    Platform {
        name: "Meteor Lake",
        file: "i915/mtl_guc_70",
        ids: &[0x7d40, 0x7d45, 0x7d55, 0x7d60, 0x7dd5],
    },
    Platform {
        name: "Arrow Lake",
        file: "i915/mtl_guc_70",
        ids: &[0x7d41, 0x7d51, 0x7d67, 0x7dd1, 0xb640],
    },
    Platform { name: "Lunar Lake", file: "xe/lnl_guc_70", ids: &[0x6420, 0x64a0, 0x64b0] },
    Platform {
        name: "Arc Battlemage",
        file: "xe/bmg_guc_70",
        ids: &[0xe202, 0xe20b, 0xe20c, 0xe20d, 0xe210, 0xe211, 0xe212, 0xe215, 0xe216],
    },
    Platform {
        name: "Panther Lake",
        file: "xe/ptl_guc_70",
        ids: &[0xb080, 0xb081, 0xb082, 0xb083, 0xb08f, 0xb090, 0xb0a0, 0xb0b0],
    },
];

/// The platform of a PCI device id of Intel's, if its GPUs need the firmware.
pub fn platform(id: u32) -> Option<&'static Platform> {
    PLATFORMS.iter().find(|platform| platform.ids.iter().any(|&known| u32::from(known) == id))
}

/// A firmware file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Firmware {
    /// Its path.
    pub path: String,
    /// Its version, from its name or its header; `None` for a compressed file that does not say.
    pub version: Option<Version>,
}

/// State of a GPU's GuC firmware.
#[derive(Clone, Debug, Serialize)]
pub struct Guc {
    /// The file that the kernel requests.
    pub required: String,
    /// The minimum version that is recommended.
    pub recommended: Version,
    /// The files that are there, the newest first.
    pub files: Vec<Firmware>,
    /// The version that the kernel has loaded, where it says so (debugfs, for administrators).
    pub loaded: Option<Version>,
    /// Whether the kernel says that it runs.
    pub running: Option<bool>,
}

impl Guc {
    /// Looks for the firmware of a platform; `node` is a node of the device.
    pub(crate) fn find(tree: &Tree, platform: &Platform, driver: Option<&str>, node: &str) -> Guc {
        let (folder, name) = platform.file.split_once('/').unwrap_or(("i915", platform.file));
        let mut files = Vec::new();
        for base in FOLDERS {
            // Each driver loads the other's files too, and both have links to them.
            for folder in [folder, "i915", "xe"] {
                let folder = format!("{base}/{folder}");
                for file in tree.names(&folder) {
                    let path = format!("{folder}/{file}");
                    if is_file(&file, name) && !files.iter().any(|f: &Firmware| f.path == path) {
                        files.push(Firmware { version: version(tree, &path, &file, name), path });
                    }
                }
            }
        }
        files.sort_by(|a, b| b.version.cmp(&a.version).then_with(|| a.path.cmp(&b.path)));
        let (loaded, running) = loaded(tree, driver, node);
        let required = format!("{}.bin", platform.file);
        Guc { required, recommended: RECOMMENDED, files, loaded, running }
    }

    /// The version that is used: what is loaded, or else the newest file that says its version.
    pub fn version(&self) -> Option<Version> {
        self.loaded.or_else(|| self.files.iter().find_map(|file| file.version))
    }

    pub(crate) fn advise(&self, title: &str, advice: &mut Vec<Advice>) {
        let Guc { required, recommended, .. } = self;
        let install = format!(
            "install your distribution's package of Intel's GPU firmware (Debian: firmware-intel-graphics \
             or firmware-misc-nonfree, Fedora: intel-gpu-firmware, others: linux-firmware), or put {required} \
             of linux-firmware into /lib/firmware"
        );
        let mut say = |severity, text: String| {
            advice.push(Advice { severity, text: format!("{title}: {text}") });
        };
        if self.running == Some(false) {
            say(Severity::Problem, format!("the GuC does not run; {install}"));
        } else if self.files.is_empty() && self.loaded.is_none() {
            say(Severity::Problem, format!("the GuC firmware {required} is missing; {install}"));
        }
        match self.version() {
            Some(version) if version < *recommended => say(
                Severity::Hint,
                format!("GuC firmware {version}; at least {recommended} is recommended: {install}"),
            ),
            None if !self.files.is_empty() => say(
                Severity::Hint,
                format!(
                    "the version of {} is not known, since it is compressed; at least {recommended} is recommended",
                    self.files[0].path
                ),
            ),
            _ => {}
        }
    }
}

/// Whether a file of a folder is the firmware of this name: `adlp_guc_70.bin`, also with a longer
/// version after it, compressed or not.
fn is_file(file: &str, name: &str) -> bool {
    let Some(rest) = file.strip_prefix(name) else { return false };
    let plain = rest.strip_suffix(".zst").or(rest.strip_suffix(".xz")).unwrap_or(rest);
    plain
        .strip_suffix(".bin")
        .is_some_and(|version| version.bytes().all(|b| b == b'.' || b.is_ascii_digit()))
}

/// The version of a file: that of its name if it has all numbers, else that in its header.
fn version(tree: &Tree, path: &str, file: &str, name: &str) -> Option<Version> {
    /// Offset of the version in the header, after ten double words, the time, and the names of user and
    /// build. source: intel_uc_fw_abi.h, `struct uc_css_header`
    const VERSION_AT: usize = 64;
    // `70` is the name's end.
    let rest = file.strip_prefix(name)?;
    if let Some(numbers) =
        rest.strip_prefix('.').filter(|n| n.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Version::parse(&format!("70.{numbers}"));
    }
    if !file.ends_with(".bin") {
        return None;
    }
    let header = tree.bytes(path, 128)?;
    let word = header.get(VERSION_AT..VERSION_AT + 4)?;
    let [patch, minor, major, _] = [word[0], word[1], word[2], word[3]].map(u32::from);
    (major > 0).then_some(Version([major, minor, patch]))
}

/// State of the firmware in the kernel driver's debugfs: the version that it found, and whether it
/// runs.
fn loaded(tree: &Tree, driver: Option<&str>, node: &str) -> (Option<Version>, Option<bool>) {
    if !matches!(driver, Some("i915" | "xe")) {
        return (None, None);
    }
    let number = node.trim_start_matches("card").trim_start_matches("renderD");
    let folder = format!("/sys/kernel/debug/dri/{number}");
    let text = ["gt0/uc/guc_info", "gt/uc/guc_info", "i915_guc_info"]
        .iter()
        .find_map(|file| tree.text(format!("{folder}/{file}")));
    let Some(text) = text else { return (None, None) };
    let mut version = None;
    let mut running = None;
    for line in text.lines().map(str::trim) {
        if let Some(status) = line.strip_prefix("status:") {
            running.get_or_insert(status.trim().starts_with("RUNNING"));
        }
        if version.is_none()
            && line.contains("version")
            && let Some((_, found)) = line.split_once("found ")
        {
            version = Version::parse(found);
        }
    }
    (version, running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_numbers() {
        assert_eq!(Version::parse("70.13.1, wanted"), Some(Version([70, 13, 1])));
        assert_eq!(Version::parse("70.5"), Some(Version([70, 5, 0])));
        assert_eq!(Version::parse("70"), None);
        assert!(Version([70, 13, 1]) > RECOMMENDED && Version([70, 6, 2]) < RECOMMENDED);
    }

    #[test]
    fn no_id_has_two_platforms() {
        let mut ids: Vec<u16> = PLATFORMS.iter().flat_map(|p| p.ids).copied().collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        // Skylake, Tiger Lake and Alder Lake-S do without.
        assert!([0x1912, 0x9a49, 0x4680].into_iter().all(|id| platform(id).is_none()));
    }
}
