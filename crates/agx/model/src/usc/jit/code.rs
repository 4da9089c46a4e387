//! A translated program, and how it is entered.

use tepui_hostvec::Executable;

use crate::usc::lanes::Lanes;
use crate::usc::op::Op;
use crate::usc::row::Row;

/// Reason why translated code came back: the numbers of `Next`, and two more.
pub mod exit {
    use crate::usc::op::Next;

    /// The handler of an operation set the program counter.
    pub const JUMP: u32 = Next::Jump as u32;
    /// The group waits for the others.
    pub const BARRIER: u32 = Next::Barrier as u32;
    /// The group waits for scratch memory.
    pub const SCRATCH: u32 = Next::Scratch as u32;
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
    code: Executable,
    /// Offset of each operation's code, `u32::MAX` where execution cannot begin.
    places: Vec<u32>,
}

impl Translated {
    /// Puts code where it can be executed. The entry is its start. `None` if the host gives no
    /// memory for that.
    pub fn new(code: &[u8], places: Vec<u32>) -> Option<Translated> {
        Some(Translated { code: Executable::new(code)?, places })
    }

    /// Can execution begin at this operation?
    #[inline]
    pub fn begins_at(&self, index: usize) -> bool {
        self.places.get(index).is_some_and(|&place| place != u32::MAX)
    }

    /// Runs a group from its program counter, where [`Translated::begins_at`], until the code
    /// returns one of [`exit`].
    pub fn run(&self, l: &mut Lanes<'_, '_>) -> u32 {
        let place = self.places[l.pc];
        let (registers, shared) = l.files();
        let ops = l.code.ops().as_ptr();
        // SAFETY: the code was made by `translate` for this program, whose rows both files have
        // (`Lanes::new` checks that); it touches those, the fields of the group that it names, and
        // calls handlers of a set that this host can run.
        unsafe {
            let enter: Enter = std::mem::transmute(self.code.at(0));
            enter(l, registers, shared, ops, self.code.at(place))
        }
    }
}
