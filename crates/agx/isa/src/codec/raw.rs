//! Plain numbers, flags and branch offsets.

use core::fmt::Write;
use core::marker::PhantomData;

use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::operand::Form;

/// Notation of a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// Decimal.
    Dec,
    /// `0b…` with this number of digits.
    Bin(u8),
    /// Binary digits, lowest bit first, no prefix (truth tables).
    Digits,
    /// `lsl N`, left out if 0.
    Lsl,
    /// `mask 0x…`, left out if 0.
    LowMask,
    /// `xyzw` subset, left out if empty.
    Channels,
    /// `xyzw` subset, `0` if empty.
    ChannelsOrZero,
}

/// An unsigned number in up to five runs of bits.
#[derive(Clone, Copy, Debug)]
pub struct Raw<T> {
    pieces: Pieces,
    width: u8,
    show: NumberFormat,
    of: PhantomData<T>,
}

impl<T> Raw<T> {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        self.pieces
    }
}

#[inline(always)]
const fn gather(word: u128, pieces: &Pieces) -> u32 {
    let list = pieces.as_slice();
    let (mut value, mut shift, mut i) = (0, 0, 0);
    while i < list.len() {
        value |= bits(word, list[i].lo, list[i].len) << shift;
        shift += list[i].len;
        i += 1;
    }
    value
}

const fn scatter(value: u32, pieces: &Pieces) -> u128 {
    let list = pieces.as_slice();
    let (mut word, mut shift, mut i) = (0, 0, 0);
    while i < list.len() {
        word |= (((value >> shift) as u128) & super::ones(list[i].len)) << list[i].lo;
        shift += list[i].len;
        i += 1;
    }
    word
}

/// A number as the assembler accepts it: decimal, `0x…` or `0b…`, with an optional minus sign.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let value = if let Some(hex) = lower.strip_prefix("0x") {
        i64::from_str_radix(hex, 16)
    } else if let Some(bin) = lower.strip_prefix("0b") {
        i64::from_str_radix(bin, 2)
    } else {
        lower.parse::<i64>()
    };
    value.ok().map(|v| if negative { -v } else { v })
}

/// `xyzw` for the set bits of `mask`.
pub(crate) fn channels(mask: u32) -> String {
    "xyzw".chars().enumerate().filter(|(i, _)| mask & (1 << i) != 0).map(|(_, c)| c).collect()
}

fn parse_channels(text: &str) -> Option<u32> {
    let mask = text.chars().try_fold(0u32, |mask, c| Some(mask | 1 << "xyzw".find(c)?))?;
    (channels(mask) == text && mask != 0).then_some(mask)
}

