//! What every GPU model shares: host memory behind buffer objects ([`memory`]), GPU address spaces
//! with page tables and permissions ([`vm`]), and the faults they raise ([`fault`]).
//!
//! A kernel front binds [`memory::Memory`] into a [`vm::AddressSpace`]; a model's units read and
//! write through the address space only, as silicon does.

pub mod fault;
pub mod memory;
pub mod vm;

pub use fault::{Access, Fault, FaultKind};
pub use memory::Memory;
pub use vm::{AddressSpace, BindError, Protection, RangeCache};
