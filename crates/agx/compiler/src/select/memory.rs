//! Device memory: buffers, physical addresses, push constants.

use super::operand::{Place, size_of};
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{LONG, Op as MOp, UNASSIGNED, Val, WORD, class_of};
use crate::uniforms::Source;
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{AtomicOp as IsaAtomic, Base64, Extend, Format, Index, RegVec, Size};
use tepui_agx_isa::table::device::{Atomic, DeviceLoad, DeviceStore};
use tepui_ir::{Access, AtomicOp, Attrs, Inst, Mem, Op, Type, Value};
use tepui_sysval::SystemValue;

/// Maximum number of elements of one memory instruction.
pub(super) const MAX_ELEMENTS: usize = 4;

/// A device memory operand: base, and an index in elements.
#[derive(Clone, Copy)]
struct Device {
    base: Opnd,
    index: Opnd,
    /// An immediate index, when `index` is none.
    imm: Option<i32>,
    extend: Extend,
    shift: u8,
}

impl Device {
    fn base(&self) -> Base64 {
        match self.base.place {
            Place::Uniform(h) => Base64::Uniform(h),
            _ => Base64::Reg(UNASSIGNED),
        }
    }

    fn index(&self) -> Index {
        match self.imm {
            Some(n) => Index::Imm(n as i16),
            None => Index::Reg(UNASSIGNED),
        }
    }

    /// The registers it takes, in the order of the fields.
    fn regs(&self) -> Vec<Val> {
        let index = if self.imm.is_none() { self.index.val() } else { None };
        self.base.val().into_iter().chain(index).collect()
    }

    /// The place `by` elements further on.
    fn further(self, by: i32) -> Option<Device> {
        let imm = self.imm? + by;
        (i16::try_from(imm).is_ok()).then_some(Device { imm: Some(imm), ..self })
    }
}

pub(super) fn format(bits: u8) -> Format {
    match bits {
        8 => Format::I8,
        16 => Format::I16,
        _ => Format::I32,
    }
}

pub(super) fn mask(n: usize) -> u8 {
    (1 << n) - 1
}

pub(super) fn atomic_op(op: AtomicOp) -> Option<IsaAtomic> {
    Some(match op {
        AtomicOp::Add => IsaAtomic::Add,
        AtomicOp::SMin => IsaAtomic::IMin,
        AtomicOp::UMin => IsaAtomic::UMin,
        AtomicOp::SMax => IsaAtomic::IMax,
        AtomicOp::UMax => IsaAtomic::UMax,
        AtomicOp::And => IsaAtomic::And,
        AtomicOp::Or => IsaAtomic::Or,
        AtomicOp::Xor => IsaAtomic::Xor,
        AtomicOp::Xchg => IsaAtomic::Xchg,
        AtomicOp::CmpXchg => IsaAtomic::CmpXchg,
        AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => return None,
    })
}

