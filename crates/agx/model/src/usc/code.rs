//! A decoded program as data: its operations, the tables that they index, and the constants that
//! they read.

use std::collections::HashMap;
use std::ops::Range;

use tepui_agx_isa::operand::UNIFORM_HALVES;
use tepui_agx_isa::{Cost, Inst};
use tepui_softgpu::AddressSpace;

use super::access::{TextureAccess, Transfer};
use super::counts::Counts;
use super::op::{File, Op, Src};
use super::opcode::Opcode;
use super::row::Row;
use super::samples;
use crate::isp::setup::MAX_SAMPLES;
use crate::job::GroupFault;

/// Rows of uniform registers in the shared file; constants follow.
pub const UNIFORM_ROWS: usize = UNIFORM_HALVES as usize / 2;

/// The samples of a pixel, a bit each.
const ALL_SAMPLES: u32 = (1 << MAX_SAMPLES) - 1;

/// Different constants of a program: operations name the rows of the shared file with 16 bits.
pub const MAX_CONSTANTS: usize = (1 << 16) - UNIFORM_ROWS;

/// An instruction with its offset.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Byte offset from the start of the program.
    pub offset: u32,
    /// The instruction; what could not be decoded has none.
    pub inst: Option<Inst>,
}

/// A fingerprint of machine code: FNV-1a.
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds a byte.
    pub fn add(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }

    /// The fingerprint of all bytes so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0
    }

    /// Whether a program with the fingerprint begins `code`. The model's programs end at their last instruction; `code` may be
    /// longer.
    #[must_use]
    pub fn begins(code: &[u8], value: u64) -> bool {
        let mut fingerprint = Fingerprint::default();
        code.iter().any(|&byte| {
            fingerprint.add(byte);
            fingerprint.value() == value
        })
    }
}

/// A decoded program.
pub struct Code {
    address: u64,
    usc_exec_base: u64,
    bytes: Vec<u8>,
    ops: Vec<Op>,
    placed: Vec<Placed>,
    transfers: Vec<Transfer>,
    accesses: Vec<TextureAccess>,
    notes: Vec<GroupFault>,
    constants: Vec<u32>,
    /// Rows of the uniform file that some instruction reads.
    uniform_rows: Vec<u16>,
    register_rows: usize,
    has_barriers: bool,
    /// For each operation what those before it take together, and what all take.
    costs: Vec<Cost>,
}

/// Collects the tables of a program while its instructions are lowered.
pub struct Builder<'a> {
    /// Address of the program.
    pub address: u64,
    /// Base of USC addresses, for link registers.
    pub usc_exec_base: u64,
    /// All instructions with their places.
    pub placed: &'a [Placed],
    /// Memory instructions' further fields.
    pub transfers: Vec<Transfer>,
    /// Texture and image instructions' further fields.
    pub accesses: Vec<TextureAccess>,
    /// Reasons why an instruction cannot be executed.
    pub notes: Vec<GroupFault>,
    constants: Vec<u32>,
    rows_of_constants: HashMap<u32, u16>,
    uniform_rows: Vec<bool>,
    register_rows: usize,
}

