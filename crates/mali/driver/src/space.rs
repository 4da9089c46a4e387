//! Windows of the GPU's address space.
//!
//! ```text
//! 0x0000_0020_0000  tiler's and threads' memory   thread-local pointers do not carry into their upper half
//! 0x0001_0000_0000  code and program descriptors  fragment shaders and their blend shaders are in the same 4 GiB
//! 0x0002_0000_0000  all other buffers
//! ```
//!
//! The kernel's own objects (heap chunks) are after [`END`], the size that the address space is created with.

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Memory of threads and workgroups.
    Threads,
    /// Machine code and program descriptors.
    Code,
    /// Everything else.
    Data,
    /// Addresses that an application may ask for again, any of them.
    Replay,
    /// This address among them.
    At(u64),
}

/// Start of code.
pub const CODE: u64 = 0x1_0000_0000;
/// Start of all other buffers.
const DATA: u64 = 0x2_0000_0000;
/// Share of those addresses, at the end, that can be requested again (`bufferDeviceAddressCaptureReplay`).
const REPLAY_SHARE: u64 = 8;
/// End of the addresses in use: half of the 48 bits, as Mesa's drivers ask for. source: Mesa, panvk_vX_device.c
pub const END: u64 = 1 << 47;

/// Start of the addresses that can be requested again.
pub const REPLAY: u64 = END - (END - DATA) / REPLAY_SHARE / 4096 * 4096;

/// The windows in the order of their addresses.
pub const ALL: [(Window, u64, u64); 4] = [
    (Window::Threads, 0x20_0000, CODE),
    (Window::Code, CODE, DATA),
    (Window::Data, DATA, REPLAY),
    (Window::Replay, REPLAY, END),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_one_another_within_their_4_gib() {
        assert!(ALL.windows(2).all(|w| w[0].2 == w[1].1));
        assert!(ALL.iter().all(|w| w.1 < w.2 && w.1 % 4096 == 0));
        assert!(ALL[..2].iter().all(|w| w.1 >> 32 == (w.2 - 1) >> 32));
    }
}
