//! Operands resolved to bytes of the registers, and rows of channels read from and written to them.

use half::f16;
use tepui_intel_isa::{Arf, Dst, Location, Region, Register, Src, Type, disasm::vf_to_f32};

use crate::fault::FaultKind;
use crate::lane::{Bank, Element, FloatMode};
use crate::memory::{self, TOTAL};

/// Maximum number of channels of an instruction.
pub const CHANNELS: usize = 32;

/// A value for each channel.
pub type Row<T> = [T; CHANNELS];

/// Locations of an operand's elements.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Element i at `base + i * stride`, in bytes.
    Even {
        /// Byte of element 0.
        base: u16,
        /// Stride in bytes; 0 for one element for all channels.
        stride: u16,
    },
    /// Element i at `table[i]`.
    Table(Box<[u16; CHANNELS]>),
    /// Element i at a0's word plus `offset` plus `table[i]`.
    Indirect {
        /// The word of a0.
        word: u8,
        /// Added to it.
        offset: i16,
        /// Byte offsets of the elements.
        table: Box<[u16; CHANNELS]>,
    },
    /// Each row of `width` elements at its own word of a0.
    PerRow {
        /// The word for the first row.
        word: u8,
        /// Added to it.
        offset: i16,
        /// Elements of a row.
        width: u8,
        /// Stride in bytes.
        stride: u16,
    },
    /// An immediate for all channels.
    Scalar(u64),
    /// Eight small integers, repeated.
    Integers([i8; 8]),
    /// Four small floats, repeated.
    Floats([f32; 4]),
}

/// A source, resolved.
#[derive(Clone, Debug)]
pub struct Source {
    pub layout: Layout,
    pub ty: Type,
    pub negate: bool,
    pub abs: bool,
}

/// A destination, resolved.
#[derive(Clone, Debug)]
pub struct Target {
    /// `None` for the null register.
    pub layout: Option<Layout>,
    pub ty: Type,
    /// Mask of the channels, of 32, that Align16 writes.
    pub mask: u32,
    /// Whether it is an accumulator, in which 32-bit integers keep bits above the 32.
    pub accumulator: bool,
}

fn unsupported<T>(what: &'static str) -> Result<T, FaultKind> {
    Err(FaultKind::Unsupported(what))
}

fn base(register: Register, byte: u8) -> Result<usize, FaultKind> {
    match memory::offset(register) {
        Some(offset) => Ok(offset + usize::from(byte)),
        None => unsupported("an architecture register with this number"),
    }
}

/// Offsets in elements, for each channel.
fn elements(region: Region) -> [usize; CHANNELS] {
    std::array::from_fn(|i| match region {
        Region::Rows { vertical, width, horizontal } => {
            let width = usize::from(width);
            i / width * usize::from(vertical) + i % width * usize::from(horizontal)
        }
        Region::PerRow { width, horizontal } => i % usize::from(width) * usize::from(horizontal),
        Region::Swizzle { vertical, swizzle } => {
            i / 4 * usize::from(vertical) + usize::from(swizzle >> (2 * (i % 4)) & 3)
        }
    })
}

impl Source {
    /// Resolves a source for `n` channels.
    pub fn new(src: &Src, n: usize) -> Result<Source, FaultKind> {
        let bytes = src.ty.bytes();
        let table = elements(src.region).map(|element| (element * bytes) as u16);
        let layout = match src.location {
            Location::Immediate(bits) => match src.ty {
                Type::V => Layout::Integers(std::array::from_fn(|i| {
                    ((bits as u32 >> (4 * i)) as i8) << 4 >> 4
                })),
                Type::UV => Layout::Integers(std::array::from_fn(|i| (bits >> (4 * i)) as i8 & 15)),
                Type::VF => Layout::Floats((bits as u32).to_le_bytes().map(vf_to_f32)),
                _ => Layout::Scalar(bits),
            },
            Location::Direct { register, byte } => {
                let base = base(register, byte)?;
                let last = table[..n].iter().max().map_or(0, |last| usize::from(*last));
                let end = base + last + bytes;
                if end > TOTAL || register.is_general() && end > memory::GENERAL {
                    return unsupported("a region that ends outside of the registers");
                }
                let stride = if n > 1 { table[1] } else { 0 };
                let even = (0..n).all(|i| usize::from(table[i]) == i * usize::from(stride));
                match even {
                    true => Layout::Even { base: base as u16, stride },
                    false => Layout::Table(Box::new(table.map(|offset| {
                        // Elements of unused channels stay inside of the register file.
                        (base as u16 + offset).min((TOTAL - bytes) as u16)
                    }))),
                }
            }
            Location::Indirect { address, offset } => match src.region {
                Region::PerRow { width, horizontal } => Layout::PerRow {
                    word: address,
                    offset,
                    width,
                    stride: u16::from(horizontal) * bytes as u16,
                },
                _ => Layout::Indirect { word: address, offset, table: Box::new(table) },
            },
        };
        Ok(Source { layout, ty: src.ty, negate: src.negate, abs: src.abs })
    }

