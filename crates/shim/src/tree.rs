//! The tree of virtual paths: `/dev/dri/renderD128` and its directory and links in sysfs.
//!
//! The tree contains only virtual entries. Its upper directories (`/dev`, `/sys/class`, …) usually
//! exist on the machine too; they are opened there, and the virtual entries are added when they are
//! listed.
//!
//! source: the paths are those that libdrm reads (xf86drm.c) and that the kernel's sysfs has for
//! platform and PCI devices.

use std::collections::{BTreeMap, HashSet};

use tepui_drm::device::{Bus, Node, PciAddress, PciIds};

/// Major number of DRM devices.
pub const DRM_MAJOR: u32 = 226;

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory and its entries.
    Directory(BTreeMap<String, Entry>),
    /// A file with its text.
    File(String),
    /// A symbolic link with its target.
    Link(String),
    /// The render node.
    RenderNode,
}

/// The result of looking up a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// An entry of the tree, with its canonical path.
    Here(&'a Entry, String),
    /// A path outside the tree, reached through a link in the tree.
    Elsewhere(String),
    /// The path is not in the tree.
    NotOurs,
}

/// The tree of virtual paths.
pub struct Tree {
    root: Entry,
    /// Names of all entries.
    names: HashSet<String>,
    /// Minor number of the node.
    pub minor: u32,
}

/// Limit on the links that are followed in one lookup.
const MAX_LINKS: usize = 16;

impl Tree {
    /// The tree of one device, whose node has this minor number.
    pub fn new(node: &Node, minor: u32) -> Tree {
        let root = Entry::Directory(BTreeMap::new());
        let mut tree = Tree { root, names: HashSet::new(), minor };
        let name = format!("renderD{minor}");
        let number = format!("{DRM_MAJOR}:{minor}");
        tree.put(&format!("/dev/dri/{name}"), Entry::RenderNode);

        let driver = &*node.driver;
        let (bus, device_dir) = match &node.bus {
            Bus::Platform { full_name, compatible } => {
                ("platform", tree.put_platform_device(driver, full_name, compatible))
            }
            Bus::Pci { address, ids } => ("pci", tree.put_pci_device(driver, *address, *ids)),
        };
        let device = device_dir.rsplit('/').next().unwrap_or_default().to_owned();
        let link = |target: &str| Entry::Link(target.to_owned());
        let up = "../".repeat(device_dir.matches('/').count() - 1);
        tree.put(&format!("{device_dir}/subsystem"), link(&format!("{up}bus/{bus}")));
        tree.put(&format!("{device_dir}/driver"), link(&format!("{up}bus/{bus}/drivers/{driver}")));
        tree.put(&format!("/sys/bus/{bus}/drivers/{driver}/uevent"), Entry::File(String::new()));

        let drm_dir = format!("{device_dir}/drm/{name}");
        tree.put(&format!("{drm_dir}/dev"), Entry::File(format!("{number}\n")));
        tree.put(
            &format!("{drm_dir}/uevent"),
            Entry::File(format!(
                "MAJOR={DRM_MAJOR}\nMINOR={minor}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor\n"
            )),
        );
        tree.put(&format!("{drm_dir}/device"), Entry::Link(format!("../../../{device}")));
        tree.put(&format!("{drm_dir}/subsystem"), link(&format!("{up}../../class/drm")));
        let to_drm_dir = drm_dir.trim_start_matches("/sys/").to_owned();
        tree.put(&format!("/sys/dev/char/{number}"), Entry::Link(format!("../../{to_drm_dir}")));
        tree.put(&format!("/sys/class/drm/{name}"), Entry::Link(format!("../../{to_drm_dir}")));
        tree
    }

    /// Adds a platform device; returns its directory.
    fn put_platform_device(
        &mut self,
        driver: &str,
        full_name: &str,
        compatible: &[String],
    ) -> String {
        // A platform device's name is its address and the node's name: `206400000.gpu`.
        let base = full_name.rsplit('/').next().unwrap_or_default();
        let device = match base.split_once('@') {
            Some((name, address)) => format!("{address}.{name}"),
            None => base.to_owned(),
        };
        let directory = format!("/sys/devices/platform/soc/{device}");
        let mut uevent = format!("DRIVER={driver}\nOF_NAME=gpu\nOF_FULLNAME={full_name}\n");
        for (index, name) in compatible.iter().enumerate() {
            uevent += &format!("OF_COMPATIBLE_{index}={name}\n");
        }
        uevent += &format!("OF_COMPATIBLE_N={}\n", compatible.len());
        self.put(&format!("{directory}/uevent"), Entry::File(uevent));
        directory
    }

