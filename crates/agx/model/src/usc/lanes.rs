//! A SIMD-group's state and how an instruction reads and writes it.
//!
//! Registers are rows: the 32 lanes of one 32-bit register lie side by side, so that an
//! instruction is a loop over two or three rows that the compiler turns into vector code. A 16-bit
//! register is the low or high half of each lane of a row, a 64-bit register two rows.
//!
//! Uniform registers and immediates are rows too (one value in every lane), in a second file that
//! all SIMD-groups of a launch share; so no instruction asks what kind of source it has.

use crate::usc::check::Checker;
use crate::usc::exec::Name;
use crate::usc::helper;
use crate::usc::memory::Port;
use crate::usc::program::Program;
use crate::usc::stack::Stack;
use crate::usc::stage::{Fragments, Stage};
use crate::usc::workgroup::Shared;

/// Lanes of a SIMD-group.
pub const LANES: usize = 32;

/// One 32-bit value for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; LANES]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; LANES]);

    /// The same value in all lanes.
    pub const fn splat(value: u32) -> Row {
        Row([value; LANES])
    }

    /// The lanes whose top bit is set.
    #[inline(always)]
    pub fn bits(&self) -> u32 {
        top_bits(&self.0)
    }

    /// All bits in the lanes of `mask`, none elsewhere.
    #[inline(always)]
    pub fn mask(mask: u32) -> Row {
        if mask == u32::MAX {
            return Row::splat(u32::MAX);
        }
        let mut row = Row::ZERO;
        for (lane, value) in row.0.iter_mut().enumerate() {
            // By comparison: shifts of each lane by another amount are no vector code on older hosts.
            *value = if mask & 1 << lane != 0 { u32::MAX } else { 0 };
        }
        row
    }
}

/// Which of up to 32 values, a multiple of four, have their top bit set.
#[inline(always)]
pub fn top_bits<const N: usize>(values: &[u32; N]) -> u32 {
    const { assert!(N <= LANES && N.is_multiple_of(4)) };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_movemask_ps};
        let mut bits = 0;
        for (i, four) in values.chunks_exact(4).enumerate() {
            // SAFETY: SSE is part of x86-64; these are 16 bytes.
            let part = unsafe { _mm_movemask_ps(_mm_loadu_ps(four.as_ptr().cast())) };
            bits |= (part as u32) << (4 * i);
        }
        bits
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        values.iter().enumerate().fold(0, |bits, (i, v)| bits | (v >> 31) << i)
    }
}

/// Which file of rows an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum File {
    /// The SIMD-group's own registers.
    Registers = 0,
    /// Uniform registers, then the program's constants.
    Shared = 1,
}

/// How a value lies in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// The whole row.
    Word,
    /// The low half of each lane.
    Low,
    /// The high half of each lane.
    High,
    /// Two rows, low words first.
    Pair,
}

/// A source, ready to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// Row in the file.
    pub row: u16,
    /// Which file.
    pub file: File,
    /// Which part of the row.
    pub form: Form,
    /// Float modifier: drop the sign.
    pub abs: bool,
    /// Float modifier, after `abs`: flip the sign.
    pub neg: bool,
    /// Integers narrower than the operation are sign-extended.
    pub sign_extend: bool,
    /// The row holds a float of 32 bits although the form is not checked: an immediate.
    pub constant: bool,
}

impl Src {
    /// A source that reads zeros: row 0 of the constants is always zero.
    pub const fn shared(row: u16) -> Src {
        Src {
            row,
            file: File::Shared,
            form: Form::Word,
            abs: false,
            neg: false,
            sign_extend: false,
            constant: true,
        }
    }

    /// A whole register of the group's own.
    pub const fn register(row: u16) -> Src {
        Src { file: File::Registers, constant: false, ..Src::shared(row) }
    }

    /// Can be read as it lies, without conversion (float modifiers apart)?
    pub fn is_word(self) -> bool {
        self.form == Form::Word
    }

