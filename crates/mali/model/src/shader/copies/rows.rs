//! Texels and words of sixteen consecutive threads.

use super::value::Word;
use super::{Copies, Effect, Fetch};
use crate::pixels::format::NumericType;
use crate::units::Port;
use crate::units::sampler::swizzled_rows;
use crate::units::surface::Texel;
use crate::warp::row::{ALL, LANES, Row};
use crate::warp::trap::{RaisedTrap, Trap};

/// The channels of a fetch: zeros if no texture is bound.
pub type Fetched = [Row; 4];

impl Fetch {
    /// The texel coordinates of sixteen threads from `first` on, along the first axis.
    #[inline(always)]
    fn places(&self, first: [u32; 3]) -> [Texel; LANES] {
        let [x, y, z] = &self.at;
        let (x, y, z, layer) = (x.row(first), y.row(first), z.row(first), self.layer.row(first));
        let mut at = [Texel::default(); LANES];
        for (lane, at) in at.iter_mut().enumerate() {
            *at = Texel { x: x[lane], y: y[lane], z: z[lane], layer: layer[lane], level: 0 };
        }
        at
    }

    /// The channels of the texels of threads from `first` on, along the first axis, in the lanes of a mask.
    #[inline(always)]
    fn texels(
        &self,
        port: &mut Port<'_>,
        first: [u32; 3],
        mask: u16,
    ) -> Result<Fetched, Box<Trap>> {
        let Some((view, memory)) = port.view(self.texture)? else {
            return Ok([Row::splat(0); 4]);
        };
        let kind = view.kind();
        let values = view.texels(memory, &self.places(first), mask, kind)?;
        Ok(swizzled_rows(&values, view.texture.swizzle, kind))
    }
}

impl Copies {
    /// Whether the stored words are the raw words of the first fetch's texels in memory.
    pub fn is_raw(&self, port: &mut Port<'_>) -> Result<bool, Box<Trap>> {
        let (fetches, effects) = (self.fetches.as_slice(), self.effects.as_slice());
        let ([fetch], [Effect::Store { words, bytes, .. }]) = (fetches, effects) else {
            return Ok(false);
        };
        let Some((view, _)) = port.view(fetch.texture)? else { return Ok(false) };
        let (format, kind, swizzle) = (view.format(), view.kind(), view.texture.swizzle);
        if format.bytes() != usize::from(*bytes) || bytes % 4 != 0 || kind == NumericType::Float {
            return Ok(false);
        }
        // Channels are bit fields of a texel, and words are composed of channels: the composition is the identity if it
        // is for each bit, and for all of them, so that no channel is truncated.
        let bits = u32::from(*bytes) * 8;
        let mut texels = (0..bits).map(|bit| 1u128 << bit).chain([u128::MAX >> (128 - bits)]);
        loop {
            let mut rows = [Row::splat(0); 4];
            let mut count = 0;
            for (lane, texel) in texels.by_ref().take(LANES).enumerate() {
                count += 1;
                for (word, row) in rows.iter_mut().enumerate() {
                    row.0[lane] = (texel >> (32 * word)) as u32;
                }
            }
            if count == 0 {
                return Ok(true);
            }
            let mut channels = [Row::splat(0); 4];
            format.unpack_rows(&rows, ALL, kind, &mut channels);
            let fetched = [swizzled_rows(&channels, swizzle, kind)];
            let same = |(word, row): (&Word, &Row)| word.row(&fetched).0[..count] == row.0[..count];
            if !words.iter().zip(&rows).all(same) {
                return Ok(false);
            }
        }
    }

    /// The address of the first fetch's texels for all sixteen threads from `first` on, if they are contiguous.
    #[inline(always)]
    pub fn run(&self, port: &mut Port<'_>, first: [u32; 3]) -> Result<Option<u64>, RaisedTrap> {
        let Some(fetch) = self.fetches.first() else { return Ok(None) };
        let trapped = |trap| RaisedTrap { trap, index: fetch.index };
        let [x, y, z] = &fetch.at;
        if [x.by[0], y.by[0], z.by[0], fetch.layer.by[0]] != [1, 0, 0, 0] {
            return Ok(None);
        }
        let Some((view, memory)) = port.view(fetch.texture).map_err(trapped)? else {
            return Ok(None);
        };
        let [x, y, z] = [x.at(first), y.at(first), z.at(first)];
        let of = Texel { x, y, z, layer: fetch.layer.at(first), level: 0 };
        view.run(memory, of, LANES as u32).map_err(trapped)
    }

    /// The raw words of the first fetch's texels for threads from `first` on; `None` if they need conversion.
    #[inline(always)]
    pub fn raw_texels(
        &self,
        port: &mut Port<'_>,
        first: [u32; 3],
        mask: u16,
    ) -> Result<Option<[Row; 4]>, RaisedTrap> {
        let Some(fetch) = self.fetches.first() else { return Ok(None) };
        let trapped = |trap| RaisedTrap { trap, index: fetch.index };
        let Some((view, memory)) = port.view(fetch.texture).map_err(trapped)? else {
            return Ok(None);
        };
        view.raw_texels(memory, &fetch.places(first), mask).map_err(trapped)
    }

    /// The results of all fetches for threads from `first` on, along the first axis, in the lanes of a mask.
    #[inline(always)]
    pub fn texels(
        &self,
        port: &mut Port<'_>,
        first: [u32; 3],
        mask: u16,
        out: &mut Vec<Fetched>,
    ) -> Result<(), RaisedTrap> {
        out.clear();
        for fetch in &self.fetches {
            let trapped = |trap| RaisedTrap { trap, index: fetch.index };
            out.push(fetch.texels(port, first, mask).map_err(trapped)?);
        }
        Ok(())
    }
}

impl Word {
    /// The words composed of the results of fetches.
    #[inline(always)]
    pub fn row(&self, fetched: &[Fetched]) -> Row {
        let mut word = Row::splat(0);
        for part in &self.0 {
            let Some(channels) = fetched.get(usize::from(part.fetch)) else { continue };
            let channel = &channels[usize::from(part.channel) % 4];
            for (word, channel) in word.0.iter_mut().zip(&channel.0) {
                *word |= (*channel).min(part.most) << (part.shift & 31);
            }
        }
        word
    }
}
