//! The layout of the tilebuffer: formats of the render targets, their offsets in a pixel, and the
//! conversion of colours to them.

use crate::error::{Error, Result};
use tepui_agx_isa::operand::Format as IsaFormat;
use tepui_format::{Component, Encoding, Format, Numeric};
pub use tepui_passes::lower_blend::Blend;

/// Colour locations.
pub const TARGETS: usize = 8;
/// Maximum bytes of a tile. source: Mesa, agx_tilebuffer.c, MAX_BYTES_PER_TILE
const MAX_TILE_B: u32 = 32767;
/// Pixels of the smallest tile. source: as above, MIN_TILE_SIZE_PX
const SMALLEST_PX: [u32; 2] = [16, 16];
/// Maximum bytes of a sample. source: as above, MAX_BYTES_PER_SAMPLE
const MAX_SAMPLE_B: u32 = 64;

/// The render targets of a fragment program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Formats by render target.
    pub formats: [Option<Format>; TARGETS],
    /// Samples of a pixel: 1, 2 or 4.
    pub samples: u8,
    /// The render target that an input attachment reads, by `InputAttachmentIndex`.
    pub attachments: [Option<u8>; TARGETS],
    /// The render target that each of the shader's colour locations is stored to; `None`: each to its own
    /// (`VkRenderingAttachmentLocationInfo`).
    pub moved: Option<[Option<u8>; TARGETS]>,
    /// Blending.
    pub blend: Blend,
}

impl Tile {
    /// One colour, one sample, no blending.
    #[must_use]
    pub fn single(format: Format) -> Tile {
        let mut formats = [None; TARGETS];
        formats[0] = Some(format);
        Tile { formats, samples: 1, ..Tile::default() }
    }
}

/// The position of a render target in a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its format.
    pub format: Format,
    /// The format of its channels in the tile.
    pub isa: IsaFormat,
    /// Channels.
    pub channels: u8,
    /// Byte in a sample.
    pub offset: u16,
}

/// Layout of pixels in a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// By colour location.
    pub slots: [Option<Slot>; TARGETS],
    /// Bytes of a sample, a multiple of 8.
    pub sample_bytes: u32,
    /// Pixels of a tile.
    pub tile_px: [u32; 2],
    /// Colour locations that the tile has no room for, a bit each: fragments load and store them in memory
    /// ([`super::spilled`]).
    pub spilled: u8,
}

/// The format that a render target's channels have in the tile. source: Mesa, layout/formats.c
fn isa_format(format: Format) -> Option<IsaFormat> {
    use Numeric::{Sfloat, Sint, Snorm, Srgb, Ufloat, Uint, Unorm};
    let info = format.info();
    let channels = match &info.encoding {
        Encoding::SharedExponent => return Some(IsaFormat::Rgb9E5),
        Encoding::Plain(c) => c,
        _ => return None,
    };
    let first = channels.as_slice().first()?;
    let bits = channels.as_slice().iter().map(|c| c.bits).max()?;
    let even = channels.as_slice().iter().all(|c| c.bits == bits);
    Some(match (first.numeric, bits, even) {
        (Unorm, 8, true) => IsaFormat::U8Norm,
        (Snorm, 8, true) => IsaFormat::S8Norm,
        (Unorm, 16, true) => IsaFormat::U16Norm,
        (Snorm, 16, true) => IsaFormat::S16Norm,
        (Srgb, 8, true) => IsaFormat::Srgba8,
        (Uint | Sint, 8, true) => IsaFormat::I8,
        (Uint | Sint, 16, true) => IsaFormat::I16,
        (Uint | Sint | Sfloat, 32, true) => IsaFormat::I32,
        (Sfloat, 16, true) => IsaFormat::F16,
        (Unorm, 10, false) => IsaFormat::Rgb10A2,
        (Uint, 10, false) => IsaFormat::I16,
        (Ufloat, 11, false) => IsaFormat::Rg11B10F,
        (Unorm, 4..=6, _) => IsaFormat::F16,
        _ => return None,
    })
}

