//! Messages of the sampler: filtered texels, texel fetches, comparisons, sizes.
//!
//! This module decodes a message into the parameters of its channels; [`state`] has samplers, [`filter`] the
//! filters, [`texel`] texel fetches, [`load`] loads of both.

mod filter;
mod load;
mod plain;
mod state;
mod strip;
mod texel;
mod texture;

use tepui_intel_eu::{Message, Refusal, ThreadView};
use tepui_texel::Floats;

use super::Ports;
use super::payload::{Payload, lanes, put_u32};
use super::refusal::{refuse, unimplemented};
use super::surface::{Dimension, Surface};
pub(crate) use filter::Unit;
use filter::{Lod, Request};
pub(super) use state::Sampler;
pub(super) use strip::loads_first_level;
pub(super) use texture::{Scratch, Texture};

/// Channels of the widest message.
pub(super) const WIDTH: usize = super::payload::LANES;

/// Messages.
///
/// source: Mesa, brw_eu_defines.h (`GFX5_SAMPLER_MESSAGE_*` to `GFX9_SAMPLER_MESSAGE_*`).
mod kind {
    pub const SAMPLE: u32 = 0;
    pub const SAMPLE_B: u32 = 1;
    pub const SAMPLE_L: u32 = 2;
    pub const SAMPLE_C: u32 = 3;
    pub const SAMPLE_D: u32 = 4;
    pub const SAMPLE_B_C: u32 = 5;
    pub const SAMPLE_L_C: u32 = 6;
    pub const LD: u32 = 7;
    pub const GATHER4: u32 = 8;
    pub const LOD: u32 = 9;
    pub const RESINFO: u32 = 10;
    pub const SAMPLEINFO: u32 = 11;
    pub const GATHER4_C: u32 = 16;
    pub const GATHER4_PO: u32 = 17;
    pub const GATHER4_PO_C: u32 = 18;
    pub const SAMPLE_D_C: u32 = 20;
    pub const SAMPLE_LZ: u32 = 24;
    pub const SAMPLE_C_LZ: u32 = 25;
    pub const LD_LZ: u32 = 26;
    pub const LD2DMS_W: u32 = 28;
    pub const LD_MCS: u32 = 29;
    pub const LD2DMS: u32 = 30;
    pub const LD2DSS: u32 = 31;
}

/// The parameters of a message.
struct Parameters<'p> {
    payload: &'p Payload,
    /// Registers per parameter, and the number of parameters.
    registers: usize,
    count: usize,
    width: usize,
}

impl Parameters<'_> {
    fn word(&self, k: usize, lane: usize) -> u32 {
        if k < self.count { self.payload.u32(k * self.registers, lane) } else { 0 }
    }

    /// A parameter of all channels; 0 if the message does not have it.
    fn floats(&self, k: usize) -> Floats<WIDTH> {
        let mut out = [0.0; WIDTH];
        for (lane, out) in out.iter_mut().enumerate().take(self.width) {
            *out = f32::from_bits(self.word(k, lane));
        }
        out
    }

    fn has(&self, k: usize) -> bool {
        k < self.count
    }
}

/// A signed four-bit number.
fn signed4(bits: u32) -> i32 {
    (bits << 28) as i32 >> 28
}

