//! A program decoded once: what threads execute.

use tepui_intel_isa::Generation;

use crate::fault::Fault;

/// A program: the instructions that can be reached from its entry, ready to be executed. Immutable,
/// so that threads on several cores share it.
#[derive(Debug)]
pub struct Program {}

impl Program {
    /// Decodes the instructions that can be reached from byte `entry`.
    ///
    /// `read` fills a buffer with the memory from an offset on and says whether it could; offsets
    /// count from the program's start (the kernel start pointer), as jumps do.
    ///
    /// # Errors
    /// An instruction that cannot be decoded or executed, or unreadable memory.
    pub fn load(
        generation: Generation,
        entry: u32,
        read: impl FnMut(u32, &mut [u8]) -> bool,
    ) -> Result<Program, Fault> {
        let _ = (generation, entry, read);
        unimplemented!("the decoder comes with the instruction set")
    }

    /// As [`Program::load`], from bytes.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn from_bytes(generation: Generation, entry: u32, code: &[u8]) -> Result<Program, Fault> {
        Program::load(generation, entry, |at, buffer| {
            let at = at as usize;
            match code.get(at..at + buffer.len()) {
                Some(bytes) => {
                    buffer.copy_from_slice(bytes);
                    true
                }
                None => false,
            }
        })
    }
}
