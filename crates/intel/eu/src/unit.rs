//! The shared functions that receive messages, and their view of the thread.

use crate::fault::Refusal;
use crate::finding::{Finding, FindingKind, UnwrittenStorage};
use crate::memory::REGISTER_BYTES;
use crate::message::Message;
use crate::state::Thread;

/// A unit's view of the sending thread: the registers that the message names.
pub struct ThreadView<'t> {
    thread: &'t mut Thread,
    message: &'t Message,
}

impl<'t> ThreadView<'t> {
    #[inline]
    pub(crate) fn new(thread: &'t mut Thread, message: &'t Message) -> ThreadView<'t> {
        ThreadView { thread, message }
    }

    /// The payload: the bytes of the registers from `src0` on. Empty for the null register.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.registers(self.message.src0, self.message.src0_registers)
    }

    /// The second payload of a split send.
    #[inline]
    pub fn payload1(&self) -> &[u8] {
        self.registers(self.message.src1, self.message.src1_registers)
    }

    /// The registers of the response. Bytes that the unit does not write keep their values, so a unit that
    /// respects the channel mask writes only the enabled channels.
    #[inline]
    pub fn response(&mut self) -> &mut [u8] {
        match self.message.dst {
            Some(first) => {
                let from = usize::from(first) * REGISTER_BYTES;
                let bytes = usize::from(self.message.dst_registers) * REGISTER_BYTES;
                let to = (from + bytes).min(self.thread.grf().len());
                &mut self.thread.grf_mut()[from..to]
            }
            None => &mut [],
        }
    }

    /// Register `n` of the payload as eight double words: zeros if the payload has no such register.
    /// Registers from `src0_registers` on are those of the second payload.
    #[inline]
    pub fn dwords(&self, n: usize) -> [u32; 8] {
        let first = self.payload();
        let bytes = match n * REGISTER_BYTES {
            at if at < first.len() => &first[at..],
            at => self.payload1().get(at - first.len()..).unwrap_or(&[]),
        };
        let register = bytes.first_chunk::<REGISTER_BYTES>();
        register
            .map_or([0; 8], |register| bytemuck::cast::<_, [u32; 8]>(*register).map(u32::from_le))
    }

    /// Registers `n` to `n` + `ROWS` / 2 of one payload as rows of sixteen double words; `None` if they are not all in
    /// one of the payloads, and on big-endian hosts.
    #[inline]
    pub fn rows<const ROWS: usize>(&self, n: usize) -> Option<&[[u32; 16]; ROWS]> {
        let first = self.payload();
        let bytes = match n * REGISTER_BYTES {
            at if at < first.len() => &first[at..],
            at => self.payload1().get(at - first.len()..)?,
        };
        let bytes = bytes.get(..size_of::<[[u32; 16]; ROWS]>())?;
        let rows: &[[u32; 16]] = bytemuck::try_cast_slice(bytes).ok()?;
        rows.try_into().ok().filter(|_| cfg!(target_endian = "little"))
    }

    /// The registers of the response as rows of sixteen double words.
    #[inline]
    pub fn response_rows(&mut self) -> Option<&mut [[u32; 16]]> {
        let little = cfg!(target_endian = "little");
        bytemuck::try_cast_slice_mut(self.response()).ok().filter(|_| little)
    }

    /// Writes eight double words to register `n` of the response, in the channels of `mask`.
    #[inline]
    pub fn respond(&mut self, n: usize, dwords: [u32; 8], mask: u8) {
        let response = self.response();
        let Some(bytes) = response.get_mut(n * REGISTER_BYTES..) else { return };
        let Some(register) = bytes.first_chunk_mut::<REGISTER_BYTES>() else { return };
        if mask == 0xff {
            *register = bytemuck::cast(dwords.map(u32::to_le));
            return;
        }
        for (lane, (dword, bytes)) in dwords.iter().zip(register.as_chunks_mut().0).enumerate() {
            if mask >> lane & 1 != 0 {
                *bytes = dword.to_le_bytes();
            }
        }
    }

    /// The message.
    pub fn message(&self) -> &Message {
        self.message
    }

    /// Adds a finding to those of a checked thread.
    #[cold]
    pub fn note(&mut self, unwritten: UnwrittenStorage, what: impl FnOnce() -> String) {
        if let Some(checker) = &mut self.thread.checker {
            checker.note(self.message.ip, FindingKind::Unwritten(unwritten), what);
        }
    }

    /// The thread, with all its registers.
    pub fn thread(&mut self) -> &mut Thread {
        self.thread
    }

    #[inline]
    fn registers(&self, first: Option<u8>, count: u8) -> &[u8] {
        let Some(first) = first else { return &[] };
        let grf = self.thread.grf();
        let from = usize::from(first) * REGISTER_BYTES;
        &grf[from..(from + usize::from(count) * REGISTER_BYTES).min(grf.len())]
    }
}

/// An instruction of an observed thread, before it executes.
pub struct Step<'t> {
    /// Byte offset of the instruction from the program's start.
    pub ip: u32,
    /// Channels that execute it: those at the instruction pointer, of instructions with a mask as far as their predicate and
    /// their range of channels allow.
    pub exec: u32,
    /// Channels that the dispatch enabled.
    pub alive: u32,
    /// The message that it sends.
    pub message: Option<Message>,
    /// The thread.
    pub thread: &'t Thread,
}

/// The continuation of a thread after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It continues, or ends if the message says so.
    Done,
    /// It continues, but [`Thread::run`] returns [`crate::Stop::Yielded`] first: the unit has work that it
    /// cannot do while it borrows the thread.
    Yield,
}

/// The shared functions outside of the execution units: sampler, data ports, URB, gateway, render cache. The
/// model implements it.
///
/// Barriers work as follows: the gateway counts the threads of the group that sent the barrier message, and
/// after the last one calls [`Thread::notify`] for each. A thread that executes `wait n0` without a
/// notification stops with [`crate::Stop::Waiting`]; it is run again after its notification.
pub trait MessageUnit {
    /// Executes a message and writes its response.
    ///
    /// # Errors
    /// The unit does not know the message, or the message faults; the interpreter converts this to a
    /// [`crate::Fault`] with the instruction that sent it.
    fn send(&mut self, thread: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal>;

    /// Is told of each instruction of an observed thread ([`Thread::observed`]) before it executes.
    fn observe(&mut self, step: &Step<'_>) {
        let _ = step;
    }

    /// Takes the findings of a thread that is checked ([`Thread::checked`]).
    fn found(&mut self, findings: Vec<Finding>) {
        drop(findings);
    }
}
