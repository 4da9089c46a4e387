//! A translated program, and how its blocks are entered.

use tepui_hostvec::Executable;

use crate::op::Op;
use crate::operand::CHANNELS;
use crate::thread::Thread;

/// A run of operations that is translated. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Operations.
    pub length: u32,
    /// Where its code is for threads whose channels all execute.
    pub whole: u32,
    /// Where it is for others.
    pub masked: u32,
}

/// Set in what code returns if the handler of the operation failed.
pub const FAILED: u64 = 1 << 32;

/// The entry of all code: thread, its registers, the program's operations, the code of a block. Returns the operation at which the
/// thread goes on, or [`FAILED`] and the one that failed.
type Enter = unsafe extern "sysv64" fn(
    thread: *mut Thread,
    registers: *mut u8,
    ops: *const Op,
    place: *const u8,
) -> u64;

/// A translated program.
#[derive(Debug)]
pub struct Translated {
    code: Executable,
    /// The block that begins at each operation.
    blocks: Vec<Block>,
    /// The program's channels.
    channels: u32,
}

impl Translated {
    /// Puts code where it can be executed; the entry is its start. `None` if the host gives no memory for that.
    pub fn new(code: &[u8], blocks: Vec<Block>, channels: u32) -> Option<Translated> {
        Some(Translated { code: Executable::new(code)?, blocks, channels })
    }

    /// The block that begins at an operation.
    #[inline]
    pub fn block(&self, index: u32) -> Option<Block> {
        self.blocks.get(index as usize).copied().filter(|block| block.length != 0)
    }

    /// Whether code can run a thread with these channels: it keeps masks of as many as the program has.
    #[inline]
    pub fn suits(&self, dispatched: u32) -> bool {
        self.channels >> 16 != 0 || dispatched >> 16 == 0
    }

    /// Runs a thread from a block on, until an operation comes that is not translated or the budget of the thread does not
    /// suffice for a block. Returns the operation at which it goes on.
    ///
    /// # Errors
    /// The index of the operation whose handler failed; the thread has the fault.
    #[inline]
    pub fn run(&self, thread: &mut Thread, ops: &[Op], block: Block) -> Result<u32, usize> {
        debug_assert_eq!(ops.len(), self.blocks.len());
        let active = thread.active;
        let place = if active & self.channels == self.channels {
            block.whole
        } else {
            if thread.host.exec != active {
                thread.host.exec = active;
                thread.host.exec_row = mask_row(active);
            }
            block.masked
        };
        let registers = thread.memory.as_mut_ptr();
        // SAFETY: `block::translate` made the code for these operations and this host. It touches the registers, the channels that
        // execute or wait, and the host's fields of the thread, and calls handlers that this host executes.
        let next = unsafe {
            let enter: Enter = std::mem::transmute(self.code.at(0));
            enter(thread, registers, ops.as_ptr(), self.code.at(place))
        };
        match next & FAILED {
            0 => Ok(next as u32),
            _ => Err(next as u32 as usize),
        }
    }
}

fn mask_row(active: u32) -> [u32; CHANNELS] {
    std::array::from_fn(|channel| (active >> channel & 1).wrapping_neg())
}
