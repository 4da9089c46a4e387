//! Messages of the sampler that need no sampler: texels by their coordinates, and sizes.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::surface::{Dimension, Image, Surface};
use super::{Payload, Ports, lanes, put_u32, refuse, unimplemented};
use crate::format::MOST_BYTES;

/// Messages.
///
/// source: Mesa, brw_eu_defines.h (`GFX5_SAMPLER_MESSAGE_*`, `GFX9_SAMPLER_MESSAGE_*`).
mod kind {
    pub const LD: u32 = 7;
    pub const RESINFO: u32 = 10;
    pub const LD_LZ: u32 = 26;
}

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_sampler_desc`): bits 16:12 message, bits 18:17 SIMD mode, bit 30
    /// returns halves.
    pub(super) fn sampler(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let width = match message.desc >> 17 & 3 {
            1 => 8,
            2 => 16,
            _ => return Err(refuse("a sampler message of an unknown width")),
        };
        if message.desc >> 30 & 1 != 0 {
            return Err(unimplemented("a sampler message that returns 16 bits"));
        }
        let payload = Payload::new(view, message);
        let surface = self.surface(message)?;
        let registers = width / 8;
        let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
        let parameters = (all - usize::from(message.header)) / registers;
        let parameter = |lane: usize, k: usize| match k < parameters {
            true => payload.u32(k * registers, lane),
            false => 0,
        };
        // Bits 15:12 of the header's M0.2 leave components out of the response.
        let left_out = payload.header.map_or(0, |header| header[2] >> 12 & 0xf);
        for lane in lanes(message, width) {
            let p = [0, 1, 2, 3].map(|k| parameter(lane, k));
            let value = match message.desc >> 12 & 0x1f {
                kind::RESINFO => sizes(&surface, p[0]),
                kind::LD => self.fetch(&surface, [p[0], p[1], p[3]], p[2])?,
                kind::LD_LZ => self.fetch(&surface, [p[0], p[1], p[2]], 0)?,
                other => return Err(unimplemented(format!("message {other:#x} of the sampler"))),
            };
            let kept = (0..4).filter(|c| left_out >> c & 1 == 0);
            for (place, component) in kept.enumerate() {
                put_u32(view, place * registers, lane, value[component]);
            }
        }
        Ok(())
    }

    /// A texel by its coordinates; zeros outside of the surface.
    fn fetch(
        &mut self,
        surface: &Surface,
        [u, v, r]: [u32; 3],
        lod: u32,
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
                let inside = lod < image.levels && (image.array || r == 0 || image.is_three());
                let level = image.level.saturating_add(lod);
                let at = if inside { image.texel(level, u, y, layer) } else { None };
                let [width, height] = image.format.block;
                (at, image.format, image.swizzle, [u % width, y % height])
            }
        };
        let Some(at) = at else { return Ok([0; 4]) };
        let mut bytes = [0; MOST_BYTES];
        let texel = &mut bytes[..format.bytes];
        self.memory.read(at, texel).map_err(refuse)?;
        let value = format.unpack(texel, place);
        // source: genxml, Shader Channel Select.
        Ok(swizzle.map(|select| match select {
            4..=7 => value[select as usize - 4],
            1 => format.one(),
            _ => 0,
        }))
    }
}

impl Image {
    fn is_three(&self) -> bool {
        self.dimension == Dimension::Three
    }
}

/// The sizes of a level of a surface, and the number of its levels.
fn sizes(surface: &Surface, lod: u32) -> [u32; 4] {
    match surface {
        Surface::Null => [0; 4],
        Surface::Buffer(buffer) => [buffer.elements as u32, 0, 0, 0],
        Surface::Image(image) if lod >= image.levels => [0, 0, 0, image.levels],
        Surface::Image(image) => {
            let [w, h, d] = image.level_size(image.level + lod);
            let layers = if image.cube { image.layers / 6 } else { image.layers };
            match (image.dimension, image.array) {
                (Dimension::One, true) => [w, layers, 0, image.levels],
                (Dimension::One, false) => [w, 0, 0, image.levels],
                (Dimension::Two, true) => [w, h, layers, image.levels],
                (Dimension::Two, false) => [w, h, 0, image.levels],
                (Dimension::Three, _) => [w, h, d, image.levels],
            }
        }
    }
}
