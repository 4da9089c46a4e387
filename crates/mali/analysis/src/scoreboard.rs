//! Messages in flight: the registers that they write and read, and the slots that have to be waited for.
//!
//! Valhall and Bifrost have the same scoreboard: a message has a slot, and waits name slots. The hardware does not check. An
//! [`Access`] says what an instruction of Valhall or a clause of Bifrost does to it; a [`State`] is what may be in flight on
//! a path.
//!
//! source: Mesa, va_insert_flow.c, va_mark_last.c, bi_ra.c, bi_scoreboard.c.

/// Set of registers: bit N is register N.
pub type RegisterSet = u64;

/// Slots of a program: those of messages, and 6 and 7 for waits of the fixed functions.
pub const SLOTS: usize = 8;

/// Slot of the fixed functions that ATEST and writes of depths wait for.
pub const DEPTH: u8 = 1 << 6;

/// Slot of the fixed functions that stores to the tile wait for.
pub const COLOUR: u8 = 1 << 7;

/// Registers that a blend shader may change: r0 to r15, and the return address.
///
/// source: Mesa, bi_ra.c.
pub const BLEND_SHADER_REGISTERS: RegisterSet = 0xffff | 1 << 48;

/// The registers from one on.
pub(crate) fn range(register: u8, count: u8) -> RegisterSet {
    let bits = (1u128 << count.min(64)) - 1;
    (bits << (register & 63)) as RegisterSet
}

/// Effect of an instruction of Valhall, or of a clause of Bifrost, on registers and slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Registers that are read when it is issued. Valhall waits until a message has read its staging registers, so that these
    /// are here.
    pub reads: RegisterSet,
    /// Registers that are written before the next one is issued.
    pub writes: RegisterSet,
    /// Bifrost: registers that the message reads later.
    pub staging: RegisterSet,
    /// Registers that the message writes when it is complete.
    pub results: RegisterSet,
    /// The slot of the message.
    pub slot: Option<u8>,
    /// Registers whose values are given up: marks of the last use, and what a blend shader may change.
    pub discards: RegisterSet,
    /// Slots that no message may be in flight in before it.
    pub idle: u8,
    /// Slots of fixed functions that have to be waited for before it.
    pub needs: u8,
    /// Slots that are waited for after it.
    pub waits: u8,
    /// Bifrost: whether reads of staging registers are waited for after it.
    pub staging_barrier: bool,
}

/// The order that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// A read of a register that a message writes later.
    ReadPending,
    /// A write of a register that a message writes later.
    WritePending,
    /// A write of a register that a message may not have read yet; Bifrost only, since Valhall waits by itself.
    WriteStaging,
    /// A read of a register after the mark of its last use, or after a blend shader that may have changed it.
    ReadDiscarded,
    /// A barrier while messages are in flight.
    BarrierPending,
    /// An access of the tile buffer, of depth or of coverage before the slot of the hardware's own tests.
    Unsynchronised,
}

/// Messages that may be in flight at a place of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// For each slot, registers that its messages write, and those that they read.
    writes: [RegisterSet; SLOTS],
    reads: [RegisterSet; SLOTS],
    /// Slots with messages, and slots of fixed functions that were not waited for.
    busy: u8,
    /// Registers whose values were given up.
    discarded: RegisterSet,
}

impl State {
    /// The state at the start of a program: the hardware's own tests are in flight.
    #[must_use]
    pub fn start() -> State {
        State { busy: DEPTH | COLOUR, ..State::default() }
    }

    /// Takes what may be in flight on another path; returns whether that is more.
    pub fn merge(&mut self, other: &State) -> bool {
        let before = *self;
        self.writes.iter_mut().zip(other.writes).for_each(|(a, b)| *a |= b);
        self.reads.iter_mut().zip(other.reads).for_each(|(a, b)| *a |= b);
        self.busy |= other.busy;
        self.discarded |= other.discarded;
        *self != before
    }

    /// Registers that a message may write later.
    #[must_use]
    pub fn pending(&self) -> RegisterSet {
        self.writes.iter().fold(0, |all, set| all | set)
    }

    /// Gives up the values of registers.
    pub fn discard(&mut self, registers: RegisterSet) {
        self.discarded |= registers;
    }

    /// Executes an access, and the waits after it.
    pub fn step(&mut self, access: &Access) {
        let written = access.writes | access.results;
        self.discarded = self.discarded & !written | access.discards;
        if let Some(slot) = access.slot {
            let index = usize::from(slot) % SLOTS;
            self.writes[index] |= access.results;
            self.reads[index] |= access.staging;
            self.busy |= 1 << index;
        }
        for slot in (0..SLOTS).filter(|slot| access.waits >> slot & 1 != 0) {
            (self.writes[slot], self.reads[slot]) = (0, 0);
        }
        self.busy &= !access.waits;
        if access.staging_barrier {
            self.reads = [0; SLOTS];
        }
    }

    /// Calls a function with each hazard of an access: the first register, and the slot that a wait is missing for.
    pub fn hazards(&self, access: &Access, mut found: impl FnMut(Hazard, Option<u8>, Option<u8>)) {
        let first = |set: RegisterSet| (set != 0).then_some(set.trailing_zeros() as u8);
        let (reads, writes) = (access.reads | access.staging, access.writes | access.results);
        let kinds = [
            (&self.writes, reads, Hazard::ReadPending),
            (&self.writes, writes, Hazard::WritePending),
            (&self.reads, access.writes, Hazard::WriteStaging),
        ];
        for (pending, set, hazard) in kinds {
            for (slot, pending) in (0..).zip(pending) {
                let register = first(pending & set);
                if register.is_some() {
                    found(hazard, register, Some(slot));
                }
            }
        }
        // The message of a clause reads what the clause itself has written.
        let register = first(self.discarded & (access.reads | access.staging & !access.writes));
        if register.is_some() {
            found(Hazard::ReadDiscarded, register, None);
        }
        let kinds = [
            (self.busy & access.idle, Hazard::BarrierPending),
            (self.busy & access.needs, Hazard::Unsynchronised),
        ];
        for (slots, hazard) in kinds {
            if slots != 0 {
                found(hazard, None, Some(slots.trailing_zeros() as u8));
            }
        }
    }
}
