//! Follows a command stream: instruction after instruction, along branches and calls.

use std::collections::HashMap;

use tepui_mali_packets::cs::CsOpcode;
use tepui_mali_streams::{BYTES, Error, Memory, Step, text};

use crate::{Content, Decoder, InstructionError, Problem, Reader, Record, State};

/// Limit on the executions of one instruction by a stream; loops over layers are short.
const MAX_EXECUTIONS: u32 = 1 << 14;

/// Memory as the stream sees it: its own stores overlay the memory's contents.
struct Overlay<'r, 'a> {
    reader: &'r Reader<'a>,
    stored: &'r mut HashMap<u64, u8>,
}

impl Memory for Overlay<'_, '_> {
    type Fault = Problem;

    fn load(&mut self, at: u64, into: &mut [u8]) -> Result<(), Problem> {
        let here = |(place, _): &(u64, &mut u8)| self.stored.get(place).copied();
        let places = |into| (0u64..).map(|n| at.wrapping_add(n)).zip(into);
        let known: Vec<_> = places(into.iter_mut()).map(|place| here(&place)).collect();
        if known.iter().any(Option::is_none) {
            self.reader.read(at, into)?;
        }
        for (byte, known) in into.iter_mut().zip(known) {
            *byte = known.unwrap_or(*byte);
        }
        Ok(())
    }

    /// A store needs mapped memory too, so it reads the range first.
    fn store(&mut self, at: u64, bytes: &[u8]) -> Result<(), Problem> {
        let mut before = vec![0; bytes.len()];
        self.reader.read(at, &mut before)?;
        self.stored.extend((0u64..).map(|n| at.wrapping_add(n)).zip(bytes.iter().copied()));
        Ok(())
    }
}

/// Collects the instructions of one stream into a record, with the bytes that they have stored.
#[derive(Default)]
struct Walk {
    /// The number of executions of each instruction.
    times: HashMap<u64, u32>,
    stored: HashMap<u64, u8>,
    /// The instructions since the last one that has children, by their distance from the first.
    lines: Vec<(u32, Vec<u8>, String)>,
    lines_at: u64,
}

impl Walk {
    /// Adds the collected instructions to the tree.
    fn flush(&mut self, record: &mut Record) {
        if !self.lines.is_empty() {
            let content = Content::Code(std::mem::take(&mut self.lines));
            record.children.push(Record { content, ..Record::new("Instructions", self.lines_at) });
        }
    }

    /// Collects an instruction.
    fn add(&mut self, at: u64, bytes: [u8; 8], record: &mut Record) {
        let next = self.lines.last().map(|line| self.lines_at + u64::from(line.0) + BYTES);
        if next.is_some_and(|next| next != at) {
            self.flush(record);
        }
        if self.lines.is_empty() {
            self.lines_at = at;
        }
        let distance = (at - self.lines_at) as u32;
        self.lines.push((distance, bytes.to_vec(), text(&bytes)));
    }
}

impl Decoder<'_> {
    /// Decodes a stream with everything that it points to, and leaves the queue's registers in `state`.
    /// Instructions of a loop are shown once, but the work that they start is shown each time.
    pub fn stream(&mut self, state: &mut State, address: u64, size: u64) -> Record {
        let mut record = Record::new("Stream", address);
        state.start(address, size);
        let mut walk = Walk::default();
        while state.unwind() {
            let at = state.current.next;
            let times = walk.times.entry(at).or_insert(0);
            *times += 1;
            let first = *times == 1;
            if *times > MAX_EXECUTIONS {
                walk.flush(&mut record);
                record.problems.push(Problem::EndlessLoop { address: at });
                break;
            }
            if !self.reader.take() {
                walk.flush(&mut record);
                record.problems.push(self.too_much());
                break;
            }
            let mut memory = Overlay { reader: &self.reader, stored: &mut walk.stored };
            let bytes = match state.fetch(&mut memory) {
                Ok(bytes) => bytes,
                Err(error) => {
                    walk.flush(&mut record);
                    let problem = problem(error, (at.wrapping_sub(address)) as u32);
                    record.children.push(Record::failed("Instruction", at, problem));
                    break;
                }
            };
            let step = state.execute(&mut memory, &bytes);
            if first {
                walk.add(at, bytes, &mut record);
            }
            match step {
                Ok(Step::Done(CsOpcode::SetExceptionHandler)) => {
                    walk.flush(&mut record);
                    let range = state.exception_handler;
                    record.children.push(self.handler(range.next, range.end));
                }
                Ok(Step::Done(_)) => {}
                Ok(Step::Wait(_)) => state.skip(),
                Ok(Step::Work(opcode)) => {
                    let children = self.work(opcode, &bytes, &state.registers);
                    if !children.is_empty() {
                        walk.flush(&mut record);
                        let title = opcode.to_string();
                        record.children.push(Record { children, ..Record::new(title, at) });
                    }
                }
                Err(error) => {
                    walk.flush(&mut record);
                    let problem = problem(error, (at.wrapping_sub(address)) as u32);
                    record.children.push(Record::failed("Instruction", at, problem));
                    break;
                }
            }
        }
        walk.flush(&mut record);
        record
    }

    /// Decodes an exception handler in the order of its addresses, because the execution path is unknown.
    fn handler(&mut self, start: u64, end: u64) -> Record {
        let mut record = Record::new("Exception handler", start);
        if self.is_known("Exception handler", start) {
            record.content = Content::SeeAbove;
            return record;
        }
        let mut lines = Vec::new();
        let mut at = start;
        while at < end {
            let mut bytes = [0; BYTES as usize];
            if !self.reader.take() {
                record.problems.push(self.too_much());
                break;
            }
            if let Err(problem) = self.reader.read(at, &mut bytes) {
                record.problems.push(problem);
                break;
            }
            lines.push(((at - start) as u32, bytes.to_vec(), text(&bytes)));
            at = at.wrapping_add(BYTES);
        }
        record.content = Content::Code(lines);
        record
    }
}

/// The problem of an instruction that cannot be executed.
fn problem(error: Error<Problem>, offset: u32) -> Problem {
    match error {
        Error::Memory(problem) => problem,
        Error::Field(problem) => Problem::Packet(problem),
        Error::Opcode(number) => Problem::UnknownCommand { header: u32::from(number) << 24 },
        other => Problem::Instruction {
            offset,
            error: InstructionError::new(StopReason(other.to_string())),
        },
    }
}

/// The reason why a stream stops.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct StopReason(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of two pages, of which the second is unmapped.
    struct Page;

    impl crate::GpuMemory for Page {
        fn read(&self, address: u64, into: &mut [u8]) -> Result<(), crate::Unreadable> {
            let end = address.checked_add(into.len() as u64);
            if end.is_none_or(|end| end > 4096) {
                return Err(crate::Unreadable { address });
            }
            into.fill(7);
            Ok(())
        }
    }

    #[test]
    fn what_is_stored_lies_over_what_is_there() {
        let reader = Reader::new(&Page, Default::default());
        let mut stored = HashMap::new();
        let mut memory = Overlay { reader: &reader, stored: &mut stored };
        memory.store(4092, &[1, 2]).expect("it is mapped");
        let mut word = [0; 4];
        memory.load(4092, &mut word).expect("it is mapped");
        assert_eq!(word, [1, 2, 7, 7]);
        assert!(memory.store(4096, &[1]).is_err() && memory.load(4095, &mut word).is_err());
    }
}
