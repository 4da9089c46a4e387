//! Block messages: runs of 16 bytes at one address for the whole thread. Reads ignore channels; in writes,
//! each channel enables the double word of its number.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::payload::Payload;
use super::refusal::refuse;
use super::{Ports, Space};

/// Bytes of an OWORD, the unit of blocks.
const OWORD: u64 = 16;

/// Number of OWORDs of a block, and the index of the first one within its register.
///
/// source: Mesa, brw_eu_defines.h (`BRW_DATAPORT_OWORD_BLOCK_*`).
fn size(control: u32) -> Result<(usize, usize), Refusal> {
    match control & 7 {
        0 => Ok((1, 0)),
        1 => Ok((1, 1)),
        2 => Ok((2, 0)),
        3 => Ok((4, 0)),
        4 => Ok((8, 0)),
        other => Err(refuse(format!("a block of the unknown size {other}"))),
    }
}

impl Ports<'_> {
    /// The first byte of a block of data cache 0: the header's third double word, in bytes for unaligned
    /// reads and in OWORDs otherwise.
    fn block_start(message: &Message, header: Option<[u32; 8]>) -> Result<u64, Refusal> {
        let offset = header.ok_or_else(|| refuse("a block message without a header"))?[2];
        let unaligned = message.desc >> 14 & 0x1f == 1;
        Ok(u64::from(offset) * if unaligned { 1 } else { OWORD })
    }

    pub(super) fn block_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let header = Payload::new(view, message).header;
        let at = Self::block_start(message, header)?;
        let space = self.space(message, header)?;
        self.read_owords(view, space, at, size(message.desc >> 8)?)
    }

    pub(super) fn a64_block_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let at = Self::a64_start(view, message)?;
        self.read_owords(view, Space::Flat(0), at, size(message.desc >> 8)?)
    }

    fn a64_start(view: &ThreadView<'_>, message: &Message) -> Result<u64, Refusal> {
        let header = Payload::new(view, message).header;
        let header = header.ok_or_else(|| refuse("a block message without a header"))?;
        Ok(u64::from(header[0]) | u64::from(header[1]) << 32)
    }

    /// Reads double word by double word, so that the part of a block inside of the surface is read.
    fn read_owords(
        &mut self,
        view: &mut ThreadView<'_>,
        space: Space,
        at: u64,
        (count, place): (usize, usize),
    ) -> Result<(), Refusal> {
        for dword in 0..4 * count {
            let mut bytes = [0; 4];
            self.load(space, at.wrapping_add(4 * dword as u64), &mut bytes)?;
            super::put_u32(view, 0, 4 * place + dword, u32::from_le_bytes(bytes));
        }
        Ok(())
    }

    pub(super) fn block_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let payload = Payload::new(view, message);
        let at = Self::block_start(message, payload.header)?;
        let space = self.space(message, payload.header)?;
        self.write_owords(message, &payload, space, at, size(message.desc >> 8)?)
    }

    pub(super) fn a64_block_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let payload = Payload::new(view, message);
        let at = Self::a64_start(view, message)?;
        self.write_owords(message, &payload, Space::Flat(0), at, size(message.desc >> 8)?)
    }

    /// Spills in divergent control flow rely on the channels: Mesa (brw_reg_allocate.cpp) stores without
    /// reading first. Double words past the instruction's channels are written.
    fn write_owords(
        &mut self,
        message: &Message,
        payload: &Payload,
        space: Space,
        at: u64,
        (count, place): (usize, usize),
    ) -> Result<(), Refusal> {
        for dword in 0..4 * count {
            let enabled =
                dword >= usize::from(message.exec_size) || message.channels >> dword & 1 != 0;
            if !enabled {
                continue;
            }
            let value = payload.u32(0, 4 * place + dword);
            self.store(space, at.wrapping_add(4 * dword as u64), &value.to_le_bytes())?;
        }
        Ok(())
    }

    /// Scratch block messages, for spills: whole registers of scratch memory.
    ///
    /// source: IVB PRM volume 4 part 1, "scratch block": bit 17 writes, bits 13:12 are the number of
    /// registers, bits 11:0 the offset in registers.
    pub(super) fn scratch_block(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        const REGISTER: u64 = 32;
        let payload = Payload::new(view, message);
        let header = payload.header.ok_or_else(|| refuse("a scratch block without a header"))?;
        let base = self.shared.bases.general + u64::from(header[5] & !0x3ff);
        let at = REGISTER * u64::from(message.desc & 0xfff);
        // source: Mesa, elk_eu_emit.c (gfx7_set_dp_scratch_message): from Gen8 on the logarithm.
        let registers = 1usize << (message.desc >> 12 & 3);
        let owords = (2 * registers, 0);
        match message.desc >> 17 & 1 {
            0 => self.read_owords(view, Space::Flat(base), at, owords),
            _ => self.write_owords(message, &payload, Space::Flat(base), at, owords),
        }
    }
}
