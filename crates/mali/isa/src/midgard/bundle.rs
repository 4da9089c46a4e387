//! Bundles: words of 16 bytes that are executed together.
//!
//! The lowest four bits are a bundle's tag: its kind and size; the next four are the tag of the following bundle, or 1
//! at the end of the program.
//!
// source: Mesa, disassemble.c (print_alu_word), midgard_emit.c (emit_alu_bundle), midgard_ops.c (midgard_tag_props).

use arrayvec::ArrayVec;
use thiserror::Error;

use super::word::{Conditional, Extended, LoadStore, Registers, Scalar, Texture, Vector};

/// Bytes of a word, of which bundles have one to four.
pub const WORD_BYTES: usize = 16;

/// A tag's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub u8);

impl Tag {
    /// The next tag of a program's last bundle.
    pub const BREAK: Tag = Tag(1);
    /// Texture instructions, of vertex shaders and others.
    pub const TEXTURE_VERTEX: Tag = Tag(2);
    /// See [`Tag::TEXTURE_VERTEX`].
    pub const TEXTURE: Tag = Tag(3);
    /// A barrier.
    pub const BARRIER: Tag = Tag(4);
    /// Load and store instructions.
    pub const LOAD_STORE: Tag = Tag(5);
    /// Arithmetic of one word; the next numbers are for two to four.
    pub const ALU: Tag = Tag(8);
    /// Arithmetic that writes to the tile buffer, of one word; the next numbers are for two to four.
    pub const WRITEOUT: Tag = Tag(12);

    /// Mesa's names, by number.
    const NAMES: [&str; 16] = [
        "invalid", "break", "tex/vt", "tex", "tex/bar", "ldst", "unk1", "unk2", "alu/4", "alu/8",
        "alu/12", "alu/16", "aluw/4", "aluw/8", "aluw/12", "aluw/16",
    ];

    /// Mesa's name.
    pub const fn name(self) -> &'static str {
        Tag::NAMES[(self.0 & 15) as usize]
    }

    /// The tag of a name.
    pub fn of(name: &str) -> Option<Tag> {
        Tag::NAMES.iter().position(|n| *n == name).map(|n| Tag(n as u8))
    }

    /// Words of a bundle; 0 for tags that are no bundle's.
    pub const fn words(self) -> usize {
        match self.0 {
            0 | 1 => 0,
            2..8 => 1,
            tag => (tag & 3) as usize + 1,
        }
    }
}

/// An optional instruction of a vector unit, with its registers.
pub type VectorUnit = Option<(Registers, Vector)>;
/// An optional instruction of a scalar unit, with its registers.
pub type ScalarUnit = Option<(Registers, Scalar)>;

/// Arithmetic: an instruction for each unit, and a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alu {
    /// The vector multiplier, in the first stage.
    pub vmul: VectorUnit,
    /// The scalar adder, in the first stage.
    pub sadd: ScalarUnit,
    /// The vector adder, in the second stage.
    pub vadd: VectorUnit,
    /// The scalar multiplier, in the second stage.
    pub smul: ScalarUnit,
    /// The lookup-table unit, in the second stage.
    pub lut: VectorUnit,
    /// A branch of 16 bits.
    pub branch: Option<Conditional>,
    /// A branch of 48 bits.
    pub extended: Option<Extended>,
    /// Constants.
    pub constants: Option<[u32; 4]>,
}

/// The contents of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Arithmetic.
    Alu(Alu),
    /// One or two loads or stores.
    LoadStore([LoadStore; 2]),
    /// A texture instruction.
    Texture(Texture),
}

/// A bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its tag.
    pub tag: Tag,
    /// The tag of the next bundle.
    pub next: Tag,
    /// Its contents.
    pub content: Content,
}

