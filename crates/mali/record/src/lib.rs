//! Records warps of the model for the debugger, out of what an observer is told ([`tepui_mali_model::Watch`]): registers, fast-access
//! uniforms and memory; and names what registers of Valhall hold.

use tepui_backend::Names;
use tepui_backend::values::Holds;
use tepui_debug::memory::{Access, MemoryLocation, Space, Writer};
use tepui_debug::{Instruction, Name, Recording, RegisterName, Step};
use tepui_mali_isa::disasm::{Content, disassemble};
use tepui_mali_isa::{Halves, Inst, bifrost};
use tepui_mali_model::{Access as ModelAccess, MemorySpace, Step as ModelStep, WarpPlace};

/// A recording that is being made of one warp.
pub struct Recorder {
    /// The recording so far.
    pub recording: Recording,
    full: bool,
}

impl Recorder {
    /// Goes on with a recording.
    #[must_use]
    pub fn new(recording: Recording) -> Recorder {
        Recorder { recording, full: false }
    }

    /// Appends a step of the warp, or its end. `lane` is the lane to look at first.
    pub fn own(&mut self, step: &ModelStep<'_>, lane: usize) {
        let Some(at) = self.recording.index_of(step.offset).filter(|_| !self.full) else { return };
        let r = &mut self.recording;
        let word = |place: MemoryLocation| step.word(model_space(place.space), place.address);
        let number = r.steps().len() as u32;
        r.ends = step.exec == 0;
        r.memory.settle(number, word);
        let exec = u32::from(step.exec);
        if number == 0 {
            (r.lane, r.alive) = (lane, exec);
            r.set_uniforms((0u16..).zip(step.uniforms()));
        }
        self.full = r.push(Step { at: at as u32, exec }, step.registers()).is_err();
        if let Some(access) = step.access.as_ref().map(|a| access(a, number)) {
            r.memory.access(access, word);
        }
    }

    /// Notes what another warp writes while this one is recorded.
    pub fn other(&mut self, step: &ModelStep<'_>) {
        let r = &mut self.recording;
        if self.full || r.steps().is_empty() {
            return;
        }
        let now = r.steps().len() as u32;
        let word = |place: MemoryLocation| step.word(model_space(place.space), place.address);
        r.memory.settle(now, word);
        let writes = step.access.as_ref().filter(|a| a.writes);
        // Memory of other workgroups and threads is another memory.
        if let (Some(a), WarpPlace::Group { workgroup, warp, .. }) = (writes, step.place)
            && a.space == MemorySpace::Device
        {
            r.memory.expect(&access(a, now), Writer::Other(*workgroup, *warp), word);
        }
    }
}

fn model_space(space: Space) -> MemorySpace {
    match space {
        Space::Device => MemorySpace::Device,
        Space::Local => MemorySpace::Local,
        Space::Scratch => MemorySpace::Thread,
    }
}

fn access(a: &ModelAccess, step: u32) -> Access {
    let space = match a.space {
        MemorySpace::Device => Space::Device,
        MemorySpace::Local => Space::Local,
        MemorySpace::Thread => Space::Scratch,
    };
    let (writes, lanes, bytes) = (a.writes, u32::from(a.lanes), a.bytes);
    Access { step, space, writes, lanes, addresses: a.addresses.to_vec(), bytes }
}

/// The instruction set of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Valhall: instructions of 8 bytes.
    Valhall,
    /// Bifrost: clauses, each of which is one step.
    Bifrost,
}

/// The line of a program after its last instruction, at which the effects of that are seen: a store may end a program.
#[must_use]
pub fn end(code: &[u8]) -> Instruction {
    let (offset, text) = (code.len() as u32, "(end)".to_owned());
    Instruction { offset, text, ..Instruction::default() }
}

/// A program's instructions and its [`end`], without the padding after it.
#[must_use]
pub fn instructions(isa: Isa, code: &[u8]) -> Vec<Instruction> {
    let one = |offset: usize, text: String| Instruction {
        offset: offset as u32,
        text,
        ..Instruction::default()
    };
    let mut all: Vec<Instruction> = match isa {
        Isa::Valhall => disassemble(code, 0)
            .take_while(|line| line.content != Content::Padding)
            .map(|line| one(line.offset, line.text()))
            .collect(),
        Isa::Bifrost => bifrost::disasm::parts(code, 0)
            .filter(|part| matches!(part.content, bifrost::disasm::Content::Clause(_)))
            .map(|part| one(part.offset, part.text(code)))
            .collect(),
    };
    all.push(end(code));
    all
}

/// Names the registers of a recording of a program of Valhall.
pub fn tell(recording: &mut Recording, names: &Names, code: &[u8]) {
    if names.names.is_empty() {
        return;
    }
    for i in &mut recording.program {
        // An unnamed result ends the name that the registers had before.
        let inst = Inst::decode_at(code, i.offset as usize);
        i.writes = inst.as_ref().map_or_else(|_| Vec::new(), written);
        let first = names.registers.partition_point(|h| h.offset < i.offset);
        for h in names.registers[first..].iter().take_while(|h| h.offset == i.offset) {
            if h.written { &mut i.writes } else { &mut i.enters }.push(named(h));
        }
    }
    let name = |n: &tepui_backend::values::Name| {
        let (ir, variable) = (n.ir.clone(), n.variable.clone());
        Name { ir, variable }
    };
    recording.set_names(names.names.iter().map(name).collect());
}

/// Contents of registers; one unit is a register of 32 bits.
fn named(h: &Holds) -> RegisterName {
    RegisterName { half: 2 * h.unit, halves: 2 * h.units, name: Some(h.name), unmasked: false }
}

/// The registers that an instruction writes, without a name.
fn written(inst: &Inst) -> Vec<RegisterName> {
    let row = inst.op.row();
    let name = |half, halves| RegisterName { half, halves, name: None, unmasked: false };
    let dest = inst.dest.map(|dest| {
        let first = 2 * u16::from(dest.register);
        match dest.halves {
            Halves::Both if row.width == 64 => name(first, 4),
            Halves::Both => name(first, 2),
            Halves::Low => name(first, 1),
            Halves::High => name(first + 1, 1),
        }
    });
    let staged = row.form.staging.iter().zip(&inst.staging).filter(|(field, _)| field.write);
    let staged = staged.map(|(_, s)| name(2 * u16::from(s.register), 2 * s.count));
    dest.into_iter().chain(staged).collect()
}