    /// Has no float modifier?
    pub fn is_plain(self) -> bool {
        !self.abs && !self.neg
    }
}

/// A destination: always a register of the group's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dst {
    /// Row of the register.
    pub row: u16,
    /// Which part of it.
    pub form: Form,
    /// Clamp floats to 0..1, integers to the range of the destination.
    pub saturate: bool,
}

impl Dst {
    /// For instructions without a destination.
    pub const NONE: Dst = Dst { row: 0, form: Form::Word, saturate: false };
}

/// What the run loop does after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Next {
    /// Go on with the next instruction.
    Continue,
    /// The handler set `pc`; count it against the budget.
    Jump,
    /// The group waits for the others of its workgroup.
    Barrier,
    /// The group is done.
    Stop,
    /// The group cannot go on: `Lanes::fault` says why.
    Fault,
}

/// The work of one instruction.
pub type Handler = unsafe fn(&mut Lanes<'_, '_>, &Op) -> Next;

/// One instruction, decoded: what to call and where its operands lie.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The handler.
    pub run: Handler,
    /// Which handler that is.
    pub name: Name,
    /// Destination.
    pub d: Dst,
    /// Sources, as many as the handler reads.
    pub s: [Src; 4],
    /// What else the handler needs; its meaning is the handler's.
    pub imm: u64,
    /// As `imm`, for small things.
    pub aux: [u16; 4],
}

/// Where a SIMD-group is in the grid: what special registers tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Workgroup in the grid.
    pub group: [u32; 3],
    /// Threads of a workgroup in each direction.
    pub local_size: [u32; 3],
    /// Threads of the grid in each direction.
    pub grid: [u32; 3],
    /// Index in the workgroup of lane 0.
    pub first_thread: u32,
    /// SIMD-group in the workgroup.
    pub index: u32,
}

impl Place {
    /// Threads of this workgroup in a direction: fewer than `local_size` at the end of a grid that is
    /// no multiple of it.
    pub fn threads_here(&self, axis: usize) -> u32 {
        let start = self.group[axis].wrapping_mul(self.local_size[axis]);
        self.local_size[axis].min(self.grid[axis].saturating_sub(start))
    }

    /// Position in the workgroup of a lane.
    #[inline(always)]
    pub fn thread_in_group(&self, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.local_size.map(|n| n.max(1));
        let index = self.first_thread + lane as u32;
        [index % x, index / x % y, index / x / y]
    }
}

/// A row of zeros, for positions that a stage does not have.
static ZERO: Row = Row::ZERO;

/// The number of each lane.
pub static NUMBERS: Row = {
    let mut row = Row::ZERO;
    let mut i = 0;
    while i < LANES {
        row.0[i] = i as u32;
        i += 1;
    }
    row
};

/// What special registers tell of a group's place, ready to be read by translated code as well: rows and
/// words behind the numbers of [`Place`].
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Position of each lane's thread in the workgroup, one row for each axis.
    pub in_group: [*const Row; 3],
    /// The same in the grid, less `origin`.
    pub in_grid: [*const Row; 3],
    /// Position in the grid of the workgroup's first thread.
    pub origin: [u32; 3],
    /// Workgroup in the grid; in programs of pixels and tiles, the last is the layer.
    pub workgroup: [u32; 3],
    /// Threads of this workgroup in each direction.
    pub threads_here: [u32; 3],
}

impl Position {
    /// Of a group whose threads stand at `threads` in their workgroup.
    pub fn new(place: &Place, threads: &[Row; 3]) -> Position {
        let in_group = std::array::from_fn(|a| &raw const threads[a]);
        Position {
            in_group,
            in_grid: in_group,
            origin: std::array::from_fn(|a| place.group[a].wrapping_mul(place.local_size[a])),
            workgroup: place.group,
            threads_here: std::array::from_fn(|a| place.threads_here(a)),
        }
    }

