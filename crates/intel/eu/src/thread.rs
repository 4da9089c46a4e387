//! The state of a thread.

use crate::fault::Fault;
use crate::message::{MessageUnit, REGISTER_BYTES};
use crate::program::Program;

/// General registers of a thread.
pub const REGISTERS: usize = 128;

/// How a thread starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Channels that are enabled: sr0.2, bit n is channel n.
    pub mask: u32,
    /// sr0.3, the vector mask of pixel shaders: all channels of subspans with a pixel inside.
    pub vector_mask: u32,
    /// sr0.0: where the thread runs, for programs that ask.
    pub state: u32,
    /// cr0.0 at the start: float mode (IEEE or alternative), rounding, denormals.
    pub control: u32,
    /// Byte offset of the first instruction from the program's start; programs with several entry
    /// points (SIMD8, 16 and 32 pixel shaders) are decoded once for each.
    pub entry: u32,
}

/// Why [`Thread::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The thread sent its last message.
    EndOfThread,
    /// It waits for a notification (`wait n0`): run it again after [`Thread::notify`].
    Waiting,
    /// A message asked for it ([`crate::Outcome::Yield`]): run it again.
    Yielded,
}

/// A thread: registers, flags, accumulators, flow control. About 5 KiB; a dispatcher keeps one for
/// each hardware thread that it plays and starts it again with [`Thread::start`].
pub struct Thread {
    grf: Box<[u8; REGISTERS * REGISTER_BYTES]>,
}

impl Thread {
    /// A thread that was never started, all registers 0.
    pub fn new() -> Thread {
        Thread { grf: Box::new([0; REGISTERS * REGISTER_BYTES]) }
    }

    /// Makes it a fresh thread at the program's entry. The general registers keep what was written
    /// to them: write the payload before or after ([`Thread::grf_mut`]).
    pub fn start(&mut self, dispatch: &Dispatch) {
        let _ = dispatch;
    }

    /// The general registers: register n is bytes 32 n to 32 n + 31.
    pub fn grf(&self) -> &[u8] {
        &self.grf[..]
    }

    /// The general registers, to write.
    pub fn grf_mut(&mut self) -> &mut [u8] {
        &mut self.grf[..]
    }

    /// Writes double words to the registers from `register` on: the payload of a dispatch.
    pub fn write_payload(&mut self, register: usize, dwords: &[u32]) {
        let bytes = &mut self.grf[register * REGISTER_BYTES..];
        for (bytes, dword) in bytes.chunks_exact_mut(4).zip(dwords) {
            bytes.copy_from_slice(&dword.to_le_bytes());
        }
    }

    /// A notification arrives: n0.0 counts up. The gateway calls it when a barrier is complete.
    pub fn notify(&mut self) {}

    /// Runs until the thread ends or waits.
    ///
    /// `budget` counts down with each instruction; at 0 the watchdog ends the thread.
    ///
    /// # Errors
    /// The first fault; the thread cannot go on after it.
    pub fn run(
        &mut self,
        program: &Program,
        units: &mut (impl MessageUnit + ?Sized),
        budget: &mut u64,
    ) -> Result<Stop, Fault> {
        let _ = (program, units, budget);
        unimplemented!("the interpreter comes with the instruction set")
    }
}

impl Default for Thread {
    fn default() -> Thread {
        Thread::new()
    }
}
