//! DRM devices: what sysfs says of them, and their nodes in `/dev/dri`.

use serde::Serialize;
use tepui_gpus::Family;

use crate::guc::{self, Guc};
use crate::tree::Tree;
use crate::{Advice, Machine, Severity};

/// Intel as a PCI vendor.
const INTEL: u32 = 0x8086;

/// A DRM device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Its name on its bus: a PCI address, or a name of the device tree.
    pub bus: String,
    /// The kernel's driver; `None` if none is bound.
    pub driver: Option<String>,
    /// The family that Tepui knows the driver's GPUs as.
    pub family: Option<String>,
    /// PCI vendor and device.
    pub pci: Option<[u32; 2]>,
    /// The platform of Intel's GPUs that need firmware.
    pub platform: Option<&'static str>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// The GuC firmware, where it is needed.
    pub guc: Option<Guc>,
}

/// A node of a device.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its path.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
    /// Permission bits in octal.
    pub mode: Option<String>,
    /// The group that owns it, by name or number.
    pub group: Option<String>,
    /// Whether the user may open it for reading and writing.
    pub usable: bool,
}

/// The DRM devices of a machine, in the order of their nodes.
pub fn find(tree: &Tree, machine: &Machine) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    let class = "/sys/class/drm";
    for name in tree.names(class) {
        if !is_node(&name) {
            continue;
        }
        let device = format!("{class}/{name}/device");
        let bus = tree.real_name(&device).unwrap_or_else(|| name.clone());
        let index = devices.iter().position(|known| known.bus == bus).unwrap_or_else(|| {
            devices.push(describe(tree, &device, bus, &name));
            devices.len() - 1
        });
        devices[index].nodes.push(node(tree, machine, &name));
    }
    devices
}

/// Whether a name of `/sys/class/drm` is that of a node; connectors are there too.
fn is_node(name: &str) -> bool {
    let number = name.strip_prefix("card").or(name.strip_prefix("renderD"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn describe(tree: &Tree, device: &str, bus: String, name: &str) -> Device {
    let driver = tree.link_name(format!("{device}/driver"));
    let pci = tree
        .hex(format!("{device}/vendor"))
        .zip(tree.hex(format!("{device}/device")))
        .map(|(vendor, device)| [vendor, device]);
    let platform = match pci {
        Some([INTEL, id]) => guc::platform(id),
        _ => None,
    };
    Device {
        family: driver.as_deref().and_then(Family::of_driver).map(|f| f.to_string()),
        guc: platform.map(|platform| Guc::find(tree, platform, driver.as_deref(), name)),
        platform: platform.map(|platform| platform.name),
        bus,
        driver,
        pci,
        nodes: Vec::new(),
    }
}

fn node(tree: &Tree, machine: &Machine, name: &str) -> Node {
    let path = format!("/dev/dri/{name}");
    let permissions = tree.permissions(&path);
    Node {
        exists: permissions.is_some(),
        mode: permissions.map(|p| format!("{:03o}", p.mode)),
        group: permissions.map(|p| tree.group_name(p.group).unwrap_or_else(|| p.group.to_string())),
        usable: permissions.is_some_and(|p| p.allow(machine.user, &machine.groups)),
        path,
    }
}

impl Device {
    /// The name for messages.
    pub fn title(&self) -> String {
        match (self.platform, self.pci) {
            (Some(platform), _) => format!("{} ({platform})", self.bus),
            (None, Some([vendor, device])) => format!("{} ({vendor:04x}:{device:04x})", self.bus),
            (None, None) => self.bus.clone(),
        }
    }

    /// Adds what is to be done.
    pub(crate) fn advise(&self, advice: &mut Vec<Advice>) {
        let title = self.title();
        let mut say = |severity, text: String| advice.push(Advice { severity, text });
        if self.driver.is_none() {
            say(Severity::Problem, format!("{title}: no kernel driver is bound to it"));
        }
        for node in self.nodes.iter().filter(|node| node.path.contains("renderD")) {
            if !node.exists {
                say(Severity::Problem, format!("{title}: {} is missing", node.path));
            } else if !node.usable {
                let group = node.group.as_deref().unwrap_or("?");
                say(
                    Severity::Problem,
                    format!(
                        "{title}: you may not open {}; join the group {group} (usermod -aG {group} USER) and log in again",
                        node.path
                    ),
                );
            }
        }
        if !self.nodes.iter().any(|node| node.path.contains("renderD")) {
            say(Severity::Hint, format!("{title}: it has no render node"));
        }
        if let Some(guc) = &self.guc {
            guc.advise(&title, advice);
        }
    }
}
