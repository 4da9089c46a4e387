//! Components that all GPU models share: host memory of buffer objects ([`memory`]), GPU address
//! spaces with page tables and permissions ([`vm`]) and their faults ([`fault`]), a pool of worker
//! threads that act as shader cores ([`worker_pool`]), a pool of reusable buffers
//! ([`buffer_pool`]), the cache of decoded programs ([`program_cache`]), slots
//! of memory that work items take in turn ([`slots`]), and the fault that ends a job ([`job`]).
//!
//! A kernel front binds [`memory::Memory`] into a [`vm::AddressSpace`]; a model's units read and
//! write through the address space only, as silicon does.
//!
//! ```
//! use std::sync::Arc;
//! use tepui_softgpu::{AddressSpace, Memory, Protection};
//!
//! let vm = AddressSpace::new(14, 39); // pages of 16 KiB, addresses of 39 bits
//! let buffer = Arc::new(Memory::new(1 << 14)?);
//! vm.bind(0x10_0000, buffer, 0, 1 << 14, Protection::READ | Protection::WRITE)?;
//! vm.write(0x10_0004, &7u32.to_le_bytes())?;
//! assert_eq!(u32::from_le_bytes(vm.read_array(0x10_0004)?), 7);
//! assert!(vm.read_array::<4>(0x20_0000).is_err(), "nothing is bound there");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod buffer_pool;
pub mod fault;
pub mod job;
mod lanes;
#[cfg_attr(target_family = "wasm", path = "memory_heap.rs")]
pub mod memory;
mod owner;
pub mod program_cache;
pub mod report;
pub mod slots;
pub mod unit_memory;
pub mod vm;
pub mod worker_pool;

pub use buffer_pool::BufferPool;
pub use fault::{Access, Fault, FaultKind, catch_panic};
pub use job::{GpuUnit, JobFault, JobFaultKind, ProgramPoint};
pub use lanes::top_bits;
pub use memory::Memory;
pub use program_cache::ProgramCache;
pub use report::{Report, Reports};
pub use slots::Slots;
pub use unit_memory::UnitMemory;
pub use vm::{
    AccessObserver, AddressSpace, BindError, ClearColour, Contents, Protection, RangeCache,
};
pub use worker_pool::WorkerPool;
