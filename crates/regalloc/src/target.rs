//! The interface to a back end: the properties of its instructions.

use crate::class::RegClass;
use std::fmt::Debug;
use std::hash::Hash;

/// Effects that forbid removing, repeating or moving an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: the same sources give the same results.
    Pure,
    /// Reads memory that may change.
    Read,
    /// Depends on which lanes are active: may go when unused, but not move or merge.
    Group,
    /// Must stay where it is, once: writes memory or a fixed register, or takes part in something
    /// with other lanes.
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

/// Where a stack slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackOffset {
    /// So many bytes into the stack.
    Immediate(u32),
    /// The bytes are in a register, the last source of the access.
    Register,
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

    /// Whether the results come later and must be waited for.
    fn is_load(inst: &Self::Inst) -> bool;

    /// Whether an instruction without sources can be repeated anywhere for the price of one.
    fn rematerialises(inst: &Self::Inst) -> bool;

    /// The instruction that loads a value from a stack slot or stores it there.
    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Self::Inst;

    /// The instruction that writes an offset to a register of class [`Target::STACK_OFFSET`].
    fn stack_offset(offset: u32) -> Self::Inst;

    /// Assigns registers to operands without one, in the order of the table: `regs(written)` gives
    /// the next.
    fn assign(inst: &mut Self::Inst, regs: impl FnMut(bool) -> u16);
}
