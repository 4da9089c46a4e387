//! Messages of the URB: reads and writes of vertices' entries.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::Ports;
use super::payload::{lanes, put_u32};
use super::refusal::{refuse, unimplemented};

/// Messages.
///
/// source: Mesa, brw_eu_defines.h (`GFX8_URB_OPCODE_*`).
mod kind {
    pub const SIMD8_WRITE: u32 = 7;
    pub const SIMD8_READ: u32 = 8;
}

/// Channels of a message.
const WIDTH: usize = 8;

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_urb_desc`): bits 3:0 message, bits 14:4 offset in units of 16
    /// bytes, bit 15 a mask of components for each channel, bit 17 an offset for each channel. The
    /// first register has the handles, which count 16 bytes here.
    pub(super) fn urb_message(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let handles = view.dwords(0);
        let mut first = 1;
        let mut optional = |bit: u32, otherwise: u32| match message.desc >> bit & 1 {
            0 => [otherwise; WIDTH],
            _ => {
                first += 1;
                view.dwords(first - 1)
            }
        };
        let offsets = optional(17, 0);
        let masks = optional(15, u32::MAX);
        let offset = message.desc >> 4 & 0x7ff;
        let place = |lane: usize, k: usize| {
            let at = handles[lane].wrapping_add(offset).wrapping_add(offsets[lane]);
            4 * at as usize + k
        };
        match message.desc & 0xf {
            kind::SIMD8_WRITE => {
                let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
                // No payload has more than fifteen registers.
                for k in 0..all.saturating_sub(first).min(15) {
                    let values = view.dwords(first + k);
                    for lane in lanes(message, WIDTH).filter(|&l| masks[l] >> (16 + k) & 1 != 0) {
                        let Some(to) = self.urb.get_mut(place(lane, k)) else {
                            return Err(refuse("a write behind the end of a URB entry"));
                        };
                        *to = values[lane];
                    }
                }
            }
            kind::SIMD8_READ => {
                for k in 0..usize::from(message.dst_registers) {
                    for lane in lanes(message, WIDTH) {
                        let value = self.urb.get(place(lane, k)).copied().unwrap_or(0);
                        put_u32(view, k, lane, value);
                    }
                }
            }
            other => return Err(unimplemented(format!("message {other} of the URB"))),
        }
        Ok(())
    }
}