    /// Of a group without a workgroup: a workgroup as long as it likes in the third direction.
    fn alone(place: &Place) -> Position {
        let rows: [*const Row; 3] = [&raw const ZERO, &raw const ZERO, &raw const NUMBERS];
        Position {
            in_group: rows,
            in_grid: rows,
            origin: [0; 3],
            workgroup: place.group,
            threads_here: std::array::from_fn(|a| place.threads_here(a)),
        }
    }
}

/// A SIMD-group while it runs.
pub struct Lanes<'a, 'v> {
    /// The two files: own registers, shared rows.
    files: [*mut Row; 2],
    /// Their lengths, where they are checked.
    #[cfg(debug_assertions)]
    lengths: [usize; 2],
    /// The program.
    pub program: &'a Program,
    /// Index of the next instruction.
    pub pc: usize,
    /// Lanes that execute.
    pub exec: u32,
    /// Lanes that exist at all (a workgroup's last SIMD-group may be partial).
    pub alive: u32,
    /// `exec` as a row.
    pub exec_row: Row,
    /// Where the group is.
    pub place: Place,
    /// The same as rows.
    pub position: Position,
    /// The fragments of its stage, for translated code; null in other stages.
    pub fragments: *mut Fragments,
    /// What it shares with the other groups of its workgroup.
    pub shared: &'a mut Shared,
    /// Its way to memory and the texture unit.
    pub port: &'a mut Port<'v>,
    /// Blocks of scratch memory, once mapped.
    pub stack: Stack,
    /// The request that a helper program answers; other programs have none.
    pub helper: Option<helper::Call>,
    /// Instructions left before the group is taken for one that never ends.
    pub budget: u64,
    /// Instructions executed.
    pub executed: u64,
    /// The fixed-function units around the group.
    pub stage: Stage<'a>,
    /// Local memory, for translated code; its size does not change while the group runs.
    pub local: *mut u8,
    /// Bytes of it.
    pub local_bytes: u32,
    /// Why the group stopped.
    pub fault: Option<String>,
    /// Watches the registers, when the job is checked.
    pub checker: Option<Box<Checker>>,
}

impl<'a, 'v> Lanes<'a, 'v> {
    /// A group at the start of a program, with its registers and the shared rows.
    ///
    /// # Panics
    /// If a file has fewer rows than the program uses.
    pub fn new(
        registers: &'a mut [Row],
        shared_rows: &'a [Row],
        program: &'a Program,
        alive: u32,
        place: Place,
        shared: &'a mut Shared,
        port: &'a mut Port<'v>,
    ) -> Self {
        assert!(registers.len() >= program.register_rows());
        assert!(shared_rows.len() >= program.shared_row_count());
        let (local, local_bytes) = (shared.local.as_mut_ptr(), shared.local.len() as u32);
        Lanes {
            local,
            local_bytes,
            // The second file is only ever read.
            files: [registers.as_mut_ptr(), shared_rows.as_ptr().cast_mut()],
            #[cfg(debug_assertions)]
            lengths: [registers.len(), shared_rows.len()],
            program,
            pc: 0,
            exec: alive,
            alive,
            exec_row: Row::mask(alive),
            place,
            position: Position::alone(&place),
            fragments: std::ptr::null_mut(),
            shared,
            port,
            stack: Stack::default(),
            helper: None,
            budget: u64::MAX,
            executed: 0,
            stage: Stage::Compute,
            fault: None,
            checker: None,
        }
    }
}

