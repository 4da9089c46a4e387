//! Windows of the GPU's address space: ranges that base addresses of the hardware cover.
//!
//! ```text
//! 0x0000_0020_0000  scratch memory     offsets of 32 bits from address 0
//! 0x0001_0000_0000  binding tables     1 GiB
//! 0x0001_4000_0000  bindless states    64 MiB: as many surface states as handles of 20 bits name
//! 0x0001_4400_0000  surface states     of descriptor sets and command buffers
//! 0x0002_0000_0000  dynamic state      samplers, constants, batches
//! 0x0003_0000_0000  code
//! 0x0004_0000_0000  descriptor sets    within 4 GiB, so that offsets in a set never carry into the upper half of addresses
//! 0x0005_0000_0000  all other buffers
//! 0x7000_0000_0000  sparse resources   that tables of the driver lead elsewhere
//! ```
//!
//! Binding tables lie before the surface states, as the surface state base is that of a block of tables, of whose entries and
//! states it must be no more than 4 GiB away. source: Mesa, anv_va.c

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Scratch memory of threads.
    Scratch,
    /// Blocks of binding tables.
    Tables,
    /// Surface states that handles name.
    Bindless,
    /// Surface states that binding tables name.
    Surfaces,
    /// Dynamic state and batches.
    Dynamic,
    /// Machine code.
    Code,
    /// Memory of descriptor sets.
    Sets,
    /// Everything else.
    Data,
    /// Addresses that an application may ask for again, any of them.
    Replay,
    /// This address among them.
    At(u64),
    /// Sparse resources.
    Sparse,
    /// Sparse resources whose addresses an application may ask for again, any of them.
    SparseReplay,
    /// This address among them.
    SparseAt(u64),
}

/// Start of the window of binding tables.
pub const TABLES: u64 = 0x1_0000_0000;
/// Start of the surface states that handles name.
pub const BINDLESS: u64 = 0x1_4000_0000;
/// Bytes of them: 2^20 states of 64 bytes. source: genxml, STATE_BASE_ADDRESS, Bindless Surface State Size
pub const BINDLESS_B: u64 = 64 << 20;
/// Base of dynamic state.
pub const DYNAMIC: u64 = 0x2_0000_0000;
/// Base of code.
pub const CODE: u64 = 0x3_0000_0000;
/// Start of descriptor sets.
const SETS: u64 = 0x4_0000_0000;
/// Start of all other buffers.
const DATA: u64 = 0x5_0000_0000;
/// Address of null buffers, of no bytes: that of the device's first page, since programs load from the beginning of a buffer what is out
/// of its bounds, and drop it.
pub const NULL_BUFFER: u64 = DATA;
/// Share of those addresses, at the end, that can be requested again (`bufferDeviceAddressCaptureReplay`).
const REPLAY_SHARE: u64 = 8;
/// End of the addresses of all other buffers: units read past the end of buffers.
const END: u64 = SPARSE - (4 << 30);
/// Start of sparse resources: the hardware compares four bits. Addresses with bit 47 have another canonical form.
/// source: genxml, GFX_TRTT_VA_RANGE
pub const SPARSE: u64 = 7 << 44;
/// Bytes of them.
pub const SPARSE_B: u64 = (1 << 44) - (4 << 30);
/// Start of those that can be requested again.
const SPARSE_REPLAY: u64 = SPARSE + SPARSE_B / 16 * 15;

/// Start of the addresses that can be requested again.
pub const REPLAY: u64 = END - (END - DATA) / REPLAY_SHARE / 4096 * 4096;

/// The windows in the order of their addresses.
pub const ALL: [(Window, u64, u64); 11] = [
    (Window::Scratch, 0x20_0000, 0x4000_0000),
    (Window::Tables, TABLES, BINDLESS),
    (Window::Bindless, BINDLESS, BINDLESS + BINDLESS_B),
    (Window::Surfaces, BINDLESS + BINDLESS_B, DYNAMIC),
    (Window::Dynamic, DYNAMIC, CODE),
    (Window::Code, CODE, SETS),
    (Window::Sets, SETS, DATA),
    (Window::Data, DATA, REPLAY),
    (Window::Replay, REPLAY, END),
    (Window::Sparse, SPARSE, SPARSE_REPLAY),
    (Window::SparseReplay, SPARSE_REPLAY, SPARSE + SPARSE_B),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_one_another_and_are_in_reach_of_their_bases() {
        assert!(ALL.windows(2).all(|w| w[0].2 <= w[1].1));
        assert!(ALL.iter().all(|w| w.1 < w.2 && w.1 % 4096 == 0));
        const {
            // Entries of a table hold 32 bits from the base of its block.
            assert!(DYNAMIC - TABLES <= 1 << 32);
            assert!(CODE - DYNAMIC <= 1 << 32 && SETS - CODE <= 1 << 32);
            assert!(SETS >> 32 == (DATA - 1) >> 32);
            assert!(SPARSE_REPLAY.is_multiple_of(1 << 16));
        }
        assert_eq!(BINDLESS_B / 64, 1 << 20);
    }
}
