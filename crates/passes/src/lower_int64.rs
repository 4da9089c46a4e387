//! Lowers 64-bit integers to pairs of 32-bit values.
//!
//! Runs on scalars (after [`crate::scalarise`]); vectors of 64-bit components are split at memory
//! accesses and bit casts. Loads, stores, inputs and outputs move the same bytes as vectors of
//! twice as many 32-bit components. A value that must stay 64 bits wide — an address, a descriptor
//! handle, an operand of an op that the GPU has for 64 bits ([`Options::native`]) — is a `bitcast`
//! of such a vector, which later simplification removes where a cast meets its inverse. 64-bit
//! floats are not changed.

use crate::handles::handles;
use crate::rewrite::{Emit, Step};
use crate::value_split::{self, Parts};
use bitflags::bitflags;
use rustc_hash::FxHashMap as HashMap;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Op, Shader, Type, Value, ValueDef, Var};

mod arith;

bitflags! {
    /// Families of 64-bit integer ops.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Int64: u16 {
        /// `iadd`, `isub`, `ineg`.
        const ADD = 1 << 0;
        /// `imul` of values that are zero- or sign-extended from 32 bits.
        const MUL_32X32 = 1 << 1;
        /// `imul`.
        const MUL = 1 << 2;
        /// Shifts.
        const SHIFT = 1 << 3;
        /// Bitwise logic.
        const LOGIC = 1 << 4;
        /// Comparisons.
        const COMPARE = 1 << 5;
        /// `select`.
        const SELECT = 1 << 6;
        /// Conversions from and to other integer sizes.
        const CONVERT = 1 << 7;
    }
}

/// The 64-bit operations that a GPU has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Families that stay.
    pub native: Int64,
}

/// Runs the pass.
pub fn run(s: &mut Shader, options: Options) -> bool {
    if !has_wide(s) {
        return false;
    }
    let whole = handles(s, |_| true);
    let mut p = Pairs { options, whole, parts: HashMap::default(), vars: Vec::new() };
    let changed = value_split::run(s, &mut p);
    p.vars.sort_unstable();
    p.vars.dedup();
    for v in p.vars {
        s.vars[v].ty = halves(s.vars[v].ty);
    }
    changed
}

/// Whether there are 64-bit values other than handles, which are only split where they are
/// selected.
pub(crate) fn has_wide(s: &Shader) -> bool {
    let handle =
        |d: ValueDef| matches!(d, ValueDef::Result(i, _) if s.insts[i].op == Op::Descriptor);
    s.values.values().any(|v| v.ty.bits() == 64 && !handle(v.def))
}

/// The low and high half of one component.
type Pair = [Value; 2];

struct Pairs {
    options: Options,
    /// Values that stay 64 bits wide.
    whole: SecondaryMap<Value, bool>,
    /// The halves of values that have been taken apart, by component.
    parts: HashMap<Value, Vec<Pair>>,
    /// Variables that change their type.
    vars: Vec<Var>,
}

/// The type that holds the same bytes in 32-bit components.
fn halves(t: Type) -> Type {
    Type::vec(32, t.comps() * 2)
}

fn is64(e: &Emit, v: Value) -> bool {
    e.ty(v).bits() == 64
}

impl Pairs {
    /// The halves of every component.
    fn all(&mut self, e: &mut Emit, v: Value) -> Vec<Pair> {
        if let Some(p) = self.parts.get(&v) {
            return p.clone();
        }
        let ty = e.ty(v);
        if let Some(c) = e.s.as_const_comps(v) {
            return c.iter().map(|&c| [e.u32(c as u32), e.u32((c >> 32) as u32)]).collect();
        }
        if ty.comps() > 8 {
            let comps = e.split(v);
            return comps.into_iter().flat_map(|c| self.all(e, c)).collect();
        }
        let b = e.value(Op::Bitcast, Attrs::None, &[v], halves(ty));
        (0..u32::from(ty.comps())).map(|k| [e.extract(b, 2 * k), e.extract(b, 2 * k + 1)]).collect()
    }

    fn get(&mut self, e: &mut Emit, v: Value) -> Pair {
        self.all(e, v)[0]
    }

    /// A whole 64-bit value from halves.
    fn join(e: &mut Emit, parts: &[Pair]) -> Value {
        let flat: Vec<Value> = parts.iter().flatten().copied().collect();
        let known: Option<Vec<u64>> = flat.iter().map(|&v| e.s.as_const(v)).collect();
        if let (Some(c), [_]) = (known, parts) {
            return e.konst(Type::B64, c[0] | (c[1] << 32));
        }
        let v = e.vec(&flat);
        e.value(Op::Bitcast, Attrs::None, &[v], Type::vec(64, parts.len() as u8))
    }

