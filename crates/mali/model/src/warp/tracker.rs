//! Messages of a warp in flight, under the checker.

use arrayvec::ArrayVec;
use tepui_mali_analysis::scoreboard::{BLEND_SHADER_REGISTERS, State};
use tepui_mali_analysis::{Access, RegisterSet};

use super::row::{LANES, Row};

/// Value of registers that hold nothing.
pub const POISON: u32 = 0xdead_c0de;

/// Lanes that have come the same way.
#[derive(Clone, Copy)]
pub struct Group {
    pub lanes: u16,
    pub state: State,
    /// The operation that began the instruction or clause that has not taken effect on the state.
    pub open: Option<u32>,
}

/// A result of a message that is not waited for.
pub struct Saved {
    pub slot: u8,
    pub register: u8,
    pub lanes: u16,
    pub value: Row,
}

/// State of the checker for a warp.
#[derive(Default)]
pub struct Tracker {
    /// Address of the program that runs.
    pub program: u64,
    /// The program that has called it as a blend shader.
    pub caller: Option<u64>,
    pub groups: ArrayVec<Group, LANES>,
    pub saved: Vec<Saved>,
}

/// The registers of a set, by number.
pub fn members(set: RegisterSet) -> impl Iterator<Item = u8> {
    (0..64).filter(move |register| set >> register & 1 != 0)
}

/// Replaces the values of registers in some lanes.
pub fn poison(registers: &mut [Row], set: RegisterSet, lanes: u16) {
    for register in members(set) {
        let row = &mut registers[usize::from(register)];
        *row = row.choose(lanes, &Row::splat(POISON));
    }
}

impl Tracker {
    /// A warp that begins a program.
    pub fn start(program: u64, waits: u8) -> Tracker {
        let mut groups = ArrayVec::new();
        let mut state = State::start();
        state.step(&Access { waits, ..Access::default() });
        groups.push(Group { lanes: u16::MAX, state, open: None });
        Tracker { program, caller: None, groups, saved: Vec::new() }
    }

    /// Enters another program, a blend shader or the one that has called it. All messages of the program before are complete.
    pub fn enter(&mut self, program: u64, registers: &mut [Row]) {
        self.deliver(registers, u8::MAX, u16::MAX);
        let mut state = State::default();
        if self.caller == Some(program) {
            self.caller = None;
            poison(registers, BLEND_SHADER_REGISTERS, u16::MAX);
            state.discard(BLEND_SHADER_REGISTERS);
        } else {
            self.caller = self.caller.or(Some(self.program));
        }
        self.program = program;
        self.groups.clear();
        self.groups.push(Group { lanes: u16::MAX, state, open: None });
    }

    /// Writes the results of messages of slots to registers.
    pub fn deliver(&mut self, registers: &mut [Row], slots: u8, lanes: u16) {
        for saved in &mut self.saved {
            let arrived = saved.lanes & lanes;
            if slots >> (saved.slot & 7) & 1 == 0 || arrived == 0 {
                continue;
            }
            let row = &mut registers[usize::from(saved.register)];
            *row = row.choose(arrived, &saved.value);
            saved.lanes &= !arrived;
        }
        self.saved.retain(|saved| saved.lanes != 0);
    }

    /// Keeps a result aside. It replaces those of earlier messages of the slot to the register, so that a loop that waits for none keeps a
    /// bounded number.
    pub fn save(&mut self, result: Saved) {
        for old in &mut self.saved {
            if (old.slot, old.register) == (result.slot, result.register) {
                old.lanes &= !result.lanes;
            }
        }
        self.saved.retain(|old| old.lanes != 0);
        self.saved.push(result);
    }
}
