//! Copies areas of pixels whose threads copy texels, without executing the threads.
//!
//! The messages of such a thread have the effect of [`super::sampler`] and [`super::render`]: texels are read as the
//! sampler does (clear blocks included), and written as render target writes do. Unsupported cases are left to threads.

use tepui_intel_eu::TexelCopy;

use super::Ports;
use super::render::writes_rows;
use super::sampler::loads_first_level;
use super::surface::Surface;
use crate::format::MAX_BYTES;

/// An area of pixels, and the area of texels that they load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedArea {
    /// The first texel, and its layer.
    pub from: [u32; 2],
    pub layer: u32,
    /// The first pixel.
    pub to: [u32; 2],
    pub size: [u32; 2],
}

impl Ports<'_> {
    /// Copies an area as threads of a program would, with all pixels covered; `false` if the threads have to do it.
    pub fn copy_texels(&mut self, copy: &TexelCopy, area: &CopiedArea) -> bool {
        if !loads_first_level(&copy.load) || !writes_rows(&copy.write) {
            return false;
        }
        // Threads report errors of a surface.
        let (Ok(bound), Ok(binding)) = (self.bound(&copy.load), self.target(&copy.write)) else {
            return false;
        };
        let Ports { memory, surfaces, targets, pixels, .. } = self;
        let Some(back_end) = pixels.as_deref_mut() else { return false };
        let Some(target) = targets[binding].as_deref_mut() else { return false };
        let bound = &mut surfaces[bound];
        let Surface::Image(image) = &bound.surface else { return false };
        let format = image.format;
        let same = format.is(target.image.format)
            && format.keeps_bits()
            && image.swizzle == [4, 5, 6, 7]
            && target.order.is_same();
        if !same || !back_end.replaces(format) {
            return false;
        }
        let Some(source) = bound.texture.first_level(memory, image, area.layer) else {
            return false;
        };
        let marks = match image.may_be_clear {
            true => match bound.texture.marks(image, 0) {
                Some(marks) => Some(marks),
                None => return false,
            },
            false => None,
        };
        if back_end.prepare(memory, target, binding).is_err() || back_end.has_clear_blocks(binding)
        {
            return false;
        }
        let Some(level) = back_end.plain_level(memory, target) else { return false };
        let CopiedArea { from, layer, to, size } = *area;
        if !source.has(from, size) || !level.has(to, size) {
            return false;
        }
        let [width, height] = size;
        back_end.count_late(width * height);
        let Some(marks) = marks else {
            level.copy_area(to, &source, from, size);
            return true;
        };
        let mut clear = [0; MAX_BYTES];
        let clear = &mut clear[..format.bytes];
        format.pack(bound.texture.clear, clear);
        // Block by block; adjacent blocks with the same state are merged.
        let block = marks.block();
        let next = |at: u32, side: u32, end: u32| (at / side + 1).saturating_mul(side).min(end);
        let [right, bottom] = [from[0] + width, from[1] + height];
        let mut y = from[1];
        while y < bottom {
            let below = next(y, block[1], bottom);
            let mut x = from[0];
            while x < right {
                let is_clear = |memory: &mut _, x: u32| {
                    marks.is_clear_at(memory, [x, y], layer).unwrap_or(false)
                };
                let state = is_clear(memory, x);
                let mut end = next(x, block[0], right);
                while end < right && is_clear(memory, end) == state {
                    end = next(end, block[0], right);
                }
                let at = [to[0] + (x - from[0]), to[1] + (y - from[1])];
                match state {
                    true => {
                        level.fill([at[0]..at[0] + (end - x), at[1]..at[1] + (below - y)], clear)
                    }
                    false => level.copy_area(at, &source, [x, y], [end - x, below - y]),
                }
                x = end;
            }
            y = below;
        }
        true
    }
}