    /// Adds a PCI device; returns its directory.
    ///
    /// source: libdrm reads the slot from `uevent` and the ids from files of one number each
    /// (xf86drm.c, `drmParsePciDeviceInfo`).
    fn put_pci_device(&mut self, driver: &str, address: PciAddress, ids: PciIds) -> String {
        let PciIds { vendor, device, subsystem_vendor, subsystem_device, revision, class } = ids;
        let directory =
            format!("/sys/devices/pci{:04x}:{:02x}/{address}", address.domain, address.bus);
        let uevent = format!(
            "DRIVER={driver}\nPCI_CLASS={class:X}\nPCI_ID={vendor:04X}:{device:04X}\n\
             PCI_SUBSYS_ID={subsystem_vendor:04X}:{subsystem_device:04X}\nPCI_SLOT_NAME={address}\n"
        );
        self.put(&format!("{directory}/uevent"), Entry::File(uevent));
        let numbers = [
            ("vendor", format!("{vendor:#06x}")),
            ("device", format!("{device:#06x}")),
            ("subsystem_vendor", format!("{subsystem_vendor:#06x}")),
            ("subsystem_device", format!("{subsystem_device:#06x}")),
            ("revision", format!("{revision:#04x}")),
            ("class", format!("{class:#08x}")),
        ];
        for (name, number) in numbers {
            self.put(&format!("{directory}/{name}"), Entry::File(number + "\n"));
        }
        directory
    }

    fn put(&mut self, path: &str, entry: Entry) {
        let mut at = &mut self.root;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            self.names.insert(name.to_owned());
            if !matches!(at, Entry::Directory(_)) {
                *at = Entry::Directory(BTreeMap::new());
            }
            if let Entry::Directory(entries) = at {
                at = entries
                    .entry(name.to_owned())
                    .or_insert_with(|| Entry::Directory(BTreeMap::new()));
            }
        }
        *at = entry;
    }

    /// Quick check whether a path may be in the tree.
    pub fn may_hold(path: &[u8]) -> bool {
        matches!(path, [b'/', b'd' | b's' | b'/' | b'.', ..])
    }

    /// Quick check whether a path may be in one of the tree's directories.
    pub fn may_hold_in_directory(&self, path: &str) -> bool {
        components(path).next().is_some_and(|name| self.names.contains(&name))
    }

    /// Looks up an absolute path. A link at its end is followed only if `follow` is set.
    pub fn lookup(&self, path: &str, follow: bool) -> Lookup<'_> {
        let mut todo: Vec<String> = components(path).rev().collect();
        let mut stack: Vec<(&str, &Entry)> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            if name == ".." {
                stack.pop();
                continue;
            }
            let here = stack.last().map_or(&self.root, |(_, entry)| entry);
            let found = match here {
                Entry::Directory(entries) => entries.get_key_value(&name),
                _ => None,
            };
            let Some((name, entry)) = found else {
                if links == 0 {
                    return Lookup::NotOurs;
                }
                let mut path = canonical(&stack);
                for name in std::iter::once(&name).chain(todo.iter().rev()) {
                    path = path.trim_end_matches('/').to_owned() + "/" + name;
                }
                return Lookup::Elsewhere(path);
            };
            match entry {
                Entry::Link(target) if follow || !todo.is_empty() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Lookup::NotOurs;
                    }
                    if target.starts_with('/') {
                        stack.clear();
                    }
                    todo.extend(components(target).rev());
                }
                _ => stack.push((name, entry)),
            }
        }
        let entry = stack.last().map_or(&self.root, |(_, entry)| entry);
        Lookup::Here(entry, canonical(&stack))
    }
}

fn components(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
}

