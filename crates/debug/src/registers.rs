//! Registers, and the places of values in them.
//!
//! A recording keeps rows of words. Where each lane has registers of its own, a row is one register of all lanes, and a word is a
//! lane's. Where lanes share a register file, a row is one register of it, and the place of a lane's value follows from a
//! [`Region`].

use std::fmt;

/// Organisation of the registers of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisterFile {
    /// Each lane has registers of its own: `r3`, with the halves `r3l` and `r3h`. A half has a name.
    #[default]
    PerLane,
    /// All lanes share registers of 32 bytes: `g3`, in regions such as `g3.2<0,1,0>D`. 16 bytes have a name.
    Shared {
        /// Number of general registers, after which those of `others` follow.
        general: usize,
        /// Names of further registers, such as flags, which are scalars.
        others: &'static [&'static str],
    },
}

impl RegisterFile {
    /// The name of a row.
    #[must_use]
    pub fn name(self, row: usize) -> String {
        match self {
            RegisterFile::PerLane => format!("r{row}"),
            RegisterFile::Shared { general, others } => match row.checked_sub(general) {
                None => format!("g{row}"),
                Some(k) => others.get(k).map_or_else(|| format!("?{k}"), |&n| n.to_owned()),
            },
        }
    }

    /// Whether all lanes share the registers.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self != RegisterFile::PerLane
    }

    /// The name of a uniform word, by its number.
    #[must_use]
    pub fn uniform(self, word: usize) -> String {
        match self {
            RegisterFile::PerLane => format!("u{word}"),
            RegisterFile::Shared { .. } => {
                let region = Region { byte: 4 * word, ..Region::scalar(0) };
                region.to_string()
            }
        }
    }

    /// The register that text names.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Register> {
        match self {
            RegisterFile::PerLane => {
                let rest = text.strip_prefix('r')?;
                let half = HALVES.iter().find_map(|&(end, n)| Some((rest.strip_suffix(end)?, n)));
                let (digits, half) = half.map_or((rest, None), |(digits, n)| (digits, Some(n)));
                Some(Register::Lane { number: digits.parse().ok()?, half })
            }
            RegisterFile::Shared { general, others } => {
                if let Some(k) = others.iter().position(|&name| name == text) {
                    return Some(Register::Region(Region::scalar(ROW_B * (general + k))));
                }
                Region::parse(text).filter(|r| r.byte < ROW_B * general).map(Register::Region)
            }
        }
    }

    /// Syntax of a register in commands.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            RegisterFile::PerLane => "r0, r12l, r12h",
            RegisterFile::Shared { .. } => "g3, g3.2<0,1,0>, g6<16,8,2>UW, f0",
        }
    }

    /// The place of a value that begins at a unit of names and has some of them: for lanes, or for one word that all read.
    #[must_use]
    pub(crate) fn place(self, unit: usize, units: usize) -> Register {
        match self {
            RegisterFile::PerLane => {
                Register::Lane { number: unit / 2, half: (units == 1).then_some(unit % 2) }
            }
            RegisterFile::Shared { .. } => {
                let byte = ROW_B / 2 * unit;
                Register::Region(match units {
                    1 => Region::scalar(byte),
                    _ => Region { byte, ..Region::plane(0) },
                })
            }
        }
    }
}

/// Bytes of a shared register.
const ROW_B: usize = 32;

/// Ends of the names of halves, as AGX and Valhall write them, and their numbers.
const HALVES: [(&str, usize); 4] = [("l", 0), ("h", 1), (".h0", 0), (".h1", 1)];

/// The type of a region's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// 8 bits without a sign.
    UB,
    /// 8 bits with a sign.
    B,
    /// 16 bits without a sign.
    UW,
    /// 16 bits with a sign.
    W,
    /// A float of 16 bits.
    HF,
    /// 32 bits.
    UD,
    /// 32 bits with a sign.
    D,
    /// A float of 32 bits.
    F,
}

impl ElementType {
    const ALL: [(ElementType, &'static str); 8] = [
        (ElementType::UB, "UB"),
        (ElementType::B, "B"),
        (ElementType::UW, "UW"),
        (ElementType::W, "W"),
        (ElementType::HF, "HF"),
        (ElementType::UD, "UD"),
        (ElementType::D, "D"),
        (ElementType::F, "F"),
    ];

    /// Bytes of an element.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            ElementType::UB | ElementType::B => 1,
            ElementType::UW | ElementType::W | ElementType::HF => 2,
            ElementType::UD | ElementType::D | ElementType::F => 4,
        }
    }
}

/// Elements of a shared register file: lane n has the one at `byte` + bytes × ((n / width) × vertical + (n % width) × horizontal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first byte in the file.
    pub byte: usize,
    /// Elements from one row to the next.
    pub vertical: u8,
    /// Elements of a row; not 0.
    pub width: u8,
    /// Elements from one to the next of a row.
    pub horizontal: u8,
    /// Their type.
    pub ty: ElementType,
}

impl Region {
    /// One double word for all lanes.
    #[must_use]
    pub fn scalar(byte: usize) -> Region {
        Region { byte, vertical: 0, width: 1, horizontal: 0, ty: ElementType::UD }
    }

    /// Consecutive double words.
    #[must_use]
    pub fn plane(byte: usize) -> Region {
        Region { byte, vertical: 8, width: 8, horizontal: 1, ty: ElementType::UD }
    }

