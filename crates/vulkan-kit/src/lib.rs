//! Parts that Vulkan drivers of several GPU families share under the runtime's back-end trait. Nothing here names a family or an API.
//!
//! - [`arena`]: upload memory of command buffers
//! - [`heap`]: ranges of a GPU's address space, or of numbers
//! - [`recycle`]: memory that is used again, as the kernel clears and maps new memory slowly
//! - [`pool`]: small pieces of memory that live for long
//! - [`populate()`]: pages of new memory of the host
//! - [`shared`]: buffers that other processes may have, by handle
//! - [`slab`]: parts of larger memory
//! - [`slots`]: numbered places of a hardware table, one for all users of equal contents
//! - [`variants`]: programs by the state that they are compiled for, and keys of caches
//! - [`mod@builder`]: IR of the driver's own programs
//! - [`queries`]: values and availability of queries in memory

pub mod arena;
pub mod builder;
pub mod heap;
pub mod pool;
pub mod populate;
pub mod queries;
pub mod recycle;
pub mod shared;
pub mod slab;
pub mod slots;
pub mod variants;

pub use arena::Arena;
pub use builder::MetaBuilder;
pub use heap::Heap;
pub use pool::{Pool, PoolPiece};
pub use populate::populate;
pub use queries::QueryLayout;
pub use recycle::Recycled;
pub use shared::SharedBuffers;
pub use slab::Slab;
pub use slots::Slots;
pub use variants::Variants;
