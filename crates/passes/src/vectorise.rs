//! Merges neighbouring loads and stores of one region into wider accesses.
//!
//! Accesses are merged if they have the same op, the same address operands and access flags, and
//! consecutive constant offsets; loads only across instructions that do not write the memory that they
//! read, stores only if nothing between them reads that memory or writes any other than variables.
//!
//! Accesses with [`Access::ROBUST`] are joined only where they lie in one aligned line of
//! [`LINE_LOG2`]: offsets do not wrap from the first to the last, and no load of a line of which a
//! part is in the buffer reaches past the buffer's page. The joined access is
//! [`Access::SEPARATE`], so that a component outside does not take those inside with it.

use crate::access::{Space, space};
use crate::edit::push;
use crate::multiples::Multiples;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tepui_ir::{Access, Attrs, Extend, Inst, Mem, Op, Props, Region, ResKind, Shader, Type, Value};

/// Maximum number of components of a merged access.
const MAX_COMPS: u32 = 4;

/// Bytes, as a power of two, of which accesses that are checked against bounds stay in one line.
/// Drivers give buffers addresses that are multiples of it, and uniform buffers sizes.
pub const LINE_LOG2: u8 = 4;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let robust = |s: &Shader, i: Inst| match s.insts[i].attrs {
        Attrs::Mem(m) => m.access.contains(Access::ROBUST),
        _ => false,
    };
    let multiples = s.any(|s, _, i| robust(s, i)).then(|| Multiples::new(s));
    let mut changed = false;
    let root = s.root;
    region(s, root, multiples.as_ref(), &mut changed);
    changed
}

/// Marks all accesses of buffers as [`Access::ROBUST`].
pub fn mark_robust(s: &mut Shader) -> bool {
    let mut changed = false;
    for d in s.insts.values_mut() {
        let m = match (d.op, &mut d.attrs) {
            (Op::LoadBuffer | Op::StoreBuffer, Attrs::Mem(m))
            | (Op::AtomicBuffer, Attrs::Atomic(_, m)) => m,
            _ => continue,
        };
        changed |= !m.access.contains(Access::ROBUST);
        m.access |= Access::ROBUST;
    }
    changed
}

/// An offset modulo a power of two: all that is known of the address operand of a group.
#[derive(Clone, Copy)]
struct Modulo {
    log2: u8,
    offset: u32,
}

impl Modulo {
    /// The operand of an access, as it and the access' own alignment tell.
    fn new(s: &Shader, multiples: &Multiples, offset: Value, m: Mem) -> Modulo {
        match s.as_const(offset) {
            Some(c) => Modulo { log2: 32, offset: c as u32 },
            None if multiples.log2(offset) >= m.align_log2 => {
                Modulo { log2: multiples.log2(offset), offset: 0 }
            }
            None => Modulo { log2: m.align_log2, offset: (m.offset as u32).wrapping_neg() },
        }
    }

    /// Whether bytes from a constant offset on are in one line.
    fn in_line(self, from: i32, bytes: u32) -> bool {
        let line = 1u32 << self.log2.min(LINE_LOG2);
        let at = self.offset.wrapping_add(from as u32) % line;
        at + bytes <= line
    }
}

/// The properties in which merged accesses must agree: op, address operands, access flags, bits of
/// a component.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    lead: ArrayVec<Value, 2>,
    access: Access,
    index: Extend,
    bits: u8,
}

/// Key, attributes and number of components of an access.
fn access(s: &Shader, i: Inst) -> Option<(Key, Mem, u32)> {
    let d = &s.insts[i];
    let Attrs::Mem(m) = d.attrs else { return None };
    if m.access.contains(Access::VOLATILE) {
        return None;
    }
    let n = d.op.info().operands.len();
    let args = s.args(i);
    let (lead, ty) =
        if is_store(d.op) { (n - 1, s.ty(args[n - 1])) } else { (n, s.ty(s.result(i))) };
    let lead = args[..lead].iter().copied().collect();
    let access = m.access.difference(Access::SEPARATE);
    let key = Key { op: d.op, lead, access, index: m.index, bits: ty.bits() };
    Some((key, m, u32::from(ty.comps())))
}

fn is_store(op: Op) -> bool {
    op.info().results.is_empty()
}

