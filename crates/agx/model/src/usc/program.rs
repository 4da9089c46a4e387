//! Programs: machine code decoded once into operations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tepui_agx_isa::{DecodeError, Inst};
use tepui_hostvec::Target;
use tepui_softgpu::AddressSpace;

use super::check::Footprint;
use super::exec::Name;
use super::exec::texture::Access2d;
use super::lower::lower;
use super::memory::Transfer;
use super::op::Op;
use super::row::Row;
use crate::Coverage;

/// Rows of uniform registers in the shared file; constants follow.
pub const UNIFORM_ROWS: usize = super::launch::UNIFORM_HALVES / 2;

/// The longest program that is decoded, in bytes: code without an end stops here.
const MAX_BYTES: usize = 1 << 22;

/// Different constants of a program: operations name the rows of the shared file with 16 bits.
const MAX_CONSTANTS: usize = (1 << 16) - UNIFORM_ROWS;

/// An instruction with its offset.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Byte offset from the start of the program.
    pub offset: u32,
    /// The instruction; what could not be decoded has none.
    pub inst: Option<Inst>,
}

/// A decoded program.
pub struct Program {
    address: u64,
    usc_exec_base: u64,
    bytes: Vec<u8>,
    ops: Vec<Op>,
    placed: Vec<Placed>,
    transfers: Vec<Transfer>,
    accesses: Vec<Access2d>,
    notes: Vec<String>,
    constants: Vec<u32>,
    /// Rows of the uniform file that some instruction reads.
    uniform_rows: Vec<u16>,
    register_rows: usize,
    has_barriers: bool,
    footprints: OnceLock<Vec<Footprint>>,
    cleared: OnceLock<Option<Vec<u16>>>,
    #[cfg(target_arch = "x86_64")]
    translation: super::jit::Lazy,
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
    pub accesses: Vec<Access2d>,
    /// Reasons why an instruction cannot be executed.
    pub notes: Vec<String>,
    constants: Vec<u32>,
    rows_of_constants: HashMap<u32, u16>,
    uniform_rows: Vec<bool>,
    register_rows: usize,
}

impl Builder<'_> {
    /// The shared row of a constant. A program with more than [`MAX_CONSTANTS`] is refused later, so wrapped row numbers
    /// are never used.
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

impl Program {
    /// Reads and decodes the program at an address. What cannot be decoded becomes an operation that
    /// faults when it is executed.
    pub fn load(
        vm: &AddressSpace,
        address: u64,
        usc_exec_base: u64,
        translation: Translation,
    ) -> Result<Program, String> {
        let (bytes, placed, mut undecoded) = read(vm, address)?;
        let mut builder = Builder {
            address,
            usc_exec_base,
            placed: &placed,
            transfers: Vec::new(),
            accesses: Vec::new(),
            notes: Vec::new(),
            constants: vec![0],
            rows_of_constants: HashMap::from([(0, UNIFORM_ROWS as u16)]),
            // A pair may start at the last row.
            uniform_rows: vec![false; UNIFORM_ROWS],
            register_rows: 2,
        };
        let mut ops = Vec::with_capacity(placed.len());
        for (index, p) in placed.iter().enumerate() {
            ops.push(match &p.inst {
                Some(inst) => lower(&mut builder, index, inst),
                None => {
                    let why = undecoded
                        .remove(&p.offset)
                        .unwrap_or_else(|| "an instruction that cannot be decoded".to_owned());
                    super::lower::refuse(&mut builder, why)
                }
            });
        }
        if builder.constants.len() > MAX_CONSTANTS {
            return Err(format!("a program of more than {MAX_CONSTANTS} different constants"));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (translation.after, translation.target);
        let Builder { transfers, accesses, notes, constants, uniform_rows, register_rows, .. } =
            builder;
        let uniform_rows =
            (0..UNIFORM_ROWS as u16).filter(|&r| uniform_rows[usize::from(r)]).collect();
        Ok(Program {
            address,
            usc_exec_base,
            bytes,
            has_barriers: ops.iter().any(|op| op.name == Name::barrier),
            ops,
            placed,
            transfers,
            accesses,
            notes,
            constants,
            uniform_rows,
            register_rows,
            footprints: OnceLock::new(),
            cleared: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            translation: super::jit::Lazy::after(translation.after, translation.target),
        })
    }

    /// Whether the bytes in memory are still those that were decoded.
    fn still_at(&self, vm: &AddressSpace, usc_exec_base: u64) -> bool {
        let mut bytes = vec![0; self.bytes.len()];
        self.usc_exec_base == usc_exec_base
            && vm.read(self.address, &mut bytes).is_ok()
            && bytes == self.bytes
    }

    /// GPU address of the first instruction.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The operations.
    #[inline(always)]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The host's own code for it, once it has run often enough.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn translated(&self) -> Option<&super::jit::Translated> {
        self.translation.get(self)
    }

