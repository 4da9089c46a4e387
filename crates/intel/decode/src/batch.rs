//! Walks a batch: command after command, along jumps and into second-level batches.

use std::collections::HashSet;

use tepui_intel_packets::mi::{MiBatchBufferEnd, MiBatchBufferStart, MiNoop};
use tepui_intel_packets::{Packet, PacketInfo, command};
use tepui_packets::Value;

use crate::{Content, Decoder, Problem, Record, address};

/// Limit on the double words of a command: nine bits of length (3DSTATE_SO_DECL_LIST), plus the two that the
/// length excludes.
const MAX_DWORDS: usize = 513;

/// The continuation of a batch after a command.
enum Continuation {
    After,
    Jump(u64),
    End,
}

impl Decoder<'_, '_> {
    /// Decodes the batch at an address, with everything that its commands point to. `length` bounds its
    /// commands up to the first jump; after a jump, commands end with MI_BATCH_BUFFER_END, or at the end of
    /// memory.
    pub fn batch(&mut self, start: u64, length: u64) -> Record {
        let start = address(start);
        self.level("Batch", start, start.checked_add(length), 0)
    }

    /// Decodes commands from an address on, as children of one record.
    fn level(
        &mut self,
        title: &'static str,
        start: u64,
        mut end: Option<u64>,
        depth: usize,
    ) -> Record {
        let mut batch = Record::new(title, start);
        let mut at = start;
        // Targets of the jumps that were taken.
        let mut visited = HashSet::from([start]);
        // Whether the last command was conditional: then it is not known whether the jump that follows is
        // taken.
        let mut conditional = false;
        while end.is_none_or(|end| at < end) {
            if !self.reader.take() {
                batch.problems.push(self.too_much());
                return batch;
            }
            if let Some((record, bytes)) = self.noops(at, end) {
                batch.children.push(record);
                at = at.wrapping_add(bytes);
                continue;
            }
            let (bytes, info) = match self.fetch(at) {
                Ok(found) => found,
                Err(problem) => {
                    batch.children.push(Record::failed("Command", at, problem));
                    return batch;
                }
            };
            let mut record = self.command_record(at, &bytes, info);
            let next = match info {
                Some(info) if info.name == MiBatchBufferEnd::INFO.name => Continuation::End,
                Some(info) if info.name == MiBatchBufferStart::INFO.name => {
                    self.jump(&bytes, depth, &mut record)
                }
                Some(info) => {
                    conditional |= info.name == "MI_CONDITIONAL_BATCH_BUFFER_END";
                    self.pointers(info, at, &bytes, &mut record);
                    Continuation::After
                }
                None => Continuation::After,
            };
            let next = match next {
                Continuation::Jump(target) if !visited.insert(target) => {
                    // A loop with a conditional end is not an error.
                    match conditional {
                        true => record.children.push(see_above(target)),
                        false => record.problems.push(Problem::EndlessLoop { address: target }),
                    }
                    Continuation::End
                }
                next => next,
            };
            batch.children.push(record);
            match next {
                Continuation::After => at = at.wrapping_add(bytes.len() as u64),
                Continuation::Jump(target) => (at, end) = (target, None),
                Continuation::End => return batch,
            }
        }
        batch
    }

    /// Restores the state from a command of an earlier batch, of which only the bytes are left.
    pub fn recall(&mut self, bytes: &[u8]) {
        let Some(header) = bytes.first_chunk::<4>() else { return };
        let header = u32::from_le_bytes(*header);
        if let Some(info) = command::find(self.options.generation, header) {
            let mut record = self.command_record(0, bytes, Some(info));
            self.pointers(info, 0, bytes, &mut record);
        }
    }

    /// Follows MI_BATCH_BUFFER_START. A second-level batch becomes a child.
    fn jump(&mut self, bytes: &[u8], depth: usize, record: &mut Record) -> Continuation {
        let Ok((start, _)) = MiBatchBufferStart::unpack_lossy_as(bytes, self.revision()) else {
            return Continuation::End;
        };
        let target = address(start.batch_buffer_start_address);
        match (start.second_level_batch_buffer, start.predication_enable) {
            (true, _) => {
                let limit = self.options.limits.calls;
                if depth < limit {
                    let inner = self.level("Second level batch", target, None, depth + 1);
                    record.children.push(inner);
                } else {
                    record.problems.push(Problem::CallsTooDeep { limit });
                }
                Continuation::After
            }
            // The predicate is known at run time only.
            (false, true) => Continuation::After,
            (false, false) => Continuation::Jump(target),
        }
    }

    /// Consecutive MI_NOOPs as one record, with their size.
    fn noops(&self, start: u64, end: Option<u64>) -> Option<(Record, u64)> {
        const STEP: u64 = 4096;
        let mut at = start;
        loop {
            // Up to the next multiple of the step, which never leaves a page.
            let mut size = STEP - at % STEP;
            if let Some(end) = end {
                size = size.min(end.saturating_sub(at));
            }
            let bytes = self.reader.bytes(at, size as usize).unwrap_or_default();
            let zeros = bytes.chunks_exact(4).take_while(|word| *word == [0; 4]).count() as u64 * 4;
            at += zeros;
            if zeros < size || size == 0 {
                break;
            }
        }
        let size = at - start;
        if size < 8 {
            return None;
        }
        let mut record = Record::new(MiNoop::INFO.name, start);
        record.content = Content::Fields(vec![("Repeated".into(), Value::Uint(size / 4))]);
        Some((record, size))
    }

    /// The record of a command.
    fn command_record(&self, at: u64, bytes: &[u8], info: Option<&'static PacketInfo>) -> Record {
        let Some(info) = info else {
            let header = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let mut record = Record::failed("Command", at, Problem::UnknownCommand { header });
            record.content = Content::Bytes(bytes.to_vec());
            return record;
        };
        let mut record = Record::new(info.name, at);
        if bytes.len() >= info.size_bytes {
            record.set_packet_as(info, &bytes[..info.size_bytes], self.revision());
            return record;
        }
        // A shorter form of the command lacks the fields past its end.
        let mut padded = bytes.to_vec();
        padded.resize(info.size_bytes, 0);
        record.set_packet_as(info, &padded, self.revision());
        if let Content::Packet(decoded) = &mut record.content {
            let bits = 8 * bytes.len() as u32;
            decoded.fields.retain(|(field, _)| field.start() < bits);
        }
        record
    }

    /// Reads the command at an address. An unknown command still has a length.
    fn fetch(&self, at: u64) -> Result<(Vec<u8>, Option<&'static PacketInfo>), Problem> {
        let header = self.reader.word(at)?;
        let generation = self.options.generation;
        let length = command::length_dwords(generation, header).map(|dwords| dwords as usize);
        let Some(length) = length.filter(|&dwords| dwords <= MAX_DWORDS) else {
            return Err(Problem::UnknownCommand { header });
        };
        Ok((self.reader.bytes(at, 4 * length)?, command::find(generation, header)))
    }
}

/// A reference to commands that were decoded before.
fn see_above(target: u64) -> Record {
    Record { content: Content::SeeAbove, ..Record::new("Batch", target) }
}
