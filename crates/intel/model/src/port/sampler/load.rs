//! Loads of texels at addresses: for fetches by coordinates, and for filters.

use tepui_intel_eu::Refusal;
use tepui_texel::blocks::Blocks;

use super::super::refusal::refuse;
use crate::format::{Format, MAX_BYTES};
use crate::memory::Memory;

/// The bits of the block at an address, and the number of a texel within it.
fn block(
    memory: &mut Memory<'_>,
    format: &'static Format,
    at: u64,
    place: [u32; 2],
) -> Result<(u128, usize), Refusal> {
    let mut bytes = [0; MAX_BYTES];
    memory.read(at, &mut bytes[..format.bytes]).map_err(refuse)?;
    Ok((u128::from_le_bytes(bytes), (place[1] * format.block[0] + place[0]) as usize))
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
    if format.block != [1, 1] {
        let (bits, index) = block(memory, format, at, place)?;
        return Ok(blocks.texel(format.decoded(), bits, index).map(f32::to_bits));
    }
    let mut bytes = [0; MAX_BYTES];
    let texel = &mut bytes[..format.bytes];
    memory.read(at, texel).map_err(refuse)?;
    Ok(format.unpack(texel, place))
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
    if format.block != [1, 1] {
        let (bits, index) = block(memory, format, at, place)?;
        return Ok(blocks.raw_texel(format.decoded(), bits, index).0.map(f32::to_bits));
    }
    let mut bytes = [0; MAX_BYTES];
    let texel = &mut bytes[..format.bytes];
    memory.read(at, texel).map_err(refuse)?;
    Ok(format.raw(texel, place))
}
