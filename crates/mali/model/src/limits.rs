//! Sizes of the virtual GPU, which the kernel front reports and the model respects.
//!
//! No hardware was asked for them: they are values with which Mesa's drivers work.

/// Bits of a GPU address.
pub const ADDRESS_BITS: u32 = 48;

/// Bits of a page's offset: 4 KiB.
pub const PAGE_SHIFT: u32 = 12;

/// Mask of the existing shader cores: four, with a gap.
pub const SHADER_PRESENT: u64 = 0x5_0005;

/// Resident threads of a core. Thread-local storage is allocated for this number on each core up to the last
/// bit of [`SHADER_PRESENT`].
pub const MAX_THREADS: u32 = 2048;

/// Maximum number of threads of a workgroup.
pub const MAX_WORKGROUP_SIZE: u32 = 1024;

/// Queues of a group.
pub const CS_SLOTS: u32 = 8;

/// Registers of 32 bits of a queue.
pub const CS_REGISTERS: u32 = tepui_mali_streams::REGISTERS as u32;

/// Scoreboard entries of a queue.
pub const SCOREBOARD_SLOTS: u32 = 8;

/// Registers at the end of a queue's register file that do not keep their values from one stream to the next,
/// because the kernel's own stream uses them.
pub const UNPRESERVED_CS_REGISTERS: u32 = 4;
