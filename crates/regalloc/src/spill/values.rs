//! Rematerialisation and source locations of values, and accesses of stack slots.

use super::slots::Slots;
use crate::function::{Ctl, Function, Ins, Op, Val};
use crate::target::{Effect, StackAccess, StackOffset, Target};
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use tepui_ir::Loc;

/// Whether an instruction must be at the head of its block.
pub(super) fn is_head<I>(op: &Op<I>) -> bool {
    matches!(op, Op::Phi | Op::Ctl(Ctl::Else | Ctl::EndIf))
}

/// Return of each value after eviction: rematerialised or reloaded.
pub(super) struct Values {
    /// The instruction that rematerialises a value.
    remade: SecondaryMap<Val, PackedOption<Ins>>,
    /// Source location of each value.
    locs: SecondaryMap<Val, Loc>,
}

impl Values {
    pub(super) fn new<T: Target>(f: &Function<T::Inst>) -> Values {
        let mut values = Values {
            remade: SecondaryMap::with_capacity(f.vals.len()),
            locs: SecondaryMap::with_capacity(f.vals.len()),
        };
        for data in f.blocks.values() {
            for &i in &data.insts {
                let op = &f.insts[i].op;
                for &d in f.dsts(i) {
                    values.locs[d] = f.insts[i].loc;
                }
                let again = match op {
                    Op::Undef => true,
                    Op::Isa(inst) => T::effect(inst) == Effect::Pure && T::rematerialises(inst),
                    _ => false,
                };
                if let (true, &[d], []) = (again, f.dsts(i), f.srcs(i)) {
                    values.remade[d] = i.into();
                }
            }
        }
        values
    }

    /// The instruction that rematerialises the value anywhere, if there is one.
    pub(super) fn remade(&self, v: Val) -> Option<Ins> {
        self.remade[v].expand()
    }

    /// Source location of a value.
    pub(super) fn loc(&self, v: Val) -> Loc {
        self.locs[v]
    }

    /// Whether a value can be evicted at all.
    pub(super) fn is_evictable<T: Target>(&self, f: &Function<T::Inst>, v: Val) -> bool {
        let class = f.vals[v];
        !class.unmasked && (self.remade[v].is_some() || class.units <= T::MAX_SPILLED_UNITS)
    }
}

/// Accesses of slots. Slots have no offset until all of them are known.
#[derive(Default)]
pub(super) struct Accesses {
    /// The value whose slot an instruction loads or stores.
    slots: SecondaryMap<Ins, Option<(StackAccess, Val)>>,
}

impl Accesses {
    /// A load of the slot of `v` into `to`.
    pub(super) fn load<T: Target>(
        &mut self,
        f: &mut Function<T::Inst>,
        v: Val,
        to: Val,
        loc: Loc,
    ) -> Ins {
        let op = Op::Isa(T::stack_access(StackAccess::Load, f.vals[v], StackOffset::Immediate(0)));
        let i = f.make(op, &[to], &[], loc);
        self.slots[i] = Some((StackAccess::Load, v));
        i
    }

    /// A store of `from` into the slot of `v`.
    pub(super) fn store<T: Target>(
        &mut self,
        f: &mut Function<T::Inst>,
        v: Val,
        from: Val,
        loc: Loc,
    ) -> Ins {
        let op = Op::Isa(T::stack_access(StackAccess::Store, f.vals[v], StackOffset::Immediate(0)));
        let i = f.make(op, &[], &[from], loc);
        self.slots[i] = Some((StackAccess::Store, v));
        i
    }

    /// The access and the value of the slot, if the instruction is one.
    pub(super) fn get(&self, i: Ins) -> Option<(StackAccess, Val)> {
        self.slots[i]
    }

    /// Gives an access the offset of its slot: as an immediate, or in a register. Returns the
    /// instruction that writes the register, which belongs before the access.
    pub(super) fn place<T: Target>(
        &self,
        f: &mut Function<T::Inst>,
        i: Ins,
        slots: &Slots,
    ) -> Option<Ins> {
        let (access, v) = self.slots[i]?;
        let offset = slots.offsets[v];
        let far = offset >= T::STACK_IMMEDIATES;
        let form = if far { StackOffset::Register } else { StackOffset::Immediate(offset) };
        f.insts[i].op = Op::Isa(T::stack_access(access, f.vals[v], form));
        if !far {
            return None;
        }
        let at = f.val(T::STACK_OFFSET);
        let mut srcs: ArrayVec<Val, 2> = f.srcs(i).iter().copied().collect();
        srcs.push(at);
        f.insts[i].srcs = cranelift_entity::EntityList::from_slice(&srcs, &mut f.pool);
        let loc = f.insts[i].loc;
        Some(f.make(Op::Isa(T::stack_offset(offset)), &[at], &[], loc))
    }
}
