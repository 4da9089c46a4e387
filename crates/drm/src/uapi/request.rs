//! Request words: what `ioctl` is called with.

use std::fmt;

use super::field::Field;

/// Direction of the argument, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The kernel reads it.
    Write = 1,
    /// The kernel writes it.
    Read = 2,
    /// Both.
    ReadWrite = 3,
}

/// A request word: direction, size of the argument, the family's letter and a number.
///
/// source: asm-generic/ioctl.h: 8 bits of number, 8 of family, 14 of size, 2 of direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Request(pub u32);

impl Request {
    /// The family of all DRM requests.
    pub const DRM: u8 = b'd';

    /// A DRM request.
    pub const fn new(direction: Direction, nr: u8, size: usize) -> Request {
        assert!(size < 1 << 14);
        Request(
            (direction as u32) << 30 | (size as u32) << 16 | (Self::DRM as u32) << 8 | nr as u32,
        )
    }

    /// The number in the family.
    pub const fn nr(self) -> u8 {
        self.0 as u8
    }

    /// The family's letter.
    pub const fn family(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Size of the argument in bytes, as the client knows it.
    pub const fn size(self) -> usize {
        (self.0 >> 16 & 0x3fff) as usize
    }

    /// The kernel reads the argument.
    pub const fn kernel_reads(self) -> bool {
        self.0 >> 30 & Direction::Write as u32 != 0
    }

    /// The kernel writes the argument.
    pub const fn kernel_writes(self) -> bool {
        self.0 >> 30 & Direction::Read as u32 != 0
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:#010x}: nr {:#04x}, {} bytes)", self.0, self.nr(), self.size())
    }
}

/// Description of a request.
#[derive(Clone, Copy, Debug)]
pub struct IoctlInfo {
    /// The kernel's name, `DRM_IOCTL_GEM_CLOSE`.
    pub name: &'static str,
    /// The request word of a client built against the same header.
    pub request: Request,
    /// The kernel's name of the argument's structure.
    pub argument: &'static str,
    /// The argument's fields.
    pub fields: &'static [Field],
}

impl IoctlInfo {
    /// The fields of an argument: `{handle: 1, flags: 0x2}`. Fields that the client did not pass
    /// are left out; fields that are no plain number are shown as bytes.
    pub fn describe(&self, argument: &[u8]) -> String {
        let fields: Vec<String> = self
            .fields
            .iter()
            .filter_map(|field| {
                let bytes = argument.get(field.offset..field.offset + field.size)?;
                let mut word = [0; 8];
                let text = match field.ty {
                    "u8" | "u16" | "u32" | "u64" => {
                        word[..bytes.len()].copy_from_slice(bytes);
                        match u64::from_le_bytes(word) {
                            value @ 0..10 => value.to_string(),
                            value => format!("{value:#x}"),
                        }
                    }
                    "i32" => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
                    "i64" => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
                    _ => format!("{bytes:02x?}"),
                };
                Some(format!("{}: {text}", field.name.trim_start_matches("r#")))
            })
            .collect();
        format!("{{{}}}", fields.join(", "))
    }
}
