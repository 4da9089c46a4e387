//! The instruction set of Intel's execution units (EUs), from one table keyed by generation.
//!
//! # What is here
//!
//! * The [tables](table): opcodes and bit fields of Gen9 and Gen12, patterns of compacted instructions;
//!   [types]; [shared functions](sfid).
//! * The typed instruction [`Inst`]; [`Inst::decode`] and [`Inst::encode`], exact inverses: bits that no
//!   operand explains are kept ([`Inst::unusual`]). The exception is an immediate that covers part of a
//!   compacted pattern: then several compacted forms have the same meaning; one of them is encoded.
//! * Text in Mesa's syntax: `Display`, the [disassembler](disasm) and the [assembler](asm).
//! * [Message descriptors](message), the [scoreboard](swsb), the [rules](validate) that hardware
//!   adds to the encoding, [random instructions](random) for tests, the [manual].
//!
//! # How data flows
//!
//! [`codec`] walks an instruction and names a field of the table for each part of it; an encoder writes the
//! field, a decoder reads it, so that there is one description for both. [`compact`] maps 64-bit forms to
//! 128-bit ones first.
//!
//! A generation is added with a variant of [`Generation`], a column in the tables of fields, opcodes
//! and types, and its patterns of compacted instructions.
//!
//! # Sources
//!
//! Mesa 25.0 (`src/intel/compiler/brw_eu*.{c,h}`, `brw_disasm.c`, `brw_gram.y`); each file names
//! its own.
//!
//! ```
//! use tepui_intel_isa::{Generation, Inst};
//!
//! let bytes = [0x01, 0, 0x60, 0, 0xe8, 0x3a, 0x20, 0x22, 0x80, 0x01, 0x8d, 0, 0, 0, 0, 0];
//! let inst = Inst::decode(Generation::Gen9, &bytes, 0)?;
//! assert!(inst.to_string().starts_with("mov(8)          g17<1>F         g12<8,8,1>F"));
//! # Ok::<(), tepui_intel_isa::DecodeError>(())
//! ```

pub mod asm;
pub mod codec;
pub mod compact;
pub mod descriptor;
pub mod disasm;
pub mod error;
pub mod inst;
pub mod layout;
pub mod manual;
pub mod message;
pub mod operand;
pub mod random;
mod scan;
pub mod sfid;
pub mod swsb;
pub mod table;
pub mod types;
pub mod validate;

pub use asm::AsmError;
pub use error::{DecodeError, FieldError};
pub use inst::{Condition, Desc, Flag, Inst, Predicate, Send};
pub use operand::{Arf, Dst, Location, Region, Register, Src};
pub use sfid::Sfid;
pub use swsb::{Swsb, Token};
pub use table::opcode::{Form, MathFunction, Opcode, SyncFunction};
pub use tepui_intel_chips::Generation;
pub use types::{Type, TypeKind};
