//! Recording of the execution of a SIMD-group.

use serde::Serialize;

use crate::image::Image;
use crate::memory::Memory;
use crate::names::{Name, Names, Part, RegisterName};
use crate::registers::{Element, Register, RegisterFile};

/// An instruction of the program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Instruction {
    /// Byte offset in the program.
    pub offset: u32,
    /// Its text.
    pub text: String,
    /// Line of the source, from 1; 0 if it is not known.
    pub line: u32,
    /// Names of register contents before it executes, where they change.
    #[serde(skip)]
    pub enters: Vec<RegisterName>,
    /// Registers that it writes, with the names of their contents.
    #[serde(skip)]
    pub writes: Vec<RegisterName>,
}

/// A finding of the checker in the program, in whichever of its SIMD-groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Rule, place and observation, in one or more lines.
    pub text: String,
}

/// The state before an instruction ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the instruction.
    pub at: u32,
    /// Lanes that execute it.
    pub exec: u32,
}

/// The values of a register from a step on.
#[derive(Clone, Debug)]
struct Version {
    step: u32,
    lanes: Box<[u32]>,
}

/// Error: the recording reached its maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the recording is full after {0} instructions")]
pub struct RecordingFull(pub usize);

/// Recording of the execution of one SIMD-group.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Title: the workgroup or the pixel that was recorded.
    pub title: String,
    /// Name of the source file.
    pub file: String,
    /// The source is part of the capture, not a file that an editor could open.
    pub embedded: bool,
    /// Lines of the source.
    pub source: Vec<String>,
    /// The program, by offset.
    pub program: Vec<Instruction>,
    /// Organisation of the registers.
    pub register_file: RegisterFile,
    /// Names of register contents: values of the compiler's IR and variables of the source.
    pub names: Vec<Name>,
    /// Uniform registers, or words of registers that begin with uniform values.
    pub uniforms: Vec<Uniform>,
    /// The register in which a lane counts how many levels of branches and loops must end before it executes again, if the
    /// program has one.
    pub nesting: Option<Register>,
    /// Memory that the group accessed.
    pub memory: Memory,
    /// Images that the program accesses.
    pub images: Vec<Image>,
    /// Output of the command `history`: for a pixel, the draws that touched it.
    pub history: String,
    /// Findings of the checker in the program, if it ran with checks.
    pub findings: Vec<Finding>,
    /// The lane that is selected first.
    pub lane: usize,
    /// Lanes that exist.
    pub alive: u32,
    /// The recording ended before the program did.
    pub truncated: bool,
    /// The last step is after the last instruction.
    pub ends: bool,
    steps: Vec<Step>,
    /// By register, the values that it had.
    registers: Vec<Vec<Version>>,
    held: Names,
    bytes: usize,
}

/// A word of the uniform registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// The first of its two halves.
    pub half: usize,
    /// The word.
    pub word: u32,
    /// Its contents: an index of [`Recording::names`].
    pub name: Option<u32>,
}

impl Recording {
    /// Maximum number of instructions of a recording.
    pub const MAX_STEPS: usize = 1 << 18;
    /// Maximum size of the recorded register values in bytes.
    pub const MAX_BYTES: usize = 256 << 20;

    /// An empty recording of a program, whose instructions are sorted by offset.
    #[must_use]
    pub fn new(title: String, source: Vec<String>, program: Vec<Instruction>) -> Recording {
        Recording { title, source, program, ..Recording::default() }
    }

    /// The index of the instruction at an offset.
    #[must_use]
    pub fn index_of(&self, offset: u32) -> Option<usize> {
        self.program.binary_search_by_key(&offset, |i| i.offset).ok()
    }

