//! Interface between programs and the driver: what the driver supplies.

use tepui_sysval::SystemValue;

/// A word of fast-access uniforms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FauWord {
    /// A word of a system value; those of 64 bits have a second word.
    System(SystemValue, u8),
    /// A word of a uniform buffer.
    Buffer {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Element of the binding.
        element: u32,
        /// Word in the buffer; words past its end are 0.
        word: u32,
    },
    /// A word of the address of the program's constant data.
    DataAddress(u8),
    /// A number.
    Constant(u32),
    /// Padding.
    Unused,
}
