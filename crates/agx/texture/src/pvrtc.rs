//! PVRTC texels. Each depends on the words of four blocks, which are fetched separately.
//!
//! Assumption: words lie where blocks of other formats with as many bytes lie, and the image wraps
//! at the edges of each level. Mesa does not use these formats, and Apple documents neither.

use tepui_format::block::PvrtcCodec;
use tepui_texel::lanes;

use crate::error::Fault;
use crate::filter::Filter;
use crate::image::Level;
use crate::lanes::Texels;
use crate::memory::Memory;
use crate::{Ints, LANES, Row};

impl<M: Memory> Filter<'_, M> {
    /// The words of PVRTC texels. `at` are columns and rows inside the level;
    /// `outside` are the lanes that need no texel.
    #[cold]
    pub(crate) fn pvrtc(
        &mut self,
        level: &Level,
        at: [&Ints; 2],
        layer: &Row,
        outside: &Row,
        words: &mut [Row; 4],
    ) -> Result<(), Fault> {
        let Ok(codec) = PvrtcCodec::new(self.unpacker.format) else {
            return Err(Fault::Unknown("a format that is no PVRTC"));
        };
        let [width, height] = self.fetch.image.block;
        let blocks = [level.width.div_ceil(width), level.height.div_ceil(height)];
        let mut around = [[[0; 2]; 2]; LANES];
        for i in 0..LANES {
            around[i] = codec.blocks(at[0][i] as u32, at[1][i] as u32, blocks);
        }
        let mut quads = [[[0; 2]; 2]; LANES];
        for row in 0..2 {
            for column in 0..2 {
                let mut place = [[0; LANES]; 2];
                for i in 0..LANES {
                    place[0][i] = (around[i][0][column] * width) as i32;
                    place[1][i] = (around[i][1][row] * height) as i32;
                }
                let [x, y] = &place;
                let (mut elements, mut ignored) = ([0; LANES], [0; LANES]);
                self.kernels.place(level, [x, y], [outside; 3], &mut elements, &mut ignored);
                let texels = Texels { level, at: [x, y], layer, sample: &self.sample, outside };
                let mut bits = [[0; LANES]; 4];
                self.fetch.words(self.kernels, &texels, &mut elements, &mut bits);
                for i in 0..LANES {
                    quads[i][row][column] = u64::from(bits[1][i]) << 32 | u64::from(bits[0][i]);
                }
            }
        }
        for i in lanes(self.fetch.exec) {
            let texel = codec.rgba8(&quads[i], at[0][i] as u32, at[1][i] as u32);
            words[0][i] = u32::from_le_bytes(texel);
        }
        Ok(())
    }
}
