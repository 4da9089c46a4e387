//! Untyped surface messages: one to four double words for each channel.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::{Payload, Ports, Space, lanes, put_u32, refuse};

/// The control field of an untyped surface message: bits 13:8 of the descriptor.
struct Control {
    /// Components that are read or written.
    components: Vec<usize>,
    /// Channels of the message.
    width: usize,
}

impl Control {
    /// source: Mesa, brw_eu.h: bits 3:0 mask the components that are left out (MDC_CMASK), bits 5:4
    /// the SIMD mode (MDC_SM3).
    fn of(message: &Message) -> Result<Control, Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let width = match control >> 4 {
            1 => 16,
            2 => 8,
            _ => return Err(refuse("an untyped surface message of SIMD4x2")),
        };
        Ok(Control { components: (0..4).filter(|c| control >> c & 1 == 0).collect(), width })
    }

    /// Registers of a double word for each channel.
    fn registers(&self) -> usize {
        self.width / 8
    }
}

impl Ports<'_> {
    pub(super) fn untyped_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let payload = Payload::new(view, message);
        let space = self.space(message, payload.header)?;
        self.read_components(view, message, &control, space, |lane| u64::from(payload.u32(0, lane)))
    }

    pub(super) fn a64_untyped_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let payload = Payload::new(view, message);
        self.read_components(view, message, &control, Space::Flat(0), |lane| payload.u64(0, lane))
    }

    fn read_components(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        control: &Control,
        space: Space,
        address: impl Fn(usize) -> u64,
    ) -> Result<(), Refusal> {
        for lane in lanes(message, control.width) {
            let at = address(lane);
            for (place, &component) in control.components.iter().enumerate() {
                let mut bytes = [0; 4];
                self.load(space, at.wrapping_add(4 * component as u64), &mut bytes)?;
                put_u32(view, place * control.registers(), lane, u32::from_le_bytes(bytes));
            }
        }
        Ok(())
    }

    pub(super) fn untyped_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let payload = Payload::new(view, message);
        let space = self.space(message, payload.header)?;
        let data = control.registers();
        self.write_components(message, &control, space, &payload, data, |lane| {
            u64::from(payload.u32(0, lane))
        })
    }

    pub(super) fn a64_untyped_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let payload = Payload::new(view, message);
        let data = 2 * control.registers();
        self.write_components(message, &control, Space::Flat(0), &payload, data, |lane| {
            payload.u64(0, lane)
        })
    }

    fn write_components(
        &mut self,
        message: &Message,
        control: &Control,
        space: Space,
        payload: &Payload,
        data: usize,
        address: impl Fn(usize) -> u64,
    ) -> Result<(), Refusal> {
        for lane in lanes(message, control.width) {
            let at = address(lane);
            for (place, &component) in control.components.iter().enumerate() {
                let value = payload.u32(data + place * control.registers(), lane);
                let at = at.wrapping_add(4 * component as u64);
                self.store(space, at, &value.to_le_bytes())?;
            }
        }
        Ok(())
    }
}
