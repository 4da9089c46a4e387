//! The modules of a crate, what they import of each other, and lengths of files and functions, read from the source.
//!
//! A module is a file; modules inside of a file belong to it. Paths that begin with `crate`, `super` or `self`, or with the
//! name of a child, are followed through re-exports to the file that they name. Not counted are code of tests, arguments of
//! macros, which are no Rust until they are expanded, and what a module imports of those inside of it.

mod graph;
mod size;
mod source;

use std::path::{Path, PathBuf};

pub use size::{Sizes, sizes};

/// Reason why a crate's modules are not known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder that cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// A file that is no Rust.
    #[error("{}:{line}: {error}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        error: syn::Error,
    },
}

impl Error {
    fn parse(path: &Path, error: syn::Error) -> Error {
        Error::Parse { path: path.to_owned(), line: error.span().start().line, error }
    }
}

/// Modules that import each other directly or through others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// Paths of the modules in the crate, `render::tile`, sorted; empty for the root.
    pub modules: Vec<String>,
    /// Imports among them: the importing module, the imported one, and a name that it imports.
    pub imports: Vec<[String; 3]>,
}

/// The circles of modules of a crate, the largest first. `sources` is its folder `src`.
///
/// # Errors
/// A file cannot be read or parsed.
pub fn circles(sources: &Path) -> Result<Vec<Circle>, Error> {
    let files = source::read(sources)?;
    let edges = graph::edges(&files);
    let mut circles: Vec<Circle> = graph::components(&edges)
        .into_iter()
        .map(|modules| {
            let name = |module: usize| files[module].path.join("::");
            let imports = modules.iter().flat_map(|&from| {
                let inner = edges[from].iter().filter(|(to, _)| modules.contains(to));
                inner.map(move |(&to, item)| [name(from), name(to), item.clone()])
            });
            let imports = imports.collect();
            Circle { modules: modules.iter().map(|&m| name(m)).collect(), imports }
        })
        .collect();
    circles.sort_by_key(|c| std::cmp::Reverse(c.modules.len()));
    Ok(circles)
}
