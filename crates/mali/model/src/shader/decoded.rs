//! Machine code as operations, and what all decoders use of them.

use super::op::{Lanes, Op};
use crate::warp::row::Row;
use crate::warp::trap::Trap;
use crate::warp::uniforms;

/// A program as operations.
#[derive(Default)]
pub struct Decoded {
    /// The operations.
    pub ops: Vec<Op>,
    /// Rows of constants.
    pub rows: Vec<Row>,
    /// The byte offset in the program of each operation's clause or bundle; operations that follow a bundle of Midgard
    /// (the end of the program, the continuation of a tile buffer write) have the offset of its last eight bytes.
    pub offsets: Vec<u32>,
}

/// The number of a program's row of constants, which is added if it is new.
pub fn constant(rows: &mut Vec<Row>, row: Row) -> Option<u16> {
    /// Number of the latest constants that are searched, so that long programs do not take quadratic time.
    const LATEST: usize = 64;
    let from = rows.len().saturating_sub(LATEST);
    let known = rows[from..].iter().position(|r| *r == row).map(|at| from + at);
    let at = known.unwrap_or(rows.len());
    let number = u16::try_from(at).ok().and_then(|at| uniforms::PROGRAM.checked_add(at))?;
    if known.is_none() {
        rows.push(row);
    }
    Some(number)
}

/// Does nothing.
pub fn nothing(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Ok(())
}

/// Copies a row.
pub fn copy(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let value = l.get(&op.src[0]);
    l.put(op, &value);
    Ok(())
}
