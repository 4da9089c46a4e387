//! Translates arithmetic, conversions, comparisons and composites.

use crate::error::Result;
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::Ty;
use crate::value::Val;
use rspirv::spirv::Op as S;
use std::rc::Rc;
use tepui_ir::{Attrs, Op, Type, Value};

/// SPIR-V instructions that are one op on all operands.
fn direct(op: S) -> Option<Op> {
    Some(match op {
        S::FAdd => Op::FAdd,
        S::FSub => Op::FSub,
        S::FMul => Op::FMul,
        S::FDiv => Op::FDiv,
        S::FRem => Op::FRem,
        S::FMod => Op::FMod,
        S::FNegate => Op::FNeg,
        S::IAdd => Op::IAdd,
        S::ISub => Op::ISub,
        S::IMul => Op::IMul,
        S::UDiv => Op::UDiv,
        S::SDiv => Op::SDiv,
        S::UMod => Op::UMod,
        S::SRem => Op::SRem,
        S::SMod => Op::SMod,
        S::SNegate => Op::INeg,
        S::BitwiseAnd | S::LogicalAnd => Op::IAnd,
        S::BitwiseOr | S::LogicalOr => Op::IOr,
        S::BitwiseXor => Op::IXor,
        S::Not | S::LogicalNot => Op::INot,
        S::LogicalEqual | S::IEqual => Op::IEq,
        S::LogicalNotEqual | S::INotEqual => Op::INe,
        S::ULessThan => Op::ULt,
        S::SLessThan => Op::SLt,
        S::UGreaterThanEqual => Op::UGe,
        S::SGreaterThanEqual => Op::SGe,
        S::FOrdEqual => Op::FEq,
        S::FUnordNotEqual => Op::FNeu,
        S::FOrdLessThan => Op::FLt,
        S::FOrdGreaterThanEqual => Op::FGe,
        S::BitReverse => Op::BitReverse,
        S::Any => Op::BAny,
        S::All => Op::BAll,
        _ => return None,
    })
}

/// Comparisons that are another one with the operands swapped, negated, or both.
fn compared(op: S) -> Option<(Op, bool, bool)> {
    Some(match op {
        S::UGreaterThan => (Op::ULt, true, false),
        S::SGreaterThan => (Op::SLt, true, false),
        S::ULessThanEqual => (Op::UGe, true, false),
        S::SLessThanEqual => (Op::SGe, true, false),
        S::FOrdGreaterThan => (Op::FLt, true, false),
        S::FOrdLessThanEqual => (Op::FGe, true, false),
        S::FUnordLessThan => (Op::FGe, false, true),
        S::FUnordGreaterThan => (Op::FGe, true, true),
        S::FUnordGreaterThanEqual => (Op::FLt, false, true),
        S::FUnordLessThanEqual => (Op::FLt, true, true),
        _ => return None,
    })
}

