//! Accesses of buffers and workgroup memory.
//!
//! Double words go by untyped surface messages of up to four components, smaller or unaligned elements by byte scattered
//! messages. Accesses past the end of a buffer are the surface's to refuse: loads give zero, stores do nothing.

use super::alu::op;
use super::{Comp, Select, Source};
use crate::bind::{Constant, Surface};
use crate::error::Result;
use crate::mir::{self, Header, Inst, Message, MessageEffect, Operand};
use crate::set_memory::buffer;
use tepui_intel_isa::descriptor::{self, LOCAL, STATELESS_NON_COHERENT};
use tepui_intel_isa::message::{AtomicOp as Atomic, DataOp0, DataOp1, FloatAtomicOp};
use tepui_intel_isa::{Condition, Opcode, Sfid, Type as Ty};
use tepui_ir::{self as ir, Access, AtomicOp, Attrs, Mem, Op, Type};
use tepui_regalloc::Val;
use tepui_sysval::SystemValue;

/// Maximum number of components of an untyped message.
pub(super) const MAX_COMPONENTS: usize = 4;

/// Why accesses are refused whose descriptor is not known when compiling.
const UNKNOWN: &str = "of a descriptor that is not known before is not compiled yet";

/// The atomic operation on integers, if it is one.
pub(super) fn atomic(o: AtomicOp) -> Option<Atomic> {
    Some(match o {
        AtomicOp::Add => Atomic::Add,
        AtomicOp::SMin => Atomic::IMin,
        AtomicOp::UMin => Atomic::UMin,
        AtomicOp::SMax => Atomic::IMax,
        AtomicOp::UMax => Atomic::UMax,
        AtomicOp::And => Atomic::And,
        AtomicOp::Or => Atomic::Or,
        AtomicOp::Xor => Atomic::Xor,
        AtomicOp::Xchg => Atomic::Mov,
        AtomicOp::CmpXchg => Atomic::CmpWr,
        AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => return None,
    })
}

/// A source of a message.
#[derive(Clone, Copy)]
pub(super) enum Payload<'a> {
    /// Nothing.
    None,
    /// The handle of the surface.
    Scalar(Val),
    /// A header.
    Header(Val),
    /// Double words of each channel.
    Planes(&'a [Comp]),
    /// An address of 64 bits of each channel, by its halves.
    Address([Comp; 2]),
}

/// The access of a memory instruction: the surface, and where the offset and the data are among the operands.
struct Place {
    surface: u8,
    mem: Mem,
    offset: usize,
}

impl Place {
    /// Whether it is the thread's scratch memory, whose base is in the header of messages.
    fn is_scratch(&self) -> bool {
        self.surface == STATELESS_NON_COHERENT
    }
}

