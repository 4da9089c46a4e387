//! Programs: machine code decoded into operations.

use tepui_mali_isa::Inst;
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::midgard::TextureRegisters;

use super::check::accesses::ProgramCheck;
use super::op::{Next, Op};
use super::translate::LazyTranslation;
use crate::warp::row::Row;
use crate::warp::{COMMON, Warp};

/// A program.
pub struct Program {
    /// GPU address of the first instruction.
    pub address: u64,
    /// The machine code.
    pub code: Vec<u8>,
    /// The operations.
    pub ops: Vec<Op>,
    /// Rows of addresses in the program and of Bifrost's constants, after the rows that all programs have.
    pub rows: Vec<Row>,
    /// Bifrost: the byte offset of the clause of each operation.
    clauses: Option<Vec<u32>>,
    /// Midgard: the offsets are those of bundles, for a texture unit with these registers.
    midgard: Option<TextureRegisters>,
    /// Registers that the program names, which are zeroed when a warp begins.
    named: Vec<u8>,
    /// The translation to host code; never made unless the caller that decodes the program sets a threshold.
    pub translation: LazyTranslation,
    /// Facts that the checker compares with; none if it is off.
    pub check: Option<Box<ProgramCheck>>,
}

/// The register of a blend shader's return address on Bifrost.
const RETURN: u8 = 48;

/// Registers that operations name.
fn named(ops: &[Op]) -> Vec<u8> {
    let mut named = [false; COMMON];
    for op in ops {
        if op.next == Next::Jump {
            named[usize::from(RETURN)] = true;
        }
        let sources = op.src.iter().flat_map(|src| [src.row, src.high]).map(usize::from);
        let staged = op.staging.iter().flat_map(|&(first, count)| {
            usize::from(first)..usize::from(first) + usize::from(count)
        });
        // 64-bit results have two registers.
        let results = [usize::from(op.dest), usize::from(op.dest) + 1];
        for row in sources.chain(staged).chain(results).filter(|row| *row < COMMON) {
            named[row] = true;
        }
    }
    (0..COMMON as u8).filter(|row| named[usize::from(*row)]).collect()
}

impl Program {
    /// Bifrost and Midgard: the byte offset of the clause or bundle of each operation.
    pub fn clauses(&self) -> Option<&[u32]> {
        self.clauses.as_deref()
    }

    /// Zeroes the registers that the program names, for a warp that begins.
    pub fn clear(&self, warp: &mut Warp) {
        for row in &self.named {
            warp.registers[usize::from(*row)] = Row::splat(0);
        }
    }

    /// Zeroes the registers that the program does not name, before a program that may use them continues.
    pub fn clear_others(&self, warp: &mut Warp, keep: impl Fn(usize) -> bool) {
        let mut named = self.named.iter().peekable();
        for row in 0..COMMON as u8 {
            if named.next_if(|own| **own == row).is_none() && !keep(row.into()) {
                warp.registers[usize::from(row)] = Row::splat(0);
            }
        }
    }

    /// A program of operations. `clauses` are the byte offsets of the clause or bundle of each.
    pub fn new(
        address: u64,
        code: Vec<u8>,
        ops: Vec<Op>,
        rows: Vec<Row>,
        clauses: Option<Vec<u32>>,
        midgard: Option<TextureRegisters>,
    ) -> Program {
        let named = named(&ops);
        let translation = LazyTranslation::after(u32::MAX);
        Program { address, code, ops, rows, clauses, midgard, named, translation, check: None }
    }

    /// The operation at a byte offset.
    pub fn entry(&self, offset: u64) -> Option<u32> {
        match &self.clauses {
            None => u32::try_from(offset / BYTES as u64).ok(),
            Some(clauses) => {
                let first = clauses.partition_point(|o| u64::from(*o) < offset);
                clauses.get(first).filter(|o| u64::from(**o) == offset).map(|_| first as u32)
            }
        }
    }

    /// The byte offset of an operation, or of its clause.
    pub fn offset(&self, index: u32) -> u32 {
        match &self.clauses {
            None => index * BYTES as u32,
            Some(clauses) => clauses.get(index as usize).copied().unwrap_or(0),
        }
    }

    /// The text of an instruction, or of its clause.
    pub fn text(&self, index: usize) -> String {
        if let Some(registers) = self.midgard {
            let offset = self.offset(index as u32) as usize / 16 * 16;
            let part = tepui_mali_isa::midgard::disasm::parts(&self.code, offset).next();
            return part.map_or(String::new(), |part| {
                let text = part.text_with(&self.code, registers);
                text.replace('\n', "; ")
            });
        }
        if self.clauses.is_some() {
            let offset = self.offset(index as u32) as usize;
            let part = tepui_mali_isa::bifrost::disasm::parts(&self.code, offset).next();
            return part.map_or(String::new(), |part| part.text(&self.code));
        }
        match Inst::decode_at(&self.code, index * BYTES) {
            Ok(inst) => inst.to_string(),
            Err(error) => error.kind.to_string(),
        }
    }
}
