//! Accesses of memory by addresses of 64 bits.

use super::memory::{MAX_COMPONENTS, Payload, atomic};
use super::{Comp, Select, Source};
use crate::error::Result;
use crate::mir::{self, Inst, Message, MessageEffect, Operand};
use tepui_intel_isa::descriptor;
use tepui_intel_isa::message::DataOp1;
use tepui_intel_isa::{Condition, Opcode, Sfid, Type as Ty};
use tepui_ir::{self as ir, Access, Attrs, Mem, Op, Type};

/// Channels of an atomic operation on an address. source: Mesa, `brw_lower_simd_width.cpp`
const ATOMIC_WIDTH: u8 = 8;

impl Select<'_> {
    /// An address plus a constant.
    fn far(&mut self, [low, high]: [Comp; 2], add: i64) -> [Comp; 2] {
        if add == 0 {
            return [low, high];
        }
        let [low, high] = self.far_by([low, high], Comp::Const(add as u32));
        let add_high = (add >> 32) as u32;
        if add_high == 0 {
            return [low, high];
        }
        let upper = self.register(high, Ty::UD);
        let add_high = Source { operand: Operand::immediate(Ty::UD, add_high.into()), val: None };
        let upper = self.def(super::alu::op(Opcode::Add), Ty::UD, &[upper, add_high]);
        [low, Comp::Val(upper)]
    }

    /// An address plus an offset of 32 bits without a sign.
    pub(super) fn far_by(&mut self, [low, high]: [Comp; 2], add: Comp) -> [Comp; 2] {
        let read = |c: &Self, v| c.read(v, Ty::UD);
        let x = self.register(low, Ty::UD);
        let add = self.source(add, Ty::UD);
        let sum = self.def(super::alu::op(Opcode::Add), Ty::UD, &[x, add]);
        // All ones, which is -1, where the sum is less than what was added.
        let carry = mir::Op::Compare(Condition::Less);
        let carry = self.def(carry, Ty::D, &[read(self, sum), add]);
        let y = self.register(high, Ty::UD);
        let carry = self.read(carry, Ty::D).negated();
        let upper = self.def(super::alu::op(Opcode::Add), Ty::UD, &[carry, y]);
        [Comp::Val(sum), Comp::Val(upper)]
    }

    pub(super) fn global(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let base = [0, 1].map(|k| self.comp(s.arg(i, 0), k));
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadGlobal, Attrs::Mem(m)) => self.load_global(i, base, m),
            (Op::StoreGlobal, Attrs::Mem(m)) => self.store_global(i, base, m),
            (_, Attrs::Atomic(..)) => self.atomic_global(i, base),
            _ => self.refuse(i, "has no memory attributes"),
        }
    }

    /// The message of an access: components of double words, or bytes of one element.
    fn global_message(
        &self,
        components: u8,
        bytes: Option<u8>,
        store: bool,
        effect: MessageEffect,
    ) -> Message {
        let width = self.message_width();
        let control = match bytes {
            None => {
                let op = match store {
                    true => DataOp1::A64UntypedSurfaceWrite,
                    false => DataOp1::A64UntypedSurfaceRead,
                };
                descriptor::untyped(op, descriptor::STATELESS_NON_COHERENT, components, width)
            }
            Some(bytes) => {
                let op = if store { DataOp1::A64ScatteredWrite } else { DataOp1::A64ScatteredRead };
                descriptor::a64_byte_scattered(op, bytes, width)
            }
        };
        let planes = if store { [2, components, 0] } else { [2, 0, components] };
        Message { effect, ..Message::new(Sfid::DataCache1, control, width, planes) }
    }

    /// Whether an access is one of double words, and the bytes of an element's pieces if it is not.
    fn pieces(ty: Type, m: &Mem) -> Option<u8> {
        let words = ty.bits() >= 32 && m.align_log2 >= 2;
        (!words).then(|| ty.elem_bytes().min(4).min(1 << m.align_log2.min(2)) as u8)
    }

    fn load_global(&mut self, i: ir::Inst, base: [Comp; 2], m: Mem) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let (ty, count) = (self.ty(r), self.dwords(r));
        let constant = m.access.contains(Access::CONST) && !m.access.contains(Access::VOLATILE);
        let effect = if constant { MessageEffect::Pure } else { MessageEffect::Read };
        let mut all = Vec::with_capacity(count);
        match Self::pieces(ty, &m) {
            None => {
                for first in (0..count).step_by(MAX_COMPONENTS) {
                    let n = (count - first).min(MAX_COMPONENTS);
                    let at = self.far(base, i64::from(m.offset) + 4 * first as i64);
                    let message = self.global_message(n as u8, None, false, effect);
                    all.extend(self.respond(message, &[Payload::Address(at)]));
                }
            }
            Some(bytes) => {
                let size = ty.elem_bytes().min(4);
                for k in 0..count as u32 {
                    let mut parts = Vec::with_capacity(4);
                    for piece in (0..size).step_by(usize::from(bytes)) {
                        let at = self.far(base, i64::from(m.offset) + i64::from(k * size + piece));
                        let message = self.global_message(1, Some(bytes), false, effect);
                        parts.extend(self.respond(message, &[Payload::Address(at)]));
                    }
                    all.push(if let [one] = parts[..] {
                        one
                    } else {
                        self.pack(&parts, 8 * bytes)
                    });
                }
            }
        }
        self.set(r, &all);
        Ok(())
    }

    fn store_global(&mut self, i: ir::Inst, base: [Comp; 2], m: Mem) -> Result<()> {
        let s = self.s;
        let data = s.arg(i, 1);
        let (ty, comps) = (self.ty(data), self.all_comps(&[data]));
        let effect = MessageEffect::Write;
        match Self::pieces(ty, &m) {
            None => {
                for (k, part) in comps.chunks(MAX_COMPONENTS).enumerate() {
                    let at = self.far(base, i64::from(m.offset) + (4 * MAX_COMPONENTS * k) as i64);
                    let message = self.global_message(part.len() as u8, None, true, effect);
                    self.send(message, None, &[Payload::Address(at), Payload::Planes(part)]);
                }
            }
            Some(bytes) => {
                let size = ty.elem_bytes().min(4);
                for (k, &c) in (0..).zip(&comps) {
                    for piece in (0..size).step_by(usize::from(bytes)) {
                        let at = self.far(base, i64::from(m.offset) + i64::from(k * size + piece));
                        let c = self.above(c, 8 * piece as u8);
                        let message = self.global_message(1, Some(bytes), true, effect);
                        self.send(message, None, &[Payload::Address(at), Payload::Planes(&[c])]);
                    }
                }
            }
        }
        Ok(())
    }

    fn atomic_global(&mut self, i: ir::Inst, base: [Comp; 2]) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let Attrs::Atomic(o, m) = s.insts[i].attrs else {
            return self.refuse(i, "has no operation");
        };
        let bits = self.ty(r).bits();
        let (true, 32 | 64, Some(o)) = (self.ty(r).is_scalar(), bits, atomic(o)) else {
            return self.refuse(i, "of other than integers of 32 and 64 bits is not compiled");
        };
        let at = self.far(base, i64::from(m.offset));
        let data = self.all_comps(&s.args(i)[1..]);
        let planes = [2, data.len() as u8, bits / 32];
        let control = descriptor::a64_atomic(o, bits, true);
        let message = Message {
            effect: MessageEffect::Write,
            ..Message::new(Sfid::DataCache1, control, ATOMIC_WIDTH, planes)
        };
        let all = match bits {
            32 => self.respond(message, &[Payload::Address(at), Payload::Planes(&data)]),
            _ => self.respond_wide(message, at, &data),
        };
        self.set(r, &all);
        Ok(())
    }

    /// Sends a message whose data and response are values of 64 bits with neighbouring halves, one or two as data.
    fn respond_wide(&mut self, message: Message, at: [Comp; 2], data: &[Comp]) -> Vec<Comp> {
        let d = self.f.val(mir::interleaved(self.width, 2));
        let sources: Vec<Source> = data.iter().map(|&c| self.source(c, Ty::UD)).collect();
        let class = mir::interleaved(self.width, data.len() as u8);
        let wide = self.f.val(class);
        let address = Inst::new(mir::Op::Address, Operand::value(Ty::UD), &[]);
        self.push(address, Some(wide), &sources);
        self.send(message, Some(d), &[Payload::Address(at), Payload::Header(wide)]);
        let source = Source { operand: Operand::value(Ty::UD), val: Some(d) };
        let halves = [0, 1].map(|half| self.def_plane(mir::Op::Half(half), Ty::UD, &[source]));
        halves.map(Comp::Val).to_vec()
    }
}