/// A reason why bytes encode no bundle.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BundleError {
    /// The tag is not that of a bundle.
    #[error("no bundle has the tag {0:#x}")]
    Tag(u8),
    /// The code ends within the bundle.
    #[error("the bundle has {wanted} bytes, and {found} are left")]
    Short {
        /// Bytes of the bundle.
        wanted: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// The control word has bits of units that do not exist.
    #[error("the control word {0:#010x} names units that there are not")]
    Control(u32),
    /// The instructions do not fit, or leave more than a word for constants.
    #[error("instructions of {found} bytes in a bundle of {wanted}")]
    Size {
        /// Bytes of the bundle.
        wanted: usize,
        /// Bytes of its instructions and constants.
        found: usize,
    },
    /// The padding between instructions and constants is not zero.
    #[error("padding that is not zero")]
    Padding,
}

/// Bits of the control word, by unit.
const VMUL: u32 = 17;
const SADD: u32 = 19;
const VADD: u32 = 21;
const SMUL: u32 = 23;
const LUT: u32 = 25;
const BRANCH: u32 = 26;
const EXTENDED: u32 = 27;
/// All unit bits, and the tags.
const CONTROL: u32 =
    0xff | 1 << VMUL | 1 << SADD | 1 << VADD | 1 << SMUL | 1 << LUT | 1 << BRANCH | 1 << EXTENDED;

/// Reads words of 16 bits one after the other.
struct HalfwordReader<'a>(&'a [u8]);

impl HalfwordReader<'_> {
    fn take(&mut self, halves: usize) -> Option<u128> {
        let (taken, rest) = self.0.split_at_checked(2 * halves)?;
        self.0 = rest;
        Some(taken.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte)))
    }
}

impl Alu {
    /// Bytes of the control word, the instructions and the branches.
    fn bytes(&self) -> usize {
        let vectors = [self.vmul, self.vadd, self.lut].iter().flatten().count();
        let scalars = [self.sadd, self.smul].iter().flatten().count();
        let branches =
            2 * usize::from(self.branch.is_some()) + 6 * usize::from(self.extended.is_some());
        4 + 8 * vectors + 6 * scalars + branches
    }

    fn decode(control: u32, code: &[u8]) -> Result<Alu, BundleError> {
        if control & !CONTROL != 0 {
            return Err(BundleError::Control(control));
        }
        let has = |bit: u32| control >> bit & 1 != 0;
        let units = [VMUL, SADD, VADD, SMUL, LUT];
        let count = units.iter().filter(|bit| has(**bit)).count();
        let mut registers = HalfwordReader(&code[4..]);
        let mut words = HalfwordReader(code.get(4 + 2 * count..).unwrap_or_default());
        let short = BundleError::Size { wanted: code.len(), found: usize::MAX };
        let mut alu = Alu::default();
        for bit in units.into_iter().filter(|bit| has(*bit)) {
            let r = Registers::decode(registers.take(1).ok_or(short)?);
            let halves = if matches!(bit, SADD | SMUL) { 2 } else { 3 };
            let word = words.take(halves).ok_or(short)?;
            match bit {
                VMUL => alu.vmul = Some((r, Vector::decode(word))),
                SADD => alu.sadd = Some((r, Scalar::decode(word))),
                VADD => alu.vadd = Some((r, Vector::decode(word))),
                SMUL => alu.smul = Some((r, Scalar::decode(word))),
                _ => alu.lut = Some((r, Vector::decode(word))),
            }
        }
        if has(BRANCH) {
            alu.branch = Some(Conditional::decode(words.take(1).ok_or(short)?));
        }
        if has(EXTENDED) {
            alu.extended = Some(Extended::decode(words.take(3).ok_or(short)?));
        }
        let used = alu.bytes();
        let size = used.next_multiple_of(WORD_BYTES);
        if size + WORD_BYTES == code.len() {
            let constants = code[size..].as_chunks::<4>().0;
            alu.constants = Some([0, 1, 2, 3].map(|n| u32::from_le_bytes(constants[n])));
        } else if size != code.len() {
            return Err(BundleError::Size { wanted: code.len(), found: used });
        }
        if code[used..size].iter().any(|byte| *byte != 0) {
            return Err(BundleError::Padding);
        }
        Ok(alu)
    }

