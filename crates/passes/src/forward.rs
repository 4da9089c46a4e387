//! Store-to-load forwarding and elimination of redundant loads and overwritten stores.
//!
//! A load after a store or load of the same bytes takes that value, also where one of several
//! elements is accessed. A store is removed when another overwrites it before anything can read it.
//!
//! Writes of other invocations become visible at barriers and atomics only; volatile and coherent
//! accesses are not changed. Aliasing is decided by [`crate::access`].

use crate::access::{Place, Space, Writes, disturbs, place};
use crate::edit::Renames;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value};

/// Maximum number of known memory contents; the oldest is dropped first.
const MAX_ENTRIES: usize = 64;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let writes = Writes::of_regions(s);
    let mut p = Forward { names: Renames::default(), changed: false, writes };
    let root = s.root;
    p.region(s, root, &mut Vec::new());
    p.names.apply_all(s);
    dead_stores(s, root, &mut p.changed);
    p.changed
}

struct Forward {
    names: Renames,
    changed: bool,
    /// The memory that each region writes.
    writes: SecondaryMap<Region, Writes>,
}

type Known = Vec<(Place, Value)>;

impl Forward {
    fn region(&mut self, s: &mut Shader, r: Region, known: &mut Known) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len());
        for i in insts {
            self.names.apply(s, i);
            match s.insts[i].attrs {
                Attrs::If(a, b) => {
                    let mut other = known.clone();
                    let before = known.clone();
                    self.region(s, a, known);
                    self.region(s, b, &mut other);
                    *known = before;
                    let (a, b) = (&self.writes[a], &self.writes[b]);
                    known.retain(|(p, _)| !a.touch(s, p) && !b.touch(s, p));
                }
                Attrs::Loop(body) => {
                    let writes = &self.writes[body];
                    known.retain(|(p, _)| !writes.touch(s, p));
                    self.region(s, body, &mut known.clone());
                }
                _ => {
                    if let Some((p, store)) = place(s, i) {
                        if self.access(s, i, p, store, known) {
                            continue;
                        }
                    } else if disturbs(s, i) {
                        known.retain(|(p, _)| p.space == Space::Scratch);
                    }
                }
            }
            out.push(i);
        }
        s.regions[r].insts = out;
    }

    /// True when the instruction goes.
    fn access(
        &mut self,
        s: &mut Shader,
        i: Inst,
        p: Place,
        store: bool,
        known: &mut Known,
    ) -> bool {
        if store {
            let v = *s.args(i).last().unwrap_or(&s.arg(i, 0));
            let same = known.iter().any(|(k, w)| *w == v && k.same(&p));
            if same && p.plain() {
                // The value is already in memory.
                self.changed = true;
                return true;
            }
            known.retain(|(k, _)| !k.may_alias(s, &p));
            if p.plain() {
                remember(known, p, v);
            }
            return false;
        }
        if !p.plain() {
            return false;
        }
        let r = s.result(i);
        if let Some((_, v)) = known.iter().find(|(k, _)| k.same(&p)) {
            self.changed = true;
            self.names.set(r, *v);
            return true;
        }
        let element = |k: &Place| {
            let at = p.offset - k.offset;
            let fits = p.comps == 1 && k.comps > 1 && k.bits == p.bits && k.covers(&p);
            (fits && at % i64::from(p.bytes) == 0).then(|| (at / i64::from(p.bytes)) as u32)
        };
        if let Some((k, v)) = known.iter().find_map(|(k, v)| Some((element(k)?, *v))) {
            self.changed = true;
            s.insts[i].op = Op::Extract;
            s.insts[i].attrs = Attrs::Index(k);
            s.set_args(i, &[v]);
            return false;
        }
        remember(known, p, r);
        false
    }
}

fn remember(known: &mut Known, p: Place, v: Value) {
    if known.len() == MAX_ENTRIES {
        known.remove(0);
    }
    known.push((p, v));
}

/// Backwards: stores to bytes that a later store of the same region writes again.
fn dead_stores(s: &mut Shader, r: Region, changed: &mut bool) {
    let insts = s.regions[r].insts.clone();
    let mut over: Vec<Place> = Vec::new();
    let mut dead = vec![false; insts.len()];
    for (n, &i) in insts.iter().enumerate().rev() {
        for q in s.inst_regions(i) {
            dead_stores(s, q, changed);
            over.clear();
        }
        match place(s, i) {
            Some((p, true)) if p.plain() => {
                if over.iter().any(|o| o.covers(&p)) {
                    dead[n] = true;
                } else if over.len() < MAX_ENTRIES {
                    over.push(p);
                }
            }
            Some((p, _)) => over.retain(|o| !o.may_alias(s, &p)),
            // A demoted invocation stores no more: what came before must stay.
            None if disturbs(s, i) || matches!(s.insts[i].op, Op::Break | Op::Continue) => {
                over.clear();
            }
            None => {}
        }
    }
    if dead.contains(&true) {
        *changed = true;
        let mut flags = dead.iter();
        s.regions[r].insts.retain(|_| !flags.next().is_some_and(|&d| d));
    }
}