impl<'a> Lanes<'a, '_> {
    /// Puts the group into a stage.
    pub fn enter(&mut self, stage: Stage<'a>) {
        self.stage = stage;
        match &mut self.stage {
            Stage::Fragment(f) => {
                self.position.in_grid[0] = &raw const f.x;
                self.position.in_grid[1] = &raw const f.y;
                self.position.workgroup[2] = f.layer;
                self.fragments = &raw mut **f;
            }
            Stage::EndOfTile(tile) => self.position.workgroup[2] = tile.layer,
            Stage::Compute | Stage::Vertex(_) => {}
        }
    }

    /// Puts the group back to the start of the program as another one of its workgroup, with other lanes.
    pub fn restart(&mut self, index: usize, alive: u32, threads: &'a [Row; 3]) {
        (self.pc, self.executed, self.stack) = (0, 0, Stack::default());
        self.alive = alive;
        if self.exec != alive {
            self.set_exec(alive);
        }
        // Field by field: a whole place that was just put together would have to wait in the host's store
        // buffer before it could be copied.
        self.place.index = index as u32;
        self.place.first_thread = (index * LANES) as u32;
        self.position.in_group = std::array::from_fn(|a| &raw const threads[a]);
        self.position.in_grid = self.position.in_group;
    }
}

impl Lanes<'_, '_> {
    /// Where the lanes are in their workgroup, along an axis.
    #[inline(always)]
    pub fn in_group(&self, axis: usize) -> &Row {
        // SAFETY: the rows of a group's position are static, or live as long as its stage or the table of
        // threads that its worker holds.
        unsafe { &*self.position.in_group[axis] }
    }

    /// Where the lanes are in the grid, along an axis.
    #[inline(always)]
    pub fn in_grid(&self, axis: usize) -> &Row {
        // SAFETY: as for `in_group`.
        unsafe { &*self.position.in_grid[axis] }
    }

    /// Clears what the group may read before it writes; all registers, if the job is checked.
    pub fn clear_registers(&mut self) {
        let whole = self.alive == u32::MAX && self.checker.is_none();
        match self.program.cleared_rows().filter(|_| whole) {
            Some(rows) => rows.iter().for_each(|&row| *self.register_mut(row) = Row::ZERO),
            None => {
                let rows = self.program.register_rows();
                // SAFETY: `Lanes::new` checked that the file has the program's rows.
                unsafe { std::ptr::write_bytes(self.files[File::Registers as usize], 0, rows) };
            }
        }
    }

    /// The two files: own registers, shared rows (which are only to be read).
    pub fn files(&self) -> (*mut Row, *const Row) {
        (self.files[0], self.files[1])
    }

    /// The row of a source.
    #[inline(always)]
    pub fn row(&self, s: Src) -> &Row {
        #[cfg(debug_assertions)]
        assert!(usize::from(s.row) < self.lengths[s.file as usize], "{s:?}");
        // SAFETY: `Program` admits only rows that both files have.
        unsafe { &*self.files[s.file as usize].add(s.row as usize) }
    }

    /// The row of a register.
    #[inline(always)]
    pub fn register(&self, row: u16) -> &Row {
        self.row(Src::register(row))
    }

    /// The row of a register, to be written.
    #[inline(always)]
    pub fn register_mut(&mut self, row: u16) -> &mut Row {
        #[cfg(debug_assertions)]
        assert!(usize::from(row) < self.lengths[File::Registers as usize], "row {row}");
        // SAFETY: as in `row`; the exclusive borrow of the group covers its register file, and no
        // handler holds a shared row while it writes.
        unsafe { &mut *self.files[File::Registers as usize].add(row as usize) }
    }

    /// The active lanes that may write memory: helper lanes of fragment programs may not.
    /// source: Mesa's agx_nir_lower_frag_sidefx.c, "hardware will predicate simple writes"
    #[inline(always)]
    pub fn writers(&self) -> u32 {
        match &self.stage {
            Stage::Fragment(f) => self.exec & f.active(),
            _ => self.exec,
        }
    }

    /// Is every lane active?
    #[inline(always)]
    pub fn full(&self) -> bool {
        self.exec == u32::MAX
    }

    /// Changes the active lanes; lanes that do not exist stay inactive.
    #[inline(always)]
    pub fn set_exec(&mut self, exec: u32) {
        self.exec = exec & self.alive;
        self.exec_row = Row::mask(self.exec);
    }

    /// Stops the group with a reason.
    #[cold]
    pub fn fail(&mut self, why: impl Into<String>) -> Next {
        self.fault = Some(why.into());
        Next::Fault
    }

