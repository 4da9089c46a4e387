//! Render target writes of pixel shaders.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::surface::Surface;
use super::{Payload, Ports, lanes, refuse, unimplemented};
use crate::format::MOST_BYTES;

/// The pixels of a thread, and what may be written to them.
#[derive(Clone, Copy)]
pub(crate) struct Pixels {
    /// X and Y of each channel.
    pub places: [[u32; 2]; 32],
    /// The layer of the render targets.
    pub layer: u32,
    /// The components that are written, of each target.
    pub write: [[bool; 4]; 8],
}

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_fb_write_desc`), brw_eu_defines.h: bits 17:14 message, bits 10:8
    /// form: 0 SIMD16, 1 one colour for all of SIMD16, 4 SIMD8.
    pub(super) fn render_target_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        const WRITE: u32 = 12;
        if message.desc >> 14 & 0xf != WRITE {
            return Err(unimplemented("a render target read"));
        }
        let pixels =
            self.pixels.ok_or_else(|| refuse("a compute thread writes a render target"))?;
        let (width, replicated) = match message.desc >> 8 & 7 {
            0 => (16, false),
            1 => (16, true),
            4 => (8, false),
            other => {
                return Err(unimplemented(format!("the form {other} of render target writes")));
            }
        };
        let payload = Payload::new(view, message);
        // The header has two registers, of which the payload has taken off one.
        let first = usize::from(message.header);
        let target = payload.header.map_or(0, |header| header[2] & 7) as usize;
        let Surface::Image(image) = self.surface(message)? else {
            // Writes to the null surface are lost.
            return Ok(());
        };
        let format = image.format;
        let write = pixels.write[target];
        for lane in lanes(message, width) {
            let [x, y] = pixels.places[lane + usize::from(message.channel_offset)];
            let Some(at) = image.texel(image.target_level, x, y, pixels.layer) else { continue };
            let colour = [0, 1, 2, 3].map(|component| match replicated {
                true => payload.u32(first, component),
                false => payload.u32(first + component * width / 8, lane),
            });
            let mut bytes = [0; MOST_BYTES];
            let texel = &mut bytes[..format.bytes];
            if write == [true; 4] {
                format.pack(colour, texel);
            } else {
                self.memory.read(at, texel).map_err(refuse)?;
                format.pack_some(colour, write, texel);
            }
            self.memory.write(at, texel).map_err(refuse)?;
        }
        Ok(())
    }
}
