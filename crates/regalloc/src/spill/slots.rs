//! Offsets of stack slots: values whose slots are not live at the same time share one.
//!
//! A slot is live from the store after its value's definition to the last load. The points of a program
//! are numbered in layout order, and the live range of a slot is a list of segments. A phi in memory
//! and its sources get one slot where their segments allow it; the copy on the edge is removed then.

use super::edges::{Edge, Memory};
use super::values::Accesses;
use crate::error::{Error, Result};
use crate::function::{Block, Function, Ins, Op, Val};
use crate::liveness::MAX_PAIRS;
use crate::target::{StackAccess, Target};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Segment of a live range, without its end.
#[derive(Clone, Copy)]
struct Segment {
    end: u32,
    val: Val,
    /// At the end of a predecessor: the source whose bits a phi in memory takes.
    from: Option<Val>,
}

/// Live ranges of slots.
struct Ranges {
    /// From the first point to the end.
    hulls: SecondaryMap<Val, (u32, u32)>,
    /// For values that could share the slot of a phi: the segments by start.
    segments: SecondaryMap<Val, Vec<(u32, Segment)>>,
}
/// The segments of several values with one slot, by start.
type Class = BTreeMap<u32, Segment>;
/// The class that each class but its last is joined to.
type Joined = SecondaryMap<Val, PackedOption<Val>>;

/// The offsets of all slots.
pub(super) struct Slots {
    /// Offset of each value's slot.
    pub(super) offsets: SecondaryMap<Val, u32>,
    /// Bytes up to the last one.
    pub(super) end: u32,
}

/// Numbering of program points: each instruction has a point before and one after it.
struct ProgramPoints {
    /// The first point of each block, and the end of the program.
    starts: Vec<u32>,
    /// The point at which the code of the edge out of a block begins.
    edges: Vec<u32>,
}

impl ProgramPoints {
    fn new<I>(f: &Function<I>, on_edge: &EntitySet<Ins>) -> ProgramPoints {
        let (mut starts, mut edges) = (vec![0], Vec::new());
        for (b, data) in f.blocks.iter() {
            let start = starts[b.index()];
            let first = data.insts.iter().position(|&i| on_edge.contains(i));
            edges.push(start + 1 + 2 * first.unwrap_or_else(|| f.body_end(b)) as u32);
            starts.push(start + 1 + 2 * data.insts.len() as u32 + 2);
        }
        ProgramPoints { starts, edges }
    }

    fn start(&self, b: Block) -> u32 {
        self.starts[b.index()]
    }

    fn end(&self, b: Block) -> u32 {
        self.starts[b.index() + 1]
    }
}

/// Assigns each value of `values` a slot from offset `begin` on, and removes the copies on edges whose
/// slots became one.
pub(super) fn run<T: Target>(
    f: &mut Function<T::Inst>,
    values: &EntitySet<Val>,
    accesses: &Accesses,
    memory: &Memory,
    begin: u32,
) -> Result<Slots> {
    let points = ProgramPoints::new(f, &memory.on_edge);
    let ranges = ranges(f, values, accesses, memory, &points)?;
    // Only segments of values that could share a slot with a phi in memory.
    let mut classes: FxHashMap<Val, Class> = FxHashMap::default();
    let mut joined = Joined::with_capacity(f.vals.len());
    let mut same: EntitySet<Ins> = EntitySet::new();
    for e in &memory.edges {
        let Some(store) = e.store.expand().filter(|_| shares(values, e)) else { continue };
        for v in [e.phi, e.source] {
            let root = find(&mut joined, v);
            classes.entry(root).or_insert_with(|| ranges.segments[root].iter().copied().collect());
        }
        if merge(&mut classes, &mut joined, e) {
            same.insert(store);
            e.load.expand().map(|i| same.insert(i));
        }
    }
    for data in f.blocks.values_mut() {
        data.insts.retain(|&i| !same.contains(i));
    }
    Ok(colour::<T>(f, &ranges, values, joined, begin))
}

/// Whether a phi in memory and its source may have one slot.
fn shares(values: &EntitySet<Val>, e: &Edge) -> bool {
    !e.staged && e.source != e.phi && values.contains(e.phi) && values.contains(e.source)
}

