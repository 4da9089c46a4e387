//! Watching programs: a callback before each instruction of each SIMD-group, for debuggers.

use std::fmt;
use std::sync::Arc;

use crate::usc::lanes::Lanes;
use crate::usc::row::Row;
use crate::usc::stage::Stage;

/// A SIMD-group before one of its instructions.
pub struct Step<'a> {
    /// GPU address of the program.
    pub program: u64,
    /// Its machine code.
    pub code: &'a [u8],
    /// Byte offset of the instruction in it.
    pub offset: u32,
    /// Lanes that execute.
    pub exec: u32,
    /// Lanes that exist.
    pub alive: u32,
    /// The registers that the program uses.
    pub registers: &'a [Row],
    /// Workgroup in the grid, in compute programs.
    pub workgroup: [u32; 3],
    /// SIMD-group in the workgroup.
    pub index: u32,
    /// Columns and rows of the lanes' pixels, in fragment programs.
    pub pixels: Option<[&'a Row; 2]>,
}

/// Receives each instruction before it runs.
#[derive(Clone)]
pub struct Watch {
    tell: Arc<dyn Fn(&Step<'_>) + Send + Sync>,
}

impl Watch {
    /// Calls `tell` for each instruction, on the thread of the core that runs it.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Watch {
        Watch { tell: Arc::new(tell) }
    }

    #[cold]
    pub(crate) fn before(&self, l: &Lanes<'_, '_>) {
        let offset = l.code.placed().get(l.pc).map_or(0, |p| p.offset);
        // SAFETY: `Lanes::new` checked that the file has the program's rows, and nobody writes them
        // while the group is borrowed here.
        let registers =
            unsafe { std::slice::from_raw_parts(l.files().0.cast_const(), l.code.register_rows()) };
        let pixels = match &l.stage {
            Stage::Fragment(f) => Some([&f.x, &f.y]),
            _ => None,
        };
        (self.tell)(&Step {
            program: l.code.address(),
            code: l.code.bytes(),
            offset,
            exec: l.exec,
            alive: l.alive,
            registers,
            workgroup: l.place.group,
            index: l.place.index,
            pixels,
        });
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
