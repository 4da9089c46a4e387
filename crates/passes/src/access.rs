//! Alias analysis: which memory an instruction accesses, and whether two instructions may access
//! the same bytes.

use arrayvec::ArrayVec;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Extend, Inst, Op, Props, Region, Shader, Value};

/// Memories that cannot overlap each other. Buffers and physical addresses can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Buffer,
    Shared,
    Scratch,
    /// Variables of the function.
    Variable,
}

/// The bytes that a load or store touches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Place {
    pub op: Op,
    pub space: Space,
    /// Address operands; a constant last offset is in `offset` instead.
    pub lead: ArrayVec<Value, 2>,
    pub index: Extend,
    pub offset: i64,
    pub bytes: u32,
    pub bits: u8,
    pub comps: u8,
    pub access: Access,
}

/// The memory that loads and stores of this op access; `None` for other ops.
pub(crate) fn space(op: Op) -> Option<Space> {
    match op {
        Op::LoadBuffer | Op::StoreBuffer | Op::LoadOffset | Op::StoreOffset => Some(Space::Buffer),
        Op::LoadGlobal | Op::StoreGlobal => Some(Space::Buffer),
        Op::LoadShared | Op::StoreShared => Some(Space::Shared),
        Op::LoadScratch | Op::StoreScratch => Some(Space::Scratch),
        Op::LoadVar | Op::StoreVar => Some(Space::Variable),
        _ => None,
    }
}

/// The place of a load or store, and whether it is a store; `None` for other instructions.
pub(crate) fn place(s: &Shader, i: Inst) -> Option<(Place, bool)> {
    let d = &s.insts[i];
    let Attrs::Mem(m) = d.attrs else { return None };
    let (store, n) = match d.op {
        Op::LoadBuffer | Op::LoadOffset => (false, 2),
        Op::StoreBuffer | Op::StoreOffset => (true, 2),
        Op::LoadGlobal | Op::LoadShared | Op::LoadScratch => (false, 1),
        Op::StoreGlobal | Op::StoreShared | Op::StoreScratch => (true, 1),
        _ => return None,
    };
    let space = space(d.op)?;
    let args = s.args(i);
    let ty = s.ty(if store { args[n] } else { s.result(i) });
    let mut lead: ArrayVec<Value, 2> = args[..n].iter().copied().collect();
    let mut offset = i64::from(m.offset);
    // 32-bit offsets wrap: a constant joins the attribute as the addition would.
    if !matches!(d.op, Op::LoadOffset | Op::StoreOffset | Op::LoadGlobal | Op::StoreGlobal)
        && let Some(c) = s.as_const(lead[n - 1])
    {
        lead.pop();
        offset = i64::from((c as u32).wrapping_add(m.offset as u32));
    }
    // The op of the load represents both directions.
    let op = match d.op {
        Op::StoreBuffer => Op::LoadBuffer,
        Op::StoreOffset => Op::LoadOffset,
        Op::StoreGlobal => Op::LoadGlobal,
        Op::StoreShared => Op::LoadShared,
        Op::StoreScratch => Op::LoadScratch,
        o => o,
    };
    let place = Place {
        op,
        space,
        lead,
        index: m.index,
        offset,
        bytes: ty.size_bytes(),
        bits: ty.bits(),
        comps: ty.comps(),
        access: m.access,
    };
    Some((place, store))
}

/// The resource that a handle names, when it is a descriptor of the shader.
fn resource(s: &Shader, handle: Value) -> Option<(u32, u32)> {
    match s.insts[s.def_inst(handle)?].attrs {
        Attrs::Res(r, _) => Some((s.resources[r].set, s.resources[r].binding)),
        _ => None,
    }
}

impl Place {
    /// Whether the bytes start at the same address and are as many of the same size.
    pub fn same(&self, o: &Place) -> bool {
        (self.op, &self.lead, self.index, self.offset, self.bits, self.comps)
            == (o.op, &o.lead, o.index, o.offset, o.bits, o.comps)
    }

    /// Whether this covers every byte of the other.
    pub fn covers(&self, o: &Place) -> bool {
        (self.op, &self.lead, self.index) == (o.op, &o.lead, o.index)
            && self.offset <= o.offset
            && self.offset + i64::from(self.bytes) >= o.offset + i64::from(o.bytes)
    }

    /// Whether some byte may be the same.
    pub fn may_alias(&self, s: &Shader, o: &Place) -> bool {
        if self.space != o.space {
            return false;
        }
        if (self.op, &self.lead, self.index) == (o.op, &o.lead, o.index) {
            return self.offset < o.offset + i64::from(o.bytes)
                && o.offset < self.offset + i64::from(self.bytes);
        }
        if self.op == Op::LoadBuffer && o.op == Op::LoadBuffer {
            let (a, b) = (resource(s, self.lead[0]), resource(s, o.lead[0]));
            let apart = a.is_some() && b.is_some() && a != b;
            return !(apart && (self.access | o.access).contains(Access::RESTRICT));
        }
        true
    }

    /// Whether the access may be left out, or its value used again.
    pub fn plain(&self) -> bool {
        !self.access.intersects(Access::VOLATILE | Access::COHERENT)
    }
}

/// Maximum number of locations in a summary of writes; with more, the whole memory space counts as
/// written.
const MAX_PLACES: usize = 64;

/// The memory that a part of the shader writes.
#[derive(Clone, Default)]
pub(crate) struct Writes {
    /// Stores with a known place.
    places: Vec<Place>,
    /// Spaces with more places than are listed.
    many: Vec<Space>,
    /// Something that orders or writes memory in another way: barriers, atomics, images.
    other: bool,
}

impl Writes {
    /// The memory that each region writes, with nested regions.
    pub fn of_regions(s: &Shader) -> SecondaryMap<Region, Writes> {
        let mut all = SecondaryMap::with_capacity(s.regions.len());
        Writes::visit(s, s.root, &mut all);
        all
    }

    fn visit(s: &Shader, r: Region, all: &mut SecondaryMap<Region, Writes>) {
        let mut w = Writes::default();
        for &i in &s.regions[r].insts {
            if let Some((p, store)) = place(s, i) {
                if store {
                    w.add(p);
                }
            } else {
                w.other |= disturbs(s, i);
            }
            for q in s.inst_regions(i) {
                Writes::visit(s, q, all);
                w.unite(&all[q]);
            }
        }
        all[r] = w;
    }

    fn add(&mut self, p: Place) {
        if self.many.contains(&p.space) || self.places.contains(&p) {
            return;
        }
        if self.places.len() == MAX_PLACES {
            self.many.push(p.space);
            self.places.retain(|q| q.space != p.space);
            return;
        }
        self.places.push(p);
    }

    /// Adds what another part writes.
    fn unite(&mut self, o: &Writes) {
        self.other |= o.other;
        for &space in &o.many {
            if !self.many.contains(&space) {
                self.many.push(space);
                self.places.retain(|q| q.space != space);
            }
        }
        for p in &o.places {
            self.add(p.clone());
        }
    }

    /// Whether the bytes may be written.
    pub fn touch(&self, s: &Shader, p: &Place) -> bool {
        (self.other && p.space != Space::Scratch)
            || self.many.contains(&p.space)
            || self.places.iter().any(|w| w.may_alias(s, p))
    }
}

/// Instructions without a place that may change memory or order accesses.
pub(crate) fn disturbs(s: &Shader, i: Inst) -> bool {
    let d = &s.insts[i];
    match d.op {
        Op::StoreVar | Op::StoreOutput => false,
        op => op.props().contains(Props::WRITES),
    }
}