impl Select<'_> {
    /// Selects a memory instruction; false when it is none.
    pub(super) fn memory(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let d = &s.insts[i];
        let args = s.args(i);
        match (d.op, d.attrs) {
            // Handles are looked at where they are used.
            (Op::Descriptor, _) => {}
            (Op::BufferAddress, _) => {
                let c = self.buffer_address(i, args[0])?;
                self.set(s.result(i), &[c]);
            }
            (Op::DescriptorAddress, _) if self.uses[s.result(i)] == 0 => {}
            (Op::DescriptorAddress, _) => {
                let c = self.descriptor_address(i, args[0])?;
                self.set(s.result(i), &[c]);
            }
            (Op::BufferSize, _) => {
                let c = self.buffer_size(i, args[0])?;
                self.set(s.result(i), &[c]);
            }
            (Op::LoadPush, Attrs::Mem(m)) => self.load_push(i, m)?,
            (Op::LoadConstant, Attrs::Mem(m)) => self.load_from(Source::DataAddress, i, m)?,
            (Op::LoadUniform, Attrs::Mem(m)) => {
                let Comp::Const(offset) = self.comp(args[0], 0) else {
                    return self.refuse(i, "at a variable offset");
                };
                let r = s.result(i);
                let offset = (offset as u32).wrapping_add(m.offset as u32);
                let comps = self.uniform_words(r, offset, |o| {
                    Source::System(SystemValue::Driver { offset: o })
                })?;
                self.set(r, &comps);
            }
            (Op::LoadBuffer, Attrs::Mem(m)) => {
                let ty = self.ty(s.result(i));
                let at = self.buffer_place(i, args[0], args[1], m, ty)?;
                self.device_load(i, at, m)?;
            }
            (Op::LoadGlobal, Attrs::Mem(m)) => {
                if let Some(source) = Source::of_descriptor_load(s, i) {
                    if let Some(half) = self.uniforms.get(source) {
                        self.set(s.result(i), &[Comp::Uniform(half)]);
                        return Ok(true);
                    }
                    // The address must have no other user; it is computed for this load alone, since
                    // other loads may be on other paths.
                    if !self.is_set(args[0])
                        && let Some(address) = self.def_inst(args[0])
                    {
                        let c = self.descriptor_address(i, s.arg(address, 0))?;
                        self.set(args[0], &[c]);
                        let at = self.global_place(args[0], m, self.ty(s.result(i)));
                        self.unset(args[0]);
                        self.device_load(i, at, m)?;
                        return Ok(true);
                    }
                }
                let at = self.global_place(args[0], m, self.ty(s.result(i)));
                self.device_load(i, at, m)?;
            }
            (Op::StoreBuffer, Attrs::Mem(m)) => {
                let at = self.buffer_place(i, args[0], args[1], m, self.ty(args[2]))?;
                self.device_store(args[2], at, m);
            }
            (Op::StoreGlobal, Attrs::Mem(m)) => {
                let at = self.global_place(args[0], m, self.ty(args[1]));
                self.device_store(args[1], at, m);
            }
            (Op::AtomicBuffer, Attrs::Atomic(op, m)) => {
                let ty = self.ty(args[2]);
                let at = self.buffer_place(i, args[0], args[1], m, ty)?;
                self.device_atomic(i, op, at, 2)?;
            }
            (Op::AtomicGlobal, Attrs::Atomic(op, m)) => {
                let at = self.global_place(args[0], m, self.ty(args[1]));
                self.device_atomic(i, op, at, 1)?;
            }
            (Op::LoadShared, Attrs::Mem(m)) => self.local_load(i, m),
            (Op::StoreShared, Attrs::Mem(m)) => self.local_store(i, m),
            (Op::AtomicShared, Attrs::Atomic(op, m)) => self.local_atomic(i, op, m)?,
            (Op::LoadScratch, Attrs::Mem(m)) => self.stack_load(i, m),
            (Op::StoreScratch, Attrs::Mem(m)) => self.stack_store(i, m),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The descriptor of a handle: set, binding, and the element as an operand or a number.
    pub(super) fn handle(&self, i: Inst, v: Value) -> Result<(u32, u32, Value)> {
        if let Some(d) = self.def_inst(v)
            && let (Op::Descriptor, Attrs::Res(res, _)) =
                (self.s.insts[d].op, self.s.insts[d].attrs)
        {
            let r = &self.s.resources[res];
            return Ok((r.set, r.binding, self.s.arg(d, 0)));
        }
        self.refuse(i, "through a handle that is chosen at run time")
    }

    /// Marks the memory that a uniform points to as constant.
    fn constant(&mut self, half: u16) {
        if !self.f.state.constant.contains(&half) {
            self.f.state.constant.push(half);
        }
    }

    /// A row of a binding's table: its address word and size word.
    fn table_row(&mut self, set: u32, binding: u32, index: Value) -> Result<[Val; 3]> {
        let table = self.uniform(Source::BufferTable { set, binding })?;
        self.constant(table);
        let x = self.isrc(index, 0);
        let x = match x.val() {
            Some(_) if x.size == Size::B32 => x,
            _ => Opnd::of(self.iadd(32, false, x, Opnd::imm(0), 0), Size::B32),
        };
        let at = Device {
            base: Opnd::uniform(table, Size::B64),
            index: x,
            imm: None,
            extend: Extend::Unsigned,
            shift: 2,
        };
        let v = self.f.val(class_of(32, 3));
        self.load_into(v, at, 32, 3, Access::empty());
        let parts = [0; 3].map(|_| self.f.val(WORD));
        self.emit(MOp::Split, &parts, &[v]);
        Ok(parts)
    }

    fn buffer_address(&mut self, i: Inst, handle: Value) -> Result<Comp> {
        let (set, binding, index) = self.handle(i, handle)?;
        match self.comp(index, 0) {
            Comp::Const(c) => {
                let source = Source::BufferAddress { set, binding, element: c as u32 };
                Ok(Comp::Uniform(self.uniform(source)?))
            }
            _ => {
                let [lo, hi, _] = self.table_row(set, binding, index)?;
                Ok(self.long([Comp::Val(lo), Comp::Val(hi)]))
            }
        }
    }

    fn buffer_size(&mut self, i: Inst, handle: Value) -> Result<Comp> {
        let (set, binding, index) = self.handle(i, handle)?;
        match self.comp(index, 0) {
            Comp::Const(c) => {
                let source = Source::BufferSize { set, binding, element: c as u32 };
                Ok(Comp::Uniform(self.uniform(source)?))
            }
            _ => {
                let [_, _, size] = self.table_row(set, binding, index)?;
                Ok(Comp::Val(size))
            }
        }
    }

    /// `v` divided by `1 << log`, exactly, as an index with a shift: found in how `v` was made.
    pub(super) fn scaled(&mut self, v: Value, log: u32) -> Option<(Opnd, u8)> {
        if let Comp::Const(c) = self.comp(v, 0) {
            return (c & ((1 << log) - 1) == 0).then(|| (self.int(c >> log, Size::B32), 0));
        }
        if log == 0 {
            return Some((self.isrc(v, 0), 0));
        }
        let d = self.def_inst(v)?;
        let args = self.s.args(d);
        match self.s.insts[d].op {
            Op::IShl => {
                let n = self.s.as_const(args[1])? as u32 & 31;
                let x = self.isrc(args[0], 0);
                match n.checked_sub(log)? {
                    n @ 0..=2 => Some((x, n as u8)),
                    n @ 3..=4 => Some((
                        Opnd::of(self.iadd(32, false, Opnd::imm(0), x, n as u8), Size::B32),
                        0,
                    )),
                    n => Some((
                        Opnd::of(self.bfi(32, [Opnd::imm(0), x, Opnd::imm(n as u8)], 0), Size::B32),
                        0,
                    )),
                }
            }
            Op::IMul => {
                let c = self.s.as_const(args[1]).or_else(|| self.s.as_const(args[0]))?;
                let x = if self.s.as_const(args[1]).is_some() { args[0] } else { args[1] };
                if c & ((1 << log) - 1) != 0 {
                    return None;
                }
                let x = self.esrc(x, 0);
                let c = c >> log;
                // An odd factor by a sum, powers of two by the shift of the access.
                let n = c.trailing_zeros().min(2);
                let odd = c >> n;
                if odd > 2 && (odd - 1).is_power_of_two() && odd <= 17 {
                    let by = (odd - 1).trailing_zeros() as u8;
                    return Some((Opnd::of(self.iadd(32, false, x, x, by), Size::B32), n as u8));
                }
                let c = self.int(c, Size::B32);
                Some((Opnd::of(self.imadd(32, false, [x, c, Opnd::imm(0)], 0), Size::B32), 0))
            }
            Op::IAdd => {
                let (x, sx) = self.scaled(args[0], log)?;
                let (y, sy) = self.scaled(args[1], log)?;
                if sx == sy && sx > 0 {
                    return Some((Opnd::of(self.iadd(32, false, x, y, 0), Size::B32), sx));
                }
                let ((x, sx), (y, sy)) =
                    if sx > 0 { ((y, sy), (x, sx)) } else { ((x, sx), (y, sy)) };
                if sx > 0 {
                    return None;
                }
                Some((Opnd::of(self.iadd(32, false, x, y, sy), Size::B32), 0))
            }
            _ => None,
        }
    }

    /// A byte offset in elements of `1 << log` bytes.
    pub(super) fn elements(&mut self, v: Value, log: u32) -> (Opnd, u8) {
        if let Some(r) = self.scaled(v, log) {
            return r;
        }
        let x = self.isrc(v, 0);
        (Opnd::of(self.bfeil(32, x, Opnd::imm(log as u8), 0), Size::B32), 0)
    }

    /// A whole 32-bit register, as index operands need.
    pub(super) fn word(&mut self, o: Opnd) -> Opnd {
        match o.place {
            Place::Val(_) if o.size == Size::B32 && !o.sx => o,
            _ => Opnd::of(self.iadd(32, false, o, Opnd::imm(0), 0), Size::B32),
        }
    }

    fn buffer_place(
        &mut self,
        i: Inst,
        handle: Value,
        off: Value,
        m: Mem,
        ty: Type,
    ) -> Result<Device> {
        let base = match self.buffer_address(i, handle)? {
            Comp::Uniform(h) if h < 256 => Opnd::uniform(h, Size::B64),
            c => Opnd::of(self.reg(c, LONG), Size::B64),
        };
        let log = ty.elem_bytes().min(4).trailing_zeros();
        let mut at =
            Device { base, index: Opnd::imm(0), imm: Some(0), extend: Extend::Unsigned, shift: 0 };
        let low = (1i64 << log) - 1;
        let total = match self.comp(off, 0) {
            Comp::Const(c) => Some(i64::from((c as u32).wrapping_add(m.offset as u32))),
            _ => None,
        };
        // Later chunks of a wide access go by the immediate: leave space for them.
        if let Some(t) = total
            && t & low == 0
            && (t >> log) < i64::from(i16::MAX) - 64
        {
            at.imm = Some((t >> log) as i32);
            return Ok(at);
        }
        let (mut x, mut shift) = match total {
            Some(t) => (self.int(t as u64 >> log, Size::B32), 0),
            None => self.elements(off, log),
        };
        if total.is_none() && m.offset != 0 {
            let c = i64::from(m.offset) >> log;
            let (negate, c) = (c < 0, c.unsigned_abs());
            let c = self.int(c, Size::B32);
            // c + (x << shift); subtracting, x must be whole.
            x = if negate {
                let whole = if shift > 0 {
                    Opnd::of(self.iadd(32, false, Opnd::imm(0), x, shift), Size::B32)
                } else {
                    x
                };
                Opnd::of(self.iadd(32, true, whole, c, 0), Size::B32)
            } else {
                Opnd::of(self.iadd(32, false, c, x, shift), Size::B32)
            };
            shift = 0;
        }
        at.index = self.word(x);
        at.imm = None;
        at.shift = shift;
        Ok(at)
    }

    fn global_place(&mut self, addr: Value, m: Mem, ty: Type) -> Device {
        let log = ty.elem_bytes().min(4).trailing_zeros();
        let low = (1i64 << log) - 1;
        let mut at = Device {
            base: Opnd::imm(0),
            index: Opnd::imm(0),
            imm: Some(0),
            extend: Extend::Unsigned,
            shift: 0,
        };
        // base + 32-bit offset, the base in uniforms.
        if m.offset == 0
            && let Some(d) = self.def_inst(addr)
            && self.s.insts[d].op == Op::IAdd
        {
            let args = [self.s.arg(d, 0), self.s.arg(d, 1)];
            for (base, off) in [(args[0], args[1]), (args[1], args[0])] {
                let Comp::Uniform(h) = self.comp(base, 0) else { continue };
                if h >= 256 {
                    continue;
                }
                // The index counts elements, or up to four of them.
                let (index, shift) = match (self.zero_extended(off), self.shifted_word(off)) {
                    (Some(bytes), _) if log == 0 => (self.isrc(bytes, 0), 0),
                    (Some(bytes), _) => {
                        let x = self.isrc(bytes, 0);
                        (Opnd::of(self.bfeil(32, x, Opnd::imm(log as u8), 0), Size::B32), 0)
                    }
                    // Further elements are added to the index, which then must not lose bits.
                    (None, Some((word, by)))
                        if (log..=log + 2).contains(&by) && Self::shape(ty).1 <= MAX_ELEMENTS =>
                    {
                        (self.isrc(word, 0), (by - log) as u8)
                    }
                    _ => continue,
                };
                at.base = Opnd::uniform(h, Size::B64);
                at.index = self.word(index);
                at.shift = shift;
                at.imm = None;
                return at;
            }
        }
        let (mut root, mut offset) = (addr, i64::from(m.offset));
        while let Some(d) = self.def_inst(root)
            && self.s.insts[d].op == Op::IAdd
        {
            let (a, b) = (self.s.arg(d, 0), self.s.arg(d, 1));
            let (next, c) = match (self.s.as_const(a), self.s.as_const(b)) {
                (_, Some(c)) => (a, c),
                (Some(c), _) => (b, c),
                _ => break,
            };
            let Some(sum) = offset.checked_add(c as i64) else { break };
            if sum & low != 0 || (sum >> log).abs() > 30_000 {
                break;
            }
            (root, offset) = (next, sum);
        }
        let direct = offset & low == 0 && (offset >> log).abs() < 30_000;
        let c = self.comp(root, 0);
        at.base = match c {
            Comp::Uniform(h) if h < 256 => Opnd::uniform(h, Size::B64),
            c => Opnd::of(self.reg(c, LONG), Size::B64),
        };
        if direct {
            at.imm = Some((offset >> log) as i32);
            // An immediate of 16 bits extends as the instruction says.
            if offset < 0 {
                at.extend = Extend::Signed;
            }
        } else {
            let c = self.mov_imm(m.offset as u32 as u64, WORD);
            let mut o = Opnd::of(c, Size::B32);
            o.sx = true;
            let base = self.reg(self.comp(root, 0), LONG);
            at.base = Opnd::of(self.iadd(64, false, Opnd::of(base, Size::B64), o, 0), Size::B64);
        }
        at
    }

    fn load_into(&mut self, v: Val, at: Device, bits: u8, n: usize, access: Access) {
        let coherent = access.intersects(Access::COHERENT | Access::VOLATILE);
        let inst = DeviceLoad {
            format: format(bits),
            mask: mask(n),
            r: RegVec::new(UNASSIGNED, size_of(bits.min(32)), n as u8),
            base: at.base(),
            index: at.index(),
            extend: at.extend,
            shift: at.shift,
            u4: if coherent { 7 } else { 4 },
            ..DeviceLoad::default()
        };
        let regs = at.regs();
        self.emit(MOp::Isa(inst.into()), &[v], &regs);
    }

    /// Calls `f` with each run of at most four elements: first element and number.
    fn chunks(total: usize, mut f: impl FnMut(usize, usize)) {
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            f(k, n);
            k += n;
        }
    }

    /// A place some elements on, computing it when it is no immediate.
    fn step(&mut self, at: Device, k: usize) -> Device {
        if k == 0 {
            return at;
        }
        match at.further(k as i32) {
            Some(at) => at,
            None => {
                let x = Opnd::imm(k as u8);
                let sum = if at.imm.is_some() {
                    at.index
                } else {
                    Opnd::of(self.iadd(32, false, x, at.index, at.shift), Size::B32)
                };
                Device { index: sum, shift: 0, ..at }
            }
        }
    }

    /// Element bits and number of elements of an access.
    pub(super) fn shape(ty: Type) -> (u8, usize) {
        match ty.bits() {
            64 => (32, 2 * usize::from(ty.comps())),
            1 => (8, usize::from(ty.comps())),
            b => (b, usize::from(ty.comps())),
        }
    }

    /// The components of a value whose elements are in `vecs` (up to four in each).
    pub(super) fn unpack(&mut self, r: Value, vecs: &[(Val, usize)]) {
        let ty = self.ty(r);
        let (bits, _) = Self::shape(ty);
        let mut comps = Vec::with_capacity(usize::from(ty.comps()));
        for &(v, n) in vecs {
            if n == 1 {
                comps.push(Comp::Val(v));
            } else if ty.bits() == 64 {
                let parts: Vec<Val> = (0..n / 2).map(|_| self.f.val(LONG)).collect();
                if parts.len() == 1 {
                    // A pair is the 64-bit value itself.
                    comps.push(Comp::Val(v));
                    continue;
                }
                self.emit(MOp::Split, &parts, &[v]);
                comps.extend(parts.into_iter().map(Comp::Val));
            } else {
                let parts: Vec<Val> = (0..n).map(|_| self.f.val(class_of(bits, 1))).collect();
                self.emit(MOp::Split, &parts, &[v]);
                comps.extend(parts.into_iter().map(Comp::Val));
            }
        }
        self.set(r, &comps);
    }

    /// The elements `k..k + n` of a value in consecutive registers.
    pub(super) fn pack(&mut self, v: Value, k: usize, n: usize) -> Val {
        let ty = self.ty(v);
        let (bits, _) = Self::shape(ty);
        if ty.bits() == 64 {
            let longs: Vec<Val> =
                (k / 2..(k + n) / 2).map(|c| self.reg(self.comp(v, c), LONG)).collect();
            if let [one] = longs[..] {
                return one;
            }
            let d = self.f.val(class_of(32, n as u8));
            self.emit(MOp::Collect, &[d], &longs);
            return d;
        }
        let class = class_of(bits, 1);
        let parts: Vec<Val> = (k..k + n).map(|c| self.reg(self.comp(v, c), class)).collect();
        if let [one] = parts[..] {
            return one;
        }
        let d = self.f.val(class_of(bits, n as u8));
        self.emit(MOp::Collect, &[d], &parts);
        d
    }

    fn device_load(&mut self, i: Inst, at: Device, m: Mem) -> Result<()> {
        let r = self.s.result(i);
        let (bits, total) = Self::shape(self.ty(r));
        let mut vecs = Vec::new();
        Self::chunks(total, |k, n| vecs.push((k, n)));
        let mut out = Vec::with_capacity(vecs.len());
        for (k, n) in vecs {
            let at = self.step(at, k);
            let v = self.f.val(class_of(bits, n as u8));
            self.load_into(v, at, bits, n, m.access);
            out.push((v, n));
        }
        self.unpack(r, &out);
        Ok(())
    }

    fn device_store(&mut self, v: Value, at: Device, m: Mem) {
        let (bits, total) = Self::shape(self.ty(v));
        let coherent = m.access.intersects(Access::COHERENT | Access::VOLATILE);
        let mut k = 0;
        while k < total {
            let n = (total - k).min(MAX_ELEMENTS);
            let at = self.step(at, k);
            let data = self.pack(v, k, n);
            let inst = DeviceStore {
                format: format(bits),
                mask: mask(n),
                r: RegVec::new(UNASSIGNED, size_of(bits), n as u8),
                base: at.base(),
                index: at.index(),
                extend: at.extend,
                shift: at.shift,
                u6: u8::from(coherent),
                u4: if coherent { 3 } else { 2 },
                ..DeviceStore::default()
            };
            let mut srcs = vec![data];
            srcs.extend(at.regs());
            self.emit(MOp::Isa(inst.into()), &[], &srcs);
            k += n;
        }
    }

    /// Data of an atomic: new value, then the expected one.
    pub(super) fn atomic_data(&mut self, op: AtomicOp, args: &[Value]) -> (Val, u8) {
        let regs: Vec<Val> = args.iter().map(|&a| self.reg(self.comp(a, 0), WORD)).collect();
        if op == AtomicOp::CmpXchg {
            let d = self.f.val(class_of(32, 2));
            self.emit(MOp::Collect, &[d], &[regs[1], regs[0]]);
            (d, 2)
        } else {
            (regs[0], 1)
        }
    }

    fn device_atomic(&mut self, i: Inst, op: AtomicOp, at: Device, lead: usize) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let (Some(isa), 32) = (atomic_op(op), self.ty(r).bits()) else {
            return self.refuse(i, format!("{} of {} is not compiled", op.name(), self.ty(r)));
        };
        let (data, n) = self.atomic_data(op, &s.args(i)[lead..]);
        let used = self.uses[r] > 0;
        // An atomic has no shift: the index is whole.
        let mut at = at;
        if at.imm.is_none() && at.shift > 0 {
            at.index = Opnd::of(self.iadd(32, false, Opnd::imm(0), at.index, at.shift), Size::B32);
            at.shift = 0;
        }
        let inst = Atomic {
            op: isa,
            r: RegVec::new(if used { UNASSIGNED } else { 0 }, Size::B32, u8::from(used)),
            base: at.base(),
            index: at.index(),
            extend: at.extend,
            s: RegVec::new(UNASSIGNED, Size::B32, n),
            ..Atomic::default()
        };
        let mut srcs = at.regs();
        srcs.push(data);
        self.emit_atomic(inst.into(), r, used, &srcs);
        Ok(())
    }

    /// An atomic, whose old value is a result only if something uses it.
    pub(super) fn emit_atomic(&mut self, inst: Isa, r: Value, used: bool, srcs: &[Val]) {
        if used {
            let d = self.f.val(WORD);
            self.emit(MOp::Isa(inst), &[d], srcs);
            self.set(r, &[Comp::Val(d)]);
        } else {
            self.emit(MOp::Isa(inst), &[], srcs);
        }
    }

    /// Components from 32-bit uniform words.
    fn uniform_words(
        &mut self,
        r: Value,
        offset: u32,
        source: impl Fn(u32) -> Source,
    ) -> Result<Vec<Comp>> {
        let ty = self.ty(r);
        let mut comps = Vec::with_capacity(usize::from(ty.comps()));
        for k in 0..u32::from(ty.comps()) {
            let at = offset.wrapping_add(k * ty.elem_bytes());
            let half = self.uniform(source(at & !3))?;
            comps.push(match ty.bits() {
                64 => {
                    let high = self.uniform(source(at + 4))?;
                    self.long([Comp::Uniform(half), Comp::Uniform(high)])
                }
                32 => Comp::Uniform(half),
                16 => Comp::Uniform(half + (at >> 1 & 1) as u16),
                _ => {
                    let o = Opnd::uniform(half, Size::B32);
                    Comp::Val(self.bfeil(16, o, Opnd::imm((at & 3) as u8 * 8), 8))
                }
            });
        }
        Ok(comps)
    }

    fn load_push(&mut self, i: Inst, m: Mem) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let ty = self.ty(r);
        if let Comp::Const(c) = self.comp(s.arg(i, 0), 0) {
            let offset = (c as u32).wrapping_add(m.offset as u32);
            let comps = if ty.bits() == 64 {
                let mut all = Vec::new();
                for k in 0..u32::from(ty.comps()) {
                    all.push(Comp::Uniform(
                        self.uniform(Source::PushLong { offset: offset + 8 * k })?,
                    ));
                }
                all
            } else {
                self.uniform_words(r, offset, |offset| {
                    Source::System(SystemValue::Push { offset })
                })?
            };
            self.set(r, &comps);
            return Ok(());
        }
        self.load_from(Source::PushAddress, i, m)
    }

    /// A load at a 32-bit offset from an address in a uniform.
    fn load_from(&mut self, base: Source, i: Inst, m: Mem) -> Result<()> {
        let s = self.s;
        let ty = self.ty(s.result(i));
        let base = self.uniform(base)?;
        self.constant(base);
        let log = ty.elem_bytes().min(4).trailing_zeros();
        let (x, shift) = self.elements(s.arg(i, 0), log);
        let index = match m.offset as u32 >> log {
            0 if shift == 0 => self.word(x),
            offset => {
                let c = self.int(u64::from(offset), Size::B32);
                Opnd::of(self.iadd(32, false, c, x, shift), Size::B32)
            }
        };
        let at = Device {
            base: Opnd::uniform(base, Size::B64),
            index,
            imm: None,
            extend: Extend::Unsigned,
            shift: 0,
        };
        self.device_load(i, at, m)
    }
}
