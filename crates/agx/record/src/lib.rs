//! Records SIMD-groups of the model for the debugger, out of what an observer is told ([`tepui_agx_model::Observe`]): registers,
//! uniform registers, memory and images.

use std::collections::HashSet;

use tepui_agx_isa::disasm::Disassembler;
use tepui_agx_model::{Space as ModelSpace, Step as ModelStep};
use tepui_debug::image::Image;
use tepui_debug::memory::{Access, MemoryLocation, Space, Writer};
use tepui_debug::{Instruction, Recording, Register, Step};

/// Bytes of all images of a recording.
const MAX_IMAGES_B: usize = 64 << 20;

/// A recording that is being made of one SIMD-group.
pub struct Recorder {
    /// The recording so far.
    pub recording: Recording,
    full: bool,
    /// Descriptors of the images that were kept.
    known: HashSet<[u8; 24]>,
    image_bytes: usize,
}

impl Recorder {
    /// Goes on with a recording.
    #[must_use]
    pub fn new(recording: Recording) -> Recorder {
        Recorder { recording, full: false, known: HashSet::new(), image_bytes: 0 }
    }

    /// Appends a step of the group. `lane` is the lane to look at first. Returns the instruction's index, if the program has it.
    pub fn own(&mut self, step: &ModelStep<'_>, lane: usize) -> Option<usize> {
        let at = self.recording.index_of(step.offset).filter(|_| !self.full)?;
        let r = &mut self.recording;
        let word = |place: MemoryLocation| step.word(model_space(place.space), place.address);
        r.memory.settle(r.steps().len() as u32, word);
        if r.steps().is_empty() {
            (r.lane, r.alive) = (lane, step.alive);
            // Without control flow r0l is a register like others.
            let nests = |i: &Instruction| i.text.starts_with("pop_exec");
            r.nesting =
                r.program.iter().any(nests).then_some(Register::Lane { number: 0, half: Some(0) });
            r.set_uniforms(step.uniforms.words());
        }
        let number = r.steps().len() as u32;
        let rows = step.registers.iter().map(|row| &row.0[..]);
        self.full = r.push(Step { at: at as u32, exec: step.exec }, rows).is_err();
        if let Some(access) = access(step, number) {
            r.memory.access(access, word);
        }
        self.image(step);
        Some(at)
    }

    /// Notes what another group writes while this one is recorded.
    pub fn other(&mut self, step: &ModelStep<'_>) {
        let r = &mut self.recording;
        if self.full || r.steps().is_empty() {
            return;
        }
        let now = r.steps().len() as u32;
        let word = |place: MemoryLocation| step.word(model_space(place.space), place.address);
        r.memory.settle(now, word);
        // Scratch memory is the other group's own.
        if let Some(access) = access(step, now).filter(|a| a.writes && a.space != Space::Scratch) {
            r.memory.expect(&access, Writer::Other(step.workgroup, step.index), word);
        }
    }

    /// Keeps the image that an instruction accesses, if it is a new one.
    fn image(&mut self, step: &ModelStep<'_>) {
        let images = &mut self.recording.images;
        let Some(descriptor) = step.descriptor() else { return };
        if images.len() >= Image::MAX_COUNT
            || self.image_bytes >= MAX_IMAGES_B
            || !self.known.insert(descriptor)
        {
            return;
        }
        let (what, size, rgba) = match step.picture(&descriptor) {
            Ok(p) => (p.what, p.size, p.rgba),
            Err(why) => (why, [0; 2], Vec::new()),
        };
        self.image_bytes += rgba.len();
        images.push(Image { offset: step.offset, what, size, rgba });
    }
}

fn model_space(space: Space) -> ModelSpace {
    match space {
        Space::Device => ModelSpace::Device,
        Space::Local => ModelSpace::Local,
        Space::Scratch => ModelSpace::Scratch,
    }
}

/// The memory access of a step's instruction.
fn access(step: &ModelStep<'_>, number: u32) -> Option<Access> {
    let a = step.access()?;
    let space = match a.space {
        ModelSpace::Device => Space::Device,
        ModelSpace::Local => Space::Local,
        ModelSpace::Scratch => Space::Scratch,
    };
    let (writes, lanes, bytes) = (a.writes, step.exec, a.bytes);
    Some(Access { step: number, space, writes, lanes, addresses: a.addresses.to_vec(), bytes })
}

/// A program's instructions without the traps after its end.
#[must_use]
pub fn instructions(code: &[u8]) -> Vec<Instruction> {
    let one = |l: tepui_agx_isa::disasm::Line| Instruction {
        offset: l.offset as u32,
        text: l.text(),
        ..Instruction::default()
    };
    Disassembler::new(code).map(one).take_while(|i| i.text != "trap").collect()
}
