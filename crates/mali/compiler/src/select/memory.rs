//! Accesses of memory: buffers by resource tables, physical addresses, workgroup and thread memory, fast-access uniforms.
//!
//! A load of a buffer takes its handle and an offset, and checks bounds. Stores and atomics take the address of the buffer
//! (`LEA_BUFFER`), to which `SHADDX` adds the offset, or with bounds checks that of the byte.

use super::{Opnd, Select};
use crate::error::{Error, Result};
use crate::interface::{FauWord, handle};
use crate::mir::{Comp, Inst as Isa, Memory, PAIR, Val, WORD, words};
use tepui_ir::{Access, AtomicOp, Attrs, Inst, Mem, Op, Res, ResKind, Type, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::{COMPARE, UNSIGNED};
use tepui_mali_isa::modifier::{AtomicOperation, LoadLane8, LoadLane16, LoadLane32};
use tepui_mali_isa::operand::{Special, Swizzle};
use tepui_sysval::SystemValue;

/// Maximum bytes of an access.
const MAX_BYTES: u32 = 16;
/// Table whose buffers are the resource tables themselves.
const TABLES: u32 = 62;
/// Bytes of a descriptor.
const DESCRIPTOR_BYTES: u32 = 32;
/// The word of the size in a buffer's descriptor.
const SIZE_WORD: u32 = 1;

/// Destination of an access.
#[derive(Clone, Copy)]
enum Target {
    /// A buffer by its handle, at an offset.
    Buffer { handle: Opnd, offset: Comp },
    /// An address.
    Address(Opnd),
}

/// An access of consecutive bytes.
#[derive(Clone, Copy)]
struct Place {
    target: Target,
    /// Constant offset.
    offset: i32,
    memory: Memory,
    /// Alignment in bytes.
    align: u32,
    /// An access must not cross a multiple of this.
    within: Option<u32>,
}

/// Pieces of an access: first byte and bytes of each.
fn pieces(bytes: u32, elem: u32, place: &Place) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let mut at = 0;
    // Elements that are not aligned are accessed by what is.
    let unit = if elem < 4 && place.align >= 4 { 4 } else { elem.min(place.align).min(4) };
    while at < bytes {
        let mut n = (bytes - at).min(MAX_BYTES);
        if unit < 4 || place.align < 4 {
            n = n.min(unit);
        } else {
            n = if n >= 4 { n & !3 } else { elem };
        }
        if let Some(within) = place.within {
            // Of the offset only the alignment is known.
            let known = place.align.min(within);
            while n > known || at % known + n > known {
                n = if n > 4 { (n - 1) & !3 } else { n.div_ceil(2) };
            }
        }
        all.push((at, n));
        at += n;
    }
    all
}

