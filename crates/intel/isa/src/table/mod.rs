//! The tables: opcodes and bit fields by generation, compacted patterns.

pub mod compact;
pub mod field;
pub mod opcode;
