//! A translated program, and the entry to its blocks.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tepui_hostvec::Executable;

use crate::op::Op;
use crate::operand::CHANNELS;
use crate::send::SendOutcome;
use crate::state::Thread;
use crate::unit::MessageUnit;

/// A sequence of operations that is translated. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of operations.
    pub length: u32,
    /// Code offset for threads whose channels all execute.
    pub whole: u32,
    /// Code offset for other threads.
    pub masked: u32,
}

/// Flag in the code's return value if the operation failed.
pub const FAILED: u64 = 1 << 32;
/// Flag in the code's return value if the thread stops after a message.
const STOPPED: u64 = 1 << 33;

/// Sends the message of an operation; returns 0, [`FAILED`] or [`STOPPED`].
type Send = unsafe extern "sysv64" fn(*mut Thread, *const Op, *const Units<'_>) -> u64;

/// The units that receive messages from translated code. Code calls the function at its first byte.
#[repr(C)]
pub struct Units<'u> {
    send: Send,
    /// A `&mut U`, of the type for which `send` was instantiated.
    units: *mut (),
    lifetime: PhantomData<&'u mut ()>,
}

impl<'u> Units<'u> {
    /// Wraps a reference to units.
    #[inline]
    pub fn new<U: MessageUnit + ?Sized>(units: &'u mut &mut U) -> Units<'u> {
        Units { send: send::<U>, units: std::ptr::from_mut(units).cast(), lifetime: PhantomData }
    }
}

/// Sends the message of an operation to units of a type.
///
/// # Safety
/// The units must be those of [`Units::new`] of this type, and there must be no other reference to them or
/// the thread.
unsafe extern "sysv64" fn send<U: MessageUnit + ?Sized>(
    thread: *mut Thread,
    op: *const Op,
    units: *const Units<'_>,
) -> u64 {
    // SAFETY: the caller's promise.
    let (thread, op, units) =
        unsafe { (&mut *thread, &*op, &mut *(*units).units.cast::<&mut U>()) };
    // A panic must not unwind through translated code.
    match catch_unwind(AssertUnwindSafe(|| thread.send(op, &mut **units))) {
        Ok(SendOutcome::GoesOn) => 0,
        Ok(SendOutcome::Stops(stop)) => {
            thread.host.stop = Some(stop);
            STOPPED
        }
        Ok(SendOutcome::Failed) => FAILED,
        Err(panic) => {
            thread.host.panic = Some(panic);
            FAILED
        }
    }
}

/// The entry of all code: thread, its registers, the program's operations, the code of a block, the units. Returns the
/// operation at which the thread continues, [`FAILED`] and the one that failed, or [`STOPPED`] and the message.
type Enter = unsafe extern "sysv64" fn(
    thread: *mut Thread,
    registers: *mut u8,
    ops: *const Op,
    place: *const u8,
    units: *const Units<'_>,
) -> u64;

/// The continuation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// At an operation, immediately.
    Now(u32),
    /// At an operation, after it has stopped.
    AfterStop(u32),
}

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
    /// Makes code executable; the entry is its start. `None` if the host provides no memory for it.
    pub fn new(code: &[u8], blocks: Vec<Block>, channels: u32) -> Option<Translated> {
        Some(Translated { code: Executable::new(code)?, blocks, channels })
    }

    /// The block that begins at an operation.
    #[inline]
    pub fn block(&self, index: u32) -> Option<Block> {
        self.blocks.get(index as usize).copied().filter(|block| block.length != 0)
    }

    /// Whether code can run a thread with these channels: its masks have only the program's channels.
    #[inline]
    pub fn suits(&self, dispatched: u32) -> bool {
        self.channels >> 16 != 0 || dispatched >> 16 == 0
    }

    /// Runs a thread from a block on, until an operation is not translated, the thread's budget does not suffice for a
    /// block, or a message stops it. Returns where it continues.
    ///
    /// # Errors
    /// The index of the operation that failed; the thread has the fault, or the payload of a unit's panic.
    #[inline]
    pub fn run(
        &self,
        thread: &mut Thread,
        ops: &[Op],
        block: Block,
        units: &Units<'_>,
    ) -> Result<Continuation, usize> {
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
        // SAFETY: `block::translate` made the code for these operations and this host. It accesses the registers, the
        // masks of executing and waiting channels, and the thread's host state, and calls handlers that this host can
        // execute and the units' function.
        let next = unsafe {
            let enter: Enter = std::mem::transmute(self.code.at(0));
            enter(thread, registers, ops.as_ptr(), self.code.at(place), units)
        };
        let index = next as u32;
        match next >> 32 << 32 {
            0 => Ok(Continuation::Now(index)),
            STOPPED => Ok(Continuation::AfterStop(index + 1)),
            _ => Err(index as usize),
        }
    }
}

fn mask_row(active: u32) -> [u32; CHANNELS] {
    std::array::from_fn(|channel| (active >> channel & 1).wrapping_neg())
}
