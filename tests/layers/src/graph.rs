//! Imports between files, and the strongly connected components of them.

use std::collections::BTreeMap;

use crate::source::File;

/// The files that a file imports, each with a name that it imports.
pub type Edges = Vec<BTreeMap<usize, String>>;

/// Number of re-exports that a path is followed through.
const MAX_EXPORTS: usize = 6;

/// The imports between the files, by their indices. What a module imports of those inside of it does not count: they are its
/// parts, and it is how others reach them.
pub fn edges(files: &[File]) -> Edges {
    let index: BTreeMap<&[String], usize> =
        files.iter().enumerate().map(|(k, file)| (&file.path[..], k)).collect();
    let resolve = |path: &[String]| {
        let mut path = path.to_vec();
        for _ in 0..MAX_EXPORTS {
            let module =
                (0..=path.len()).rev().find_map(|n| index.get(&path[..n]).map(|&k| (k, n)));
            let (module, depth) = module?;
            let Some(item) = path.get(depth) else { return Some((module, String::new())) };
            let exports = &files[module].exports;
            match exports.iter().find(|(name, _)| name == item) {
                Some((_, target)) => {
                    path = target.iter().chain(&path[depth + 1..]).cloned().collect();
                }
                None => return Some((module, item.clone())),
            }
        }
        None
    };
    files
        .iter()
        .map(|file| {
            let found = file.mentions.iter().filter_map(|path| resolve(path));
            found.filter(|&(module, _)| !files[module].path.starts_with(&file.path)).collect()
        })
        .collect()
}

/// The strongly connected components of more than one file, each sorted. (Tarjan's algorithm.)
pub fn components(edges: &Edges) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        number: vec![None; edges.len()],
        low: vec![0; edges.len()],
        is_open: vec![false; edges.len()],
        open: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    (0..edges.len()).for_each(|node| search.visit(node));
    search.found
}

struct Search<'a> {
    edges: &'a Edges,
    /// Order in which nodes were reached.
    number: Vec<Option<usize>>,
    /// The earliest open node that is reached from a node.
    low: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        if self.number[node].is_some() {
            return;
        }
        let number = self.count;
        self.count += 1;
        self.number[node] = Some(number);
        self.low[node] = number;
        self.open.push(node);
        self.is_open[node] = true;
        for &next in self.edges[node].keys() {
            match self.number[next] {
                None => {
                    self.visit(next);
                    self.low[node] = self.low[node].min(self.low[next]);
                }
                Some(reached) if self.is_open[next] => {
                    self.low[node] = self.low[node].min(reached);
                }
                Some(_) => {}
            }
        }
        if self.low[node] == number {
            let start = self.open.iter().rposition(|&n| n == node).unwrap_or(0);
            let mut component = self.open.split_off(start);
            component.iter().for_each(|&n| self.is_open[n] = false);
            component.sort_unstable();
            if component.len() > 1 {
                self.found.push(component);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_circles() {
        let to = |nodes: &[usize]| nodes.iter().map(|&n| (n, String::new())).collect();
        // 0 → 1 → 2 → 0, 2 → 3 ⇄ 4, 5 alone.
        let edges = vec![to(&[1]), to(&[2]), to(&[0, 3]), to(&[4]), to(&[3]), to(&[0])];
        assert_eq!(components(&edges), [vec![3, 4], vec![0, 1, 2]]);
    }

    #[test]
    fn paths_go_through_exports() {
        let path = |text: &str| -> Vec<String> {
            text.split("::").filter(|p| !p.is_empty()).map(str::to_owned).collect()
        };
        let file = |at: &str, mentions: &[&str], exports: &[(&str, &str)]| File {
            path: path(at),
            mentions: mentions.iter().map(|m| path(m)).collect(),
            exports: exports.iter().map(|(n, p)| ((*n).to_owned(), path(p))).collect(),
        };
        let files = [
            file("", &[], &[("Tile", "render::Tile")]),
            file("render", &["render::tile::Tile"], &[("Tile", "render::tile::Tile")]),
            file("render::tile", &["Tile"], &[]),
            file("shader", &["Tile::new"], &[]),
        ];
        let edges = edges(&files);
        assert_eq!(edges[3], BTreeMap::from([(2, "Tile".to_owned())]));
        assert!(edges[2].is_empty());
    }
}
