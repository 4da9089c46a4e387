//! A translated program, and how its blocks are entered.

use tepui_hostvec::Executable;

use crate::lane::FloatMode;
use crate::op::Op;
use crate::operand::CHANNELS;
use crate::thread::Thread;

/// A run of operations that is translated. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Operations.
    pub length: u32,
    /// Channels of those that the execution mask matters to.
    pub channels: u32,
    /// Where its code is for threads in which all these channels execute.
    pub whole: u32,
    /// Where it is for others.
    pub masked: u32,
}

/// The entry of all code: thread, its registers, the program's operations, the code of a block. Returns 0, or the number of the
/// operation that failed and one.
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
    mode: FloatMode,
}

impl Translated {
    /// Puts code where it can be executed; the entry is its start. `None` if the host gives no memory for that.
    pub fn new(code: &[u8], blocks: Vec<Block>, mode: FloatMode) -> Option<Translated> {
        Some(Translated { code: Executable::new(code)?, blocks, mode })
    }

    /// Whether it does what a thread with this float mode does.
    pub fn is_for(&self, mode: FloatMode) -> bool {
        mode.to_zero() == self.mode.to_zero()
            && mode.keeps_denormals() == self.mode.keeps_denormals()
    }

    /// The block that begins at an operation.
    #[inline]
    pub fn block(&self, index: u32) -> Option<Block> {
        self.blocks.get(index as usize).copied().filter(|block| block.length != 0)
    }

    /// Runs a block of a thread of whose channels these execute.
    ///
    /// # Errors
    /// The index of the operation whose handler failed; the thread has the fault.
    #[inline]
    pub fn run(
        &self,
        thread: &mut Thread,
        ops: &[Op],
        block: Block,
        active: u32,
    ) -> Result<(), usize> {
        debug_assert_eq!(ops.len(), self.blocks.len());
        let place = if active & block.channels == block.channels {
            block.whole
        } else {
            if thread.host.exec != active {
                thread.host.exec = active;
                thread.host.exec_row = mask_row(active);
            }
            block.masked
        };
        let registers = thread.memory.as_mut_ptr();
        // SAFETY: `block::translate` made the code for these operations and this host. It touches the registers and the host's
        // fields of the thread, and calls handlers that this host executes.
        let failed = unsafe {
            let enter: Enter = std::mem::transmute(self.code.at(0));
            enter(thread, registers, ops.as_ptr(), self.code.at(place))
        };
        match failed {
            0 => Ok(()),
            index => Err(index as usize - 1),
        }
    }
}

fn mask_row(active: u32) -> [u32; CHANNELS] {
    std::array::from_fn(|channel| (active >> channel & 1).wrapping_neg())
}
