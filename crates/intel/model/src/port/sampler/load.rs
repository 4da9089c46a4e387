//! Loads of texels at addresses: for fetches by coordinates, and for filters.

use tepui_intel_eu::Refusal;
use tepui_texel::blocks::Blocks;

use super::super::refusal::refuse;
use crate::format::{Format, MAX_BYTES};
use crate::memory::Memory;

/// The bytes of the texel or block at an address.
#[inline]
fn read(
    memory: &mut Memory<'_>,
    format: &'static Format,
    at: u64,
) -> Result<[u8; MAX_BYTES], Refusal> {
    let mut bytes = [0; MAX_BYTES];
    memory.read(at, &mut bytes[..format.bytes]).map_err(refuse)?;
    Ok(bytes)
}

/// The number of a texel within its block.
fn index(format: &'static Format, place: [u32; 2]) -> usize {
    (place[1] * format.block[0] + place[0]) as usize
}

/// The components of the texel at an address, before the surface's swizzle. `place` is the texel's position
/// within its block.
#[inline]
pub(super) fn load(
    memory: &mut Memory<'_>,
    blocks: &mut Blocks,
    format: &'static Format,
    at: u64,
    place: [u32; 2],
) -> Result<[u32; 4], Refusal> {
    let bytes = read(memory, format, at)?;
    if format.block == [1, 1] {
        return Ok(format.unpack(&bytes[..format.bytes], place));
    }
    let block = u128::from_le_bytes(bytes);
    Ok(blocks.texel(format.decoded(), block, index(format, place)).map(f32::to_bits))
}

/// As [`load`], but for filters: see [`Format::raw`].
#[inline]
pub(super) fn load_raw(
    memory: &mut Memory<'_>,
    blocks: &mut Blocks,
    format: &'static Format,
    at: u64,
    place: [u32; 2],
) -> Result<[u32; 4], Refusal> {
    let bytes = read(memory, format, at)?;
    if format.block == [1, 1] {
        return Ok(format.raw(&bytes[..format.bytes], place));
    }
    let block = u128::from_le_bytes(bytes);
    Ok(blocks.raw_texel(format.decoded(), block, index(format, place)).0.map(f32::to_bits))
}
