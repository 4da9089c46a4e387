//! Faults of the GPU's memory unit, and of the model itself.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kind of access to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write that silicon does in one step.
    Atomic,
    /// An instruction fetch.
    Execute,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
            Access::Execute => "instruction fetch",
        })
    }
}

/// Reason why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No memory is bound at the page.
    Unmapped,
    /// Memory is bound, but not for this access.
    Permission,
    /// The address lies outside the address space.
    OutOfRange,
    /// The address is not aligned as the access needs.
    Misaligned,
}

/// A refused access: the address and the reason. The unit that raised it adds who it was and which
/// instruction or packet it was executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("GPU fault: {access} of {address:#x}: {}", match kind {
    FaultKind::Unmapped => "no memory is bound there",
    FaultKind::Permission => "the binding does not permit it",
    FaultKind::OutOfRange => "the address is outside the address space",
    FaultKind::Misaligned => "the address is not aligned for it",
})]
pub struct Fault {
    /// GPU virtual address, in bytes.
    pub address: u64,
    /// The access.
    pub access: Access,
    /// Reason why it was refused.
    pub kind: FaultKind,
}

/// Runs a model, and turns its panic, which is a bug in it, into the text of a fault.
pub fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("the model panicked, which is a bug in it: {text}")
    })
}
