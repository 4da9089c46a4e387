//! Subgroup operations: masks of channels, values of other channels, reductions and scans. The other ones become these
//! ([`tepui_passes::lower_subgroups`]).

use super::alu::{mov, op};
use super::convert::int_type;
use super::{Comp, Select, Source};
use crate::error::Result;
use crate::mir::{self, HEADER, Inst, Operand, Place, SCALAR, Scanned, scan_class};
use tepui_intel_isa::{Condition, Opcode, Type as Ty};
use tepui_ir::interp::operator;
use tepui_ir::{self as ir, Attrs, Op, Reduce, ReduceOp, Value};
use tepui_regalloc::Val;

fn immediate(ty: Ty, bits: u64) -> Source {
    Source { operand: Operand::immediate(ty, bits), val: None }
}

impl Select<'_> {
    /// Selects subgroup operations; whether the instruction is one.
    pub(super) fn subgroup(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::Ballot, _) => {
                let c = self.truth(s.arg(i, 0));
                let mask = self.ballot(c.condition, &c.sources);
                let zero = Comp::Const(0);
                self.set(s.result(i), &[Comp::Val(mask), zero, zero, zero]);
            }
            (Op::Clock, _) => {
                let time = self.f.val(HEADER);
                self.push(Inst::new(mir::Op::Clock, Operand::value(Ty::UD), &[]), Some(time), &[]);
                let time = Source { operand: Operand::value(Ty::UD), val: Some(time) };
                let half = |x: &mut Self, k| {
                    x.def_scalar(mir::Op::ReadLane, Ty::UD, &[time, immediate(Ty::UD, k)])
                };
                let halves = [half(self, 0), half(self, 1)].map(Comp::Val);
                self.set(s.result(i), &halves);
            }
            (Op::ReadFirst, _) => {
                let all: Vec<Comp> = self.all_comps(s.args(i));
                let ty = self.lane_type(s.arg(i, 0));
                let all: Vec<Comp> = all.into_iter().map(|c| self.first(c, ty)).collect();
                self.set(s.result(i), &all);
            }
            (Op::ReadLane | Op::Shuffle, _) => self.other_lane(i),
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(r)) => {
                return self.reduce(i, r).map(|()| true);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The type of the bits that a value has.
    fn lane_type(&self, v: Value) -> Ty {
        int_type(self.ty(v).bits(), false).unwrap_or(Ty::UD)
    }

    /// The channels that execute and for which a comparison holds.
    fn ballot(&mut self, condition: Condition, sources: &[Source; 2]) -> Val {
        self.def_scalar(mir::Op::Ballot(condition), Ty::UD, sources)
    }

    /// The number of the first channel that executes.
    fn first_lane(&mut self) -> Val {
        if let Some((block, lane)) = self.first
            && block == self.cur
        {
            return lane;
        }
        let any = Source { operand: Operand::new(Place::Fixed(0), Ty::UD), val: None };
        let active = self.ballot(Condition::Zero, &[any, any]);
        let active = self.read(active, Ty::UD);
        let lane = self.def_scalar(op(Opcode::Fbl), Ty::UD, &[active]);
        self.first = Some((self.cur, lane));
        lane
    }

    /// Whether all channels read a component from one place.
    pub(super) fn is_uniform(&self, c: Comp) -> bool {
        match c {
            Comp::Val(v) => self.f.vals[v] == SCALAR,
            Comp::Const(_) | Comp::Fixed(_) | Comp::Undef => true,
        }
    }

    /// The component of the first channel that executes.
    pub(super) fn first(&mut self, c: Comp, ty: Ty) -> Comp {
        if self.is_uniform(c) {
            return c;
        }
        let lane = self.first_lane();
        let lane = self.read(lane, Ty::UD);
        self.read_lane(c, ty, lane)
    }

    fn read_lane(&mut self, c: Comp, ty: Ty, lane: Source) -> Comp {
        let plane = self.value(c);
        let plane = self.read(plane, ty);
        Comp::Val(self.def_scalar(mir::Op::ReadLane, Ty::UD, &[plane, lane]))
    }

    /// Values of the channel that an operand names: one for all, or one for each. Numbers are taken modulo the channels,
    /// so that no other register is read.
    fn other_lane(&mut self, i: ir::Inst) {
        let s = self.s;
        let last = u32::from(self.width) - 1;
        let all = self.all_comps(&[s.arg(i, 0)]);
        let ty = self.lane_type(s.arg(i, 0));
        let mut lane = self.comp(s.arg(i, 1), 0);
        if s.insts[i].op == Op::ReadLane {
            lane = self.first(lane, Ty::UD);
        }
        let lane = match lane {
            Comp::Const(k) => immediate(Ty::UD, (k & last).into()),
            _ => {
                let x = self.source(lane, Ty::UD);
                let v = self.def(op(Opcode::And), Ty::UD, &[x, immediate(Ty::UD, last.into())]);
                self.read(v, Ty::UD)
            }
        };
        let uniform = lane.val.is_none_or(|v| self.f.vals[v] == SCALAR);
        let mut out = Vec::with_capacity(all.len());
        for c in all {
            out.push(match c {
                _ if self.is_uniform(c) => c,
                _ if uniform => self.read_lane(c, ty, lane),
                _ => {
                    let plane = self.value(c);
                    let plane = self.read(plane, ty);
                    Comp::Val(self.def_plane(mir::Op::Shuffle, Ty::UD, &[plane, lane]))
                }
            });
        }
        self.set(s.result(i), &out);
    }

    fn reduce(&mut self, i: ir::Inst, r: Reduce) -> Result<()> {
        let s = self.s;
        let (v, result) = (s.arg(i, 0), s.result(i));
        let ir_ty = self.ty(v);
        let bits = ir_ty.bits();
        let Some((opcode, condition, ty)) =
            scan_op(r.op).filter(|_| ir_ty.is_scalar() && matches!(bits, 8 | 16 | 32))
        else {
            return self.refuse(i, format!("of {ir_ty} is not compiled for Intel's GPUs"));
        };
        // Narrow values are combined as values of 32 bits: their low bits, or their order, are the same.
        let (_, identity) = operator(r.op, ir_ty);
        let (source_ty, identity) = match (ty, bits) {
            (Ty::F, 16) => (Ty::HF, operator(r.op, ir::Type::B32).1),
            (Ty::D, n) => (int_type(n, true).unwrap_or(Ty::D), sign_extend(identity, n)),
            (_, n) if ty != Ty::F => (int_type(n, false).unwrap_or(ty), identity),
            _ => (ty, identity),
        };
        let c = self.comp(v, 0);
        let mut source = self.register(c, source_ty);
        if source_ty != ty {
            let wide = self.def(mov(ty), ty, &[source]);
            source = self.read(wide, ty);
        }
        let width = self.width;
        let cluster = match r.cluster {
            n if n == 0 || n >= width || s.insts[i].op != Op::Reduce => width,
            n => n,
        };
        let scan = self.f.val(scan_class(width));
        let how = mir::Op::Scan { opcode, condition, cluster };
        let inst = Inst::new(how, Operand::value(ty), &[]);
        self.push(inst, Some(scan), &[source, immediate(ty, identity)]);
        let scan = Source { operand: Operand::value(ty), val: Some(scan) };
        let taken = match s.insts[i].op {
            Op::Reduce if cluster == width => {
                // A register of identities precedes the channels.
                let last = immediate(Ty::UD, u64::from(mir::GRF_DWORDS + u16::from(width) - 1));
                self.def_scalar(mir::Op::ReadLane, ty, &[scan, last])
            }
            Op::Reduce => self.def_plane(mir::Op::Scanned(Scanned::Last(cluster)), ty, &[scan]),
            Op::InclusiveScan => self.def_plane(mir::Op::Scanned(Scanned::Own), ty, &[scan]),
            _ => self.def_plane(mir::Op::Scanned(Scanned::Before), ty, &[scan]),
        };
        let taken = match source_ty {
            Ty::HF => {
                let wide = self.read(taken, ty);
                self.def(mov(Ty::HF), Ty::HF, &[wide])
            }
            _ => taken,
        };
        self.set(result, &[Comp::Val(taken)]);
        Ok(())
    }
}

