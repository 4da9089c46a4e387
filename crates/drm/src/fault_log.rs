//! The faults that a virtual device keeps for its user.

use std::sync::Mutex;

use crate::lock;

/// The first [`FaultLog::KEPT`] faults of a device. `R` is the family's record of one.
#[derive(Debug)]
pub struct FaultLog<R>(Mutex<Vec<R>>);

impl<R> Default for FaultLog<R> {
    fn default() -> Self {
        FaultLog(Mutex::default())
    }
}

impl<R: Clone> FaultLog<R> {
    /// Number of faults that are kept: a client that goes on after faults fills no memory with them.
    pub const KEPT: usize = 256;

    /// Keeps a fault, unless the log is full.
    pub fn push(&self, record: R) {
        let mut records = lock(&self.0);
        if records.len() < Self::KEPT {
            records.push(record);
        }
    }

    /// The faults, oldest first.
    pub fn records(&self) -> Vec<R> {
        lock(&self.0).clone()
    }
}