    fn make_args_whole(&mut self, e: &mut Emit, i: Inst) {
        let args = e.s.args(i).to_vec();
        if args.iter().any(|a| self.parts.contains_key(a)) {
            let new: Vec<Value> = args.iter().map(|&a| self.whole(e, a)).collect();
            e.s.set_args(i, &new);
        }
    }
}

impl Parts for Pairs {
    fn types(&self, s: &Shader, v: Value) -> Option<Vec<Type>> {
        let ty = s.ty(v);
        (ty.bits() == 64 && !self.whole[v]).then(|| vec![Type::B32; 2 * usize::from(ty.comps())])
    }

    fn parts(&mut self, e: &mut Emit, v: Value) -> Vec<Value> {
        self.all(e, v).into_iter().flatten().collect()
    }

    /// The value whole, as an operand of an instruction that stays.
    fn whole(&mut self, e: &mut Emit, v: Value) -> Value {
        match self.parts.get(&v) {
            Some(p) => {
                let p = p.clone();
                Self::join(e, &p)
            }
            None => v,
        }
    }

    fn put(&mut self, v: Value, parts: &[Value]) {
        self.parts.insert(v, parts.chunks_exact(2).map(|p| [p[0], p[1]]).collect());
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let op = e.s.insts[i].op;
        if !e.s.args(i).iter().chain(e.s.results(i)).any(|&v| is64(e, v)) {
            return Step::Keep;
        }
        let args = e.s.args(i).to_vec();
        let (first, more) = (e.s.results(i).first().copied(), e.s.results(i).len() > 1);
        let new = match first {
            Some(r) if !more && !self.whole[r] => self.value(e, i, op, &args, e.ty(r)),
            None => self.effect(e, i, op, &args),
            _ => None,
        };
        match (new, first) {
            (Some(New::Pairs(p)), Some(r)) => {
                self.parts.insert(r, p);
                Step::Remove
            }
            (Some(New::Value(v)), _) => Step::Replace(vec![v]),
            (Some(_), _) => Step::Remove,
            (None, _) => {
                self.make_args_whole(e, i);
                Step::Keep
            }
        }
    }
}

/// The replacement of a result.
enum New {
    /// The halves of each 64-bit component.
    Pairs(Vec<Pair>),
    /// A value of the same type.
    Value(Value),
    /// None: the instruction had no results.
    Done,
}

impl Pairs {
    fn effect(&mut self, e: &mut Emit, i: Inst, op: Op, args: &[Value]) -> Option<New> {
        let data = match op {
            Op::StoreVar | Op::StoreOutput => 0,
            Op::StoreShared | Op::StoreScratch | Op::StoreGlobal => 1,
            Op::StoreBuffer | Op::StoreOffset => 2,
            _ => return None,
        };
        if !is64(e, args[data]) || e.ty(args[data]).comps() > 8 {
            return None;
        }
        let mut args = args.to_vec();
        let flat: Vec<Value> = self.all(e, args[data]).into_iter().flatten().collect();
        args[data] = e.vec(&flat);
        for (k, a) in args.iter_mut().enumerate() {
            if k != data {
                *a = self.whole(e, *a);
            }
        }
        if let Attrs::Var(v) = e.s.insts[i].attrs {
            self.vars.push(v);
        }
        let attrs = e.s.insts[i].attrs;
        e.inst(op, attrs, &args, &[]);
        Some(New::Done)
    }

