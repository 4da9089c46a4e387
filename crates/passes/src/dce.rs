//! Removes dead code and dead stores: instructions without effect whose results are unused, and
//! unused results and parameters of `if`s and loops, including those that only feed themselves
//! around a loop.

use rustc_hash::FxHashMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use tepui_ir::{Access, Attrs, Inst, Op, Props, Region, Shader, Value, ValueDef};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let gone = once(s);
    // Removing a load can make stores and barriers unnecessary.
    if gone.reads {
        once(s);
    }
    gone.any
}

fn once(s: &mut Shader) -> Removed {
    let mut d = Dce {
        s,
        parent: SecondaryMap::with_capacity(s.insts.len()),
        owner: SecondaryMap::with_capacity(s.regions.len()),
        exits: FxHashMap::default(),
        live: EntitySet::with_capacity(s.insts.len()),
        used: EntitySet::with_capacity(s.values.len()),
        work: Vec::new(),
    };
    d.index(d.s.root, None, None);
    d.mark();
    let (live, used) = (d.live, d.used);
    sweep(s, s.root, &live, &used)
}

/// The kinds of instructions that a sweep has removed.
#[derive(Default)]
struct Removed {
    any: bool,
    /// Loads.
    reads: bool,
}

/// The memory that a shader both reads and writes.
struct Reads {
    vars: Vec<bool>,
    shared: bool,
    scratch: bool,
    /// Memory of any kind that others write, too.
    memory: bool,
}

impl Reads {
    fn of(s: &Shader) -> Reads {
        let mut r =
            Reads { vars: vec![false; s.vars.len()], shared: false, scratch: false, memory: false };
        s.walk(|s, _, i| {
            let d = &s.insts[i];
            match (d.op, d.attrs) {
                (Op::LoadVar, Attrs::Var(v)) => r.vars[v.index()] = true,
                (Op::LoadScratch, _) => r.scratch = true,
                (Op::LoadShared | Op::AtomicShared, _) => (r.shared, r.memory) = (true, true),
                (Op::Barrier, _) => {}
                (op, _) => r.memory |= op.props().contains(Props::READS),
            }
        });
        r
    }
}

/// Whether an instruction must stay even if nothing uses its results.
fn has_effect(s: &Shader, i: Inst, read: &Reads) -> bool {
    let d = &s.insts[i];
    if let Attrs::Var(v) = d.attrs {
        return d.op == Op::StoreVar && read.vars[v.index()];
    }
    let volatile = match d.attrs {
        Attrs::Mem(m) | Attrs::Atomic(_, m) => m.access.contains(Access::VOLATILE),
        Attrs::Image(m) | Attrs::ImageAtomic(_, m) => m.access.contains(Access::VOLATILE),
        _ => false,
    };
    if volatile {
        return true;
    }
    match d.op {
        Op::StoreShared => read.shared,
        Op::StoreScratch => read.scratch,
        // Without memory accesses, the order in which others arrive is unobservable.
        Op::Barrier => read.memory,
        op => op.props().contains(Props::WRITES),
    }
}

struct Dce<'a> {
    s: &'a Shader,
    /// The `if` or `loop` around an instruction.
    parent: SecondaryMap<Inst, PackedOption<Inst>>,
    /// The `if` or `loop` that owns a region.
    owner: SecondaryMap<Region, PackedOption<Inst>>,
    /// The `break`s and `continue`s of a loop.
    exits: FxHashMap<Inst, Vec<Inst>>,
    live: EntitySet<Inst>,
    used: EntitySet<Value>,
    work: Vec<Value>,
}

