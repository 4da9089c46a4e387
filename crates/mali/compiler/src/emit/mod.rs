//! The last stage: instructions in order with branches, dependency slots, waits and marks of last uses.
//!
//! ```text
//! Code ─ flow (branches) ─ slots (waits) ─ flow field ─ marks ─▶ Listing ─▶ bytes
//! ```

mod branches;
mod field;
mod marks;
mod slots;

pub(crate) use slots::registers;

use crate::error::{Error, Result};
use crate::mir::Inst;
use tepui_backend::listing::{self, Encoded};
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::validate;
use tepui_regalloc::Code;

/// A program in order.
pub(crate) type Listing = listing::Listing<Inst>;

/// Makes a listing of allocated code.
pub(crate) fn run(code: &Code<Inst>) -> Listing {
    let mut listing = branches::run(code);
    let waits = slots::run(&mut listing);
    listing = field::run(&listing, &waits);
    marks::run(&mut listing);
    listing
}

/// Encodes a listing.
///
/// # Errors
/// When an instruction has no encoding or breaks a rule: a bug of the compiler.
pub(crate) fn encode(l: &Listing) -> Result<Encoded> {
    let bytes = |inst: &Inst| -> Result<[u8; BYTES]> {
        let inst = inst.isa();
        validate::check(&inst).map_err(|rule| Error::Rule { text: inst.to_string(), rule })?;
        let word = inst.encode();
        let word = word.map_err(|error| Error::Encode { text: inst.to_string(), error })?;
        Ok(word.to_le_bytes())
    };
    let at = |b: [u8; BYTES]| Bytes(b);
    listing::encode(
        l,
        |inst| bytes(inst).map(at),
        // Offsets count instructions from the next one on.
        |inst, distance| bytes(&inst.immediate(0, i64::from(distance) / BYTES as i64 - 1)).map(at),
    )
}

/// The bytes of an instruction.
struct Bytes([u8; BYTES]);

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