    /// The instructions with their offsets.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// What each instruction reads and writes, for the checker.
    pub fn footprints(&self) -> &[Footprint] {
        self.footprints.get_or_init(|| Footprint::of(self))
    }

    /// The instruction behind an operation.
    pub fn inst(&self, index: usize) -> Option<&Inst> {
        self.placed.get(index)?.inst.as_ref()
    }

    /// A memory instruction's further fields.
    #[inline(always)]
    pub fn transfer(&self, index: usize) -> &Transfer {
        &self.transfers[index]
    }

    /// A texture or image instruction's further fields.
    #[inline(always)]
    pub fn access(&self, index: usize) -> &Access2d {
        &self.accesses[index]
    }

    /// All of them.
    pub fn accesses(&self) -> &[Access2d] {
        &self.accesses
    }

    /// Why an instruction cannot be executed.
    pub fn note(&self, index: usize) -> &str {
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

    /// Rows that a whole SIMD-group must find cleared; `None` for all.
    pub fn cleared_rows(&self) -> Option<&[u16]> {
        self.cleared.get_or_init(|| super::clear::rows(self)).as_deref()
    }

    /// Rows that the shared file needs.
    pub fn shared_row_count(&self) -> usize {
        UNIFORM_ROWS + self.constants.len()
    }

    /// The value of a source that is a constant of the program.
    pub fn constant(&self, s: super::op::Src) -> Option<u32> {
        if s.file != super::op::File::Shared {
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

    /// Whether every lane certainly computes the same values.
    pub fn ignores_lane(&self) -> bool {
        self.placed.iter().all(|p| p.inst.as_ref().is_some_and(super::query::ignores_lane))
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

/// Bytes, instructions, and why some could not be decoded, by offset.
type Code = (Vec<u8>, Vec<Placed>, HashMap<u32, String>);

/// Reads instructions up to the end of the program: a `stop` that no branch jumps over and that is not inside an `if`,
/// after which other threads go on.
fn read(vm: &AddressSpace, address: u64) -> Result<Code, String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut placed = Vec::new();
    let mut undecoded = HashMap::new();
    // The highest place that a branch leads to.
    let mut reach = 0i64;
    let mut nesting = 0i64;
    let mut offset = 0usize;
    loop {
        if bytes.len() < offset + 16 && bytes.len() < MAX_BYTES {
            extend(vm, address, &mut bytes, offset + 16)?;
        }
        let rest = bytes.get(offset..).unwrap_or(&[]);
        if rest.is_empty() {
            return Ok((bytes, placed, undecoded));
        }
        match Inst::decode(rest) {
            Ok((inst, length)) => {
                placed.push(Placed { offset: offset as u32, inst: Some(inst) });
                if let Some(target) = super::query::branch_offset(&inst) {
                    reach = reach.max(offset as i64 + i64::from(target));
                }
                nesting += super::query::nesting(&inst);
                if super::query::ends(&inst) && reach <= offset as i64 && nesting <= 0 {
                    bytes.truncate(offset + length);
                    return Ok((bytes, placed, undecoded));
                }
                offset += length;
            }
            Err(error) => {
                placed.push(Placed { offset: offset as u32, inst: None });
                undecoded.insert(offset as u32, describe_error(&error));
                return Ok((bytes, placed, undecoded));
            }
        }
    }
}

fn describe_error(error: &DecodeError) -> String {
    format!("an instruction that cannot be decoded: {error}")
}

/// Reads on to at least `want` bytes, as far as memory is bound.
fn extend(vm: &AddressSpace, address: u64, bytes: &mut Vec<u8>, want: usize) -> Result<(), String> {
    let mut chunk = [0; 1024];
    while bytes.len() < want.min(MAX_BYTES) {
        let at = address + bytes.len() as u64;
        // Up to the next multiple of the chunk, so that no read crosses a page.
        let length = chunk.len() - (at as usize & (chunk.len() - 1));
        match vm.read(at, &mut chunk[..length]) {
            Ok(()) => bytes.extend_from_slice(&chunk[..length]),
            Err(fault) if bytes.is_empty() => {
                return Err(format!("the program cannot be read: {fault}"));
            }
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Decoded programs by address. Operations are larger than machine code, and programs may overlap, so the size is
/// limited.
#[derive(Default)]
struct Decoded {
    programs: HashMap<u64, Arc<Program>>,
    code_bytes: usize,
}

impl Decoded {
    /// Bytes of machine code beyond which the map starts anew.
    const LIMIT_BYTES: usize = 4 * MAX_BYTES;

    fn insert(&mut self, program: Arc<Program>) {
        if self.code_bytes + program.bytes.len() > Self::LIMIT_BYTES {
            *self = Decoded::default();
        }
        self.code_bytes += program.bytes.len();
        if let Some(old) = self.programs.insert(program.address, program) {
            self.code_bytes -= old.bytes.len();
        }
    }
}

/// The cache of decoded programs of a GPU. Entries are compared with memory once a job, since a driver may write another
/// shader to the same address.
pub struct Cache {
    decoded: Mutex<Decoded>,
    translation: Translation,
    coverage: Option<Coverage>,
}

/// Translation of programs to host code.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// The number of SIMD-groups that run a program before it is translated; never with `u32::MAX`.
    pub after: u32,
    /// The target. All programs are interpreted with `None`, or with one that the host lacks.
    pub target: Option<Target>,
}

impl Translation {
    /// No translation.
    #[cfg(test)]
    pub const NEVER: Translation = Translation { after: u32::MAX, target: None };
}

impl Cache {
    /// An empty cache.
    pub fn new(translation: Translation, coverage: Option<Coverage>) -> Cache {
        Cache { decoded: Mutex::default(), translation, coverage }
    }
}

/// The programs of one job.
pub struct Programs<'v> {
    vm: &'v AddressSpace,
    usc_exec_base: u64,
    cache: &'v Cache,
    checked: Mutex<Decoded>,
}

impl<'v> Programs<'v> {
    /// The programs of a job in an address space.
    pub fn new(vm: &'v AddressSpace, usc_exec_base: u64, cache: &'v Cache) -> Programs<'v> {
        Programs { vm, usc_exec_base, cache, checked: Mutex::default() }
    }

    /// The program at an address, decoded at most once.
    pub fn get(&self, address: u64) -> Result<Arc<Program>, String> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = checked.programs.get(&address) {
            return Ok(program.clone());
        }
        let mut cache = self.cache.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cache.programs.get(&address);
        let program = match known.filter(|p| p.still_at(self.vm, self.usc_exec_base)) {
            Some(program) => program.clone(),
            None => {
                let how = self.cache.translation;
                let program = Arc::new(Program::load(self.vm, address, self.usc_exec_base, how)?);
                if let Some(coverage) = &self.cache.coverage {
                    coverage.note(program.placed.iter().filter_map(|p| p.inst.as_ref()));
                }
                cache.insert(program.clone());
                program
            }
        };
        checked.insert(program.clone());
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use tepui_agx_chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};

    use super::*;
    use tepui_agx_isa::asm::assemble;
    use tepui_softgpu::{Memory, Protection};

    const BASE: u64 = 1 << 32;

    /// An address space with code at [`BASE`].
    fn with_code(code: &[u8]) -> AddressSpace {
        let vm = AddressSpace::new(PAGE_SHIFT, VA_BITS);
        let size = code.len().next_multiple_of(PAGE_BYTES as usize);
        let memory = Arc::new(Memory::new(size).unwrap());
        vm.bind(BASE, memory, 0, size as u64, Protection::READ | Protection::WRITE).unwrap();
        vm.write(BASE, code).unwrap();
        vm
    }

    /// A program of so many different constants: offsets are the widest that there are.
    fn constants(count: usize) -> Vec<u8> {
        let line = |n| format!("tex_state_store ts0, u0_u1, {n}, 0\n");
        let code: String = (0..count).map(line).collect();
        assemble(&(code + "stop\n")).unwrap()
    }

    #[test]
    fn constants_are_limited_by_what_operations_can_name() {
        for (count, loads) in [(MAX_CONSTANTS, true), (MAX_CONSTANTS + 1, false)] {
            let vm = with_code(&constants(count));
            let program = Program::load(&vm, BASE, BASE, Translation::NEVER);
            assert_eq!(program.is_ok(), loads, "{count} constants");
            let Ok(program) = program else { continue };
            let last = program.shared_rows(&[])[UNIFORM_ROWS + count - 1];
            assert_eq!(last.0, [count as u32 - 1; 32]);
        }
    }

    #[test]
    fn programs_that_lie_in_each_other_do_not_pile_up() {
        let vm = with_code(&constants(1 << 15));
        let cache = Cache::new(Translation::NEVER, None);
        let programs = Programs::new(&vm, BASE, &cache);
        let mut most = 0;
        for start in 0..100 {
            assert!(programs.get(BASE + 8 * start).is_ok());
            for map in [&cache.decoded, &programs.checked] {
                let map = map.lock().unwrap();
                let kept: usize = map.programs.values().map(|p| p.bytes.len()).sum();
                assert!(kept == map.code_bytes && kept <= Decoded::LIMIT_BYTES);
                most = most.max(map.programs.len());
            }
        }
        assert!(most > 1);
    }
}
