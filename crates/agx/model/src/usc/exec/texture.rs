//! Texture and image instructions: hands coordinates and descriptors to the texture unit.

use super::{Lanes, Next, Op};

/// Samples, loads, gathers or queries a texture.
#[inline(always)]
pub fn texture<const FAST: bool>(l: &mut Lanes<'_, '_>, _: &Op) -> Next {
    l.fail("texture instructions are not executed by this model yet")
}

/// Writes to an image.
#[inline(always)]
pub fn image_write<const FAST: bool>(l: &mut Lanes<'_, '_>, _: &Op) -> Next {
    l.fail("image writes are not executed by this model yet")
}
