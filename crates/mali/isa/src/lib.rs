//! The Valhall instruction set (Mali v9 and v10), from one table; also those of v6 and v7 ([`bifrost`]), and of v4 and
//! v5 ([`midgard`]).
//!
//! # What is here
//!
//! The [table] has one row for each instruction: mnemonic, opcodes and fields. From the rows come
//!
//! * the instruction [`Inst`]; [`Inst::decode`] and [`Inst::encode`], exact inverses: bits that no
//!   field explains are kept ([`Inst::unusual`]);
//! * text in Mesa's syntax: `Display`, the [assembler](asm) and the [disassembler](disasm);
//! * the [rules](validate) that hardware adds to the encoding;
//! * [random instances](random) for tests, and the [manual].
//!
//! # How data flows
//!
//! A row lists its fields ([`table::field`]): sources with the slot and the bits that modify them,
//! staging registers, immediates, and [modifiers](modifier). Decoder, encoder, printer, parser and
//! manual walk the same lists. Start reading with a table file, for example [`table::float`].
//!
//! # Sources
//!
//! Mesa 25.0 (`src/panfrost/compiler/valhall/ISA.xml`, `valhall.py`, `asm.py`, `va_pack.c`); each file names
//! its own. [`disasm`]'s text differs from Mesa's in two ways: the second zero of the constants has a name of
//! its own, and bits of no field are printed.
//!
//! ```
//! use tepui_mali_isa::{Inst, Op, asm};
//!
//! let inst = Inst::decode(u64::from_le_bytes([0x01, 0x02, 0, 0, 0x30, 0xc0, 0xa4, 0]))?;
//! assert_eq!(inst.op, Op::FADD_F32);
//! assert_eq!(inst.to_string(), "FADD.f32 r0, r1, r2.neg.abs");
//! assert_eq!(asm::parse("FADD.f32 r0, r1, r2.neg.abs"), Ok(inst));
//! # Ok::<(), tepui_mali_isa::FieldError>(())
//! ```

pub mod asm;
pub mod bifrost;
pub mod disasm;
pub mod error;
pub mod inst;
pub mod manual;
pub mod midgard;
pub mod modifier;
pub mod operand;
pub mod random;
pub mod table;
mod text;
pub mod validate;

pub use asm::{AsmError, ParseError};
pub use error::{DecodeError, FieldError};
pub use inst::Inst;
pub use modifier::{Flow, Modifier, ModifierKind, ModifierValue};
pub use operand::{Dest, Halves, Operand, Source, Special, Staging, Swizzle};
pub use table::{Op, ROWS, Row};
