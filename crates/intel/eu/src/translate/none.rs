//! Stub for hosts without a translator.

use std::marker::PhantomData;

use crate::lane::FloatMode;
use crate::op::Op;
use crate::state::Thread;
use crate::unit::MessageUnit;

/// A program's translation, which does not exist on this host.
#[derive(Debug)]
pub enum Translated {}

/// A block of a translation.
#[derive(Clone, Copy)]
pub struct Block {
    /// Number of operations.
    pub length: u32,
}

/// The units that receive messages from translated code.
pub struct Units<'u>(PhantomData<&'u mut ()>);

impl<'u> Units<'u> {
    /// Takes no reference, since no code uses it.
    pub fn new<U: MessageUnit + ?Sized>(_: &'u mut &mut U) -> Units<'u> {
        Units(PhantomData)
    }
}

/// The continuation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// At an operation, immediately.
    #[expect(dead_code, reason = "code on this host does not run")]
    Now(u32),
    /// At an operation, after it has stopped.
    #[expect(dead_code, reason = "code on this host does not run")]
    AfterStop(u32),
}

impl Translated {
    /// The block that begins at an operation.
    pub fn block(&self, _: u32) -> Option<Block> {
        match *self {}
    }

    /// Whether code can run a thread with these channels.
    pub fn suits(&self, _: u32) -> bool {
        match *self {}
    }

    /// Runs a thread from a block on.
    ///
    /// # Errors
    /// None.
    pub fn run(
        &self,
        _: &mut Thread,
        _: &[Op],
        _: Block,
        _: &Units<'_>,
    ) -> Result<Continuation, usize> {
        match *self {}
    }
}

/// Translates operations: not on this host.
pub fn translate(_: &[Op], _: FloatMode) -> Option<Translated> {
    None
}