    /// Writes a whole row in the active lanes.
    #[inline(always)]
    pub fn store_row(&mut self, row: u16, value: &Row) {
        if self.full() {
            *self.register_mut(row) = *value;
        } else {
            let mask = self.exec_row;
            let old = self.register_mut(row);
            for i in 0..LANES {
                old.0[i] = (old.0[i] & !mask.0[i]) | (value.0[i] & mask.0[i]);
            }
        }
    }

    /// Writes the low 16 bits of `value` to one half of a row in the active lanes.
    #[inline(always)]
    pub fn store_half(&mut self, row: u16, high: bool, value: &Row) {
        let mask = self.exec_row;
        let old = self.register_mut(row);
        if high {
            for i in 0..LANES {
                let m = mask.0[i] & 0xffff_0000;
                old.0[i] = (old.0[i] & !m) | ((value.0[i] << 16) & m);
            }
        } else {
            for i in 0..LANES {
                let m = mask.0[i] & 0xffff;
                old.0[i] = (old.0[i] & !m) | (value.0[i] & m);
            }
        }
    }

    /// Writes integers of 32 bits, truncated to the destination.
    #[inline(always)]
    pub fn store_u32(&mut self, d: Dst, value: &Row) {
        match d.form {
            Form::Word => self.store_row(d.row, value),
            Form::Low => self.store_half(d.row, false, value),
            Form::High => self.store_half(d.row, true, value),
            Form::Pair => {
                self.store_row(d.row, value);
                self.store_row(d.row + 1, &Row::ZERO);
            }
        }
    }

    /// Writes integers of 64 bits, truncated to the destination.
    #[inline(always)]
    pub fn store_u64(&mut self, d: Dst, value: &[u64; LANES]) {
        let mut low = Row::ZERO;
        for i in 0..LANES {
            low.0[i] = value[i] as u32;
        }
        if d.form == Form::Pair {
            let mut high = Row::ZERO;
            for i in 0..LANES {
                high.0[i] = (value[i] >> 32) as u32;
            }
            self.store_row(d.row, &low);
            self.store_row(d.row + 1, &high);
        } else {
            self.store_u32(d, &low);
        }
    }

    /// An integer source as 32 bits: 16-bit halves zero- or sign-extended, pairs truncated.
    #[inline(always)]
    pub fn load_u32(&self, s: Src) -> Row {
        let row = self.row(s);
        let mut out = Row::ZERO;
        match (s.form, s.sign_extend) {
            (Form::Word | Form::Pair, _) => out = *row,
            (Form::Low, false) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] & 0xffff;
                }
            }
            (Form::Low, true) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] as i16 as i32 as u32;
                }
            }
            (Form::High, false) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] >> 16;
                }
            }
            (Form::High, true) => {
                for i in 0..LANES {
                    out.0[i] = (row.0[i] as i32 >> 16) as u32;
                }
            }
        }
        out
    }

    /// An integer source as 64 bits, zero- or sign-extended.
    #[inline(always)]
    pub fn load_u64(&self, s: Src) -> [u64; LANES] {
        let mut out = [0; LANES];
        if s.form == Form::Pair {
            let low = self.row(s);
            let high = self.row(Src { row: s.row + 1, ..s });
            for i in 0..LANES {
                out[i] = u64::from(low.0[i]) | u64::from(high.0[i]) << 32;
            }
            return out;
        }
        let row = self.load_u32(s);
        if s.sign_extend {
            for i in 0..LANES {
                out[i] = row.0[i] as i32 as i64 as u64;
            }
        } else {
            for i in 0..LANES {
                out[i] = u64::from(row.0[i]);
            }
        }
        out
    }

    /// A float source as 32-bit floats, modifiers applied. Subnormal 32-bit inputs are flushed by
    /// the host's floating-point mode (see `usc::fpmode`), subnormal halves are kept.
    #[inline(always)]
    pub fn load_f32(&self, s: Src) -> [f32; LANES] {
        let row = self.row(s);
        let and = if s.abs { 0x7fff_ffff } else { u32::MAX };
        let xor = if s.neg { 0x8000_0000 } else { 0 };
        let mut out = [0.0; LANES];
        match s.form {
            Form::Word | Form::Pair => {
                for i in 0..LANES {
                    out[i] = f32::from_bits((row.0[i] & and) ^ xor);
                }
            }
            Form::Low | Form::High => {
                let shift = if s.form == Form::High { 16 } else { 0 };
                for i in 0..LANES {
                    let bits = half_to_f32((row.0[i] >> shift) as u16).to_bits();
                    out[i] = f32::from_bits((bits & and) ^ xor);
                }
            }
        }
        out
    }

    /// Writes 32-bit floats to a 32- or 16-bit destination, saturated if it asks for that.
    #[inline(always)]
    pub fn store_f32(&mut self, d: Dst, value: &[f32; LANES]) {
        let mut row = Row::ZERO;
        if d.saturate {
            for i in 0..LANES {
                row.0[i] = saturate(value[i]).to_bits();
            }
        } else {
            for i in 0..LANES {
                row.0[i] = value[i].to_bits();
            }
        }
        if matches!(d.form, Form::Low | Form::High) {
            for i in 0..LANES {
                row.0[i] = u32::from(f32_to_half(f32::from_bits(row.0[i])));
            }
        }
        self.store_u32(d, &row);
    }
}

