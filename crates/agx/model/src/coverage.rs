//! Coverage of the instruction set: which rows of the instruction table the programs of a device
//! have.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tepui_agx_isa::row::Desc;
use tepui_agx_isa::{Inst, ROWS};

/// Receives each row of the instruction table once, when the first program that has it is decoded.
#[derive(Clone)]
pub struct Coverage {
    /// By index into [`ROWS`].
    seen: Arc<Mutex<Vec<bool>>>,
    tell: Arc<dyn Fn(&'static Desc) + Send + Sync>,
}

impl Coverage {
    /// Calls `tell` for each row.
    pub fn new(tell: impl Fn(&'static Desc) + Send + Sync + 'static) -> Coverage {
        Coverage { seen: Arc::new(Mutex::new(vec![false; ROWS.len()])), tell: Arc::new(tell) }
    }

    /// Notes the instructions of a program.
    pub(crate) fn note<'a>(&self, program: impl Iterator<Item = &'a Inst>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for inst in program {
            if !std::mem::replace(&mut seen[inst.row()], true) {
                (self.tell)(inst.desc());
            }
        }
    }
}

impl fmt::Debug for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Coverage({} of {} rows)", seen.iter().filter(|s| **s).count(), seen.len())
    }
}
