//! Loads and stores of memory, atomics, addresses of buffers.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

const ADDRESS: SourceField = src(0, "address").sized(64);
const OFFSET: ImmediateField = signed("offset", 8, 16);
const SHORT_OFFSET: ImmediateField = unsigned("offset", 8, 8);

rows! {
    after bitwise;

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_8_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I8 = "LD_BUFFER.i8" 8, 0x6a, 0x0;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_16_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I16 = "LD_BUFFER.i16" 16, 0x6a, 0x1;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_24_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I24 = "LD_BUFFER.i24" 24, 0x6a, 0x2;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_32_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I32 = "LD_BUFFER.i32" 32, 0x6a, 0x3;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_48_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I48 = "LD_BUFFER.i48" 48, 0x6a, 0x4;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_64_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I64 = "LD_BUFFER.i64" 64, 0x6a, 0x5;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_96_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I96 = "LD_BUFFER.i96" 96, 0x6a, 0x6;
    }

    "Loads from a buffer of a resource table at a byte offset. Mesa calls it LD_PKA."
    Form {
        second: AT_27,
        modifiers: &[LOAD_LANE_128_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LD_BUFFER_I128 = "LD_BUFFER.i128" 128, 0x6a, 0x7;
    }

    "The address of an element of a buffer of a resource table, both named in the instruction."
    Form {
        modifiers: &[SLOT],
        staging: &[WRITE],
        sources: &[src(0, "element").sized(32)],
        immediates: &[unsigned("table", 8, 4), unsigned("index", 12, 8)],
        ..LS
    } => {
        LEA_BUF_IMM = "LEA_BUF_IMM" 32, 0x5e, 0x0;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_8_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I8 = "LOAD.i8" 8, 0x60, 0x0;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_16_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I16 = "LOAD.i16" 16, 0x60, 0x1;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_24_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I24 = "LOAD.i24" 24, 0x60, 0x2;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_32_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I32 = "LOAD.i32" 32, 0x60, 0x3;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_48_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I48 = "LOAD.i48" 48, 0x60, 0x4;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_64_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I64 = "LOAD.i64" 64, 0x60, 0x5;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_96_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I96 = "LOAD.i96" 96, 0x60, 0x6;
    }

    "Loads from memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, LOAD_LANE_128_BIT, UNSIGNED, SLOT],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        LOAD_I128 = "LOAD.i128" 128, 0x60, 0x7;
    }

    "Stores to memory."
    Form {
        second: AT_27,
        modifiers: &[MEMORY_ACCESS, SLOT],
        staging: &[READ],
        sources: &[ADDRESS],
        immediates: &[OFFSET],
        ..LS
    } => {
        STORE_I8 = "STORE.i8" 8, 0x61, 0x0;
        STORE_I16 = "STORE.i16" 16, 0x61, 0x1;
        STORE_I24 = "STORE.i24" 24, 0x61, 0x2;
        STORE_I32 = "STORE.i32" 32, 0x61, 0x3;
        STORE_I48 = "STORE.i48" 48, 0x61, 0x4;
        STORE_I64 = "STORE.i64" 64, 0x61, 0x5;
        STORE_I96 = "STORE.i96" 96, 0x61, 0x6;
        STORE_I128 = "STORE.i128" 128, 0x61, 0x7;
    }

    "The address of a byte of a buffer of a resource table, and its size. Mesa calls it LEA_PKA."
    Form {
        modifiers: &[SLOT],
        staging: &[WRITE],
        sources: &[src(0, "offset").sized(32), src(1, "index and table").sized(32)],
        ..LS
    } => {
        LEA_BUFFER = "LEA_BUFFER" 32, 0x6b, 0x0;
    }

    "Stores a texel to an address in the format of a conversion descriptor."
    Form {
        modifiers: &[SLOT, MEMORY_ACCESS_AT_37, VECTOR_SIZE, REGISTER_FORMAT],
        staging: &[READ],
        sources: &[ADDRESS, src(2, "conversion").sized(32)],
        immediates: &[SHORT_OFFSET],
        ..LS
    } => {
        ST_CVT = "ST_CVT" 32, 0x71, 0x0;
    }

    "Loads a texel from an address in the format of a conversion descriptor. Mesa 26.1 emits it."
    Form {
        modifiers: &[SLOT, MEMORY_ACCESS_AT_37, VECTOR_SIZE, REGISTER_FORMAT],
        staging: &[WRITE],
        sources: &[ADDRESS, src(2, "conversion").sized(32)],
        immediates: &[SHORT_OFFSET],
        ..LS
    } => {
        LD_CVT = "LD_CVT" 32, 0x70, 0x0;
    }

    "Changes memory in one step by an operation with the constant 1; returns the old value, or \
     with no staging register nothing."
    Form {
        second: AT_27,
        modifiers: &[SLOT, ATOMIC_OPERATION_WITH_1],
        staging: &[WRITE],
        sources: &[ADDRESS],
        immediates: &[SHORT_OFFSET],
        ..LS
    } => {
        ATOM1_RETURN_I32 = "ATOM1_RETURN.i32" 32, 0x69, 0x3;
        ATOM1_RETURN_I64 = "ATOM1_RETURN.i64" 64, 0x69, 0x5;
    }

    "Changes memory in one step."
    Form {
        second: AT_27,
        modifiers: &[SLOT, ATOMIC_OPERATION],
        staging: &[READ],
        sources: &[ADDRESS],
        immediates: &[SHORT_OFFSET],
        ..LS
    } => {
        ATOM_I32 = "ATOM.i32" 32, 0x68, 0x3;
        ATOM_I64 = "ATOM.i64" 64, 0x68, 0x5;
    }

    "Changes memory in one step and returns the old value; with `.compare` only if memory holds \
     the second value."
    Form {
        second: AT_27,
        modifiers: &[SLOT, COMPARE, ATOMIC_OPERATION],
        staging: &[WRITE_AT_16, READ_WRITTEN_APART],
        sources: &[ADDRESS],
        immediates: &[SHORT_OFFSET],
        ..LS
    } => {
        ATOM_RETURN_I32 = "ATOM_RETURN.i32" 32, 0x120, 0x3;
        ATOM_RETURN_I64 = "ATOM_RETURN.i64" 64, 0x120, 0x5;
    }
}