/// The channels of a colour: how many there are in front of the last that the format has, and the
/// numbers in them.
#[must_use]
pub fn channels(format: Format) -> (u8, Numeric) {
    match &format.info().encoding {
        Encoding::Plain(c) => {
            let index = |k: Component| {
                [Component::R, Component::G, Component::B, Component::A]
                    .iter()
                    .position(|&x| x == k)
            };
            let last = c.as_slice().iter().filter_map(|c| index(c.component)).max().unwrap_or(0);
            (last as u8 + 1, c.as_slice().first().map_or(Numeric::Unorm, |c| c.numeric))
        }
        _ => (3, Numeric::Ufloat),
    }
}

/// Bits of each channel, red first.
#[must_use]
pub fn channel_bits(format: Format) -> [u8; 4] {
    match &format.info().encoding {
        Encoding::Plain(c) => [Component::R, Component::G, Component::B, Component::A]
            .map(|k| c.get(k).map_or(0, |c| c.bits)),
        _ => [9, 9, 9, 0],
    }
}

/// Bytes to which a channel's place is aligned.
fn unit(isa: IsaFormat) -> u32 {
    if isa.is_packed() { 4 } else { isa.element_bytes().unwrap_or(4) }
}

impl Layout {
    /// Lays out a tile. Targets that do not fit are spilled; smaller ones after them may fit. source:
    /// Mesa, agx_build_tilebuffer_layout
    ///
    /// # Errors
    /// If a format cannot be drawn to, or there are more than four samples.
    pub fn new(tile: &Tile) -> Result<Layout> {
        let samples = u32::from(tile.samples.max(1));
        let limit = 4;
        if samples > limit {
            let (needed, limit) = (u64::from(samples), u64::from(limit));
            return Err(Error::Limit { what: "samples", needed, limit });
        }
        let bytes = |sample_bytes: u32, px: [u32; 2]| sample_bytes * samples * px[0] * px[1];
        let mut slots = [None; TARGETS];
        let (mut end, mut spilled) = (0, 0);
        for (k, (slot, format)) in slots.iter_mut().zip(tile.formats).enumerate() {
            let Some(format) = format else { continue };
            let Some(isa) = isa_format(format) else {
                return Err(Error::Target(format));
            };
            let (channels, _) = channels(format);
            let unit = unit(isa);
            let start = u32::next_multiple_of(end, unit);
            let next = start + if isa.is_packed() { unit } else { unit * u32::from(channels) };
            if next > MAX_SAMPLE_B || bytes(next.next_multiple_of(8), SMALLEST_PX) > MAX_TILE_B {
                spilled |= 1 << k;
                continue;
            }
            *slot = Some(Slot { format, isa, channels, offset: start as u16 });
            end = next;
        }
        // A multisampled tile has memory even without colours.
        let sample_bytes = end.max(u32::from(samples > 1)).next_multiple_of(8);
        let sizes = [[32, 32], [32, 16], SMALLEST_PX];
        let fits = |px: &[u32; 2]| bytes(sample_bytes, *px) <= MAX_TILE_B;
        let tile_px = sizes.into_iter().find(fits).unwrap_or(SMALLEST_PX);
        Ok(Layout { slots, sample_bytes, tile_px, spilled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_spilled() {
        let large = Some(Format::R32G32B32A32_SFLOAT);
        let layout = |formats, samples| {
            Layout::new(&Tile { formats, samples, ..Tile::default() })
                .expect("four samples at most")
        };
        let eight = layout([large; TARGETS], 1);
        assert_eq!((eight.spilled, eight.sample_bytes, eight.tile_px), (0xf0, 64, [16, 16]));
        // With four samples, 32 bytes of each would exceed the tile by one byte.
        let mut formats = [large; TARGETS];
        formats[2] = Some(Format::R8G8B8A8_UNORM);
        let several = layout(formats, 4);
        assert_eq!((several.spilled, several.sample_bytes), (0xfa, 24), "a small one fits behind");
        assert!(Layout::new(&Tile { samples: 8, ..Tile::default() }).is_err());
    }
}