impl<T> Codec for Raw<T>
where
    T: Copy + Into<u32> + TryFrom<u32>,
{
    type Value = T;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<T, Reject> {
        T::try_from(gather(word, &self.pieces))
            .map_err(|_| Reject::Reserved("the value is wider than its type"))
    }

    fn encode(&self, value: T) -> Result<u128, &'static str> {
        let value: u32 = value.into();
        if self.width < 32 && value >> self.width != 0 {
            return Err("the number has more bits than the field");
        }
        Ok(scatter(value, &self.pieces))
    }

    fn print(&self, value: T, _: Option<u64>, out: &mut String) {
        let value: u32 = value.into();
        let width = self.width as usize;
        let _ = match self.show {
            NumberFormat::Dec => write!(out, "{value}"),
            NumberFormat::Bin(digits) => {
                let digits = digits as usize;
                write!(out, "0b{value:0digits$b}")
            }
            NumberFormat::Digits => (0..width).try_for_each(|i| write!(out, "{}", value >> i & 1)),
            NumberFormat::Lsl if value != 0 => write!(out, "lsl {value}"),
            NumberFormat::LowMask if value != 0 => write!(out, "mask 0x{:X}", (1u64 << value) - 1),
            NumberFormat::Channels if value != 0 => out.write_str(&channels(value)),
            NumberFormat::ChannelsOrZero if value != 0 => out.write_str(&channels(value)),
            NumberFormat::ChannelsOrZero => out.write_str("0"),
            NumberFormat::Lsl | NumberFormat::LowMask | NumberFormat::Channels => Ok(()),
        };
    }

    fn absent(&self, next: Option<&str>, _: Option<u64>) -> bool {
        match self.show {
            NumberFormat::Lsl => next.is_none_or(|t| !t.starts_with("lsl ")),
            NumberFormat::LowMask => next.is_none_or(|t| !t.starts_with("mask ")),
            NumberFormat::Channels => next.is_none_or(|t| parse_channels(t).is_none()),
            _ => false,
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<T, String> {
        let own = match (self.show, tokens.rest.first()) {
            (NumberFormat::Lsl | NumberFormat::LowMask | NumberFormat::Channels, None) => {
                return T::try_from(0).map_err(|_| String::new());
            }
            _ => tokens.own()?,
        };
        let bad = || format!("`{own}` is not {}", self.describe());
        let value = match self.show {
            NumberFormat::Dec | NumberFormat::Bin(_) => number(own),
            NumberFormat::Digits => (own.len() == self.width as usize)
                .then(|| own.chars().rev().collect::<String>())
                .and_then(|digits| i64::from_str_radix(&digits, 2).ok()),
            NumberFormat::Lsl => own.strip_prefix("lsl ").and_then(|t| number(t.trim())),
            NumberFormat::LowMask => own
                .strip_prefix("mask ")
                .and_then(|t| number(t.trim()))
                .filter(|m| *m > 0 && (m + 1) & m == 0)
                .map(|m| i64::from(m.trailing_ones())),
            NumberFormat::Channels => parse_channels(own).map(i64::from),
            NumberFormat::ChannelsOrZero => {
                parse_channels(own).map(i64::from).or_else(|| number(own))
            }
        };
        value.and_then(|v| u32::try_from(v).ok()).and_then(|v| T::try_from(v).ok()).ok_or_else(bad)
    }

    fn describe(&self) -> String {
        match self.show {
            NumberFormat::Dec | NumberFormat::Bin(_) => format!("a {}-bit number", self.width),
            NumberFormat::Digits => format!("{} binary digits, lowest bit first", self.width),
            NumberFormat::Lsl => "a left shift, `lsl N`".into(),
            NumberFormat::LowMask => {
                "a mask of N low bits, written `mask 0x…`; 0 stands for all 32 bits".into()
            }
            NumberFormat::Channels | NumberFormat::ChannelsOrZero => {
                "a set of channels, `xyzw`".into()
            }
        }
    }
}

impl Field for u8 {
    type Codec = Raw<u8>;
}
impl Field for u16 {
    type Codec = Raw<u16>;
}
impl Field for u32 {
    type Codec = Raw<u32>;
}

/// A flag with a text for each state.
#[derive(Clone, Copy, Debug)]
pub struct FlagCodec {
    at: u8,
    text: [&'static str; 2],
}

impl FlagCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, 1, "")
    }
}

impl Codec for FlagCodec {
    type Value = bool;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<bool, Reject> {
        Ok(bits(word, self.at, 1) != 0)
    }

    fn encode(&self, value: bool) -> Result<u128, &'static str> {
        Ok(u128::from(value) << self.at)
    }

    fn print(&self, value: bool, _: Option<u64>, out: &mut String) {
        out.push_str(self.text[usize::from(value)]);
    }

    fn absent(&self, next: Option<&str>, _: Option<u64>) -> bool {
        self.text[0].is_empty() && next != Some(self.text[1])
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<bool, String> {
        let own = tokens.rest.first().copied().unwrap_or("");
        match self.text.iter().position(|t| *t == own) {
            Some(i) => Ok(i == 1),
            None => match number(own) {
                Some(v @ 0..=1) => Ok(v == 1),
                _ => Err(format!("`{own}` is not `{}` or `{}`", self.text[0], self.text[1])),
            },
        }
    }

    fn spellings(&self) -> Vec<&'static str> {
        self.text.to_vec()
    }

    fn describe(&self) -> String {
        match self.text {
            ["0", "1"] | ["0b0", "0b1"] => "a flag".into(),
            ["", set] => format!("a flag, `{set}` if set"),
            [clear, set] => format!("`{clear}` or, if set, `{set}`"),
        }
    }
}

