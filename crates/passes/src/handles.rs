//! Analysis of descriptor handles: the values that become a handle operand through selects, `if`s
//! and loops.
//!
//! Handles are 64-bit values, as addresses and integers are. [`crate::lower_int64`] leaves them
//! whole;
//! [`crate::lower_handles`] replaces those of buffers that are chosen at run time.

use rustc_hash::FxHashMap as HashMap;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Op, Pat, Region, Res, Shader, Type, Value};

/// Values that reach a handle operand of some ops.
pub(crate) fn handles(s: &Shader, of: impl Fn(Op) -> bool) -> SecondaryMap<Value, bool> {
    let mut roots: Vec<Value> = Vec::new();
    s.walk(|s, _, i| {
        for (p, &a) in s.insts[i].op.info().operands.iter().zip(s.args(i)) {
            if *p == Pat::H && of(s.insts[i].op) {
                roots.push(a);
            }
        }
    });
    reaching(s, roots)
}

/// 64-bit values that become one of `roots` through selects, copies, `if`s and loops.
pub(crate) fn reaching(s: &Shader, roots: Vec<Value>) -> SecondaryMap<Value, bool> {
    let mut reach = SecondaryMap::new();
    let mut work = roots;
    // Operands of `break`, `continue` and `yield` for each result and parameter.
    let mut carried: HashMap<Value, Vec<Value>> = HashMap::default();
    let mut exits = Vec::new();
    collect_exits(s, s.root, None, &mut exits);
    for (from, to) in exits {
        for (&f, &t) in from.iter().zip(to.iter()) {
            if s.ty(t) == Type::B64 {
                carried.entry(t).or_default().push(f);
            }
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut reach[v], true) {
            continue;
        }
        if let Some(c) = carried.get(&v) {
            work.extend(c);
        }
        if let Some(i) = s.def_inst(v)
            && matches!(s.insts[i].op, Op::Select | Op::Copy | Op::ReadFirst | Op::ReadLane)
        {
            work.extend(s.args(i).iter().filter(|&&a| s.ty(a) == Type::B64));
        }
    }
    reach
}

/// Values that leave a region or enter a loop, and the results or parameters that they become.
type Exit = (Vec<Value>, Vec<Value>);

fn collect_exits(s: &Shader, r: Region, inner: Option<(Inst, Region)>, out: &mut Vec<Exit>) {
    for &i in &s.regions[r].insts {
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::If, Attrs::If(a, b)) => {
                for q in [a, b] {
                    if let Some(t) = s.terminator(q)
                        && s.insts[t].op == Op::Yield
                    {
                        out.push((s.args(t).to_vec(), s.results(i).to_vec()));
                    }
                    collect_exits(s, q, inner, out);
                }
            }
            (Op::Loop, Attrs::Loop(body)) => {
                out.push((s.args(i).to_vec(), s.regions[body].params.clone()));
                collect_exits(s, body, Some((i, body)), out);
            }
            (Op::Break, _) => {
                if let Some((l, _)) = inner {
                    out.push((s.args(i).to_vec(), s.results(l).to_vec()));
                }
            }
            (Op::Continue, _) => {
                if let Some((_, body)) = inner {
                    out.push((s.args(i).to_vec(), s.regions[body].params.clone()));
                }
            }
            _ => {}
        }
    }
}

/// The resource of a handle and the index of its element.
#[must_use]
pub fn descriptor_of(s: &Shader, handle: Value) -> Option<(Res, Value)> {
    let mut at = s.def_inst(handle)?;
    while s.insts[at].op == Op::Copy {
        at = s.def_inst(s.arg(at, 0))?;
    }
    match (s.insts[at].op, s.insts[at].attrs) {
        (Op::Descriptor, Attrs::Res(res, _)) => Some((res, s.arg(at, 0))),
        _ => None,
    }
}
