//! Texels and words of sixteen threads that are side by side.

use super::super::message::{Port, Texel, swizzled_rows};
use super::super::op::Trap;
use super::super::row::{LANES, Row};
use super::super::run::Trapped;
use super::value::Word;
use super::{Copies, Fetch};

/// The channels of a fetch: zeros where no texture is bound.
pub type Fetched = [Row; 4];

impl Fetch {
    /// The channels of the texels of threads from a place on, along the first axis, in the lanes of a mask.
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
        let [x, y, z] = &self.at;
        let (x, y, z, layer) = (x.row(first), y.row(first), z.row(first), self.layer.row(first));
        let mut at = [Texel::default(); LANES];
        for (lane, at) in at.iter_mut().enumerate() {
            *at = Texel { x: x[lane], y: y[lane], z: z[lane], layer: layer[lane], level: 0 };
        }
        let kind = view.kind();
        let values = view.texels(memory, &at, mask, kind)?;
        Ok(swizzled_rows(&values, view.texture.swizzle, kind))
    }
}

impl Copies {
    /// What all fetches give to threads from a place on, along the first axis, in the lanes of a mask.
    #[inline(always)]
    pub fn texels(
        &self,
        port: &mut Port<'_>,
        first: [u32; 3],
        mask: u16,
        out: &mut Vec<Fetched>,
    ) -> Result<(), Trapped> {
        out.clear();
        for fetch in &self.fetches {
            let trapped = |trap| Trapped { trap, index: fetch.index };
            out.push(fetch.texels(port, first, mask).map_err(trapped)?);
        }
        Ok(())
    }
}

impl Word {
    /// The words that are made of what fetches gave.
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
