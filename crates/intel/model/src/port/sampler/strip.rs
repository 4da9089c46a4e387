//! Loads of strips: eight by two texels of four or sixteen bytes, as fully covered pixel threads load them.
//!
//! All other messages take slower paths ([`plain`](super::plain), [`texel`](super::texel)), which have the same
//! results.

use tepui_intel_eu::{Message, ThreadView};
#[cfg(target_arch = "x86_64")]
use tepui_texel::Vectors;
use tepui_texel::{LevelLayout, Row, Tap};

use super::super::Ports;
use super::super::plain::{PlainLevel, transposed};
use super::super::surface::{Image, Surface};
use super::plain::{Kernels, delivery};
use super::texture::{Scratch, Texture};
use super::{WIDTH, kind};
use crate::memory::Memory;

/// Bits for the number of a message, its width, header, and half-float response.
const FORM: u32 = 0x1f << 12 | 3 << 17 | 1 << 19 | 1 << 30;
const SIMD16: u32 = 2 << 17;
const LD: u32 = SIMD16 | kind::LD << 12;
const LD_LZ: u32 = SIMD16 | kind::LD_LZ << 12;

/// Whether a message loads texels of sixteen channels from the first level without filtering.
pub(crate) fn loads_first_level(message: &Message) -> bool {
    message.desc & FORM == LD_LZ
}

impl Ports<'_> {
    /// Executes a load of a strip of eight by two texels of four or sixteen bytes, all inside of the level, without
    /// examining single channels. `false` for other messages.
    pub(crate) fn load_strip(&mut self, view: &mut ThreadView<'_>, message: &Message) -> bool {
        const ZEROS: [Row<WIDTH>; 1] = [[0; WIDTH]];
        let lz = loads_first_level(message);
        if !(lz || message.desc & FORM == LD) || message.channels & 0xffff != 0xffff {
            return false;
        }
        let known = self.by_index.get((message.desc & 0xff) as usize).copied();
        let Some(bound) = known.filter(|&place| place != u32::MAX) else { return false };
        let parameter = |k: usize| view.rows::<1>(2 * k).unwrap_or(&ZEROS);
        let ([x], [y]) = (parameter(0), parameter(1));
        let ([lod], [layer]) = match lz {
            true => (&ZEROS, parameter(2)),
            false => (parameter(2), parameter(3)),
        };
        if !are_strip(x, y, lod, layer) {
            return false;
        }
        let place = StripPosition { first: [x[0], y[0]], lod: lod[0], layer: layer[0] };
        let Ports { memory, surfaces, kernels, scratch, .. } = self;
        let Some(bound) = surfaces.get_mut(bound as usize) else { return false };
        let Surface::Image(image) = &bound.surface else { return false };
        let Some(rows) = view.response_rows() else { return false };
        bound.texture.load_strip(memory, image, kernels, scratch, place, rows)
    }
}

/// The position of a strip: its first texel, in a layer of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripPosition {
    pub first: [u32; 2],
    pub lod: u32,
    pub layer: u32,
}

impl Texture {
    /// The first level's layer, if texels can be loaded from it in rows.
    pub(crate) fn first_level(
        &mut self,
        memory: &mut Memory<'_>,
        image: &Image,
        layer: u32,
    ) -> Option<PlainLevel> {
        let is_plain = self.unpacker.as_ref().is_some_and(|u| u.codec().is_none());
        let suits = is_plain && image.has_level(0) && (image.array || layer == 0);
        if suits { self.level(memory, image, 0, layer) } else { None }
    }

    /// Loads a strip to rows; `false` if not all of it is inside of the level, or the texels' size or layout is not
    /// supported.
    #[inline(always)]
    pub(super) fn load_strip(
        &mut self,
        memory: &mut Memory<'_>,
        image: &Image,
        kernels: &Kernels,
        scratch: &mut Scratch,
        place: StripPosition,
        rows: &mut [Row<WIDTH>],
    ) -> bool {
        const ZEROS: Row<WIDTH> = [0; WIDTH];
        let StripPosition { first, lod, layer } = place;
        let is_plain = self.unpacker.as_ref().is_some_and(|u| u.codec().is_none());
        if !is_plain || !image.has_level(lod) || !image.array && layer != 0 {
            return false;
        }
        let Some(level) = self.level(memory, image, lod, layer) else { return false };
        if !matches!(level.shift, 2 | 4) {
            return false;
        }
        let clear = match image.may_be_clear {
            true => self.clear_strip(memory, image, &level, place),
            false => Some(false),
        };
        let Some(unpacker) = &self.unpacker else { return false };
        match clear {
            Some(true) => {
                for (row, value) in rows.iter_mut().zip(self.clear) {
                    row.fill(value);
                }
                true
            }
            Some(false) if strip(&level, first, &mut scratch.taps[0]) => {
                let tap = Tap {
                    unpacker,
                    words: &scratch.taps[0],
                    x: &ZEROS,
                    outside: &ZEROS,
                    border: [0; 4],
                    wanted: 0,
                };
                kernels.deliver_tap(&tap, &delivery(&self.picks, unpacker), rows);
                true
            }
            _ => false,
        }
    }
}

