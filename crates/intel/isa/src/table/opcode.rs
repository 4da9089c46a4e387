//! The table of opcodes.
//!
//! source: Mesa, `src/intel/compiler/brw_eu.c` (`opcode_descs`); meanings: Intel's "Ivy Bridge
//! PRM", volume 4 part 3.

use std::fmt;

use tepui_intel_chips::Generation;

/// The form of an instruction's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// None.
    None,
    /// A destination, if `dst`, and one or two sources.
    Regular {
        /// It writes a register.
        dst: bool,
        /// Number of sources.
        sources: u8,
    },
    /// A destination and three sources.
    Ternary,
    /// One jump offset, JIP.
    Jip,
    /// Two jump offsets, JIP and UIP.
    JipUip,
    /// A destination for the return address, and JIP.
    Call,
    /// One source added to the instruction pointer.
    Jump,
    /// The notification register.
    Wait,
    /// One payload and a descriptor.
    Send,
    /// Two payloads, a descriptor and an extended descriptor.
    SplitSend,
}

macro_rules! opcodes {
    ($($name:ident $text:literal [$gen9:tt $gen12:tt] $form:ident $(($dst:literal $sources:literal))? $doc:literal;)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Opcode {
            $(#[doc = $doc] $name,)*
        }

        impl Opcode {
            /// All operations, by code.
            pub const ALL: &[Opcode] = &[$(Opcode::$name,)*];

            /// The mnemonic.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Opcode::$name => $text,)* }
            }

            /// The code on a generation; `None` if it does not exist.
            pub const fn code(self, generation: Generation) -> Option<u8> {
                match generation {
                    Generation::Gen9 => match self { $(Opcode::$name => opcodes!(@ $gen9),)* },
                    Generation::Gen12 => match self { $(Opcode::$name => opcodes!(@ $gen12),)* },
                }
            }

            /// Its summary, in one line.
            pub const fn summary(self) -> &'static str {
                match self { $(Opcode::$name => $doc,)* }
            }

            const fn gen9_form(self) -> Form {
                match self { $(Opcode::$name => opcodes!(# $form $($dst $sources)?),)* }
            }
        }
    };
    (@ -) => { None };
    (@ $code:literal) => { Some($code) };
    (# Regular $dst:literal $sources:literal) => { Form::Regular { dst: $dst == 1, sources: $sources } };
    (# $form:ident) => { Form::$form };
}

opcodes! {
    // Name  text     [Gen9 Gen12] operands (destinations, sources)
    Illegal "illegal" [0 0]     None "Raises an illegal-instruction exception.";
    Sync   "sync"     [- 1]     Regular(0 1) "Waits for a scoreboard condition or a barrier.";
    Mov    "mov"      [1 97]    Regular(1 1) "Copies and converts.";
    Sel    "sel"      [2 98]    Regular(1 2) "Selects by predicate, or the minimum (.l) or maximum (.ge).";
    Movi   "movi"     [3 99]    Regular(1 2) "Copies bytes of a register by indices.";
    Not    "not"      [4 100]   Regular(1 1) "Inverts all bits.";
    And    "and"      [5 101]   Regular(1 2) "Bitwise and.";
    Or     "or"       [6 102]   Regular(1 2) "Bitwise or.";
    Xor    "xor"      [7 103]   Regular(1 2) "Bitwise exclusive or.";
    Shr    "shr"      [8 104]   Regular(1 2) "Shifts right and fills with zeros.";
    Shl    "shl"      [9 105]   Regular(1 2) "Shifts left.";
    Smov   "smov"     [10 106]  Regular(1 2) "Copies elements selected by a bit mask.";
    Asr    "asr"      [12 108]  Regular(1 2) "Shifts right and fills with the sign.";
    Ror    "ror"      [- 110]   Regular(1 2) "Rotates right.";
    Rol    "rol"      [- 111]   Regular(1 2) "Rotates left.";
    Cmp    "cmp"      [16 112]  Regular(1 2) "Compares, and sets flags and the destination.";
    Cmpn   "cmpn"     [17 113]  Regular(1 2) "Compares as cmp, with a NaN as the greater or smaller one that makes min and max.";
    Csel   "csel"     [18 114]  Ternary "Selects src0 or src1 by comparing src2 with zero.";
    Bfrev  "bfrev"    [23 119]  Regular(1 1) "Reverses the bits.";
    Bfe    "bfe"      [24 120]  Ternary "Extracts src0 bits at src1 of src2.";
    Bfi1   "bfi1"     [25 121]  Regular(1 2) "Makes a mask of src0 bits at src1.";
    Bfi2   "bfi2"     [26 122]  Ternary "Inserts src1 into src2 where the mask src0 is set.";
    Jmpi   "jmpi"     [32 32]   Jump "Adds an offset to the instruction pointer.";
    Brd    "brd"      [33 33]   Jip "Branches channels that the predicate selects.";
    If     "if"       [34 34]   JipUip "Begins a conditional block.";
    Brc    "brc"      [35 35]   JipUip "Branches channels, those that do not converge to UIP.";
    Else   "else"     [36 36]   JipUip "Begins the other block of an if.";
    Endif  "endif"    [37 37]   Jip "Ends a conditional block.";
    While  "while"    [39 39]   Jip "Jumps back to the loop's start.";
    Break  "break"    [40 40]   JipUip "Leaves the loop.";
    Cont   "cont"     [41 41]   JipUip "Goes to the loop's end.";
    Halt   "halt"     [42 42]   JipUip "Suspends channels until UIP.";
    Calla  "calla"    [43 43]   Call "Calls a subroutine at an absolute address.";
    Call   "call"     [44 44]   Call "Calls a subroutine.";
    Ret    "ret"      [45 45]   Regular(0 1) "Returns from a subroutine.";
    Goto   "goto"     [46 46]   JipUip "Branches channels of unstructured programs.";
    Wait   "wait"     [48 -]    Wait "Waits for a notification.";
    Send   "send"     [49 49]   Send "Sends a message.";
    Sendc  "sendc"    [50 50]   Send "Sends a message when earlier threads of the same pixels have ended.";
    Sends  "sends"    [51 -]    SplitSend "Sends a message of two payloads.";
    Sendsc "sendsc"   [52 -]    SplitSend "As sends, when earlier threads of the same pixels have ended.";
    Math   "math"     [56 56]   Regular(1 2) "A mathematical function.";
    Add    "add"      [64 64]   Regular(1 2) "Adds.";
    Mul    "mul"      [65 65]   Regular(1 2) "Multiplies.";
    Avg    "avg"      [66 66]   Regular(1 2) "Average of integers, rounded up.";
    Frc    "frc"      [67 67]   Regular(1 1) "The fraction: src0 minus its floor.";
    Rndu   "rndu"     [68 68]   Regular(1 1) "Rounds up.";
    Rndd   "rndd"     [69 69]   Regular(1 1) "Rounds down.";
    Rnde   "rnde"     [70 70]   Regular(1 1) "Rounds to nearest, ties to even.";
    Rndz   "rndz"     [71 71]   Regular(1 1) "Rounds toward zero.";
    Mac    "mac"      [72 72]   Regular(1 2) "Multiplies and adds the accumulator.";
    Mach   "mach"     [73 73]   Regular(1 2) "A half of a product begun by mul to the accumulator: the high one if the accumulator is written.";
    Lzd    "lzd"      [74 74]   Regular(1 1) "Counts leading zeros.";
    Fbh    "fbh"      [75 75]   Regular(1 1) "The first bit that differs from the sign, from the high side.";
    Fbl    "fbl"      [76 76]   Regular(1 1) "The first set bit from the low side.";
    Cbit   "cbit"     [77 77]   Regular(1 1) "Counts set bits.";
    Addc   "addc"     [78 78]   Regular(1 2) "Adds; the accumulator receives the carry.";
    Subb   "subb"     [79 79]   Regular(1 2) "Subtracts; the accumulator receives the borrow.";
    Dp4    "dp4"      [84 -]    Regular(1 2) "Dot product of four components.";
    Dph    "dph"      [85 -]    Regular(1 2) "Dot product of three components plus src1's fourth.";
    Dp3    "dp3"      [86 -]    Regular(1 2) "Dot product of three components.";
    Dp2    "dp2"      [87 -]    Regular(1 2) "Dot product of two components.";
    Dp4a   "dp4a"     [- 88]    Ternary "Adds the dot product of four bytes.";
    Line   "line"     [89 -]    Regular(1 2) "Line equation: p times src1 plus q.";
    Pln    "pln"      [90 -]    Regular(1 2) "Plane equation: p times u plus q times v plus r.";
    Mad    "mad"      [91 91]   Ternary "Adds src0 to the product of src1 and src2.";
    Lrp    "lrp"      [92 -]    Ternary "Interpolates between src2 and src1 by src0.";
    Madm   "madm"     [93 93]   Ternary "Multiplies and adds with the accumulators' extra bits of a mantissa.";
    Nop    "nop"      [126 96]  None "Does nothing.";
}

impl Opcode {
    /// The operation with a code.
    pub fn from_code(generation: Generation, code: u8) -> Option<Opcode> {
        Opcode::ALL.iter().copied().find(|op| op.code(generation) == Some(code))
    }

    /// The operation with a mnemonic.
    pub fn from_mnemonic(generation: Generation, mnemonic: &str) -> Option<Opcode> {
        let all = Opcode::ALL.iter().copied();
        all.filter(|op| op.code(generation).is_some()).find(|op| op.mnemonic() == mnemonic)
    }

    /// Its operands. From Gen12 on, every send has two payloads.
    pub const fn form(self, generation: Generation) -> Form {
        match (self.gen9_form(), generation) {
            (Form::Send, Generation::Gen12) => Form::SplitSend,
            (form, _) => form,
        }
    }

    /// Whether it sends a message.
    pub const fn is_send(self) -> bool {
        matches!(self, Opcode::Send | Opcode::Sendc | Opcode::Sends | Opcode::Sendsc)
    }

    /// Whether it is a bitwise operation, in which a negated source is an inverted one.
    pub const fn is_logic(self) -> bool {
        matches!(self, Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not)
    }

    /// Whether the accumulator bit is a branch control bit.
    pub const fn has_branch_control(self) -> bool {
        matches!(
            self,
            Opcode::If
                | Opcode::Else
                | Opcode::Goto
                | Opcode::Break
                | Opcode::Call
                | Opcode::Calla
                | Opcode::Cont
                | Opcode::Endif
                | Opcode::Halt
                | Opcode::Jmpi
                | Opcode::Ret
                | Opcode::While
                | Opcode::Brc
                | Opcode::Brd
        )
    }

    /// Whether the conditional modifier does not write a flag register.
    pub const fn condition_without_flag(self) -> bool {
        matches!(self, Opcode::Sel | Opcode::Csel | Opcode::If | Opcode::While)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

macro_rules! functions {
    ($(#[$outer:meta])* $enum:ident: $($name:ident = $code:literal $text:literal $doc:literal;)*) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $enum {
            $(#[doc = $doc] $name = $code,)*
        }

        impl $enum {
            /// All values.
            pub const ALL: &[$enum] = &[$($enum::$name,)*];

            /// The value with a code.
            pub const fn from_code(code: u8) -> Option<$enum> {
                match code {
                    $($code => Some($enum::$name),)*
                    _ => None,
                }
            }

            /// The name in assembly.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$name => $text,)* }
            }
        }
    };
}
pub(crate) use functions;

functions! {
    /// A function of `math`. source: Mesa, `brw_eu_defines.h`.
    MathFunction:
    Inv = 1 "inv" "Reciprocal.";
    Log = 2 "log" "Logarithm to the base 2.";
    Exp = 3 "exp" "Power of 2.";
    Sqrt = 4 "sqrt" "Square root.";
    Rsq = 5 "rsq" "Reciprocal of the square root.";
    Sin = 6 "sin" "Sine.";
    Cos = 7 "cos" "Cosine.";
    Fdiv = 9 "fdiv" "Quotient of floating-point numbers.";
    Pow = 10 "pow" "src0 to the power of src1.";
    IntDivMod = 11 "intdivmod" "Quotient, and the remainder in the next register.";
    IntDiv = 12 "intdiv" "Quotient of integers.";
    IntMod = 13 "intmod" "Remainder of integers.";
    Invm = 14 "invm" "First step of a division that rounds as IEEE 754 says.";
    Rsqrtm = 15 "rsqrtm" "First step of a square root that rounds as IEEE 754 says.";
}

functions! {
    /// A function of `sync`. source: Mesa, `brw_eu_defines.h`.
    SyncFunction:
    Nop = 0 "nop" "Waits for what the scoreboard field says.";
    AllRd = 2 "allrd" "Waits until messages have read their payloads.";
    AllWr = 3 "allwr" "Waits until messages have written their responses.";
    Fence = 13 "fence" "Waits for a fence.";
    Bar = 14 "bar" "Waits for a barrier.";
    Host = 15 "host" "Waits for the host.";
}