fn canonical(stack: &[(&str, &Entry)]) -> String {
    if stack.is_empty() {
        return "/".into();
    }
    stack.iter().fold(String::new(), |path, (name, _)| path + "/" + name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agx_node(id: &str) -> Node {
        let gpu = id.parse().unwrap();
        tepui_gpus::device::device(gpu, &Default::default()).unwrap().node()
    }

    fn tree() -> Tree {
        let node = agx_node("m1");
        Tree::new(&node, 128)
    }

    #[test]
    fn paths_resolve_as_in_sysfs() {
        let tree = tree();
        let device = "/sys/devices/platform/soc/206400000.gpu";
        let cases = [
            ("/dev/dri/renderD128", "/dev/dri/renderD128"),
            ("/dev//dri/./renderD128", "/dev/dri/renderD128"),
            ("/sys/dev/char/226:128", &format!("{device}/drm/renderD128")),
            ("/sys/dev/char/226:128/device", device),
            ("/sys/dev/char/226:128/device/drm", &format!("{device}/drm")),
            ("/sys/class/drm/renderD128/device/uevent", &format!("{device}/uevent")),
            ("/sys/dev/char/226:128/device/driver", "/sys/bus/platform/drivers/asahi"),
            ("/sys/dev/char/226:128/../../../..", "/sys/devices/platform"),
            ("/..", "/"),
        ];
        for (path, canonical) in cases {
            match tree.lookup(path, true) {
                Lookup::Here(_, found) => assert_eq!(found, canonical, "{path}"),
                other => panic!("{path}: {other:?}"),
            }
        }
        for path in ["/dev/null", "/dev/dri/renderD129", "/sys/dev/char/226:129", "/sys/kernel"] {
            assert_eq!(tree.lookup(path, true), Lookup::NotOurs, "{path}");
        }
        // The platform bus is the machine's own, even when reached through the virtual device.
        assert_eq!(
            tree.lookup("/sys/dev/char/226:128/device/subsystem/devices/x", true),
            Lookup::Elsewhere("/sys/bus/platform/devices/x".into())
        );
    }

    #[test]
    fn a_final_link_is_returned_unless_followed() {
        let tree = tree();
        let Lookup::Here(Entry::Link(target), path) =
            tree.lookup("/sys/dev/char/226:128/device/subsystem", false)
        else {
            panic!()
        };
        assert_eq!(target, "../../../../bus/platform");
        assert_eq!(path, "/sys/devices/platform/soc/206400000.gpu/subsystem");
    }

    #[test]
    fn the_uevent_names_the_device_tree_node() {
        let node = agx_node("m1-max");
        let tree = Tree::new(&node, 130);
        let Lookup::Here(Entry::File(text), _) =
            tree.lookup("/sys/dev/char/226:130/device/uevent", true)
        else {
            panic!()
        };
        assert_eq!(
            text,
            "DRIVER=asahi\nOF_NAME=gpu\nOF_FULLNAME=/soc/gpu@406400000\n\
             OF_COMPATIBLE_0=apple,agx-g13c\nOF_COMPATIBLE_1=apple,agx-g13s\nOF_COMPATIBLE_N=2\n"
        );
    }

    #[test]
    fn a_pci_device_is_where_libdrm_looks() {
        let address = PciAddress { domain: 0, bus: 0, device: 2, function: 0 };
        let ids = PciIds {
            vendor: 0x8086,
            device: 0x1912,
            subsystem_vendor: 0x8086,
            subsystem_device: 0x2212,
            revision: 6,
            class: 0x03_0000,
        };
        let tree = Tree::new(&Node { driver: "i915".into(), bus: Bus::Pci { address, ids } }, 128);
        let device = "/sys/devices/pci0000:00/0000:00:02.0";
        let cases = [
            ("/sys/dev/char/226:128/device", device.to_owned()),
            ("/sys/dev/char/226:128/device/drm", format!("{device}/drm")),
            ("/sys/class/drm/renderD128/subsystem", "/sys/class/drm".to_owned()),
            ("/sys/dev/char/226:128/device/driver", "/sys/bus/pci/drivers/i915".to_owned()),
        ];
        for (path, canonical) in cases {
            match tree.lookup(path, true) {
                Lookup::Here(_, found) => assert_eq!(found, canonical, "{path}"),
                other => panic!("{path}: {other:?}"),
            }
        }
        let Lookup::Here(Entry::Link(target), _) =
            tree.lookup(&format!("{device}/subsystem"), false)
        else {
            panic!("no subsystem")
        };
        assert!(target.ends_with("/bus/pci"), "{target}");
        let file = |name: &str| match tree.lookup(&format!("{device}/{name}"), true) {
            Lookup::Here(Entry::File(text), _) => text.clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!((file("vendor").as_str(), file("device").as_str()), ("0x8086\n", "0x1912\n"));
        assert_eq!((file("revision").as_str(), file("class").as_str()), ("0x06\n", "0x030000\n"));
        assert!(file("uevent").contains("PCI_SLOT_NAME=0000:00:02.0\n"), "{}", file("uevent"));
    }
}