    /// Parses `g3`, `g3.2`, `g3<0,1,0>`, `g3.2<16,8,2>UW`: without a region consecutive elements, without a type double words.
    fn parse(text: &str) -> Option<Region> {
        let rest = text.strip_prefix('g')?;
        let named = ElementType::ALL.iter().filter(|t| rest.ends_with(t.1));
        let (rest, ty) = match named.max_by_key(|t| t.1.len()) {
            Some(&(ty, name)) => (rest.strip_suffix(name)?, ty),
            None => (rest, ElementType::UD),
        };
        let (rest, [vertical, width, horizontal]) = match rest.strip_suffix('>') {
            Some(rest) => {
                let (rest, region) = rest.split_once('<')?;
                let mut numbers = region.split(',').map(|n| n.parse::<u8>().ok());
                let all = [numbers.next()??, numbers.next()??, numbers.next()??];
                if numbers.next().is_some()
                    || !(1..=32).contains(&all[1])
                    || all[0] > 32
                    || all[2] > 32
                {
                    return None;
                }
                (rest, all)
            }
            None => (rest, [8, 8, 1]),
        };
        let (register, element) = rest.split_once('.').unwrap_or((rest, "0"));
        let register = register.parse::<u8>().ok()?;
        let element = element.parse::<u8>().ok()?;
        let byte = ROW_B * usize::from(register) + ty.bytes() * usize::from(element);
        Some(Region { byte, vertical, width, horizontal, ty })
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Region { byte, vertical, width, horizontal, ty } = *self;
        write!(f, "g{}", byte / ROW_B)?;
        if !byte.is_multiple_of(ROW_B) {
            write!(f, ".{}", byte % ROW_B / ty.bytes())?;
        }
        let name = ElementType::ALL.iter().find(|t| t.0 == ty).map_or("", |t| t.1);
        write!(f, "<{vertical},{width},{horizontal}>{name}")
    }
}

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// A register of each lane, or the low (0) or high (1) half of one.
    Lane {
        /// Its number.
        number: usize,
        /// The half.
        half: Option<usize>,
    },
    /// A region of registers that lanes share.
    Region(Region),
}

/// The bits of a value in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The row, and the word in it.
    pub row: usize,
    pub column: usize,
    /// The first bit of the word, and a mask of the bits from there on.
    pub shift: u32,
    pub mask: u32,
}

impl Register {
    /// A whole register of each lane.
    #[must_use]
    pub fn of_lane(number: usize) -> Register {
        Register::Lane { number, half: None }
    }

    /// The bits that a lane has.
    pub(crate) fn element(self, lane: usize) -> Element {
        match self {
            Register::Lane { number, half } => {
                let mask = if half.is_some() { 0xffff } else { u32::MAX };
                let shift = 16 * half.unwrap_or(0) as u32;
                Element { row: number, column: lane, shift, mask }
            }
            Register::Region(r) => {
                let (width, bytes) = (usize::from(r.width).max(1), r.ty.bytes());
                let at = lane / width * usize::from(r.vertical)
                    + lane % width * usize::from(r.horizontal);
                let byte = r.byte + bytes * at;
                Element {
                    row: byte / ROW_B,
                    column: byte % ROW_B / 4,
                    shift: 8 * (byte % 4) as u32,
                    mask: u32::MAX >> (32 - 8 * bytes as u32),
                }
            }
        }
    }

    /// Bytes of the value.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Register::Lane { half, .. } => {
                if half.is_some() {
                    2
                } else {
                    4
                }
            }
            Register::Region(r) => r.ty.bytes(),
        }
    }

    /// Whether the value is an integer with a sign that has fewer than 32 bits.
    pub(crate) fn extends_sign(self) -> bool {
        matches!(self, Register::Region(Region { ty: ElementType::B | ElementType::W, .. }))
    }

    /// Whether the value is a float of 16 bits.
    pub(crate) fn is_half_float(self) -> bool {
        matches!(self, Register::Region(Region { ty: ElementType::HF, .. }))
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Register::Lane { number, half } => {
                let half = half.map_or("", |half| ["l", "h"][half & 1]);
                f.pad(&format!("r{number}{half}"))
            }
            Register::Region(region) => f.pad(&region.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: RegisterFile = RegisterFile::Shared { general: 128, others: &["f0", "f1"] };

    #[test]
    fn regions_name_the_elements_of_lanes() {
        let at = |text: &str, lane| {
            let Element { row, column, shift, mask } =
                SHARED.parse(text).expect(text).element(lane);
            (row, column, shift, mask)
        };
        assert_eq!(at("g4", 9), (5, 1, 0, u32::MAX));
        assert_eq!(at("g124.4<0,1,0>", 15), (124, 4, 0, u32::MAX));
        // The low words of the double words of a plane.
        assert_eq!(at("g6<16,8,2>UW", 8), (7, 0, 0, 0xffff));
        assert_eq!(at("g6.1<16,8,2>W", 3), (6, 3, 16, 0xffff));
        assert_eq!(at("g3<32,8,4>UB", 2), (3, 2, 0, 0xff));
        assert_eq!(at("f1", 7), (129, 0, 0, u32::MAX));
        for bad in ["r3", "g", "g300", "g3<8,0,1>", "g3<8,8>", "g128", "g3.x", "g3<8,8,1,1>D", "f2"]
        {
            assert_eq!(SHARED.parse(bad), None, "{bad}");
        }
        for text in ["g4<8,8,1>UD", "g124.4<0,1,0>F", "g6.1<16,8,2>HF"] {
            assert_eq!(SHARED.parse(text).expect(text).to_string(), text);
        }
        assert_eq!(RegisterFile::PerLane.parse("g3"), None);
        for half in ["r3h", "r3.h1"] {
            assert_eq!(RegisterFile::PerLane.parse(half).expect("a half").element(2).shift, 16);
        }
        assert_eq!(RegisterFile::PerLane.parse("r3.h2"), None);
    }
}
