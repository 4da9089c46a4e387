//! Messages that `send` passes to the shared functions.

use tepui_intel_isa::{Sfid, message as fields};

/// A message as the thread sends it, with the descriptors resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Byte offset of the instruction from the program's start.
    pub ip: u32,
    /// The unit that receives it.
    pub sfid: Sfid,
    /// The descriptor: bits 18:0 are the function control, as the unit defines them; immediate, or
    /// the value of a0.
    pub desc: u32,
    /// The extended descriptor of a split send; 0 otherwise.
    pub ex_desc: u32,
    /// Channels of the instruction.
    pub exec_size: u8,
    /// Number of the instruction's first channel within the thread's 32.
    pub channel_offset: u8,
    /// Channels that execute the message: bit n is the instruction's channel n (channel
    /// [`Self::channel_offset`] + n of the thread), with flow control, dispatch mask and predicate applied;
    /// all channels if the instruction has no mask.
    pub channels: u32,
    /// First register of the payload; `None` for the null register.
    pub src0: Option<u8>,
    /// Registers of the payload (bits 28:25 of the descriptor).
    pub src0_registers: u8,
    /// First register of the second payload of a split send.
    pub src1: Option<u8>,
    /// Registers of the second payload.
    pub src1_registers: u8,
    /// First register that the response is written to; `None` for the null register.
    pub dst: Option<u8>,
    /// Registers of the response (bits 24:20 of the descriptor).
    pub dst_registers: u8,
    /// Whether the first register of the payload is a header (bit 19).
    pub header: bool,
    /// Whether the thread ends with this message.
    pub end_of_thread: bool,
}

impl Message {
    /// Sets the descriptors, and the register counts that they contain.
    pub(crate) fn describe(&mut self, desc: u32, ex_desc: u32) {
        (self.desc, self.ex_desc) = (desc, ex_desc);
        self.src0_registers = fields::payload_registers(desc);
        self.src1_registers = fields::payload1_registers(ex_desc);
        self.dst_registers = fields::response_registers(desc);
        self.header = fields::has_header(desc);
    }

    /// The descriptor's function control: its bits 18:0.
    pub fn function_control(&self) -> u32 {
        self.desc & 0x7_ffff
    }
}
