//! Stub for hosts without a translator.

use crate::shader::op::{Lanes, Op};
use crate::warp::row::Row;
use crate::warp::trap::RaisedTrap;

/// A program's translation, which does not exist on this host.
pub enum Translated {}

/// A block of a translation.
pub enum Block {}

impl Translated {
    /// The block that begins at an operation.
    pub fn block(&self, _: u32) -> Option<Block> {
        match *self {}
    }

    /// Runs a warp from a block on.
    ///
    /// # Errors
    /// None.
    pub fn run(
        &self,
        _: &[Op],
        _: &mut Lanes<'_, '_>,
        _: Block,
        _: &mut u64,
    ) -> Result<(), RaisedTrap> {
        match *self {}
    }
}

/// Translates a program: not on this host.
pub fn translate(_: &[Op], _: &[Row]) -> Option<Translated> {
    None
}