    fn value(&mut self, e: &mut Emit, i: Inst, op: Op, args: &[Value], ty: Type) -> Option<New> {
        let attrs = e.s.insts[i].attrs;
        let wide = ty.bits() == 64;
        match op {
            Op::Const => {
                return None; // taken apart where it is used
            }
            Op::Undef if wide => {
                let u = e.undef(Type::B32);
                return Some(New::Pairs(vec![[u, u]; ty.comps() as usize]));
            }
            Op::Copy | Op::U2U | Op::S2S if e.ty(args[0]) == ty && wide => {
                return Some(New::Pairs(self.all(e, args[0])));
            }
            Op::Vec if wide => {
                return Some(New::Pairs(args.iter().map(|&a| self.get(e, a)).collect()));
            }
            Op::Extract if wide => {
                let Attrs::Index(k) = attrs else { return None };
                return Some(New::Pairs(vec![self.all(e, args[0])[k as usize]]));
            }
            Op::ExtractDyn | Op::InsertDyn if wide => {
                let all = self.all(e, args[0]);
                let x = if op == Op::InsertDyn { Some(self.get(e, args[1])) } else { None };
                let mut side = |k: usize| {
                    let comps: Vec<Value> = all.iter().map(|p| p[k]).collect();
                    let v = e.vec(&comps);
                    match x {
                        None => {
                            let c = e.value(op, Attrs::None, &[v, args[1]], Type::B32);
                            vec![c]
                        }
                        Some(x) => {
                            let t = e.ty(v);
                            let v = e.value(op, Attrs::None, &[v, x[k], args[2]], t);
                            e.split(v)
                        }
                    }
                };
                let (lo, hi) = (side(0), side(1));
                return Some(New::Pairs(lo.into_iter().zip(hi).map(|(l, h)| [l, h]).collect()));
            }
            Op::Bitcast => return self.bitcast(e, args[0], ty),
            Op::LoadVar
            | Op::LoadBuffer
            | Op::LoadGlobal
            | Op::LoadOffset
            | Op::LoadShared
            | Op::LoadScratch
            | Op::LoadPush
            | Op::LoadConstant
            | Op::LoadUniform
            | Op::LoadInput
                if wide && ty.comps() <= 8 =>
            {
                if let Attrs::Var(v) = attrs {
                    self.vars.push(v);
                }
                let args: Vec<Value> = args.iter().map(|&a| self.whole(e, a)).collect();
                let v = e.value(op, attrs, &args, halves(ty));
                let flat = e.split(v);
                return Some(New::Pairs(flat.chunks_exact(2).map(|p| [p[0], p[1]]).collect()));
            }
            // All words of a vector from one lane.
            Op::Shuffle if wide && ty.comps() <= 8 => {
                let words: Vec<Value> = self.all(e, args[0]).into_iter().flatten().collect();
                let x = e.vec(&words);
                let v = e.value(op, attrs, &[x, args[1]], halves(ty));
                let flat = e.split(v);
                return Some(New::Pairs(flat.chunks_exact(2).map(|p| [p[0], p[1]]).collect()));
            }
            Op::ReadLane
            | Op::ReadFirst
            | Op::ShuffleXor
            | Op::ShuffleUp
            | Op::ShuffleDown
            | Op::QuadBroadcast
            | Op::QuadSwap
                if ty == Type::B64 =>
            {
                let p = self.get(e, args[0]);
                return Some(New::Pairs(vec![value_split::each(e, i, p)]));
            }
            Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan if ty == Type::B64 => {
                use tepui_ir::ReduceOp as R;
                let Attrs::Reduce(r) = attrs else { return None };
                if !matches!(r.op, R::And | R::Or | R::Xor) {
                    return None;
                }
                let p = self.get(e, args[0]);
                return Some(New::Pairs(vec![p.map(|x| e.value(op, attrs, &[x], Type::B32))]));
            }
            Op::VoteEqBits => {
                let flat: Vec<Value> = self.all(e, args[0]).into_iter().flatten().collect();
                let same: Vec<Value> =
                    flat.iter().map(|&x| e.value(op, Attrs::None, &[x], Type::B1)).collect();
                let all = same[1..].iter().fold(same[0], |a, &b| e.op(Op::IAnd, &[a, b]));
                return Some(New::Value(all));
            }
            _ => {}
        }
        let scalar = ty.is_scalar() && args.iter().all(|&a| e.ty(a).is_scalar());
        if !scalar || self.is_native(e, op, args) {
            return None;
        }
        self.arith(e, op, args, ty)
    }

    fn bitcast(&mut self, e: &mut Emit, a: Value, ty: Type) -> Option<New> {
        let from = e.ty(a);
        let total = u32::from(from.bits()) * u32::from(from.comps());
        let words = if from.bits() == 64 {
            self.all(e, a).into_iter().flatten().collect()
        } else {
            let w = e.convert(Op::Bitcast, a, Type::new(32, total / 32)?);
            e.split(w)
        };
        if ty.bits() == 64 {
            return Some(New::Pairs(words.chunks_exact(2).map(|p| [p[0], p[1]]).collect()));
        }
        let v = e.vec(&words);
        Some(New::Value(e.convert(Op::Bitcast, v, ty)))
    }

    /// Whether the GPU has this op for 64 bits.
    fn is_native(&self, e: &Emit, op: Op, args: &[Value]) -> bool {
        let n = self.options.native;
        let extended = |v: Value| {
            e.s.def_inst(v).is_some_and(|d| {
                matches!(e.s.insts[d].op, Op::U2U | Op::S2S) && e.ty(e.s.arg(d, 0)) == Type::B32
            })
        };
        let family = match op {
            Op::IAdd | Op::ISub | Op::INeg => Int64::ADD,
            Op::IMul if args.iter().all(|&a| extended(a)) => Int64::MUL_32X32 | Int64::MUL,
            Op::IMul => Int64::MUL,
            Op::IShl | Op::UShr | Op::SShr => Int64::SHIFT,
            Op::IAnd | Op::IOr | Op::IXor | Op::INot => Int64::LOGIC,
            Op::IEq | Op::INe | Op::ULt | Op::UGe | Op::SLt | Op::SGe => Int64::COMPARE,
            Op::Select => Int64::SELECT,
            Op::U2U | Op::S2S | Op::B2I => Int64::CONVERT,
            _ => return false,
        };
        n.intersects(family)
    }
}