/// Whether channels form a strip, in one layer of one level.
#[inline(always)]
fn are_strip_any(x: &Row<WIDTH>, y: &Row<WIDTH>, lod: &Row<WIDTH>, layer: &Row<WIDTH>) -> bool {
    let mut apart = 0;
    for lane in 0..WIDTH {
        apart |= lod[lane] ^ lod[0] | layer[lane] ^ layer[0];
    }
    is_strip([x, y]) && apart == 0
}

/// As [`are_strip_any`], with the host's wide vectors if it has them.
#[inline(always)]
fn are_strip(x: &Row<WIDTH>, y: &Row<WIDTH>, lod: &Row<WIDTH>, layer: &Row<WIDTH>) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide(x: &Row<WIDTH>, y: &Row<WIDTH>, lod: &Row<WIDTH>, layer: &Row<WIDTH>) -> bool {
            are_strip_any(x, y, lod, layer)
        }
        if Vectors::of_host() != Vectors::Any {
            // SAFETY: the host has AVX2.
            return unsafe { wide(x, y, lod, layer) };
        }
    }
    are_strip_any(x, y, lod, layer)
}

impl Texture {
    /// Whether the block that contains all texels of a strip is clear; `None` if they are in several, or not all inside
    /// of the level.
    fn clear_strip(
        &mut self,
        memory: &mut Memory<'_>,
        image: &Image,
        level: &PlainLevel,
        place: StripPosition,
    ) -> Option<bool> {
        let StripPosition { first: [x, y], lod, layer } = place;
        let marks = self.marks(image, lod)?;
        let size = level.size();
        // Block sizes are powers of two.
        let [width, height] = marks.block().map(u32::trailing_zeros);
        let block = [x >> width, y >> height];
        let one = x.checked_add(7)? >> width == block[0] && y.checked_add(1)? >> height == block[1];
        let inside = x.checked_add(8)? <= size[0] && y.checked_add(2)? <= size[1];
        if !one || !inside {
            return None;
        }
        marks.is_clear(memory, block, layer).ok()
    }
}

/// Whether channels form a strip of eight by two texels in the order of pixel threads: four subspans of two
/// by two.
#[inline(always)]
fn is_strip([x, y]: [&Row<WIDTH>; 2]) -> bool {
    const PLACES: [Row<WIDTH>; 2] = {
        let mut places = [[0; WIDTH]; 2];
        let mut lane = 0;
        while lane < WIDTH {
            places[0][lane] = (2 * (lane / 4) + lane % 2) as u32;
            places[1][lane] = (lane / 2 % 2) as u32;
            lane += 1;
        }
        places
    };
    let mut apart = 0;
    for lane in 0..WIDTH {
        apart |= x[lane] ^ x[0].wrapping_add(PLACES[0][lane]);
        apart |= y[lane] ^ y[0].wrapping_add(PLACES[1][lane]);
    }
    apart == 0
}

/// The words of the texels of a strip, of four or sixteen bytes each; `false` if it is not all inside of the level, or
/// its rows are not in contiguous runs of 16 bytes.
#[inline(always)]
fn strip(level: &PlainLevel, [x, y]: [u32; 2], words: &mut [Row<WIDTH>; 4]) -> bool {
    let [width, height] = level.size();
    let inside = x.checked_add(8).is_some_and(|end| end <= width)
        && y.checked_add(2).is_some_and(|end| end <= height);
    if !inside {
        return false;
    }
    let lines = [0, 1].map(|down| level.plain_line(y + down));
    // SAFETY: the caller of this closure has 16 bytes of texels inside of the level at the element.
    let read = |element: u32| unsafe {
        let from = level.host().wrapping_add((element as usize) << level.shift);
        from.cast::<[u32; 4]>().read_unaligned()
    };
    if level.shift == 4 {
        let [a, b, c, d] = words.each_mut().map(|row| row.as_chunks_mut::<4>().0.iter_mut());
        for ((((right, a), b), c), d) in (0..).step_by(2).zip(a).zip(b).zip(c).zip(d) {
            let [left, right] = [right, right + 1].map(|right| level.plain_column(x + right));
            let [upper, lower] = lines;
            let square = [(left, upper), (right, upper), (left, lower), (right, lower)];
            let texels = square.map(|(column, line)| read(column.wrapping_add(line)));
            [*a, *b, *c, *d] = transposed(texels);
        }
        return true;
    }
    if !x.is_multiple_of(4) || !level.begins_at_multiple(4) {
        return false;
    }
    let columns = [0, 4].map(|right| level.plain_column(x + right));
    for (squares, column) in words[0].as_chunks_mut::<8>().0.iter_mut().zip(columns) {
        // Four texels are contiguous: in a row, or in a column of 16 bytes.
        let [upper, lower] = lines.map(|line| read(column.wrapping_add(line)));
        *squares = [upper[0], upper[1], lower[0], lower[1], upper[2], upper[3], lower[2], lower[3]];
    }
    true
}
