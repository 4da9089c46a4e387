//! Messages of the pixel interpolator: barycentric coordinates at positions that a shader chooses.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::Ports;
use super::payload::{lanes, put_u32};
use super::refusal::{refuse, unimplemented};

/// Messages.
///
/// source: Mesa, brw_eu_defines.h (`GFX7_PIXEL_INTERPOLATOR_LOC_*`).
mod place {
    pub const SHARED_OFFSET: u32 = 0;
    pub const SAMPLE: u32 = 1;
    pub const SLOT_OFFSET: u32 = 3;
}

/// A signed four-bit number of sixteenths of a pixel.
fn sixteenths(bits: u32) -> f64 {
    f64::from((bits << 28) as i32 >> 28) / 16.0
}

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_pixel_interp_desc`): bits 13:12 message, bit 14 linear, bit 16
    /// SIMD16; brw_fs_nir.cpp (`emit_pixel_interpolater_send`): bits 7:4 the sample, or X in bits
    /// 3:0 and Y in bits 7:4 in sixteenths of a pixel from its centre.
    pub(super) fn interpolate(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let width = if message.desc >> 16 & 1 != 0 { 16 } else { 8 };
        let linear = message.desc >> 14 & 1 != 0;
        let kind = message.desc >> 12 & 3;
        if !matches!(kind, place::SHARED_OFFSET | place::SAMPLE | place::SLOT_OFFSET) {
            return Err(unimplemented("a message of the pixel interpolator for centroids"));
        }
        let Some(back_end) = self.pixels.as_deref_mut() else {
            return Err(refuse("a thread without pixels asks the pixel interpolator"));
        };
        back_end.spread();
        let payload = super::Payload::new(view, message);
        for lane in lanes(message, width) {
            let channel = lane + usize::from(message.channel_offset);
            let [x, y] = back_end.places[channel].map(f64::from);
            let from_centre = |[dx, dy]: [f64; 2]| [x + 0.5 + dx, y + 0.5 + dy];
            let point = match kind {
                place::SHARED_OFFSET => {
                    from_centre([message.desc, message.desc >> 4].map(sixteenths))
                }
                place::SAMPLE => {
                    let samples = &back_end.output.samples;
                    let sample = (message.desc >> 4 & 0xf) as usize;
                    let [dx, dy] = samples.px(sample.min(samples.count - 1)).map(f64::from);
                    [x + dx, y + dy]
                }
                _ => from_centre([0, 1].map(|k| sixteenths(payload.u32(k * width / 8, lane)))),
            };
            let found = back_end.interpolation.at(linear, point);
            // As in a thread's payload: eight channels of the first coordinate, followed by those of the
            // second.
            for (k, value) in found.into_iter().enumerate() {
                put_u32(view, 2 * (lane / 8) + k, lane % 8, value.to_bits());
            }
        }
        Ok(())
    }
}
