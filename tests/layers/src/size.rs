//! Lengths of files and functions.

use std::path::Path;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Error;

/// The length of a file, and its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Lines of the file.
    pub lines: usize,
    /// Functions and methods, those of tests included: names and lines.
    pub functions: Vec<(String, usize)>,
}

/// Reads the lengths of a file.
///
/// # Errors
/// The file cannot be read or parsed.
pub fn sizes(file: &Path) -> Result<Sizes, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Read { path: file.to_owned(), error })?;
    let tree = syn::parse_file(&text).map_err(|error| Error::parse(file, error))?;
    let mut functions = Functions::default();
    functions.visit_file(&tree);
    Ok(Sizes { lines: text.lines().count(), functions: functions.0 })
}

#[derive(Default)]
struct Functions(Vec<(String, usize)>);

impl Functions {
    fn add(&mut self, name: &syn::Ident, span: Span) {
        self.0.push((name.to_string(), span.end().line - span.start().line + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig.ident, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig.ident, body.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}