    /// Whether a source is an architecture register of this kind.
    pub fn reads(src: &Src, arf: Arf) -> bool {
        matches!(src.location, Location::Direct { register: Register::Architecture(kind, _), .. } if kind == arf)
    }

    /// Reads the row and applies the modifiers; `logic` inverts instead of negating. Channels that are not `enabled` have no address that
    /// counts.
    ///
    /// Not inlined: there is one copy per type of arithmetic, not one per operation.
    #[inline(never)]
    pub fn load<T: Bank>(
        &self,
        memory: &[u8; TOTAL],
        [n, enabled]: [u32; 2],
        logic: bool,
        mode: FloatMode,
        row: &mut Row<T>,
    ) -> Result<(), FaultKind> {
        let channels = [n, enabled];
        let n = n as usize;
        match self.ty {
            Type::UB => self.gather::<u8, T>(memory, channels, row)?,
            Type::B => self.gather::<i8, T>(memory, channels, row)?,
            Type::UW | Type::UV => self.gather::<u16, T>(memory, channels, row)?,
            Type::W | Type::V => self.gather::<i16, T>(memory, channels, row)?,
            Type::UD => self.gather::<u32, T>(memory, channels, row)?,
            Type::D => self.gather::<i32, T>(memory, channels, row)?,
            Type::UQ => self.gather::<u64, T>(memory, channels, row)?,
            Type::Q => self.gather::<i64, T>(memory, channels, row)?,
            Type::HF => self.gather::<f16, T>(memory, channels, row)?,
            Type::F | Type::VF => self.gather::<f32, T>(memory, channels, row)?,
            Type::DF => self.gather::<f64, T>(memory, channels, row)?,
        }
        if self.abs {
            row[..n].iter_mut().for_each(|value| *value = value.absolute());
        }
        if self.negate && logic {
            row[..n].iter_mut().for_each(|value| *value = value.invert());
        } else if self.negate {
            row[..n].iter_mut().for_each(|value| *value = value.negate());
        }
        let flushes = match self.ty {
            Type::F => !mode.keeps_denormals(),
            Type::DF => !mode.keeps_double_denormals(),
            _ => false,
        };
        if flushes {
            row[..n].iter_mut().for_each(|value| *value = value.flush(mode));
        }
        Ok(())
    }

    #[inline(never)]
    fn gather<E: Element, T: Bank>(
        &self,
        memory: &[u8; TOTAL],
        [n, enabled]: [u32; 2],
        row: &mut Row<T>,
    ) -> Result<(), FaultKind> {
        let n = n as usize;
        // What a channel that is not enabled reads is not used.
        let at_address = |channel: usize, word: u8, offset: i16, further: i32| match address(
            memory,
            word,
            offset,
            further,
            E::BYTES,
        ) {
            Err(_) if enabled >> channel & 1 == 0 => Ok(0),
            at => at,
        };
        let read = |at: usize| E::read(&memory[at..at + E::BYTES]).load::<T>();
        match &self.layout {
            Layout::Even { base, stride: 0 } => {
                let value = read(usize::from(*base));
                row[..n].iter_mut().for_each(|v| *v = value);
            }
            Layout::Even { base, stride } if usize::from(*stride) == E::BYTES => {
                let base = usize::from(*base);
                let bytes = &memory[base..base + n * E::BYTES];
                for (value, bytes) in row.iter_mut().zip(bytes.chunks_exact(E::BYTES)) {
                    *value = E::read(bytes).load();
                }
            }
            Layout::Even { base, stride } => {
                let (base, stride) = (usize::from(*base), usize::from(*stride));
                for (i, value) in row[..n].iter_mut().enumerate() {
                    *value = read(base + i * stride);
                }
            }
            Layout::Table(table) => {
                for (value, at) in row[..n].iter_mut().zip(table.iter()) {
                    *value = read(usize::from(*at));
                }
            }
            Layout::Indirect { word, offset, table } => {
                for (i, (value, at)) in row[..n].iter_mut().zip(table.iter()).enumerate() {
                    *value = read(at_address(i, *word, *offset, i32::from(*at))?);
                }
            }
            Layout::PerRow { word, offset, width, stride } => {
                for (i, value) in row[..n].iter_mut().enumerate() {
                    let (line, column) = (i / usize::from(*width), i % usize::from(*width));
                    let word = (usize::from(*word) + line) as u8 & 15;
                    let column = i32::from(*stride) * column as i32;
                    *value = read(at_address(i, word, *offset, column)?);
                }
            }
            Layout::Scalar(bits) => {
                let value = E::read(&bits.to_le_bytes()[..E::BYTES]).load();
                row[..n].iter_mut().for_each(|v| *v = value);
            }
            Layout::Integers(values) => {
                for (i, value) in row[..n].iter_mut().enumerate() {
                    *value = T::signed(i64::from(values[i % 8]));
                }
            }
            Layout::Floats(values) => {
                for (i, value) in row[..n].iter_mut().enumerate() {
                    *value = T::float(values[i % 4]);
                }
            }
        }
        Ok(())
    }
}