impl<'a> Builder<'a> {
    /// Empty tables for the program of these instructions.
    pub fn new(address: u64, usc_exec_base: u64, placed: &'a [Placed]) -> Builder<'a> {
        Builder {
            address,
            usc_exec_base,
            placed,
            transfers: Vec::new(),
            accesses: Vec::new(),
            notes: Vec::new(),
            constants: vec![0],
            rows_of_constants: HashMap::from([(0, UNIFORM_ROWS as u16)]),
            // A pair may start at the last row.
            uniform_rows: vec![false; UNIFORM_ROWS],
            register_rows: 2,
        }
    }

    /// The program of the operations that its instructions were lowered to.
    pub fn finish(self, bytes: Vec<u8>, ops: Vec<Op>) -> Result<Code, String> {
        if self.constants.len() > MAX_CONSTANTS {
            return Err(format!("a program of more than {MAX_CONSTANTS} different constants"));
        }
        let is_read = |&r: &u16| self.uniform_rows[usize::from(r)];
        Ok(Code {
            address: self.address,
            usc_exec_base: self.usc_exec_base,
            bytes,
            has_barriers: ops.iter().any(|op| op.opcode == Opcode::barrier),
            ops,
            placed: self.placed.to_vec(),
            transfers: self.transfers,
            accesses: self.accesses,
            notes: self.notes,
            constants: self.constants,
            uniform_rows: (0..UNIFORM_ROWS as u16).filter(is_read).collect(),
            register_rows: self.register_rows,
            costs: costs(self.placed),
        })
    }

    /// The shared row of a constant. A program with more than [`MAX_CONSTANTS`] is refused later,
    /// so wrapped row numbers are never used.
    pub fn constant(&mut self, value: u32) -> u16 {
        *self.rows_of_constants.entry(value).or_insert_with(|| {
            let row = UNIFORM_ROWS + self.constants.len();
            self.constants.push(value);
            row as u16
        })
    }

    /// Notes that uniform rows are read, and that they exist.
    pub fn uniform(&mut self, row: u16, count: u16) {
        for r in row..row + count {
            if let Some(used) = self.uniform_rows.get_mut(usize::from(r)) {
                *used = true;
            }
        }
    }

    /// Notes that register rows are touched.
    pub fn register(&mut self, row: u16, count: u16) {
        self.register_rows = self.register_rows.max(usize::from(row + count));
    }

    /// Index of the instruction at a byte offset from the program's start.
    pub fn index_at(&self, offset: i64) -> Option<usize> {
        self.placed.binary_search_by_key(&offset, |p| i64::from(p.offset)).ok()
    }
}

/// Prefix sums of the instructions' costs.
fn costs(placed: &[Placed]) -> Vec<Cost> {
    let mut sum = Cost::default();
    let mut all = vec![sum];
    for p in placed {
        let cost = p.inst.as_ref().map(Inst::cost).unwrap_or_default();
        sum = Cost { fscib: sum.fscib + cost.fscib, ic: sum.ic + cost.ic };
        all.push(sum);
    }
    all
}

impl Code {
    /// Whether the bytes in memory are still those that were decoded.
    pub fn still_at(&self, vm: &AddressSpace, usc_exec_base: u64) -> bool {
        let mut bytes = vec![0; self.bytes.len()];
        self.usc_exec_base == usc_exec_base
            && vm.read(self.address, &mut bytes).is_ok()
            && bytes == self.bytes
    }

    /// GPU address of the first instruction.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Machine code.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A number that tells programs apart wherever they lie.
    pub fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint::default();
        self.bytes.iter().for_each(|&byte| fingerprint.add(byte));
        fingerprint.value()
    }

    /// Bytes of machine code.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The operations.
    #[inline(always)]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The instructions with their offsets.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// The instruction that an operation was decoded from.
    pub fn inst(&self, index: usize) -> Option<&Inst> {
        self.placed.get(index)?.inst.as_ref()
    }

    /// Counts for one execution of a run of operations.
    pub fn counts(&self, run: Range<usize>) -> Counts {
        let before = |index: usize| self.costs[index.min(self.costs.len() - 1)];
        let (start, end) = (before(run.start), before(run.end));
        Counts {
            instructions: run.len() as u64,
            fscib: u64::from(end.fscib.saturating_sub(start.fscib)),
            ic: u64::from(end.ic.saturating_sub(start.ic)),
        }
    }

    /// A memory instruction's further fields.
    #[inline(always)]
    pub fn transfer(&self, index: usize) -> &Transfer {
        &self.transfers[index]
    }

    /// A texture or image instruction's further fields.
    #[inline(always)]
    pub fn access(&self, index: usize) -> &TextureAccess {
        &self.accesses[index]
    }

    /// All of them.
    pub fn accesses(&self) -> &[TextureAccess] {
        &self.accesses
    }

    /// Reason why an instruction cannot be executed.
    pub fn note(&self, index: usize) -> &GroupFault {
        &self.notes[index]
    }

    /// Rows that a SIMD-group's register file needs.
    pub fn register_rows(&self) -> usize {
        self.register_rows
    }

    /// Whether the program has barriers.
    pub fn has_barriers(&self) -> bool {
        self.has_barriers
    }

    /// Rows that the shared file needs.
    pub fn shared_row_count(&self) -> usize {
        UNIFORM_ROWS + self.constants.len()
    }

    /// The value of a source that is a constant of the program.
    pub fn constant(&self, s: Src) -> Option<u32> {
        if s.file != File::Shared {
            return None;
        }
        self.constants.get(usize::from(s.row).checked_sub(UNIFORM_ROWS)?).copied()
    }

    /// The shared file for given uniform registers (in halves; those that are missing are zero).
    pub fn shared_rows(&self, uniforms: &[u16]) -> Vec<Row> {
        let mut rows = vec![Row::ZERO; self.shared_row_count()];
        let half = |i: usize| u32::from(uniforms.get(i).copied().unwrap_or(0));
        for &row in &self.uniform_rows {
            let row = usize::from(row);
            rows[row] = Row::splat(half(2 * row) | half(2 * row + 1) << 16);
        }
        for (i, &value) in self.constants.iter().enumerate() {
            rows[UNIFORM_ROWS + i] = Row::splat(value);
        }
        rows
    }

    /// The uniform registers that the program reads: numbers of words.
    pub fn uniform_rows(&self) -> &[u16] {
        &self.uniform_rows
    }

