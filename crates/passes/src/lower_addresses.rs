//! Folds 64-bit address arithmetic into memory instructions: base + extend(index) << shift +
//! constant.
//!
//! The sum that computes an address is split into its terms; 64-bit addition wraps, so any order is
//! correct. One term that is a 32-bit value extended to 64 bits and shifted by no more than the GPU
//! supports becomes the offset operand, constants become the attribute, and the rest is the base.
//! An access without such a term keeps its 64-bit address, less the constants.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Extend, Inst, Mem, Op, Shader, Type, Value};

/// The address arithmetic of the GPU's loads and stores.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum shift of an index.
    pub max_shift: u8,
    /// Minimum constant that the instruction can add.
    pub min_offset: i32,
    /// Maximum constant that the instruction can add.
    pub max_offset: i32,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_shift: 4, min_offset: i32::MIN, max_offset: i32::MAX }
    }
}

/// Runs the pass.
pub fn run(s: &mut Shader, options: Options) -> bool {
    rewrite::run(s, &mut Addresses(options))
}

struct Addresses(Options);

/// Maximum number of terms of a decomposed sum.
const MAX_TERMS: usize = 8;

/// A sum as a list of terms.
#[derive(Default)]
struct Sum {
    terms: Vec<Value>,
    constant: i64,
}

fn collect(s: &Shader, v: Value, sum: &mut Sum) {
    if let Some(c) = s.as_const(v) {
        sum.constant = sum.constant.wrapping_add(c as i64);
        return;
    }
    if sum.terms.len() < MAX_TERMS
        && let Some(i) = s.def_inst(v)
        && s.insts[i].op == Op::IAdd
    {
        collect(s, s.arg(i, 0), sum);
        collect(s, s.arg(i, 1), sum);
        return;
    }
    sum.terms.push(v);
}

impl Addresses {
    /// The 32-bit index of a term.
    fn index(&self, s: &Shader, term: Value) -> Option<(Value, Extend)> {
        let i = s.def_inst(term)?;
        let a = *s.args(i).first()?;
        match s.insts[i].op {
            op @ (Op::U2U | Op::S2S) if s.ty(a) == Type::B32 => {
                Some((a, Extend { signed: op == Op::S2S, shift: 0 }))
            }
            Op::IShl => {
                let n = s.as_const(s.arg(i, 1))? as u8 & 63;
                let (v, e) = self.index(s, a)?;
                let shift = e.shift.checked_add(n)?;
                (shift <= self.0.max_shift).then_some((v, Extend { shift, ..e }))
            }
            _ => None,
        }
    }

    fn access(&self, e: &mut Emit, i: Inst, mem: Mem) -> Option<(Op, Mem, Vec<Value>)> {
        let op = e.s.insts[i].op;
        let mut sum = Sum::default();
        collect(e.s, e.s.arg(i, 0), &mut sum);
        let at = sum.terms.iter().position(|&t| self.index(e.s, t).is_some());
        if at.is_none() && (sum.constant == 0 || sum.terms.is_empty()) {
            return None;
        }
        let found = at.and_then(|k| self.index(e.s, sum.terms.remove(k)));
        let total = i64::from(mem.offset).checked_add(sum.constant);
        let range = i64::from(self.0.min_offset)..=i64::from(self.0.max_offset);
        let offset = match total.filter(|t| range.contains(t)) {
            Some(t) => t as i32,
            None => {
                let c = e.konst(Type::B64, sum.constant as u64);
                sum.terms.push(c);
                mem.offset
            }
        };
        let base = match sum.terms.split_first() {
            Some((&first, rest)) => rest.iter().fold(first, |a, &b| e.op(Op::IAdd, &[a, b])),
            None => e.konst(Type::B64, 0),
        };
        let rest = e.s.args(i)[1..].to_vec();
        let mut args = vec![base];
        let Some((index, extend)) = found else {
            args.extend(rest);
            return Some((op, Mem { offset, ..mem }, args));
        };
        args.push(index);
        args.extend(rest);
        let op = match op {
            Op::LoadGlobal => Op::LoadOffset,
            Op::StoreGlobal => Op::StoreOffset,
            _ => Op::AtomicOffset,
        };
        Some((op, Mem { offset, index: extend, ..mem }, args))
    }
}

impl Lowering for Addresses {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let (mem, atomic) = match (op, attrs) {
            (Op::LoadGlobal | Op::StoreGlobal, Attrs::Mem(m)) => (m, None),
            (Op::AtomicGlobal, Attrs::Atomic(a, m)) => (m, Some(a)),
            _ => return Step::Keep,
        };
        let Some((op, mem, args)) = self.access(e, i, mem) else { return Step::Keep };
        if (op, e.s.args(i)) == (e.s.insts[i].op, &args[..]) {
            return Step::Keep;
        }
        let attrs = atomic.map_or(Attrs::Mem(mem), |a| Attrs::Atomic(a, mem));
        let tys: Vec<Type> = e.s.results(i).iter().map(|&r| e.ty(r)).collect();
        let new = e.inst(op, attrs, &args, &tys);
        Step::Replace(e.s.results(new).to_vec())
    }
}
