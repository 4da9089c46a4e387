//! Compute built-ins, subgroup operations and barriers.

use super::operand::size_of;
use super::special::sr;
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{HALF, RegClass, UNASSIGNED, Val, WORD, class_of};
use crate::shuffles::R0H;
use crate::target::LANES;
use crate::uniforms::Source;
use tepui_agx_isa::operand::{
    Dst, FCond, ICond, Scope as IsaScope, Shuffle, SimdOp, Size, SpecialReg, Src,
};
use tepui_agx_isa::table::barrier::{MemoryBarrier, ThreadgroupBarrier};
use tepui_agx_isa::table::integer::{Bitop, Ffs};
use tepui_agx_isa::table::moves::GetSr;
use tepui_agx_isa::table::simd::{QuadShuffle, SimdReduce, SimdShuffle};
use tepui_agx_isa::table::unary::{Dfdx, Dfdy};
use tepui_ir::{
    Attrs, Barrier, Builtin, Inst, MemSet, Op, QuadDir, Reduce, ReduceOp, Scope, Value,
};
use tepui_sysval::SystemValue;

fn simd_op(op: ReduceOp) -> Option<SimdOp> {
    Some(match op {
        ReduceOp::IAdd => SimdOp::IAdd,
        ReduceOp::FAdd => SimdOp::FAdd,
        ReduceOp::IMul => return None,
        ReduceOp::FMul => SimdOp::FMul,
        ReduceOp::SMin => SimdOp::SMin,
        ReduceOp::UMin => SimdOp::UMin,
        ReduceOp::FMin => SimdOp::FMin,
        ReduceOp::SMax => SimdOp::SMax,
        ReduceOp::UMax => SimdOp::UMax,
        ReduceOp::FMax => SimdOp::FMax,
        ReduceOp::And => SimdOp::And,
        ReduceOp::Or => SimdOp::Or,
        ReduceOp::Xor => SimdOp::Xor,
    })
}

