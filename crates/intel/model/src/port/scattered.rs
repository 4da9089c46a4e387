//! Scattered messages: a byte, a word, a double word or more per channel.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::payload::{Payload, lanes, put_u32, put_u64};
use super::refusal::{refuse, unimplemented};
use super::{Ports, Space};

/// The form of a scattered message.
struct MessageForm {
    /// Number of channels.
    width: usize,
    /// Bytes of a channel's element.
    bytes: usize,
    /// Unit of an offset in bytes.
    unit: u64,
}

impl MessageForm {
    /// The form of a data cache 0 message.
    ///
    /// source: Mesa, brw_eu.h: bit 0 is SIMD16; of bytes, bits 3:2 are the logarithm of the
    /// element's bytes; offsets of double words count double words
    /// (brw_fs_nir.cpp, scratch addresses "in dwords").
    fn of(message: &Message) -> Result<MessageForm, Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let width = if control & 1 != 0 { 16 } else { 8 };
        let words = matches!(message.desc >> 14 & 0x1f, 3 | 11);
        if words {
            return Ok(MessageForm { width, bytes: 4, unit: 4 });
        }
        match control >> 2 & 3 {
            log @ 0..3 => Ok(MessageForm { width, bytes: 1 << log, unit: 1 }),
            _ => Err(refuse("a byte scattered message of an unknown size")),
        }
    }

    /// The form of a message with 64-bit addresses.
    ///
    /// source: Mesa, brw_eu.h: bits 1:0 are the element (byte, double word, quad word), bits 3:2 the
    /// logarithm of their number, bit 4 SIMD16.
    fn of_a64(message: &Message) -> Result<MessageForm, Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let width = if control >> 4 & 1 != 0 { 16 } else { 8 };
        let bytes = match (control & 3, control >> 2 & 3) {
            (0, log) => 1 << log,
            (1, 0) => 4,
            (2, 0) => 8,
            _ => return Err(unimplemented("a scattered message of several elements")),
        };
        Ok(MessageForm { width, bytes, unit: 1 })
    }
}

impl Ports<'_> {
    pub(super) fn scattered_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let form = MessageForm::of(message)?;
        let payload = Payload::new(view, message);
        let space = self.space(message, payload.header)?;
        self.gather(view, message, &form, space, |lane| u64::from(payload.u32(0, lane)))
    }

    pub(super) fn a64_scattered_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let form = MessageForm::of_a64(message)?;
        let payload = Payload::new(view, message);
        self.gather(view, message, &form, Space::Flat(0), |lane| payload.u64(0, lane))
    }

    fn gather(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        form: &MessageForm,
        space: Space,
        offset: impl Fn(usize) -> u64,
    ) -> Result<(), Refusal> {
        for lane in lanes(message, form.width) {
            let mut bytes = [0; 8];
            let at = offset(lane).wrapping_mul(form.unit);
            self.load(space, at, &mut bytes[..form.bytes])?;
            match form.bytes {
                8 => put_u64(view, 0, lane, u64::from_le_bytes(bytes)),
                _ => put_u32(view, 0, lane, u64::from_le_bytes(bytes) as u32),
            }
        }
        Ok(())
    }

    pub(super) fn scattered_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let form = MessageForm::of(message)?;
        let payload = Payload::new(view, message);
        let space = self.space(message, payload.header)?;
        let data = form.width / 8;
        self.scatter(message, &form, space, &payload, data, |lane| u64::from(payload.u32(0, lane)))
    }

    pub(super) fn a64_scattered_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let form = MessageForm::of_a64(message)?;
        let payload = Payload::new(view, message);
        let data = 2 * form.width / 8;
        self.scatter(message, &form, Space::Flat(0), &payload, data, |lane| payload.u64(0, lane))
    }

    fn scatter(
        &mut self,
        message: &Message,
        form: &MessageForm,
        space: Space,
        payload: &Payload,
        data: usize,
        offset: impl Fn(usize) -> u64,
    ) -> Result<(), Refusal> {
        for lane in lanes(message, form.width) {
            let value = match form.bytes {
                8 => payload.u64(data, lane),
                _ => payload.u32(data, lane).into(),
            };
            let at = offset(lane).wrapping_mul(form.unit);
            self.store(space, at, &value.to_le_bytes()[..form.bytes])?;
        }
        Ok(())
    }
}
