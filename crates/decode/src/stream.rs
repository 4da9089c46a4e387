//! Walks a control stream: sequences of blocks, links, calls, returns and the end.

use std::collections::HashSet;

use crate::{Problem, Reader, Record};

/// Continuation of a stream after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At the block this many bytes on.
    After(u64),
    /// At the block at an address.
    Link(u64),
    /// At the block at `target`; a return continues `size` bytes after the calling block's start.
    Call {
        /// Address of the next block.
        target: u64,
        /// Size of the calling block in bytes.
        size: u64,
    },
    /// After the block of the last call.
    Return,
    /// The stream ends.
    End,
}

/// Walks a control stream. `block` decodes the block at an address into a record, which becomes a
/// child of the stream's record, and returns where the stream continues.
///
/// Streams have no conditions, so one that reaches an address a second time with the same return
/// stack never ends.
pub fn walk<'a, D: AsMut<Reader<'a>>>(
    decoder: &mut D,
    title: &'static str,
    start: u64,
    mut block: impl FnMut(&mut D, u64) -> (Record, Next),
) -> Record {
    let limits = decoder.as_mut().limits();
    let mut stream = Record::new(title, start);
    let mut at = start;
    let mut return_stack: Vec<u64> = Vec::new();
    let mut visited = HashSet::from([(start, return_stack.clone())]);
    loop {
        if !decoder.as_mut().take() {
            let limit = limits.records;
            stream.problems.push(Problem::TooMuch { limit });
            return stream;
        }
        let (record, next) = block(decoder, at);
        stream.children.push(record);
        let jump = match next {
            Next::After(size) => {
                at = at.wrapping_add(size);
                continue;
            }
            Next::End => return stream,
            Next::Link(target) => Ok(target),
            Next::Call { target, size } => {
                let limit = limits.calls;
                if return_stack.len() < limit {
                    return_stack.push(at.wrapping_add(size));
                    Ok(target)
                } else {
                    Err(Problem::CallsTooDeep { limit })
                }
            }
            Next::Return => return_stack.pop().ok_or(Problem::ReturnWithoutCall),
        };
        let problem = match jump {
            Ok(target) if visited.insert((target, return_stack.clone())) => {
                at = target;
                continue;
            }
            Ok(address) => Problem::EndlessLoop { address },
            Err(problem) => problem,
        };
        if let Some(last) = stream.children.last_mut() {
            last.problems.push(problem);
        }
        return stream;
    }
}