impl Field for bool {
    type Codec = FlagCodec;
}

/// A signed 16-bit number.
#[derive(Clone, Copy, Debug)]
pub struct SignedCodec {
    pieces: Pieces,
}

impl SignedCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        self.pieces
    }
}

impl Codec for SignedCodec {
    type Value = i16;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<i16, Reject> {
        Ok(gather(word, &self.pieces) as u16 as i16)
    }

    fn encode(&self, value: i16) -> Result<u128, &'static str> {
        Ok(scatter(u32::from(value as u16), &self.pieces))
    }

    fn print(&self, value: i16, _: Option<u64>, out: &mut String) {
        let _ = write!(out, "{value}");
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<i16, String> {
        let own = tokens.own()?;
        number(own)
            .and_then(|v| i16::try_from(v).ok())
            .ok_or_else(|| format!("`{own}` is not a number from -32768 to 32767"))
    }

    fn describe(&self) -> String {
        "a signed 16-bit number".into()
    }
}

impl Field for i16 {
    type Codec = SignedCodec;
}

/// A branch offset: bytes from the start of the branch instruction.
#[derive(Clone, Copy, Debug)]
pub struct BranchCodec {
    at: u8,
    len: u8,
}

impl BranchCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, self.len, "")
    }
}

impl Codec for BranchCodec {
    type Value = i32;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<i32, Reject> {
        let unused = 32 - self.len;
        Ok(((bits(word, self.at, self.len) << unused) as i32) >> unused)
    }

    fn encode(&self, value: i32) -> Result<u128, &'static str> {
        let unused = 32 - self.len;
        if (value << unused) >> unused != value {
            return Err("the branch target is out of reach");
        }
        Ok((u128::from(value as u32) & super::ones(self.len)) << self.at)
    }

    fn print(&self, value: i32, pc: Option<u64>, out: &mut String) {
        let _ = match pc {
            Some(pc) => {
                let target = i128::from(pc) + i128::from(value);
                let sign = if target < 0 { "-" } else { "" };
                write!(out, "0x{sign}{:X}", target.unsigned_abs())
            }
            None if value >= 0 => write!(out, "pc+{value}"),
            None => write!(out, "pc-{}", -i64::from(value)),
        };
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<i32, String> {
        let own = tokens.own()?;
        let compact: String = own.chars().filter(|c| !c.is_whitespace()).collect();
        let offset = if let Some(rest) = compact.strip_prefix("pc") {
            match rest.strip_prefix('+') {
                Some(plus) => number(plus),
                None => rest.strip_prefix('-').and_then(number).map(|v| -v),
            }
        } else if let Some(target) = number(&compact.replace("0x-", "-0x")) {
            let pc = tokens.pc.ok_or_else(|| {
                format!("absolute target `{own}` needs the instruction's address; write `pc+N`")
            })?;
            i64::try_from(i128::from(target) - i128::from(pc)).ok()
        } else {
            None
        };
        offset
            .and_then(|v| i32::try_from(v).ok())
            .ok_or_else(|| format!("`{own}` is not a branch target; write `pc+N` or `pc-N`"))
    }

    fn describe(&self) -> String {
        format!("a branch target, {} bits: signed bytes from this instruction's start", self.len)
    }
}

impl Field for i32 {
    type Codec = BranchCodec;
}

/// The length bit of rows that have a short and a long form.
#[derive(Clone, Copy, Debug)]
pub struct FormCodec {
    /// The length bit; set for the long form.
    pub at: u8,
    /// Bytes of the short form.
    pub short: u8,
}

impl FormCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, 1, "")
    }
}

impl Codec for FormCodec {
    type Value = Form;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Form, Reject> {
        let long = bits(word, self.at, 1) != 0;
        Ok(if long && word >> (self.short * 8) == 0 { Form::Long } else { Form::Shortest })
    }