impl Select<'_> {
    /// Selects accesses of memory; whether the instruction is one.
    pub(super) fn memory(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        match s.insts[i].op {
            Op::LoadPush => self.load_push(i).map(|()| true),
            Op::BufferSize => {
                let size = match self.map.surface_of(s, s.arg(i, 0)) {
                    Some(index) => {
                        let at = self.map.dword(Constant::BufferSize(index));
                        at.map_or(Comp::Undef, Comp::Fixed)
                    }
                    None => self.record(i, s.arg(i, 0), buffer::SIZE, 1)?[0],
                };
                self.set(s.result(i), &[size]);
                Ok(true)
            }
            Op::BufferAddress => {
                let halves = match self.map.surface_of(s, s.arg(i, 0)) {
                    Some(index) => [false, true].map(|high| {
                        let at = self.map.dword(Constant::BufferAddress(index, high));
                        at.map_or(Comp::Undef, Comp::Fixed)
                    }),
                    None => self.buffer_address(i, s.arg(i, 0))?,
                };
                self.set(s.result(i), &halves);
                Ok(true)
            }
            Op::LoadGlobal | Op::StoreGlobal | Op::AtomicGlobal => self.global(i).map(|()| true),
            Op::LoadBuffer | Op::LoadShared | Op::LoadConstant | Op::LoadScratch => {
                let place = self.place(i)?;
                self.load(i, &place).map(|()| true)
            }
            Op::StoreBuffer | Op::StoreShared | Op::StoreScratch => {
                let place = self.place(i)?;
                self.store(i, &place).map(|()| true)
            }
            Op::AtomicBuffer | Op::AtomicShared => {
                let place = self.place(i)?;
                self.atomic(i, &place).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    fn place(&mut self, i: ir::Inst) -> Result<Place> {
        let s = self.s;
        let (Attrs::Mem(mem) | Attrs::Atomic(_, mem)) = s.insts[i].attrs else {
            return self.refuse(i, "has no memory attributes");
        };
        let (surface, offset) = match s.insts[i].op {
            Op::LoadShared | Op::StoreShared | Op::AtomicShared => (Some(LOCAL), 0),
            Op::LoadConstant => (self.map.surface(Surface::Data), 0),
            Op::LoadScratch | Op::StoreScratch => (Some(STATELESS_NON_COHERENT), 0),
            _ => (self.map.surface_of(s, s.arg(i, 0)), 1),
        };
        match surface {
            Some(surface) => Ok(Place { surface, mem, offset }),
            None => self.refuse(i, UNKNOWN),
        }
    }

    fn load_push(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let (r, Attrs::Mem(m)) = (s.result(i), s.insts[i].attrs) else {
            return self.refuse(i, "has no memory attributes");
        };
        let Some(at) = s.as_const(s.arg(i, 0)) else {
            return self.load_push_at(i, m);
        };
        let at = (at as u32).wrapping_add(m.offset as u32);
        let ty = self.ty(r);
        let mut all = Vec::with_capacity(self.dwords(r));
        let bytes = ty.elem_bytes().min(4);
        for k in 0..self.dwords(r) as u32 {
            let byte = at + bytes * k;
            if !byte.is_multiple_of(bytes) {
                return self.refuse(i, "at an offset that is not aligned is not compiled yet");
            }
            let dword = self.map.dword(Constant::System(SystemValue::Push { offset: byte & !3 }));
            let c = dword.map_or(Comp::Undef, Comp::Fixed);
            all.push(self.above(c, 8 * (byte % 4) as u8));
        }
        self.set(r, &all);
        Ok(())
    }

    /// Push constants at an offset that is not known when compiling: registers through address registers. Past the end it
    /// is the last word.
    fn load_push_at(&mut self, i: ir::Inst, m: Mem) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let words = self.map.push_words();
        let first = self.map.dword(Constant::System(SystemValue::Push { offset: 0 })).unwrap_or(0);
        let bytes = self.ty(r).elem_bytes().min(4);
        let base = self.comp(s.arg(i, 0), 0);
        let immediate =
            |n: u32| Source { operand: Operand::immediate(Ty::UD, n.into()), val: None };
        let mut all = Vec::with_capacity(self.dwords(r));
        for k in 0..self.dwords(r) as u32 {
            let Some(last) = words.checked_sub(1) else {
                all.push(Comp::Undef);
                continue;
            };
            let byte = self.offset(base, (m.offset as u32).wrapping_add(bytes * k));
            let byte = self.register(byte, Ty::UD);
            let word = self.def(op(Opcode::Shr), Ty::UD, &[byte, immediate(2)]);
            let word = self.read(word, Ty::UD);
            let least = mir::Op::Alu {
                opcode: Opcode::Sel,
                function: 0,
                condition: Condition::Less,
                saturate: false,
            };
            let word = self.def(least, Ty::UD, &[word, immediate(last)]);
            let file = Operand::new(mir::Place::Fixed(first), Ty::UD);
            let sources = [Source { operand: file, val: None }, self.read(word, Ty::UD)];
            let v = match self.f.vals[word] == mir::SCALAR {
                true => self.def_scalar(mir::Op::ReadLane, Ty::UD, &sources),
                false => self.def_plane(mir::Op::Shuffle, Ty::UD, &sources),
            };
            if bytes == 4 {
                all.push(Comp::Val(v));
                continue;
            }
            let rest = self.def(op(Opcode::And), Ty::UD, &[byte, immediate(3)]);
            let rest = self.read(rest, Ty::UD);
            let bits = self.def(op(Opcode::Shl), Ty::UD, &[rest, immediate(3)]);
            let sources = [self.read(v, Ty::UD), self.read(bits, Ty::UD)];
            all.push(Comp::Val(self.def(op(Opcode::Shr), Ty::UD, &sources)));
        }
        self.set(r, &all);
        Ok(())
    }

    /// The bits from `at` on of a component, with any bits above them.
    pub(super) fn above(&mut self, c: Comp, at: u8) -> Comp {
        if at == 0 || c == Comp::Undef {
            return c;
        }
        let x = self.register(c, Ty::UD);
        let n = Source { operand: Operand::immediate(Ty::UD, at.into()), val: None };
        Comp::Val(self.def(op(Opcode::Shr), Ty::UD, &[x, n]))
    }

    /// An offset in bytes, plus a constant.
    fn offset(&mut self, c: Comp, add: u32) -> Comp {
        match (c, add) {
            (_, 0) => c,
            (Comp::Const(k), _) => Comp::Const(k.wrapping_add(add)),
            _ => {
                let x = self.register(c, Ty::D);
                let y = Source { operand: Operand::immediate(Ty::D, add.into()), val: None };
                Comp::Val(self.def(op(Opcode::Add), Ty::D, &[x, y]))
            }
        }
    }

    /// The address of an access, plus a constant. Scratch memory has the double words of all channels in a row, so that
    /// channels which access the same offset access a block.
    fn address(&mut self, place: &Place, base: Comp, add: u32) -> Comp {
        let add = (place.mem.offset as u32).wrapping_add(add);
        if !place.is_scratch() {
            return self.offset(base, add);
        }
        let width = u32::from(self.width);
        let shift = |n: u32| Source { operand: Operand::immediate(Ty::UD, n.into()), val: None };
        let read = |c: &Self, v| c.read(v, Ty::UD);
        let lane = self.lane();
        let lane = self.def(op(Opcode::Shl), Ty::UD, &[read(self, lane), shift(2)]);
        if let Comp::Const(at) = base {
            let at = at.wrapping_add(add);
            return self.offset(Comp::Val(lane), (at & !3).wrapping_mul(width) + (at & 3));
        }
        let at = self.offset(base, add);
        let at = self.register(at, Ty::UD);
        let (dwords, rest) = if place.mem.align_log2 >= 2 && add.is_multiple_of(4) {
            (at, None)
        } else {
            let dwords = self.def(op(Opcode::And), Ty::UD, &[at, shift(!3)]);
            let rest = self.def(op(Opcode::And), Ty::UD, &[at, shift(3)]);
            (read(self, dwords), Some(rest))
        };
        let rows = self.def(op(Opcode::Shl), Ty::UD, &[dwords, shift(width.trailing_zeros())]);
        let mut sum = self.def(op(Opcode::Add), Ty::UD, &[read(self, rows), read(self, lane)]);
        if let Some(rest) = rest {
            sum = self.def(op(Opcode::Add), Ty::UD, &[read(self, sum), read(self, rest)]);
        }
        Comp::Val(sum)
    }

    /// Whether elements are accessed as double words of several components.
    fn is_dwords(ty: Type, place: &Place) -> bool {
        ty.bits() >= 32 && place.mem.align_log2 >= 2 && !place.is_scratch()
    }

    fn load(&mut self, i: ir::Inst, place: &Place) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let (ty, count) = (self.ty(r), self.dwords(r));
        let base = self.comp(s.arg(i, place.offset), 0);
        let constant = s.insts[i].op == Op::LoadConstant
            || place.mem.access.contains(Access::CONST)
                && !place.mem.access.contains(Access::VOLATILE);
        let effect = if constant { MessageEffect::Pure } else { MessageEffect::Read };
        let mut all = Vec::with_capacity(count);
        if Self::is_dwords(ty, place) {
            all = self.load_dwords(place, base, count, effect);
        } else if Self::fills_dwords(ty, place) {
            let bytes = ty.elem_bytes() as usize;
            let dwords = self.load_dwords(place, base, bytes * count / 4, effect);
            for at in (0..count).map(|k| bytes * k) {
                all.push(self.above(dwords[at / 4], 8 * (at % 4) as u8));
            }
        } else {
            let bytes = self.element_bytes(ty, &place.mem);
            for k in 0..count {
                let c = self.load_bytes(
                    place,
                    base,
                    k as u32 * ty.elem_bytes().min(4),
                    ty,
                    bytes,
                    effect,
                );
                all.push(c);
            }
        }
        self.set(r, &all);
        Ok(())
    }

    /// Whether smaller elements of workgroup memory are whole double words together. Of a buffer the last one may lie half
    /// outside.
    fn fills_dwords(ty: Type, place: &Place) -> bool {
        let is_whole = ty.size_bytes() >= 4 && ty.size_bytes().is_multiple_of(4);
        ty.bits() < 32 && is_whole && place.mem.align_log2 >= 2 && place.surface == LOCAL
    }

    /// Loads double words in a row.
    fn load_dwords(
        &mut self,
        place: &Place,
        base: Comp,
        count: usize,
        effect: MessageEffect,
    ) -> Vec<Comp> {
        let mut all = Vec::with_capacity(count);
        for first in (0..count).step_by(MAX_COMPONENTS) {
            let n = (count - first).min(MAX_COMPONENTS);
            let at = self.address(place, base, 4 * first as u32);
            let width = self.message_width();
            let kind = DataOp1::UntypedSurfaceRead;
            let control = descriptor::untyped(kind, place.surface, n as u8, width);
            let planes = [1, 0, n as u8];
            let message =
                Message { effect, ..Message::new(Sfid::DataCache1, control, width, planes) };
            all.extend(self.respond(message, &[Payload::Planes(&[at])]));
        }
        all
    }

    /// Bytes that a byte scattered message moves of an element.
    fn element_bytes(&self, ty: Type, m: &Mem) -> u32 {
        ty.elem_bytes().min(4).min(1 << m.align_log2.min(2))
    }

    /// Channels of a message.
    pub(super) fn message_width(&self) -> u8 {
        self.width.min(16)
    }

    /// Loads an element of up to 32 bits, in pieces of some bytes.
    fn load_bytes(
        &mut self,
        place: &Place,
        base: Comp,
        at: u32,
        ty: Type,
        bytes: u32,
        effect: MessageEffect,
    ) -> Comp {
        let kind = DataOp0::ByteScatteredRead;
        let width = self.message_width();
        let control = descriptor::byte_scattered(kind, place.surface, bytes as u8, width);
        let header = if place.is_scratch() { Header::Thread } else { Header::None };
        let message = Message::new(Sfid::DataCache0, control, width, [1, 0, 1]);
        let message = Message { header, effect, ..message };
        let mut parts = Vec::with_capacity(4);
        for piece in (0..ty.elem_bytes().min(4)).step_by(bytes as usize) {
            let at = self.address(place, base, at + piece);
            parts.extend(self.respond(message, &[Payload::Planes(&[at])]));
        }
        if let [one] = parts[..] { one } else { self.pack(&parts, 8 * bytes as u8) }
    }

    /// Sends a message that has a response; its planes. Of a response with residency the last one has a code for each
    /// channel, 0 where all texels have memory.
    pub(super) fn respond(&mut self, message: Message, payloads: &[Payload<'_>]) -> Vec<Comp> {
        let (count, width) = (message.planes[2], message.width);
        // The mask of residency is written for channels that do not execute, too.
        let divided = count > 1 && width < self.width || message.residency;
        if !divided {
            let d = self.f.val(mir::planes(self.width, count));
            self.send(message, Some(d), payloads);
            return self.split(d, usize::from(count)).into_iter().map(Comp::Val).collect();
        }
        let d = self.f.val(mir::interleaved(self.width, count));
        self.send(message, Some(d), payloads);
        let source = Source { operand: Operand::value(Ty::UD), val: Some(d) };
        let taken = count - u8::from(message.residency);
        let how = mir::Op::Spread { planes: count, taken, width };
        let all = self.f.val(mir::planes(self.width, taken));
        self.push(Inst::new(how, Operand::value(Ty::UD), &[]), Some(all), &[source]);
        let all = self.split(all, usize::from(taken)).into_iter().map(Comp::Val);
        let mut all: Vec<Comp> = all.collect();
        if message.residency {
            let how = mir::Op::Resident { planes: count, width };
            all.push(Comp::Val(self.def_plane(how, Ty::UD, &[source])));
        }
        all
    }

    pub(super) fn send(&mut self, message: Message, dst: Option<Val>, payloads: &[Payload<'_>]) {
        const NONE: Source = Source { operand: Operand::NONE, val: None };
        let mut sources = [NONE; 3];
        for (to, payload) in sources.iter_mut().zip(payloads) {
            *to = match *payload {
                Payload::None => NONE,
                Payload::Scalar(v) => Source { operand: Operand::scalar(Ty::UD), val: Some(v) },
                Payload::Header(v) => Source { operand: Operand::value(Ty::UD), val: Some(v) },
                Payload::Planes(comps) => {
                    let v = self.payload(comps, message.width);
                    Source { operand: Operand::value(Ty::UD), val: Some(v) }
                }
                Payload::Address(address) => {
                    let v = self.wide(address);
                    Source { operand: Operand::value(Ty::UD), val: Some(v) }
                }
            };
        }
        let inst = Inst::new(mir::Op::Send(message), Operand::value(Ty::UD), &[]);
        self.push(inst, dst, &sources);
    }

    /// Planes in the order of messages of some channels.
    fn payload(&mut self, comps: &[Comp], width: u8) -> Val {
        let v = self.collect(comps);
        let planes = comps.len() as u8;
        if planes == 1 || width >= self.width {
            return v;
        }
        let d = self.f.val(mir::interleaved(self.width, planes));
        let arrange = Inst::new(mir::Op::Arrange { planes, width }, Operand::value(Ty::UD), &[]);
        self.push(arrange, Some(d), &[Source { operand: Operand::value(Ty::UD), val: Some(v) }]);
        d
    }

    /// Values of 64 bits whose halves are neighbours.
    fn wide(&mut self, halves: [Comp; 2]) -> Val {
        let sources = halves.map(|c| self.source(c, Ty::UD));
        let d = self.f.val(mir::interleaved(self.width, 2));
        self.push(Inst::new(mir::Op::Address, Operand::value(Ty::UD), &[]), Some(d), &sources);
        d
    }

    fn store(&mut self, i: ir::Inst, place: &Place) -> Result<()> {
        let s = self.s;
        let data = s.arg(i, place.offset + 1);
        let (ty, count) = (self.ty(data), self.dwords(data));
        let base = self.comp(s.arg(i, place.offset), 0);
        let comps = self.all_comps(&[data]);
        let effect = MessageEffect::Write;
        if Self::is_dwords(ty, place) {
            for (k, part) in comps.chunks(MAX_COMPONENTS).enumerate() {
                let n = part.len() as u8;
                let at = self.address(place, base, (4 * MAX_COMPONENTS * k) as u32);
                let kind = DataOp1::UntypedSurfaceWrite;
                let width = self.message_width();
                let control = descriptor::untyped(kind, place.surface, n, width);
                let planes = [1, n, 0];
                let message =
                    Message { effect, ..Message::new(Sfid::DataCache1, control, width, planes) };
                self.send(message, None, &[Payload::Planes(&[at]), Payload::Planes(part)]);
            }
            return Ok(());
        }
        let bytes = self.element_bytes(ty, &place.mem);
        let kind = DataOp0::ByteScatteredWrite;
        let width = self.message_width();
        let control = descriptor::byte_scattered(kind, place.surface, bytes as u8, width);
        let header = place.is_scratch();
        let planes = if header { [2, 0, 0] } else { [1, 1, 0] };
        let message = Message {
            header: if header { Header::Thread } else { Header::None },
            effect,
            ..Message::new(Sfid::DataCache0, control, width, planes)
        };
        let size = ty.elem_bytes().min(4);
        for (k, &component) in comps.iter().enumerate().take(count) {
            for piece in (0..size).step_by(bytes as usize) {
                let at = self.address(place, base, k as u32 * size + piece);
                let c = self.above(component, 8 * piece as u8);
                match header {
                    true => self.send(message, None, &[Payload::Planes(&[at, c])]),
                    false => {
                        let payloads = [Payload::Planes(&[at]), Payload::Planes(&[c])];
                        self.send(message, None, &payloads);
                    }
                }
            }
        }
        Ok(())
    }

    fn atomic(&mut self, i: ir::Inst, place: &Place) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let Attrs::Atomic(o, _) = s.insts[i].attrs else {
            return self.refuse(i, "has no operation");
        };
        if self.ty(r) != Type::B32 {
            return self.refuse(i, "of other than 32 bits is not compiled for Intel's GPUs yet");
        }
        let width = self.message_width();
        let base = self.comp(s.arg(i, place.offset), 0);
        let at = self.offset(base, place.mem.offset as u32);
        let data = self.all_comps(&s.args(i)[place.offset + 1..]);
        let control = match (atomic(o), o) {
            (Some(o), _) => descriptor::untyped_atomic(o, place.surface, width, true),
            (None, AtomicOp::FMin) => {
                descriptor::untyped_atomic_float(FloatAtomicOp::FMin, place.surface, width, true)
            }
            (None, AtomicOp::FMax) => {
                descriptor::untyped_atomic_float(FloatAtomicOp::FMax, place.surface, width, true)
            }
            _ => return self.refuse(i, "adds floats, which the hardware does not"),
        };
        let planes = [1, data.len() as u8, 1];
        let effect = MessageEffect::Write;
        let message = Message { effect, ..Message::new(Sfid::DataCache1, control, width, planes) };
        let all = self.respond(message, &[Payload::Planes(&[at]), Payload::Planes(&data)]);
        self.set(r, &all);
        Ok(())
    }
}
