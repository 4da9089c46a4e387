//! The interface to a back end: the properties of its instructions.

use crate::class::{RegClass, RegSet};
use std::fmt::Debug;
use std::hash::Hash;

/// Effects that forbid removing, repeating or moving an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: the same sources give the same results.
    Pure,
    /// Reads memory that may change.
    Read,
    /// Convergent: the result depends on which lanes are active. May be removed when unused, but not
    /// moved or merged.
    Convergent,
    /// Must stay where it is, once: writes memory or a fixed register, or communicates with other
    /// lanes.
    Fixed,
}

/// An access of a value's stack slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackAccess {
    /// Loads the value.
    Load,
    /// Stores it.
    Store,
}

/// Offset of a stack slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackOffset {
    /// Offset in bytes.
    Immediate(u32),
    /// The last source of the access is a register with the offset in bytes.
    Register,
}

/// The registers that an operand may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// Any of its class.
    Any,
    /// The registers that begin at a unit, which need not be among those that values take.
    Fixed(u16),
    /// Of a result: those of the source with this index.
    Tied(usize),
}

/// The registers of a source that ends with its instruction which a result of it may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// Any: sources are read before results are written.
    Any,
    /// All of them or none, as in an instruction that runs in two halves.
    Exact,
    /// None: the result is written early.
    None,
}

/// A GPU's instructions, as the passes of this crate see them.
pub trait Target {
    /// An instruction, with [`crate::UNASSIGNED`] for each register that allocation chooses.
    type Inst: Clone + Copy + PartialEq + Debug + Hash;

    /// Largest value that [`Target::stack_access`] takes, in units.
    const MAX_SPILLED_UNITS: u8;
    /// Bytes of a unit in a stack slot.
    const UNIT_BYTES: u32;
    /// Alignment of stack slots in bytes.
    const SLOT_ALIGN: u32;
    /// Offsets below this are immediates of a stack access; others take a register.
    const STACK_IMMEDIATES: u32;
    /// The class of a register with an offset.
    const STACK_OFFSET: RegClass;

    /// The effect of an instruction.
    fn effect(inst: &Self::Inst) -> Effect;

    /// Whether the results arrive later and must be waited for.
    fn is_load(inst: &Self::Inst) -> bool;

    /// Whether an instruction without sources is cheap to rematerialise anywhere.
    fn rematerialises(inst: &Self::Inst) -> bool;

    /// The instruction that loads a value from a stack slot or stores it there.
    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Self::Inst;

    /// The instruction that writes an offset to a register of class [`Target::STACK_OFFSET`].
    fn stack_offset(offset: u32) -> Self::Inst;

    /// Whether instructions have constraints: else the methods from [`Target::source`] to
    /// [`Target::clobbers`] are not asked.
    const CONSTRAINED: bool = false;

    /// Whether the target exchanges registers ([`crate::Step::Swap`]), with an instruction or several. Else
    /// copies in circles go through free units.
    const SWAPS: bool = true;

    /// Whether an exchange takes several instructions: copies in circles then go through free units where there are some.
    const SWAPS_BY_SEVERAL: bool = false;

    /// Whether values of one unit avoid registers in which later values of the block save a copy, as larger ones always do.
    const SINGLES_KEEP_PREFERENCES: bool = false;

    /// Units that one instruction moves between these places, at most `units` and at least 1.
    fn move_units(to: u16, from: u16, units: u16) -> u16;

    /// The registers that a source may have.
    fn source(_inst: &Self::Inst, _source: usize) -> Constraint {
        Constraint::Any
    }

    /// The registers that a result may have.
    fn result(_inst: &Self::Inst, _result: usize) -> Constraint {
        Constraint::Any
    }

    /// The registers of a source that a result may take.
    fn overlap(_inst: &Self::Inst, _result: usize, _source: usize) -> Overlap {
        Overlap::Any
    }

    /// Registers whose contents are lost when the instruction has read its sources.
    fn clobbers(_inst: &Self::Inst) -> RegSet {
        RegSet::EMPTY
    }

    /// Cycles from the issue of an instruction until its results can be read.
    fn latency(_inst: &Self::Inst) -> u32 {
        1
    }

    /// The pipe that executes an instruction and the cycles for which it takes no other.
    fn pipe(_inst: &Self::Inst) -> (u8, u32) {
        (0, 1)
    }

    /// The memories that an instruction accesses, as bits: those that have none in common keep no order.
    fn memories(_inst: &Self::Inst) -> u8 {
        1
    }

    /// Assigns registers to operands without one, in the order of the table: `regs(written)` gives
    /// the next.
    fn assign(inst: &mut Self::Inst, regs: impl FnMut(bool) -> u16);
}