    fn encode(&self, value: Form) -> Result<u128, &'static str> {
        Ok(u128::from(value == Form::Long) << self.at)
    }

    fn print(&self, _: Form, _: Option<u64>, _: &mut String) {}

    fn note(&self, value: Form) -> Option<u64> {
        (value == Form::Long).then_some(1)
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Form, String> {
        Ok(if tokens.note.is_some() { Form::Long } else { Form::Shortest })
    }

    fn describe(&self) -> String {
        "the length bit: set if the long form follows".into()
    }
}

impl Field for Form {
    type Codec = FormCodec;
}

/// Constructors.
pub mod ctor {
    use super::*;

    const fn pieces(list: &[(u8, u8)]) -> (Pieces, u8) {
        let (mut pieces, mut width, mut i) = (Pieces::NONE, 0, 0);
        const PARTS: [&str; 6] = ["", "x", "y", "z", "w", "v"];
        while i < list.len() {
            pieces = pieces.and(list[i].0, list[i].1, PARTS[i]);
            width += list[i].1;
            i += 1;
        }
        (pieces, width)
    }

    const fn make<T>(list: &[(u8, u8)], show: NumberFormat) -> Raw<T> {
        let (pieces, width) = pieces(list);
        Raw { pieces, width, show, of: PhantomData }
    }

    /// A decimal number.
    pub const fn num<T>(at: u8, len: u8) -> Raw<T> {
        make(&[(at, len)], NumberFormat::Dec)
    }
    /// A decimal number in several runs of bits, low part first.
    pub const fn split<T>(list: &[(u8, u8)]) -> Raw<T> {
        make(list, NumberFormat::Dec)
    }
    /// A number written in binary.
    pub const fn bin<T>(at: u8, len: u8) -> Raw<T> {
        make(&[(at, len)], NumberFormat::Bin(len))
    }
    /// A number written in binary with more digits than it has.
    pub const fn bin_padded<T>(at: u8, len: u8, digits: u8) -> Raw<T> {
        make(&[(at, len)], NumberFormat::Bin(digits))
    }
    /// A truth table: four bits, lowest first.
    pub const fn truth_table(list: &[(u8, u8)]) -> Raw<u8> {
        make(list, NumberFormat::Digits)
    }
    /// A left shift, `lsl N`.
    pub const fn lsl(list: &[(u8, u8)]) -> Raw<u8> {
        make(list, NumberFormat::Lsl)
    }
    /// The mask of the bitfield instructions: its width in bits.
    pub const fn low_mask(list: &[(u8, u8)]) -> Raw<u8> {
        make(list, NumberFormat::LowMask)
    }
    /// A channel mask.
    pub const fn channel_mask(at: u8) -> Raw<u8> {
        make(&[(at, 4)], NumberFormat::Channels)
    }
    /// A texture's channel mask.
    pub const fn texture_mask(at: u8) -> Raw<u8> {
        make(&[(at, 4)], NumberFormat::ChannelsOrZero)
    }
    /// A flag printed `0` or `1`.
    pub const fn bit(at: u8) -> FlagCodec {
        FlagCodec { at, text: ["0", "1"] }
    }
    /// A flag printed `0b0` or `0b1`.
    pub const fn binbit(at: u8) -> FlagCodec {
        FlagCodec { at, text: ["0b0", "0b1"] }
    }
    /// A flag with a text for each state.
    pub const fn flag(at: u8, clear: &'static str, set: &'static str) -> FlagCodec {
        FlagCodec { at, text: [clear, set] }
    }
    /// A signed 16-bit number in several runs of bits.
    pub const fn signed16(list: &[(u8, u8)]) -> SignedCodec {
        let (pieces, width) = pieces(list);
        assert!(width == 16);
        SignedCodec { pieces }
    }
    /// A branch offset.
    pub const fn branch(at: u8, len: u8) -> BranchCodec {
        BranchCodec { at, len }
    }
    /// The length bit at bit `at` of a row whose short form has `short` bytes.
    pub const fn form(at: u8, short: u8) -> FormCodec {
        FormCodec { at, short }
    }
}
