//! The files of a crate: their paths as modules, the paths that they mention, and their re-exports.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree, Visibility};

use crate::Error;

/// A file of a crate.
#[derive(Debug)]
pub struct File {
    /// Its path as a module; empty for the root.
    pub path: Vec<String>,
    /// Paths that its code mentions, made absolute from the crate's root.
    pub mentions: Vec<Vec<String>>,
    /// Names that it re-exports, with the absolute paths that they stand for. `*` for all of a module.
    pub exports: Vec<(String, Vec<String>)>,
}

/// Reads the files below a crate's folder `src`, but for those of tests.
pub fn read(sources: &Path) -> Result<Vec<File>, Error> {
    let mut found = Vec::new();
    collect(sources, &mut found)?;
    found.sort();
    let path_of = |file: &Path| -> Vec<String> {
        let relative = file.strip_prefix(sources).unwrap_or(file).with_extension("");
        let mut path: Vec<String> =
            relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        path.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
        path
    };
    let is_test = |path: &[String]| path.iter().any(|part| part.ends_with("tests"));
    let files: Vec<(Vec<String>, &PathBuf)> =
        found.iter().map(|file| (path_of(file), file)).filter(|(path, _)| !is_test(path)).collect();
    let modules: Vec<&[String]> = files.iter().map(|(path, _)| &path[..]).collect();
    files.iter().map(|(path, file)| parse(path, file, &modules)).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error| Error::Read { path: folder.to_owned(), error };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match path.is_dir() {
            true => collect(&path, found)?,
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
    Ok(())
}

fn parse(path: &[String], file: &Path, modules: &[&[String]]) -> Result<File, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Read { path: file.to_owned(), error })?;
    let tree = syn::parse_file(&text).map_err(|error| Error::parse(file, error))?;
    let mut reader = Reader {
        modules,
        at: path.to_vec(),
        file: File { path: path.to_vec(), mentions: Vec::new(), exports: Vec::new() },
    };
    reader.visit_file(&tree);
    Ok(reader.file)
}

/// Walks over a file and collects paths.
struct Reader<'a> {
    modules: &'a [&'a [String]],
    /// The module of the code that is being read: the file's, or one inside of it.
    at: Vec<String>,
    file: File,
}

impl Reader<'_> {
    /// The path from the crate's root; `None` for one of another crate, or of a name in scope.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, mut rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.at.clone(),
            "super" => {
                let mut base = self.at.clone();
                base.pop();
                while let Some((next, further)) = rest.split_first().filter(|(s, _)| *s == "super")
                {
                    let _ = next;
                    base.pop();
                    rest = further;
                }
                base
            }
            child => {
                let mut module = self.at.clone();
                module.push(child.to_owned());
                if !self.modules.contains(&&module[..]) {
                    return None;
                }
                module
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    fn mention(&mut self, path: &[String]) {
        if let Some(path) = self.absolute(path) {
            self.file.mentions.push(path);
        }
    }

    fn import(&mut self, prefix: &mut Vec<String>, tree: &UseTree, is_exported: bool) {
        let depth = prefix.len();
        match tree {
            UseTree::Path(part) => {
                prefix.push(part.ident.to_string());
                self.import(prefix, &part.tree, is_exported);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.import(prefix, item, is_exported));
            }
            UseTree::Name(name) => {
                if name.ident != "self" {
                    prefix.push(name.ident.to_string());
                }
                self.leaf(prefix, prefix.last().cloned(), is_exported);
            }
            UseTree::Rename(name) => {
                prefix.push(name.ident.to_string());
                self.leaf(prefix, Some(name.rename.to_string()), is_exported);
            }
            UseTree::Glob(_) => self.leaf(prefix, Some("*".to_owned()), is_exported),
        }
        prefix.truncate(depth);
    }

    fn leaf(&mut self, path: &[String], name: Option<String>, is_exported: bool) {
        let Some(path) = self.absolute(path) else { return };
        match name.filter(|_| is_exported && self.at == self.file.path) {
            Some(name) => self.file.exports.push((name, path)),
            None => self.file.mentions.push(path),
        }
    }
}

/// Whether code is compiled for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        meta => meta.path().is_ident("test"),
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.at.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_exported = !matches!(item.vis, Visibility::Inherited);
        self.import(&mut Vec::new(), &item.tree, is_exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.mention(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _visibility: &'ast Visibility) {
        // `pub(in crate::render)` imports nothing.
    }
}
