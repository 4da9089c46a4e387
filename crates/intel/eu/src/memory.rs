//! The registers of a thread as bytes: general registers first, followed by architecture registers.

use std::ops::{Deref, DerefMut};

use tepui_intel_isa::{Arf, Register};

/// General registers of a thread.
pub const REGISTERS: usize = 128;

/// Bytes of a general register.
pub const REGISTER_BYTES: usize = 32;

/// Bytes of the general registers.
pub const GENERAL: usize = REGISTERS * REGISTER_BYTES;

/// Position of each kind of architecture register after the general ones, in registers, and their number.
const ARCHITECTURE: [(Arf, usize, usize); 11] = [
    (Arf::Null, 0, 2),
    (Arf::Address, 2, 1),
    (Arf::Accumulator, 3, 10),
    (Arf::Flag, 13, 2),
    (Arf::Mask, 15, 1),
    (Arf::State, 16, 2),
    (Arf::Control, 18, 1),
    (Arf::Notification, 19, 1),
    (Arf::Ip, 20, 1),
    (Arf::Dependency, 21, 1),
    (Arf::Timestamp, 22, 1),
];

/// Bytes of all registers.
pub const TOTAL: usize = GENERAL + 23 * REGISTER_BYTES;

/// The registers' bytes, aligned to the host's vectors, so that whole registers can be accessed as rows of
/// words.
#[repr(C, align(64))]
pub struct Bytes([u8; TOTAL]);

impl Bytes {
    /// All registers 0.
    pub fn zeroed() -> Box<Bytes> {
        Box::new(Bytes([0; TOTAL]))
    }
}

impl Deref for Bytes {
    type Target = [u8; TOTAL];

    #[inline(always)]
    fn deref(&self) -> &[u8; TOTAL] {
        &self.0
    }
}

impl DerefMut for Bytes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8; TOTAL] {
        &mut self.0
    }
}

/// First byte of a register; `None` if there is no such register.
pub fn offset(register: Register) -> Option<usize> {
    match register {
        Register::General(n) => Some(usize::from(n) * REGISTER_BYTES),
        Register::Architecture(arf, n) => {
            let (_, first, count) = ARCHITECTURE.iter().find(|(kind, ..)| *kind == arf)?;
            let n = usize::from(n);
            (n < *count).then(|| GENERAL + (first + n) * REGISTER_BYTES)
        }
    }
}

const fn at(register: usize) -> usize {
    GENERAL + register * REGISTER_BYTES
}

/// a0, 16 words.
pub const ADDRESS: usize = at(2);
/// acc0.
pub const ACCUMULATOR: usize = at(3);
/// f0; f1 is the next register.
pub const FLAG: usize = at(13);
/// ce0.
pub const CHANNELS: usize = at(15);
/// sr0.
pub const STATE: usize = at(16);
/// cr0.
pub const CONTROL: usize = at(18);
/// Bytes of one architecture register.
#[cfg(target_arch = "x86_64")]
pub const CONTROL_END: usize = CONTROL + REGISTER_BYTES;
/// n0.
pub const NOTIFICATION: usize = at(19);
/// ip.
pub const IP: usize = at(20);
/// tm0.
pub const TIMESTAMP: usize = at(22);

/// A double word of the registers.
pub fn read32(memory: &[u8; TOTAL], byte: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&memory[byte..byte + 4]);
    u32::from_le_bytes(bytes)
}

/// Writes a double word of the registers.
pub fn write32(memory: &mut [u8; TOTAL], byte: usize, value: u32) {
    memory[byte..byte + 4].copy_from_slice(&value.to_le_bytes());
}
