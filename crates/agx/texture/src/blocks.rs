//! Block-compressed texels: decoding through a small cache.

use tepui_format::{Compression, Numeric};

use crate::Row;
use crate::unpack::Unpacker;

/// The decoded blocks of a worker.
#[derive(Default)]
pub(crate) struct Blocks {}

impl Blocks {
    /// Replaces the words of blocks by the channels of one of their texels, as floats' bits.
    pub fn decode(&mut self, _: &Unpacker, _: u32, _: &Row, _: &Row, _: &mut [Row; 4]) {}
}

/// Bits of a channel of a custom border colour, and whether they are signed; `None` for halves.
/// source: Mesa's agx_border.c, `get_channel_info`
pub(crate) fn border_bits(
    compression: Compression,
    numeric: Numeric,
    channel: usize,
) -> Option<(u32, bool)> {
    let signed = numeric == Numeric::Snorm;
    match (compression, numeric) {
        (Compression::EacR | Compression::EacRg, _) => Some((11, signed)),
        (Compression::Bc4 | Compression::Bc5, _) => Some((14, signed)),
        (_, Numeric::Ufloat | Numeric::Sfloat) => None,
        (_, Numeric::Srgb) if channel < 3 => Some((12, false)),
        _ => Some((8, false)),
    }
}
