//! Machine IR of a program: [`tepui_regalloc`]'s function and what the machine keeps with it.

use crate::machine::Machine;
use crate::values::ValueLocations;
use std::ops::{Deref, DerefMut};

/// A program.
#[derive(Clone, Debug)]
pub struct Function<M: Machine> {
    /// Blocks, instructions and values.
    pub body: tepui_regalloc::Function<M::Inst>,
    /// State that the machine keeps with a program.
    pub state: M::State,
    /// Machine values of the IR's values, if requested.
    pub value_locations: Option<Box<ValueLocations>>,
}

impl<M: Machine> Default for Function<M> {
    fn default() -> Function<M> {
        Function {
            body: tepui_regalloc::Function::default(),
            state: M::State::default(),
            value_locations: None,
        }
    }
}

impl<M: Machine> Deref for Function<M> {
    type Target = tepui_regalloc::Function<M::Inst>;

    fn deref(&self) -> &Self::Target {
        &self.body
    }
}

impl<M: Machine> DerefMut for Function<M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.body
    }
}
