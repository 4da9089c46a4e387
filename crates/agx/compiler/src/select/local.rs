//! Workgroup memory and scratch memory.

use super::memory::{MAX_ELEMENTS, atomic_op, format, mask};
use super::operand::{Place, size_of};
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{HALF, Op as MOp, UNASSIGNED, Val, class_of};
use tepui_agx_isa::operand::{Index, LocalBase, LocalIndex, RegVec, Size};
use tepui_agx_isa::table::local::{ThreadgroupAtomic, ThreadgroupLoad, ThreadgroupStore};
use tepui_agx_isa::table::stack::{StackLoad, StackStore};
use tepui_ir::{AtomicOp, Inst, Mem, Op, Value};

/// A place in workgroup memory.
#[derive(Clone, Copy)]
struct Local {
    base: Option<Opnd>,
    index: Option<Opnd>,
    imm: i32,
}

impl Local {
    fn base(&self) -> LocalBase {
        match self.base.map(|b| b.place) {
            Some(Place::Uniform(h)) => LocalBase::Uniform(h),
            Some(_) => LocalBase::Reg(UNASSIGNED),
            None => LocalBase::Zero(0),
        }
    }

    fn index(&self) -> LocalIndex {
        match self.index {
            Some(_) => LocalIndex::Reg(UNASSIGNED),
            None => LocalIndex::Imm(self.imm as i16),
        }
    }

    fn regs(&self) -> Vec<Val> {
        self.base.iter().chain(&self.index).filter_map(Opnd::val).collect()
    }
}

