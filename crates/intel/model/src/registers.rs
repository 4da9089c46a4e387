//! Registers that commands read and write.
//!
//! Most are memory without a meaning of their own here: drivers set them for workarounds and cache
//! partitions. Registers with a meaning have a constant.

use std::collections::HashMap;

/// Low half of the clock of the render engine; the high half follows.
pub const TIMESTAMP: u32 = 0x2358;
/// First operand of MI_PREDICATE, 64 bits.
pub const PREDICATE_SRC0: u32 = 0x2400;
/// Second operand of MI_PREDICATE, 64 bits.
pub const PREDICATE_SRC1: u32 = 0x2408;
/// The difference that the last MI_PREDICATE kept, 64 bits.
pub const PREDICATE_DATA: u32 = 0x2410;
/// The predicate: bit 0.
pub const PREDICATE_RESULT: u32 = 0x2418;
/// Workgroups of an indirect dispatch: three registers, X, Y, Z.
pub const DISPATCH_DIMENSIONS: u32 = 0x2500;
/// Parameters of an indirect draw: the first vertex.
pub const DRAW_START_VERTEX: u32 = 0x2430;
/// Number of vertices of an instance.
pub const DRAW_VERTEX_COUNT: u32 = 0x2434;
/// Number of instances.
pub const DRAW_INSTANCE_COUNT: u32 = 0x2438;
/// The first instance.
pub const DRAW_START_INSTANCE: u32 = 0x243c;
/// Base vertex, added to indices.
pub const DRAW_BASE_VERTEX: u32 = 0x2440;
/// The three additional parameters of an extended draw (Gen12).
pub const DRAW_EXTENDED: u32 = 0x2690;
/// Debug mode of the command streamer; one of its bits selects the base of constant addresses.
pub const CS_DEBUG_MODE2: u32 = 0x20d8;
/// Statistics of the pipeline, 64 bits each: vertices and primitives that were fetched.
pub const IA_VERTICES: u32 = 0x2310;
/// Primitives that were assembled.
pub const IA_PRIMITIVES: u32 = 0x2318;
/// Vertices that were shaded.
pub const VS_INVOCATIONS: u32 = 0x2320;
/// Patches processed by hull shaders.
pub const HS_INVOCATIONS: u32 = 0x2300;
/// Invocations of domain shaders.
pub const DS_INVOCATIONS: u32 = 0x2308;
/// Invocations of geometry shaders.
pub const GS_INVOCATIONS: u32 = 0x2328;
/// Primitives emitted by geometry shaders.
pub const GS_PRIMITIVES: u32 = 0x2330;
/// Primitives that reached the clipper.
pub const CL_INVOCATIONS: u32 = 0x2338;
/// Primitives that the clipper passed on.
pub const CL_PRIMITIVES: u32 = 0x2340;
/// Invocations of compute shaders.
pub const CS_INVOCATIONS: u32 = 0x2290;
/// Pixels that were shaded.
pub const PS_INVOCATIONS: u32 = 0x2348;
/// Samples that passed depth and stencil tests.
pub const PS_DEPTH: u32 = 0x2350;
/// Primitives that stream output has written, 64 bits; those of other streams follow.
pub const SO_PRIMITIVES_WRITTEN: u32 = 0x5200;
/// Primitives that stream output would have written to buffers of sufficient size.
pub const SO_PRIMITIVES_NEEDED: u32 = 0x5240;
/// Write offset of each buffer of stream output, in bytes.
pub const SO_WRITE_OFFSET: u32 = 0x5280;
/// Bit 10 is the format of pointers to binding tables (Gen12), which bit 26 lets be written.
pub const GT_MODE: u32 = 0x7008;
/// Address of the auxiliary table (Gen12), 64 bits.
pub const AUX_TABLE: u32 = 0x4200;
/// Invalidates caches of the auxiliary table (Gen12); reads 0 when that is done.
pub const CCS_AUX_INV: u32 = 0x4208;
/// Does the same for compute. source: genxml, COMPCS0_CCS_AUX_INV
pub const COMPUTE_CCS_AUX_INV: u32 = 0x42c8;
/// Enables translation of tiled resources (Gen12): bit 0.
pub const TRTT_CR: u32 = 0x4400;
/// The addresses that are translated: the value of address bits 47:44, followed by the mask of those that are compared.
pub const TRTT_VA_RANGE: u32 = 0x4404;
/// Address of the first table, 64 bits.
pub const TRTT_L3_BASE: u32 = 0x4408;
/// The entry of a tile without memory.
pub const TRTT_NULL: u32 = 0x4410;
/// The entry of a tile that must not be accessed.
pub const TRTT_INVAL: u32 = 0x4414;
/// The sixteen general registers of the command streamer, 64 bits each.
pub const GENERAL: u32 = 0x2600;

/// Bytes of the register space.
const SPACE_BYTES: u32 = 1 << 23;

/// Limit on the registers that hold a value; a batch that sets more faults, as silicon has fewer registers.
const MAX_REGISTERS: usize = 1 << 14;

/// The register file of a context. Registers that were never written read 0.
#[derive(Clone, Debug, Default)]
pub struct Registers(HashMap<u32, u32>);

/// The error of a register that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no register {0:#x}")]
pub struct NoRegister(pub u32);

impl Registers {
    /// The value of a register.
    pub fn get(&self, offset: u32) -> u32 {
        self.0.get(&offset).copied().unwrap_or(0)
    }

    /// Sets a register.
    ///
    /// # Errors
    /// The offset is outside of the register space, is not aligned to a double word, or too many registers
    /// hold values.
    pub fn set(&mut self, offset: u32, value: u32) -> Result<(), NoRegister> {
        if offset >= SPACE_BYTES || !offset.is_multiple_of(4) || self.0.len() >= MAX_REGISTERS {
            return Err(NoRegister(offset));
        }
        self.0.insert(offset, value);
        Ok(())
    }

    /// The value of two registers as 64 bits.
    pub fn get64(&self, offset: u32) -> u64 {
        u64::from(self.get(offset)) | u64::from(self.get(offset + 4)) << 32
    }

    /// Sets two registers.
    ///
    /// # Errors
    /// As [`Registers::set`].
    pub fn set64(&mut self, offset: u32, value: u64) -> Result<(), NoRegister> {
        self.set(offset, value as u32)?;
        self.set(offset + 4, (value >> 32) as u32)
    }

    /// Whether the pipeline counts in a register, or keeps its place there.
    pub(crate) fn is_counter(offset: u32) -> bool {
        let counters = [
            CS_INVOCATIONS..CS_INVOCATIONS + 8,
            HS_INVOCATIONS..PS_DEPTH + 8,
            SO_PRIMITIVES_WRITTEN..SO_WRITE_OFFSET + 16,
        ];
        counters.iter().any(|range| range.contains(&offset))
    }

    /// Takes the values of the registers that the pipeline counts in.
    pub(crate) fn copy_counters(&mut self, from: &Registers) {
        let counters = from.0.iter().filter(|&(&offset, _)| Registers::is_counter(offset));
        self.0.extend(counters);
    }

    /// The predicate.
    pub fn predicate(&self) -> bool {
        self.get(PREDICATE_RESULT) & 1 != 0
    }
}
