//! State that the SIMD-groups of a workgroup share: local memory, texture state and sampler state
//! registers.

use super::check::LocalShadow;

/// The state that the SIMD-groups of a workgroup share.
#[derive(Default)]
pub struct Shared {
    /// Local memory.
    pub local: Vec<u8>,
    /// Whether each byte of local memory was written; empty unless the job is checked.
    pub local_written: Vec<bool>,
    /// Accesses of local memory, in audits.
    pub local_shadow: Option<Box<LocalShadow>>,
    /// Texture state registers.
    pub textures: Vec<[u8; 24]>,
    /// Sampler state registers: descriptor and border colour.
    pub samplers: Vec<([u8; 8], [u32; 4])>,
    /// The sampler heap of bindless samplers: address and count.
    pub sampler_heap: (u64, u32),
    /// The layout of local memory as a tilebuffer.
    pub tile: Option<TileLayout>,
    /// Uniform registers as a preshader leaves them, in halves; empty in other programs.
    pub stored_uniforms: Vec<u16>,
}

/// Layout of a tilebuffer in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileLayout {
    /// Pixels in each direction.
    pub size_px: [u32; 2],
    /// Samples of a pixel.
    pub samples: u32,
    /// Bytes of a sample.
    pub sample_bytes: u32,
}

/// A sampler and its custom border colour from their 24 bytes.
pub fn split_sampler(raw: &[u8; 24]) -> ([u8; 8], [u32; 4]) {
    let mut sampler = [0; 8];
    sampler.copy_from_slice(&raw[..8]);
    let word = |i: usize| {
        u32::from_le_bytes([raw[8 + 4 * i], raw[9 + 4 * i], raw[10 + 4 * i], raw[11 + 4 * i]])
    };
    (sampler, std::array::from_fn(word))
}
