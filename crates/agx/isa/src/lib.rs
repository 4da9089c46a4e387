//! The AGX (G13) instruction set, from one table.
//!
//! # What is here
//!
//! The [table] has one row for each instruction: mnemonic, lengths, fixed bits, and for each
//! operand its type, its bits and its place in the text. From the rows come
//!
//! * the typed instruction [`Inst`], one variant and struct for each row, with decoded
//!   [operands](operand);
//! * [`Inst::decode`] and [`Inst::encode`], exact inverses: bits of unknown meaning are fields too;
//! * text in applegpu's syntax: `Display`, [`Inst::parse`], the [assembler](asm) and the
//!   [disassembler](disasm);
//! * [`Inst::operands`], all registers read and written, and [`Inst::scoreboard`];
//! * [random instances](random) for tests, and the [manual].
//!
//! # How data flows
//!
//! A row names a codec constant for each field ([`codec`]): the bit positions with the rules for
//! decoding, encoding, printing, parsing and register use of that kind of operand. The macro
//! `rows!` ([`row`]) expands a row into a struct whose methods call the codecs in turn, and
//! checks while compiling that each bit of the encoding belongs to exactly one field. [`inst`]
//! lists all rows in the order in which they are tried and dispatches on the first byte.
//!
//! Start reading with a table file, for example [`table::float`].
//!
//! # Sources
//!
//! dougallj's applegpu (`applegpu.py`, `docs.html`) and Mesa 25.0's compiler (`agx_opcodes.py`,
//! `agx_pack.c`); each row names the places.
//!
//! # Where the text differs from applegpu's
//!
//! The listings are line by line those of applegpu's disassembler, except:
//!
//! * Reserved operand encodings are errors here; applegpu stops with an assertion or prints
//!   something arbitrary. These are: undefined source types; 32-bit and 64-bit registers at odd
//!   halves; registers past r127; widths that an instruction does not have; unknown texture
//!   dimensions and level-of-detail modes; a sample index without sample mode; a `zs_emit` of
//!   neither depth nor stencil.
//! * A braced note follows if bits that applegpu does not show are not as usual.
//! * Select instructions read uniforms from u128 on (applegpu drops the high bit of the number;
//!   Mesa's packing is followed).
//! * `stack_get_ptr`, `stack_adjust` and `TODO.stack_adjust2` are told from `stack_load` and
//!   `stack_store`, which applegpu tries first.
//! * The lane operand of a SIMD-group shuffle may have 32 bits (Mesa emits it); applegpu prints it
//!   as a 16-bit register.
//! * `ld_tile` and `st_tile` with bit 23 set have a note; applegpu stops with an assertion.
//! * A shuffle with bit 27 set whose bit 63 is not is no instruction; see the entry of
//!   `simd_shuf_op`.
//! * Reductions and scans that only Mesa names (`quad_prefix_and` …) have names.
//! * Special registers that only Mesa names have names.
//! * Coordinates of multisampled arrays count six half-registers (Mesa), not five.
//! * `auto_lod_bias_min` (Mesa) is known.
//! * `image_write_block` follows Mesa where they differ; see its manual entry.

pub mod access;
pub mod asm;
pub mod codec;
mod cost;
pub mod disasm;
pub mod error;
mod implied;
pub mod inst;
pub mod manual;
pub mod operand;
pub mod random;
mod regname;
pub mod row;
pub mod table;
mod text;

pub use access::{Access, Accesses, File, Role};
pub use cost::Cost;
pub use error::{DecodeError, EncodeError, ParseError, ParseErrorKind};
pub use inst::{Encoded, Inst, MAX_BYTES, ROWS};
pub use row::Text;
