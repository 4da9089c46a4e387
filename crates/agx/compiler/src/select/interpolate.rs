//! Interpolation of fragment inputs from coefficient registers.

use super::alu::table;
use super::special::sr;
use super::stage::coefficients::{shading, varying};
use super::stage::interface::{name, words};
use super::{Comp, Opnd, Select, cond::Cond};
use crate::error::Result;
use crate::mir::{Op as MOp, UNASSIGNED, Val, WORD, class_of};
use crate::uniforms::Source;
use crate::varyings::{Origin, Shading};
use tepui_agx_isa::operand::{
    Coef, ConvertMode, Dst, ICond, Interpolation, RegVec, Round, SampleIndex, Size,
};
use tepui_agx_isa::table::float::Fmadd32;
use tepui_agx_isa::table::integer::Convert;
use tepui_agx_isa::table::unary::Rcp;
use tepui_agx_isa::table::varying::{Iter, Iterproj, Ldcf};
use tepui_ir::{Inst, Interp, IoSlot, NumKind};

/// Position of an interpolation.
#[derive(Clone, Copy)]
pub(super) enum At {
    Centre,
    Centroid,
    Sample(Opnd),
}

impl Select<'_> {
    pub(super) fn interpolated(&mut self, i: Inst, slot: IoSlot, at: At) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let ty = self.ty(r);
        let Some((v, first)) = varying(&slot) else {
            return self.refuse(i, format!("of {}", name(slot.loc)));
        };
        if slot.interp == Interp::PerVertex {
            return self.refuse(i, "of single vertices is not compiled");
        }
        let class = shading(&slot);
        if class == Shading::Flat {
            let mut all = Vec::new();
            for k in 0..words(ty) {
                let origin = Origin::Varying { varying: v, component: first + k };
                // Unused words have no register.
                all.push(match self.fragment().coefficient(origin, class) {
                    Some(cf) => self.flat(cf)?,
                    None => Comp::Undef,
                });
            }
            let comps = self.of_words(ty, slot.kind, &all);
            self.set(r, &comps);
            return Ok(());
        }
        if !matches!(ty.bits(), 16 | 32) || slot.kind != NumKind::Float {
            return self.refuse(i, format!("of {ty} is not interpolated"));
        }
        let regs: Vec<Option<u8>> = (0..ty.comps())
            .map(|k| {
                let origin = Origin::Varying { varying: v, component: first + k };
                self.fragment().coefficient(origin, class)
            })
            .collect();
        let comps = self.iterate(&regs, class, at, ty.bits());
        self.set(r, &comps);
        Ok(())
    }

    /// Interpolates coefficient registers; neighbours together.
    pub(super) fn iterate(
        &mut self,
        regs: &[Option<u8>],
        class: Shading,
        at: At,
        bits: u8,
    ) -> Vec<Comp> {
        let mut out = vec![Comp::Undef; regs.len()];
        let mut k = 0;
        while k < regs.len() {
            let Some(cf) = regs[k] else {
                k += 1;
                continue;
            };
            let same = |n: usize| regs.get(k + n).copied().flatten() == Some(cf + n as u8);
            let n = (1..4).take_while(|&n| same(n)).count() + 1;
            let v = self.iter(cf, n as u8, class, at, bits);
            if n == 1 {
                out[k] = Comp::Val(v);
            } else {
                let parts: Vec<Val> = (0..n).map(|_| self.f.val(class_of(bits, 1))).collect();
                self.emit(MOp::Split, &parts, &[v]);
                for (slot, p) in out[k..].iter_mut().zip(parts) {
                    *slot = Comp::Val(p);
                }
            }
            k += n;
        }
        out
    }

    pub(super) fn iter(&mut self, cf: u8, n: u8, class: Shading, at: At, bits: u8) -> Val {
        let size = if bits == 16 { Size::B16 } else { Size::B32 };
        let d = RegVec::new(UNASSIGNED, size, n);
        let (interpolation, sample, reg) = match at {
            At::Centre => (Interpolation::Center, SampleIndex::None, None),
            At::Centroid => (Interpolation::Centroid, SampleIndex::None, None),
            At::Sample(o) => match o.place {
                super::operand::Place::Imm(k) => {
                    (Interpolation::Sample, SampleIndex::Imm(k & 3), None)
                }
                _ => {
                    let v = self.in_reg(o);
                    (Interpolation::SampleRegister, SampleIndex::Reg(UNASSIGNED), v.val())
                }
            },
        };
        let coef = Coef::Cf(cf);
        let v = self.f.val(class_of(bits, n));
        let srcs: Vec<Val> = reg.into_iter().collect();
        let w = self.fragment().coefficient(Origin::W, Shading::Linear);
        let inst = match (class, w) {
            (Shading::Smooth, Some(w)) => {
                let w = Coef::Cf(w);
                Iterproj { d, coef, w, sample, interpolation, ..Iterproj::default() }.into()
            }
            _ => Iter { d, coef, sample, interpolation, ..Iter::default() }.into(),
        };
        self.emit(MOp::Isa(inst), &[v], &srcs);
        v
    }

    /// The three numbers of a coefficient register.
    pub(super) fn plane(&mut self, cf: u8) -> [Val; 3] {
        let v = self.f.val(class_of(32, 3));
        let d = RegVec::new(UNASSIGNED, Size::B32, 3);
        let inst = Ldcf { d, coef: Coef::Cf(cf), ..Ldcf::default() };
        self.emit(MOp::Isa(inst.into()), &[v], &[]);
        let parts = [0; 3].map(|_| self.f.val(WORD));
        self.emit(MOp::Split, &parts, &[v]);
        parts
    }

    /// A flat value: the third number, or the second. source: Mesa, agx_nir_lower_interpolation.c,
    /// interpolate_flat
    pub(super) fn flat(&mut self, cf: u8) -> Result<Comp> {
        let [_, second, third] = self.plane(cf).map(|v| Opnd::of(v, Size::B32));
        let fan = Opnd::uniform(self.uniform(Source::FirstFan)?, Size::B16);
        let test = Cond::Int { cc: ICond::Ueq, a: fan, b: Opnd::imm(0), inv: false };
        Ok(Comp::Val(self.cond_select(test, third, second, WORD)))
    }

    /// Interpolates by hand at an offset from the centre. source: as above, interpolate_at_offset;
    /// what Mesa does there with coefficients that are no normal numbers ("not clear what this is
    /// for") is left out
    pub(super) fn at_offset(&mut self, i: Inst, slot: IoSlot) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let ty = self.ty(r);
        let class = shading(&slot);
        let Some((v, first)) = varying(&slot).filter(|_| class != Shading::Flat) else {
            // A flat value is the same everywhere.
            return self.interpolated(i, slot, At::Centre);
        };
        if ty.bits() != 32 {
            return self.refuse(i, format!("of {ty} is not compiled"));
        }
        let at = [0u8, 1].map(|axis| {
            let p = self.sr(sr::GLOBAL + axis, Size::B32);
            let p = Opnd::of(
                self.bitop(32, table::AND, Opnd::of(p, Size::B32), Opnd::imm(31)),
                Size::B32,
            );
            let p = self.int_to_float(p);
            let half = tepui_agx_isa::operand::minifloat_encode(0.5).unwrap_or(0);
            let p = Opnd::of(self.fadd(false, 32, false, p, Opnd::imm(half)), Size::B32);
            let o = self.fsrc(s.arg(i, 1), usize::from(axis));
            Opnd::of(self.fadd(false, 32, false, p, o), Size::B32)
        });
        let over_w = match class {
            Shading::Smooth => {
                let w = self.fragment().coefficient(Origin::W, Shading::Linear).unwrap_or(0);
                let w = self.plane_at(w, at);
                Some(self.reciprocal(w))
            }
            _ => None,
        };
        let mut comps = Vec::new();
        for k in 0..ty.comps() {
            let origin = Origin::Varying { varying: v, component: first + k };
            let Some(cf) = self.fragment().coefficient(origin, class) else {
                comps.push(Comp::Undef);
                continue;
            };
            let x = self.plane_at(cf, at);
            comps.push(Comp::Val(match over_w {
                Some(w) => self.fmul(false, 32, false, x, w),
                None => x.val().unwrap_or_else(|| self.mov(x, WORD)),
            }));
        }
        self.set(r, &comps);
        Ok(())
    }

    pub(super) fn plane_at(&mut self, cf: u8, [x, y]: [Opnd; 2]) -> Opnd {
        let [a, b, c] = self.plane(cf).map(|v| Opnd::of(v, Size::B32));
        let t = self.ffma(y, b, c);
        self.ffma(x, a, t)
    }

    pub(super) fn int_to_float(&mut self, src: Opnd) -> Opnd {
        let d = Dst::new(UNASSIGNED, Size::B32);
        let mode = ConvertMode::U32ToF;
        let inst = Convert { mode, d, src: src.src(), round: Round::Rte, ..Convert::default() };
        Opnd::of(self.def(inst, WORD, &[src]), Size::B32)
    }

    pub(super) fn reciprocal(&mut self, a: Opnd) -> Opnd {
        let d = Dst::new(UNASSIGNED, Size::B32);
        Opnd::of(self.def(Rcp { d, a: a.src(), ..Rcp::default() }, WORD, &[a]), Size::B32)
    }

    pub(super) fn ffma(&mut self, a: Opnd, b: Opnd, c: Opnd) -> Opnd {
        let d = Dst::new(UNASSIGNED, Size::B32);
        let inst = Fmadd32 { d, a: a.src(), b: b.src(), c: c.src(), ..Fmadd32::default() };
        Opnd::of(self.def(inst, WORD, &[a, b, c]), Size::B32)
    }
}
