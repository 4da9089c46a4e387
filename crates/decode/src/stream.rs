//! Control streams: blocks one after another, links, calls, returns, an end.

use std::collections::HashSet;

use crate::{Problem, Reader, Record};

/// What follows a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The block so many bytes on.
    After(u64),
    /// The block at an address.
    Link(u64),
    /// The block at an address, and later the one so many bytes on.
    Call {
        /// Where the stream goes on.
        target: u64,
        /// Size of the calling block in bytes.
        size: u64,
    },
    /// The block after the last call.
    Return,
    /// Nothing.
    End,
}

/// Walks a control stream. `block` decodes the block at an address into a record, which becomes a
/// child of the stream's, and says what follows.
///
/// Nothing in a stream is conditional, so one that comes to an address a second time with the same
/// calls open would never end.
pub fn walk<'a, D: AsMut<Reader<'a>>>(
    decoder: &mut D,
    title: &'static str,
    start: u64,
    mut block: impl FnMut(&mut D, u64) -> (Record, Next),
) -> Record {
    let limits = decoder.as_mut().limits();
    let mut stream = Record::new(title, start);
    let mut at = start;
    let mut open: Vec<u64> = Vec::new();
    let mut arrived = HashSet::from([(start, open.clone())]);
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
                if open.len() < limit {
                    open.push(at.wrapping_add(size));
                    Ok(target)
                } else {
                    Err(Problem::CallsTooDeep { limit })
                }
            }
            Next::Return => open.pop().ok_or(Problem::ReturnWithoutCall),
        };
        let problem = match jump {
            Ok(target) if arrived.insert((target, open.clone())) => {
                at = target;
                continue;
            }
            Ok(address) => Problem::Circle { address },
            Err(problem) => problem,
        };
        if let Some(last) = stream.children.last_mut() {
            last.problems.push(problem);
        }
        return stream;
    }
}
