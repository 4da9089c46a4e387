//! Interpreter of the command streams of Mali GPUs (v10): registers, arithmetic, loads and stores, branches,
//! calls and sync objects.
//!
//! A [`FrontEnd`] is the state of a queue. [`FrontEnd::step`] executes one instruction on a [`Memory`]; an
//! instruction that another unit executes (RUN_COMPUTE and the like) is given back as [`Step::Work`]. The model runs
//! streams with it, and the decoder follows them.
//!
//! ```
//! use tepui_mali_packets::cs::{CsMove32, CsOpcode};
//! use tepui_mali_packets::Packet;
//! use tepui_mali_streams::{FrontEnd, Memory, Step};
//!
//! struct Nothing;
//! impl Memory for Nothing {
//!     type Fault = u64;
//!     fn load(&mut self, at: u64, _into: &mut [u8]) -> Result<(), u64> { Err(at) }
//!     fn store(&mut self, at: u64, _bytes: &[u8]) -> Result<(), u64> { Err(at) }
//! }
//!
//! let mut queue = FrontEnd::default();
//! queue.start(0x1000, 8);
//! let instruction = CsMove32 { immediate: 7, destination: 33, ..Default::default() }.pack()?;
//! assert_eq!(queue.execute(&mut Nothing, &instruction), Ok(Step::Done(CsOpcode::Move32)));
//! assert_eq!(queue.registers[33], 7);
//! assert!(!queue.unwind(), "the stream is at its end");
//! # Ok::<(), tepui_mali_packets::Problem>(())
//! ```
//!
// source: Mesa, cs_builder.h, decode_csf.c (`interpret_cs_instr`).

mod interpreter;
mod registers;
mod text;

use arrayvec::ArrayVec;
use tepui_mali_packets::Problem;
use tepui_mali_packets::cs::CsOpcode;

pub use interpreter::compares;
pub use registers::{RegisterAccess, RegisterSet, registers};
pub use text::text;

/// 32-bit registers of a queue.
pub const REGISTERS: usize = 96;

/// Bytes of an instruction.
pub const BYTES: u64 = 8;

/// Nesting limit of streams that call each other.
pub const CALL_DEPTH: usize = 8;

/// Memory that a stream reads and writes.
pub trait Memory {
    /// Error of a memory access.
    type Fault;

    /// Reads bytes.
    ///
    /// # Errors
    /// They cannot be read.
    fn load(&mut self, at: u64, into: &mut [u8]) -> Result<(), Self::Fault>;

    /// Writes bytes.
    ///
    /// # Errors
    /// They cannot be written.
    fn store(&mut self, at: u64, bytes: &[u8]) -> Result<(), Self::Fault>;

    /// Updates a 32-bit sync object; returns the old value.
    ///
    /// # Errors
    /// It cannot be reached.
    fn update_u32(&mut self, at: u64, new: impl Fn(u32) -> u32) -> Result<u32, Self::Fault> {
        let mut bytes = [0; 4];
        self.load(at, &mut bytes)?;
        let old = u32::from_le_bytes(bytes);
        self.store(at, &new(old).to_le_bytes())?;
        Ok(old)
    }

    /// Updates a 64-bit sync object; returns the old value.
    ///
    /// # Errors
    /// It cannot be reached.
    fn update_u64(&mut self, at: u64, new: impl Fn(u64) -> u64) -> Result<u64, Self::Fault> {
        let mut bytes = [0; 8];
        self.load(at, &mut bytes)?;
        let old = u64::from_le_bytes(bytes);
        self.store(at, &new(old).to_le_bytes())?;
        Ok(old)
    }
}

/// The remaining instructions of a stream: addresses of the next one and of the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Address of the next instruction.
    pub next: u64,
    /// Address after the last instruction.
    pub end: u64,
}

/// The state of a queue.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    /// Its registers, which keep their values from stream to stream.
    pub registers: [u32; REGISTERS],
    /// The stream that is being executed.
    pub current: Range,
    /// Streams that called the current one, the innermost last.
    pub callers: ArrayVec<Range, CALL_DEPTH>,
    /// The address of the tiler's heap.
    pub heap: u64,
    /// The stream that handles exceptions of the tiler.
    pub exception_handler: Range,
}

impl Default for FrontEnd {
    fn default() -> Self {
        FrontEnd {
            registers: [0; REGISTERS],
            current: Range::default(),
            callers: ArrayVec::new(),
            heap: 0,
            exception_handler: Range::default(),
        }
    }
}

/// The outcome of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The instruction was executed.
    Done(CsOpcode),
    /// Another unit has to execute the instruction. The stream continues after it.
    Work(CsOpcode),
    /// The instruction's condition does not hold yet: the address of the sync object. The stream has not
    /// advanced.
    Wait(u64),
}

/// The reason why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<F> {
    /// Memory cannot be reached.
    #[error("{0}")]
    Memory(F),
    /// No instruction has the opcode.
    #[error("no instruction has opcode {0}")]
    Opcode(u8),
    /// The bits violate the instruction's declaration.
    #[error(transparent)]
    Field(Problem),
    /// A register that does not exist.
    #[error("there are {REGISTERS} registers, none is r{0}")]
    NoRegister(u32),
    /// A stream that does not consist of whole instructions.
    #[error("a stream of {length} bytes at {address:#x} is not aligned")]
    Misaligned {
        /// Its address.
        address: u64,
        /// Its length in bytes.
        length: u32,
    },
    /// Calls are nested too deeply.
    #[error("more than {CALL_DEPTH} streams are nested")]
    Nested,
}

impl FrontEnd {
    /// Begins a stream.
    pub fn start(&mut self, address: u64, size: u64) {
        self.current = Range { next: address, end: address.wrapping_add(size) };
        self.callers.clear();
    }

    /// Returns to callers while the current stream is at its end. False if no instruction is left.
    pub fn unwind(&mut self) -> bool {
        while self.current.next == self.current.end {
            match self.callers.pop() {
                Some(caller) => self.current = caller,
                None => return false,
            }
        }
        true
    }
}
