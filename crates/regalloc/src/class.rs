//! Register classes.

/// The register number of an operand whose register is not allocated yet.
pub const UNASSIGNED: u16 = u16::MAX;

/// Register class: the size and alignment of the registers that a value takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegClass {
    /// Units.
    pub units: u8,
    /// Begins at an even unit.
    pub even: bool,
}
