//! Name tables: the functions that implement commands, by the names of these.

use vulkanalia_sys as vk;

use crate::registry;

/// A command of unknown type.
pub type Function = unsafe extern "system" fn();

/// Commands, sorted by name: tables of the same names have a command at the same position.
pub struct Table(Vec<(&'static str, Function)>);

impl Table {
    /// A table of commands.
    pub fn new(mut list: Vec<(&'static str, Function)>) -> Table {
        list.sort_unstable_by_key(|c| c.0);
        Table(list)
    }

    /// Commands with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, Function)> {
        self.0.iter().copied()
    }

    /// The position of the command of a name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.binary_search_by_key(&name, |c| c.0).ok()
    }

    /// The command at a position.
    pub(crate) fn at(&self, position: usize) -> Function {
        self.0[position].1
    }

    /// Finds a command, or the one that it is an alias of.
    pub fn get(&self, name: &str) -> vk::PFN_vkVoidFunction {
        let alias = || self.position(registry::find(name)?.of);
        self.position(name).or_else(alias).map(|k| self.at(k))
    }
}
