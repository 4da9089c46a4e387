//! The execution state of a SIMD-group: its registers, active lanes, and access to memory and fixed
//! function.

use crate::job::{FaultKind, GroupFault};
use crate::usc::check::Checker;
use crate::usc::code::Code;
use crate::usc::counts::Counts;
use crate::usc::memory::Port;
use crate::usc::op::{File, Next, Src};
use crate::usc::place::{Place, Position};
use crate::usc::row::{LANES, Row};
use crate::usc::shared::Shared;
use crate::usc::stack::{HelperCall, Stack};
use crate::usc::stage::{Fragments, Stage};

/// A running SIMD-group.
pub struct Lanes<'a, 'v> {
    /// The two register files: its own registers, and shared rows.
    files: [*mut Row; 2],
    /// Their lengths, in builds that check indices.
    #[cfg(debug_assertions)]
    lengths: [usize; 2],
    /// The decoded program.
    pub code: &'a Code,
    /// Index of the next instruction.
    pub pc: usize,
    /// Lanes that execute.
    pub exec: u32,
    /// Lanes that exist at all (a workgroup's last SIMD-group may be partial).
    pub alive: u32,
    /// `exec` as a row.
    pub exec_row: Row,
    /// Its position in the grid.
    pub place: Place,
    /// The position as rows.
    pub position: Position,
    /// The fragments of its stage, for translated code; null in other stages.
    pub fragments: *mut Fragments,
    /// State that it shares with the other groups of its workgroup.
    pub shared: &'a mut Shared,
    /// Access to memory and the texture unit.
    pub port: &'a mut Port<'v>,
    /// Blocks of scratch memory, once mapped.
    pub stack: Stack,
    /// The request that a helper program answers; other programs have none.
    pub helper: Option<HelperCall>,
    /// Instructions left before the group counts as endless.
    pub budget: u64,
    /// Counters of executed work.
    pub executed: Counts,
    /// The fixed-function units around the group.
    pub stage: Stage<'a>,
    /// Local memory, for translated code; its size does not change while the group runs.
    pub local: *mut u8,
    /// Bytes of it.
    pub local_bytes: u32,
    /// Reason why the group stopped.
    pub fault: Option<GroupFault>,
    /// The checker, in checked jobs.
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
        code: &'a Code,
        alive: u32,
        place: Place,
        shared: &'a mut Shared,
        port: &'a mut Port<'v>,
    ) -> Self {
        assert!(registers.len() >= code.register_rows());
        assert!(shared_rows.len() >= code.shared_row_count());
        let (local, local_bytes) = (shared.local.as_mut_ptr(), shared.local.len() as u32);
        Lanes {
            local,
            local_bytes,
            // The second file is only ever read.
            files: [registers.as_mut_ptr(), shared_rows.as_ptr().cast_mut()],
            #[cfg(debug_assertions)]
            lengths: [registers.len(), shared_rows.len()],
            code,
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
            executed: Counts::default(),
            stage: Stage::Compute,
            fault: None,
            checker: None,
        }
    }
}

impl<'a> Lanes<'a, '_> {
    /// Sets the stage of the group.
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

    /// Resets the group to the start of the program, as another group of its workgroup with other
    /// lanes.
    pub fn restart(&mut self, index: usize, alive: u32, threads: &'a [Row; 3]) {
        (self.pc, self.executed, self.stack) = (0, Counts::default(), Stack::default());
        self.alive = alive;
        if self.exec != alive {
            self.set_exec(alive);
        }
        // Field by field: a whole place that was just put together would have to wait in the host's
        // store buffer before it could be copied.
        self.place.index = index as u32;
        self.place.first_thread = (index * LANES) as u32;
        self.position.in_group = std::array::from_fn(|a| &raw const threads[a]);
        self.position.in_grid = self.position.in_group;
    }
}

impl Lanes<'_, '_> {
    /// Positions of the lanes in their workgroup, along an axis.
    #[inline(always)]
    pub fn in_group(&self, axis: usize) -> &Row {
        // SAFETY: the rows of a group's position are static, or live as long as its stage or the
        // table of threads that its worker holds.
        unsafe { &*self.position.in_group[axis] }
    }

    /// Positions of the lanes in the grid, along an axis.
    #[inline(always)]
    pub fn in_grid(&self, axis: usize) -> &Row {
        // SAFETY: as for `in_group`.
        unsafe { &*self.position.in_grid[axis] }
    }

    /// Resets registers to their uninitialised value: in a whole group the `cleared` rows, which it
    /// may read before it writes them, if they are known; otherwise, and in checked jobs, all.
    pub fn clear_registers(&mut self, cleared: Option<&[u16]>) {
        let word = self.port.uninitialised;
        let whole = self.alive == u32::MAX && self.checker.is_none();
        match cleared.filter(|_| whole) {
            _ if word != 0 => {
                for row in 0..self.code.register_rows() as u16 {
                    // `r0l` counts control flow and starts at 0.
                    let word = if row == 0 { word & !0xffff } else { word };
                    *self.register_mut(row) = Row::splat(word);
                }
            }
            Some(rows) => rows.iter().for_each(|&row| *self.register_mut(row) = Row::ZERO),
            None => {
                let rows = self.code.register_rows();
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

    /// Whether all lanes are active.
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
        self.fail_as(FaultKind::Invalid, why)
    }

    /// Stops the group with a reason of a kind.
    #[cold]
    pub fn fail_as(&mut self, kind: FaultKind, why: impl Into<String>) -> Next {
        self.fault = Some((kind, why.into()));
        Next::Fault
    }
}
