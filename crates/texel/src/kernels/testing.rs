//! A texture unit for tests: linear images, eight bits everywhere.

use crate::{LevelLayout, TextureUnit};

/// The unit.
pub struct Unit;

impl TextureUnit for Unit {
    const SUBTEXEL_BITS: u32 = 8;
    const LOD_BITS: u32 = 8;
    type Level = Linear;
}

/// Rows of texels.
pub struct Linear(pub [u32; 2]);

impl LevelLayout for Linear {
    fn size(&self) -> [u32; 2] {
        self.0
    }

    fn column(&self, x: u32) -> u32 {
        x
    }

    fn line(&self, y: u32) -> u32 {
        y * self.0[0]
    }

    fn plain_column(&self, x: u32) -> u32 {
        x
    }

    fn plain_line(&self, y: u32) -> u32 {
        y * self.0[0]
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn is_morton(&self) -> bool {
        false
    }
}
