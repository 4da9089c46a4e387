//! Decorations, indexed by their targets.

use crate::ids::Id;
use rspirv::spirv::Decoration;

/// A decoration with its first literal operand, 0 when it has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decor {
    pub kind: Decoration,
    pub arg: u32,
}

/// The target of a decoration: an id, or a member of a structure.
pub(crate) type Target = (Id, Option<u32>);

/// All decorations of a module, in the order of their targets.
#[derive(Default)]
pub(crate) struct Decors(Vec<(Target, Decor)>);

impl Decors {
    /// Adds a decoration; [`Decors::sort`] must follow before anything is looked up.
    pub fn push(&mut self, target: Target, decor: Decor) {
        self.0.push((target, decor));
    }

    /// Brings the decorations in order; those of one target stay in theirs.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|d| d.0);
    }

    /// Decorates each target with what its group has.
    pub fn spread(&mut self, groups: &[(Id, Target)]) {
        if groups.is_empty() {
            return;
        }
        self.sort();
        let more: Vec<_> = groups
            .iter()
            .flat_map(|&(group, to)| self.of((group, None)).map(move |&d| (to, d)))
            .collect();
        self.0.extend(more);
    }

    /// The decorations of a target.
    pub fn of(&self, target: Target) -> impl Iterator<Item = &Decor> + Clone {
        let from = self.0.partition_point(|d| d.0 < target);
        self.0[from..].iter().take_while(move |d| d.0 == target).map(|d| &d.1)
    }

    /// The operand of a decoration of a target.
    pub fn arg(&self, target: Target, kind: Decoration) -> Option<u32> {
        self.of(target).find(|d| d.kind == kind).map(|d| d.arg)
    }

    /// The ids that have a decoration with this operand.
    pub fn ids_with(&self, kind: Decoration, arg: u32) -> impl Iterator<Item = Id> {
        self.0
            .iter()
            .filter(move |(t, d)| t.1.is_none() && d.kind == kind && d.arg == arg)
            .map(|(t, _)| t.0)
    }
}
