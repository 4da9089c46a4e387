//! The typed instruction.

use tepui_intel_chips::Generation;

use crate::operand::{Dst, Src};
use crate::sfid::Sfid;
use crate::swsb::Swsb;
use crate::table::opcode::{Form, Opcode};

/// A conditional modifier. source: Mesa, `brw_eu_defines.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Condition {
    /// None.
    #[default]
    None = 0,
    /// Zero, equal.
    Zero = 1,
    /// Not zero, not equal.
    NotZero = 2,
    /// Greater.
    Greater = 3,
    /// Greater or equal.
    GreaterEqual = 4,
    /// Less.
    Less = 5,
    /// Less or equal.
    LessEqual = 6,
    /// The rounding increment of older generations.
    Round = 7,
    /// Overflow.
    Overflow = 8,
    /// Unordered: a NaN.
    Unordered = 9,
}

impl Condition {
    /// All conditions, with their names in assembly.
    pub const ALL: &[(Condition, &str)] = &[
        (Condition::None, ""),
        (Condition::Zero, ".z"),
        (Condition::NotZero, ".nz"),
        (Condition::Greater, ".g"),
        (Condition::GreaterEqual, ".ge"),
        (Condition::Less, ".l"),
        (Condition::LessEqual, ".le"),
        (Condition::Round, ".r"),
        (Condition::Overflow, ".o"),
        (Condition::Unordered, ".u"),
    ];

    /// The condition with a code.
    pub fn from_code(code: u8) -> Option<Condition> {
        Condition::ALL.get(usize::from(code)).map(|(condition, _)| *condition)
    }

    /// The suffix in assembly.
    pub fn suffix(self) -> &'static str {
        Condition::ALL[self as usize].1
    }
}

/// Names of predicate controls in Align1, by code. Code 0 is no predicate.
pub const PREDICATES: [&str; 14] = [
    "", "", ".anyv", ".allv", ".any2h", ".all2h", ".any4h", ".all4h", ".any8h", ".all8h",
    ".any16h", ".all16h", ".any32h", ".all32h",
];

/// Names of predicate controls in Align16, by code.
pub const PREDICATES_ALIGN16: [&str; 8] = ["", "", ".x", ".y", ".z", ".w", ".any4h", ".all4h"];

/// A predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Predicate {
    /// Combination of flags into channel enables: 0 no predicate, 1 the channel's own flag, above that an
    /// index of [`PREDICATES`] or [`PREDICATES_ALIGN16`].
    pub control: u8,
    /// Whether the combination is inverted.
    pub inverse: bool,
}

/// A flag register of 16 bits: `f0.0`, `f0.1`, `f1.0` or `f1.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flag {
    /// The register.
    pub register: u8,
    /// The half.
    pub half: u8,
}

/// A descriptor of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Desc {
    /// An immediate in the instruction.
    Immediate(u32),
    /// The double word of a0 that holds it (0 for the descriptor of a split send).
    Address(u8),
}

/// Parameters of `send` instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    /// The shared function.
    pub sfid: Sfid,
    /// Whether the thread ends.
    pub end_of_thread: bool,
    /// The descriptor of a split send, or the immediate one of `send`.
    pub desc: Desc,
    /// The extended descriptor of a split send.
    pub ex_desc: Desc,
}

