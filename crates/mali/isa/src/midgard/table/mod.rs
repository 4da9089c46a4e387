//! The table of Midgard's instructions.

pub mod alu;
pub mod memory;

use super::names::UNITS;
pub use alu::{ALU, Alu, SourceType};
pub use memory::{Access, MEMORY, Memory};

/// Units that execute an instruction, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units(pub u8);

/// A unit of arithmetic, in the order of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// The vector multiplier, in the first stage.
    Vmul,
    /// The scalar adder, in the first stage.
    Sadd,
    /// The vector adder, in the second stage.
    Vadd,
    /// The scalar multiplier, in the second stage.
    Smul,
    /// The lookup-table unit, in the second stage.
    Lut,
}

impl Unit {
    /// All units, in the order of a bundle.
    pub const ALL: [Unit; 5] = [Unit::Vmul, Unit::Sadd, Unit::Vadd, Unit::Smul, Unit::Lut];

    /// Mesa's name.
    pub fn name(self) -> &'static str {
        UNITS[self as usize]
    }

    /// Whether it is a scalar unit.
    pub fn is_scalar(self) -> bool {
        matches!(self, Unit::Sadd | Unit::Smul)
    }
}

impl Units {
    /// Whether a unit is one of them.
    pub fn has(self, unit: Unit) -> bool {
        self.0 >> unit as u8 & 1 != 0
    }

    /// The vector multiplier.
    pub const VMUL: u8 = 1;
    /// The scalar adder.
    pub const SADD: u8 = 2;
    /// The vector adder.
    pub const VADD: u8 = 4;
    /// The scalar multiplier.
    pub const SMUL: u8 = 8;
    /// The lookup-table unit.
    pub const LUT: u8 = 16;
}

/// An arithmetic instruction.
#[derive(Debug)]
pub struct AluRow {
    /// The instruction; its number is the opcode.
    pub op: Alu,
    /// Its name in Mesa's text.
    pub name: &'static str,
    /// The units for which Mesa's compiler emits it.
    pub units: Units,
    /// The type of its sources.
    pub kind: SourceType,
    /// Whether its result is an integer and its sources are floats, or the other way round.
    pub converts: bool,
    /// Components of the sources that are reduced to one result; 0 for component-wise operations.
    pub channels: u8,
}

/// An instruction of the load/store unit.
#[derive(Debug)]
pub struct MemoryRow {
    /// The instruction; its number is the opcode.
    pub op: Memory,
    /// Its name in Mesa's text.
    pub name: &'static str,
    /// Its kind of access.
    pub access: Access,
}

impl AluRow {
    /// The row of an opcode.
    pub fn of(code: u32) -> Option<&'static AluRow> {
        ALU.binary_search_by_key(&code, |row| row.op as u32).ok().map(|at| &ALU[at])
    }

    /// Whether another instruction has the same name and the other signedness.
    pub fn is_signed_by_name(&self) -> bool {
        !ALU.iter().any(|row| row.name == self.name && row.kind != self.kind)
    }

    /// The letter of the type in Mesa's text, which does not distinguish signed and unsigned integers, or in exact
    /// text, which does if two instructions differ only in that.
    pub fn letter(&self, exact: bool) -> char {
        match self.kind {
            _ if !self.makes_integer() => 'f',
            _ if !exact || self.is_signed_by_name() => 'i',
            SourceType::Unsigned => 'u',
            _ => 's',
        }
    }

    /// Whether the first source is doubled.
    pub fn doubles(&self) -> bool {
        matches!(self.op, Alu::Ishladd | Alu::Ishlsub)
    }

    /// Whether sources are integers.
    pub fn is_integer(&self) -> bool {
        self.kind != SourceType::Float
    }

    /// Whether results are integers.
    pub fn makes_integer(&self) -> bool {
        self.is_integer() != self.converts
    }
}

impl AluRow {
    /// The kind of arithmetic, in a few words.
    pub fn about(&self) -> &'static str {
        match (self.is_integer(), self.makes_integer()) {
            (true, true) => "integer arithmetic",
            (false, false) => "float arithmetic",
            (true, false) => "integers to floats",
            (false, true) => "floats to integers or truths",
        }
    }
}

impl MemoryRow {
    /// The effect of the access, in a few words.
    pub fn about(&self) -> &'static str {
        match self.access {
            Access::Move => "moves and converts registers",
            Access::Load => "loads from an address, or computes it",
            Access::Store => "stores to an address",
            Access::Atomic => "changes memory at an address",
            Access::Uniform => "loads from a uniform buffer",
            Access::Attribute => "loads an attribute, a varying or a texel of an image",
            Access::StoreAttribute => "stores a varying or a texel of an image",
            Access::Special => "tile buffer and values of fragments",
            Access::Other => "nothing, or a trap",
        }
    }

    /// The row of an opcode.
    pub fn of(code: u32) -> Option<&'static MemoryRow> {
        MEMORY.binary_search_by_key(&code, |row| row.op as u32).ok().map(|at| &MEMORY[at])
    }
}

/// A texture instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureRow {
    /// Its opcode.
    pub code: u32,
    /// Its name in Mesa's text.
    pub name: &'static str,
}

/// Numbers of texture instructions.
pub mod texture {
    /// Samples at an implicit level of detail, from the differences between neighbours.
    pub const TEX: u32 = 1;
    /// Samples at a given level; gathers.
    pub const TEX_GRAD: u32 = 2;
    /// Loads a texel.
    pub const TEX_FETCH: u32 = 4;
    /// The gradient of derivatives.
    pub const DER_TO_GRAD: u32 = 9;
    /// A move.
    pub const MOV: u32 = 10;
    /// A barrier of the workgroup.
    pub const BARRIER: u32 = 11;
    /// The gradient of coordinates.
    pub const COORDS_TO_GRAD: u32 = 12;
    /// Derivatives.
    pub const DERIVATIVE: u32 = 13;
}

/// Texture instructions.
//
// source: Mesa, midgard.h (mali_texture_op), midgard_ops.c (tex_opcode_props)
pub const TEXTURE: &[TextureRow] = &[
    TextureRow { code: texture::TEX, name: "TEX" },
    TextureRow { code: texture::TEX_GRAD, name: "TEX_GRAD" },
    TextureRow { code: texture::TEX_FETCH, name: "TEX_FETCH" },
    TextureRow { code: texture::DER_TO_GRAD, name: "DER_TO_GRAD" },
    TextureRow { code: texture::MOV, name: "MOV" },
    TextureRow { code: texture::BARRIER, name: "BARRIER" },
    TextureRow { code: texture::COORDS_TO_GRAD, name: "COORDS_TO_GRAD" },
    TextureRow { code: texture::DERIVATIVE, name: "DERIVATIVE" },
];

impl TextureRow {
    /// The row of an opcode.
    pub fn of(code: u32) -> Option<&'static TextureRow> {
        TEXTURE.iter().find(|row| row.code == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ALU.is_sorted_by_key(|row| row.op as u8) && ALU.len() == 134);
        assert!(MEMORY.is_sorted_by_key(|row| row.op as u8) && MEMORY.len() == 142);
        assert_eq!(AluRow::of(0x71).map(|row| row.name), Some("OR"));
        assert!(AluRow::of(0x0f).is_none());
    }
}