impl Ports<'_> {
    /// source: Mesa, brw_eu.h (`brw_sampler_desc`): bits 11:8 sampler, bits 16:12 message, bits 18:17
    /// SIMD mode, bit 30 returns halves.
    #[inline(never)]
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
        if self.plain_read(view, message, width)? {
            return Ok(());
        }
        let payload = Payload::new(view, message);
        let surface = self.surface(message)?;
        let registers = width / 8;
        let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
        let parameters = Parameters {
            payload: &payload,
            registers,
            count: (all - usize::from(message.header)) / registers,
            width,
        };
        let mut values = [[0; 4]; WIDTH];
        // source: Mesa, brw_lower_logical_sends.cpp: bit 23 of the header's M0.2 asks for a mask of the channels whose texels
        // have memory, which follows the components; intel_nir_lower_sparse.c: a bit for each channel.
        let masked = payload.header.is_some_and(|header| header[2] >> 23 & 1 != 0);
        let mut resident = 0;
        if masked {
            for lane in lanes(message, width) {
                let before = self.memory.null_reads();
                let single = Message { channels: 1 << lane, ..*message };
                self.texels(&single, &surface, &parameters, &payload, &mut values)?;
                resident |= u32::from(self.memory.null_reads() == before) << lane;
            }
        } else {
            self.texels(message, &surface, &parameters, &payload, &mut values)?;
        }
        // Bits 15:12 of the header's M0.2 exclude components from the response.
        let left_out = payload.header.map_or(0, |header| header[2] >> 12 & 0xf);
        let halves = message.desc >> 30 & 1 != 0;
        let integer = surface.is_integer();
        for lane in lanes(message, width) {
            let kept = (0..4).filter(|c| left_out >> c & 1 == 0);
            for (place, component) in kept.enumerate() {
                let value = values[lane][component];
                if halves {
                    let half = match integer {
                        true => value as u16,
                        false => tepui_texel::half::narrow(f32::from_bits(value)) as u16,
                    };
                    let at = 32 * place + 2 * lane;
                    if let Some(to) = view.response().get_mut(at..at + 2) {
                        to.copy_from_slice(&half.to_le_bytes());
                    }
                } else {
                    put_u32(view, place * registers, lane, value);
                }
            }
        }
        if masked {
            let of_component = if halves { 1 } else { registers };
            put_u32(view, (4 - left_out.count_ones() as usize) * of_component, 0, resident);
        }
        Ok(())
    }

    /// The texels of a message's channels.
    fn texels(
        &mut self,
        message: &Message,
        surface: &Surface,
        parameters: &Parameters<'_>,
        payload: &Payload,
        values: &mut [[u32; 4]; WIDTH],
    ) -> Result<(), Refusal> {
        let width = parameters.width;
        let p = |k: usize, lane: usize| parameters.word(k, lane);
        match message.desc >> 12 & 0x1f {
            kind::RESINFO => {
                for lane in lanes(message, width) {
                    values[lane] = sizes(surface, p(0, lane));
                }
            }
            kind::SAMPLEINFO => {
                let samples = match surface {
                    Surface::Image(image) => image.samples,
                    _ => 0,
                };
                values.fill([samples, 0, 0, 0]);
            }
            kind::LD => {
                for lane in lanes(message, width) {
                    let place = [p(0, lane), p(1, lane), p(3, lane)];
                    values[lane] = self.texel(surface, place, p(2, lane), 0)?;
                }
            }
            kind::LD_LZ => {
                for lane in lanes(message, width) {
                    let place = [p(0, lane), p(1, lane), p(2, lane)];
                    values[lane] = self.texel(surface, place, 0, 0)?;
                }
            }
            kind::LD_MCS => {
                for lane in lanes(message, width) {
                    let mcs = self.mcs(surface, [p(0, lane), p(1, lane), p(2, lane)])?;
                    values[lane] = [mcs as u32, (mcs >> 32) as u32, 0, 0];
                }
            }
            kind::LD2DMS_W => {
                for lane in lanes(message, width) {
                    let mcs = u64::from(p(1, lane)) | u64::from(p(2, lane)) << 32;
                    let place = [p(3, lane), p(4, lane), p(5, lane)];
                    values[lane] = self.sample_of(surface, place, p(6, lane), p(0, lane), mcs)?;
                }
            }
            kind::LD2DMS => {
                for lane in lanes(message, width) {
                    let mcs = u64::from(p(1, lane));
                    let place = [p(2, lane), p(3, lane), p(4, lane)];
                    values[lane] = self.sample_of(surface, place, p(5, lane), p(0, lane), mcs)?;
                }
            }
            kind::LD2DSS => {
                for lane in lanes(message, width) {
                    let place = [p(1, lane), p(2, lane), p(3, lane)];
                    values[lane] = self.texel(surface, place, p(4, lane), p(0, lane))?;
                }
            }
            other => {
                let request = request(other, parameters)?;
                self.filtered(message, surface, request, payload, values)?;
            }
        }
        Ok(())
    }

    /// The sampler at an address.
    fn sampler_at(&mut self, at: u64) -> Result<Sampler, Refusal> {
        if let Some((_, sampler)) = self.samplers.iter().find(|(place, _)| *place == at) {
            return Ok(*sampler);
        }
        let sampler =
            Sampler::read(&mut self.memory, at, self.shared.bases.dynamic, self.shared.revision())?;
        self.samplers.push((at, sampler));
        Ok(sampler)
    }

    /// Messages that filter or compare.
    fn filtered(
        &mut self,
        message: &Message,
        surface: &Surface,
        mut request: Request,
        payload: &Payload,
        values: &mut [[u32; 4]; WIDTH],
    ) -> Result<(), Refusal> {
        let image = match surface {
            Surface::Null => return Ok(()),
            Surface::Buffer(_) => return Err(refuse("a filtered texel of a buffer")),
            Surface::Image(image) => image,
        };
        let dynamic = self.shared.bases.dynamic;
        let mut at = self.shared.samplers;
        if let Some(header) = payload.header {
            // source: Mesa, brw_lower_logical_sends.cpp (`lower_sampler_logical_send`): the header
            // has the pointer to samplers, offsets of four bits for each axis and the channel.
            at = dynamic + u64::from(header[3] & !0x1f);
            let bits = header[2];
            request.offset = [signed4(bits >> 8), signed4(bits >> 4), signed4(bits)];
            request.channel = (bits >> 16 & 3) as usize;
        }
        at += 16 * u64::from(message.desc >> 8 & 0xf);
        let sampler = self.sampler_at(at)?;
        filter::sample(
            &mut self.memory,
            &mut self.blocks,
            image,
            &sampler,
            &request,
            message.channels,
            values,
        )
    }
}

