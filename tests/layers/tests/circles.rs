//! No circle of modules has more than four, but for those that are listed.

use std::path::{Path, PathBuf};

/// Modules in one circle that need no reason.
const MOST: usize = 4;

/// Crates with larger circles, and the number of modules in each, the largest first.
///
/// These are to be divided: data at the bottom, then what executes it, then what records or schedules.
const LARGER: &[(&str, &[usize])] = &[];

fn crates(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("Cargo.toml").exists() {
            found.push(path.clone());
        }
        if path.is_dir() && !path.ends_with("src") && !path.ends_with("target") {
            crates(&path, found);
        }
    }
}

#[test]
fn circles_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["crates", "tests"] {
        crates(&root.join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() > 80, "{} crates", found.len());
    let mut wrong = String::new();
    let mut seen = 0;
    for folder in &found {
        let sources = folder.join("src");
        if !sources.exists() {
            continue;
        }
        let name = folder.strip_prefix(&root).unwrap().to_str().unwrap();
        let circles = tepui_layers::circles(&sources).unwrap_or_else(|e| panic!("{e}"));
        seen += circles.len();
        let large: Vec<_> = circles.iter().filter(|c| c.modules.len() > MOST).collect();
        let sizes: Vec<usize> = large.iter().map(|c| c.modules.len()).collect();
        let listed = LARGER.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, sizes)| sizes);
        if sizes == listed {
            continue;
        }
        wrong += &format!("{name}: circles of {sizes:?} modules, {listed:?} are listed\n");
        for circle in large {
            wrong += &format!("  {}\n", circle.modules.join(" "));
            for [from, to, item] in &circle.imports {
                wrong += &format!("    {from} imports {to}::{item}\n");
            }
        }
    }
    assert!(seen > 20, "{seen} circles: imports are not understood");
    assert!(wrong.is_empty(), "{wrong}");
}
