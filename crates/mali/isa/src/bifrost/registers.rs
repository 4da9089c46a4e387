//! The block of ports of a tuple: 35 bits.
//!
//! Ports 0 and 1 read registers, port 2 reads or writes, port 3 writes. Writes are those of the previous tuple (in
//! the first tuple, of the clause's last one), whose results are available by then. One byte selects the uniforms,
//! constants or special values that both instructions read.
//!
// source: Mesa, compiler/bifrost.h (struct bifrost_regs, bifrost_reg_ctrl_lut), disassemble.c
// (DecodeRegCtrl, get_reg0), bi_pack.c (bi_pack_registers).

/// Bits of a block.
pub const BITS: u32 = 35;

/// The access of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    #[default]
    Idle,
    /// Reads a register.
    Read,
    /// Writes a register.
    Write,
    /// Writes the lower half of a register.
    WriteLow,
    /// Writes the upper half of a register.
    WriteHigh,
}

impl Access {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Access::Write | Access::WriteLow | Access::WriteHigh)
    }

    /// The suffix of a destination in listings.
    pub fn suffix(self) -> &'static str {
        match self {
            Access::WriteLow => ".h0",
            Access::WriteHigh => ".h1",
            _ => "",
        }
    }
}

use Access::{Idle, Read, Write as W, WriteHigh as H, WriteLow as L};

/// The accesses of ports 2 and 3 in each mode, and whether port 3 writes the result of the FMA unit.
const MODES: [Option<(Access, Access, bool)>; 32] = [
    None,
    Some((Read, L, true)),
    Some((Read, H, true)),
    Some((Read, W, true)),
    Some((Read, L, false)),
    Some((Read, H, false)),
    Some((Read, W, false)),
    Some((L, L, false)),
    Some((L, H, false)),
    Some((L, W, false)),
    Some((H, L, false)),
    Some((H, H, false)),
    Some((H, W, false)),
    Some((W, L, false)),
    Some((W, H, false)),
    Some((W, W, false)),
    Some((Idle, Idle, true)),
    Some((Idle, W, true)),
    Some((Idle, L, true)),
    Some((Idle, H, true)),
    Some((Read, Idle, false)),
    Some((Idle, W, false)),
    Some((Idle, L, false)),
    Some((Idle, H, false)),
    Some((L, H, false)),
    None,
    Some((H, L, false)),
    Some((Idle, Idle, true)),
    None,
    None,
    None,
    None,
];

/// The mode in which ports 2 and 3 are idle, and the one for first tuples.
const IDLE: [u8; 2] = [27, 16];

/// A block as it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(pub u64);

/// The decoded accesses of the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// The register of ports 0 and 1, if they read.
    pub read: [Option<u8>; 2],
    /// The access of port 2, and its register.
    pub port2: (Access, u8),
    /// The access of port 3, and its register.
    pub port3: (Access, u8),
    /// Port 3 writes the result of the FMA unit, not that of the ADD unit.
    pub port3_fma: bool,
    /// Uniforms, constants or special values.
    pub fau: u8,
}

impl Registers {
    fn get(self, start: u32, size: u32) -> u8 {
        (self.0 >> start & ((1 << size) - 1)) as u8
    }

    /// The byte that selects uniforms, constants or special values.
    pub fn fau(self) -> u8 {
        self.get(0, 8)
    }

    /// The register of a port, whatever its access.
    pub fn register(self, port: u8) -> u8 {
        let (reg0, reg1) = (self.get(20, 5), self.get(25, 6));
        let mirrored = |register: u8| if reg0 <= reg1 { register } else { 63 - register };
        match port {
            0 if self.get(31, 4) == 0 => reg0 | (reg1 & 1) << 5,
            0 => mirrored(reg0),
            1 => mirrored(reg1),
            2 => self.get(14, 6),
            _ => self.get(8, 6),
        }
    }

    /// Decodes the accesses; `first` is set for the first tuple of a clause. `None` if the mode is reserved.
    pub fn ports(self, first: bool) -> Option<Ports> {
        let (reg1, control) = (self.get(25, 6), self.get(31, 4));
        let (mut mode, read) = match control {
            0 => (reg1 >> 2, [(reg1 & 2 == 0).then(|| self.register(0)), None]),
            _ => (control, [Some(self.register(0)), Some(self.register(1))]),
        };
        if first {
            mode = mode & 7 | (mode & 8) << 1;
        } else if self.register(2) == self.register(3) {
            mode += 16;
        }
        let (port2, port3, port3_fma) = MODES[usize::from(mode)]?;
        Some(Ports {
            read,
            port2: (port2, self.register(2)),
            port3: (port3, self.register(3)),
            port3_fma,
            fau: self.fau(),
        })
    }
}

impl Ports {
    /// Encodes the block; `None` if no mode has these accesses.
    pub fn encode(&self, first: bool) -> Option<Registers> {
        let wanted = (self.port2.0, self.port3.0, self.port3_fma);
        let idle = self.port2.0 == Idle && self.port3.0 == Idle;
        let mode = match idle {
            true => IDLE[usize::from(first)],
            false => MODES.iter().position(|mode| *mode == Some(wanted))? as u8,
        };
        let (mut two, mut three) = (self.port2.1, self.port3.1);
        let both = self.port2.0 != Idle && self.port3.0 != Idle;
        let (control, mut equal) = match first {
            true if mode & 8 != 0 => return None,
            true => (mode & 7 | (mode & 16) >> 1, !both),
            false => (mode & 15, mode & 16 != 0),
        };
        // Two halves of one register have a mode of their own, except in first tuples.
        if !first && both {
            let mixed = (16..32).find(|m| MODES[*m] == Some(wanted));
            equal = two == three;
            if equal && mixed.is_none_or(|m| m as u8 & 15 != control) {
                return None;
            }
        } else if equal && both && two != three {
            return None;
        }
        if idle {
            (two, three) = (0, 0);
        } else if equal {
            let same = if self.port2.0 == Idle { three } else { two };
            (two, three) = (same, same);
        }
        let (mut zero, mut one, field);
        match self.read {
            [Some(a), Some(b)] => {
                if control == 0 || a == b {
                    return None;
                }
                (zero, one, field) = (a.min(b), a.max(b), control);
                if zero > 31 {
                    (zero, one) = (63 - zero, 63 - one);
                }
            }
            [Some(a), None] => (zero, one, field) = (a & 31, control << 2 | a >> 5, 0),
            [None, None] => (zero, one, field) = (0, control << 2 | 2, 0),
            [None, Some(_)] => return None,
        }
        let bits = u64::from(self.fau)
            | u64::from(three) << 8
            | u64::from(two) << 14
            | u64::from(zero) << 20
            | u64::from(one) << 25
            | u64::from(field) << 31;
        Some(Registers(bits))
    }
}
