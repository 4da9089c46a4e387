//! Data types of operands.
//!
//! source: Mesa, `src/intel/compiler/brw_reg_type.h`, `brw_reg_type.c`.

use std::fmt;

use tepui_intel_chips::Generation;

macro_rules! types {
    ($($(#[$attribute:meta])* $name:ident $text:literal $bytes:literal $kind:ident
        reg $reg9:tt imm $imm9:tt, gen12 $gen12:tt, ternary9 $t9:tt, $doc:literal;)*) => {
        /// A data type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub enum Type {
            $(
                #[doc = $doc]
                $(#[$attribute])*
                $name,
            )*
        }

        impl Type {
            /// All types.
            pub const ALL: &[Type] = &[$(Type::$name,)*];

            /// The letters in assembly.
            pub const fn letters(self) -> &'static str {
                match self { $(Type::$name => $text,)* }
            }

            /// Bytes of an element; for a vector immediate, of the elements that it expands to.
            pub const fn bytes(self) -> usize {
                match self { $(Type::$name => $bytes,)* }
            }

            /// The kind of its elements.
            pub const fn kind(self) -> TypeKind {
                match self { $(Type::$name => TypeKind::$kind,)* }
            }

            const fn row(self) -> (Option<u8>, Option<u8>, u8, Option<u8>) {
                match self { $(Type::$name => (types!(@ $reg9), types!(@ $imm9), $gen12, types!(@ $t9)),)* }
            }
        }
    };
    (@ -) => { None };
    (@ $code:literal) => { Some($code) };
}

/// The kind of a type's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Unsigned integers.
    Unsigned,
    /// Signed integers in two's complement.
    Signed,
    /// Floating-point numbers.
    Float,
}

types! {
    UB "UB" 1 Unsigned reg 4  imm -,  gen12 0,  ternary9 -, "8-bit unsigned integer.";
    B  "B"  1 Signed   reg 5  imm -,  gen12 4,  ternary9 -, "8-bit signed integer.";
    UW "UW" 2 Unsigned reg 2  imm 2,  gen12 1,  ternary9 -, "16-bit unsigned integer.";
    W  "W"  2 Signed   reg 3  imm 3,  gen12 5,  ternary9 -, "16-bit signed integer.";
    #[default]
    UD "UD" 4 Unsigned reg 0  imm 0,  gen12 2,  ternary9 2, "32-bit unsigned integer.";
    D  "D"  4 Signed   reg 1  imm 1,  gen12 6,  ternary9 1, "32-bit signed integer.";
    UQ "UQ" 8 Unsigned reg 8  imm 8,  gen12 3,  ternary9 -, "64-bit unsigned integer.";
    Q  "Q"  8 Signed   reg 9  imm 9,  gen12 7,  ternary9 -, "64-bit signed integer.";
    HF "HF" 2 Float    reg 10 imm 11, gen12 9,  ternary9 4, "16-bit floating-point number.";
    F  "F"  4 Float    reg 7  imm 7,  gen12 10, ternary9 0, "32-bit floating-point number.";
    DF "DF" 8 Float    reg 6  imm 10, gen12 11, ternary9 3, "64-bit floating-point number.";
    UV "UV" 2 Unsigned reg -  imm 4,  gen12 0,  ternary9 -, "Immediate of eight unsigned 4-bit integers.";
    V  "V"  2 Signed   reg -  imm 6,  gen12 4,  ternary9 -, "Immediate of eight signed 4-bit integers.";
    VF "VF" 4 Float    reg -  imm 5,  gen12 8,  ternary9 -, "Immediate of four 8-bit floating-point numbers.";
}

/// The position of a type in the encoding, which determines the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypePosition {
    /// A register operand with one or two sources.
    Register,
    /// An immediate operand.
    Immediate,
    /// An operand of an instruction with three sources; on Gen12 the execution type determines the kind.
    Ternary {
        /// Whether the execution type is floating point.
        float: bool,
    },
}

impl Type {
    /// Whether it is a vector immediate: its 32 bits hold several numbers.
    pub const fn is_vector(self) -> bool {
        matches!(self, Type::UV | Type::V | Type::VF)
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Float)
    }

    /// Whether it is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), TypeKind::Signed)
    }

    /// Bytes of an immediate of this type.
    pub const fn immediate_bytes(self) -> usize {
        if self.is_vector() { 4 } else { self.bytes() }
    }

    /// The code at a position of the encoding; `None` if the type is not allowed there.
    pub fn code(self, generation: Generation, position: TypePosition) -> Option<u8> {
        let (register, immediate, gen12, ternary) = self.row();
        match (generation, position) {
            (Generation::Gen9, TypePosition::Register) => register,
            (Generation::Gen9, TypePosition::Immediate) => immediate,
            (Generation::Gen9, TypePosition::Ternary { .. }) => ternary,
            // A byte cannot be an immediate: those codes belong to vectors.
            (Generation::Gen12, TypePosition::Immediate) if self.bytes() == 1 => None,
            (Generation::Gen12, TypePosition::Immediate) => Some(gen12),
            (Generation::Gen12, TypePosition::Register) if !self.is_vector() => Some(gen12),
            (Generation::Gen12, TypePosition::Ternary { float })
                if !self.is_vector() && self.is_float() == float =>
            {
                Some(gen12 & 7)
            }
            _ => None,
        }
    }

    /// The type with a code.
    pub fn from_code(generation: Generation, position: TypePosition, code: u8) -> Option<Type> {
        Type::ALL.iter().copied().find(|t| t.code(generation, position) == Some(code))
    }

    /// The type with these letters.
    pub fn from_letters(letters: &str) -> Option<Type> {
        Type::ALL.iter().copied().find(|t| t.letters() == letters)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letters())
    }
}
