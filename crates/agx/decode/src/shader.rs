//! Disassembles programs.

use std::cmp::max;

use tepui_agx_isa::Inst;
use tepui_agx_isa::disasm::{Content as Line, Disassembler};

use crate::{Content, Decoder, InstructionError, Problem, Record};

/// Tag of programs in [`Decoder::seen`].
const PROGRAM: u8 = 1;

/// Limit on the size of a program.
const MAX_BYTES: usize = 1 << 18;

/// Bytes read per access.
const CHUNK_BYTES: usize = 1 << 10;

impl Decoder<'_> {
    /// Disassembles the program at a GPU address, up to the first `stop` or `ret` beyond which no
    /// jump leads.
    pub fn shader(&mut self, title: &'static str, address: u64) -> Record {
        let mut record = Record::new(title, address);
        if !self.options.everything && !self.seen.insert((address, PROGRAM)) {
            record.content = Content::SeeAbove;
            return record;
        }
        if !self.reader.take() {
            record.problems.push(Problem::TooMuch { limit: self.options.limits.records });
            return record;
        }
        let mut code = Vec::new();
        let mut lines = Vec::new();
        let mut at = 0;
        // The furthest jump target.
        let mut reach = 0;
        loop {
            if code.len() < at + tepui_agx_isa::MAX_BYTES && code.len() < MAX_BYTES {
                self.extend(address, &mut code);
            }
            let Some(line) = Disassembler::at(&code, at).next() else {
                let place = address.wrapping_add(at as u64);
                record.problems.push(match self.reader.word(place) {
                    Err(unreadable) => unreadable,
                    Ok(_) => Problem::TooMuch { limit: MAX_BYTES },
                });
                break;
            };
            lines.push((line.offset as u32, line.bytes.to_vec(), line.text()));
            let next = at + line.bytes.len();
            match &line.content {
                Line::Inst(inst) => {
                    if let Some(offset) = jump(inst) {
                        reach = max(reach, at.saturating_add_signed(offset as isize));
                    }
                    if matches!(inst, Inst::Stop(_) | Inst::Ret(_)) && reach < next {
                        break;
                    }
                }
                Line::Zeros => {
                    lines.pop();
                    record.problems.push(Problem::CodeEnds { offset: at as u32 });
                    break;
                }
                Line::Error(error) => {
                    let problem = Problem::Instruction {
                        offset: at as u32,
                        error: InstructionError::new(*error),
                    };
                    record.problems.push(problem);
                    break;
                }
            }
            at = next;
        }
        record.content = Content::Code(lines);
        record
    }

    /// Reads more code, as much as is mapped.
    fn extend(&self, address: u64, code: &mut Vec<u8>) {
        let mut size = CHUNK_BYTES;
        while size > 0 {
            if let Ok(bytes) = self.reader.bytes(address.wrapping_add(code.len() as u64), size) {
                code.extend(bytes);
                return;
            }
            size /= 2;
        }
    }
}

/// The jump target of an instruction, in bytes from its own start.
fn jump(inst: &Inst) -> Option<i32> {
    match inst {
        Inst::JmpExecAny(i) => Some(i.off),
        Inst::JmpExecNone(i) => Some(i.off),
        Inst::JmpIncomplete(i) => Some(i.off),
        Inst::JmpIfSkippingDoorbell(i) => Some(i.off),
        Inst::Call(i) => Some(i.off),
        _ => None,
    }
}
