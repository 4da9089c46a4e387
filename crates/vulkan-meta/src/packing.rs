//! Texels as components that keep their bits.
//!
//! Where programs cannot address texels, they read and write them through the hardware's units as components of a format, and
//! reassemble the bits. Most often that is a format of unsigned integers of the same size ([`Packing::words`]); levels that the
//! hardware shows only in their own format are reassembled from its components ([`Packing::of`]).

use tepui_format::{Component, Encoding, Format, Numeric};
use tepui_ir::{NumKind, Op, Type, Value};
use tepui_vulkan_kit::MetaBuilder;

/// Number format in which the components of a texel are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Unsigned integers: the bits themselves.
    Uint,
    /// Fractions of the largest number.
    Unorm,
    /// Unsigned floats of 10 or 11 bits, which are the upper bits of halves without their sign.
    SmallFloat,
}

/// A component of a texel: its number, first bit and bits.
pub type Field = (u8, u8, u8);

/// Reassembly of a texel's bits from components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    /// Number format of the components.
    pub numbers: Numbers,
    /// Components; unused ones have no bits.
    pub fields: [Field; 4],
    /// Bytes of a texel.
    pub bytes: u8,
}

impl Packing {
    /// The packing of a format's own components; `None` if it would lose bits.
    #[must_use]
    pub fn of(f: Format) -> Option<Packing> {
        let info = f.info();
        let (Encoding::Plain(list) | Encoding::DepthStencil(list)) = &info.encoding else {
            return None;
        };
        let list = list.as_slice();
        let bytes = info.block.bytes;
        let bits: u32 = list.iter().map(|c| u32::from(c.bits)).sum();
        if !bytes.is_power_of_two() || bytes > 16 || bits != 8 * bytes {
            return None;
        }
        let numbers = if list.iter().all(|c| matches!(c.bits, 8 | 16 | 32 | 10 | 2)) {
            Numbers::Uint
        } else if list.iter().all(|c| c.numeric == Numeric::Unorm) {
            Numbers::Unorm
        } else if list.iter().all(|c| matches!(c.bits, 10 | 11)) {
            Numbers::SmallFloat
        } else {
            return None;
        };
        let mut fields = [(0, 0, 0); 4];
        for (to, c) in fields.iter_mut().zip(list) {
            let component = match c.component {
                Component::R | Component::D | Component::S => 0,
                Component::G => 1,
                Component::B => 2,
                Component::A => 3,
            };
            *to = (component, c.shift as u8, c.bits);
        }
        Some(Packing { numbers, fields, bytes: bytes as u8 })
    }

    /// The packing of a format's depth, as fragments write it; `None` without depth.
    #[must_use]
    pub fn of_depth(f: Format) -> Option<Packing> {
        let Encoding::DepthStencil(list) = &f.info().encoding else { return None };
        let depth = list.get(Component::D)?;
        let numbers = match depth.numeric {
            Numeric::Unorm => Numbers::Unorm,
            _ => Numbers::Uint,
        };
        let field = (0, depth.shift as u8, depth.bits);
        Some(Packing {
            numbers,
            fields: [field, (0, 0, 0), (0, 0, 0), (0, 0, 0)],
            bytes: f.info().block.bytes as u8,
        })
    }

    /// A format of unsigned integers whose texels have `bytes` bytes, and its packing; `None` if there is none.
    #[must_use]
    pub fn words(bytes: u32) -> Option<(Format, Packing)> {
        let format = Format::uint_of_size(bytes)?;
        Some((format, Packing::of(format)?))
    }

    /// Number format of shaders' components.
    #[must_use]
    pub fn kind(&self) -> NumKind {
        if self.numbers == Numbers::Uint { NumKind::Uint } else { NumKind::Float }
    }

    /// Type of the bits of a texel in memory.
    fn ty(&self) -> Type {
        match self.bytes {
            1 | 2 => Type::vec(self.bytes * 8, 1),
            4 => Type::B32,
            n => Type::vec(32, n / 4),
        }
    }

