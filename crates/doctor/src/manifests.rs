//! Manifests of Vulkan drivers: the JSON files by which the loader finds them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::tree::Tree;
use crate::{Advice, Severity};

/// Folders that the loader searches. source: Vulkan-Loader, LoaderDriverInterface.md, "Linux Driver
/// Discovery"
const FOLDERS: [&str; 4] = [
    "/usr/local/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
];

/// Folders that the dynamic linker searches for a library without a path; each may have a subfolder for
/// the architecture.
const LIBRARIES: [&str; 5] = ["/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib"];

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// Its path.
    pub path: String,
    /// The library that it names.
    pub library: Option<String>,
    /// The version of Vulkan that it names.
    pub api_version: Option<String>,
    /// Its problem, if it has one.
    pub problem: Option<String>,
}

/// The manifests of a machine.
pub fn find(tree: &Tree, home: Option<&Path>) -> Vec<Manifest> {
    let own = home.map(|home| home.join(".local/share/vulkan/icd.d"));
    let folders = own.into_iter().chain(FOLDERS.map(PathBuf::from));
    let mut found = Vec::new();
    for folder in folders {
        for name in tree.names(&folder).iter().filter(|name| name.ends_with(".json")) {
            found.push(read(tree, folder.join(name)));
        }
    }
    found
}

fn read(tree: &Tree, path: PathBuf) -> Manifest {
    let mut manifest = Manifest {
        path: path.display().to_string(),
        library: None,
        api_version: None,
        problem: None,
    };
    let Some(text) = tree.text(&path) else {
        manifest.problem = Some("it cannot be read".into());
        return manifest;
    };
    let json: serde_json::Value = match serde_json::from_str(&text) {
        Ok(json) => json,
        Err(error) => {
            manifest.problem = Some(format!("it is no JSON: {error}"));
            return manifest;
        }
    };
    let field = |name: &str| json["ICD"][name].as_str().map(str::to_owned);
    manifest.library = field("library_path");
    manifest.api_version = field("api_version");
    manifest.problem = match &manifest.library {
        None => Some("it names no library".into()),
        Some(library) if !has_library(tree, &path, library) => {
            Some(format!("its library {library} is missing"))
        }
        Some(_) => None,
    };
    manifest
}

/// Whether a library is there: a path, absolute or from the manifest's folder on, or a name that the
/// dynamic linker looks for.
fn has_library(tree: &Tree, manifest: &Path, library: &str) -> bool {
    if library.starts_with('/') {
        return tree.exists(library);
    }
    if library.contains('/') {
        let mut path = manifest.parent().unwrap_or(Path::new("/")).to_path_buf();
        for part in Path::new(library).components() {
            match part {
                std::path::Component::ParentDir => drop(path.pop()),
                part => path.push(part),
            }
        }
        return tree.exists(path);
    }
    LIBRARIES.iter().any(|folder| {
        tree.exists(format!("{folder}/{library}"))
            || tree
                .names(folder)
                .iter()
                .filter(|name| name.contains("-linux-"))
                .any(|name| tree.exists(format!("{folder}/{name}/{library}")))
    })
}

/// Adds what is to be done.
pub(crate) fn advise(manifests: &[Manifest], advice: &mut Vec<Advice>) {
    let mut say = |text: String| advice.push(Advice { severity: Severity::Hint, text });
    for manifest in manifests {
        if let Some(problem) = &manifest.problem {
            say(format!("{}: {problem}", manifest.path));
        }
    }
    if manifests.is_empty() {
        say("no Vulkan driver is installed (Debian: mesa-vulkan-drivers); Tepui's own needs none \
             (`tepui run --gpu m1 -- PROGRAM`)"
            .into());
    }
}
