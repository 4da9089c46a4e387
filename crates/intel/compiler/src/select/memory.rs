//! Accesses of buffers and workgroup memory.
//!
//! Double words go by untyped surface messages of up to four components, smaller or unaligned elements by byte scattered
//! messages. Accesses past the end of a buffer are the surface's to refuse: loads give zero, stores do nothing.

use super::alu::op;
use super::{Comp, Select, Source};
use crate::bind::{Constant, Surface};
use crate::error::Result;
use crate::mir::{self, Inst, Message, MessageEffect, Operand};
use tepui_intel_isa::descriptor::{self, LOCAL, STATELESS_NON_COHERENT};
use tepui_intel_isa::message::{AtomicOp as Atomic, DataOp0, DataOp1, FloatAtomicOp};
use tepui_intel_isa::{Opcode, Sfid, Type as Ty};
use tepui_ir::{self as ir, Access, AtomicOp, Attrs, Mem, Op, Type};
use tepui_regalloc::Val;

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

/// A payload of a message.
pub(super) enum Payload<'a> {
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
                let Some(index) = self.map.surface_of(s, s.arg(i, 0)) else {
                    return self.refuse(i, UNKNOWN);
                };
                let at = self.map.dword(Constant::BufferSize(index));
                self.set(s.result(i), &[at.map_or(Comp::Undef, Comp::Fixed)]);
                Ok(true)
            }
            Op::BufferAddress => {
                let Some(index) = self.map.surface_of(s, s.arg(i, 0)) else {
                    return self.refuse(i, UNKNOWN);
                };
                let halves = [false, true].map(|high| {
                    let at = self.map.dword(Constant::BufferAddress(index, high));
                    at.map_or(Comp::Undef, Comp::Fixed)
                });
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
            return self.refuse(i, "at an offset that is not known before is not compiled yet");
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
            let dword = self.map.dword(Constant::Push(byte & !3));
            let c = dword.map_or(Comp::Undef, Comp::Fixed);
            all.push(self.above(c, 8 * (byte % 4) as u8));
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
            for first in (0..count).step_by(MAX_COMPONENTS) {
                let n = (count - first).min(MAX_COMPONENTS);
                let at = self.address(place, base, 4 * first as u32);
                let kind = DataOp1::UntypedSurfaceRead;
                let width = self.message_width();
                let control = descriptor::untyped(kind, place.surface, n as u8, width);
                let planes = [1, 0, n as u8];
                let header = false;
                let message =
                    Message { sfid: Sfid::DataCache1, control, width, planes, header, effect };
                all.extend(self.respond(message, &[Payload::Planes(&[at])]));
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
        let (sfid, header) = (Sfid::DataCache0, place.is_scratch());
        let message = Message { sfid, control, width, planes: [1, 0, 1], header, effect };
        let mut parts = Vec::with_capacity(4);
        for piece in (0..ty.elem_bytes().min(4)).step_by(bytes as usize) {
            let at = self.address(place, base, at + piece);
            parts.extend(self.respond(message, &[Payload::Planes(&[at])]));
        }
        if let [one] = parts[..] { one } else { self.pack(&parts, 8 * bytes as u8) }
    }

    /// Sends a message that has a response; its planes.
    pub(super) fn respond(&mut self, message: Message, payloads: &[Payload<'_>]) -> Vec<Comp> {
        let (count, width) = (message.planes[2], message.width);
        let planar = mir::planes(self.width, count);
        let divided = count > 1 && width < self.width;
        let class = if divided { mir::interleaved(self.width, count) } else { planar };
        let mut d = self.f.val(class);
        self.send(message, Some(d), payloads);
        if divided {
            let spread =
                Inst::new(mir::Op::Spread { planes: count, width }, Operand::value(Ty::UD), &[]);
            let all = self.f.val(planar);
            let source = Source { operand: Operand::value(Ty::UD), val: Some(d) };
            self.push(spread, Some(all), &[source]);
            d = all;
        }
        self.split(d, usize::from(count)).into_iter().map(Comp::Val).collect()
    }

    pub(super) fn send(&mut self, message: Message, dst: Option<Val>, payloads: &[Payload<'_>]) {
        let mut sources = Vec::with_capacity(2);
        for payload in payloads {
            let v = match *payload {
                Payload::Planes(comps) => self.payload(comps, message.width),
                Payload::Address(address) => self.wide(address),
            };
            sources.push(Source { operand: Operand::value(Ty::UD), val: Some(v) });
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
                let header = false;
                let message =
                    Message { sfid: Sfid::DataCache1, control, width, planes, header, effect };
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
        let message = Message { sfid: Sfid::DataCache0, control, width, planes, header, effect };
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
        let (sfid, header) = (Sfid::DataCache1, false);
        let message = Message { sfid, control, width, planes, header, effect };
        let all = self.respond(message, &[Payload::Planes(&[at]), Payload::Planes(&data)]);
        self.set(r, &all);
        Ok(())
    }
}