impl Dce<'_> {
    fn index(&mut self, r: Region, parent: Option<Inst>, in_loop: Option<Inst>) {
        self.owner[r] = parent.into();
        for &i in &self.s.regions[r].insts {
            self.parent[i] = parent.into();
            match self.s.insts[i].op {
                Op::Break | Op::Continue => {
                    if let Some(l) = in_loop {
                        self.exits.entry(l).or_default().push(i);
                    }
                }
                Op::Loop | Op::If => {
                    let l = if self.s.insts[i].op == Op::Loop { Some(i) } else { in_loop };
                    for inner in self.s.inst_regions(i) {
                        self.index(inner, Some(i), l);
                    }
                }
                _ => {}
            }
        }
    }

    /// Marks an instruction, its parents, and its operands.
    fn need(&mut self, i: Inst) {
        let mut next = Some(i);
        while let Some(i) = next {
            if !self.live.insert(i) {
                return;
            }
            let d = &self.s.insts[i];
            match d.op {
                Op::If => self.work.push(self.s.arg(i, 0)),
                Op::Loop => {
                    for e in self.exits.get(&i).cloned().unwrap_or_default() {
                        self.need(e);
                    }
                }
                Op::Break | Op::Continue | Op::Yield => {}
                _ => self.work.extend(self.s.args(i)),
            }
            next = self.parent[i].expand();
        }
    }

    fn mark(&mut self) {
        let mut roots = Vec::new();
        let read = Reads::of(self.s);
        self.s.walk(|s, _, i| {
            if has_effect(s, i, &read) {
                roots.push(i);
            }
        });
        for i in roots {
            self.need(i);
        }
        while let Some(v) = self.work.pop() {
            if !self.used.insert(v) {
                continue;
            }
            match self.s.values[v].def {
                ValueDef::Result(i, n) => {
                    self.need(i);
                    let n = n as usize;
                    match self.s.insts[i].attrs {
                        Attrs::If(a, b) => {
                            for r in [a, b] {
                                if let Some(t) = self.s.terminator(r)
                                    && self.s.insts[t].op == Op::Yield
                                {
                                    self.work.push(self.s.arg(t, n));
                                }
                            }
                        }
                        Attrs::Loop(_) => self.carried(i, Op::Break, n),
                        _ => {}
                    }
                }
                ValueDef::Param(r, n) => {
                    if let Some(l) = self.owner[r].expand() {
                        self.need(l);
                        self.work.push(self.s.arg(l, n as usize));
                        self.carried(l, Op::Continue, n as usize);
                    }
                }
            }
        }
    }

    fn carried(&mut self, l: Inst, op: Op, n: usize) {
        for e in self.exits.get(&l).into_iter().flatten() {
            if self.s.insts[*e].op == op {
                self.work.push(self.s.arg(*e, n));
            }
        }
    }
}

/// The operands of a region's terminators that are live.
#[derive(Clone, Default)]
struct Live {
    yields: Vec<bool>,
    breaks: Vec<bool>,
    continues: Vec<bool>,
}

fn filter(vals: &[Value], keep: &[bool]) -> Vec<Value> {
    vals.iter().zip(keep).filter(|(_, k)| **k).map(|(&v, _)| v).collect()
}

fn sweep(s: &mut Shader, root: Region, live: &EntitySet<Inst>, used: &EntitySet<Value>) -> Removed {
    let mut gone = Removed::default();
    let mut work = vec![(root, Live::default())];
    while let Some((r, keep)) = work.pop() {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let before = insts.len();
        let mut out = Vec::with_capacity(before);
        for i in insts {
            let op = s.insts[i].op;
            let cut = match op {
                Op::Yield => Some(&keep.yields),
                Op::Break => Some(&keep.breaks),
                Op::Continue => Some(&keep.continues),
                _ => None,
            };
            if let Some(k) = cut {
                if k.contains(&false) {
                    let args = filter(s.args(i), k);
                    s.set_args(i, &args);
                }
                out.push(i);
                continue;
            }
            if !live.contains(i) {
                gone.reads |= op == Op::LoadVar || op.props().contains(Props::READS);
                continue;
            }
            if op != Op::If && op != Op::Loop {
                out.push(i);
                continue;
            }
            let results = s.results(i).to_vec();
            let kept: Vec<bool> = results.iter().map(|&v| used.contains(v)).collect();
            match s.insts[i].attrs {
                Attrs::If(a, b) => {
                    if kept.contains(&false) {
                        gone.any = true;
                        s.set_results(i, &filter(&results, &kept));
                    }
                    let k = Live { yields: kept, ..keep.clone() };
                    work.push((a, k.clone()));
                    work.push((b, k));
                }
                Attrs::Loop(body) => {
                    let params = s.regions[body].params.clone();
                    let pk: Vec<bool> = params.iter().map(|&v| used.contains(v)).collect();
                    if kept.contains(&false) || pk.contains(&false) {
                        gone.any = true;
                        s.set_results(i, &filter(&results, &kept));
                        s.set_params(body, &filter(&params, &pk));
                        let args = filter(s.args(i), &pk);
                        s.set_args(i, &args);
                    }
                    work.push((body, Live { yields: Vec::new(), breaks: kept, continues: pk }));
                }
                _ => {}
            }
            out.push(i);
        }
        gone.any |= out.len() != before;
        s.regions[r].insts = out;
    }
    gone
}
