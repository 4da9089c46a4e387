//! Messages of the render cache: render target writes and reads of pixel shaders.

use tepui_intel_chips::Generation;
use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::Ports;
use super::payload::{LANES, Payload, lanes, put_u32};
use super::refusal::{refuse, unimplemented};
use super::surface::Surface;
use crate::render::target::{BlockOperation, PixelWrite, Target};
use crate::render::write::Rows;

/// Payload forms of a render target write.
///
/// source: Mesa, brw_eu_defines.h (`BRW_DATAPORT_RENDER_TARGET_WRITE_*`).
mod form {
    pub const SIMD16: u32 = 0;
    pub const SIMD16_REPLICATED: u32 = 1;
    pub const SIMD8_DUAL_LOW: u32 = 2;
    pub const SIMD8_DUAL_HIGH: u32 = 3;
    pub const SIMD8: u32 = 4;
}

/// Whether a message writes the pixels of sixteen channels to the first target, without a header.
pub(super) fn writes_rows(message: &Message) -> bool {
    /// Message, form, half, and header bits.
    const FORM: u32 = 0xf << 14 | 7 << 8 | 1 << 11 | 1 << 19;
    const WRITE: u32 = 12 << 14 | form::SIMD16 << 8;
    message.desc & FORM == WRITE
}

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_fb_write_desc`): bits 17:14 message, bits 10:8 form, bit 11 the upper
    /// sixteen channels of a thread of 32. brw_lower_logical_sends.cpp (`lower_fb_write_logical_send`): the
    /// order of a payload's optional parts.
    #[inline(never)]
    pub(super) fn render_target_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        const WRITE: u32 = 12;
        const READ: u32 = 13;
        match message.desc >> 14 & 0xf {
            WRITE => {}
            READ => return self.render_target_read(view, message),
            other => return Err(unimplemented(format!("the message {other} of the render cache"))),
        }
        let (width, dual, replicated) = match message.desc >> 8 & 7 {
            form::SIMD16 => (16, false, false),
            form::SIMD16_REPLICATED => (16, false, true),
            form::SIMD8_DUAL_LOW | form::SIMD8_DUAL_HIGH => (8, true, false),
            form::SIMD8 => (8, false, false),
            other => {
                return Err(unimplemented(format!("the form {other} of render target writes")));
            }
        };
        // Gen12 has the header's fields in the extended descriptor, including whether there is a target at all.
        let extended = (self.shared.generation == Generation::Gen12).then_some(message.ex_desc);
        let no_target = extended.is_some_and(|bits| bits >> 20 & 1 != 0);
        let binding = if no_target { 0 } else { self.target(message)? };
        let Ports { memory, pixels, targets, kernels, .. } = self;
        let Some(back_end) = pixels.as_mut() else {
            return Err(refuse("a thread without pixels writes a render target"));
        };
        back_end.spread();
        let target = targets.get_mut(binding).filter(|_| !no_target);
        let mut target = target.and_then(|target| target.as_deref_mut());
        let registers = width / 8;
        let header = if message.header { view.dwords(0) } else { [0; 8] };
        // The header has two registers, of which `Payload` removes one.
        let skip = usize::from(message.header);
        let mut next = usize::from(message.header);
        let mut part = |there: bool, registers: usize| {
            let at = next;
            if there {
                next += registers;
            }
            there.then_some(at)
        };
        let alpha_present = match extended {
            Some(bits) => bits >> 15 & 1 != 0,
            None => message.header && header[0] >> 11 & 1 != 0,
        };
        let alpha = part(alpha_present, registers);
        let mask = part(back_end.output.mask_present, 1);
        let colour = part(true, if replicated { 1 } else { 4 * registers }).unwrap_or(0);
        let second = part(dual, 4);
        let depth = part(back_end.output.depth_present, registers);
        // Without a header, 3DSTATE_PS_EXTRA determines whether stencil is present.
        let stencil = part(
            match message.header {
                true => header[0] >> 14 & 1 != 0,
                false => back_end.output.stencil_present,
            },
            1,
        );
        // The remaining pixels, if shaders may discard: the last double word of the upper register.
        let index = extended.map_or(header[2], |bits| bits >> 12) as usize & 7;
        let first = usize::from(message.channel_offset);
        if let Some(target) = &target {
            back_end.prepare(memory, target, binding).map_err(refuse)?;
        }
        if let Some(target) = target.as_deref_mut()
            && [alpha, mask, depth, stencil] == [None; 4]
        {
            let rows = |at: usize, out: &mut [[u32; LANES]; 4]| {
                for (component, row) in out.iter_mut().enumerate() {
                    if replicated {
                        row.fill(view.dwords(skip + at)[component]);
                        continue;
                    }
                    let eights = row.as_chunks_mut().0.iter_mut().take(registers);
                    for (k, eight) in eights.enumerate() {
                        *eight = view.dwords(skip + at + component * registers + k);
                    }
                }
            };
            let mut written = Rows {
                first,
                channels: message.channels & ((1 << width) - 1),
                colour: [[0; LANES]; 4],
                second: None,
            };
            rows(colour, &mut written.colour);
            if let Some(second) = second {
                rows(second, written.second.get_or_insert([[0; LANES]; 4]));
            }
            if back_end
                .write_rows(memory, kernels, target, [index, binding], &written)
                .map_err(refuse)?
            {
                return Ok(());
            }
        }
        let payload = Payload::new(view, message);
        let target = target.as_deref();
        for lane in lanes(message, width) {
            let channel = first + lane;
            if back_end.covered[channel] == 0 {
                continue;
            }
            let of = |at: usize, component: usize| match replicated {
                true => payload.u32(at, component),
                false => payload.u32(at + component * registers, lane),
            };
            let colours = |at: usize| [0, 1, 2, 3].map(|component| of(at, component));
            let own = colours(colour);
            let written = PixelWrite {
                colour: own,
                second: second.map(colours).unwrap_or_default(),
                alpha: f32::from_bits(alpha.map_or(own[3], |at| payload.u32(at, lane))),
                // Sixteen bits per channel, for sixteen channels.
                mask: mask.map(|at| {
                    let place = channel % 16;
                    payload.u32(at, place / 2) >> (16 * (place % 2)) & 0xffff
                }),
                depth: depth.map(|at| f32::from_bits(payload.u32(at, lane))),
                stencil: stencil.map(|at| payload.byte(at, lane)),
            };
            back_end.write(memory, target, [index, binding], channel, &written).map_err(refuse)?;
        }
        Ok(())
    }

    /// Executes a write of a strip whose pixels are all written, without examining single channels. `false` for other
    /// messages.
    pub(super) fn store_strip(
        &mut self,
        view: &ThreadView<'_>,
        message: &Message,
    ) -> Result<bool, Refusal> {
        let Ports { memory, pixels, targets, kernels, .. } = self;
        let Some(back_end) = pixels.as_deref_mut() else { return Ok(false) };
        let Some(strip) = back_end.strip else { return Ok(false) };
        if !writes_rows(message)
            || message.channels & 0xffff != 0xffff
            || message.channel_offset != 0
        {
            return Ok(false);
        }
        let binding = (message.desc & 0xff) as usize;
        let Some(target) = targets.get_mut(binding).and_then(Option::as_deref_mut) else {
            return Ok(false);
        };
        let Some(colours) = view.rows(0) else { return Ok(false) };
        back_end.prepare(memory, target, binding).map_err(refuse)?;
        back_end.write_strip(memory, kernels, target, binding, strip, colours).map_err(refuse)
    }

    /// source: Mesa, brw_eu.h (`brw_fb_read_desc`): bit 8 SIMD8, bit 13 each channel is a sample.
    fn render_target_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let width = if message.desc >> 8 & 1 != 0 { 8 } else { 16 };
        let binding = self.target(message)?;
        let Ports { memory, pixels, targets, .. } = self;
        let Some(back_end) = pixels.as_mut() else {
            return Err(refuse("a thread without pixels reads a render target"));
        };
        back_end.spread();
        let Some(target) = targets[binding].as_deref() else { return Ok(()) };
        back_end.prepare(memory, target, binding).map_err(refuse)?;
        for lane in lanes(message, width) {
            let channel = usize::from(message.channel_offset) + lane;
            let of_sample = message.desc >> 13 & 1 != 0;
            let value =
                back_end.read(memory, target, binding, channel, of_sample).map_err(refuse)?;
            for (component, value) in value.into_iter().enumerate() {
                put_u32(view, component * width / 8, lane, value);
            }
        }
        Ok(())
    }

    /// The index of a message's render target; none if its surface is null.
    #[inline]
    pub(super) fn target(&mut self, message: &Message) -> Result<usize, Refusal> {
        let index = (message.desc & 0xff) as usize;
        if self.known_targets.get(index) != Some(&true) {
            self.find_target(message, index)?;
        }
        Ok(index)
    }

    #[cold]
    fn find_target(&mut self, message: &Message, index: usize) -> Result<(), Refusal> {
        let state = self.surface_state(message)?;
        let clears = self
            .pixels
            .as_deref()
            .is_some_and(|pixels| pixels.output.operation == Some(BlockOperation::Clear));
        let target = match self.shared.surface(&mut self.memory, state, clears)? {
            Surface::Null => None,
            Surface::Buffer(_) => return Err(unimplemented("a buffer as render target")),
            Surface::Image(image) => Some(Box::new(Target::new(image))),
        };
        if let Some(target) = target.as_ref().filter(|_| clears) {
            target.convert_clear(&mut self.memory).map_err(refuse)?;
        }
        if index >= self.targets.len() {
            self.targets.resize_with(index + 1, || None);
            self.known_targets.resize(index + 1, false);
        }
        self.targets[index] = target;
        self.known_targets[index] = true;
        Ok(())
    }
}