    /// The findings at the instruction at an offset.
    pub fn findings_at(&self, offset: u32) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.offset == offset)
    }

    /// Appends the state before an instruction: its index, the lanes that execute it, and the lanes of each register.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn push<'a>(
        &mut self,
        step: Step,
        registers: impl Iterator<Item = &'a [u32]>,
    ) -> Result<(), RecordingFull> {
        if self.steps.len() >= Recording::MAX_STEPS || self.bytes > Recording::MAX_BYTES {
            self.truncated = true;
            return Err(RecordingFull(self.steps.len()));
        }
        let now = self.steps.len() as u32;
        for (number, lanes) in registers.enumerate() {
            if self.registers.len() <= number {
                self.registers.push(Vec::new());
            }
            let versions = &mut self.registers[number];
            if versions.last().is_none_or(|v| *v.lanes != *lanes) {
                versions.push(Version { step: now, lanes: lanes.into() });
                self.bytes += size_of::<Version>() + size_of_val(lanes);
            }
        }
        self.steps.push(step);
        Ok(())
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Number of instructions that were executed.
    #[must_use]
    pub fn executed(&self) -> usize {
        self.steps.len() - usize::from(self.ends && !self.steps.is_empty())
    }

    /// Number of registers.
    #[must_use]
    pub fn registers(&self) -> usize {
        self.registers.len()
    }

    /// Whether a register is ever anything but 0.
    #[must_use]
    pub fn is_used(&self, number: usize) -> bool {
        let versions = self.registers.get(number);
        versions.is_some_and(|v| v.len() > 1 || v.iter().any(|v| v.lanes.iter().any(|&w| w != 0)))
    }

    /// The words of a register before a step: of shared registers all, of others one for each lane.
    #[must_use]
    pub fn register(&self, number: usize, step: usize) -> Option<&[u32]> {
        self.version(number, step).map(|v| &*v.lanes)
    }

    /// The uniform registers: numbers of words, and the words.
    pub fn set_uniforms(&mut self, words: impl Iterator<Item = (u16, u32)>) {
        let uniform = |(number, word)| Uniform { half: 2 * usize::from(number), word, name: None };
        self.uniforms = words.map(uniform).collect();
    }

    /// Names what registers hold: the instructions of [`Recording::program`] say by indices of `names` what they write.
    pub fn set_names(&mut self, names: Vec<Name>) {
        self.names = names;
        let mut held = Names::default();
        let mut before: Option<Step> = None;
        for (now, step) in self.steps.iter().enumerate() {
            let written = before.and_then(|b| Some((b.exec, self.program.get(b.at as usize)?)));
            if let Some((exec, instruction)) = written {
                held.set(&instruction.writes, now as u32, exec);
            }
            if let Some(instruction) = self.program.get(step.at as usize) {
                held.set(&instruction.enters, now as u32, step.exec);
            }
            before = Some(*step);
        }
        self.held = held;
    }

    /// Contents of a half-register in a lane before a step: the value, and the part of it.
    #[must_use]
    pub fn held(&self, half: usize, lane: usize, step: usize) -> Option<(&Name, Part)> {
        let (name, part, _) = self.held.at(half, lane, step)?;
        Some((self.names.get(name as usize)?, part))
    }

    /// The first half-register in which a lane has something of a name before a step: of several, the one that got it last.
    #[must_use]
    pub fn find(&self, name: &str, lane: usize, step: usize) -> Option<usize> {
        let since = |half| {
            let (n, part, since) = self.held.at(half, lane, step)?;
            (part.first && self.names.get(n as usize)?.is(name)).then_some((since, half))
        };
        (0..2 * self.registers.len()).filter_map(since).max_by_key(|f| f.0).map(|f| f.1)
    }

    /// Whether an instruction writes something of a name.
    #[must_use]
    pub fn writes(&self, instruction: &Instruction, name: &str) -> bool {
        let names = instruction.writes.iter().filter_map(|w| self.names.get(w.name? as usize));
        names.into_iter().any(|n| n.is(name))
    }

    fn version(&self, number: usize, step: usize) -> Option<&Version> {
        let versions = self.registers.get(number)?;
        let behind = versions.partition_point(|v| v.step as usize <= step);
        versions.get(behind.checked_sub(1)?)
    }

    /// The step that wrote the value that a lane has in a register before a step; `None` if it was there from the start.
    #[must_use]
    pub fn writer(&self, register: Register, lane: usize, step: usize) -> Option<usize> {
        let Element { row, column, shift, mask } = register.element(lane);
        let versions = self.registers.get(row)?;
        let behind = versions.partition_point(|v| v.step as usize <= step);
        let bits = |v: &Version| v.lanes.get(column).map(|word| word >> shift & mask);
        let value = bits(versions[..behind].last()?)?;
        // Versions differ in some lane; this lane's value may be older.
        let mut first = behind - 1;
        while first > 0 && bits(&versions[first - 1]) == Some(value) {
            first -= 1;
        }
        (versions[first].step as usize).checked_sub(1)
    }

    /// Whether the instruction before a step changed a register.
    #[must_use]
    pub fn changed(&self, number: usize, step: usize) -> bool {
        step > 0 && self.version(number, step).is_some_and(|v| v.step as usize == step)
    }
}
