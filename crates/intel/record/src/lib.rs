//! Records threads of the model for the debugger, out of what an observer is told ([`tepui_intel_model::Watch`]): registers,
//! flags and memory; and names what their registers hold.

use tepui_backend::Names;
use tepui_backend::values::Holds;
use tepui_debug::memory::{Access, MemoryLocation, Space, Writer};
use tepui_debug::{Instruction, Name, Recording, RegisterFile, RegisterName, Step, Uniform};
use tepui_intel_analysis::access::Access as RegisterAccess;
use tepui_intel_isa::{Generation, Inst, Location, Register};
use tepui_intel_model::{Access as ModelAccess, MemorySpace, Step as ModelStep, ThreadPlace};

/// Registers of a thread: the general ones, then the flags.
pub const REGISTER_FILE: RegisterFile =
    RegisterFile::Shared { general: 128, others: &["f0", "f1"] };

/// Instructions among which those for the other channels of one operation are looked for.
const WINDOW: usize = 8;

/// A recording that is being made of one thread.
pub struct Recorder {
    /// The recording so far.
    pub recording: Recording,
    full: bool,
}

impl Recorder {
    /// Goes on with a recording.
    #[must_use]
    pub fn new(mut recording: Recording) -> Recorder {
        recording.register_file = REGISTER_FILE;
        Recorder { recording, full: false }
    }

    /// Appends a step of the thread. `lane` is the channel to look at first.
    pub fn own(&mut self, step: &ModelStep<'_>, lane: usize) {
        let Some(at) = self.recording.index_of(step.offset).filter(|_| !self.full) else { return };
        let r = &mut self.recording;
        let word = |place: MemoryLocation| step.word(model_space(place.space)?, place.address);
        r.memory.settle(r.steps().len() as u32, word);
        let general = step.general();
        if r.steps().is_empty() {
            (r.lane, r.alive) = (lane, step.alive);
            let words = general.as_flattened();
            let uniform = |u: &Uniform| {
                let word = *words.get(u.half / 2)?;
                Some(Uniform { word, ..*u })
            };
            r.uniforms = r.uniforms.iter().filter_map(uniform).collect();
        }
        let number = r.steps().len() as u32;
        let flags = step.flags();
        let rows = general.iter().map(|row| &row[..]).chain(flags.chunks(1));
        self.full = r.push(Step { at: at as u32, exec: step.exec }, rows).is_err();
        if let Some(access) = step.access.as_ref().map(|a| access(a, number)) {
            r.memory.access(access, word);
        }
    }

    /// Notes what another thread writes while this one is recorded.
    pub fn other(&mut self, step: &ModelStep<'_>) {
        let r = &mut self.recording;
        if self.full || r.steps().is_empty() {
            return;
        }
        let now = r.steps().len() as u32;
        let word = |place: MemoryLocation| step.word(model_space(place.space)?, place.address);
        r.memory.settle(now, word);
        let writes = step.access.as_ref().filter(|a| a.writes);
        // Local memory of another workgroup is another memory.
        if let (Some(a), ThreadPlace::Group { workgroup, thread }) = (writes, step.place)
            && a.space == MemorySpace::Device
        {
            r.memory.expect(&access(a, now), Writer::Other(workgroup, thread), word);
        }
    }
}

fn model_space(space: Space) -> Option<MemorySpace> {
    match space {
        Space::Device => Some(MemorySpace::Device),
        Space::Local => Some(MemorySpace::Local),
        Space::Scratch => None,
    }
}

fn access(a: &ModelAccess, step: u32) -> Access {
    let space = match a.space {
        MemorySpace::Device => Space::Device,
        MemorySpace::Local => Space::Local,
    };
    let (writes, lanes, bytes) = (a.writes, a.channels, a.bytes);
    Access { step, space, writes, lanes, addresses: a.addresses.to_vec(), bytes }
}

/// Names the registers of a recording's program, whose code begins at an offset of the code that the names are for.
pub fn tell(
    recording: &mut Recording,
    names: &Names,
    generation: Generation,
    code: &[u8],
    from: u32,
) {
    if names.names.is_empty() {
        return;
    }
    let decode = |i: &Instruction| Inst::decode(generation, code, (from + i.offset) as usize).ok();
    let insts: Vec<Option<Inst>> = recording.program.iter().map(decode).collect();
    for (i, inst) in recording.program.iter_mut().zip(&insts) {
        // An unnamed result ends the name that the registers had before.
        i.writes = inst.as_ref().and_then(written).into_iter().collect();
        i.enters.clear();
    }
    for h in &names.registers {
        let Some(offset) = h.offset.checked_sub(from) else { continue };
        let Some(at) = recording.index_of(offset) else { continue };
        if !h.written {
            recording.program[at].enters.push(named(h));
            continue;
        }
        recording.program[at].writes.push(named(h));
        for other in other_channels(&insts, at, h) {
            recording.program[other].writes.push(named(h));
        }
    }
    let name = |n: &tepui_backend::values::Name| {
        let (ir, variable) = (n.ir.clone(), n.variable.clone());
        Name { ir, variable }
    };
    recording.set_names(names.names.iter().map(name).collect());
}

/// The uniform words of a program, before a thread has them.
#[must_use]
pub fn uniforms(names: &Names) -> Vec<Uniform> {
    let mut all: Vec<Uniform> = Vec::new();
    for h in &names.uniforms {
        let half = 2 * usize::from(h.unit);
        if !all.iter().any(|u| u.half == half) {
            all.push(Uniform { half, word: 0, name: Some(h.name) });
        }
    }
    all.sort_by_key(|u| u.half);
    all
}

/// Contents of registers; one unit is a double word, which is written whatever channels execute.
fn named(h: &Holds) -> RegisterName {
    RegisterName { half: h.unit, halves: h.units, name: Some(h.name), unmasked: h.units == 1 }
}

/// The registers that an instruction writes, without a name.
fn written(inst: &Inst) -> Option<RegisterName> {
    let span = RegisterAccess::of(inst).writes.registers();
    if span.is_empty() {
        return None;
    }
    let mut name = RegisterName {
        half: 2 * span.start as u16,
        halves: (2 * span.len()) as u8,
        name: None,
        unmasked: inst.no_mask,
    };
    // A scalar value takes half of a register.
    if inst.exec_size == 1
        && let Location::Direct { register: Register::General(_), byte } = inst.dst.location
    {
        (name.half, name.halves) = (name.half + u16::from(byte) / 16, 1);
    }
    Some(name)
}

/// The instructions before one that does the upper channels of an operation that do its lower channels: they have its opcode and
/// write to the same value.
fn other_channels(insts: &[Option<Inst>], at: usize, h: &Holds) -> Vec<usize> {
    let Some(Some(last)) = insts.get(at) else { return Vec::new() };
    let mut left = last.channel_offset;
    let mut found = Vec::new();
    for k in (at.saturating_sub(WINDOW)..at).rev() {
        let Some(inst) = &insts[k] else { break };
        let first = 2 * RegisterAccess::of(inst).writes.registers().start as u16;
        let is_part = inst.opcode == last.opcode
            && inst.channel_offset < left
            && (h.unit..h.unit + u16::from(h.units)).contains(&first);
        if is_part {
            found.push(k);
            left = inst.channel_offset;
        }
    }
    found
}