/// Live ranges of slots, from the loads back to the stores.
fn ranges<I>(
    f: &Function<I>,
    values: &EntitySet<Val>,
    accesses: &Accesses,
    memory: &Memory,
    points: &ProgramPoints,
) -> Result<Ranges> {
    // Points at which slots are written and, with the block, read last in each block.
    let mut defs: SecondaryMap<Val, (u32, Option<Block>)> = SecondaryMap::new();
    let mut uses: Vec<(Val, Block, u32)> = Vec::new();
    let mut copies: EntitySet<Ins> = EntitySet::new();
    for e in memory.edges.iter().filter(|e| values.contains(e.phi)) {
        e.load.expand().map(|i| copies.insert(i));
        if e.source == e.phi {
            uses.push((e.source, e.pred, points.end(e.pred) - 1));
        } else if values.contains(e.source) {
            uses.push((e.source, e.pred, points.edges[e.pred.index()]));
        }
    }
    for (b, data) in f.blocks.iter() {
        let mut at = points.start(b) + 1;
        for &i in &data.insts {
            if let Some((StackAccess::Load, v)) = accesses.get(i)
                && !copies.contains(i)
            {
                uses.push((v, b, at));
            }
            let is_phi = matches!(f.insts[i].op, Op::Phi);
            for &d in f.dsts(i) {
                defs[d] = (if is_phi { points.start(b) } else { at + 1 }, Some(b));
            }
            at += 2;
        }
    }
    uses.sort_unstable();
    let mut hulls: SecondaryMap<Val, (u32, u32)> = SecondaryMap::with_default((u32::MAX, 0));
    let mut segments: SecondaryMap<Val, Vec<(u32, Segment)>> = SecondaryMap::new();
    let mut linked: EntitySet<Val> = EntitySet::new();
    for e in memory.edges.iter().filter(|e| shares(values, e)) {
        linked.insert(e.phi);
        linked.insert(e.source);
    }
    for &v in uses.iter().map(|u| &u.0) {
        if let Some(b) = memory.blocks[v].expand() {
            defs[v] = (points.start(b), Some(b));
        } else if let Some(b) = memory.staging[v].expand() {
            defs[v] = (points.edges[b.index()], Some(b));
        }
    }
    let mut out: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut work: Vec<Block> = Vec::new();
    let (mut round, mut pairs) = (0, 0);
    for list in uses.chunk_by(|a, b| a.0 == b.0) {
        round += 1;
        let v = list[0].0;
        let (start, block) = defs[v];
        let mut add = |b: Block, end: u32| {
            let start = if block == Some(b) { start } else { points.start(b) };
            let end = end.max(start + 1);
            hulls[v] = (hulls[v].0.min(start), hulls[v].1.max(end));
            if linked.contains(v) {
                segments[v].push((start, Segment { end, val: v, from: None }));
            }
        };
        let elsewhere = list.iter().filter(|u| block != Some(u.1));
        work.extend(elsewhere.flat_map(|u| &f.blocks[u.1].preds));
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut out[b], round) == round {
                continue;
            }
            add(b, points.end(b));
            pairs += 1;
            if block != Some(b) {
                work.extend(&f.blocks[b].preds);
            }
        }
        for uses in list.chunk_by(|a, b| a.1 == b.1).filter(|u| out[u[0].1] != round) {
            add(uses[0].1, uses[uses.len() - 1].2 + 1);
        }
        if pairs > MAX_PAIRS {
            return Err(Error::Liveness { needed: pairs, limit: MAX_PAIRS });
        }
    }
    for e in memory.edges.iter().filter(|e| values.contains(e.phi) && e.source != e.phi) {
        let (start, end) = (points.edges[e.pred.index()], points.end(e.pred));
        let from = shares(values, e).then_some(e.source);
        hulls[e.phi] = (hulls[e.phi].0.min(start), hulls[e.phi].1.max(end));
        segments[e.phi].push((start, Segment { end, val: e.phi, from }));
    }
    Ok(Ranges { hulls, segments })
}

/// Joins the classes of a phi and its source, if no two of their segments overlap.
fn merge(classes: &mut FxHashMap<Val, Class>, joined: &mut Joined, e: &Edge) -> bool {
    let (a, b) = (find(joined, e.phi), find(joined, e.source));
    if a == b {
        return true;
    }
    let (large, small) = if classes[&a].len() < classes[&b].len() { (b, a) } else { (a, b) };
    let (big, few) = (&classes[&large], &classes[&small]);
    for (&start, s) in few {
        for (&other, o) in big.range(..s.end).rev().take_while(|(_, o)| o.end > start) {
            // Except for the copy itself, which goes.
            let copied = |at: u32, to: &Segment, from: &Segment| {
                to.from == Some(from.val) && from.end == at + 1
            };
            if !copied(start, s, o) && !copied(other, o, s) {
                return false;
            }
        }
    }
    let few = classes.remove(&small).unwrap_or_default();
    if let Some(big) = classes.get_mut(&large) {
        big.extend(few);
    }
    joined[small] = large.into();
    true
}

/// The class of a value.
fn find(joined: &mut Joined, mut v: Val) -> Val {
    while let Some(next) = joined[v].expand() {
        if joined[next].is_some() {
            joined[v] = joined[next];
        }
        v = next;
    }
    v
}

/// Assigns offsets to classes, in the order of their starts: a class takes a slot of the same size
/// whose class has ended.
fn colour<T: Target>(
    f: &Function<T::Inst>,
    ranges: &Ranges,
    values: &EntitySet<Val>,
    mut joined: Joined,
    begin: u32,
) -> Slots {
    let mut slots = Slots { offsets: SecondaryMap::with_capacity(f.vals.len()), end: begin };
    // From the first point to the end.
    let mut ends: SecondaryMap<Val, (u32, u32)> = SecondaryMap::with_default((u32::MAX, 0));
    for v in values.iter() {
        let class = find(&mut joined, v);
        let hull = ranges.hulls[v];
        ends[class] = (ends[class].0.min(hull.0), ends[class].1.max(hull.1));
    }
    let mut order: Vec<(u32, u32, Val)> = Vec::new();
    for v in values.iter().filter(|&v| joined[v].is_none()) {
        order.push((ends[v].0, ends[v].1, v));
    }
    order.sort_unstable();
    // For each size: the slots in use, by the end of their class.
    let mut used: Vec<BinaryHeap<Reverse<(u32, u32)>>> = vec![BinaryHeap::new(); 256];
    for (start, end, v) in order {
        let units = f.vals[v].units;
        let heap = &mut used[usize::from(units)];
        let free = heap.peek().filter(|s| s.0.0 <= start).map(|s| s.0.1);
        let offset = free.unwrap_or_else(|| {
            let at = slots.end.next_multiple_of(T::SLOT_ALIGN);
            slots.end = at + u32::from(units) * T::UNIT_BYTES;
            at
        });
        if free.is_some() {
            heap.pop();
        }
        heap.push(Reverse((end, offset)));
        slots.offsets[v] = offset;
    }
    for v in values.iter() {
        let class = find(&mut joined, v);
        slots.offsets[v] = slots.offsets[class];
    }
    slots
}