/// Calls `lane` for every lane of each half in which some lane is active: divergent code often leaves
/// only one half busy. Two loops of fixed length, so that each becomes vector code.
#[inline(always)]
pub fn each_busy(exec: u32, mut lane: impl FnMut(usize)) {
    if exec & 0xffff != 0 {
        for i in 0..LANES / 2 {
            lane(i);
        }
    }
    if exec >> 16 != 0 {
        for i in LANES / 2..LANES {
            lane(i);
        }
    }
}

/// Clamps to 0..1; NaN becomes 0.
#[inline(always)]
pub fn saturate(x: f32) -> f32 {
    // A NaN fails the first comparison, so it becomes 0.
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}

/// Widens a half, exactly, without branches, so that a loop over lanes becomes vector code and no
/// host floating-point mode flushes a subnormal.
#[inline(always)]
pub fn half_to_f32(half: u16) -> f32 {
    let h = u32::from(half);
    let sign = (h & 0x8000) << 16;
    let magnitude = h & 0x7fff;
    // Normal: move exponent and fraction, rebias. Infinity and NaN: exponent all ones.
    let normal = (magnitude << 13) + (112 << 23);
    let special = normal + (112 << 23);
    // Subnormal: an integer times 2^-24.
    let subnormal = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
    let bits = if magnitude >= 0x7c00 {
        special
    } else if magnitude < 0x400 {
        subnormal
    } else {
        normal
    };
    f32::from_bits(bits | sign)
}

/// Rounds to the nearest half, ties to even; overflow becomes infinity, subnormals are kept.
#[inline(always)]
pub fn f32_to_half(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Normal result: rebias and round by adding half a unit of the last place, ties to even.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Subnormal result: adding 0.5 puts the last place of the half at the last place of the float.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let h = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    (sign | h) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for h in 0..=u16::MAX {
            let wide = half_to_f32(h);
            if wide.is_nan() {
                assert!(h & 0x7fff > 0x7c00);
            } else {
                assert_eq!(f32_to_half(wide), h, "{h:#x}");
            }
        }
    }

    #[test]
    fn halves_round_to_nearest_even() {
        for (x, h) in [
            (1.0f32 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (-65520.0, 0xfc00),
            (2f32.powi(-25), 0),
            (2f32.powi(-25) * 1.001, 1),
            (f32::NAN, 0x7e00),
        ] {
            assert_eq!(f32_to_half(x), h, "{x}");
        }
    }
}