/// An access of a group, in the order of the bytes that it touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    offset: i32,
    /// Place in the region.
    at: usize,
    comps: u32,
}

/// Accesses with the same key between which nothing forbids to join them.
#[derive(Default)]
struct Group {
    members: BTreeSet<Member>,
    /// The address operand, if joined accesses must stay in a line.
    modulo: Option<Modulo>,
}

impl Group {
    /// Adds an access, and what its address tells of the operand.
    fn add(&mut self, m: Member, modulo: Option<Modulo>) {
        self.members.insert(m);
        // The first one counts, unless another tells more.
        if self.modulo.is_none_or(|known| modulo.is_some_and(|m| m.log2 > known.log2)) {
            self.modulo = modulo;
        }
    }
}

/// The groups of a region.
struct Groups {
    all: Vec<Group>,
    /// Group of each instruction of the region.
    of: Vec<Option<usize>>,
}

impl Groups {
    fn new(s: &Shader, insts: &[Inst], multiples: Option<&Multiples>) -> Groups {
        let mut g = Groups { all: Vec::new(), of: Vec::with_capacity(insts.len()) };
        // Groups that more may join. One kind of store only is open at a time, as stores of others
        // are writes between them.
        let mut loads: FxHashMap<Key, usize> = FxHashMap::default();
        let mut stores: Option<(Key, usize)> = None;
        for (at, &i) in insts.iter().enumerate() {
            let props = s.insts[i].op.props();
            let access = access(s, i);
            let same_store = access
                .as_ref()
                .is_some_and(|(key, ..)| stores.as_ref().is_some_and(|(k, _)| k == key));
            // What the instruction may write: one memory, or all of them. Volatile accesses keep their order.
            let memory = space(s.insts[i].op).filter(|&m| access.is_some() || m == Space::Variable);
            if props.intersects(Props::WRITES | Props::CONVERGENT | Props::REGIONS) {
                loads.retain(|key, _| memory.is_some() && space(key.op) != memory);
                if !same_store && memory != Some(Space::Variable) {
                    stores = None;
                }
            } else if props.contains(Props::READS) {
                stores = stores.filter(|(key, _)| memory.is_some() && space(key.op) != memory);
            }
            g.of.push(access.map(|(key, mem, comps)| {
                let new = g.all.len();
                let modulo = match (key.lead.last(), multiples) {
                    (Some(&offset), Some(multiples)) if key.access.contains(Access::ROBUST) => {
                        Some(Modulo::new(s, multiples, offset, mem))
                    }
                    _ => None,
                };
                let group = if is_store(key.op) {
                    stores.get_or_insert((key, new)).1
                } else {
                    *loads.entry(key).or_insert(new)
                };
                if group == new {
                    g.all.push(Group::default());
                }
                g.all[group].add(Member { offset: mem.offset, at, comps }, modulo);
                group
            }));
        }
        g
    }
}

/// A run of a group around an access: neighbours in both directions without overlap.
fn run_around(group: &Group, me: Member, step: i32) -> (Vec<Member>, u32) {
    let end = |m: &Member| m.offset + m.comps as i32 * step;
    let fits = |first: &Member, comps: u32| {
        let bytes = comps * step as u32;
        comps <= MAX_COMPS && group.modulo.is_none_or(|m| m.in_line(first.offset, bytes))
    };
    let (mut run, mut total) = (vec![me], me.comps);
    for &m in group.members.range(..me).rev() {
        if end(&m) != run[0].offset || !fits(&m, total + m.comps) {
            break;
        }
        total += m.comps;
        run.insert(0, m);
    }
    for &m in group.members.range(me..).skip(1) {
        if end(&run[run.len() - 1]) != m.offset || !fits(&run[0], total + m.comps) {
            break;
        }
        total += m.comps;
        run.push(m);
    }
    (run, total)
}

/// Whether the size of what a handle names is a multiple of a line.
fn whole_lines(s: &Shader, handle: Option<&Value>) -> bool {
    let Some(d) = handle.and_then(|&h| s.def_inst(h)) else { return false };
    matches!(s.insts[d].attrs, Attrs::Res(r, _) if s.resources[r].kind == ResKind::UniformBuffer)
}