    fn encode(&self, tags: u8, code: &mut ArrayVec<u8, 64>) {
        let mut control = u32::from(tags);
        let mut registers = ArrayVec::<u8, 10>::new();
        let mut words = ArrayVec::<u8, 64>::new();
        let mut push = |word: u128, halves: usize| {
            words.extend(word.to_le_bytes().into_iter().take(2 * halves));
        };
        let mut unit = |bit: u32, r: &Registers| {
            control |= 1 << bit;
            registers.extend((r.encode() as u16).to_le_bytes());
        };
        if let Some((r, v)) = &self.vmul {
            unit(VMUL, r);
            push(v.encode(), 3);
        }
        if let Some((r, s)) = &self.sadd {
            unit(SADD, r);
            push(s.encode(), 2);
        }
        if let Some((r, v)) = &self.vadd {
            unit(VADD, r);
            push(v.encode(), 3);
        }
        if let Some((r, s)) = &self.smul {
            unit(SMUL, r);
            push(s.encode(), 2);
        }
        if let Some((r, v)) = &self.lut {
            unit(LUT, r);
            push(v.encode(), 3);
        }
        if let Some(branch) = &self.branch {
            control |= 1 << BRANCH;
            push(branch.encode(), 1);
        }
        if let Some(branch) = &self.extended {
            control |= 1 << EXTENDED;
            push(branch.encode(), 3);
        }
        code.extend(control.to_le_bytes());
        code.extend(registers);
        code.extend(words);
        while !code.len().is_multiple_of(WORD_BYTES) {
            code.push(0);
        }
        if let Some(constants) = self.constants {
            code.extend(constants.into_iter().flat_map(u32::to_le_bytes));
        }
    }

    /// Words of the bundle.
    pub fn words(&self) -> usize {
        self.bytes().div_ceil(WORD_BYTES) + usize::from(self.constants.is_some())
    }
}

impl Bundle {
    /// Reads the bundle at the beginning of code.
    ///
    /// # Errors
    /// The bytes encode no bundle.
    pub fn decode(code: &[u8]) -> Result<Bundle, BundleError> {
        let short = |wanted| BundleError::Short { wanted, found: code.len() };
        let tags = *code.first().ok_or(short(WORD_BYTES))?;
        let (tag, next) = (Tag(tags & 15), Tag(tags >> 4));
        let wanted = tag.words() * WORD_BYTES;
        if wanted == 0 || matches!(tag.0, 6 | 7) {
            return Err(BundleError::Tag(tag.0));
        }
        let code = code.get(..wanted).ok_or(short(wanted))?;
        let first = HalfwordReader(&code[..WORD_BYTES]).take(8).unwrap_or_default();
        let content = match tag {
            Tag::LOAD_STORE => Content::LoadStore([
                LoadStore::decode(first >> 8 & ((1 << 60) - 1)),
                LoadStore::decode(first >> 68),
            ]),
            Tag(2..=4) => Content::Texture(Texture::decode(first >> 8)),
            _ => Content::Alu(Alu::decode(first as u32, code)?),
        };
        Ok(Bundle { tag, next, content })
    }

    /// The bytes.
    pub fn encode(&self) -> ArrayVec<u8, 64> {
        let tags = self.tag.0 & 15 | self.next.0 << 4;
        let mut code = ArrayVec::new();
        let one = match &self.content {
            Content::Alu(alu) => {
                alu.encode(tags, &mut code);
                return code;
            }
            Content::LoadStore([a, b]) => a.encode() << 8 | b.encode() << 68,
            Content::Texture(t) => t.encode() << 8,
        };
        code.extend((one | u128::from(tags)).to_le_bytes());
        code
    }
}
