//! Checks of the pages: the compiler's listings are the output of the commands above them (`BLESS=1` rewrites them), links
//! lead to files and headings, and files that a page names exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages with listings of `tepui compile`, and how many each has at least.
const LISTINGS: [(&str, usize); 2] = [("docs/compiler.md", 5), ("docs/compiler-graphics.md", 4)];

#[test]
fn listings_are_what_the_commands_print() {
    for (page, least) in LISTINGS {
        check_listings(page, least);
    }
}

fn check_listings(page: &str, least: usize) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let dir = tempfile::tempdir().expect("a directory");
    // Shaders are in blocks of WGSL, with the file's name after `wgsl`; without one it is `shader.wgsl`.
    for block in text.split("```wgsl").skip(1) {
        let (name, rest) = block.split_once('\n').expect("a block has lines");
        let (shader, _) = rest.split_once("```").expect("a block ends");
        let name = if name.is_empty() { "shader.wgsl" } else { name.trim() };
        std::fs::write(dir.path().join(name), shader).expect("written");
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    let mut count = 0;
    while let Some((before, after)) = rest.split_once("```sh\ntepui compile ") {
        let (command, after) = after.split_once("\n```\n\n```text\n").expect("output follows");
        let (_, after) = after.split_once("```").expect("output ends");
        let got = Command::new(env!("CARGO_BIN_EXE_tepui"))
            .arg("compile")
            .args(command.split_whitespace())
            .current_dir(dir.path())
            .output()
            .expect("the command starts");
        assert!(got.status.success(), "{command}: {}", String::from_utf8_lossy(&got.stderr));
        let got = String::from_utf8_lossy(&got.stdout);
        out.push_str(&format!(
            "{before}```sh\ntepui compile {command}\n```\n\n```text\n{}\n```",
            got.trim_end()
        ));
        rest = after;
        count += 1;
    }
    out.push_str(rest);
    assert!(count >= least, "{page}: {count} listings");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, out).expect("the page can be written");
    } else {
        assert!(out == text, "{page} is not up to date: run with BLESS=1");
    }
}

/// Top-level folders: a word that begins with one is a path from the root.
const FOLDERS: [&str; 9] =
    [".ci/", "crates/", "docs/", "editors/", "examples/", "fuzz/", "tests/", "tools/", "web/"];

/// Ends of names of files that only this project has; other sources that pages cite are in C and Python.
const ENDS: [&str; 5] = [".rs", ".md", ".toml", ".sh", ".mjs"];

/// Words that stand for a name in a path.
const PLACEHOLDERS: [&str; 2] = ["NAME", "FAMILY"];

/// History names files as they were.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/archive/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The project's files and folders, by their paths from the root.
#[derive(Default)]
struct Tree {
    paths: BTreeSet<String>,
    /// Every path's ends, also without the folders `src`: pages shorten paths to `render/setup.rs`.
    ends: BTreeSet<String>,
}

impl Tree {
    fn read() -> Tree {
        let mut tree = Tree::default();
        tree.walk(&root(), "");
        tree
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).expect("a folder can be read") {
            let entry = entry.expect("an entry can be read");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            if ["target", ".git", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            for text in [path.clone(), path.replace("/src/", "/")] {
                let starts = text.match_indices('/').map(|(at, _)| at + 1);
                self.ends.extend(starts.map(|at| text[at..].to_owned()));
                self.ends.insert(text);
            }
            if entry.file_type().expect("entries have types").is_dir() {
                self.walk(&entry.path(), &format!("{path}/"));
            }
            self.paths.insert(path);
        }
    }

    /// Whether a word of code is a path that exists, or no path of this project at all: `./` is the reader's folder.
    fn accepts(&self, word: &str) -> bool {
        let word = word.trim_start_matches(['(', '"', '\'']);
        let word =
            word.trim_end_matches(['.', ',', ';', ':', ')', '"', '\'']).trim_end_matches('/');
        // A line number.
        let word = word.split_once(':').map_or(word, |(path, _)| path);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        if !word.chars().all(plain)
            || PLACEHOLDERS.iter().any(|p| word.contains(p))
            || word.starts_with("./")
        {
            return true;
        }
        if FOLDERS.iter().any(|f| word.starts_with(f)) {
            return self.paths.contains(word);
        }
        !ENDS.iter().any(|end| word.ends_with(end)) || self.ends.contains(word)
    }
}

/// A heading's name in links, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The lines of a page, each with whether it is in a block of code.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(n, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!fence).then_some((n + 1, line, code))
    })
}

/// The fault of a link's target, seen from a page.
fn wrong_link(tree: &Tree, page: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(f, h)| (f, Some(h)));
    let mut at: Vec<&str> = page.split('/').collect();
    if !file.is_empty() {
        at.pop();
        for part in file.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => drop(at.pop()),
                part => at.push(part),
            }
        }
    }
    let path = at.join("/");
    if !path.is_empty() && !tree.paths.contains(&path) {
        return Some(format!("the link to {target} leads nowhere"));
    }
    let heading = heading?;
    let text = std::fs::read_to_string(root().join(&path)).expect("the page can be read");
    let mut headings = lines(&text).filter(|l| !l.2 && l.1.starts_with('#'));
    let found = headings.any(|(_, line, _)| anchor(line.trim_start_matches('#')) == heading);
    (!found).then(|| format!("{path} has no heading #{heading}"))
}

#[test]
fn pages_name_what_exists() {
    let tree = Tree::read();
    let mut wrong = Vec::new();
    let mut words = 0;
    let mut links = 0;
    for page in tree.paths.iter().filter(|p| p.ends_with(".md")) {
        let text = std::fs::read_to_string(root().join(page)).expect("a page can be read");
        let history = HISTORY.iter().any(|h| page.starts_with(h));
        for (n, line, code) in lines(&text) {
            let spans: Vec<_> =
                if code { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
            for word in spans.iter().flat_map(|s| s.split_whitespace()).filter(|_| !history) {
                words += 1;
                if !tree.accepts(word) {
                    wrong.push(format!("{page}:{n}: {word} does not exist"));
                }
            }
            if code {
                continue;
            }
            for rest in line.split("](").skip(1) {
                links += 1;
                let target = rest.split(')').next().unwrap_or_default();
                wrong.extend(wrong_link(&tree, page, target).map(|w| format!("{page}:{n}: {w}")));
            }
        }
    }
    assert!(words > 3000 && links > 100, "{words} words of code, {links} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_show_every_picture() {
    let tree = Tree::read();
    let pages: Vec<String> = (tree.paths.iter().filter(|p| p.ends_with(".md")))
        .map(|page| std::fs::read_to_string(root().join(page)).expect("a page can be read"))
        .collect();
    let pictures = tree.paths.iter().filter_map(|p| p.strip_prefix("docs/pictures/"));
    let unused: Vec<_> = pictures
        .filter(|p| !pages.iter().any(|text| text.contains(&format!("pictures/{p})"))))
        .collect();
    assert!(unused.is_empty(), "no page shows {unused:?}");
}