fn region(s: &mut Shader, r: Region, multiples: Option<&Multiples>, changed: &mut bool) {
    for i in s.regions[r].insts.clone() {
        for q in s.inst_regions(i) {
            region(s, q, multiples, changed);
        }
    }
    let insts = s.regions[r].insts.clone();
    let mut groups = Groups::new(s, &insts, multiples);
    if groups.all.iter().all(|g| g.members.len() < 2) {
        return;
    }
    let mut gone = vec![false; insts.len()];
    let mut before: Vec<Vec<Inst>> = vec![Vec::new(); insts.len()];
    let mut replace: Vec<Option<Vec<Inst>>> = vec![None; insts.len()];
    for at in 0..insts.len() {
        let Some(group) = groups.of[at] else { continue };
        let group = &mut groups.all[group];
        let Some((Key { op, lead, bits, .. }, mem, comps)) = access(s, insts[at]) else { continue };
        let me = Member { offset: mem.offset, at, comps };
        // Joined already.
        if !group.members.contains(&me) {
            continue;
        }
        let store = is_store(op);
        let step = i32::from(bits.max(8) / 8);
        let (run, total) = run_around(group, me, step);
        // Later accesses look only for those after them.
        group.members.remove(&me);
        if run.len() < 2 {
            continue;
        }
        let (start, end) = (run[0].offset, run[0].offset + total as i32 * step);
        let widest = Type::MAX_COMPS as i32 * step;
        let near = Member { offset: start.saturating_sub(widest), at: 0, comps: 0 };
        let overlap = group
            .members
            .range(near..)
            .take_while(|m| m.offset < end)
            .any(|m| m.offset + m.comps as i32 * step > start && !run.contains(m));
        if store && overlap {
            continue;
        }
        for m in &run {
            group.members.remove(m);
        }
        *changed = true;
        let ty = Type::vec(bits, total as u8);
        let first = insts[run[0].at];
        let Attrs::Mem(mut m) = s.insts[first].attrs else { continue };
        if group.modulo.is_some() && !whole_lines(s, lead.first()) {
            m.access |= Access::SEPARATE;
        }
        if store {
            // At the place of the last store, when all values exist.
            let last = run.iter().map(|g| g.at).max().unwrap_or(at);
            let mut new = Vec::new();
            let mut parts = Vec::new();
            for g in run {
                let v = s.args(insts[g.at])[lead.len()];
                let t = s.ty(v);
                for k in 0..g.comps {
                    parts.push(if t.is_scalar() {
                        v
                    } else {
                        push(s, &mut new, insts[g.at], Op::Extract, Attrs::Index(k), &[v], t.elem())
                    });
                }
                gone[g.at] = true;
            }
            let v = push(s, &mut new, first, Op::Vec, Attrs::None, &parts, ty);
            let mut args = lead.to_vec();
            args.push(v);
            let st = s.make_inst(op, Attrs::Mem(m), &args, &[]);
            s.insts[st].loc = s.insts[first].loc;
            new.push(st);
            replace[last] = Some(new);
        } else {
            let mut new = Vec::new();
            let v = push(s, &mut new, first, op, Attrs::Mem(m), &lead, ty);
            let mut k0 = 0;
            for g in run {
                let old = s.result(insts[g.at]);
                let mut parts = Vec::new();
                for k in 0..g.comps {
                    parts.push(push(
                        s,
                        &mut new,
                        first,
                        Op::Extract,
                        Attrs::Index(k0 + k),
                        &[v],
                        ty.elem(),
                    ));
                }
                k0 += g.comps;
                let (o, a) = if parts.len() == 1 { (Op::Copy, parts) } else { (Op::Vec, parts) };
                let def = s.make_inst(o, Attrs::None, &a, &[]);
                s.set_results(def, &[old]);
                new.push(def);
                gone[g.at] = true;
            }
            before[at] = new;
        }
    }
    let mut out = Vec::with_capacity(insts.len());
    for (k, i) in insts.into_iter().enumerate() {
        out.append(&mut before[k]);
        if let Some(new) = replace[k].take() {
            out.extend(new);
        } else if !gone[k] {
            out.push(i);
        }
    }
    s.regions[r].insts = out;
}
