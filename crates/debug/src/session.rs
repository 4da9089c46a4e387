//! A cursor over a recording, with breakpoints.

use crate::memory::{MemoryLocation, Write, Writer};
use crate::names::Name;
use crate::recording::{Instruction, Recording, Step};
use crate::registers::{Element, Register};

/// Location of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakpointLocation {
    /// An instruction, by its offset.
    Offset(u32),
    /// The first instruction of a run of instructions of a source line.
    Line(u32),
    /// After each instruction that writes a value of the IR or a variable, by its name.
    Written(String),
    /// Watchpoint: a word of memory changed.
    Changed(MemoryLocation),
}

/// A value of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// In a register.
    In(Register),
    /// A value of the IR or the source, by its name, in whichever register the lane has it.
    Named(String),
}

/// Comparison operator of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less, as floats if the number was written with a point, else as integers with a sign.
    Less,
    /// Greater, likewise.
    Greater,
}

/// A condition on a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The lane; `None` for any lane that executes.
    pub lane: Option<usize>,
    /// The left operand.
    pub value: Value,
    /// The operator.
    pub test: Comparison,
    /// The right operand, as bits.
    pub bits: u32,
    /// Whether the operands are floats.
    pub float: bool,
}

/// A breakpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Breakpoint {
    /// Its number, for the user.
    pub number: u32,
    /// Its location.
    pub at: BreakpointLocation,
    /// Condition under which it stops.
    pub condition: Option<Condition>,
}

/// Reason why a movement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The movement is done.
    Step,
    /// At a breakpoint.
    Breakpoint(u32),
    /// At the first instruction.
    Start,
    /// At the last instruction.
    End,
}

/// A recording, a place in it, and breakpoints.
pub struct Session {
    /// The recording.
    pub recording: Recording,
    /// The selected lane.
    pub lane: usize,
    /// Breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    step: usize,
    next_number: u32,
}

impl Session {
    /// At the start of a recording.
    #[must_use]
    pub fn new(recording: Recording) -> Session {
        let lane = recording.lane;
        Session { recording, lane, breakpoints: Vec::new(), step: 0, next_number: 1 }
    }

    /// The step that the cursor is at.
    #[must_use]
    pub fn at(&self) -> usize {
        self.step
    }

