//! Loop-invariant code motion: hoists computations whose operands are defined outside of a loop to
//! before the loop.

use crate::access::{Writes, place};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Inst, Op, Props, Region, Shader, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    if !s.any(|s, _, i| s.insts[i].op == Op::Loop) {
        return false;
    }
    let mut p = Licm {
        homes: SecondaryMap::with_capacity(s.values.len()),
        spans: SecondaryMap::with_capacity(s.regions.len()),
        count: 0,
        writes: Writes::of_regions(s),
        changed: false,
    };
    let root = s.root;
    p.number(s, root);
    p.region(s, root);
    p.changed
}

struct Licm {
    /// The number of the region that each value is defined in; changes when its instruction moves.
    homes: SecondaryMap<Value, u32>,
    /// For each region its preorder number, and the first number after its nested regions.
    spans: SecondaryMap<Region, (u32, u32)>,
    count: u32,
    /// The memory that each region writes.
    writes: SecondaryMap<Region, Writes>,
    changed: bool,
}

impl Licm {
    fn number(&mut self, s: &Shader, r: Region) {
        let number = self.count;
        self.count += 1;
        for &p in &s.regions[r].params {
            self.homes[p] = number;
        }
        for &i in &s.regions[r].insts {
            for &v in s.results(i) {
                self.homes[v] = number;
            }
            for q in s.inst_regions(i) {
                self.number(s, q);
            }
        }
        self.spans[r] = (number, self.count);
    }

    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for i in insts {
            // Inner loops first: what leaves them may leave this one too.
            for inner in s.inst_regions(i) {
                self.region(s, inner);
            }
            if let Attrs::Loop(body) = s.insts[i].attrs {
                let before = out.len();
                self.hoist(s, body, body, true, &mut out);
                let number = self.spans[r].0;
                for &i in &out[before..] {
                    for &v in s.results(i) {
                        self.homes[v] = number;
                    }
                }
            }
            out.push(i);
        }
        s.regions[r].insts = out;
    }

    /// Moves what can move from region `r` of the loop with this body to `out`. `surely`: every
    /// invocation that enters the loop comes here at least once.
    fn hoist(
        &mut self,
        s: &mut Shader,
        body: Region,
        r: Region,
        mut surely: bool,
        out: &mut Vec<Inst>,
    ) {
        let (first, end) = self.spans[body];
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut keep = Vec::with_capacity(insts.len());
        for i in insts {
            let inside = |&a: &Value| (first..end).contains(&self.homes[a]);
            if movable(s, i, &self.writes[body], surely) && !s.args(i).iter().any(inside) {
                for &v in s.results(i) {
                    self.homes[v] = OUTSIDE;
                }
                self.changed = true;
                if !surely && let Attrs::Mem(m) = &mut s.insts[i].attrs {
                    m.access |= Access::ROBUST;
                }
                out.push(i);
                continue;
            }
            let inner = s.insts[i].op == Op::Loop;
            for q in s.inst_regions(i) {
                self.hoist(s, body, q, false, out);
                surely &= inner || !leaves(s, q);
            }
            keep.push(i);
        }
        s.regions[r].insts = keep;
    }
}

/// Stands for a region around the loop at hand.
const OUTSIDE: u32 = u32::MAX;

/// Whether the region has a `break` or `continue` of the innermost loop.
fn leaves(s: &Shader, r: Region) -> bool {
    s.regions[r].insts.iter().any(|&i| match s.insts[i].op {
        Op::Break | Op::Continue => true,
        Op::If => s.inst_regions(i).any(|q| leaves(s, q)),
        _ => false,
    })
}

/// `surely`: every invocation that enters the loop comes here at least once.
fn movable(s: &Shader, i: Inst, writes: &Writes, surely: bool) -> bool {
    let d = &s.insts[i];
    if let Some((p, false)) = place(s, i) {
        // A load from a buffer is checked against its bounds and may run even where the loop would
        // not have.
        let safe = surely || d.op == Op::LoadBuffer;
        let constant = d.op == Op::LoadBuffer && p.access.contains(Access::CONST);
        return safe
            && (constant || p.plain() && !writes.touch(s, &p))
            && !p.access.contains(Access::VOLATILE);
    }
    match d.attrs {
        Attrs::Image(_) => false,
        _ => d.op.is_pure() && !d.op.props().contains(Props::CONVERGENT),
    }
}