impl Send {
    /// A message to the null function.
    pub const NULL: Send = Send {
        sfid: Sfid::Null,
        end_of_thread: false,
        desc: Desc::Immediate(0),
        ex_desc: Desc::Immediate(0),
    };
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The generation whose encoding it has.
    pub generation: Generation,
    /// The operation.
    pub opcode: Opcode,
    /// Channels: 1, 2, 4, 8, 16 or 32.
    pub exec_size: u8,
    /// Index of its first channel within the thread's 32: a multiple of 4.
    pub channel_offset: u8,
    /// Whether all channels execute, ignoring enables.
    pub no_mask: bool,
    /// Align16 access mode (Gen9).
    pub align16: bool,
    /// The predicate.
    pub predicate: Predicate,
    /// The conditional modifier.
    pub condition: Condition,
    /// Flag register of predicate and conditional modifier.
    pub flag: Flag,
    /// Whether the result is saturated.
    pub saturate: bool,
    /// Breakpoint.
    pub debug: bool,
    /// Writes the accumulator, too; in branches: branch control.
    pub acc_write: bool,
    /// Thread control: 1 atomic, 2 switch (Gen9); 1 atomic (Gen12).
    pub thread_control: u8,
    /// Whether the destination dependency is not cleared (Gen9).
    pub no_dd_clear: bool,
    /// Whether the destination dependency is not checked (Gen9).
    pub no_dd_check: bool,
    /// Scoreboard (Gen12).
    pub swsb: Swsb,
    /// Function of `math` ([`crate::MathFunction`]) or `sync` ([`crate::SyncFunction`]).
    pub function: u8,
    /// The destination.
    pub dst: Dst,
    /// The sources; missing ones are [`Src::NULL`].
    pub src: [Src; 3],
    /// Jump offset in bytes, from this instruction.
    pub jip: i32,
    /// Second jump offset.
    pub uip: i32,
    /// Parameters of messages.
    pub send: Send,
    /// Encoded in 64 bits.
    pub compacted: bool,
    /// Bits that no operand explains, as the difference to those that Mesa's assembler sets; 0 in compiled
    /// code. They include fields of operands that the instruction does not have.
    pub unusual: u128,
}

impl Inst {
    /// An instruction with null operands, for all 8 channels of the first quarter.
    pub fn new(generation: Generation, opcode: Opcode) -> Inst {
        let plain = matches!(opcode.form(generation), Form::None);
        Inst {
            generation,
            opcode,
            exec_size: if plain { 1 } else { 8 },
            channel_offset: 0,
            no_mask: false,
            align16: false,
            predicate: Predicate::default(),
            condition: Condition::None,
            flag: Flag::default(),
            saturate: false,
            debug: false,
            acc_write: false,
            thread_control: 0,
            no_dd_clear: false,
            no_dd_check: false,
            swsb: Swsb::NONE,
            function: 0,
            dst: Dst::NULL,
            src: [Src::NULL; 3],
            jip: 0,
            uip: 0,
            send: Send::NULL,
            compacted: false,
            unusual: 0,
        }
    }

    /// The form of its operands.
    pub fn form(&self) -> Form {
        self.opcode.form(self.generation)
    }

    /// Number of sources that are operands.
    pub fn sources(&self) -> usize {
        match self.form() {
            Form::Regular { sources, .. } => usize::from(sources),
            Form::Ternary => 3,
            Form::SplitSend => 2,
            Form::Send | Form::Jump => 1,
            Form::None | Form::Jip | Form::JipUip | Form::Call | Form::Wait => 0,
        }
    }

    /// Bytes of its encoding.
    pub fn bytes(&self) -> usize {
        if self.compacted { 8 } else { 16 }
    }

    /// Whether the flag register is part of the text: a predicate reads it or the condition writes it.
    pub fn uses_flag(&self) -> bool {
        self.predicate.control != 0
            || self.condition != Condition::None && !self.opcode.condition_without_flag()
    }

    /// Whether it has a conditional modifier field: messages, `math` and `sync` use the bits otherwise.
    pub fn has_condition(&self) -> bool {
        let other = self.opcode.is_send() || matches!(self.opcode, Opcode::Math | Opcode::Sync);
        // A 64-bit immediate overlaps the field.
        let covered = self.generation >= Generation::Gen12
            && self.src[0].immediate_bits().is_some()
            && self.src[0].ty.bytes() == 8;
        let branch = matches!(self.form(), Form::Jip | Form::JipUip | Form::Call)
            && self.generation >= Generation::Gen12;
        !other && !covered && !branch
    }
}
