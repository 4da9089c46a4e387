//! The runtime names no GPU family.

use std::path::Path;

/// Names of families, of their kernel drivers and of Mesa's drivers for them.
const FAMILIES: [&str; 13] = [
    "agx",
    "asahi",
    "apple",
    "honeykrisp",
    "mali",
    "panthor",
    "panfrost",
    "panvk",
    "intel",
    "i915",
    "anv",
    "skylake",
    "m1",
];

fn check(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            check(&entry.unwrap().path(), found);
        }
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    for (n, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        if words.any(|w| FAMILIES.contains(&w)) {
            found.push(format!("{}:{}: {line}", path.display(), n + 1));
        }
    }
}

#[test]
fn no_source_names_a_family() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    check(&root.join("src"), &mut found);
    check(&root.join("Cargo.toml"), &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