/// The byte of the general registers that a0 addresses.
pub fn address(
    memory: &[u8; TOTAL],
    word: u8,
    offset: i16,
    further: i32,
    bytes: usize,
) -> Result<usize, FaultKind> {
    let at = memory::ADDRESS + usize::from(word) * 2;
    let base = i32::from(u16::from_le_bytes([memory[at], memory[at + 1]]));
    let byte = base + i32::from(offset) + further;
    match usize::try_from(byte) {
        Ok(at) if at + bytes <= memory::GENERAL => Ok(at),
        _ => Err(FaultKind::BadAddress(byte)),
    }
}

impl Target {
    /// Resolves a destination for `n` channels.
    pub fn new(dst: &Dst, n: usize, align16: bool) -> Result<Target, FaultKind> {
        let bytes = dst.ty.bytes();
        let stride = usize::from(dst.stride) * bytes;
        let mut accumulator = false;
        let layout = match dst.location {
            Location::Direct { register: Register::Architecture(Arf::Null, _), .. } => None,
            Location::Direct { register, byte } => {
                accumulator = matches!(register, Register::Architecture(Arf::Accumulator, _));
                let base = base(register, byte)?;
                let end = base + (n - 1) * stride + bytes;
                if end > TOTAL || register.is_general() && end > memory::GENERAL {
                    return unsupported("a region that ends outside of the registers");
                }
                Some(Layout::Even { base: base as u16, stride: stride as u16 })
            }
            Location::Indirect { address, offset } => Some(Layout::Indirect {
                word: address,
                offset,
                table: Box::new(std::array::from_fn(|i| (i * stride) as u16)),
            }),
            Location::Immediate(_) => return unsupported("an immediate destination"),
        };
        let mask = match align16 {
            true => u32::from(dst.writemask & 15) * 0x1111_1111,
            false => u32::MAX,
        };
        Ok(Target { layout, ty: dst.ty, mask, accumulator })
    }

    /// Writes elements in the channels of a mask.
    #[inline(never)]
    pub fn scatter<E: Element>(
        &self,
        memory: &mut [u8; TOTAL],
        row: &Row<E>,
        n: usize,
        mask: u32,
    ) -> Result<(), FaultKind> {
        match &self.layout {
            None => {}
            Some(Layout::Even { base, stride }) => {
                let (base, stride) = (usize::from(*base), usize::from(*stride));
                let all = mask == lanes(n);
                if all && stride == E::BYTES {
                    let bytes = &mut memory[base..base + n * E::BYTES];
                    for (value, bytes) in row.iter().zip(bytes.chunks_exact_mut(E::BYTES)) {
                        value.write(bytes);
                    }
                } else {
                    for (i, value) in row[..n].iter().enumerate() {
                        if mask >> i & 1 != 0 {
                            let at = base + i * stride;
                            value.write(&mut memory[at..at + E::BYTES]);
                        }
                    }
                }
            }
            Some(Layout::Indirect { word, offset, table }) => {
                for (i, value) in row[..n].iter().enumerate() {
                    if mask >> i & 1 != 0 {
                        let further = i32::from(table[i]);
                        let at = address(memory, *word, *offset, further, E::BYTES)?;
                        value.write(&mut memory[at..at + E::BYTES]);
                    }
                }
            }
            Some(_) => return unsupported("this destination"),
        }
        Ok(())
    }
}

/// The lowest `n` bits.
#[inline(always)]
pub fn lanes(n: usize) -> u32 {
    (u64::MAX >> (64 - n)) as u32
}