    /// The state before that step's instruction; `None` in an empty recording.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        self.recording.steps().get(self.step).copied()
    }

    /// The instruction that is next.
    #[must_use]
    pub fn instruction(&self) -> Option<&Instruction> {
        self.recording.program.get(self.step()?.at as usize)
    }

    /// The instruction of any step.
    fn instruction_at(&self, step: usize) -> Option<&Instruction> {
        self.recording.program.get(self.recording.steps().get(step)?.at as usize)
    }

    /// The source line of a step, 0 if it is not known.
    fn line_at(&self, step: usize) -> u32 {
        self.instruction_at(step).map_or(0, |i| i.line)
    }

    /// Sets a breakpoint; returns its number.
    pub fn set(&mut self, at: BreakpointLocation, condition: Option<Condition>) -> u32 {
        let number = self.next_number;
        self.next_number += 1;
        self.breakpoints.push(Breakpoint { number, at, condition });
        number
    }

    /// Moves to a step.
    pub fn go(&mut self, step: usize) -> Stop {
        let last = self.recording.steps().len().saturating_sub(1);
        self.step = step.min(last);
        if step > last { Stop::End } else { Stop::Step }
    }

    /// The bits of a register in a lane.
    #[must_use]
    pub fn register(&self, register: Register, lane: usize) -> Option<u32> {
        self.register_at(register, lane, self.step)
    }

    /// The register in which a lane has a value; of one of 64 bits the first of two.
    #[must_use]
    pub fn place(&self, value: &Value, lane: usize) -> Option<Register> {
        self.place_at(value, lane, self.step)
    }

    /// Character for a lane: `#` if it executes, else the number of branch and loop levels that must
    /// end before it does, 9 for more, or `.` if the number is unknown; a space if it does not exist.
    #[must_use]
    pub fn lane_mark(&self, lane: usize) -> char {
        let exec = self.step().map_or(0, |step| step.exec);
        if exec >> (lane & 31) & 1 != 0 {
            return '#';
        }
        if self.recording.alive >> (lane & 31) & 1 == 0 {
            return ' ';
        }
        let levels = self.recording.nesting.and_then(|register| self.register(register, lane));
        levels.filter(|&n| n > 0).and_then(|n| char::from_digit(n.min(9), 10)).unwrap_or('.')
    }

    /// The variables of the source that the lane has in registers, in the order of these.
    pub fn variables(&self) -> impl Iterator<Item = (&Name, Register)> {
        (0..2 * self.recording.registers()).filter_map(|half| {
            let (name, part) = self.recording.held(half, self.lane, self.step)?;
            let register = self.recording.register_file.place(half, part.halves.into());
            (part.first && !name.variable.is_empty()).then_some((name, register))
        })
    }

    /// Contents of a register in a lane, by the names of the compiler and the source; both if its
    /// halves differ. Empty if unknown.
    #[must_use]
    pub fn name(&self, number: usize, lane: usize) -> String {
        let [low, high] = [0, 1].map(|k| self.recording.held(2 * number + k, lane, self.step));
        let is_shared = self.recording.register_file.is_shared();
        match (low, high) {
            (Some((name, part)), _) if is_shared && part.halves > 1 => name.to_string(),
            (Some((name, part)), _) if part.halves > 2 && !part.first => format!("{name}, high"),
            (Some((name, part)), _) if part.halves > 1 => name.to_string(),
            (Some((low, _)), Some((high, _))) => format!("{low} | {high}"),
            (Some((one, _)), None) | (None, Some((one, _))) => one.to_string(),
            (None, None) => String::new(),
        }
    }

    fn register_at(&self, register: Register, lane: usize, step: usize) -> Option<u32> {
        let Element { row, column, shift, mask } = register.element(lane);
        let bits = *self.recording.register(row, step)?.get(column)? >> shift & mask;
        let unused = mask.leading_zeros();
        let is_signed = register.extends_sign();
        Some(if is_signed { ((bits << unused) as i32 >> unused) as u32 } else { bits })
    }

    fn place_at(&self, value: &Value, lane: usize, step: usize) -> Option<Register> {
        match value {
            Value::In(register) => Some(*register),
            Value::Named(name) => {
                let half = self.recording.find(name, lane, step)?;
                let (_, part) = self.recording.held(half, lane, step)?;
                Some(self.recording.register_file.place(half, part.halves.into()))
            }
        }
    }

    fn holds(&self, c: &Condition, step: usize) -> bool {
        let exec = self.recording.steps().get(step).map_or(0, |s| s.exec);
        let lanes = 0..u32::BITS as usize;
        lanes.filter(|&l| exec >> l & 1 != 0 && c.lane.is_none_or(|own| own == l)).any(|lane| {
            let Some(register) = self.place_at(&c.value, lane, step) else { return false };
            let Some(bits) = self.register_at(register, lane, step) else { return false };
            let a = match register.is_half_float() {
                true => crate::command::half(bits as u16),
                false => f32::from_bits(bits),
            };
            let b = f32::from_bits(c.bits);
            match (c.test, c.float) {
                (Comparison::Equal, false) => bits == c.bits,
                (Comparison::NotEqual, false) => bits != c.bits,
                (Comparison::Less, false) => (bits as i32) < c.bits as i32,
                (Comparison::Greater, false) => bits as i32 > c.bits as i32,
                (Comparison::Equal, true) => a == b,
                (Comparison::NotEqual, true) => a != b,
                (Comparison::Less, true) => a < b,
                (Comparison::Greater, true) => a > b,
            }
        })
    }

    /// The breakpoint that stops at a step.
    fn breakpoint_at(&self, step: usize) -> Option<u32> {
        let instruction = self.instruction_at(step)?;
        let here = |b: &&Breakpoint| match &b.at {
            BreakpointLocation::Offset(offset) => instruction.offset == *offset,
            BreakpointLocation::Line(line) => {
                instruction.line == *line && (step == 0 || self.line_at(step - 1) != *line)
            }
            BreakpointLocation::Written(name) => step.checked_sub(1).is_some_and(|before| {
                let executed = self.recording.steps()[before].exec != 0;
                let instruction = self.instruction_at(before);
                executed && instruction.is_some_and(|i| self.recording.writes(i, name))
            }),
            BreakpointLocation::Changed(place) => self.recording.memory.changed(*place, step),
        };
        let holds = |b: &&Breakpoint| b.condition.as_ref().is_none_or(|c| self.holds(c, step));
        self.breakpoints.iter().filter(here).find(holds).map(|b| b.number)
    }

    /// Moves forward until `until` holds for a step, or to a breakpoint if `stop` is set.
    fn forward(&mut self, stop: bool, until: impl Fn(&Session, usize) -> bool) -> Stop {
        let last = self.recording.steps().len().saturating_sub(1);
        while self.step < last {
            self.step += 1;
            if stop && let Some(number) = self.breakpoint_at(self.step) {
                return Stop::Breakpoint(number);
            }
            if until(self, self.step) {
                return Stop::Step;
            }
        }
        Stop::End
    }

    /// Version of `forward` that goes to the start.
    fn backward(&mut self, stop: bool, until: impl Fn(&Session, usize) -> bool) -> Stop {
        while self.step > 0 {
            self.step -= 1;
            if stop && let Some(number) = self.breakpoint_at(self.step) {
                return Stop::Breakpoint(number);
            }
            if until(self, self.step) {
                return Stop::Step;
            }
        }
        Stop::Start
    }

    /// Runs to the next breakpoint.
    pub fn resume(&mut self) -> Stop {
        self.forward(true, |_, _| false)
    }

    /// Runs back to the breakpoint before.
    pub fn resume_back(&mut self) -> Stop {
        self.backward(true, |_, _| false)
    }

    /// One instruction.
    pub fn step_instruction(&mut self) -> Stop {
        self.forward(false, |_, _| true)
    }

    /// One instruction back.
    pub fn back_instruction(&mut self) -> Stop {
        self.backward(false, |_, _| true)
    }

    /// To the next source line in which the lane executes.
    pub fn step_line(&mut self) -> Stop {
        let (line, lane) = (self.line_at(self.step), self.lane);
        self.forward(true, move |s, at| {
            let now = s.line_at(at);
            now != line && now != 0 && s.recording.steps()[at].exec >> (lane & 31) & 1 != 0
        })
    }

    /// To the first instruction of the source line before.
    pub fn back_line(&mut self) -> Stop {
        let line = self.line_at(self.step);
        let stop = self.backward(false, move |s, at| ![line, 0].contains(&s.line_at(at)));
        let line = self.line_at(self.step);
        while self.step > 0 && self.line_at(self.step - 1) == line {
            self.step -= 1;
        }
        stop
    }

    /// To where other lanes execute.
    pub fn step_mask(&mut self) -> Stop {
        let exec = self.step().map_or(0, |s| s.exec);
        self.forward(true, move |s, at| s.recording.steps()[at].exec != exec)
    }

    /// To the instruction that wrote the value of a register.
    ///
    /// Returns `None` if it was there from the start.
    pub fn go_to_writer(&mut self, register: Register) -> Option<usize> {
        let step = self.recording.writer(register, self.lane, self.step)?;
        self.step = step;
        Some(step)
    }

    /// To the instruction that wrote a word of memory last, if it was one of this group; otherwise to the first that saw it.
    ///
    /// Returns `None` if nothing has changed the word since the start.
    pub fn go_to_change(&mut self, place: MemoryLocation) -> Option<Write> {
        let step = self.step;
        let writes = self.recording.memory.writes(place);
        let last = *writes.iter().rev().find(|w| w.step as usize <= step)?;
        self.step = match last.by {
            Writer::Own(step) => step as usize,
            Writer::Other(..) => last.step as usize,
        };
        Some(last)
    }
}
