//! Reading a tree of system files, which may be a made-up one.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of bytes that are read of a text file.
const MAX_BYTES: u64 = 1 << 18;

/// Maximum number of entries that are read of a directory.
const MAX_ENTRIES: usize = 4096;

/// A tree of files below a root. Paths are those of the examined machine, with or without the leading
/// slash.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

/// Permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The permission bits.
    pub mode: u32,
    /// The owner.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Permissions {
    /// Whether a user may read and write.
    pub fn allow(&self, user: u32, groups: &[u32]) -> bool {
        const READ_WRITE: u32 = 6;
        let bits = match () {
            () if user == 0 => return true,
            () if user == self.user => self.mode >> 6,
            () if groups.contains(&self.group) => self.mode >> 3,
            () => self.mode,
        };
        bits & READ_WRITE == READ_WRITE
    }
}

impl Tree {
    /// The tree below a directory.
    pub fn new(root: &Path) -> Tree {
        Tree { root: root.to_path_buf() }
    }

    /// The path on this machine of a path of the tree.
    fn place(&self, path: &Path) -> PathBuf {
        let mut place = self.root.clone();
        // No component leads out of the tree.
        place.extend(path.components().filter(|part| matches!(part, Component::Normal(_))));
        place
    }

    /// The text of a file, up to a limit, with whatever is no UTF-8 replaced; `None` if it cannot be
    /// read.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.bytes(path, MAX_BYTES).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first bytes of a file.
    pub fn bytes(&self, path: impl AsRef<Path>, most: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.place(path.as_ref())).ok()?;
        if file.metadata().ok()?.is_dir() {
            return None;
        }
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A number in hexadecimal, as sysfs writes ids.
    pub fn hex(&self, path: impl AsRef<Path>) -> Option<u32> {
        let text = self.text(path)?;
        u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
    }

    /// The names in a directory, sorted; empty if there is none.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place(path.as_ref())) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Whether something is there; links are followed.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.place(path.as_ref()).exists()
    }

    /// The last part of what a link points to.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.place(path.as_ref())).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The last part of a path when all links are followed.
    pub fn real_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let real = fs::canonicalize(self.place(path.as_ref())).ok()?;
        Some(real.file_name()?.to_str()?.to_owned())
    }

    /// Permissions of a file.
    pub fn permissions(&self, path: impl AsRef<Path>) -> Option<Permissions> {
        let metadata = fs::metadata(self.place(path.as_ref())).ok()?;
        Some(Permissions {
            mode: metadata.mode() & 0o777,
            user: metadata.uid(),
            group: metadata.gid(),
        })
    }

    /// The name of a group, as `/etc/group` has it.
    pub fn group_name(&self, group: u32) -> Option<String> {
        let text = self.text("/etc/group")?;
        let line = text
            .lines()
            .find(|line| line.split(':').nth(2).and_then(|id| id.parse().ok()) == Some(group))?;
        line.split(':').next().map(str::to_owned)
    }
}