impl Select<'_> {
    /// Selects a built-in, sub-group op or barrier; false when it is none.
    pub(super) fn group(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let d = &s.insts[i];
        let args = s.args(i);
        match (d.op, d.attrs) {
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comps = self.builtin(i, b)?;
                self.set(s.result(i), &comps);
            }
            (Op::Barrier, Attrs::Barrier(b)) => self.barrier(b),
            (Op::Ballot, _) => {
                let c = self.cond(args[0]);
                let v = self.cond_ballot(c);
                let zero = Comp::Const(0);
                self.set(s.result(i), &[Comp::Val(v), zero, zero, zero]);
            }
            (Op::Elect, _) => {
                let lane = self.special(sr::ACTIVE_LANE, HALF);
                let c = super::cond::Cond::Int {
                    cc: ICond::Ueq,
                    a: Opnd::of(lane, Size::B16),
                    b: Opnd::imm(0),
                    inv: false,
                };
                let t = self.truth(c);
                self.set(s.result(i), &[t]);
            }
            (Op::VoteAny | Op::VoteAll, _) => {
                let c = self.cond(args[0]);
                let all = d.op == Op::VoteAll;
                let t = self.vote(if all { c.inverted() } else { c }, !all);
                self.set(s.result(i), &[t]);
            }
            (Op::DdxFine | Op::DdxCoarse | Op::DdyFine | Op::DdyCoarse, _) => {
                let x = matches!(d.op, Op::DdxFine | Op::DdxCoarse);
                let ty = self.ty(s.result(i));
                if ty.bits() == 64 {
                    return self.refuse(i, format!("of {ty} is not compiled"));
                }
                let mut comps = Vec::new();
                for k in 0..usize::from(ty.comps()) {
                    let a = self.fsrc(args[0], k);
                    let d = Dst::new(UNASSIGNED, size_of(ty.bits()));
                    let class = class_of(ty.bits(), 1);
                    comps.push(Comp::Val(if x {
                        self.def(Dfdx { d, a: a.src(), ..Dfdx::default() }, class, &[a])
                    } else {
                        self.def(Dfdy { d, a: a.src(), ..Dfdy::default() }, class, &[a])
                    }));
                }
                self.set(s.result(i), &comps);
            }
            (Op::ReadFirst, _) => {
                let lane = self.first_lane();
                self.each(i, |x, c, bits| x.shuffle(Shuffle::Index, c, lane, bits))?;
            }
            (Op::ReadLane, _) => {
                let lane = self.isrc(args[1], 0);
                self.each(i, |x, c, bits| x.shuffle(Shuffle::Index, c, lane, bits))?;
            }
            (Op::Shuffle, _) => {
                if let Some((kind, n)) = self.relative(args[1]) {
                    self.each(i, |x, c, bits| x.shuffle(kind, c, Opnd::imm(n), bits))?;
                } else {
                    let lane = self.isrc(args[1], 0);
                    self.gather(i, lane)?;
                }
            }
            (Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown, _) => {
                let kind = match d.op {
                    Op::ShuffleXor => Shuffle::Xor,
                    Op::ShuffleUp => Shuffle::Up,
                    _ => Shuffle::Down,
                };
                match self.comp(args[1], 0) {
                    Comp::Const(n) => {
                        let n = Opnd::imm((n & 31) as u8);
                        self.each(i, |x, c, bits| x.shuffle(kind, c, n, bits))?;
                    }
                    _ if self.is_uniform(args[1]) => {
                        let n = self.isrc(args[1], 0);
                        self.each(i, |x, c, bits| x.shuffle(kind, c, n, bits))?;
                    }
                    _ => {
                        let own = Opnd::of(self.special(sr::LANE, WORD), Size::B32);
                        let n = self.isrc(args[1], 0);
                        let at = match kind {
                            Shuffle::Xor => self.bitop(32, 0b0110, own, n),
                            kind => self.iadd(32, kind == Shuffle::Up, own, n, 0),
                        };
                        self.gather(i, Opnd::of(at, Size::B32))?;
                    }
                }
            }
            (Op::QuadBroadcast, _) => {
                let n = match self.comp(args[1], 0) {
                    Comp::Const(n) => Opnd::imm((n & 3) as u8),
                    _ => self.isrc(args[1], 0),
                };
                self.each(i, |x, c, bits| x.quad(Shuffle::Index, c, n, bits))?;
            }
            (Op::QuadSwap, Attrs::Quad(dir)) => {
                let n = Opnd::imm(match dir {
                    QuadDir::Horizontal => 1,
                    QuadDir::Vertical => 2,
                    QuadDir::Diagonal => 3,
                });
                self.each(i, |x, c, bits| x.quad(Shuffle::Xor, c, n, bits))?;
            }
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(r)) => {
                self.reduce(i, d.op, r)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn special(&mut self, sr: u8, class: RegClass) -> Val {
        let size = if class.units == 1 { Size::B16 } else { Size::B32 };
        let inst = GetSr { d: Dst::new(UNASSIGNED, size), sr: SpecialReg(sr), ..GetSr::default() };
        self.def(inst, class, &[])
    }

    /// A uniform for each direction.
    fn axes(&mut self, source: impl Fn(u8) -> Source) -> Result<Vec<Comp>> {
        (0..3).map(|axis| Ok(Comp::Uniform(self.uniform(source(axis))?))).collect()
    }

    fn builtin(&mut self, i: Inst, b: Builtin) -> Result<Vec<Comp>> {
        let three =
            |x: &mut Self, base: u8| (0..3).map(|k| Comp::Val(x.special(base + k, WORD))).collect();
        let size = self.s.info.workgroup_size;
        let total: u32 = size.iter().product();
        Ok(match b {
            Builtin::GlobalInvocationId => three(self, sr::GLOBAL),
            Builtin::LocalInvocationId => (0..3)
                .map(|k| match size[usize::from(k)] {
                    1 => Comp::Const(0),
                    _ => Comp::Val(self.special(sr::LOCAL + k, WORD)),
                })
                .collect(),
            Builtin::WorkgroupId => three(self, sr::WORKGROUP),
            Builtin::LocalInvocationIndex => {
                vec![Comp::Val(self.special(sr::LOCAL_INDEX, WORD))]
            }
            Builtin::SubgroupInvocationId => {
                vec![Comp::Val(self.special(sr::LANE, WORD))]
            }
            Builtin::SubgroupId => vec![Comp::Val(self.special(sr::SUBGROUP, WORD))],
            Builtin::NumWorkgroups => {
                self.axes(|axis| Source::System(SystemValue::NumWorkgroups { axis }))?
            }
            Builtin::BaseWorkgroupId => {
                self.axes(|axis| Source::System(SystemValue::BaseWorkgroup { axis }))?
            }
            Builtin::WorkgroupSize => size.iter().map(|&n| Comp::Const(u64::from(n))).collect(),
            Builtin::NumSubgroups => vec![Comp::Const(u64::from(total.div_ceil(LANES)))],
            Builtin::SubgroupSize => vec![Comp::Const(u64::from(LANES))],
            Builtin::DeviceIndex => vec![Comp::Const(0)],
            _ => return self.refuse(i, format!("`{b}` is not compiled")),
        })
    }

    /// source: Mesa, agx_compile.c on nir_intrinsic_barrier
    fn barrier(&mut self, b: Barrier) {
        let fence = |x: &mut Self, a: u8, b: u8, c: u8| {
            x.isa(MemoryBarrier { a, b, c }, &[], &[]);
        };
        let (buffers, images) =
            (b.spaces.contains(MemSet::BUFFER), b.spaces.contains(MemSet::IMAGE));
        let wide = b.mem > Scope::Subgroup;
        if wide && buffers {
            fence(self, 1, 2, 9);
        }
        // Atomics on images are atomics on memory, which the texture unit must see.
        let atomics = wide && buffers && images && b.exec == Scope::Invocation;
        if atomics {
            fence(self, 2, 2, 9);
        }
        if wide && images {
            fence(self, 2, 2, 10);
            fence(self, 3, 2, 10);
        }
        if b.exec >= Scope::Workgroup {
            self.isa(ThreadgroupBarrier::default(), &[], &[]);
        }
        if wide && images {
            fence(self, 2, 1, 10);
            fence(self, 3, 1, 10);
        }
        if atomics {
            fence(self, 0, 0, 4);
        }
    }

    /// Whether the condition holds in any active lane; with `any` false, in none.
    fn vote(&mut self, c: super::cond::Cond, any: bool) -> Comp {
        let v = self.cond_ballot(c);
        let c = super::cond::Cond::Int {
            cc: ICond::Ueq,
            a: Opnd::of(v, Size::B32),
            b: Opnd::imm(0),
            inv: any,
        };
        self.truth(c)
    }

    /// The lowest active lane: the only bit of a ballot of those that are the first of the active.
    fn first_lane(&mut self) -> Opnd {
        let active = Opnd::of(self.special(sr::ACTIVE_LANE, HALF), Size::B16);
        let c = super::cond::Cond::Int { cc: ICond::Ueq, a: active, b: Opnd::imm(0), inv: false };
        let bit = Opnd::of(self.cond_ballot(c), Size::B32);
        let inst = Ffs { d: Dst::new(UNASSIGNED, Size::B16), a: bit.src(), ..Ffs::default() };
        Opnd::of(self.def(inst, HALF, &[bit]), Size::B16)
    }

    /// Whether a value is the same in all lanes of a sub-group.
    fn is_uniform(&mut self, v: Value) -> bool {
        !self.divergence().is_divergent(v)
    }

    /// The relative shuffle that reads the lane which an index names: the own lane, a constant
    /// added or flipped.
    fn relative(&self, index: Value) -> Option<(Shuffle, u8)> {
        let s = self.s;
        let own = |v: Value| {
            let d = s.def_inst(v)?;
            (s.insts[d].attrs == Attrs::Builtin(Builtin::SubgroupInvocationId)).then_some(())
        };
        let d = s.def_inst(index)?;
        let (&[a, b], op) = (s.args(d), s.insts[d].op) else { return None };
        let n = s.as_const(b)? as u32;
        match op {
            Op::IXor if n < LANES => own(a).map(|()| (Shuffle::Xor, n as u8)),
            Op::IAdd if n < LANES => own(a).map(|()| (Shuffle::Down, n as u8)),
            Op::IAdd if n.wrapping_neg() < LANES => {
                own(a).map(|()| (Shuffle::Up, n.wrapping_neg() as u8))
            }
            // Round about.
            Op::IAnd if n == LANES - 1 => {
                let d = s.def_inst(a)?;
                let (&[a, b], Op::IAdd) = (s.args(d), s.insts[d].op) else { return None };
                own(a)?;
                let by = (s.as_const(b)? as u32).wrapping_neg() % LANES;
                Some((Shuffle::RotateUp, by as u8))
            }
            _ => None,
        }
    }

    /// Applies a function to each component of the first operand.
    fn each(
        &mut self,
        i: Inst,
        mut f: impl FnMut(&mut Self, Comp, u8) -> Result<Comp>,
    ) -> Result<()> {
        let (a, r) = (self.s.arg(i, 0), self.s.result(i));
        let ty = self.ty(r);
        let mut comps = Vec::with_capacity(usize::from(ty.comps()));
        for k in 0..usize::from(ty.comps()) {
            let c = self.comp(a, k);
            let x = if ty.bits() == 64 {
                let [lo, hi] = self.words(c);
                let (lo, hi) = (f(self, lo, 32)?, f(self, hi, 32)?);
                self.long([lo, hi])
            } else {
                f(self, c, ty.bits())?
            };
            comps.push(x);
        }
        self.set(r, &comps);
        Ok(())
    }

    /// An immediate lane number, or the number in `r0h`; [`crate::shuffles`] clears that again.
    fn with_lane(&mut self, lane: Opnd, f: impl FnOnce(&mut Self, Src) -> Val) -> Val {
        if matches!(lane.place, super::operand::Place::Imm(_)) {
            return f(self, lane.src());
        }
        self.f.state.uses_r0h = true;
        let low = Opnd { size: Size::B16, ..lane };
        let set =
            Bitop { table: 0b1010, d: Dst::new(R0H, Size::B16), a: low.src(), ..Bitop::default() };
        self.isa(set, &[], &[low]);
        f(self, Src::reg(R0H, Size::B16))
    }

    /// A shuffle whose lane operand is the same for all lanes.
    fn shuffle(&mut self, kind: Shuffle, c: Comp, lane: Opnd, bits: u8) -> Result<Comp> {
        let class = class_of(bits, 1);
        let value = self.reg(c, class);
        let o = Opnd::of(value, size_of(bits));
        Ok(Comp::Val(self.with_lane(lane, |x, b| {
            let inst = SimdShuffle {
                kind,
                d: Dst::new(UNASSIGNED, size_of(bits)),
                a: o.src(),
                b,
                ..SimdShuffle::default()
            };
            x.def(inst, class, &[o])
        })))
    }

    fn quad(&mut self, kind: Shuffle, c: Comp, lane: Opnd, bits: u8) -> Result<Comp> {
        let class = class_of(bits, 1);
        let o = Opnd::of(self.reg(c, class), size_of(bits));
        Ok(Comp::Val(self.with_lane(lane, |x, b| {
            let inst = QuadShuffle {
                kind,
                d: Dst::new(UNASSIGNED, size_of(bits)),
                a: o.src(),
                b,
                ..QuadShuffle::default()
            };
            x.def(inst, class, &[o])
        })))
    }

    /// A shuffle with a lane of its own for each lane. Within a quad the hardware reads one offset
    /// of the source quads, so each of the four offsets is read in turn, for all components.
    fn gather(&mut self, i: Inst, lane: Opnd) -> Result<()> {
        if matches!(lane.place, super::operand::Place::Imm(_)) {
            return self.each(i, |x, c, bits| x.shuffle(Shuffle::Index, c, lane, bits));
        }
        let (a, r) = (self.s.arg(i, 0), self.s.result(i));
        let ty = self.ty(r);
        let bits = ty.bits().min(32);
        let class = class_of(bits, 1);
        let mut parts = Vec::new();
        for k in 0..usize::from(ty.comps()) {
            let c = self.comp(a, k);
            if ty.bits() == 64 {
                parts.extend(self.words(c));
            } else {
                parts.push(c);
            }
        }
        let values: Vec<Opnd> =
            parts.iter().map(|&c| Opnd::of(self.reg(c, class), size_of(bits))).collect();
        self.f.state.uses_r0h = true;
        let lane = Opnd { size: Size::B16, ..lane };
        let quad = Opnd::of(self.bitop(16, 0b1000, lane, Opnd::imm(28)), Size::B16);
        let offset = Opnd::of(self.bitop(16, 0b1000, lane, Opnd::imm(3)), Size::B16);
        let mut results: Vec<Comp> = Vec::new();
        for n in 0..4u8 {
            let (table, d) = (0b1110, Dst::new(R0H, Size::B16));
            let at = Opnd::imm(n);
            let set = Bitop { table, d, a: quad.src(), b: at.src(), ..Bitop::default() };
            self.isa(set, &[], &[quad, at]);
            let got: Vec<Val> = values
                .iter()
                .map(|&o| {
                    let inst = SimdShuffle {
                        kind: Shuffle::Index,
                        d: Dst::new(UNASSIGNED, size_of(bits)),
                        a: o.src(),
                        b: Src::reg(R0H, Size::B16),
                        ..SimdShuffle::default()
                    };
                    self.def(inst, class, &[o])
                })
                .collect();
            if n == 0 {
                results = got.into_iter().map(Comp::Val).collect();
                continue;
            }
            for (r, v) in results.iter_mut().zip(got) {
                let cond = super::cond::Cond::Int {
                    cc: ICond::Ueq,
                    a: offset,
                    b: Opnd::imm(n),
                    inv: false,
                };
                let (x, old) = (Opnd::of(v, size_of(bits)), self.comp_src(*r, bits));
                *r = Comp::Val(self.cond_select(cond, x, old, class));
            }
        }
        if ty.bits() == 64 {
            results = results.chunks_exact(2).map(|w| self.long([w[0], w[1]])).collect();
        }
        self.set(r, &results);
        Ok(())
    }

    fn reduce(&mut self, i: Inst, op: Op, r: Reduce) -> Result<()> {
        let ty = self.ty(self.s.result(i));
        let Some(simd) = simd_op(r.op) else {
            return self.refuse(i, format!("{} is not compiled", r.op));
        };
        let scope = match r.cluster {
            // A cluster of one lane has its own value.
            1 => return self.each(i, |_, c, _| Ok(c)),
            0 => IsaScope::Simd,
            4 => IsaScope::Quad,
            c if u32::from(c) >= LANES => IsaScope::Simd,
            c => return self.refuse(i, format!("in clusters of {c} is not compiled")),
        };
        if !matches!(ty.bits(), 1 | 16 | 32) {
            return self.refuse(i, format!("of {ty} is not compiled"));
        }
        let prefix = op != Op::Reduce;
        self.each(i, |x, c, bits| {
            let class = class_of(bits, 1);
            let o = Opnd::of(x.reg(c, class), size_of(bits));
            let inst = SimdReduce {
                scope,
                prefix,
                op: simd,
                d: Dst::new(UNASSIGNED, size_of(bits)),
                a: o.src(),
                ..SimdReduce::default()
            };
            let v = x.def(inst, class, &[o]);
            // The identity of `and` has all bits set; truth values have one.
            let v = if bits == 1 {
                x.bitop(16, 0b1000, Opnd::of(v, Size::B16), Opnd::imm(1))
            } else {
                v
            };
            if op != Op::InclusiveScan {
                return Ok(Comp::Val(v));
            }
            let p = Opnd::of(v, size_of(bits));
            Ok(Comp::Val(x.combine(r.op, p, o, bits)))
        })
    }

    /// The binary operation of a reduction.
    fn combine(&mut self, op: ReduceOp, a: Opnd, b: Opnd, bits: u8) -> Val {
        use super::cond::Cond;
        use tepui_agx_isa::table::float::{Fadd16, Fadd32, Fmul16, Fmul32};
        let class = class_of(bits, 1);
        let d = Dst::new(UNASSIGNED, size_of(bits));
        let int = |cc| Cond::Int { cc, a, b, inv: false };
        let float = |cc| Cond::Float { cc, a, b, inv: false };
        match op {
            ReduceOp::IAdd | ReduceOp::IMul => self.iadd(bits, false, a, b, 0),
            ReduceOp::FAdd if bits == 16 => {
                self.def(Fadd16 { d, a: a.src(), b: b.src(), ..Fadd16::default() }, class, &[a, b])
            }
            ReduceOp::FAdd => {
                self.def(Fadd32 { d, a: a.src(), b: b.src(), ..Fadd32::default() }, class, &[a, b])
            }
            ReduceOp::FMul if bits == 16 => {
                self.def(Fmul16 { d, a: a.src(), b: b.src(), ..Fmul16::default() }, class, &[a, b])
            }
            ReduceOp::FMul => {
                self.def(Fmul32 { d, a: a.src(), b: b.src(), ..Fmul32::default() }, class, &[a, b])
            }
            ReduceOp::SMin => self.cond_select(int(ICond::Slt), a, b, class),
            ReduceOp::UMin => self.cond_select(int(ICond::Ult), a, b, class),
            ReduceOp::SMax => self.cond_select(int(ICond::Sgt), a, b, class),
            ReduceOp::UMax => self.cond_select(int(ICond::Ugt), a, b, class),
            ReduceOp::FMin => self.cond_select(float(FCond::Ltn), a, b, class),
            ReduceOp::FMax => self.cond_select(float(FCond::Gtn), a, b, class),
            ReduceOp::And => self.bitop(bits.max(16), 0b1000, a, b),
            ReduceOp::Or => self.bitop(bits.max(16), 0b1110, a, b),
            ReduceOp::Xor => self.bitop(bits.max(16), 0b0110, a, b),
        }
    }
}