fn sign_extend(value: u64, bits: u8) -> u64 {
    let shift = 64 - u32::from(bits);
    (((value << shift) as i64 >> shift) as u64) & u64::from(u32::MAX)
}

/// The operation, condition and type that combine two values.
fn scan_op(op: ReduceOp) -> Option<(Opcode, Condition, Ty)> {
    use Condition::{GreaterEqual, Less, None as Any};
    Some(match op {
        ReduceOp::IAdd => (Opcode::Add, Any, Ty::UD),
        ReduceOp::FAdd => (Opcode::Add, Any, Ty::F),
        ReduceOp::FMul => (Opcode::Mul, Any, Ty::F),
        ReduceOp::SMin => (Opcode::Sel, Less, Ty::D),
        ReduceOp::UMin => (Opcode::Sel, Less, Ty::UD),
        ReduceOp::FMin => (Opcode::Sel, Less, Ty::F),
        ReduceOp::SMax => (Opcode::Sel, GreaterEqual, Ty::D),
        ReduceOp::UMax => (Opcode::Sel, GreaterEqual, Ty::UD),
        ReduceOp::FMax => (Opcode::Sel, GreaterEqual, Ty::F),
        ReduceOp::And => (Opcode::And, Any, Ty::UD),
        ReduceOp::Or => (Opcode::Or, Any, Ty::UD),
        ReduceOp::Xor => (Opcode::Xor, Any, Ty::UD),
        ReduceOp::IMul => return None,
    })
}
