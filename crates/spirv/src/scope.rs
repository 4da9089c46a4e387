//! Scopes: places that control may be sent to while blocks become nested regions ([`crate::control`]).

use crate::ids::Id;
use tepui_ir::{Region, Var};

/// Target of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Block(Id),
    /// The end of the call at this depth.
    Return(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScopeKind {
    /// Reached by falling off the end of the region.
    Merge,
    /// Exit of an IR loop.
    Break,
    /// Next iteration of an IR loop; reached by falling off the end of the body.
    Next,
}

/// A place that control may be sent to.
pub(crate) struct Scope {
    pub target: Target,
    pub kind: ScopeKind,
    pub flag: Option<Var>,
    pub reached: bool,
    /// Outer scopes that jumps out of this one are on their way to.
    pub pending: Vec<usize>,
    /// Position at which the flag is cleared.
    pub start: (Region, usize),
}

/// The branches that leave a scope.
pub(crate) struct ScopeExit {
    pub pending: Vec<usize>,
    pub reached: bool,
}