    /// Whether every lane certainly computes the same values.
    pub fn ignores_lane(&self) -> bool {
        self.placed.iter().all(|p| p.inst.as_ref().is_some_and(super::query::ignores_lane))
    }

    /// Whether the program leaves local memory as it is; it may say no of one that does.
    pub fn keeps_local(&self) -> bool {
        self.placed.iter().all(|p| p.inst.as_ref().is_some_and(super::query::keeps_local))
    }

    /// The bytes of a sample that a fragment program writes, a bit each, if it does no more with pixels than that: its lanes write all
    /// of their samples, whatever branches they take, and nothing that they compute or access depends on
    /// which samples they have. `None` of any other program, and of some that are such.
    pub fn overwrites(&self) -> Option<u64> {
        let mut written = 0;
        let mut depth = 0;
        let mut has_ended = false;
        for (index, op) in self.ops.iter().enumerate() {
            depth += self.inst(index).map_or(0, super::query::nesting);
            match op.opcode {
                Opcode::mov_imm
                | Opcode::device_load
                | Opcode::texture
                | Opcode::ldcf
                | Opcode::jmp_exec_any
                | Opcode::jmp_exec_none
                | Opcode::nop => {}
                Opcode::stop => has_ended = true,
                Opcode::get_sr if !samples::tells_samples(op.aux[0]) => {}
                Opcode::iter if op.aux[1] != samples::place::CENTROID => {}
                Opcode::tile_access if op.aux[0] == 0 && depth == 0 && !has_ended => {
                    let TextureAccess::Pixel(t) = self.access(op.imm as usize) else { return None };
                    let samples = self.constant(t.samples)?;
                    let end = usize::from(t.offset) + t.format.pixel_bytes(t.mask);
                    if samples & ALL_SAMPLES != ALL_SAMPLES || end > 64 {
                        return None;
                    }
                    written |= (usize::from(t.offset)..end).fold(0, |all, byte| all | 1 << byte);
                }
                opcode if opcode.is_arithmetic() || opcode.changes_lanes() => {}
                _ => return None,
            }
            if depth < 0 || op.opcode == Opcode::stop && depth != 0 {
                return None;
            }
        }
        Some(written).filter(|&written| written != 0)
    }

    /// Index of the instruction at a USC address, given as its low 32 bits.
    pub fn index_of(&self, usc_address: u32) -> Option<usize> {
        let offset = usc_address.wrapping_sub(self.address as u32);
        self.placed.binary_search_by_key(&offset, |p| p.offset).ok()
    }

    /// Offset and text of an instruction, for reports.
    pub fn describe(&self, index: usize) -> (u32, String) {
        match self.placed.get(index) {
            Some(Placed { offset, inst: Some(inst) }) => (*offset, inst.to_string()),
            Some(Placed { offset, inst: None }) => {
                let from = (*offset as usize).min(self.bytes.len());
                let bytes = &self.bytes[from..(from + 8).min(self.bytes.len())];
                (*offset, format!("bytes {bytes:02x?}"))
            }
            None => (self.bytes.len() as u32, "the end of the program".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_agx_isa::asm::assemble;
    use tepui_softgpu::{AddressSpace, Memory, Protection};

    use crate::usc::load::load;

    const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;

    #[test]
    fn programs_overwrite_pixels_that_write_all_samples_wherever_they_branch() {
        let store = "wait_pix 12, 0\nst_tile r0_r1_r2_r3, u8norm, 0, xyzw, 0, 255, 0\n";
        let branch = "if_icmp r0l, ult, r2, 5, 1\n";
        for (text, bytes) in [
            (format!("{store}stop"), Some(0b1111)),
            (format!("{branch}pop_exec r0l, 1\n{store}stop"), Some(0b1111)),
            // Not in all lanes, not of all samples, none, what nothing reaches.
            (format!("{branch}{store}pop_exec r0l, 1\nstop"), None),
            (format!("{}stop", store.replace("255", "1")), None),
            ("stop".to_owned(), None),
            (format!("stop\n{store}stop"), None),
            // After a read of the sample mask.
            (format!("get_sr r0, sr60\n{store}stop"), None),
        ] {
            let code = assemble(&text).unwrap_or_else(|errors| panic!("{text}: {}", errors[0]));
            let vm = AddressSpace::new(tepui_agx_chips::PAGE_SHIFT, tepui_agx_chips::VA_BITS);
            let memory = Arc::new(Memory::new(PAGE as usize).unwrap());
            vm.bind(PAGE, memory, 0, PAGE, Protection::READ | Protection::WRITE).unwrap();
            vm.write(PAGE, &code).unwrap();
            assert_eq!(load(&vm, PAGE, 0).unwrap().overwrites(), bytes, "{text}");
        }
    }
}
