//! Single texels for fetches by coordinates.

use tepui_intel_eu::Refusal;

use super::super::Ports;
use super::super::auxiliary::{is_clear_pixel, slice};
use super::super::refusal::refuse;
use super::super::surface::{Dimension, Image, Surface};
use super::load::load;
use super::texture::swizzled;
use crate::format::Format;

impl Ports<'_> {
    /// A sample of a texel by its coordinates; zeros outside of the surface.
    pub(super) fn texel(
        &mut self,
        surface: &Surface,
        [u, v, r]: [u32; 3],
        lod: u32,
        sample: u32,
    ) -> Result<[u32; 4], Refusal> {
        let (at, format, swizzle, place) = match surface {
            Surface::Null => return Ok([0; 4]),
            Surface::Buffer(buffer) => {
                let format = buffer.format.ok_or_else(|| refuse("a texel of a raw buffer"))?;
                (buffer.element(u), format, buffer.swizzle, [0; 2])
            }
            Surface::Image(image) => {
                let (y, layer) = match image.dimension {
                    Dimension::One => (0, v),
                    _ => (v, r),
                };
                let inside = image.has_level(lod)
                    && sample < image.samples
                    && (image.array || r == 0 || image.is_three());
                let level = image.level.saturating_add(lod);
                let at = match inside {
                    true => image.sampled_plane(level).texel(image, [u, y], layer, sample),
                    false => None,
                };
                if image.may_be_clear
                    && let Some(at) = at
                    && image.is_clear(&mut self.memory, level, [u, y], layer).map_err(refuse)?
                {
                    image.report_clear(&self.memory, at);
                    let clear = image.clear_texel();
                    return Ok(swizzled(clear, image.swizzle, image.format.one()));
                }
                let [width, height] = image.format.block;
                (at, image.format, image.swizzle, [u % width, y % height])
            }
        };
        let value = match at {
            Some(at) => load(&mut self.memory, &mut self.blocks, format, at, place)?,
            // An alpha that the format does not have is 1 outside, too.
            None => format.present([0; 4]),
        };
        Ok(swizzled(value, swizzle, format.one()))
    }
}

impl Ports<'_> {
    /// The MCS value of a texel; 0 if the surface has no MCS, and outside of the surface.
    pub(super) fn mcs(&mut self, surface: &Surface, [u, v, r]: [u32; 3]) -> Result<u64, Refusal> {
        let Surface::Image(image) = surface else { return Ok(0) };
        let Some(mcs) = image.mcs() else { return Ok(0) };
        let [width, height, _] = image.level_size(0);
        if u >= width || v >= height || r >= image.layers {
            return Ok(0);
        }
        mcs.plane(image, 0).mcs(&mut self.memory, [u, v], r).map_err(refuse)
    }

    /// A sample of a texel, given its MCS value.
    pub(super) fn sample_of(
        &mut self,
        surface: &Surface,
        place: [u32; 3],
        lod: u32,
        sample: u32,
        mcs: u64,
    ) -> Result<[u32; 4], Refusal> {
        if let Surface::Image(image) = surface
            && image.mcs().is_some()
            && sample < image.samples
        {
            if is_clear_pixel(image.samples, mcs) {
                let [u, v, r] = place;
                if let Some(at) = image.sampled_plane(image.level).texel(image, [u, v], r, sample) {
                    image.report_clear(&self.memory, at);
                }
                return Ok(swizzled(image.clear_texel(), image.swizzle, image.format.one()));
            }
            return self.texel(surface, place, lod, slice(image.samples, mcs, sample));
        }
        self.texel(surface, place, lod, sample)
    }
}

impl Image {
    fn is_three(&self) -> bool {
        self.dimension == Dimension::Three
    }
}

impl Surface {
    /// Whether texels are integers.
    pub(super) fn is_integer(&self) -> bool {
        match self {
            Surface::Image(image) => image.format.is_integer(),
            Surface::Buffer(buffer) => buffer.format.is_some_and(Format::is_integer),
            Surface::Null => false,
        }
    }
}
