//! Diagnosis of a machine's GPUs, real and virtual.
//!
//! [`examine`] reads a tree of system files (`/sys`, `/dev`, `/lib/firmware`, `/usr/share/vulkan`) and
//! returns a [`Report`]: the DRM devices with their kernel drivers and nodes ([`mod@devices`]), whether
//! the user may open them, the GuC firmware that Intel's GPUs need ([`mod@guc`]), the manifests of
//! Vulkan drivers ([`mod@manifests`]), and the GPUs that Tepui can emulate. Problems become [`Advice`].
//! The report prints as text (`Display`) and serialises as JSON.
//!
//! The root of the tree is a parameter, so that tests can examine made-up machines.

pub mod devices;
pub mod guc;
pub mod manifests;
mod text;
mod tree;

use std::path::PathBuf;

use serde::Serialize;
use tepui_gpus::{Feature, Gpu, Support};

pub use devices::{Device, Node};
pub use guc::Guc;
pub use manifests::Manifest;
pub use tree::Tree;

/// A machine, and who asks.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The root of its file system: `/`, or a directory that looks like it.
    pub root: PathBuf,
    /// The user's id.
    pub user: u32,
    /// The groups that the user is in.
    pub groups: Vec<u32>,
    /// The user's home directory within the root, for manifests that are installed there.
    pub home: Option<PathBuf>,
}

impl Machine {
    /// This machine and the user of this process.
    pub fn this() -> Machine {
        let mut groups: Vec<u32> = rustix::process::getgroups()
            .map(|groups| groups.into_iter().map(|group| group.as_raw()).collect())
            .unwrap_or_default();
        groups.push(rustix::process::getegid().as_raw());
        Machine {
            root: PathBuf::from("/"),
            user: rustix::process::geteuid().as_raw(),
            groups,
            home: std::env::var_os("HOME").map(PathBuf::from),
        }
    }
}

/// Severity of a piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It works, but could work better.
    Hint,
    /// A GPU of the machine does not work.
    Problem,
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Its severity.
    pub severity: Severity,
    /// The problem and its solution.
    pub text: String,
}

/// A GPU that Tepui can emulate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VirtualGpu {
    /// The name that commands take.
    pub id: &'static str,
    /// The vendor's name.
    pub name: &'static str,
}

/// Result of the examination.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// DRM devices.
    pub devices: Vec<Device>,
    /// Vulkan drivers.
    pub manifests: Vec<Manifest>,
    /// GPUs that have a model.
    pub virtual_gpus: Vec<VirtualGpu>,
    /// Problems and their solutions.
    pub advice: Vec<Advice>,
}

impl Report {
    /// Whether a GPU of the machine does not work.
    pub fn has_problems(&self) -> bool {
        self.advice.iter().any(|advice| advice.severity == Severity::Problem)
    }
}

/// Examines a machine.
pub fn examine(machine: &Machine) -> Report {
    let tree = Tree::new(&machine.root);
    let devices = devices::find(&tree, machine);
    let manifests = manifests::find(&tree, machine.home.as_deref());
    let has_model = |gpu: &Gpu| gpu.support(Feature::Model) != Support::Missing;
    let virtual_gpus = Gpu::all()
        .filter(has_model)
        .map(|gpu| VirtualGpu { id: gpu.id(), name: gpu.name() })
        .collect();
    let mut advice = Vec::new();
    if devices.is_empty() {
        let text =
            "there is no DRM device; a virtual GPU needs none (`tepui shim --gpu m1 -- PROGRAM`)";
        advice.push(Advice { severity: Severity::Hint, text: text.into() });
    }
    devices.iter().for_each(|device| device.advise(&mut advice));
    manifests::advise(&manifests, &mut advice);
    Report { devices, manifests, virtual_gpus, advice }
}
