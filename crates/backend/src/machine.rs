//! The trait of a machine: what the shared back end asks about instructions, beyond what register allocation does
//! ([`tepui_regalloc::Target`]: effects, constraints, latencies, pipes, accesses of stack slots).

use crate::function::Function;
use std::fmt::Debug;
use tepui_ir::Type;
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::{Ins, Target};

/// An operand whose register is not allocated yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Units that the instruction reads or writes.
    pub units: u16,
    /// It is a result.
    pub written: bool,
    /// The value is exactly that large. A source may be a larger value of which the first units are read.
    pub exact: bool,
}

/// Treatment of an instruction by [`crate::group_loads`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// As any other instruction.
    None,
    /// A load, which moves up to the previous one while registers are plentiful.
    Load,
    /// A texture access: as a load, up to [`Machine::MAX_SAMPLE_PRESSURE`].
    Sample,
}

/// A machine, as the shared passes see it: a type without values, whose instructions are [`Target::Inst`].
pub trait Machine: Target + Clone + Debug {
    /// State that the machine keeps with a program, next to blocks and values.
    type State: Clone + Debug + Default;

    /// The place of a component that registers do not hold, and that instructions read where it is: a uniform register, a
    /// push constant.
    type Uniform: Copy + PartialEq + Debug;

    /// Units that are counted in addition to those of values: registers that values may not take, and losses by
    /// alignment.
    const RESERVED_UNITS: u32;

    /// Maximum scratch bytes of a thread.
    const MAX_SCRATCH: u32;

    /// Register pressure above which texture accesses are not moved together: a few in flight keep the texture unit busy.
    const MAX_SAMPLE_PRESSURE: u32;

    /// Whether blocks are also scheduled for the latencies of [`Target::latency`].
    const SCHEDULES_LATENCIES: bool = false;

    /// Parts that a component of a type takes, each of which is a [`crate::Comp`] of its own: the words of 64 bits on a machine
    /// that computes with words, for example.
    #[inline]
    fn parts(_ty: Type) -> usize {
        1
    }

    /// A part of a constant of a type.
    #[inline]
    fn constant(_ty: Type, bits: u64, _part: usize) -> u64 {
        bits
    }

    /// Calls `f` for each operand without a register, in the order of the instruction's operands.
    fn operands(inst: &Self::Inst, f: impl FnMut(Operand));

    /// Treatment of an instruction by [`crate::group_loads`].
    fn grouping(inst: &Self::Inst) -> Grouping;

    /// Whether common subexpressions of an instruction are shared.
    fn is_shared(state: &Self::State, f: &tepui_regalloc::Function<Self::Inst>, i: Ins) -> bool;

    /// Runs after dead code elimination, before scheduling: for what selection leaves to be done on whole blocks.
    fn after_clean_up(_f: &mut Function<Self>) {}

    /// The registers that a program may take: `pressure` units are live at once at most, `limit` is the number of units
    /// that it may use.
    fn registers(f: &Function<Self>, pressure: u32, limit: u16) -> Registers;

    /// Text of an instruction; `name(written)` gives the name of the next operand without a register, in the order of
    /// [`Machine::operands`].
    fn text(inst: &Self::Inst, name: impl FnMut(bool) -> String) -> String;

    /// The name of a register unit.
    fn unit_name(unit: u16) -> String;
}
