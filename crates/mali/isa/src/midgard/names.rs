//! Spellings of Mesa's text, which the disassembler writes and the assembler reads.
//!
// source: Mesa, disassemble.c, midgard_ops.c.

/// Components by number.
const COMPONENTS: &[u8; 16] = b"xyzwefghijklmnop";

pub(super) fn component(number: u32) -> char {
    char::from(COMPONENTS[number as usize & 15])
}

/// The number of a component.
pub(super) fn component_number(name: char) -> Option<u32> {
    COMPONENTS.iter().position(|c| char::from(*c) == name).map(|n| n as u32)
}

/// Modifiers of integer results; written only if the result is half as wide.
pub(super) const INTEGER_OUTMODS: [&str; 4] = [".ssat", ".usat", ".keeplo", ".keephi"];

/// Modifiers of float results.
pub(super) const FLOAT_OUTMODS: [&str; 4] = ["", ".clamp_0_inf", ".clamp_m1_1", ".clamp_0_1"];

/// Marks float results that are half as wide.
pub(super) const SHRINK: &str = ".shrink";

/// Conversions of half-width integers to the full width.
pub(super) const WIDENINGS: [&str; 4] = [".sext", ".zext", ".replicate", ".lshift"];

/// Modifier bits of float sources.
pub(super) const ABSOLUTE: &str = ".abs";
/// See [`ABSOLUTE`].
pub(super) const NEGATED: &str = ".neg";
/// Marks float sources that are half as wide.
pub(super) const WIDEN: &str = ".widen";

/// Marks the source that is doubled.
pub(super) const DOUBLED: &str = ".x2";

/// Operations of a branch, by number.
pub(super) const BRANCHES: [&str; 8] =
    ["unk0", "uncond", "cond", "unk3", "discard", "unk5", "tilebuffer", "write"];

/// Conditions of a branch.
pub(super) const CONDITIONS: [&str; 4] = ["write0", "false", "true", "always"];

/// Plain branches, calls and returns.
pub(super) const CALLS: [&str; 4] = [".reserved", "", ".call", ".return"];

/// Registers that the load/store unit reads; numbered from eight on.
pub(super) const ARGUMENTS: [&str; 8] = [
    "AL0",
    "AL1",
    "PC_SP",
    "LOCAL_STORAGE_PTR",
    "LOCAL_THREAD_ID",
    "GROUP_ID",
    "GLOBAL_THREAD_ID",
    "0",
];

/// Conversions of the second argument to an offset.
pub(super) const INDEX_FORMATS: [&str; 4] = ["", ".u64", ".u32", ".s32"];

/// Marks the instructions on descriptors whose index has 32 bits.
pub(super) const INDEX_32: &str = ".a32";

/// Descriptor tables.
pub(super) const TABLES: [&str; 2] = [".primary", ".secondary"];

/// The width of the operation, by the instruction's bit.
pub(super) const WIDTHS: [&str; 2] = [".f16", ".f32"];

/// The width of an address, by the instruction's bit.
pub(super) const ADDRESSES: [&str; 2] = [".u32", ".u64"];

/// Results of a texture instruction, by mode.
pub(super) const MODES: [(u32, &str); 7] = [
    (1, ""),
    (5, ".shadow"),
    (6, ".gather.shadow"),
    (8, ".gatherX"),
    (9, ".gatherY"),
    (10, ".gatherZ"),
    (11, ".gatherW"),
];

/// The directions of derivatives, by mode.
pub(super) const DIRECTIONS: [&str; 2] = [".x", ".y"];

/// A mode without a name.
pub(super) const UNKNOWN_MODE: &str = "unk";

/// Dimensions of a texture.
pub(super) const DIMENSIONS: [&str; 4] = [".cube", ".1d", ".2d", ".3d"];

/// Execution modes of a texture instruction.
pub(super) const EXECUTIONS: [&str; 4] = [".reserved", ".skip", ".kill", ""];

/// Types of sampled values, written before `sampler`.
pub(super) const SAMPLERS: [&str; 4] = ["?", "f", "u", "i"];

/// Marks the texture instructions of vertex shaders.
pub(super) const VERTEX: &str = ".vtx";

/// Units of arithmetic by their bit in the table, in the order of a bundle. Mesa writes them if asked for more.
pub(super) const UNITS: [&str; 5] = ["vmul", "sadd", "vadd", "smul", "lut"];

/// The words of a bundle's constants.
pub(super) const CONSTANTS: &str = "uconstants";

/// Marks bundles that write to the tile buffer.
pub(super) const WRITEOUT: &str = "writeout";