    /// The words of a texel, from the components that were read.
    pub fn pack(&self, m: &mut MetaBuilder<'_>, read: Value) -> Vec<Value> {
        let mut words: Vec<Option<Value>> = vec![None; usize::from(self.bytes.div_ceil(4))];
        for &(component, shift, bits) in self.fields.iter().filter(|f| f.2 > 0) {
            let v = m.ir.extract(read, u32::from(component));
            let v = match self.numbers {
                Numbers::Uint => v,
                Numbers::Unorm => {
                    let max = m.ir.f32(max_of(bits));
                    let v = m.op(Op::FMul, v, max);
                    let v = m.ir.unary(Op::FRoundEven, v);
                    m.ir.convert(Op::F2U, v, 32)
                }
                // Sign and lowest bits of a half are zero.
                Numbers::SmallFloat => {
                    let half = m.ir.convert(Op::F2F, v, 16);
                    let half = m.ir.convert(Op::U2U, half, 32);
                    m.shr(half, 15 - u32::from(bits))
                }
            };
            let v = m.shl(v, u32::from(shift) % 32);
            let word = &mut words[usize::from(shift / 32)];
            *word = Some(word.map_or(v, |w| m.op(Op::IOr, w, v)));
        }
        let zero = m.ir.u32(0);
        words.into_iter().map(|w| w.unwrap_or(zero)).collect()
    }

    /// The components of a texel, from its words.
    pub fn unpack(&self, m: &mut MetaBuilder<'_>, words: &[Value]) -> Value {
        let zero = m.ir.u32(0);
        let mut components = [zero; 4];
        for &(component, shift, bits) in self.fields.iter().filter(|f| f.2 > 0) {
            let (word, shift) = (words[usize::from(shift / 32)], u32::from(shift) % 32);
            let v = if shift > 0 { m.shr(word, shift) } else { word };
            let v = if shift + u32::from(bits) < 32 {
                let mask = m.ir.u32((1 << bits) - 1);
                m.op(Op::IAnd, v, mask)
            } else {
                v
            };
            let v = match self.numbers {
                Numbers::Uint => v,
                Numbers::Unorm => {
                    let v = m.ir.convert(Op::U2F, v, 32);
                    unorm(m, v, bits)
                }
                Numbers::SmallFloat => {
                    let half = m.shl(v, 15 - u32::from(bits));
                    let half = m.ir.convert(Op::U2U, half, 16);
                    m.ir.convert(Op::F2F, half, 32)
                }
            };
            components[usize::from(component)] = v;
        }
        m.ir.vec(&components)
    }

    /// Loads the words of a texel.
    pub fn load(&self, m: &mut MetaBuilder<'_>, at: Value, offset: i32) -> Vec<Value> {
        let v = m.load(at, self.ty(), offset);
        match self.bytes {
            1 | 2 => vec![m.ir.convert(Op::U2U, v, 32)],
            4 => vec![v],
            n => (0..u32::from(n / 4)).map(|k| m.ir.extract(v, k)).collect(),
        }
    }

    /// Stores the words of a texel.
    pub fn store(&self, m: &mut MetaBuilder<'_>, at: Value, words: &[Value], offset: i32) {
        let v = match self.bytes {
            1 | 2 => m.ir.convert(Op::U2U, words[0], self.bytes * 8),
            4 => words[0],
            _ => m.ir.vec(words),
        };
        m.store(at, v, offset);
    }
}

/// A whole number of some bits as a fraction of the largest one.
fn unorm(m: &mut MetaBuilder<'_>, v: Value, bits: u8) -> Value {
    if bits <= 16 {
        let max = m.ir.f32(max_of(bits));
        return m.op(Op::FDiv, v, max);
    }
    // Units divide with errors that are larger than half a step. 1 / (2^n - 1) is the sum of the powers of 2^-n, of which a float
    // has room for two.
    let step = m.ir.f32((-f32::from(bits)).exp2());
    let whole = m.op(Op::FMul, v, step);
    m.ir.alu(Op::FFma, &[whole, step, whole])
}

/// The largest number of some bits.
fn max_of(bits: u8) -> f32 {
    ((1u64 << bits) - 1) as f32
}
