//! The type of an SSA value: how many bits per component, and how many components.
//!
//! Values carry no signedness and no float or integer kind; the op that reads the bits gives them
//! their meaning, as in the machine code that they become.

use std::fmt;
use std::str::FromStr;

/// `bits` per component (1, 8, 16, 32 or 64) and 1–16 components. Written `b32`, `b16x4`, `b1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    bits: u8,
    comps: u8,
}

impl Type {
    /// A truth value.
    pub const B1: Type = Type::scalar(1);
    /// One 8-bit component.
    pub const B8: Type = Type::scalar(8);
    /// One 16-bit component.
    pub const B16: Type = Type::scalar(16);
    /// One 32-bit component.
    pub const B32: Type = Type::scalar(32);
    /// One 64-bit component: also addresses and descriptor handles.
    pub const B64: Type = Type::scalar(64);

    /// One component of `bits`.
    ///
    /// # Panics
    /// When `bits` is not 1, 8, 16, 32 or 64.
    #[must_use]
    pub const fn scalar(bits: u8) -> Type {
        assert!(matches!(bits, 1 | 8 | 16 | 32 | 64));
        Type { bits, comps: 1 }
    }

    /// Maximum number of components of a type.
    pub const MAX_COMPS: usize = 16;

    /// `comps` components of `bits`, or `None` when there is no such type.
    #[must_use]
    pub const fn new(bits: u32, comps: u32) -> Option<Type> {
        if matches!(bits, 1 | 8 | 16 | 32 | 64) && comps >= 1 && comps <= Self::MAX_COMPS as u32 {
            Some(Type { bits: bits as u8, comps: comps as u8 })
        } else {
            None
        }
    }

    /// `comps` components of `bits`.
    ///
    /// # Panics
    /// When there is no such type: for callers that know their numbers.
    #[must_use]
    pub const fn vec(bits: u8, comps: u8) -> Type {
        match Type::new(bits as u32, comps as u32) {
            Some(t) => t,
            None => panic!("no such type"),
        }
    }

    /// Bits per component.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Number of components.
    #[must_use]
    pub const fn comps(self) -> u8 {
        self.comps
    }

    /// Whether there is one component.
    #[must_use]
    pub const fn is_scalar(self) -> bool {
        self.comps == 1
    }

    /// The type of one component.
    #[must_use]
    pub const fn elem(self) -> Type {
        Type { bits: self.bits, comps: 1 }
    }

    /// The type with components of `bits` each.
    #[must_use]
    pub const fn with_bits(self, bits: u8) -> Type {
        Type::vec(bits, self.comps)
    }

    /// `comps` components of the same size.
    #[must_use]
    pub const fn with_comps(self, comps: u8) -> Type {
        Type::vec(self.bits, comps)
    }

    /// Size in memory, in bytes; truth values take one byte each.
    #[must_use]
    pub const fn size_bytes(self) -> u32 {
        self.comps as u32 * self.elem_bytes()
    }

    /// Size in memory of one component, in bytes.
    #[must_use]
    pub const fn elem_bytes(self) -> u32 {
        (self.bits as u32).div_ceil(8)
    }

    /// The bits a component may have set.
    #[must_use]
    pub const fn mask(self) -> u64 {
        mask(self.bits)
    }
}

/// The low `bits` bits set (`bits` in 1..=64).
#[must_use]
pub const fn mask(bits: u8) -> u64 {
    u64::MAX >> (64 - bits as u32)
}

/// Sign-extends the low `bits` bits of `v`.
#[must_use]
pub const fn sext(v: u64, bits: u8) -> i64 {
    let s = 64 - bits as u32;
    ((v << s) as i64) >> s
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.comps == 1 {
            write!(f, "b{}", self.bits)
        } else {
            write!(f, "b{}x{}", self.bits, self.comps)
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Type {
    type Err = ();

    fn from_str(s: &str) -> Result<Type, ()> {
        let s = s.strip_prefix('b').ok_or(())?;
        let (bits, comps) = s.split_once('x').unwrap_or((s, "1"));
        Type::new(bits.parse().map_err(|_| ())?, comps.parse().map_err(|_| ())?).ok_or(())
    }
}
