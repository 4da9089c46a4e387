//! Binding tables, samplers and constants of a stage, as data.

/// Tables of a stage.
#[derive(Default)]
pub struct Tables {
    /// Addresses of the surface states of the binding table.
    pub states: Vec<u64>,
    /// Address of the block that it is in.
    pub block: u64,
    /// Its offset from the surface state base.
    pub table: u32,
    /// Offsets of the samplers' states from the dynamic state base.
    pub samplers: Vec<u32>,
    /// Their offset from the dynamic state base.
    pub sampler_table: u32,
}

/// Constants of a stage in memory.
#[derive(Default)]
pub struct Constants {
    /// The words.
    pub(super) words: Vec<u32>,
    /// Registers that they fill.
    pub(super) registers: u32,
    /// Their address.
    pub(super) address: u64,
}
