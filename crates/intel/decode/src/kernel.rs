//! Disassembles kernels, and collects the surfaces that their messages name.

use tepui_intel_isa::disasm::disassemble;
use tepui_intel_isa::message::{Descriptor, RenderOp};
use tepui_intel_isa::{Desc, Inst, Opcode};

use crate::{Content, Decoder, InstructionError, Problem, Record, address};

/// Limit on the size of a kernel.
const MAX_BYTES: usize = 1 << 19;

/// Bytes of code that are read in one step.
const CHUNK_BYTES: usize = 1 << 11;

/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: usize = 16;

/// The first binding table index that is not an entry: indices from here on name local memory or no surface.
///
/// source: Mesa, brw_eu_defines.h (`GFX9_BTI_BINDLESS`, `GFX7_BTI_SLM`, `GFX8_BTI_STATELESS_*`).
const RESERVED: u8 = 240;

/// Table entries that a kernel's messages use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUses {
    /// Number of binding table entries, up to the last one that is used.
    pub surfaces: u32,
    /// Number of samplers, up to the last one that is used.
    pub samplers: u32,
    /// Binding table indices of render target writes.
    pub targets: Vec<u8>,
}

impl TableUses {
    /// Adds the uses of an instruction.
    fn add(&mut self, inst: &Inst) {
        let Desc::Immediate(desc) = inst.send.desc else { return };
        if !inst.opcode.is_send() {
            return;
        }
        let surface = match Descriptor::decode(inst.send.sfid, desc) {
            Descriptor::Sampler { surface, sampler, .. } => {
                self.samplers = self.samplers.max(u32::from(sampler) + 1);
                surface
            }
            Descriptor::ReadOnly { surface, .. }
            | Descriptor::Data0 { surface, .. }
            | Descriptor::Data1 { surface, .. } => surface,
            Descriptor::Render { op, surface, .. } => {
                if op == Some(RenderOp::Write) && !self.targets.contains(&surface) {
                    self.targets.push(surface);
                }
                surface
            }
            _ => return,
        };
        if surface < RESERVED {
            self.surfaces = self.surfaces.max(u32::from(surface) + 1);
        }
    }
}

impl Decoder<'_, '_> {
    /// Disassembles the kernel at an offset from the instruction base address, up to the first message that
    /// ends the thread and that no jump target lies beyond.
    pub fn kernel(&mut self, title: &'static str, offset: u64) -> (Record, TableUses) {
        let start = address(self.state.instruction_base.wrapping_add(offset));
        let mut record = Record::new(title, start);
        let mut uses = TableUses::default();
        if !self.reader.take() {
            record.problems.push(self.too_much());
            return (record, uses);
        }
        let (code, problem) = self.code(start, &mut uses);
        record.problems.extend(problem);
        if !self.options.everything && !self.seen.insert(start) {
            record.content = Content::SeeAbove;
            return (record, uses);
        }
        let lines = disassemble(self.options.generation, &code, 0);
        let lines = lines.into_iter().map(|line| {
            let text = match line.label {
                Some(label) => format!("LABEL{label}: {}", line.text),
                None => line.text,
            };
            (line.offset as u32, line.bytes, text)
        });
        record.content = Content::Code(lines.collect());
        (record, uses)
    }

    /// The code of a kernel, and the reason if it is incomplete.
    fn code(&self, start: u64, uses: &mut TableUses) -> (Vec<u8>, Option<Problem>) {
        let mut code = Vec::new();
        let mut at = 0;
        // The furthest jump target.
        let mut reach = 0;
        loop {
            if code.len() < at + INSTRUCTION_BYTES && code.len() < MAX_BYTES {
                self.extend(start, &mut code);
            }
            let problem = match Inst::decode(self.options.generation, &code, at) {
                Ok(inst) if inst.opcode == Opcode::Illegal => {
                    Problem::CodeEnds { offset: at as u32 }
                }
                Ok(inst) => {
                    uses.add(&inst);
                    for jump in [inst.jip, inst.uip] {
                        reach = reach.max(at as i64 + i64::from(jump));
                    }
                    at += inst.bytes();
                    let ends = inst.opcode.is_send() && inst.send.end_of_thread;
                    if ends && reach < at as i64 {
                        code.truncate(at);
                        return (code, None);
                    }
                    continue;
                }
                Err(_) if code.len() >= MAX_BYTES => Problem::TooMuch { limit: MAX_BYTES },
                Err(error) if code.len() >= at + INSTRUCTION_BYTES => {
                    let error = InstructionError::new(error);
                    Problem::Instruction { offset: at as u32, error }
                }
                Err(error) => match self.reader.word(start.wrapping_add(code.len() as u64)) {
                    Err(unreadable) => unreadable,
                    Ok(_) => {
                        let error = InstructionError::new(error);
                        Problem::Instruction { offset: at as u32, error }
                    }
                },
            };
            code.truncate(at);
            return (code, Some(problem));
        }
    }

    /// Reads more code, as much as is mapped.
    fn extend(&self, start: u64, code: &mut Vec<u8>) {
        let mut size = CHUNK_BYTES;
        while size > 0 {
            if let Ok(bytes) = self.reader.bytes(start.wrapping_add(code.len() as u64), size) {
                code.extend(bytes);
                return;
            }
            size /= 2;
        }
    }
}
