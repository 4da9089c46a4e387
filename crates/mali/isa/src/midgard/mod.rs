//! The Midgard instruction set (Mali v4 and v5), from one table.
//!
//! # What is here
//!
//! A program is a sequence of [bundles](bundle) of one to four words of 16 bytes. A bundle is arithmetic for up to five
//! units and a branch, or up to two loads or stores, or a texture instruction ([`word`]). Registers are vectors of 128
//! bits, which an instruction interprets as elements of 8 to 64 bits.
//!
//! The [table] has one row for each instruction: opcode, Mesa's name, units, types of sources and results. From it come
//! [`Bundle::decode`] and [`Bundle::encode`], exact inverses; the [disassembler](disasm) and the [assembler](asm);
//! [random bundles](random), and the [manual].
//!
//! Mesa's text does not determine a program: it leaves out units, fields that do not affect an instruction, and the
//! sign of integers (`MIN.i32` is two instructions). [Exact text](disasm::exact) is Mesa's text with these additions,
//! and assembles to the same bytes.
//!
//! ```
//! use tepui_mali_isa::midgard::{asm, disasm};
//!
//! let text = "MIN.u32 R0.xy, R0.yx, U0.zw\nlut.FMUL.f32 R1, R0, #0.5\n\n";
//! let code = asm::assemble(text).unwrap();
//! assert_eq!(disasm::exact(&code), text);
//! assert_eq!(disasm::program(&code), "MIN.i32 R0.xy, R0.yx, U0.zw\nFMUL.f32 R1, R0, #0.5\n\n");
//! ```
//!
//! # Sources
//!
//! Mesa 25.0 (`src/panfrost/midgard/midgard.h`, `midgard_ops.c`, `midgard_ops.h`, `disassemble.c`, `midgard_emit.c`).

pub mod asm;
pub mod bundle;
pub mod disasm;
mod extent;
mod fields;
mod half;
pub mod manual;
mod names;
pub mod random;
mod shape;
mod swizzle;
pub mod table;
pub mod word;

pub use bundle::{Alu, Bundle, BundleError, Content, Tag};
pub use extent::extent;
pub use fields::signed;
pub use table::{AluRow, MemoryRow, SourceType, TextureRow};

/// Registers that a chip's texture unit reads and writes: the machine code does not name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureRegisters {
    /// Its own registers, 28 and 29.
    #[default]
    Own,
    /// The load/store unit's registers 26 and 27 for operands, and the first two work registers for results
    /// (T720, T820, T830).
    Shared,
}

impl TextureRegisters {
    /// The registers of a chip, according to
    /// `shares_texture_registers` of `tepui_mali_chips::Chip`.
    pub const fn shared(shared: bool) -> TextureRegisters {
        if shared { TextureRegisters::Shared } else { TextureRegisters::Own }
    }

    /// The first register of operands.
    pub const fn operands(self) -> u32 {
        match self {
            TextureRegisters::Own => word::register::TEXTURE,
            TextureRegisters::Shared => word::register::LOAD_STORE,
        }
    }
}
