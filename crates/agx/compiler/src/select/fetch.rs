//! Vertex fetch: computes the address of an attribute, loads it, and converts it to the components
//! that the shader reads.

use super::operand::Place;
use super::{Comp, Opnd, Select};
use crate::abi::Beyond;
use crate::abi::attribute::{Attribute, Convert, Fetch, Unpack};
use crate::error::{Error, Result};
use crate::mir::{LONG, Op as MOp, UNASSIGNED, Val, WORD, class_of};
use crate::uniforms::Source;
use tepui_agx_isa::operand::{
    Base64, ConvertMode, Dst, Extend, FCond, ICond, Index, RegVec, Round, Size,
};
use tepui_agx_isa::table::device::DeviceLoad;
use tepui_agx_isa::table::integer::Convert as IsaConvert;
use tepui_format::Numeric;
use tepui_sysval::SystemValue;

use super::cond::Cond;
use super::stage::Io;

impl Select<'_> {
    /// The words of an attribute in `mask`. An unbound attribute is undefined.
    pub(super) fn fetch(&mut self, loc: u8, a: Option<Attribute>, mask: u8) -> Result<[Comp; 4]> {
        let Some(a) = a else { return Ok([Comp::Undef; 4]) };
        let f = Fetch::new(a.format).ok_or(Error::Attribute(a.format))?;
        let clamp = self.uniform(Source::AttributeClamp { index: loc })?;
        let base = self.uniform(Source::AttributeBase { index: loc })?;
        let element = self.element(a)?;
        let bounds = Opnd::uniform(clamp, Size::B32);
        let is_beyond = Cond::Int { cc: ICond::Ult, a: bounds, b: element, inv: false };
        let beyond = match &self.io {
            Io::Vertex(v) => v.interface.beyond,
            _ => Beyond::First,
        };
        let zero = Opnd::imm(0);
        // Elements of attributes with the same stride are then at the same offset, which is computed once.
        let (base, element) = match beyond {
            Beyond::Unbound => {
                let halves = [base, base + 2].map(|half| {
                    let own = Opnd::uniform(half, Size::B32);
                    self.cond_select(is_beyond, zero, own, WORD)
                });
                let base = self.f.val(LONG);
                self.emit(MOp::Collect, &[base], &halves);
                (Opnd::of(base, Size::B64), element)
            }
            _ => {
                let element = self.cond_select(is_beyond, zero, element, WORD);
                (Opnd::uniform(base, Size::B64), Opnd::of(element, Size::B32))
            }
        };
        // Packed words are counted as words. source: applegpu.py, DeviceLoadInstructionDesc,
        // "bit_packed"
        let unit = if f.isa.is_packed() { 4 } else { f.isa.element_bytes().unwrap_or(1) };
        if a.stride % unit != 0 {
            return Err(Error::Limit {
                what: "bytes to which a stride is aligned",
                needed: u64::from(unit),
                limit: u64::from(a.stride),
            });
        }
        let (index, shift) = match a.stride / unit {
            1 => (element, 0),
            n @ (2 | 4) if !f.isa.is_packed() => (element, n.trailing_zeros() as u8),
            n => {
                let n = self.int(u64::from(n), Size::B32);
                (Opnd::of(self.imadd(32, false, [element, n, Opnd::imm(0)], 0), Size::B32), 0)
            }
        };
        // Channels after the last one that is read are omitted.
        let count = match f.unpack {
            Unpack::Channels(at, _) if !f.isa.is_packed() => {
                let read = (0..4).filter(|c| mask >> c & 1 != 0).filter_map(|c| at[c]);
                match read.max() {
                    Some(last) => last + 1,
                    None => 0,
                }
            }
            _ => f.count,
        };
        let class = class_of(f.bits, 1);
        let mut parts = Vec::new();
        if count > 0 {
            let size = if f.bits == 16 { Size::B16 } else { Size::B32 };
            let inst = DeviceLoad {
                format: f.isa,
                mask: (1 << count) - 1,
                r: RegVec::new(UNASSIGNED, size, count),
                base: match base.place {
                    Place::Uniform(half) => Base64::Uniform(half),
                    _ => Base64::Reg(UNASSIGNED),
                },
                index: Index::Reg(UNASSIGNED),
                extend: Extend::Unsigned,
                shift,
                ..DeviceLoad::default()
            };
            let index = self.word(index);
            let v = self.f.val(class_of(f.bits, count));
            let srcs: Vec<Val> = base.val().into_iter().chain(index.val()).collect();
            self.emit(MOp::Isa(inst.into()), &[v], &srcs);
            parts = vec![v];
            if count > 1 {
                parts = (0..count).map(|_| self.f.val(class)).collect();
                self.emit(MOp::Split, &parts, &[v]);
            }
        }
        if beyond == Beyond::Zeros {
            let size = if f.bits == 16 { Size::B16 } else { Size::B32 };
            let select = |p: Val| self.cond_select(is_beyond, zero, Opnd::of(p, size), class);
            parts = parts.into_iter().map(select).collect();
        }
        let mut out = [Comp::Undef; 4];
        for (c, slot) in out.iter_mut().enumerate() {
            if mask >> c & 1 == 0 {
                continue;
            }
            let missing = Comp::Const(u64::from(Fetch::missing(a.format, c)));
            *slot = match f.unpack {
                Unpack::Channels(at, convert) => match at[c] {
                    Some(k) => self.convert_channel(parts[usize::from(k)], convert),
                    None => missing,
                },
                Unpack::Fields(at, numeric) => match at[c] {
                    Some(field) => self.field(parts[0], field, numeric),
                    None => missing,
                },
            };
        }
        Ok(out)
    }

    /// The number of the element that an attribute is fetched from.
    fn element(&mut self, a: Attribute) -> Result<Opnd> {
        let ids = match &self.io {
            Io::Vertex(v) => v.ids,
            _ => [None; 2],
        };
        let id = |n: usize| ids[n].map_or(Opnd::imm(0), |v| Opnd::of(v, Size::B32));
        let Some(divisor) = a.per_instance else { return Ok(id(0)) };
        let base =
            Opnd::uniform(self.uniform(Source::System(SystemValue::BaseInstance))?, Size::B32);
        if divisor == 0 {
            return Ok(Opnd::of(self.mov(base, WORD), Size::B32));
        }
        let n = self.divided(id(1), divisor);
        Ok(Opnd::of(self.iadd(32, false, n, base, 0), Size::B32))
    }

    /// `n / d` of whole numbers: a multiplication with the reciprocal, rounded up, and a shift.
    /// source: Granlund and Montgomery, "Division by invariant integers using multiplication",
    /// figure 4.1
    fn divided(&mut self, n: Opnd, d: u32) -> Opnd {
        let word = |v| Opnd::of(v, Size::B32);
        if d.is_power_of_two() {
            return match d.trailing_zeros() {
                0 => n,
                k => word(self.bfeil(32, n, Opnd::imm(k as u8), 0)),
            };
        }
        let (m, log) = reciprocal(d);
        let m = self.int(u64::from(m), Size::B32);
        let product = self.imadd(64, false, [n, m, Opnd::imm(0)], 0);
        let [_, high] = self.words(Comp::Val(product));
        let t = self.comp_src(high, 32);
        let rest = word(self.iadd(32, true, n, t, 0));
        let half = word(self.bfeil(32, rest, Opnd::imm(1), 0));
        let sum = word(self.iadd(32, false, half, t, 0));
        match log - 1 {
            0 => sum,
            k => word(self.bfeil(32, sum, Opnd::imm(k as u8), 0)),
        }
    }

    fn float_of(&mut self, signed: bool, src: Opnd) -> Opnd {
        let mode = if signed { ConvertMode::S32ToF } else { ConvertMode::U32ToF };
        let d = Dst::new(UNASSIGNED, Size::B32);
        let inst =
            IsaConvert { mode, d, src: src.src(), round: Round::Rte, ..IsaConvert::default() };
        Opnd::of(self.def(inst, WORD, &[src]), Size::B32)
    }

    /// The low `bits` of a word, at `shift`, with their sign.
    fn signed_field(&mut self, word: Opnd, shift: u8, bits: u8) -> Opnd {
        let up = match 32 - bits - shift {
            0 => word,
            n => Opnd::of(self.bfi(32, [Opnd::imm(0), word, Opnd::imm(n)], 0), Size::B32),
        };
        Opnd::of(self.asr(32, up, Opnd::imm(32 - bits)), Size::B32)
    }

    fn convert_channel(&mut self, v: Val, convert: Convert) -> Comp {
        let word = Opnd::of(v, Size::B32);
        let half = Opnd::of(v, Size::B16);
        let o = match convert {
            Convert::None => return Comp::Val(v),
            Convert::Half => return Comp::Val(self.fadd(false, 32, false, half, Opnd::NEG_ZERO)),
            Convert::Sign(16) => {
                let half = Opnd { sx: true, ..half };
                return Comp::Val(self.iadd(32, false, half, Opnd::imm(0), 0));
            }
            Convert::Sign(bits) => self.signed_field(word, 0, bits),
            Convert::Uscaled => self.float_of(false, word),
            Convert::Sscaled(bits) => {
                let x = self.signed_field(word, 0, bits);
                self.float_of(true, x)
            }
        };
        o.val().map_or(Comp::Undef, Comp::Val)
    }

    /// A bit field of a word as a component.
    fn field(&mut self, v: Val, (shift, bits): (u8, u8), numeric: Numeric) -> Comp {
        let word = Opnd::of(v, Size::B32);
        let signed = matches!(numeric, Numeric::Sint | Numeric::Snorm | Numeric::Sscaled);
        let x = if signed {
            self.signed_field(word, shift, bits)
        } else {
            Opnd::of(self.bfeil(32, word, Opnd::imm(shift), bits & 31), Size::B32)
        };
        let o = match numeric {
            Numeric::Uint | Numeric::Sint => x,
            _ => {
                let f = self.float_of(signed, x);
                let largest = (1u64 << (bits - u8::from(signed))) - 1;
                match numeric {
                    Numeric::Uscaled | Numeric::Sscaled => f,
                    _ => {
                        let scale = 1.0 / largest as f32;
                        let scale = self.konst(u64::from(scale.to_bits()), Size::B32);
                        let f = Opnd::of(self.fmul(false, 32, false, f, scale), Size::B32);
                        if signed { self.at_least_minus_one(f) } else { f }
                    }
                }
            }
        };
        o.val().map_or(Comp::Undef, Comp::Val)
    }

    fn at_least_minus_one(&mut self, x: Opnd) -> Opnd {
        let low = self.konst(u64::from((-1f32).to_bits()), Size::B32);
        let less = Cond::Float { cc: FCond::Lt, a: x, b: low, inv: false };
        Opnd::of(self.cond_select(less, low, x, WORD), Size::B32)
    }
}

/// The low word of the rounded-up reciprocal of `d`, which is no power of two, and the logarithm of
/// the next power of two.
fn reciprocal(d: u32) -> (u32, u32) {
    let log = 32 - (d - 1).leading_zeros();
    let m = (1u64 << 32) * ((1u64 << log) - u64::from(d)) / u64::from(d) + 1;
    (m as u32, log)
}

#[cfg(test)]
mod tests {
    use super::reciprocal;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reciprocals_divide(n: u32, d in 3u32.., near in 0u32..3) {
            prop_assume!(!d.is_power_of_two());
            for n in [n, n % 1000, u32::MAX - near, (n / d * d).wrapping_sub(near)] {
                let (m, log) = reciprocal(d);
                let t = ((u64::from(n) * u64::from(m)) >> 32) as u32;
                let q = (((n - t) >> 1) + t) >> (log - 1);
                prop_assert_eq!(q, n / d);
            }
        }
    }
}