impl Cx<'_> {
    /// Checks operands against the op table before emitting: wrong types become errors, not invalid
    /// IR.
    pub fn checked(&mut self, op: Op, args: &[Value]) -> Result<Value> {
        use tepui_ir::Pat;
        let pats = op.info().operands;
        let t = pats
            .iter()
            .zip(args)
            .find(|(p, _)| matches!(p, Pat::T | Pat::F | Pat::I))
            .map(|(_, &a)| self.s.ty(a));
        for (p, &a) in pats.iter().zip(args) {
            let ty = self.s.ty(a);
            let t = t.unwrap_or(ty);
            let ok = match p {
                Pat::T => ty == t,
                Pat::F => ty == t && matches!(ty.bits(), 16 | 32 | 64),
                Pat::I => ty == t && ty.bits() >= 8,
                Pat::W => ty == t.with_bits(32),
                Pat::B => ty == t.with_bits(1),
                Pat::S32 => ty == Type::B32,
                Pat::V2 => ty == Type::vec(32, 2),
                Pat::V4 => ty == Type::vec(32, 4),
                Pat::B1 => ty == Type::B1,
                _ => true,
            };
            if !ok {
                return self.invalid(format!("an operand of type {ty} does not fit {}", op.name()));
            }
        }
        self.alu(op, args)
    }

    /// A conversion, checked.
    pub fn convert(&mut self, op: Op, a: Value, to: Type) -> Result<Value> {
        let from = self.s.ty(a);
        let float = |t: Type| matches!(t.bits(), 16 | 32 | 64);
        let ok = from.comps() == to.comps()
            && match op {
                Op::F2F | Op::F2FRtz => float(from) && float(to),
                Op::F2S | Op::F2U => float(from) && to.bits() >= 8,
                Op::S2F | Op::U2F => from.bits() >= 8 && float(to),
                _ => from.bits() >= 8 && to.bits() >= 8,
            };
        if !ok {
            return self.invalid(format!("no conversion from {from} to {to}"));
        }
        Ok(if from == to && matches!(op, Op::F2F | Op::S2S | Op::U2U) {
            a
        } else {
            self.op1(op, a, to)
        })
    }

    /// Translates an instruction whose result depends on its operands only; operands start at `k`.
    pub fn alu_inst(&mut self, i: Inst, op: S, k: usize) -> Result<Val> {
        let m = self.m;
        if let Some(o) = direct(op) {
            let args = (k..k + o.info().operands.len())
                .map(|n| self.arg_ssa(n))
                .collect::<Result<Vec<_>>>()?;
            return Ok(Val::Ssa(self.checked(o, &args)?));
        }
        if let Some((o, swap, not)) = compared(op) {
            let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
            let v = if swap { self.checked(o, &[b, a])? } else { self.checked(o, &[a, b])? };
            return Ok(Val::Ssa(if not { self.alu(Op::INot, &[v])? } else { v }));
        }
        let v = match op {
            S::CopyObject | S::CopyLogical | S::ExpectKHR => return self.arg(k),
            S::ShiftLeftLogical | S::ShiftRightLogical | S::ShiftRightArithmetic => {
                let o = match op {
                    S::ShiftLeftLogical => Op::IShl,
                    S::ShiftRightLogical => Op::UShr,
                    _ => Op::SShr,
                };
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let w = self.s.ty(b).with_bits(32);
                let b = self.convert(Op::U2U, b, w)?;
                self.checked(o, &[a, b])?
            }
            S::ConvertFToS => self.convert_to(i, Op::F2S, k)?,
            S::ConvertFToU => self.convert_to(i, Op::F2U, k)?,
            S::ConvertSToF => self.convert_to(i, Op::S2F, k)?,
            S::ConvertUToF => self.convert_to(i, Op::U2F, k)?,
            S::UConvert => self.convert_to(i, Op::U2U, k)?,
            S::SConvert => self.convert_to(i, Op::S2S, k)?,
            S::FConvert => {
                let rtz = m.decoration(i.id, rspirv::spirv::Decoration::FPRoundingMode) == Some(1);
                self.convert_to(i, if rtz { Op::F2FRtz } else { Op::F2F }, k)?
            }
            S::QuantizeToF16 => {
                let a = self.arg_ssa(k)?;
                self.checked(Op::FQuantize16, &[a])?
            }
            S::Bitcast => {
                let (a, ty) = (self.arg_ssa(k)?, self.ir_ty(i.ty)?);
                let bits = |t: Type| u32::from(t.bits()) * u32::from(t.comps());
                let from = self.s.ty(a);
                if bits(from) != bits(ty) || from.bits() == 1 {
                    return self.invalid("both sides of a bit cast have as many bits");
                }
                if from == ty { a } else { self.op1(Op::Bitcast, a, ty) }
            }
            S::Select => return self.select_inst(k),
            S::Dot => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                self.checked(Op::FDot, &[a, b])?
            }
            S::VectorTimesScalar => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let b = self.splat(b, self.s.ty(a).comps())?;
                self.checked(Op::FMul, &[a, b])?
            }
            S::MatrixTimesScalar => {
                let (a, b) = (self.columns(k)?, self.arg_ssa(k + 1)?);
                let b = self.splat(b, self.s.ty(a[0]).comps())?;
                return self.each_column(&a, |cx, c| cx.checked(Op::FMul, &[c, b]));
            }
            S::VectorTimesMatrix => {
                let (v, m) = (self.arg_ssa(k)?, self.columns(k + 1)?);
                let parts = m
                    .iter()
                    .map(|&c| self.checked(Op::FDot, &[v, c]))
                    .collect::<Result<Vec<_>>>()?;
                self.vec(&parts)?
            }
            S::MatrixTimesVector => {
                let (m, v) = (self.columns(k)?, self.arg_ssa(k + 1)?);
                self.mat_vec(&m, v)?
            }
            S::MatrixTimesMatrix => {
                let (a, b) = (self.columns(k)?, self.columns(k + 1)?);
                return self.each_column(&b, |cx, c| cx.mat_vec(&a, c));
            }
            S::OuterProduct => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let rows = self.s.ty(a).comps();
                let scalars = self.split(b);
                return self.each_column(&scalars, |cx, s| {
                    let s = cx.splat(s, rows)?;
                    cx.checked(Op::FMul, &[a, s])
                });
            }
            S::Transpose => {
                let a = self.columns(k)?;
                return self.transpose(&a);
            }
            S::IsNan => {
                let a = self.arg_ssa(k)?;
                self.checked(Op::FNeu, &[a, a])?
            }
            S::IsInf => {
                let a = self.arg_ssa(k)?;
                let a = self.checked(Op::FAbs, &[a])?;
                let inf = self.fconst(self.s.ty(a), f64::INFINITY);
                self.checked(Op::FEq, &[a, inf])?
            }
            S::FOrdNotEqual | S::FUnordEqual | S::Ordered | S::Unordered => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let (na, nb) = (self.checked(Op::FNeu, &[a, a])?, self.checked(Op::FNeu, &[b, b])?);
                let un = self.checked(Op::IOr, &[na, nb])?;
                match op {
                    S::Unordered => un,
                    S::Ordered => self.alu(Op::INot, &[un])?,
                    S::FUnordEqual => {
                        let e = self.checked(Op::FEq, &[a, b])?;
                        self.alu(Op::IOr, &[un, e])?
                    }
                    _ => {
                        let ne = self.checked(Op::FNeu, &[a, b])?;
                        let or = self.alu(Op::INot, &[un])?;
                        self.alu(Op::IAnd, &[or, ne])?
                    }
                }
            }
            S::BitFieldInsert => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let (o, n) = (self.bit_operand(k + 2, a)?, self.bit_operand(k + 3, a)?);
                self.checked(Op::BitInsert, &[a, b, o, n])?
            }
            S::BitFieldSExtract | S::BitFieldUExtract => {
                let a = self.arg_ssa(k)?;
                let (o, n) = (self.bit_operand(k + 1, a)?, self.bit_operand(k + 2, a)?);
                self.checked(
                    if op == S::BitFieldSExtract { Op::SBitExtract } else { Op::UBitExtract },
                    &[a, o, n],
                )?
            }
            S::BitCount => {
                let (a, ty) = (self.arg_ssa(k)?, self.ir_ty(i.ty)?);
                let c = self.checked(Op::BitCount, &[a])?;
                self.convert(Op::U2U, c, ty)?
            }
            S::IAddCarry | S::ISubBorrow | S::UMulExtended | S::SMulExtended => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let (lo, hi) = match op {
                    S::IAddCarry => (Op::IAdd, Op::UAddCarry),
                    S::ISubBorrow => (Op::ISub, Op::USubBorrow),
                    S::UMulExtended => (Op::IMul, Op::UMulHi),
                    _ => (Op::IMul, Op::SMulHi),
                };
                let (lo, hi) = (self.checked(lo, &[a, b])?, self.checked(hi, &[a, b])?);
                return self.aggregate(vec![Val::Ssa(lo), Val::Ssa(hi)]);
            }
            S::SDot | S::UDot | S::SUDot | S::SDotAccSat | S::UDotAccSat | S::SUDotAccSat => {
                self.int_dot(i, op, k)?
            }
            S::VectorExtractDynamic => {
                let (v, n) = (self.arg_ssa(k)?, self.arg_u32(k + 1)?);
                self.extract_dyn(v, n)?
            }
            S::VectorInsertDynamic => {
                let (v, x, n) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?, self.arg_u32(k + 2)?);
                self.insert_dyn(v, x, n)?
            }
            S::VectorShuffle => {
                let (a, b) = (self.arg_ssa(k)?, self.arg_ssa(k + 1)?);
                let mut from = self.split(a);
                from.extend(self.split(b));
                let elem = self.s.ty(a).elem();
                let mut parts = Vec::new();
                for &n in &m.ops(&i)[k + 2..] {
                    parts.push(match from.get(n as usize) {
                        Some(&v) => v,
                        None if n == u32::MAX => self.undef(elem),
                        None => return self.invalid("a component number is out of range"),
                    });
                }
                self.vec(&parts)?
            }
            S::CompositeConstruct => {
                let parts =
                    m.ops(&i)[k..].iter().map(|&o| self.val(o)).collect::<Result<Vec<_>>>()?;
                return self.construct(i.ty, parts);
            }
            S::CompositeConstructReplicateEXT => {
                let part = self.arg(k)?;
                return self.replicate(i.ty, part);
            }
            S::CompositeExtract => {
                let mut v = self.arg(k)?;
                for &n in &m.ops(&i)[k + 1..] {
                    v = self.member(&v, n)?;
                }
                return Ok(v);
            }
            S::CompositeInsert => {
                let (part, whole) = (self.arg(k)?, self.arg(k + 1)?);
                return self.insert(&whole, part, &m.ops(&i)[k + 2..]);
            }
            S::DPdx | S::DPdxCoarse => self.derivative(Op::DdxCoarse, k)?,
            S::DPdy | S::DPdyCoarse => self.derivative(Op::DdyCoarse, k)?,
            S::DPdxFine => self.derivative(Op::DdxFine, k)?,
            S::DPdyFine => self.derivative(Op::DdyFine, k)?,
            S::Fwidth | S::FwidthCoarse | S::FwidthFine => {
                let (x, y) = if op == S::FwidthFine {
                    (Op::DdxFine, Op::DdyFine)
                } else {
                    (Op::DdxCoarse, Op::DdyCoarse)
                };
                let (x, y) = (self.derivative(x, k)?, self.derivative(y, k)?);
                let (x, y) = (self.alu(Op::FAbs, &[x])?, self.alu(Op::FAbs, &[y])?);
                self.alu(Op::FAdd, &[x, y])?
            }
            _ => return self.unsupported(format!("Op{op:?}")),
        };
        Ok(Val::Ssa(v))
    }

    fn derivative(&mut self, op: Op, k: usize) -> Result<Value> {
        let a = self.arg_ssa(k)?;
        self.checked(op, &[a])
    }

    fn convert_to(&mut self, i: Inst, op: Op, k: usize) -> Result<Value> {
        let (a, ty) = (self.arg_ssa(k)?, self.ir_ty(i.ty)?);
        self.convert(op, a, ty)
    }

    /// A bit-field offset or count, in the shape of `like`.
    fn bit_operand(&mut self, n: usize, like: Value) -> Result<Value> {
        let v = self.arg_u32(n)?;
        self.splat(v, self.s.ty(like).comps())
    }

    fn select_inst(&mut self, k: usize) -> Result<Val> {
        let (c, a, b) = (self.arg_ssa(k)?, self.arg(k + 1)?, self.arg(k + 2)?);
        if self.s.ty(c).bits() != 1 {
            return self.invalid("the condition is not a truth value");
        }
        if let (Val::Ssa(a), Val::Ssa(b)) = (&a, &b) {
            let comps = self.s.ty(*a).comps();
            let c = if self.s.ty(c).is_scalar() { self.splat(c, comps)? } else { c };
            return Ok(Val::Ssa(self.checked(Op::Select, &[c, *a, *b])?));
        }
        let (a, b) = (self.normalise(a)?, self.normalise(b)?);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        self.leaves(&a, &mut x)?;
        self.leaves(&b, &mut y)?;
        if x.len() != y.len() || !self.s.ty(c).is_scalar() {
            return self.invalid("the selected values have different shapes");
        }
        let mut out = Vec::new();
        for (x, y) in x.into_iter().zip(y) {
            let c = self.splat(c, self.s.ty(x).comps())?;
            out.push(self.checked(Op::Select, &[c, x, y])?);
        }
        let shape = self.merged_shape(self.at.ty, a);
        Ok(Self::with_leaves(&shape, &mut out.into_iter()))
    }

    // ---- composites ----

    fn member(&mut self, v: &Val, n: u32) -> Result<Val> {
        match v {
            Val::Ssa(v) if n < u32::from(self.s.ty(*v).comps()) && !self.s.ty(*v).is_scalar() => {
                Ok(Val::Ssa(self.extract(*v, n)))
            }
            Val::Agg(parts, _) if (n as usize) < parts.len() => Ok(parts[n as usize].clone()),
            _ => self.invalid(format!("there is no member {n}")),
        }
    }

    fn insert(&mut self, whole: &Val, part: Val, path: &[u32]) -> Result<Val> {
        let Some((&n, rest)) = path.split_first() else { return Ok(part) };
        match whole {
            Val::Agg(parts, _) if (n as usize) < parts.len() => {
                let mut parts = parts.to_vec();
                parts[n as usize] = self.insert(&parts[n as usize].clone(), part, rest)?;
                self.aggregate(parts)
            }
            Val::Ssa(v) if rest.is_empty() && n < u32::from(self.s.ty(*v).comps()) => {
                let Val::Ssa(p) = part else { return self.invalid("not a component") };
                let n = self.u32(n);
                Ok(Val::Ssa(self.insert_dyn(*v, p, n)?))
            }
            _ => self.invalid(format!("there is no member {n}")),
        }
    }

    // ---- matrices ----

    /// The columns of operand `n`.
    pub fn columns(&self, n: usize) -> Result<Vec<Value>> {
        match self.arg(n)? {
            Val::Agg(parts, _) => parts
                .iter()
                .map(|p| match p {
                    Val::Ssa(v) => Ok(*v),
                    _ => self.invalid("not a matrix"),
                })
                .collect::<Result<Vec<_>>>()
                .and_then(|c| if c.is_empty() { self.invalid("not a matrix") } else { Ok(c) }),
            _ => self.invalid(format!("operand {n} is not a matrix")),
        }
    }

    pub fn each_column(
        &mut self,
        cols: &[Value],
        mut f: impl FnMut(&mut Self, Value) -> Result<Value>,
    ) -> Result<Val> {
        let parts = cols.iter().map(|&c| f(self, c).map(Val::Ssa)).collect::<Result<_>>()?;
        self.aggregate(parts)
    }

    fn mat_vec(&mut self, cols: &[Value], v: Value) -> Result<Value> {
        let scalars = self.split(v);
        if scalars.len() != cols.len() {
            return self.invalid("the vector has another size than the matrix");
        }
        let rows = self.s.ty(cols[0]).comps();
        let mut sum: Option<Value> = None;
        // Starts with the last column: if the last number is 1, the sum begins with the column itself.
        for (&c, s) in cols.iter().zip(scalars).rev() {
            let s = self.splat(s, rows)?;
            let p = self.checked(Op::FMul, &[c, s])?;
            sum = Some(match sum {
                None => p,
                Some(x) => self.checked(Op::FAdd, &[p, x])?,
            });
        }
        sum.map_or_else(|| self.invalid("an empty matrix"), Ok)
    }

    pub fn transpose(&mut self, cols: &[Value]) -> Result<Val> {
        let rows = self.s.ty(cols[0]).comps();
        let mut out = Vec::new();
        for r in 0..u32::from(rows) {
            let parts: Vec<Value> = cols.iter().map(|&c| self.extract(c, r)).collect();
            out.push(Val::Ssa(self.vec(&parts)?));
        }
        self.aggregate(out)
    }

    /// Integer dot products, also of four bytes packed in a word.
    fn int_dot(&mut self, i: Inst, op: S, k: usize) -> Result<Value> {
        let sat = matches!(op, S::SDotAccSat | S::UDotAccSat | S::SUDotAccSat);
        let (sa, sb) = match op {
            S::SDot | S::SDotAccSat => (true, true),
            S::UDot | S::UDotAccSat => (false, false),
            _ => (true, false),
        };
        let ty = self.ir_ty(i.ty)?;
        let byte4 = Type::vec(8, 4);
        let unpack = |cx: &mut Self, n: usize, signed: bool| -> Result<Vec<Value>> {
            let v = cx.arg_ssa(n)?;
            let v = if cx.s.ty(v) == Type::B32 { cx.op1(Op::Bitcast, v, byte4) } else { v };
            let wide = cx.s.ty(v).with_bits(64);
            let v = cx.convert(if signed { Op::S2S } else { Op::U2U }, v, wide)?;
            Ok(cx.split(v))
        };
        let (a, b) = (unpack(self, k, sa)?, unpack(self, k + 1, sb)?);
        let mut sum = self.konst(Type::B64, 0);
        for (x, y) in a.into_iter().zip(b) {
            let p = self.checked(Op::IMul, &[x, y])?;
            sum = self.checked(Op::IAdd, &[sum, p])?;
        }
        if !sat {
            return self.convert(Op::U2U, sum, ty);
        }
        let acc = self.arg_ssa(k + 2)?;
        if ty.bits() == 64 {
            // No wider sum exists to clamp.
            return self.checked(if sa { Op::SAddSat } else { Op::UAddSat }, &[sum, acc]);
        }
        let acc = self.convert(if sa { Op::S2S } else { Op::U2U }, acc, Type::B64)?;
        let sum = self.checked(Op::IAdd, &[sum, acc])?;
        let (lo, hi) = if sa {
            ((i64::MIN >> (64 - ty.bits())) as u64, (i64::MAX >> (64 - ty.bits())) as u64)
        } else {
            (0, ty.mask())
        };
        let (lo, hi) = (self.konst(Type::B64, lo), self.konst(Type::B64, hi));
        let (mn, mx) = if sa { (Op::SMin, Op::SMax) } else { (Op::UMin, Op::UMax) };
        let sum = self.checked(mx, &[sum, lo])?;
        let sum = self.checked(mn, &[sum, hi])?;
        self.convert(Op::U2U, sum, ty)
    }

    /// The type of a structure's members, for instructions with two results.
    pub fn member_tys(&self, ty: u32) -> Result<Rc<[u32]>> {
        match self.ty(ty)? {
            Ty::Struct { members } => Ok(members.clone()),
            _ => self.invalid("the result type is not a structure"),
        }
    }

    /// A pure op with attributes.
    pub fn with_attrs(&mut self, op: Op, attrs: Attrs, args: &[Value], ty: Type) -> Value {
        self.emit1(op, attrs, args, ty)
    }
}
