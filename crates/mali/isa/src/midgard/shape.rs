//! Operands in the text of load/store instructions: printer and parser follow the same list.
//!
// source: Mesa, disassemble.c (print_load_store_instr).

use super::table::{Access, Memory};
use super::word::LoadStore;

/// The form of an instruction's text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// The only operand is a number.
    pub trap: bool,
    /// The register is read, not written.
    pub store: bool,
    /// A descriptor's element: `.a32`, an index and an argument.
    pub attribute: bool,
    /// The attribute is an image, whose argument has a width.
    pub image: bool,
    /// `.primary` or `.secondary` is written if the table is not this one.
    pub table: Option<u32>,
    /// `.f32` or `.f16` follows the name.
    pub sized: bool,
    /// The swizzle stands with the destination.
    pub swizzled: bool,
    /// A uniform buffer and an address in it.
    pub uniform: bool,
    /// An address.
    pub address: bool,
    /// A second operand, in place of the address's index.
    pub compares: bool,
    /// An argument with a swizzle.
    pub moves: bool,
    /// An operand in the bits of the swizzle.
    pub atomic: bool,
    /// An index with a displacement.
    pub special: bool,
    /// A descriptor of a format.
    pub packs: bool,
}

impl LoadStore {
    /// The form of its text.
    pub(super) fn shape(&self) -> Shape {
        let row = self.row();
        let (op, access) = (row.map(|row| row.op), row.map_or(Access::Other, |row| row.access));
        let attribute = matches!(access, Access::Attribute | Access::StoreAttribute);
        let varying = matches!(self.op, 0x98..=0x9b | 0xd4..=0xd7);
        let has_default = varying || matches!(self.op, 0x94..=0x97);
        let projects = matches!(self.op, 0x11..=0x13);
        let moves = matches!(self.op, 0x04..=0x13);
        let addresses = matches!(op, Some(Memory::Lea | Memory::LeaImage));
        let atomic = access == Access::Atomic;
        Shape {
            trap: op == Some(Memory::Trap),
            store: matches!(access, Access::Store | Access::StoreAttribute),
            attribute,
            image: matches!(self.op, 0x0d | 0xb4..=0xb7 | 0xd8..=0xdb),
            table: has_default.then_some(u32::from(varying)),
            sized: op == Some(Memory::LdCubemapCoords) || projects,
            swizzled: !(moves && !addresses || atomic),
            uniform: access == Access::Uniform,
            address: matches!(access, Access::Load | Access::Store | Access::Atomic),
            compares: matches!(self.op, 0x64..=0x67),
            moves,
            atomic,
            special: attribute || matches!(self.op, 0x9c..=0x9f | 0xdc..=0xdf),
            packs: matches!(self.op, 0x04..=0x0b),
        }
    }
}
