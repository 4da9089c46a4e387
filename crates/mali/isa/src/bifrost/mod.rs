//! The Bifrost instruction set (Mali v6 and v7), from one table.
//!
//! # What is here
//!
//! A program is a sequence of [clauses](clause). A [`Clause`] has a [header], up to eight [tuples](clause::Tuple) and
//! constants, packed into words of 16 bytes. A tuple is an instruction for the FMA unit, one for the ADD unit that
//! follows it, and the [ports](registers) of the register file that both use: sources of an instruction name ports, and
//! results are written by the next tuple's block of ports.
//!
//! The [table] has one row for each instruction of each unit. From the rows come
//!
//! * the instruction [`Inst`]; [`Inst::decode`] and [`Inst::encode`], exact inverses;
//! * text in Mesa's syntax: the [assembler](asm) and the [disassembler](disasm);
//! * [random instances](random) for tests, and the [manual].
//!
//! # How data flows
//!
//! [`Clause::decode`] unpacks words into bits of tuples, decodes each instruction and packs all of it again:
//! a clause that would not get the same bits is refused. Start reading with a file of the table,
//! `table/float.isa`, then [`inst`].
//!
//! # Sources
//!
//! Mesa 25.0 (`src/panfrost/compiler/bifrost/ISA.xml`, `bi_pack.c`, `disassemble.c`,
//! `compiler/bifrost.h`); each file names its own.

pub mod asm;
pub mod clause;
pub mod disasm;
pub mod error;
pub mod header;
pub mod inst;
pub mod manual;
pub mod random;
pub mod registers;
pub mod table;

pub use clause::{Clause, Tuple};
pub use error::{ClauseError, InstError};
pub use header::{Flow, Header, Message};
pub use inst::{Inst, Port};
pub use registers::{Access, Ports, Registers};
pub use table::{Op, Row, Unit};
