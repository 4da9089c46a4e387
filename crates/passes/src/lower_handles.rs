//! Lowers buffer handles that are selected or compared at run time: address and size are selected
//! instead of the handle, and addresses are compared.
//!
//! Runs after [`crate::lower_buffers`], if that runs; accesses through such a handle become memory
//! accesses. Handles of images and samplers are not changed.

use crate::handles::{handles, reaching};
use crate::rewrite::{self, Emit, Lowering, Step};
use crate::value_split::{self, Parts};
use rustc_hash::{FxHashMap as HashMap, FxHashSet};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Mem, Op, Shader, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let compared = compare_addresses(s);
    select_addresses(s) || compared
}

/// Comparisons of two handles.
struct Compared(FxHashSet<Inst>);

impl Lowering for Compared {
    fn wants(&self, _s: &Shader, i: Inst) -> bool {
        self.0.contains(&i)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, args) = (e.s.insts[i].op, e.s.args(i).to_vec());
        // A null pointer is 0, as handle and as address.
        let address = |e: &mut Emit, v: Value| match e.s.as_const(v) {
            Some(_) => v,
            None => e.op(Op::BufferAddress, &[v]),
        };
        let addresses = [address(e, args[0]), address(e, args[1])];
        Step::Replace(vec![e.op(op, &addresses)])
    }
}

/// Compares the addresses of buffers where their handles are compared, as pointers into them are.
fn compare_addresses(s: &mut Shader) -> bool {
    let mut comparisons = Vec::new();
    s.walk(|s, _, i| {
        let is_wide = || s.args(i).iter().all(|&a| s.ty(a) == Type::B64);
        if matches!(s.insts[i].op, Op::IEq | Op::INe) && is_wide() {
            comparisons.push(i);
        }
    });
    // Nearly always they are of integers.
    let compared = comparisons.iter().flat_map(|&i| s.args(i)).copied().collect();
    let reach = reaching(s, compared);
    if !s.values.keys().any(|v| reach[v] && is_descriptor(s, v)) {
        return false;
    }
    comparisons.retain(|&i| {
        let reach = reaching(s, s.args(i).to_vec());
        s.values.keys().any(|v| reach[v] && is_descriptor(s, v))
    });
    !comparisons.is_empty() && rewrite::run(s, &mut Compared(comparisons.into_iter().collect()))
}

fn select_addresses(s: &mut Shader) -> bool {
    // Nearly always each access has its descriptor before it.
    let far = |i: Inst| {
        buffer_op(s.insts[i].op) && s.args(i).first().is_some_and(|&h| !is_descriptor(s, h))
    };
    if !s.insts.keys().any(far) {
        return false;
    }
    let used = handles(s, buffer_op);
    let chosen = |v: Value| used[v] && !is_descriptor(s, v);
    if !s.values.keys().any(chosen) {
        return false;
    }
    value_split::run(s, &mut Handles { used, parts: HashMap::default() })
}

fn buffer_op(op: Op) -> bool {
    matches!(
        op,
        Op::LoadBuffer | Op::StoreBuffer | Op::AtomicBuffer | Op::BufferAddress | Op::BufferSize
    )
}

fn is_descriptor(s: &Shader, v: Value) -> bool {
    s.def_inst(v).is_some_and(|d| s.insts[d].op == Op::Descriptor)
}

struct Handles {
    /// Values that reach a buffer instruction as its handle.
    used: SecondaryMap<Value, bool>,
    /// Address and size of those that are chosen.
    parts: HashMap<Value, [Value; 2]>,
}

impl Handles {
    fn chosen(&self, s: &Shader, v: Value) -> bool {
        self.used[v] && !is_descriptor(s, v)
    }

    fn get(&self, e: &mut Emit, v: Value) -> [Value; 2] {
        self.parts
            .get(&v)
            .copied()
            .unwrap_or_else(|| [e.op(Op::BufferAddress, &[v]), e.op(Op::BufferSize, &[v])])
    }
}

impl Parts for Handles {
    fn types(&self, s: &Shader, v: Value) -> Option<Vec<Type>> {
        self.chosen(s, v).then(|| vec![Type::B64, Type::B32])
    }

    fn parts(&mut self, e: &mut Emit, v: Value) -> Vec<Value> {
        self.get(e, v).to_vec()
    }

    fn whole(&mut self, _e: &mut Emit, v: Value) -> Value {
        v
    }

    fn put(&mut self, v: Value, parts: &[Value]) {
        self.parts.insert(v, [parts[0], parts[1]]);
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let results = e.s.results(i).to_vec();
        let args = e.s.args(i).to_vec();
        if let [r] = results[..]
            && self.chosen(e.s, r)
        {
            let parts = match op {
                // A null pointer: nothing is accessed through it. The constant may be a number
                // elsewhere.
                Op::Const | Op::Undef => {
                    let parts = [e.konst(Type::B64, 0), e.u32(0)];
                    self.parts.insert(r, parts);
                    return Step::Keep;
                }
                Op::Select => {
                    let (a, b) = (self.get(e, args[1]), self.get(e, args[2]));
                    [e.select(args[0], a[0], b[0]), e.select(args[0], a[1], b[1])]
                }
                Op::Copy => self.get(e, args[0]),
                Op::ReadFirst | Op::ReadLane => {
                    let parts = self.get(e, args[0]);
                    value_split::each(e, i, parts)
                }
                _ => return Step::Keep,
            };
            self.parts.insert(r, parts);
            return Step::Remove;
        }
        let Some(&[address, size]) = args.first().and_then(|h| self.parts.get(h)) else {
            return Step::Keep;
        };
        let global = match op {
            Op::BufferAddress => return Step::Replace(vec![address]),
            Op::BufferSize => return Step::Replace(vec![size]),
            Op::LoadBuffer => Op::LoadGlobal,
            Op::StoreBuffer => Op::StoreGlobal,
            Op::AtomicBuffer => Op::AtomicGlobal,
            _ => return Step::Keep,
        };
        // Offsets wrap in 32 bits.
        let (attrs, konst) = match attrs {
            Attrs::Mem(m) => (Attrs::Mem(Mem { offset: 0, ..m }), m.offset),
            Attrs::Atomic(how, m) => (Attrs::Atomic(how, Mem { offset: 0, ..m }), m.offset),
            _ => return Step::Keep,
        };
        let konst = e.u32(konst as u32);
        let offset = e.op(Op::IAdd, &[args[1], konst]);
        let offset = e.convert(Op::U2U, offset, Type::B64);
        let mut new = vec![e.op(Op::IAdd, &[address, offset])];
        new.extend_from_slice(&args[2..]);
        let tys: Vec<Type> = results.iter().map(|&r| e.ty(r)).collect();
        let access = e.inst(global, attrs, &new, &tys);
        Step::Replace(e.s.results(access).to_vec())
    }
}
