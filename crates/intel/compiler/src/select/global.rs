//! Accesses of memory by addresses of 64 bits.

use super::memory::{MAX_COMPONENTS, Payload, atomic};
use super::{Comp, Select, Source};
use crate::error::Result;
use crate::mir::{self, Message, MessageEffect, Operand};
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
        let (add_low, add_high) = (add as u32, (add >> 32) as u32);
        let constant =
            |bits: u32| Source { operand: Operand::immediate(Ty::UD, bits.into()), val: None };
        let read = |c: &Self, v| c.read(v, Ty::UD);
        let x = self.register(low, Ty::UD);
        let sum = self.def(super::alu::op(Opcode::Add), Ty::UD, &[x, constant(add_low)]);
        // All ones, which is -1, where the sum is less than what was added.
        let carry = mir::Op::Compare(Condition::Less);
        let carry = self.def(carry, Ty::D, &[read(self, sum), constant(add_low)]);
        let y = self.register(high, Ty::UD);
        let carry = self.read(carry, Ty::D).negated();
        let mut upper = self.def(super::alu::op(Opcode::Add), Ty::UD, &[carry, y]);
        if add_high != 0 {
            let sources = [read(self, upper), constant(add_high)];
            upper = self.def(super::alu::op(Opcode::Add), Ty::UD, &sources);
        }
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
        Message { sfid: Sfid::DataCache1, control, width, planes, header: false, effect }
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
        let (Type::B32, Some(o)) = (self.ty(r), atomic(o)) else {
            return self.refuse(
                i,
                "of other than integers of 32 bits is not compiled for Intel's GPUs yet",
            );
        };
        let at = self.far(base, i64::from(m.offset));
        let data = self.all_comps(&s.args(i)[1..]);
        let message = Message {
            sfid: Sfid::DataCache1,
            control: descriptor::a64_atomic(o, 32, true),
            width: ATOMIC_WIDTH,
            planes: [2, data.len() as u8, 1],
            header: false,
            effect: MessageEffect::Write,
        };
        let all = self.respond(message, &[Payload::Address(at), Payload::Planes(&data)]);
        self.set(r, &all);
        Ok(())
    }
}
