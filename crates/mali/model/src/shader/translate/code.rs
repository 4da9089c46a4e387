//! A translated program, and the entry to its blocks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tepui_hostvec::Executable;

use crate::shader::op::{Lanes, Op};
use crate::warp::Warp;
use crate::warp::row::{ALL, LANES, Row};
use crate::warp::trap::{RaisedTrap, Trap};

/// A sequence of operations that is translated. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of operations.
    pub length: u32,
    /// Code offset for warps whose lanes all execute.
    pub whole: u32,
    /// Code offset for other warps.
    pub masked: u32,
}

/// Flag in the code's return value if the operation failed.
pub const FAILED: u64 = 1 << 32;

/// State shared by code and the handlers that it calls.
#[repr(C)]
pub struct Context<'a, 'l, 'vm> {
    /// Number of operations that may still be executed.
    pub left: i64,
    /// The rows of thread-local storage.
    pub local: *mut Row,
    /// Bytes of thread-local storage per lane; none if the rows are not contiguous.
    pub local_bytes: i64,
    lanes: &'a mut Lanes<'l, 'vm>,
    trap: Option<Box<Trap>>,
    /// The payload of a handler's panic.
    panic: Option<Box<dyn Any + Send>>,
}

/// Calls the handler of an operation; 1 if it failed.
///
/// # Safety
/// The context is that of [`Translated::run`], and there is no other reference to it.
pub unsafe extern "sysv64" fn step(context: *mut Context<'_, '_, '_>, op: *const Op) -> u32 {
    // SAFETY: the caller's promise.
    let (context, op) = unsafe { (&mut *context, &*op) };
    // A panic must not unwind through translated code.
    match catch_unwind(AssertUnwindSafe(|| (op.run)(context.lanes, op))) {
        Ok(Ok(())) => return 0,
        Ok(Err(trap)) => context.trap = Some(trap),
        Err(panic) => context.panic = Some(panic),
    }
    1
}

/// The entry of all code: the warp, its registers, the program's operations, the code of a block, the context, and the
/// rows that warps share. Returns the operation at which the warp continues, or [`FAILED`] and the one that failed.
type Enter = unsafe extern "sysv64" fn(
    warp: *mut Warp,
    registers: *mut Row,
    ops: *const Op,
    place: *const u8,
    context: *mut Context<'_, '_, '_>,
    shared: *const Row,
) -> u64;

/// A translated program.
pub struct Translated {
    code: Executable,
    /// The block that begins at each operation.
    blocks: Vec<Block>,
    /// Number of shared rows that the code may read.
    shared: usize,
}

impl Translated {
    /// Makes code executable; the entry is its start. `None` if the host provides no memory for it.
    pub fn new(code: &[u8], blocks: Vec<Block>, shared: usize) -> Option<Translated> {
        Some(Translated { code: Executable::new(code)?, blocks, shared })
    }

    /// The block that begins at an operation.
    #[inline]
    pub fn block(&self, index: u32) -> Option<Block> {
        self.blocks.get(index as usize).copied().filter(|block| block.length != 0)
    }

    /// Runs a warp from a block on until its lanes diverge or reach others, the budget does not suffice for a block,
    /// or an operation is not translated; the warp is then at that operation.
    ///
    /// # Errors
    /// The trap of a handler.
    #[inline]
    pub fn run(
        &self,
        ops: &[Op],
        lanes: &mut Lanes<'_, '_>,
        block: Block,
        left: &mut u64,
    ) -> Result<(), RaisedTrap> {
        let rows = lanes.uniforms.rows();
        debug_assert_eq!(ops.len(), self.blocks.len());
        if rows.len() < self.shared || *left > i64::MAX as u64 {
            return Ok(());
        }
        let shared = rows.as_ptr();
        let mask = lanes.warp.mask;
        let place = if mask == ALL {
            block.whole
        } else {
            let host = &mut lanes.warp.host;
            if host.exec != u32::from(mask) {
                host.exec = mask.into();
                host.row = std::array::from_fn(|lane| (host.exec >> lane & 1).wrapping_neg());
            }
            block.masked
        };
        let warp: *mut Warp = &mut *lanes.warp;
        let (local, local_bytes) = lanes.port.all_local_rows();
        let left_now = *left as i64;
        let mut context =
            Context { left: left_now, local, local_bytes, lanes, trap: None, panic: None };
        // SAFETY: `block::translate` made the code for these operations and this host. It accesses the warp's registers
        // and the fields of its host state, `shared` rows, and `local_bytes` of thread-local storage, and calls
        // handlers with the context.
        let next = unsafe {
            let registers = (&raw mut (*warp).registers).cast();
            let enter: Enter = std::mem::transmute(self.code.at(0));
            enter(warp, registers, ops.as_ptr(), self.code.at(place), &mut context, shared)
        };
        *left = context.left as u64;
        let index = next as u32;
        if next & FAILED == 0 {
            context.lanes.warp.pc = index;
            return Ok(());
        }
        if let Some(panic) = context.panic {
            resume_unwind(panic);
        }
        let trap = context.trap.unwrap_or_else(|| Box::new(Trap::Invalid("no trap".into())));
        Err(RaisedTrap { trap, index })
    }
}

const _: () = assert!(LANES == 16, "two vectors of eight lanes");