impl Select<'_> {
    /// Selects accesses of memory; whether the instruction is one.
    pub(super) fn memory(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match s.insts[i].op {
            Op::Descriptor => {
                // Those that use it look at it.
                let r = s.result(i);
                self.set(r, &[Comp::Undef; 2]);
            }
            Op::LoadPush if s.as_const(s.arg(i, 0)).is_none() => {
                let place = self.place(i, false)?;
                self.load(i, &place)?;
            }
            Op::LoadPush | Op::LoadUniform => self.load_words(i)?,
            Op::LoadBuffer
            | Op::LoadGlobal
            | Op::LoadShared
            | Op::LoadScratch
            | Op::LoadConstant => {
                let place = self.place(i, false)?;
                self.load(i, &place)?;
            }
            Op::StoreBuffer | Op::StoreGlobal | Op::StoreShared | Op::StoreScratch => {
                let place = self.place(i, true)?;
                self.store(i, &place)?;
            }
            Op::AtomicBuffer | Op::AtomicGlobal | Op::AtomicShared => {
                let place = self.place(i, true)?;
                self.atomic(i, &place)?;
            }
            Op::BufferAddress => {
                let handle = self.buffer_handle(i, s.arg(i, 0))?;
                let pair = self.buffer_base(handle, Opnd::imm(0));
                let halves: Vec<Comp> = self.split(pair).into_iter().map(Comp::Val).collect();
                self.set(s.result(i), &halves);
            }
            Op::BufferSize => {
                let size = self.buffer_size(i)?;
                self.set(s.result(i), &[size]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The resource of a handle and the index of its element.
    pub(super) fn descriptor(&self, i: Inst, handle: Value) -> Result<(Res, Value)> {
        let s = self.s;
        let mut at = s.def_inst(handle);
        while let Some(copy) = at.filter(|&at| s.insts[at].op == Op::Copy) {
            at = s.def_inst(s.arg(copy, 0));
        }
        match at.map(|at| (at, s.insts[at].op, s.insts[at].attrs)) {
            Some((at, Op::Descriptor, Attrs::Res(res, _))) => Ok((res, s.arg(at, 0))),
            _ => self.refuse(i, "of a handle that is chosen at run time is not compiled"),
        }
    }

    /// The table of a descriptor, and its index there: a number plus what is not known.
    pub(super) fn descriptor_index(
        &mut self,
        i: Inst,
        value: Value,
        sampler: bool,
    ) -> Result<(u32, u32, Option<Val>)> {
        let s = self.s;
        let (res, index) = self.descriptor(i, value)?;
        let (set, binding) = (s.resources[res].set, s.resources[res].binding);
        let Some(place) = self.layout.find(set, binding).copied() else {
            return Err(Error::Unplaced { set, binding });
        };
        let is_combined = s.resources[res].kind == ResKind::CombinedTextureSampler;
        let first = place.first
            + match (sampler, is_combined) {
                (true, true) => place.sampler,
                (true, false) => place.lone_sampler,
                _ => 0,
            };
        if let Some(element) = s.as_const(index) {
            return Ok((place.table.into(), first + element as u32 * place.stride, None));
        }
        let index = self.word_operand(index, 0);
        let scaled = match place.stride {
            1 => self.in_register(index),
            stride => self.word(IsaOp::IMUL_I32, &[index, Opnd::imm(stride)]),
        };
        Ok((place.table.into(), first, Some(scaled)))
    }

    /// The handle of a buffer.
    fn buffer_handle(&mut self, i: Inst, value: Value) -> Result<Opnd> {
        let (table, first, rest) = self.descriptor_index(i, value, false)?;
        Ok(self.handle_of(table, first, rest))
    }

    pub(super) fn handle_of(&mut self, table: u32, first: u32, rest: Option<Val>) -> Opnd {
        let known = handle(table, first);
        match rest {
            None => Opnd::imm(known),
            Some(v) => Opnd::val(self.add_const(Opnd::val(v), known)),
        }
    }

    /// The address of a byte of a buffer.
    fn buffer_base(&mut self, handle: Opnd, offset: Opnd) -> Val {
        let d = self.f.val(PAIR);
        let inst = Isa::new(IsaOp::LEA_BUFFER).staged(0, 2);
        self.isa(inst, &[d], &[], &[offset, handle]);
        d
    }

    /// The size of a buffer: a word of its descriptor.
    fn buffer_size(&mut self, i: Inst) -> Result<Comp> {
        let (table, first, rest) = self.descriptor_index(i, self.s.arg(i, 0), false)?;
        Ok(Comp::Val(self.descriptor_word(table, first, rest, SIZE_WORD)))
    }

    /// A word of a descriptor, which the table of tables has.
    pub(super) fn descriptor_word(
        &mut self,
        table: u32,
        first: u32,
        rest: Option<Val>,
        word: u32,
    ) -> Val {
        let at = first * DESCRIPTOR_BYTES + 4 * word;
        let offset = match rest {
            None => Opnd::imm(at),
            Some(v) => {
                let inst = Isa::new(IsaOp::LSHIFT_OR_I32);
                let bytes = self.def(inst, WORD, &[Opnd::val(v), Opnd::imm(5), Opnd::imm(0)]);
                Opnd::val(self.add_const(Opnd::val(bytes), at))
            }
        };
        let d = self.f.val(WORD);
        let inst = Isa::new(IsaOp::LD_BUFFER_I32).staged(0, 1).flag(&UNSIGNED, true);
        self.isa(inst, &[d], &[], &[offset, Opnd::imm(handle(TABLES, table))]);
        d
    }

    fn place(&mut self, i: Inst, by_address: bool) -> Result<Place> {
        let s = self.s;
        let (Attrs::Mem(mem) | Attrs::Atomic(_, mem)) = s.insts[i].attrs else {
            return self.refuse(i, "has no memory attributes");
        };
        let align = 1u32 << mem.align_log2.min(4);
        let mut place = Place {
            target: Target::Address(Opnd::imm(0)),
            offset: mem.offset,
            memory: Memory::Global,
            align,
            within: None,
        };
        match s.insts[i].op {
            Op::LoadBuffer | Op::StoreBuffer | Op::AtomicBuffer => {
                if by_address {
                    place = self.addressed(i, &mem, place)?;
                } else if let Some(base) = self.load_address(i, &mem) {
                    place = self.offset_from(base, s.arg(i, 1), place);
                } else {
                    let handle = self.buffer_handle(i, s.arg(i, 0))?;
                    let offset = self.comp(s.arg(i, 1), 0);
                    place.target = Target::Buffer { handle, offset };
                }
            }
            Op::LoadGlobal | Op::StoreGlobal | Op::AtomicGlobal => {
                let halves = [0, 1].map(|k| self.comp(s.arg(i, 0), k));
                place.target = Target::Address(self.pair_of(halves));
            }
            Op::LoadConstant | Op::LoadPush => {
                let half = match s.insts[i].op {
                    Op::LoadPush => FauWord::PushAddress,
                    _ => FauWord::DataAddress,
                };
                let pair = self.fau.pair([0, 1].map(half));
                let Some(word) = pair else { return Err(super::full()) };
                place = self.offset_from(Opnd::uniform(word), s.arg(i, 0), place);
                place.memory = Memory::None;
            }
            Op::LoadShared | Op::StoreShared | Op::AtomicShared => {
                let base = Opnd::special(Special::WorkgroupLocalPointer, 0);
                place = self.offset_from(base, s.arg(i, 0), place);
                place.memory = Memory::Shared;
            }
            _ => {
                let base = Opnd::special(Special::ThreadLocalPointer, 0);
                place = self.offset_from(base, s.arg(i, 0), place);
                place.memory = Memory::Scratch;
                place.within = Some(16);
            }
        }
        let unchanged =
            mem.access.contains(Access::CONST) && !mem.access.contains(Access::VOLATILE);
        if unchanged && matches!(s.insts[i].op, Op::LoadBuffer | Op::LoadGlobal) {
            place.memory = Memory::None;
        }
        Ok(place)
    }

    /// Two words as an operand of 64 bits that is not extended.
    fn pair_of(&mut self, halves: [Comp; 2]) -> Opnd {
        let o = self.wide_of(halves);
        if o.swizzle == Swizzle::Identity {
            return o;
        }
        let words = halves.map(|c| self.register(c));
        Opnd::val(self.collect(&words))
    }

    /// The address of a buffer, with the offset.
    fn addressed(&mut self, i: Inst, mem: &Mem, place: Place) -> Result<Place> {
        let (buffer, offset) = (self.s.arg(i, 0), self.s.arg(i, 1));
        if mem.access.contains(Access::ROBUST) {
            let handle = self.buffer_handle(i, buffer)?;
            let offset = self.sum_of(self.comp(offset, 0), mem.offset as u32);
            let offset = self.opnd(offset);
            let target = Target::Address(Opnd::val(self.buffer_base(handle, offset)));
            return Ok(Place { target, offset: 0, ..place });
        }
        let base = match self.buffer_address(i) {
            Some(base) => base,
            None => {
                let handle = self.buffer_handle(i, buffer)?;
                Opnd::val(self.buffer_base(handle, Opnd::imm(0)))
            }
        };
        Ok(self.offset_from(base, offset, place))
    }

    /// A word plus a number.
    fn sum_of(&mut self, c: Comp, n: u32) -> Comp {
        match c {
            Comp::Const(k) => Comp::Const(u64::from((k as u32).wrapping_add(n))),
            _ if n == 0 => c,
            _ => {
                let o = self.opnd(c);
                Comp::Val(self.add_const(o, n))
            }
        }
    }

    /// A base of 64 bits plus an offset of 32, which wraps at 32 bits together with the constant one.
    fn offset_from(&mut self, base: Opnd, value: Value, place: Place) -> Place {
        const LIMIT: i32 = (1 << 15) - 32;
        let offset = self.comp(value, 0);
        if let Comp::Const(n) = offset {
            let sum = (n as i32).wrapping_add(place.offset);
            if (0..LIMIT).contains(&sum) {
                return Place { target: Target::Address(base), offset: sum, ..place };
            }
        }
        // A small offset that is not negative leaves the sum below 2^32 wherever the access is inside.
        let (offset, shift, rest) = match (0..LIMIT).contains(&place.offset) {
            true => {
                let (offset, shift) = self.shifted_offset(value);
                (offset, shift, place.offset)
            }
            false => (self.sum_of(offset, place.offset as u32), 0, 0),
        };
        let v = self.register(offset);
        let ops = [base, Opnd::val(v).part(Swizzle::W0)];
        let pair = self.def(Isa::new(IsaOp::SHADDX_U64).immediate(0, shift.into()), PAIR, &ops);
        Place { target: Target::Address(Opnd::val(pair)), offset: rest, ..place }
    }

    /// Push constants, and words of the driver.
    fn load_words(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        let (r, Attrs::Mem(m)) = (s.result(i), s.insts[i].attrs) else {
            return self.refuse(i, "has no memory attributes");
        };
        let Some(at) = s.as_const(s.arg(i, 0)) else {
            return self
                .refuse(i, "at an offset that is not known before is not compiled for Mali");
        };
        let at = (at as u32).wrapping_add(m.offset as u32);
        let bytes = self.ty(r).elem_bytes().min(4);
        let mut comps = Vec::new();
        for k in 0..self.count(r) as u32 {
            let byte = at + bytes * k;
            if !byte.is_multiple_of(bytes) {
                return self.refuse(i, "at an offset that is not aligned is not compiled");
            }
            let offset = byte & !3;
            let word = match s.insts[i].op {
                Op::LoadPush => FauWord::System(SystemValue::Push { offset }, 0),
                _ => self.pushed.word(offset),
            };
            let c = self.fau_word(word)?;
            comps.push(self.above(c, 8 * (byte % 4)));
        }
        self.set(r, &comps);
        Ok(())
    }

    fn load(&mut self, i: Inst, place: &Place) -> Result<()> {
        let r = self.s.result(i);
        let ty = self.ty(r);
        let bytes = ty.size_bytes();
        let mut words: Vec<Comp> = Vec::new();
        let mut narrow: Vec<(u32, u32, Comp)> = Vec::new();
        for (at, n) in pieces(bytes, ty.elem_bytes(), place) {
            let vals = self.load_piece(place, at, n);
            if n >= 4 {
                for (k, v) in vals.iter().enumerate() {
                    narrow.push((at + 4 * k as u32, 4, Comp::Val(*v)));
                }
            } else {
                narrow.push((at, n, Comp::Val(vals[0])));
            }
        }
        let elem = ty.elem_bytes().min(4);
        for at in (0..bytes).step_by(elem as usize) {
            let c = self.part_of(&narrow, at, elem);
            words.push(c);
        }
        self.set(r, &words);
        Ok(())
    }

    /// The bytes from `at` on of loaded pieces.
    fn part_of(&mut self, pieces: &[(u32, u32, Comp)], at: u32, bytes: u32) -> Comp {
        let within = pieces.iter().find(|p| p.0 <= at && at + bytes <= p.0 + p.1);
        if let Some(&(first, _, c)) = within {
            return self.above(c, 8 * (at - first));
        }
        // Smaller pieces, which are zero above their bytes.
        let mut sum: Option<Val> = None;
        for &(first, _, c) in pieces.iter().filter(|p| p.0 >= at && p.0 < at + bytes) {
            let piece = self.opnd(c);
            let before = sum.map_or(Opnd::imm(0), Opnd::val);
            let shift = Opnd::imm(8 * (first - at));
            sum = Some(self.word(IsaOp::LSHIFT_OR_I32, &[piece, shift, before]));
        }
        sum.map_or(Comp::Undef, Comp::Val)
    }

    fn load_piece(&mut self, place: &Place, at: u32, bytes: u32) -> Vec<Val> {
        let count = bytes.div_ceil(4) as u8;
        let d = self.f.val(words(count));
        let by_table = matches!(place.target, Target::Buffer { .. });
        let op = match (bytes, by_table) {
            (1, false) => IsaOp::LOAD_I8,
            (2, false) => IsaOp::LOAD_I16,
            (4, false) => IsaOp::LOAD_I32,
            (8, false) => IsaOp::LOAD_I64,
            (12, false) => IsaOp::LOAD_I96,
            (_, false) => IsaOp::LOAD_I128,
            (1, true) => IsaOp::LD_BUFFER_I8,
            (2, true) => IsaOp::LD_BUFFER_I16,
            (4, true) => IsaOp::LD_BUFFER_I32,
            (8, true) => IsaOp::LD_BUFFER_I64,
            (12, true) => IsaOp::LD_BUFFER_I96,
            (_, true) => IsaOp::LD_BUFFER_I128,
        };
        let inst = Isa::new(op).staged(0, count).flag(&UNSIGNED, true).of(place.memory);
        let inst = match bytes {
            1 => inst.with(LoadLane8::W0),
            2 => inst.with(LoadLane16::W0),
            4 => inst.with(LoadLane32::W0),
            _ => inst,
        };
        match place.target {
            Target::Buffer { handle, offset } => {
                let offset = self.sum_of(offset, (place.offset as u32).wrapping_add(at));
                let ops = [self.opnd(offset), handle];
                self.isa(inst, &[d], &[], &ops);
            }
            Target::Address(address) => {
                let (address, offset) = self.reachable(address, place.offset, at);
                self.isa(inst.immediate(0, offset), &[d], &[], &[address]);
            }
        }
        self.split(d)
    }

    /// An address and an offset that an access can hold.
    fn reachable(&mut self, address: Opnd, offset: i32, at: u32) -> (Opnd, i64) {
        let sum = i64::from(offset) + i64::from(at);
        if i16::try_from(sum).is_ok() {
            return (address, sum);
        }
        let constant = [sum as u64, (sum >> 32) as u64].map(|n| Comp::Const(n & 0xffff_ffff));
        let words = constant.map(|c| self.register(c));
        let constant = Opnd::val(self.collect(&words));
        let sum = self.def(Isa::new(IsaOp::IADD_U64), PAIR, &[address, constant]);
        (Opnd::val(sum), 0)
    }

    fn store(&mut self, i: Inst, place: &Place) -> Result<()> {
        let s = self.s;
        let value = s.args(i)[s.args(i).len() - 1];
        let ty = self.ty(value);
        let comps = self.all_comps(&[value]);
        let (bytes, elem) = (ty.size_bytes(), ty.elem_bytes());
        let words = if elem < 4 { self.packed(&comps, 8 * elem as u8) } else { comps.clone() };
        for (at, n) in pieces(bytes, elem, place) {
            let staged: Vec<Val> = if n >= 4 {
                (at / 4..(at + n) / 4).map(|w| self.register(words[w as usize])).collect()
            } else if n == elem {
                vec![self.register(comps[(at / elem) as usize])]
            } else {
                let c = self.above(words[at as usize / 4], 8 * (at % 4));
                vec![self.register(c)]
            };
            self.store_piece(place, at, n, &staged);
        }
        Ok(())
    }

    fn store_piece(&mut self, place: &Place, at: u32, bytes: u32, vals: &[Val]) {
        let op = match bytes {
            1 => IsaOp::STORE_I8,
            2 => IsaOp::STORE_I16,
            4 => IsaOp::STORE_I32,
            8 => IsaOp::STORE_I64,
            12 => IsaOp::STORE_I96,
            _ => IsaOp::STORE_I128,
        };
        let staged = self.collect(vals);
        let Target::Address(address) = place.target else { return };
        let (address, offset) = self.reachable(address, place.offset, at);
        let inst = Isa::new(op).staged(0, vals.len() as u8).of(place.memory);
        self.isa(inst.immediate(0, offset), &[], &[staged], &[address]);
    }

    fn atomic(&mut self, i: Inst, place: &Place) -> Result<()> {
        let s = self.s;
        let Attrs::Atomic(op, _) = s.insts[i].attrs else {
            return self.refuse(i, "has no atomic attributes");
        };
        let args = s.args(i);
        let fixed = if s.insts[i].op == Op::AtomicBuffer { 2 } else { 1 };
        let data = &args[fixed..];
        let ty = self.ty(s.result(i));
        let Target::Address(address) = place.target else {
            return self.refuse(i, "has no address");
        };
        let comps = self.atomic_raw(
            i,
            op,
            ty,
            [address, Opnd::imm(place.offset as u32)],
            data,
            place.memory,
        )?;
        self.set(s.result(i), &comps);
        Ok(())
    }

    /// An atomic at an address and a constant offset; `data` are the operands. Returns the old value.
    pub(super) fn atomic_raw(
        &mut self,
        i: Inst,
        op: AtomicOp,
        ty: Type,
        [address, offset]: [Opnd; 2],
        data: &[Value],
        memory: Memory,
    ) -> Result<Vec<Comp>> {
        let wide = match ty.bits() {
            32 => false,
            64 => true,
            _ => return self.refuse(i, format!("of {ty} is not compiled for Mali")),
        };
        let Some(operation) = operation(op) else {
            return self.refuse(i, format!("{} of floats is not compiled for Mali", op.name()));
        };
        let compares = op == AtomicOp::CmpXchg;
        // The new value comes first, then the compared one.
        let mut comps: Vec<Comp> = Vec::new();
        for &v in data.iter().rev() {
            comps.extend(self.all_comps(&[v]));
        }
        let staged: Vec<Val> = comps.iter().map(|&c| self.register(c)).collect();
        let count = staged.len() as u8;
        let staged = self.collect(&staged);
        let offset = offset.known().unwrap_or(0) as i32;
        let (address, offset) = match (0..256).contains(&offset) {
            true => (address, i64::from(offset)),
            false => {
                let halves = [offset as u32, (offset >> 31) as u32];
                let words = halves.map(|n| self.mov_imm(n));
                let constant = Opnd::val(self.collect(&words));
                let sum = self.def(Isa::new(IsaOp::IADD_U64), PAIR, &[address, constant]);
                (Opnd::val(sum), 0)
            }
        };
        let (result_words, has_result) =
            (if wide { 2 } else { 1 }, self.uses[self.s.result(i)] > 0);
        if !has_result && !compares && op != AtomicOp::Xchg {
            let isa = if wide { IsaOp::ATOM_I64 } else { IsaOp::ATOM_I32 };
            let inst = Isa::new(isa).with(operation).staged(0, count).of(memory);
            self.isa(inst.immediate(0, offset), &[], &[staged], &[address]);
            return Ok(vec![Comp::Undef; result_words]);
        }
        let isa = if wide { IsaOp::ATOM_RETURN_I64 } else { IsaOp::ATOM_RETURN_I32 };
        let mut inst = Isa::new(isa).with(operation).flag(&COMPARE, compares);
        // The result takes the registers of the operands, of which the compared value is left.
        inst = inst.staged(0, result_words as u8).staged(1, count).of(memory);
        inst.staging[0].units = count;
        let d = self.f.val(words(count));
        self.isa(inst.immediate(0, offset), &[d], &[staged], &[address]);
        Ok(self.split(d).into_iter().take(result_words).map(Comp::Val).collect())
    }
}

fn operation(op: AtomicOp) -> Option<AtomicOperation> {
    Some(match op {
        AtomicOp::Add => AtomicOperation::Aadd,
        AtomicOp::SMin => AtomicOperation::Asmin,
        AtomicOp::SMax => AtomicOperation::Asmax,
        AtomicOp::UMin => AtomicOperation::Aumin,
        AtomicOp::UMax => AtomicOperation::Aumax,
        AtomicOp::And => AtomicOperation::Aand,
        AtomicOp::Or => AtomicOperation::Aor,
        AtomicOp::Xor => AtomicOperation::Axor,
        AtomicOp::Xchg | AtomicOp::CmpXchg => AtomicOperation::Axchg,
        AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => return None,
    })
}
