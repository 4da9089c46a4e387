//! Observers of threads, for debuggers: they are told of each instruction before it executes.

use std::sync::Arc;

use tepui_intel_eu::{REGISTERS, Thread};

/// Memory that a message reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// Memory of the address space, by GPU address.
    Device,
    /// Local memory of the workgroup, by offset.
    Local,
}

/// The memory access of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The memory.
    pub space: MemorySpace,
    /// Whether it writes.
    pub writes: bool,
    /// Channels of the thread that access memory.
    pub channels: u32,
    /// The address of each channel.
    pub addresses: [u64; 32],
    /// Bytes of a channel, from its address on.
    pub bytes: u32,
}

/// The work of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "one for each instruction of a watched thread, on the stack"
)]
pub enum ThreadPlace {
    /// A part of a workgroup.
    Group {
        /// The workgroup.
        workgroup: [u32; 3],
        /// The thread's number in it.
        thread: u32,
    },
    /// Pixels: column and row of each channel.
    Pixels([[u32; 2]; 32]),
    /// Vertices, patches or primitives.
    Other,
}

/// An instruction that is about to execute.
pub struct Step<'a> {
    /// GPU address of the program.
    pub kernel: u64,
    /// Byte offset of the instruction in the program.
    pub offset: u32,
    /// Channels that execute it ([`tepui_intel_eu::Step::exec`]).
    pub exec: u32,
    /// Channels of the thread.
    pub alive: u32,
    /// The thread's work.
    pub place: ThreadPlace,
    /// Its access of memory; none for images and other units.
    pub access: Option<Access>,
    pub(crate) thread: &'a Thread,
    pub(crate) memory: &'a dyn Inspect,
}

/// Memory as a thread reaches it.
pub(crate) trait Inspect {
    /// A word, if it is bound.
    fn word(&self, space: MemorySpace, address: u64) -> Option<u32>;
    /// Whether memory at the program's address begins with bytes.
    fn code_is(&self, code: &[u8]) -> bool;
}

impl Step<'_> {
    /// The general registers, each of eight double words.
    #[must_use]
    pub fn general(&self) -> Vec<[u32; 8]> {
        let (registers, _) = self.thread.grf().as_chunks::<32>();
        let words = |bytes: &[u8; 32]| {
            let dwords = bytes.as_chunks::<4>().0;
            std::array::from_fn(|k| u32::from_le_bytes(dwords[k]))
        };
        registers.iter().take(REGISTERS).map(words).collect()
    }

    /// The flag registers.
    #[must_use]
    pub fn flags(&self) -> [u32; 2] {
        [0, 1].map(|n| self.thread.flag(n))
    }

    /// The word of memory at a multiple of four, if it is bound.
    #[must_use]
    pub fn word(&self, space: MemorySpace, address: u64) -> Option<u32> {
        self.memory.word(space, address)
    }

    /// Whether memory at the kernel's address begins with bytes.
    #[must_use]
    pub fn runs(&self, code: &[u8]) -> bool {
        self.memory.code_is(code)
    }
}

/// An observer of a GPU, which is called on the thread of the host that executes.
#[derive(Clone)]
pub struct Watch(Arc<dyn Fn(&Step<'_>) + Send + Sync>);

impl Watch {
    /// Calls a function for each instruction before it executes.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Watch {
        Watch(Arc::new(tell))
    }

    pub(crate) fn tell(&self, step: &Step<'_>) {
        (self.0)(step);
    }
}