impl Select<'_> {
    /// A byte offset into workgroup memory.
    fn local_place(&mut self, off: Value, m: Mem, log: u32) -> Local {
        let imm = m.offset >> log;
        let whole = m.offset & ((1 << log) - 1) == 0 && (0..0x7f00).contains(&imm);
        if let Comp::Const(c) = self.comp(off, 0) {
            let t = (c as u32).wrapping_add(m.offset as u32);
            if t & ((1 << log) - 1) == 0 && t >> log < 0x7f00 {
                return Local { base: None, index: None, imm: (t >> log) as i32 };
            }
        }
        // An index in elements where the offset is a shift by exactly their size.
        if m.offset == 0
            && let Some(d) = self.def_inst(off)
            && self.s.insts[d].op == Op::IShl
            && self.s.as_const(self.s.arg(d, 1)) == Some(u64::from(log))
        {
            let x = self.isrc(self.s.arg(d, 0), 0);
            if x.val().is_some() {
                return Local { base: None, index: Some(Opnd { size: Size::B16, ..x }), imm: 0 };
            }
        }
        let x = self.isrc(off, 0);
        let x = match x.place {
            Place::Imm(_) => Opnd::of(self.mov(x, HALF), Size::B16),
            _ => Opnd { size: Size::B16, ..x },
        };
        if whole {
            return Local { base: Some(x), index: None, imm };
        }
        let c = self.int(u64::from(m.offset as u16), Size::B16);
        let x = Opnd::of(self.iadd(16, false, x, c, 0), Size::B16);
        Local { base: Some(x), index: None, imm: 0 }
    }

    fn local_step(&mut self, at: Local, k: usize, log: u32) -> Local {
        if k == 0 {
            return at;
        }
        match at.index {
            None => Local { imm: at.imm + k as i32, ..at },
            Some(x) => {
                // Move the index into the base, in bytes.
                let b = Opnd::of(self.iadd(16, false, Opnd::imm(0), x, log as u8), Size::B16);
                Local { base: Some(b), index: None, imm: k as i32 }
            }
        }
    }

    pub(super) fn local_load(&mut self, i: Inst, m: Mem) {
        let r = self.s.result(i);
        let (bits, total) = Self::shape(self.ty(r));
        let log = u32::from(bits / 8).trailing_zeros();
        let at = self.local_place(self.s.arg(i, 0), m, log);
        let mut out = Vec::new();
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            let at = self.local_step(at, k, log);
            let v = self.f.val(class_of(bits, n as u8));
            let inst = ThreadgroupLoad {
                format: format(bits),
                mask: mask(n),
                r: RegVec::new(UNASSIGNED, size_of(bits), n as u8),
                base: at.base(),
                index: at.index(),
                ..ThreadgroupLoad::default()
            };
            self.emit(MOp::Isa(inst.into()), &[v], &at.regs());
            out.push((v, n));
            k += n;
        }
        self.unpack(r, &out);
    }

    pub(super) fn local_store(&mut self, i: Inst, m: Mem) {
        let v = self.s.arg(i, 1);
        let (bits, total) = Self::shape(self.ty(v));
        let log = u32::from(bits / 8).trailing_zeros();
        let at = self.local_place(self.s.arg(i, 0), m, log);
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            let at = self.local_step(at, k, log);
            let data = self.pack(v, k, n);
            let inst = ThreadgroupStore {
                format: format(bits),
                mask: mask(n),
                r: RegVec::new(UNASSIGNED, size_of(bits), n as u8),
                base: at.base(),
                index: at.index(),
                ..ThreadgroupStore::default()
            };
            let mut srcs = vec![data];
            srcs.extend(at.regs());
            self.emit(MOp::Isa(inst.into()), &[], &srcs);
            k += n;
        }
    }

    pub(super) fn local_atomic(&mut self, i: Inst, op: AtomicOp, m: Mem) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let (Some(isa), 32) = (atomic_op(op), self.ty(r).bits()) else {
            return self.refuse(i, format!("{} of {} is not compiled", op.name(), self.ty(r)));
        };
        let at = self.local_place(s.arg(i, 0), m, 2);
        let (data, n) = self.atomic_data(op, &s.args(i)[1..]);
        let used = self.uses[r] > 0;
        let inst = ThreadgroupAtomic {
            op: isa,
            r: if used { RegVec::new(UNASSIGNED, Size::B32, 1) } else { RegVec::default() },
            base: at.base(),
            index: at.index(),
            s: RegVec::new(UNASSIGNED, Size::B32, n),
            ..ThreadgroupAtomic::default()
        };
        let mut srcs = at.regs();
        srcs.push(data);
        self.emit_atomic(inst.into(), r, used, &srcs);
        Ok(())
    }

    /// A byte offset into scratch memory, `extra` bytes on.
    fn stack_place(&mut self, off: Value, m: Mem, extra: u32) -> (Index, Option<Opnd>) {
        let add = (m.offset as u32).wrapping_add(extra);
        if let Comp::Const(c) = self.comp(off, 0)
            && let Ok(n) = i16::try_from((c as u32).wrapping_add(add))
        {
            return (Index::Imm(n), None);
        }
        let x = self.isrc(off, 0);
        let x = if add == 0 {
            self.word(x)
        } else {
            let c = self.int(u64::from(add), Size::B32);
            Opnd::of(self.iadd(32, false, x, c, 0), Size::B32)
        };
        (Index::Reg(UNASSIGNED), Some(x))
    }

    pub(super) fn stack_load(&mut self, i: Inst, m: Mem) {
        let r = self.s.result(i);
        let (bits, total) = Self::shape(self.ty(r));
        let mut out = Vec::new();
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            let (index, reg) =
                self.stack_place(self.s.arg(i, 0), m, k as u32 * u32::from(bits / 8));
            let v = self.f.val(class_of(bits, n as u8));
            let inst = StackLoad {
                format: format(bits),
                mask: mask(n),
                r: RegVec::new(UNASSIGNED, size_of(bits), n as u8),
                index,
                ..StackLoad::default()
            };
            let srcs: Vec<Val> = reg.iter().filter_map(Opnd::val).collect();
            self.emit(MOp::Isa(inst.into()), &[v], &srcs);
            out.push((v, n));
            k += n;
        }
        self.unpack(r, &out);
    }

    pub(super) fn stack_store(&mut self, i: Inst, m: Mem) {
        let v = self.s.arg(i, 1);
        let (bits, total) = Self::shape(self.ty(v));
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            let (index, reg) =
                self.stack_place(self.s.arg(i, 0), m, k as u32 * u32::from(bits / 8));
            let data = self.pack(v, k, n);
            let inst = StackStore {
                format: format(bits),
                mask: mask(n),
                r: RegVec::new(UNASSIGNED, size_of(bits), n as u8),
                index,
                ..StackStore::default()
            };
            let mut srcs = vec![data];
            srcs.extend(reg.iter().filter_map(Opnd::val));
            self.emit(MOp::Isa(inst.into()), &[], &srcs);
            k += n;
        }
    }
}
