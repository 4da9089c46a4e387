//! Machine code that can be executed.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::usc::lanes::Lanes;
use crate::usc::op::Op;
use crate::usc::row::Row;

/// Why translated code came back: the numbers of `Next`, and two more.
pub mod exit {
    use crate::usc::op::Next;

    /// The handler of an operation set the program counter.
    pub const JUMP: u32 = Next::Jump as u32;
    /// The group waits for the others.
    pub const BARRIER: u32 = Next::Barrier as u32;
    /// The group is done.
    pub const STOP: u32 = Next::Stop as u32;
    /// The budget of instructions is spent.
    pub const BUDGET: u32 = 16;
    /// Execution ran past the last operation.
    pub const END: u32 = 17;
}

/// The entry of all translated code: group, registers, shared rows, operations, where to begin.
type Enter = unsafe extern "sysv64" fn(
    lanes: *mut Lanes<'_, '_>,
    registers: *mut Row,
    shared: *const Row,
    ops: *const Op,
    place: *const u8,
) -> u32;

/// A translated program.
pub struct Translated {
    memory: *mut u8,
    length: usize,
    /// Offset of each operation's code, `u32::MAX` where execution cannot begin.
    places: Vec<u32>,
}

// SAFETY: the memory is only read and executed after it was made.
unsafe impl Send for Translated {}
// SAFETY: as above.
unsafe impl Sync for Translated {}

impl Translated {
    /// Puts code where it can be executed. The entry is its start. `None` if the host gives no memory
    /// for that.
    pub fn new(code: &[u8], places: Vec<u32>) -> Option<Translated> {
        let length = code.len().next_multiple_of(4096);
        // SAFETY: a new mapping; it is filled before it becomes executable, and is never both.
        let memory = unsafe {
            let memory = mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
            .ok()?;
            std::ptr::copy_nonoverlapping(code.as_ptr(), memory.cast(), code.len());
            if mprotect(memory, length, MprotectFlags::READ | MprotectFlags::EXEC).is_err() {
                let _ = munmap(memory, length);
                return None;
            }
            memory.cast()
        };
        Some(Translated { memory, length, places })
    }

    /// Can execution begin at this operation?
    #[inline]
    pub fn begins_at(&self, index: usize) -> bool {
        self.places.get(index).is_some_and(|&place| place != u32::MAX)
    }

    /// Runs a group from its program counter, where [`Translated::begins_at`], until the code returns
    /// one of [`exit`].
    pub fn run(&self, l: &mut Lanes<'_, '_>) -> u32 {
        let place = self.places[l.pc];
        let (registers, shared) = l.files();
        let ops = l.program.ops().as_ptr();
        // SAFETY: the code was made by `translate` for this program, whose rows both files have
        // (`Lanes::new` checks that); it touches those, the fields of the group that it names, and
        // calls handlers of a set that this host can run.
        unsafe {
            let enter: Enter = std::mem::transmute(self.memory);
            enter(l, registers, shared, ops, self.memory.add(place as usize))
        }
    }
}

impl Drop for Translated {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        let _ = unsafe { munmap(self.memory.cast(), self.length) };
    }
}
