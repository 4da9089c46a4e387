//! Shader programs: their descriptor and their code.

use tepui_mali_isa::disasm::{self, disassemble};
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::ShaderProgram;

use crate::{Content, Decoder, InstructionError, Problem, Record};

/// Limit on the size of code.
const MAX_BYTES: usize = 1 << 19;

/// Bytes of code that are read in one step.
const CHUNK_BYTES: usize = 1 << 11;

/// Bytes of an instruction.
const BYTES: usize = 8;

impl Decoder<'_> {
    /// Decodes the shader program descriptor at an address, and its code.
    pub(crate) fn program(&mut self, title: &'static str, at: u64) -> Record {
        let mut record = self.reader.packet_as(title, ShaderProgram::INFO, at);
        if let Ok(program) = self.reader.value::<ShaderProgram>(at) {
            record.children.push(self.code(program.binary));
        }
        record
    }

    /// The record of code, and the bytes in multiples of `unit`; no bytes if the code is not shown here.
    pub(crate) fn begin_code(&mut self, start: u64, unit: usize) -> (Record, Option<Vec<u8>>) {
        let mut record = Record::new("Code", start);
        if !self.reader.take() {
            record.problems.push(self.too_much());
            return (record, None);
        }
        if self.is_known("Code", start) {
            record.content = Content::SeeAbove;
            return (record, None);
        }
        let (code, problem) = self.read_code(start, unit);
        record.problems.extend(problem);
        (record, Some(code))
    }

    /// Disassembles code up to the zeros that follow it, or to the end of memory.
    pub(crate) fn code(&mut self, start: u64) -> Record {
        let (mut record, code) = self.begin_code(start, BYTES);
        let Some(code) = code else { return record };
        let mut lines = Vec::new();
        for line in disassemble(&code, 0) {
            match &line.content {
                disasm::Content::Padding => break,
                disasm::Content::Inst(_) => {
                    lines.push((line.offset as u32, line.bytes.clone(), line.text()));
                }
                disasm::Content::Error(error) => {
                    let offset = line.offset as u32;
                    let error = InstructionError::new(error.clone());
                    record.problems.push(Problem::Instruction { offset, error });
                    break;
                }
            }
        }
        record.content = Content::Code(lines);
        record
    }

    /// Reads code up to a unit of zeros.
    fn read_code(&self, start: u64, unit: usize) -> (Vec<u8>, Option<Problem>) {
        let mut code: Vec<u8> = Vec::new();
        let mut checked = 0;
        loop {
            while code.len() >= checked + unit {
                if code[checked..checked + unit].iter().all(|byte| *byte == 0) {
                    code.truncate(checked);
                    return (code, None);
                }
                checked += unit;
            }
            if code.len() >= MAX_BYTES {
                return (code, Some(Problem::TooMuch { limit: MAX_BYTES }));
            }
            let at = start.wrapping_add(code.len() as u64);
            let mut size = CHUNK_BYTES;
            let more = loop {
                match self.reader.bytes(at, size) {
                    Ok(bytes) => break Ok(bytes),
                    Err(problem) if size <= BYTES => break Err(problem),
                    Err(_) => size /= 2,
                }
            };
            match more {
                Ok(bytes) => code.extend(bytes),
                // The end of the mapped memory may be the end of the code.
                Err(_) if !code.is_empty() => return (code, None),
                Err(problem) => return (code, Some(problem)),
            }
        }
    }
}