/// The parameters of a message that filters, in their order.
fn request(number: u32, p: &Parameters<'_>) -> Result<Request, Refusal> {
    let mut next = 0;
    let mut take = || {
        next += 1;
        p.floats(next - 1)
    };
    let compared = matches!(
        number,
        kind::SAMPLE_C
            | kind::SAMPLE_B_C
            | kind::SAMPLE_L_C
            | kind::SAMPLE_D_C
            | kind::SAMPLE_C_LZ
            | kind::GATHER4_C
            | kind::GATHER4_PO_C
    );
    let reference = compared.then(&mut take);
    let zero = [0.0; WIDTH];
    let mut request = Request {
        coordinates: [zero; 4],
        reference,
        lod: Lod::Implicit,
        bias: None,
        least: None,
        offset: [0; 3],
        offsets: None,
        gathers: false,
        channel: 0,
        queries: false,
    };
    match number {
        kind::SAMPLE | kind::SAMPLE_C => {}
        kind::SAMPLE_B | kind::SAMPLE_B_C => request.bias = Some(take()),
        kind::SAMPLE_L | kind::SAMPLE_L_C => request.lod = Lod::Explicit(take()),
        kind::SAMPLE_LZ | kind::SAMPLE_C_LZ => request.lod = Lod::Explicit(zero),
        kind::GATHER4 | kind::GATHER4_C | kind::GATHER4_PO | kind::GATHER4_PO_C => {
            request.lod = Lod::Explicit(zero);
            request.gathers = true;
        }
        kind::LOD => request.queries = true,
        kind::SAMPLE_D | kind::SAMPLE_D_C => {
            // Each coordinate is followed by its derivatives to the right and down.
            let mut gradient = [[zero; 2]; 3];
            for (axis, rates) in gradient.iter_mut().enumerate() {
                request.coordinates[axis] = take();
                *rates = [take(), take()];
            }
            request.coordinates[3] = take();
            request.lod = Lod::Gradient(Box::new(gradient));
        }
        other => return Err(unimplemented(format!("message {other:#x} of the sampler"))),
    }
    match number {
        kind::SAMPLE_D | kind::SAMPLE_D_C => {}
        kind::GATHER4_PO | kind::GATHER4_PO_C => {
            request.coordinates[0] = take();
            request.coordinates[1] = take();
            // A signed six-bit number.
            let six = |row: Floats<WIDTH>| row.map(|v| (v.to_bits() << 26) as i32 >> 26);
            request.offsets = Some([six(take()), six(take())]);
            request.coordinates[2] = take();
        }
        _ => (0..4).for_each(|k| request.coordinates[k] = take()),
    }
    request.least = p.has(next).then(|| p.floats(next));
    Ok(request)
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
